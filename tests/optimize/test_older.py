"""SciPy's older solvers in followed programs: drawn problems with known solutions, in all modes, and SciPy's own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert.engine.core.errors import ArgumentError

scipy = pytest.importorskip("scipy")
optimize = pytest.importorskip("scipy.optimize")
_MINIMISERS = (
    "fmin",
    "fmin_bfgs",
    "fmin_cg",
    "fmin_ncg",
    "fmin_powell",
    "fmin_slsqp",
    "fmin_l_bfgs_b",
    "fmin_tnc",
)
_SOLVERS = (
    "anderson",
    "broyden1",
    "broyden2",
    "diagbroyden",
    "excitingmixing",
    "linearmixing",
    "newton_krylov",
)
_SCALAR = ("brent", "golden", "fminbound", "minimize_scalar")


def _minimum_of(name: str, s: Any) -> Any:
    """Return the minimum of ``sum (t - s)^2``, and of the first part of results."""
    more = {"fprime": lambda t: 2 * (t - s)} if name in ("fmin_ncg", "fmin_l_bfgs_b", "fmin_tnc") else {}
    found = getattr(optimize, name)(lambda t: np.sum((t - s) ** 2 * np.arange(1.0, 3.0)), np.zeros(2), **more)
    return found[0] if isinstance(found, tuple) else found


def _check(program: Any, value: float, slope: float, s: float) -> None:
    for function in (program, wg.jit(program)):
        found, derivative = wg.value_and_grad(function)(s)
        assert (found, derivative) == pytest.approx((value, slope), rel=1e-6)
        assert wg.jvp(function, (s,), (1.0,))[1] == pytest.approx(slope, rel=1e-6)
    batched = wg.vmap(wg.grad(program))(np.array([s, s]))
    np.testing.assert_allclose(batched, slope, rtol=1e-6)


@pytest.mark.parametrize("name", _MINIMISERS)
def test_minimisers(name: str) -> None:
    s = float(np.random.default_rng(len(name)).uniform(0.5, 2.0))
    _check(lambda s: np.sum(_minimum_of(name, s) ** 2), 2 * s * s, 4 * s, s)


@pytest.mark.parametrize("seed", range(many(4)))
@pytest.mark.parametrize("name", _SCALAR)
def test_minima_of_one_variable(name: str, seed: int) -> None:
    """Of ``t^4 / 4 + t^2 / 2 - a t``, where ``t^3 + t = a``."""
    t = float(np.random.default_rng([seed, len(name)]).uniform(0.1, 0.9))
    ends = (0.0, 2.0) if name == "fminbound" else ()

    def program(a: Any) -> Any:
        found = getattr(optimize, name)(lambda t: t**4 / 4 + t**2 / 2 - a * t, *ends)
        return found.x if name == "minimize_scalar" else found

    _check(program, t, 1 / (3 * t * t + 1), t**3 + t)


def test_a_search_that_only_compares_has_its_derivative_in_the_first_run() -> None:
    """SciPy's own `golden` of boxes returns a number without a derivative, and raises no error."""
    for program in (
        lambda a: optimize.golden(lambda t: (t - a) ** 2),
        lambda a: scipy.optimize.golden(lambda t: (t - a) ** 2),
    ):
        assert wg.value_and_grad(program)(0.25) == pytest.approx((0.25, 1.0), rel=1e-6)


def test_bounds_of_one_variable() -> None:
    program = lambda a: optimize.fminbound(lambda t: (t - a) ** 2, 0.0, 1.0)  # noqa: E731
    assert wg.value_and_grad(program)(3.0) == pytest.approx((1.0, 0.0), abs=1e-9)
    bounded = lambda a: optimize.minimize_scalar(lambda t: (t - a) ** 2, bounds=(0.0, 1.0)).x  # noqa: E731
    assert wg.value_and_grad(bounded)(0.25) == pytest.approx((0.25, 1.0), rel=1e-6)


