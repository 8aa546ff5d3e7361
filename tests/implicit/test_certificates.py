"""Solvers never give a wrong answer without an error: problems of all kinds from starts up to 1e6 away."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.implicit.solver_problems import PROBLEMS, Known, distance_to, slope_of, starts_of
from wengert.errors import ArgumentError, LimitError, MatrixError

P = 1.3
SOLVERS: dict[str, Callable[..., Any]] = {
    "root": wg.implicit.root,
    "minimum": wg.implicit.minimum,
    "fixed_point": wg.implicit.fixed_point,
}
MINIMA = [name for name, known in PROBLEMS.items() if known.kind == "minimum"]
every_problem = pytest.mark.parametrize("name", PROBLEMS)


def answer(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function; None where it says that there is none."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            return function(*arguments)
        except (LimitError, MatrixError):
            return None


def solver_of(known: Known) -> Callable[[Any, Any], Any]:
    return lambda p, start: SOLVERS[known.kind](known.fun, start, (p,))


def check(name: str, p: float, start: Any, x: Any, tolerance: float = 1e-6) -> None:
    if x is not None:
        distance, _ = distance_to(PROBLEMS[name], p, x)
        assert distance <= tolerance, (name, start, x, distance)


def check_slope(name: str, p: float, start: Any, x: Any, slope: Any, tolerance: float = 1e-5) -> None:
    if slope is not None:
        assert x is not None, (name, start, slope)
        expected = slope_of(PROBLEMS[name], p, x)
        np.testing.assert_allclose(slope, expected, tolerance, tolerance * np.max(np.abs(expected)))


def run(name: str, seed: int, count: int, eager: int, derivatives: int) -> int:
    """Solve a problem from starts: all compiled, some eager, some with derivatives. Return how many have an answer."""
    known, rng = PROBLEMS[name], np.random.default_rng(seed)
    solve = solver_of(known)
    compiled, slope, answers = wg.jit(solve), wg.derivative(solve), 0
    for number, start in enumerate(starts_of(known, P, rng, count)):
        x = answer(compiled, P, start)
        answers += x is not None
        check(name, P, start, x)
        if number < eager:
            check(name, P, start, answer(solve, P, start))
        if number < derivatives:
            check_slope(name, P, start, x, answer(lambda p, start=start: slope(p, start), P))
    return answers


SOLVED = {
    "exponential",
    "cube",
    "huge",
    "monotone 20",
    "wells",
    "valley",
    "bowl 20",
    "Heron",
    "turning 20",
    "tiny",
}


@every_problem
def test_no_answer_is_wrong(name: str) -> None:
    answers = run(name, 0, 10, 1, 1)
    assert answers > 0 or name not in SOLVED


@every_problem
@pytest.mark.slow
def test_no_answer_of_many_is_wrong(name: str) -> None:
    for seed in (1, 2):
        run(name, seed, 10, 3, 3)


#: How far from a minimum a descent that says converged may end: `lbfgs` knows no Newton step.
NEAR = {wg.optimize.lbfgs: 1e-2, wg.optimize.newton_cg: 2e-5}


@pytest.mark.parametrize("options", [{}, {"gtol": 1e-9, "ftol": 0.0}], ids=["loose", "tight"])
@pytest.mark.parametrize("solve", NEAR, ids=lambda solve: solve.__name__)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.exhaustive] * (name == "quartic")) for name in MINIMA]
)
def test_no_descent_that_says_converged_ends_elsewhere(
    name: str, solve: Callable[..., Any], options: dict[str, float]
) -> None:
    known, rng = PROBLEMS[name], np.random.default_rng(3)

    def descend(p: Any, start: Any) -> Any:
        return solve(known.fun, start, (p,), **options)

    compiled = wg.jit(descend)
    slope = wg.jit(wg.derivative(lambda p, start: descend(p, start).x))
    for start in starts_of(known, P, rng, 10):
        with np.errstate(all="ignore"):
            found = compiled(P, start)
        if not np.all(np.isfinite(found.jac)):
            continue
        if found.converged:
            check(name, P, start, found.x, NEAR[solve])
        if options:
            check_slope(name, P, start, found.x, answer(slope, P, start), 1e-3)


#: Without valleys that have other minima, at negative x.
TOLD = [name for name in MINIMA if name not in ("narrow valley", "valley 5", "valley 10")]


@pytest.mark.parametrize("method", [None, "Newton-CG", "L-BFGS-B", "CG", "SLSQP", "trust-exact"])
@pytest.mark.parametrize("name", TOLD)
def test_no_minimiser_of_scipys_with_success_ends_elsewhere(name: str, method: str | None) -> None:
    known, rng = PROBLEMS[name], np.random.default_rng(4)
    fun = wg.jit(known.fun)
    for start in starts_of(known._replace(farthest=0.5), P, rng, 4)[:4]:  # SciPy's tolerances are absolute
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found = wg.optimize.minimize(fun, start, (P,), method=method)
            except ArgumentError:  # not finite at the start
                continue
        if found.success:  # to SciPy's own tolerances
            check(name, P, start, found.x, 3e-2)


# -- the rule ------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_errors_name_residual_step_and_remedy() -> None:
    with pytest.raises(LimitError, match=r"^root: .* a residual of 0 and a step of .*; begin nearer, scale"):
        wg.implicit.root(lambda x: x**3 - 3 * x**2 + 3 * x - 1, 3.0)
    with pytest.raises(LimitError, match=r"^minimum: the curvature at the end .*; it is a saddle"):
        wg.implicit.minimum(lambda x: (x**2 - 1) ** 2, 0.0)
    with pytest.raises(LimitError, match=r"^minimum: the curvature at the end"):
        wg.jit(lambda x: wg.implicit.minimum(lambda x: (x**2 - 1) ** 2, x))(0.0)


def test_a_loose_tolerance_gives_a_loose_answer() -> None:
    x = wg.implicit.root(lambda x: np.exp(x) - 2.0, 3.0, tol=1e-2)
    assert abs(x - np.log(2.0)) < 1e-2


def test_a_users_solver_has_a_derivative_only_where_it_solves() -> None:
    def near(distance: float) -> Callable[[Any], Any]:
        solver = lambda f, x: np.sqrt(2.0) + distance  # noqa: E731
        return lambda a: wg.implicit.root(lambda x: x * x - a, 1.0, solver=solver)

    assert np.isclose(wg.grad(near(1e-6))(2.0), 8**-0.5)
    assert np.isclose(near(0.1)(2.0), np.sqrt(2.0) + 0.1)  # the user's answer
    for transform in (wg.grad, lambda f: wg.jit(wg.grad(f))):
        with pytest.raises(LimitError, match="root: at the end the Newton step"):
            transform(near(0.1))(2.0)


def test_a_saddle_of_the_users_solver_has_no_derivative() -> None:
    stay = lambda f, x: x  # noqa: E731
    saddle = lambda a: wg.implicit.minimum(lambda x: a * x[0] ** 2 - x[1] ** 2, np.zeros(2), solver=stay)  # noqa: E731
    with pytest.raises(LimitError, match="curvature"):
        wg.jacobian(saddle)(1.0)


def test_single_precision_is_certified() -> None:
    two, one = np.float32(2), np.float32(1)
    assert np.isclose(wg.implicit.root(lambda x: x * x - two, one), np.sqrt(2.0), rtol=1e-5)
    assert np.isclose(wg.implicit.minimum(lambda x: (x * x - two) ** 2, one), np.sqrt(2.0), rtol=1e-5)
    assert np.isclose(wg.implicit.fixed_point(np.cos, one), 0.7390851, rtol=1e-5)


def test_a_batch_fails_where_one_example_does() -> None:
    solve = wg.vmap(lambda p, x: wg.implicit.root(lambda x: np.exp(x) - p, x))
    np.testing.assert_allclose(solve(np.array([2.0, 3.0]), np.array([1.0, -1.0])), np.log([2.0, 3.0]))
    for transform in (lambda f: f, wg.jit):
        with pytest.raises((LimitError, MatrixError)), np.errstate(all="ignore"):
            transform(solve)(np.array([2.0, -3.0]), np.array([1.0, 1.0]))


def test_an_objective_that_is_not_finite_at_the_start_is_refused() -> None:
    with pytest.raises((ArgumentError, LimitError)), np.errstate(all="ignore"):
        wg.implicit.minimum(lambda x: np.log(x), -1.0)


def singular(a: Any, bend: Any, start: Any) -> Any:
    """Return the root of an equation without one."""
    rows = np.arange(1.0, len(a) + 1)
    return wg.implicit.root(lambda x: a @ (x + bend * (x - start) ** 3) + rows, start)


compiled_singular = wg.jit(singular)


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.rest] if seed % 4 == 3 else []) for seed in range(8)]
)
def test_singular_slopes_are_named_in_a_compiled_program_as_outside(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 1 + seed % 4
    a = rng.integers(-3, 4, (n, n)).astype(float)
    a[-1] = 2 * a[0] if n > 1 else 0.0
    bend = float(seed // 4)  # 1: the matrix depends on x
    start = rng.integers(1, 4, n).astype(float)
    errors: list[str] = []
    for solve in (singular, compiled_singular):
        with pytest.raises(MatrixError) as found:
            solve(a, bend, start)
        errors.append(str(found.value).partition(" [")[0])
    assert errors[0] == errors[1]
    assert errors[0].startswith("root: the matrix of derivatives must not be singular; begin elsewhere")
