"""SciPy's searches for the least of several minima in followed programs: drawn problems with known solutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert.engine.core.errors import ArgumentError, LimitError

optimize: Any = pytest.importorskip("scipy.optimize")
Function = Callable[[Any], Any]
_ENDS = [(-4.0, 5.0), (-5.0, 4.0)]


def waves(centre: Any) -> Function:
    """Return Rastrigin's function, which has a minimum near each whole distance from the least one."""
    return lambda t: np.sum((t - centre) ** 2 - 10.0 * np.cos(2.0 * np.pi * (t - centre)))


SEARCHES: dict[str, Callable[[Function], Any]] = {
    "differential_evolution": lambda f: optimize.differential_evolution(f, _ENDS).x,
    "direct": lambda f: optimize.direct(f, optimize.Bounds(*np.transpose(_ENDS))).x,
    "dual_annealing": lambda f: optimize.dual_annealing(f, _ENDS, maxiter=50).x,
    "shgo": lambda f: optimize.shgo(f, _ENDS).x,
    "brute": lambda f: optimize.brute(f, (slice(-4.0, 5.0, 0.25), (-5.0, 4.0)), Ns=37),
    "basinhopping": lambda f: optimize.basinhopping(f, [1.0, 2.0], niter=60, stepsize=1.5).x,
}


@pytest.mark.parametrize("name", SEARCHES)
def test_the_least_of_many_minima(name: str) -> None:
    s = float(np.random.default_rng(len(name)).uniform(-1.0, 1.0))

    def program(s: Any) -> Any:
        return SEARCHES[name](waves(np.array([1.0, -0.5]) * s)) ** 2 @ np.array([1.0, 2.0])

    value, slope = wg.value_and_grad(program)(s)
    assert value == pytest.approx(1.5 * s * s, rel=1e-6)
    assert slope == pytest.approx(3 * s, rel=1e-6)
    assert wg.jit(wg.grad(program))(s) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("seed", range(many(3)))
def test_other_modes(seed: int) -> None:
    """Of ``(t^2 - 1)^2 + s t``, whose least minimum is the left one, and of a bound that holds."""
    s = float(np.random.default_rng(seed).uniform(0.3, 0.8))

    def least(s: Any) -> Any:
        return optimize.differential_evolution(lambda t: (t[0] ** 2 - 1.0) ** 2 + s * t[0], [(-2.0, 2.0)]).x[
            0
        ]

    t = least(s)
    slope = -1 / (12 * t * t - 4)
    assert t < 0
    assert wg.jvp(least, (s,), (1.0,)) == pytest.approx((t, slope), rel=1e-5)
    assert wg.grad(wg.grad(least))(s) == pytest.approx(24 * t * slope**3, rel=1e-4)
    np.testing.assert_allclose(wg.vmap(wg.grad(least))(np.array([s, s])), slope, rtol=1e-5)
    bounded = lambda s: optimize.dual_annealing(lambda t: np.sum((t - s) ** 2), [(-2.0, 0.0)]).x[0]  # noqa: E731
    assert wg.value_and_grad(bounded)(s) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_refusals() -> None:
    options = {"constraints": optimize.LinearConstraint(np.ones((1, 1)), 0.0, 1.0)}
    with pytest.raises(ArgumentError, match=r"differential_evolution: .*no such options.*constraints"):
        wg.grad(lambda s: optimize.differential_evolution(lambda t: s * t[0], [(0.0, 1.0)], **options).fun)(
            0.5
        )
    with pytest.raises(ArgumentError, match=r"scipy\.optimize\.direct: the bounds must be finite"):
        wg.grad(lambda s: optimize.direct(lambda t: np.sum((t - s) ** 2), [(0.0, np.inf)]).fun)(0.5)
    with pytest.raises(
        ArgumentError, match=r"scipy\.optimize\.brute: the least point of a grid has no derivative"
    ):
        wg.grad(lambda s: optimize.brute(lambda t: (t[0] - s) ** 2, [(0.0, 1.0)], finish=None)[0])(0.5)
    with pytest.raises(
        LimitError, match=r"must end at a minimum to have a derivative"
    ):  # flat in one variable
        wg.grad(lambda s: optimize.shgo(lambda t: (t[0] - s) ** 2 * (t[1] > 9.0), _ENDS).x[0])(0.5)


def test_differences_along_the_variables() -> None:
    def program(s: Any) -> Any:
        return optimize.approx_fprime(
            np.array([0.3, 0.8]), lambda t, s: np.array([s * t[0] ** 2, t[1] * s * s]), 1e-6, s
        )

    np.testing.assert_allclose(wg.vjp(program, 0.7)[0], program(0.7), rtol=1e-12)
    np.testing.assert_allclose(wg.jacobian(program)(0.7), [[0.6, 0.0], [0.0, 1.4]], atol=1e-5)


@pytest.mark.parametrize("seed", range(many(4)))
def test_isotonic_regression(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, weights = rng.normal(size=8), rng.uniform(0.5, 2.0, 8)
    for increasing in (True, False):
        program = lambda y, w, up=increasing: optimize.isotonic_regression(y, weights=w, increasing=up).x  # noqa: E731
        np.testing.assert_allclose(wg.vjp(program, y, weights)[0], program(y, weights), rtol=1e-12)
        wg.check_grads(program, (y, weights), order=1)
        total = wg.grad(lambda y, program=program: np.sum(program(y, weights) ** 2))
        np.testing.assert_allclose(wg.jit(total)(y), total(y), rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(wg.vmap(total)(np.stack([y, y]))[0], total(y), rtol=1e-11, atol=1e-14)
