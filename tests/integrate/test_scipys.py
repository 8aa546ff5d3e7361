"""SciPy's own integrals, `solve_ivp` and `odeint` in programs that a transform follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

integrate: Any = pytest.importorskip("scipy.integrate")


def gauss(k: Any) -> Any:
    return integrate.quad(lambda y, k: np.exp(-k * y * y), 0, np.inf, args=(k,))[0]


def between(k: Any) -> Any:
    return integrate.quad(lambda y: np.sin(k * y) / (1 + y), -0.5, k, epsabs=1e-11)[0]


def decay(k: Any) -> Any:
    found = integrate.solve_ivp(
        lambda t, y: -k * y, (0.0, 1.0), [1.0, 2.0], t_eval=[0.5, 1.0], rtol=1e-9, atol=1e-11
    )
    return np.sum(found.y[:, -1] + found.t[-1])


def stiff(k: Any, method: str = "BDF") -> Any:
    def rate(t: Any, y: Any) -> Any:
        return np.array([-50.0 * k * (y[0] - y[1]), -y[1]])

    options = {"method": method, "t_eval": [1.0], "rtol": 1e-9, "atol": 1e-11}
    return integrate.solve_ivp(rate, (0.0, 1.0), [2.0, 1.0], **options).y[0, -1]


def prey(k: Any) -> Any:
    def rate(y: Any, t: Any, b: Any) -> Any:
        return [k * y[0] - b * y[0] * y[1], -y[1] + y[0] * y[1]]

    return np.sum(integrate.odeint(rate, [1.0, 2.0], np.linspace(0, 3, 7), args=(0.8,)) ** 2)


def first_time(k: Any) -> Any:
    return integrate.odeint(lambda t, y: -k * y, 1.0, [0.0, 0.5, 1.0], tfirst=True)[2, 0]


def over_a_triangle(k: Any) -> Any:
    return integrate.dblquad(lambda y, x: np.exp(-k * x * y), 0, 1, 0, lambda x: x * k)[0]


def over_a_half_plane(k: Any) -> Any:
    options = {"epsabs": 1e-9}
    ranges = [lambda x, c: (0, np.inf), (-np.inf, np.inf)]
    return integrate.nquad(lambda y, x, c: np.exp(-k * x * x - c * y * y), ranges, (2.0,), options)[0]


def up_to_followed_limits(k: Any) -> Any:
    return integrate.dblquad(lambda y, x: x + y * y, 0, 1, 0, lambda x: x * k)[0]


def over_a_solid(k: Any) -> Any:
    def above(x: Any, y: Any) -> Any:
        return x * y + k

    return integrate.tplquad(lambda z, y, x: k * x * y * z, 0, 1, 0, lambda x: x, 0, above)[0]


def of_a_vector(k: Any) -> Any:
    return np.sum(integrate.quad_vec(lambda x: np.array([np.exp(-k * x), x * k]), 0.0, k)[0])


def by_exponentials(k: Any) -> Any:
    one = integrate.tanhsinh(lambda x, c: np.exp(-c * k * x), 0.0, np.inf, args=(2.0,)).integral
    several = integrate.tanhsinh(lambda x: np.sin(k * x), np.array([0.0, 1.0]), np.array([1.0, 3.0])).integral
    return one + np.sum(several)


def of_a_box(k: Any) -> Any:
    one = integrate.cubature(lambda x: np.exp(-k * x[:, 0]), [0.0], [np.inf]).estimate
    return one + integrate.cubature(lambda x: np.exp(-k * x[:, 0] * x[:, 1]), [0.0, 0.0], [1.0, k]).estimate


def sums(k: Any) -> Any:
    finite = integrate.nsum(lambda x, c: np.exp(-c * k * x), 1.0, 40.0, args=(np.array([0.1, 0.3]),)).sum
    slow = integrate.nsum(lambda x: (x + k) ** (-1.5 - k), 1.0, np.inf).sum
    return np.sum(finite) + slow + integrate.nsum(lambda x: np.exp(-k * x), 0.5, np.inf, step=0.5).sum


PROGRAMS = (
    of_a_vector, by_exponentials, of_a_box, sums,
    over_a_triangle, over_a_half_plane, up_to_followed_limits, pytest.param(over_a_solid, marks=pytest.mark.slow),
    gauss, between, decay, stiff, prey, first_time,
)  # fmt: skip


def skip_if_scipy_lacks(program: Any) -> None:
    """Skip a program that calls a function of a later SciPy."""
    for name in {"tanhsinh", "cubature", "nsum"}.intersection(program.__code__.co_names):
        if not hasattr(integrate, name):
            pytest.skip(f"this SciPy lacks {name}")


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_derivatives(program: Callable[[Any], Any]) -> None:
    skip_if_scipy_lacks(program)
    k, step = 0.7, 1e-4
    value, slope = wg.value_and_grad(program)(k)
    assert value == pytest.approx(program(k), rel=1e-6)
    difference = (program(k + step) - program(k - step)) / (2 * step)
    assert slope == pytest.approx(difference, rel=1e-4)
    assert wg.jit(wg.grad(program))(k) == pytest.approx(slope, rel=1e-7)
    assert wg.jvp(program, (k,), (1.0,))[1] == pytest.approx(slope, rel=1e-7)
    np.testing.assert_allclose(
        wg.vmap(program)(np.array([k, 2 * k])), [program(k), program(2 * k)], rtol=1e-6
    )


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_every_method_of_scipys(method: str) -> None:
    value, slope = wg.value_and_grad(stiff)(0.7, method)
    assert value == pytest.approx(stiff(0.7, method), rel=1e-6)
    assert slope == pytest.approx((stiff(0.7 + 1e-3) - stiff(0.7 - 1e-3)) / 2e-3, rel=1e-4)


def test_functions_that_are_not_followed_are_scipys() -> None:
    def program(k: Any) -> Any:
        value = integrate.quad(lambda y: y * y, 0.0, 1.0, full_output=1)
        solution = integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], method="LSODA")
        states = integrate.odeint(lambda y, t: -y, 1.0, [0.0, 1.0], (), None, 0)
        assert len(value) == 3
        return k * value[0] * solution["y"][0, -1] * states[-1, 0] + integrate.quad(np.sin, 0.0, k)[0]

    assert wg.grad(program)(0.5) == pytest.approx(np.exp(-2.0) / 3 + np.sin(0.5), rel=1e-3)


@pytest.mark.parametrize(
    "program",
    [
        lambda k: integrate.quad(lambda y: k * y, 0.0, 1.0, weight="cos", wvar=2.0)[0],
        lambda k: integrate.quad(lambda y: k * y, 0.0, 1.0, full_output=True)[0],
        lambda k: integrate.odeint(lambda y, t: -k * y, 1.0, [0.0, 1.0], full_output=True)[0][1, 0],
        lambda k: integrate.tanhsinh(lambda x: -k * x, 0.0, 1.0, log=True).integral,
        lambda k: integrate.cubature(lambda x: k * x[:, 0], [0.0], [1.0], points=[np.array([0.5])]).estimate,
    ],
)
def test_options_without_a_meaning_are_refused(program: Callable[[Any], Any]) -> None:
    skip_if_scipy_lacks(program)
    with pytest.raises(wg.errors.ArgumentError, match=r"only the tolerances are options.*test_scipys.py:"):
        wg.grad(program)(0.5)


@pytest.mark.parametrize("option", [{"mass": np.eye(1)}, {"max_steps": 50}])
def test_options_of_wengerts_alone_are_refused(option: dict[str, Any]) -> None:
    def program(k: Any) -> Any:
        return integrate.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0], **option).y[0, -1]

    with pytest.raises(
        wg.errors.ArgumentError, match=r"no such option; got .*write wg\.integrate\.solve_ivp"
    ):
        wg.grad(program)(0.5)