@pytest.mark.parametrize("name", _SOLVERS)
def test_equations(name: str) -> None:
    program = lambda s: np.sum(getattr(optimize, name)(lambda t: t + 0.1 * t**3 - s, np.ones(2)))  # noqa: E731
    t = 0.7
    _check(program, 2 * t, 2 / (1 + 0.3 * t * t), t + 0.1 * t**3)


def test_fixed_points() -> None:
    t = 0.8
    s = math.acos(t) / t
    program = lambda s: optimize.fixed_point(lambda t: np.cos(s * t), 0.7)  # noqa: E731
    sine = math.sin(s * t)
    _check(program, t, -t * sine / (1 + s * sine), s)


def test_constraints_stand_in_the_old_way() -> None:
    least = lambda s: optimize.fmin_slsqp(  # noqa: E731
        lambda t: np.sum(t**2), np.ones(2), eqcons=[lambda t: t[0] + t[1] - s], iprint=0
    )
    np.testing.assert_allclose(wg.jacobian(least)(3.0), [0.5, 0.5], rtol=1e-6)
    above = lambda s: optimize.fmin_cobyla(lambda t: np.sum(t**2), np.ones(2), [lambda t: t[0] - s])  # noqa: E731
    np.testing.assert_allclose(wg.jacobian(above)(3.0), [1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("seed", range(many(4)))
def test_linear_fits(seed: int) -> None:
    """Where some bounds hold: SciPy's values, and derivatives against differences."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(6, 3)), rng.normal(size=6)
    for program in (
        lambda A, b: optimize.nnls(A, b)[0],
        lambda A, b: optimize.nnls(A, b)[1],
        lambda A, b: optimize.lsq_linear(A, b, (-0.1, 0.4)).x,
        lambda A, b: optimize.lsq_linear(A, b).x,
    ):
        np.testing.assert_allclose(wg.vjp(program, A, b)[0], program(A, b), rtol=1e-6, atol=1e-8)
        wg.check_grads(program, (A, b), order=1, rtol=1e-4, atol=1e-4)


def test_plain_calls_and_refusals() -> None:
    assert optimize.brent(lambda t: (t - 1.0) ** 2) == pytest.approx(1.0)
    with pytest.raises(ArgumentError, match=r"scipy\.optimize\.fmin: .* no full_output"):
        wg.grad(lambda s: optimize.fmin(lambda t: (t - s) ** 2, 0.0, full_output=True)[0])(1.0)


_SEARCHES: dict[str, Any] = {
    "direct": lambda f: scipy.optimize.direct(f, [(-2.0, 2.0)]).x[0],
    "dual_annealing": lambda f: scipy.optimize.dual_annealing(f, [(-2.0, 2.0)], maxiter=3).x[0],
    "differential_evolution": lambda f: scipy.optimize.differential_evolution(f, [(-2.0, 2.0)]).x[0],
    "basinhopping": lambda f: scipy.optimize.basinhopping(f, [0.0], niter=1).x[0],
    "shgo": lambda f: scipy.optimize.shgo(f, [(-2.0, 2.0)]).x[0],
    "brute": lambda f: scipy.optimize.brute(f, [(-2.0, 2.0)], Ns=5)[0],
    "cobyla": lambda f: scipy.optimize.fmin_cobyla(f, [0.0], [])[0],
    **{
        method: lambda f, method=method: scipy.optimize.minimize(f, [0.0], method=method).x[0]
        for method in (
            "Nelder-Mead",
            "Powell",
            "CG",
            "BFGS",
            "L-BFGS-B",
            "TNC",
            "COBYLA",
            "SLSQP",
            "trust-constr",
        )
    },
}


@pytest.mark.parametrize("search", _SEARCHES)
def test_no_search_loses_a_derivative(search: str) -> None:
    def program(a: Any) -> Any:
        return _SEARCHES[search](lambda t: (t[0] - a) ** 2 + 1.0)

    for transform in (wg.grad, wg.derivative):
        try:
            slope = transform(program)(0.7)
        except wg.errors.WengertError:
            continue
        assert slope == pytest.approx(1.0, rel=1e-5)
