"""SciPy's own solvers of equations and minima in programs that a transform follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

optimize: Any = pytest.importorskip("scipy.optimize")


def cube_root(k: Any) -> Any:
    return optimize.brentq(lambda y: y**3 - k, 0.0, 9.0)


def at_an_end(k: Any) -> Any:
    return optimize.bisect(lambda y, k: y - k, k * 1.0, 3.0, args=(k,))


def kepler(k: Any) -> Any:
    return optimize.ridder(lambda e: e - 0.3 * np.sin(e) - k, 0.0, 7.0) * k


def system(k: Any) -> Any:
    return optimize.fsolve(lambda z: [z[0] + z[1] * k - 3, z[0] * z[1] - 1], [1.0, 1.0])[1]


def least(k: Any) -> Any:
    found = optimize.minimize(lambda y: np.sum((y - k) ** 4 + (y - 1) ** 2), np.zeros(2), tol=1e-12)
    return found.x[0] + found.fun


def in_an_array(z: Any, k: Any) -> Any:
    return np.array([z[0] + z[1] * k - 3, z[0] * z[1] - 1])


def system_of_result(k: Any) -> Any:
    found = optimize.root(in_an_array, [1.0, 1.0], (k,))
    return found.x[1] * (1 + np.sum(found.fun))


def system_with_jacobian(k: Any) -> Any:
    both = lambda z: (in_an_array(z, k), np.array([[1, k], [z[1], z[0]]]))  # noqa: E731
    return optimize.root(both, (1.0, 1.0), jac=True, method="lm").x[1]


def large_system(k: Any) -> Any:
    found = optimize.root(lambda z: z**3 + k * z - 2, np.ones((2, 2)), method="krylov", tol=1e-12)
    return np.sum(found.x[0])


def newtons(k: Any) -> Any:
    return optimize.newton(lambda z, a: z**3 - a, 1.2, None, (k,)) ** 2


def newtons_of_elements(k: Any) -> Any:
    return np.prod(optimize.newton(lambda z: z**3 - k * np.arange(1.0, 3.0), np.array([1.2, 1.4])))


def scalar_in_a_bracket(k: Any) -> Any:
    found = optimize.root_scalar(lambda z: z**3 - k, bracket=(0.0, 9.0))
    assert found.converged
    return found.root


def scalar_from_a_start(k: Any) -> Any:
    found = optimize.root_scalar(lambda z: (z**3 - k, 3 * z**2), method="newton", fprime=True, x0=1.1)
    return found.root


T = np.linspace(0.0, 1.0, 12)
TIGHT = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}
DATA = np.exp(-1.3 * T) + 0.01 * np.sin(40.0 * T)


def least_between_bounds(k: Any) -> Any:
    def distance(z: Any) -> Any:
        return (z[0] - k) ** 2 + (z[1] - 2 * k) ** 4 + z[1] ** 2 * z[0] * k

    found = optimize.minimize(distance, [0.3, 0.3], bounds=[(0, None), (None, 0.8)])
    return found.x[0] + found.fun


def least_on_a_line(k: Any) -> Any:
    line = {"type": "eq", "fun": lambda z: z[0] + k * z[1] - 1}
    return optimize.minimize(lambda z: (z[0] - k) ** 2 + z[1] ** 2, np.zeros(2), constraints=line).x[1]


def estimate(k: Any) -> Any:
    found, covariance = optimize.curve_fit(lambda t, a: np.exp(-a * k * t), T, DATA * k, **TIGHT)
    return found[0] + covariance[0, 0]


def estimate_of_errors(k: Any) -> Any:
    def slope(t: Any, a: Any) -> Any:
        return -(t * np.exp(-a * t))[:, None]

    model = lambda t, a: np.exp(-a * t)  # noqa: E731
    data, errors = DATA + 0.3 * T * T, 1.0 + k * T
    return optimize.curve_fit(model, T, data, [1.0], errors, jac=slope, **TIGHT)[0][0]


def least_squares_between_bounds(k: Any) -> Any:
    def residuals(p: Any, c: Any) -> Any:
        return p[1] * np.exp(-p[0] * k * T) - c * DATA

    found = optimize.least_squares(residuals, [1.0, 0.5], bounds=([0, 0], [9, 0.9]), args=(1.0,))
    return found.x[0] + found.cost


def minpacks(k: Any) -> Any:
    return optimize.leastsq(lambda p: np.exp(-p[0] * k * T) - DATA, 1.0)[0][0]


PROGRAMS = (
    least_between_bounds, least_on_a_line, estimate, estimate_of_errors, least_squares_between_bounds, minpacks,
    cube_root, at_an_end, kepler, system, least, system_of_result, system_with_jacobian, large_system,
    newtons, newtons_of_elements, scalar_in_a_bracket, scalar_from_a_start,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_derivatives(program: Callable[[Any], Any]) -> None:
    k, step = 1.7, 1e-4
    value, slope = wg.value_and_grad(program)(k)
    assert value == pytest.approx(program(k), rel=1e-6)
    difference = (program(k + step) - program(k - step)) / (2 * step)
    assert slope == pytest.approx(difference, rel=1e-4)
    assert wg.jit(wg.grad(program))(k) == pytest.approx(slope, rel=1e-6)
    second = wg.grad(wg.grad(program))(k)
    above, below = (wg.grad(program)(k + moved) for moved in (step, -step))
    assert second == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-6)
    np.testing.assert_allclose(
        wg.vmap(program)(np.array([k, 1.1 * k])), [program(k), program(1.1 * k)], rtol=1e-6
    )


def test_brackets_without_a_root_are_refused() -> None:
    with pytest.raises(ValueError, match=r"different signs.*0.5 and 1.5.*test_followed.py:"):
        wg.grad(lambda k: optimize.brentq(lambda y: y * y + k, 0.0, 1.0))(0.5)
    with pytest.raises(wg.errors.LimitError):
        wg.jit(lambda k: optimize.brentq(lambda y: y * y + k, 0.0, 1.0))(0.5)


def test_losses_of_followed_fits_are_refused() -> None:
    with pytest.raises(wg.errors.ArgumentError, match="the linear loss"):
        wg.grad(lambda k: optimize.least_squares(lambda p: p - k, [1.0], loss="huber").x[0])(0.5)


def test_solvers_of_plain_functions_are_scipys() -> None:
    def program(k: Any) -> Any:
        found, report = optimize.brentq(lambda y: y**3 - 0.5, 0.0, 9.0, full_output=True)
        assert report.converged
        return k * found * optimize.minimize(lambda y: (y[0] - 2) ** 2, [0.0], bounds=[(0, 1)]).x[
            0
        ] + cube_root(k)

    assert wg.grad(program)(0.5) == pytest.approx(0.5 ** (1 / 3) + 0.5 ** (-2 / 3) / 3)


def test_complex_roots_of_plain_functions_are_scipys() -> None:
    program = lambda k: k * optimize.newton(lambda z: z**2 + 2.0, 1.0 + 1.0j).imag  # noqa: E731
    assert wg.grad(program)(0.5) == pytest.approx(2.0**0.5)


def test_reports_of_followed_roots_are_refused() -> None:
    with pytest.raises(wg.errors.ArgumentError, match=r"optimize.fsolve.*no full_output"):
        wg.grad(lambda k: optimize.fsolve(lambda z: z**3 - k, 1.0, full_output=True)[0])(0.5)
