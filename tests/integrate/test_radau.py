"""Radau IIA: its polynomials and stability function, SciPy's method; derivatives and sparse equations of BDF, too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.integrate import jacobians, solve_ivp

integrate: Any = pytest.importorskip("scipy.integrate")
ITERATING = ["Radau", "BDF"]
ONE_STEP: dict[str, Any] = {"rtol": 1e9, "atol": 1e9, "max_steps": 3}


def stiff(t: Any, y: Any, rate: Any) -> Any:
    """Two components that follow slow ones, at a rate and at its square root."""
    fast = rate * (np.cos(y[2]) - y[0]) + y[1] * y[3]
    less = np.sqrt(rate) * (y[3] - y[1]) - 0.1 * y[0] ** 2
    return np.stack([fast, less, y[3], -np.sin(y[2]) + 0.1 * np.cos(t) * y[1]])


START = np.array([0.5, 0.1, 0.3, 0.2])


# -- values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("z", [-0.3, -5.0, -1e4, 0.7 + 2j])
def test_a_step_has_the_stability_function(z: complex) -> None:
    """That of Padé with degrees 2 and 3, which vanishes at infinity and differs from exp by ``z^6 / 7200``."""
    exact = (1 + 2 * z / 5 + z**2 / 20) / (1 - 3 * z / 5 + 3 * z**2 / 20 - z**3 / 60)
    result = solve_ivp(lambda t, y: z * y, (0, 1), [1.0 + 0j], "Radau", first_step=1.0, **ONE_STEP)
    assert result.t.tolist() == [0, 1]
    np.testing.assert_allclose(result.y[0, 1], exact, rtol=1e-12, atol=1e-15)


def test_polynomials_are_exact() -> None:
    """Of degree 5 at the end of a step, and of degree 3 within it."""
    slope = lambda t, y: [5 * t**4, 3 * t**2 + 0 * y[0]]  # noqa: E731
    times = np.array([0.3, 1.0])
    result = solve_ivp(slope, (0, 1), [0.0, 0.0], "Radau", times, first_step=1.0, **ONE_STEP)
    np.testing.assert_allclose(result.y[1], times**3, rtol=1e-13)
    assert result.y[0, 1] == pytest.approx(1, rel=1e-13)


@pytest.mark.slow
def test_the_error_falls_with_the_fifth_power_of_the_step() -> None:
    def error(tolerance: float) -> tuple[float, int]:
        fun = lambda t, y: [y[1], -np.sin(y[0])]  # noqa: E731
        exact = solve_ivp(fun, (0, 3), [1.0, 0.2], "DOP853", [3.0], rtol=1e-13, atol=1e-13).y
        found = solve_ivp(fun, (0, 3), [1.0, 0.2], "Radau", [3.0], rtol=tolerance, atol=tolerance)
        return np.abs(found.y - exact).max(), found.njev

    (large, few), (small, many) = error(1e-5), error(1e-8)
    assert np.log(large / small) / np.log(many / few) > 4.3


def linear(seed: int, count: int) -> tuple[Any, Callable[[Any, Any], Any], Any]:
    random = np.random.default_rng(seed)
    basis = np.linalg.qr(random.standard_normal((count, count)))[0]
    matrix = basis @ np.diag(-(10.0 ** random.uniform(0, 5, count))) @ basis.T
    phases = np.arange(1.0, count + 1)
    return matrix, lambda t, y: matrix @ (y - np.cos(t * phases)), random.standard_normal(count)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_drawn_stiff_systems_are_scipys(seed: int) -> None:
    """The first steps, before one is rejected, are SciPy's, and the ends agree to the tolerance."""
    matrix, fun, start = linear(seed, 3 + seed % 3)
    settings: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-7}
    mine = solve_ivp(fun, (0, 0.5), start, "Radau", **settings)
    theirs = integrate.solve_ivp(fun, (0, 0.5), start, "Radau", jac=matrix, **settings)
    np.testing.assert_allclose(mine.t[:5], theirs.t[:5], rtol=1e-6)
    np.testing.assert_allclose(mine.y[:, :5], theirs.y[:, :5], rtol=1e-7, atol=1e-9)
    exact = integrate.solve_ivp(fun, (0, 0.5), start, "Radau", [0.5], jac=matrix, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(mine.y[:, -1], exact.y[:, 0], rtol=1e-4, atol=1e-5)
    assert mine.njev < 1.1 * len(theirs.t) + 5


@pytest.mark.slow
def test_a_stiff_oscillator_is_scipys() -> None:
    fun = lambda t, y, mu: [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]  # noqa: E731
    settings: dict[str, Any] = {"args": (1e3,), "rtol": 1e-7, "atol": 1e-9}
    mine = solve_ivp(fun, (0, 2e3), [2.0, 0.0], "Radau", [500.0, 2e3], **settings)
    theirs = integrate.solve_ivp(fun, (0, 2e3), [2.0, 0.0], "Radau", [500.0, 2e3], **settings)
    np.testing.assert_allclose(mine.y, theirs.y, rtol=1e-5)
    assert mine.nfev < 1.3 * theirs.nfev


# -- derivatives -----------------------------------------------------------------------------------------


def solved(method: str, rate: Any, y0: Any, stop: Any, rtol: float = 1e-4, **given: Any) -> Any:
    times = np.stack([0.3 * stop, 1.0 * stop])
    settings: dict[str, Any] = {"rtol": rtol, "atol": rtol * 1e-2, "max_steps": 200, **given}
    return solve_ivp(stiff, (0.0, stop), y0, method, times, args=(rate,), **settings).y


@pytest.mark.parametrize("method", ITERATING)
def test_both_modes_are_adjoint(method: str) -> None:
    end = functools.partial(solved, method)
    point, directions = (1e3, START, 0.002), (30.0, np.cos(START * 9), 0.001)
    _, pushed = wg.jvp(end, point, directions)
    weights = np.sin(np.arange(8.0)).reshape(4, 2)
    pulled = wg.vjp(end, *point)[1](weights)
    products = [np.sum(one * two) for one, two in zip(pulled, directions, strict=True)]
    assert np.sum(products) == pytest.approx(np.sum(weights * pushed), rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("method", ITERATING)
@pytest.mark.parametrize("rate", [3.0, 1e3, 1e6])
def test_derivatives_are_differences(rate: float, method: str) -> None:
    """With respect to a parameter, the start and the end, compiled, at a tight tolerance; and second ones."""

    def end(*point: Any) -> Any:
        return solved(method, *point, rtol=1e-11, max_steps=9000)

    tight, jacobian = wg.jit(end), wg.jit(wg.jacrev(end, argnums=(0, 1, 2)))
    point = rate, START, 0.5
    found = jacobian(*point)
    for place in range(3):
        move = np.zeros(4) if place == 1 else 0.0
        for component in range(4 if place == 1 else 1):
            step = move + 1e-3 * (np.eye(4)[component] if place == 1 else abs(point[place]))
            values = []
            for share in (2, 1, -1, -2):
                moved = list(point)
                moved[place] = moved[place] + share * step
                values.append(tight(*moved))
            difference = (-values[0] + 8 * values[1] - 8 * values[2] + values[3]) / (12 * np.max(step))
            mine = found[place][..., component] if place == 1 else found[place]
            np.testing.assert_allclose(mine, difference, rtol=1e-6, atol=1e-7 / (rate if place == 0 else 1.0))
    loss = lambda rate: np.sum(solved(method, rate, START, 0.5, 1e-9, max_steps=4000) ** 2)  # noqa: E731
    slope, curvature = wg.jit(wg.grad(loss)), wg.jit(wg.hessian(loss))(rate)
    step = 1e-3 * rate
    difference = (slope(rate + step) - slope(rate - step)) / (2 * step)
    assert curvature == pytest.approx(difference, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("method", ITERATING)
def test_compiled_and_of_many_examples(method: str) -> None:
    slope = wg.grad(lambda rate, y0: np.sum(solved(method, rate, y0, 0.05) ** 2), argnums=(0, 1))
    rates, starts = np.array([10.0, 1e4, 1e2]), np.stack([START, 2 * START, -START])
    each = [slope(rate, start) for rate, start in zip(rates, starts, strict=True)]
    for run in (wg.vmap(slope), wg.jit(wg.vmap(slope))):
        of_rates, of_starts = run(rates, starts)
        np.testing.assert_allclose(of_rates, [one for one, _ in each], rtol=1e-8, atol=1e-13)
        np.testing.assert_allclose(of_starts, [one for _, one in each], rtol=1e-8, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("method", ITERATING)
def test_the_continuous_adjoint(method: str) -> None:
    def final(rate: Any, adjoint: str) -> Any:
        return np.sum(solved(method, rate, START, 0.5, 1e-6, adjoint=adjoint, max_steps=1000)[:, 1] ** 2)

    slopes = [
        wg.jit(wg.grad(lambda rate, name=name: final(rate, name)))(100.0)
        for name in ("discrete", "continuous")
    ]
    assert slopes[1] == pytest.approx(slopes[0], rel=1e-4)


@pytest.mark.parametrize("method", ITERATING)
def test_a_function_that_asks_for_values_loses_no_derivative(method: str) -> None:
    def asking(t: Any, y: Any, rate: Any) -> Any:
        return -rate * y if float(y[0]) > 0 else y

    end = lambda rate: solve_ivp(asking, (0, 0.1), [1.0], method, [0.1], args=(rate,), rtol=1e-6).y[0, 0]  # noqa: E731
    assert wg.grad(end)(2.0) == pytest.approx(-0.1 * np.exp(-0.2), rel=1e-3)


# -- Jacobians -------------------------------------------------------------------------------------------

COUNT = 33
SHUFFLED = np.random.default_rng(0).permutation(COUNT)


def heat(t: Any, y: Any, rate: Any = 1.0) -> Any:
    around = np.pad(y, 1)
    return 30 * rate * (around[2:] - 2 * y + around[:-2]) + y**2 * np.cos(t)


def far(t: Any, y: Any, rate: Any = 1.0) -> Any:
    return heat(t, y, rate) + 0.1 * y[SHUFFLED] * y[np.roll(SHUFFLED, 7)]


@pytest.mark.parametrize("method", ITERATING)
@pytest.mark.parametrize("fun", [heat, far])
def test_sparse_equations_are_the_dense_ones(fun: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of steps and of derivatives, within a band and with SuperLU."""
    pytest.importorskip("scipy.sparse")
    monkeypatch.setattr(jacobians, "_WIDEST_BAND", 12)
    monkeypatch.setattr(jacobians, "_DENSE_SHARE", 0.5)
    start = np.sin(np.linspace(0.1, 3, COUNT))

    def final(rate: Any, **given: Any) -> Any:
        return solve_ivp(fun, (0, 0.003), start, method, [0.003], args=(rate,), **given).y[:, 0]

    dense = {"jac": lambda t, y, rate: wg.jacfwd(fun, 1)(t, y, rate)}
    np.testing.assert_allclose(final(1.0), final(1.0, **dense), rtol=1e-9, atol=1e-12)
    expected, actual = (
        wg.jvp(lambda r, given=given: final(r, **given), (1.0,), (1.0,))[1] for given in (dense, {})
    )
    np.testing.assert_allclose(actual, expected, rtol=1e-7, atol=1e-11)
