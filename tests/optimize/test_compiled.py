"""`lbfgs` and `newton_cg`: compiled minimisations, alone and by the thousand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from tests.optimize.problems import INPUTS, NETWORK, TARGETS, Network, network_error, rosenbrock
from wengert.engine.core.errors import ArgumentError, ConcreteError, DtypeError, LimitError
from wengert.optimize.line_search import CURVATURE, DECREASE, begun, judged

SOLVERS = [wg.optimize.lbfgs, wg.optimize.newton_cg]
Solver = Callable[..., Any]
every_solver = pytest.mark.parametrize("solve", SOLVERS, ids=lambda solve: solve.__name__)


# -- the line search -------------------------------------------------------------------------------------

LINES: dict[str, Callable[[Any, Any], Any]] = {
    "quadratic": lambda t, a: (t - a) ** 2,
    "quartic": lambda t, a: (t - a) ** 4 + t,
    "waves": lambda t, a: 0.3 * np.sin(5 * t) - t + 0.1 * a * t**2,
    "exponential": lambda t, a: np.exp(a * t) - 4 * a * t,
    "flat far away": lambda t, a: -a * t / (t**2 + 2),  # Moré and Thuente, 1994, function 1
    "narrow": lambda t, a: (t + 0.004) ** 5 - 2 * (t + 0.004) ** 4,  # function 2
    "wall": lambda t, a: -t - np.log(1 - t / (a + 1)),  # NaN beyond a + 1
}


@pytest.mark.parametrize("name", LINES)
@given(st.floats(0.1, 3.0), st.floats(-3.0, 3.0))
@examples(60)
def test_steps_satisfy_the_conditions_of_wolfe(name: str, shift: float, exponent: float) -> None:
    def value_and_slope(t: Any) -> Any:
        return wg.jvp(lambda t: LINES[name](t, shift), (np.float64(t),), (np.float64(1.0),))

    with np.errstate(all="ignore"):
        start, slope = value_and_slope(0.0)
        if not slope < -1e-8:
            return
        search = begun(np.float64(10.0**exponent), start, slope)
        for _ in range(60):
            step = search.step
            value, there = value_and_slope(step)
            accepted, search = judged(search, start, slope, value, there)
            if accepted:
                break
            assert search.low < search.step < search.high
    assert accepted
    assert value <= start + DECREASE * step * slope + 1e-14 * abs(start)
    assert there >= CURVATURE * slope


# -- single problems -------------------------------------------------------------------------------------


def beale(x: Any) -> Any:
    a, b = x[0], x[1]
    return (1.5 - a + a * b) ** 2 + (2.25 - a + a * b**2) ** 2 + (2.625 - a + a * b**3) ** 2


def powell(x: Any) -> Any:
    a, b, c, d = x[0], x[1], x[2], x[3]
    return (a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4


STANDARD = {
    "rosenbrock": (rosenbrock, [-1.2, 1.0]),
    "rosenbrock 10": (rosenbrock, [-1.2, 1.0] * 5),
    "beale": (beale, [1.0, 1.0]),
    "powell": (powell, [3.0, -1.0, 0.0, 1.0]),
    "bad scales": (lambda x: np.sum(np.array([1e-3, 1.0, 1e5]) * x**2), [100.0, 1.0, 1.0]),
}


@every_solver
@pytest.mark.parametrize("name", STANDARD)
def test_minima_of_standard_functions(solve: Solver, name: str) -> None:
    fun, x0 = STANDARD[name]
    found = solve(fun, x0, gtol=1e-7, ftol=0.0)
    assert found.converged
    assert found.status == 0
    assert found.fun == pytest.approx(0.0, abs=1e-9)
    assert found.fun == pytest.approx(fun(found.x), rel=1e-12)
    np.testing.assert_allclose(found.jac, wg.grad(fun)(found.x), rtol=1e-8, atol=1e-12)
    assert np.max(np.abs(found.jac)) <= 1e-7
    assert 0 < found.nit < found.nfev < 250


@every_solver
def test_containers_come_back(solve: Solver) -> None:
    found = solve(network_error, NETWORK, (INPUTS, TARGETS), gtol=1e-8, ftol=0.0)
    assert found.converged
    for part in (found.x, found.jac):
        assert isinstance(part, Network)
        assert part.weights["in"].shape == (2, 2)
        assert type(part.scale) is float
    slope = wg.grad(network_error)(found.x, INPUTS, TARGETS)
    np.testing.assert_allclose(found.jac.weights["in"], slope.weights["in"], atol=1e-12)


@every_solver
def test_single_precision_comes_back_and_numbers_stay(solve: Solver) -> None:
    found = solve(lambda x: np.sum((x - 2.0) ** 4), np.zeros(3, np.float32))
    assert found.x.dtype == np.float32
    assert type(solve(lambda x: (x - 2.0) ** 2, 1).x) is float


@every_solver
def test_why_a_descent_ends(solve: Solver) -> None:
    @wg.jit
    def function(x: Any, number: Any) -> Any:
        """Return one of the functions: they share a program."""
        line, quartic, noise = np.sum(x), -np.sum(x**4), np.sum(np.cosh(x)) + 1e9
        values = np.stack([rosenbrock(x), line, quartic, noise, np.sum(x**2)])
        return np.sum(np.where(np.arange(5.0) == number, values, 0.0))

    few = solve(function, [-1.2, 1.0], 0.0, maxiter=3)
    assert (few.status, few.nit, bool(few.converged)) == (1, 3, False)
    endless = solve(function, [1.0, 2.0], 1.0, maxls=5)
    assert endless.status == 4
    assert not endless.converged
    with np.errstate(all="ignore"):
        assert solve(function, [1.0, 2.0], 2.0).status in (3, 4)
    noisy = solve(function, [1.0, 2.0], 3.0, gtol=0.0, ftol=0.0, maxls=20)
    assert noisy.status in (0, 2)
    np.testing.assert_allclose(noisy.x, 0.0, atol=1e-3)
    at_once = solve(function, [0.0, 0.0], 4.0)
    assert (at_once.nit, at_once.nfev, bool(at_once.converged)) == (0, 1, True)
    loose = solve(function, [-1.2, 1.0], 0.0, gtol=0.0, ftol=1e-3)
    assert loose.converged
    assert loose.nit < solve(function, [-1.2, 1.0], 0.0).nit


@every_solver
def test_a_wall_of_nan_is_avoided(solve: Solver) -> None:
    with np.errstate(all="ignore"):
        found = solve(lambda x: np.sum(x - np.log(x)), [0.01, 30.0], gtol=1e-8)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-7)


def test_negative_curvature_is_left() -> None:
    found = wg.optimize.newton_cg(lambda x: np.sum(np.cos(x)), [0.1, -0.2])
    np.testing.assert_allclose(np.cos(found.x), -1.0, atol=1e-8)


# -- in other transforms ---------------------------------------------------------------------------------

T = np.linspace(0.0, 2.0, 12)


@wg.jit
def misfit(p: Any, y: Any) -> Any:
    return np.sum((p["a"] * np.exp(-p["k"] * T) - y) ** 2)


@pytest.mark.parametrize("compiled", [False, True])
@every_solver
def test_many_problems_at_once_are_each_alone(solve: Solver, compiled: bool) -> None:
    rng, count = np.random.default_rng(0), 4
    a, k = rng.uniform(0.5, 3.0, (count, 1)), rng.uniform(0.2, 2.0, (count, 1))
    data = a * np.exp(-k * T) + 0.01 * rng.normal(size=(count, 12))

    def fit(y: Any) -> Any:
        return solve(misfit, {"a": 1.0, "k": 1.0}, (y,), gtol=1e-7, ftol=0.0)

    def rate(y: Any) -> Any:
        found = fit(y)
        return found.x["k"], found

    both = wg.value_and_grad(rate, has_aux=True)
    alone, slopes = zip(*((found, slope) for (_, found), slope in map(both, data)), strict=True)
    together = wg.jit(wg.vmap(both)) if compiled else wg.vmap(both)
    (_, found), gradients = together(data)
    np.testing.assert_allclose(gradients, slopes, rtol=1e-4, atol=1e-6)
    for name in ("a", "k"):
        np.testing.assert_allclose(found.x[name], [each.x[name] for each in alone], rtol=1e-5)
    assert np.all(found.converged)
    assert np.all(found.nfev < 60)
    assert found.status.shape == (count,)


def test_examples_of_a_batch_take_the_steps_of_each_alone() -> None:
    """The memory is a ring for one problem, and rows in order for a batch."""

    def solved(target: Any) -> Any:
        return wg.optimize.lbfgs(
            lambda x: rosenbrock(x) + np.sum((x - target) ** 4),
            np.zeros(3),
            memory=3,
            gtol=0.0,
            ftol=0.0,
            maxiter=10,
        )

    targets = np.linspace(-2.0, 2.0, 12).reshape(4, 3)
    together, alone = wg.jit(wg.vmap(solved))(targets), wg.jit(solved)
    for number, target in enumerate(targets):
        found = alone(target)
        assert found.nfev == together.nfev[number]
        np.testing.assert_allclose(found.x, together.x[number], rtol=1e-7)


@every_solver
def test_a_part_of_a_compiled_program(solve: Solver) -> None:
    @wg.jit
    def ends(centres: Any) -> Any:
        starts = wg.vmap(lambda c: solve(lambda x: np.sum((x - c) ** 2 + (x - c) ** 4), np.zeros(2)).x)(
            centres
        )
        c = centres[0]
        return np.max(np.sum(starts**2, axis=1)), solve(lambda x: np.sum((x - c) ** 2), np.zeros(2)).x

    farthest, end = ends(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert farthest == pytest.approx(25.0, rel=1e-4)
    np.testing.assert_allclose(end, [1.0, 2.0], atol=1e-6)


@every_solver
def test_a_compiled_function_is_traced_once(solve: Solver) -> None:
    traces: list[int] = []
    counts: list[int] = []

    @wg.jit
    def f(x: Any, centre: Any) -> Any:
        traces.append(1)
        return np.sum((x - centre) ** 2)

    for centre, gtol in ((1.0, 1e-5), (2.0, 1e-6), (3.0, 1e-7)):
        np.testing.assert_allclose(solve(f, np.zeros(2), centre, gtol=gtol).x, centre, atol=1e-6)
        counts.append(len(traces))
    assert counts == counts[:1] * 3


# -- derivatives -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["reverse", "forward", "compiled", "second", "of the least value"])
@every_solver
def test_derivatives_are_those_of_the_minimum(solve: Solver, mode: str) -> None:
    y = 2.0 * np.exp(-0.7 * T) + 0.05 * np.sin(5 * T)

    def fit(y: Any) -> Any:
        return solve(misfit, {"a": 1.0, "k": 1.0}, (y,), gtol=1e-10, ftol=0.0)

    def rate(y: Any) -> Any:
        return fit(y).x["k"]

    def exact(y: Any) -> Any:
        return wg.implicit.minimum(lambda p: misfit(p, y), {"a": 1.0, "k": 1.0})["k"]

    near = {"rtol": 1e-4, "atol": 1e-6}
    if mode == "second":
        np.testing.assert_allclose(wg.hessian(rate)(y), wg.hessian(exact)(y), rtol=1e-2, atol=1e-4)
    elif mode in ("reverse", "forward"):
        derivative = wg.grad if mode == "reverse" else wg.jacfwd
        np.testing.assert_allclose(derivative(rate)(y), wg.grad(exact)(y), **near)
    elif mode == "compiled":
        np.testing.assert_allclose(wg.jit(wg.grad(rate))(y), wg.grad(exact)(y), **near)
    else:
        best = fit(y).x
        residual = best["a"] * np.exp(-best["k"] * T) - y
        np.testing.assert_allclose(wg.grad(lambda y: fit(y).fun)(y), -2 * residual, atol=1e-8)


@every_solver
def test_many_variables_have_derivatives_by_products(solve: Solver) -> None:
    def middle(centre: Any) -> Any:  # the function closes over what it is differentiated by
        found = solve(
            lambda x: np.sum((x - centre) ** 2) + np.sum(np.diff(x) ** 2), np.zeros(150), gtol=1e-10
        )
        return found.x[70]

    stiff = 2.0 * np.eye(150) + 2.0 * np.diff(np.eye(150), axis=0).T @ np.diff(np.eye(150), axis=0)
    expected = 2.0 * np.linalg.inv(stiff)[70]
    np.testing.assert_allclose(wg.grad(middle)(np.ones(150)), expected, atol=1e-9)


@every_solver
def test_a_descent_that_has_not_ended_has_no_derivative(solve: Solver) -> None:
    early = wg.grad(lambda s: np.sum(solve(lambda x: rosenbrock(s * x), [-1.2, 1.0], maxiter=2).x))
    with pytest.raises(LimitError, match=rf"^{solve.__name__}: the descent must end at a minimum"):
        early(1.0)


# -- what is refused -------------------------------------------------------------------------------------


@every_solver
def test_errors_say_what_is_wrong(solve: Solver) -> None:
    name = solve.__name__
    with (
        np.errstate(all="ignore"),
        pytest.raises(ArgumentError, match=rf"^{name}: .*finite at the start; got nan"),
    ):
        solve(lambda x: np.sum(np.log(x)), [-1.0, 1.0])
    with pytest.raises(ArgumentError, match=rf"^{name}: the function must return a floating-point scalar"):
        solve(lambda x: x, [-1.0, 1.0])
    with pytest.raises(DtypeError, match=rf"^{name}: x0 must be real numbers"):
        solve(np.sum, {"a": "b"})
    with pytest.raises(ConcreteError):
        wg.jit(lambda y: solve(lambda x: np.sum(x**2) + range(2)[np.argmax(x)], y).x)(np.ones(2))
