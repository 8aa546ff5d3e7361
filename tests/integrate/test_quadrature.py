"""Integrals: known values, SciPy's results, derivatives in every mode, and errors that are never silent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ArgumentError, DtypeError, LimitError, ShapeError
from wengert.integrate import cubature, quad
from wengert.integrate.rules import GAUSS_KRONROD, Rule, genz_malik

Function = Callable[..., Any]
INTEGRALS: list[tuple[Function, float, float, float]] = [
    (np.exp, 0, 2, math.e**2 - 1),
    (np.exp, 2, 0, 1 - math.e**2),
    (np.cos, 1, 1, 0),
    (lambda x: np.exp(-(x**2)), -np.inf, np.inf, math.sqrt(math.pi)),
    (lambda x: 1 / (1 + x**2), 1, np.inf, math.pi / 4),
    (lambda x: 1 / (1 + x**2), -np.inf, -1, math.pi / 4),
    (np.log, 0, 1, -1),
    (lambda x: 1 / np.sqrt(x), 0, 4, 4),
    (lambda x: np.abs(x - 0.3), 0, 1, 0.29),
    (lambda x: 1e-3 / (x**2 + 1e-6), -1, 1, 2 * math.atan(1e3)),
    (lambda x: 1 / np.sqrt(1 - x), 0, 1, 2),
    (lambda x: np.exp(-x) / np.sqrt(x), 0, np.inf, math.sqrt(math.pi)),
    (lambda x: np.exp(x) / np.sqrt(-x), -np.inf, 0, math.sqrt(math.pi)),
    (lambda x: x**-1.5, 1, np.inf, 2),
]


def damped(rate: Any, end: Any) -> Any:
    """An integral with a closed form, so that its derivatives are known."""
    return quad(lambda x: np.exp(-rate * x), 0.0, end)[0]


def damped_form(rate: Any, end: Any) -> Any:
    return (1 - np.exp(-rate * end)) / rate


def of_vector(function: Function) -> Function:
    return lambda v: function(v[0], v[1])


POINT = np.array([1.3, 2.0])


# -- rules -----------------------------------------------------------------------------------------------


def _applied(rule: Rule, function: Function) -> Any:
    """Integrate a function of points (q, d) over the cube [-1, 1]^d."""
    axes = rule.nodes.shape[1]
    values = function(rule.nodes)[None, :, None, None]
    return rule.estimate(values, np.full((1, 1, axes), 2.0))


@pytest.mark.parametrize("degree", range(32))
def test_the_rule_of_gauss_and_kronrod_is_exact_for_polynomials(degree: int) -> None:
    exact = 2 / (degree + 1) if degree % 2 == 0 else 0
    result = _applied(GAUSS_KRONROD, lambda x: x[:, 0] ** degree)
    assert abs(result.value.item() - exact) < 1e-15
    if degree < 20:  # so is Gauss's within it: there is no error but that of rounding
        assert result.error.item() < 1e-13


@pytest.mark.parametrize("axes", [2, 3, 4])
def test_the_rule_of_genz_and_malik_is_exact_up_to_degree_7(axes: int) -> None:
    rng = np.random.default_rng(axes)
    for _ in range(20):
        powers = rng.multinomial(rng.integers(0, 8), np.ones(axes) / axes)
        exact = np.prod([2 / (p + 1) if p % 2 == 0 else 0 for p in powers])
        result = _applied(genz_malik(axes), lambda x, powers=powers: np.prod(x**powers, axis=1))
        assert abs(result.value.item() - exact) < 1e-13
        if powers.sum() < 6:
            assert result.error.item() < 1e-12


def test_the_roughest_axis_is_split() -> None:
    result = _applied(genz_malik(3), lambda x: np.cos(5 * x[:, 1]) + 0.1 * x[:, 2] ** 4)
    assert result.axis.item() == 1


# -- values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("function", "low", "high", "exact"), INTEGRALS)
def test_integrals_are_within_their_error(function: Function, low: float, high: float, exact: float) -> None:
    value, error = quad(function, low, high)
    assert abs(value - exact) <= max(error, 1e-15)
    assert error <= 1.49e-8 * max(1, abs(exact))


@pytest.mark.parametrize(("function", "low", "high", "exact"), INTEGRALS)
def test_integrals_are_scipys(function: Function, low: float, high: float, exact: float) -> None:
    theirs = pytest.importorskip("scipy.integrate").quad(function, low, high)
    assert quad(function, low, high)[0] == pytest.approx(theirs[0], abs=1e-7)


@pytest.mark.parametrize("number", [0, 3, 4, 5, 8, 10, 11])
def test_compiled_integrals_are_the_same(number: int) -> None:
    function, low, high, _ = INTEGRALS[number]
    np.testing.assert_allclose(
        wg.jit(lambda scale: quad(lambda x: scale * function(x), low, high))(1.0),
        quad(function, low, high),
        rtol=1e-12,
        atol=1e-13,
    )


def test_an_end_between_whose_floats_much_lies_is_not_reached() -> None:
    """Between 1 and the next float lie 3e-8 of the integral of ``1 / sqrt(x - 1)``."""
    value, _ = quad(lambda x: np.exp(1 - x) / np.sqrt(x - 1), 1, np.inf)
    assert value == pytest.approx(math.sqrt(math.pi), abs=3e-8)


@pytest.mark.parametrize("points", [[0.2, 0.7], [0.7, 0.2], [0.7, 2.0, -1.0, 0.2]])
@pytest.mark.parametrize("reverse", [False, True])
def test_points_break_the_interval(points: list[float], reverse: bool) -> None:
    def steps(x: Any) -> Any:
        return np.where(x < 0.2, 1.0, np.where(x < 0.7, 5.0, -2.0)) * x

    ends = (1, 0) if reverse else (0, 1)
    exact = (0.04 + 5 * 0.45 - 2 * 0.51) / 2 * (-1 if reverse else 1)
    limit = len(points) + 1
    value, error = quad(steps, *ends, points=points, limit=limit)
    assert abs(value - exact) < 1e-15
    assert error < 1e-13
    assert (
        abs(wg.jit(lambda a: quad(steps, a, ends[1], points=points, limit=limit)[0])(ends[0]) - exact) < 1e-15
    )


def test_python_may_branch_on_the_point_outside_of_transforms() -> None:
    assert quad(lambda x, k: k if x < 0.5 else 0.0, 0, 1, args=(3,), points=[0.5])[0] == pytest.approx(1.5)


def test_a_vector_is_integrated_by_component() -> None:
    powers = np.arange(6.0).reshape(2, 3)
    value, error = quad(lambda x: x**powers, 0, 1)
    np.testing.assert_allclose(value, 1 / (powers + 1), rtol=1e-15)
    assert np.shape(error) == ()


def test_each_component_is_accurate() -> None:
    small = 1e-9
    values = quad(lambda x: np.stack([np.exp(x), small * np.sqrt(x)]), 0, 1, epsabs=0, epsrel=1e-9)[0]
    assert values[1] == pytest.approx(small * 2 / 3, rel=1e-9)


# -- derivatives -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [wg.grad, wg.jacfwd, lambda f: wg.jit(wg.grad(f))])
def test_the_gradient_is_that_of_the_closed_form(mode: Any) -> None:
    np.testing.assert_allclose(
        mode(of_vector(damped))(POINT), wg.grad(of_vector(damped_form))(POINT), rtol=1e-12
    )


@pytest.mark.parametrize(
    "mode", [wg.hessian, lambda f: wg.jacfwd(wg.grad(f)), lambda f: wg.jit(wg.hessian(f))]
)
def test_the_hessian_is_that_of_the_closed_form(mode: Any) -> None:
    expected = wg.hessian(of_vector(damped_form))(POINT)
    np.testing.assert_allclose(mode(of_vector(damped))(POINT), expected, rtol=1e-11)


def test_a_derivative_of_each_order_has_one_integral() -> None:
    def area(p: Any) -> Any:
        return wg.integrate.quad(lambda x: np.exp(-p * x) * np.sin(p * x), 0.0, 2.0)[0]

    function: Any = lambda p: area(p) ** 2  # noqa: E731
    for order in range(4):
        graph = str(wg.jit(function).graph(1.3))
        assert graph.count("= integral[") == order + 1
        function = (lambda f: lambda p: wg.jvp(f, (p,), (1.0,))[1])(function)


def test_a_bound_has_the_integrand_as_its_derivative() -> None:
    slopes = wg.grad(lambda a, b: quad(np.sqrt, a, b)[0], argnums=(0, 1))(0.25, 4.0)
    assert slopes == (-0.5, 2.0)


@pytest.mark.parametrize(("low", "high"), [(0.5, np.inf), (-np.inf, 0.5), (-np.inf, np.inf)])
def test_infinite_ranges_have_derivatives(low: float, high: float) -> None:
    def mass(width: Any, shift: Any) -> Any:
        return quad(lambda x: np.exp(-(((x - shift) / width) ** 2)), low, high)[0]

    def form(width: Any, shift: Any) -> Any:
        whole = math.sqrt(math.pi) * width
        if low == -np.inf and high == np.inf:
            return whole
        share = 0.5 * (1 + np.float64(math.erf((0.5 - shift) / width)))
        return whole * (share if low == -np.inf else 1 - share)

    h = 1e-5
    slopes = wg.grad(mass, argnums=(0, 1))(1.3, 0.2)
    differences = (
        (form(1.3 + h, 0.2) - form(1.3 - h, 0.2)) / (2 * h),
        (form(1.3, 0.2 + h) - form(1.3, 0.2 - h)) / (2 * h),
    )
    np.testing.assert_allclose(slopes, differences, atol=1e-8)


def test_the_finite_end_of_an_infinite_range_has_a_derivative() -> None:
    tail = wg.jit(wg.grad(lambda a: quad(lambda x: np.exp(-x), a, np.inf)[0]))
    assert tail(0.7) == pytest.approx(-math.exp(-0.7), rel=1e-14)


def test_a_derivative_that_is_rougher_than_the_function_is_accurate() -> None:
    # The integrand is 1 where the parameter is 0, so the function needs one interval, its derivative many.
    def power(p: Any) -> Any:
        return quad(lambda x: x**p, 0.0, 1.0)[0]

    assert wg.grad(power)(0.0) == pytest.approx(-1, abs=1e-7)
    assert wg.jvp(power, (0.0,), (1.0,))[1] == pytest.approx(-1, abs=1e-7)
    assert wg.jit(wg.grad(power))(0.0) == pytest.approx(-1, abs=1e-7)


def test_a_small_derivative_is_accurate_relative_to_itself() -> None:
    slope = wg.grad(lambda rate: 1e-12 * quad(lambda x: np.sqrt(rate * x), 0, 1)[0])(1.0)
    assert slope == pytest.approx(1e-12 / 3, rel=1e-7)


@pytest.mark.parametrize("transform", [lambda f: f, wg.jit])
def test_examples_have_intervals_of_their_own(transform: Any) -> None:
    rates, ends = np.array([0.5, 1.0, 40.0]), np.array([3.0, 0.0, 50.0])
    values = transform(wg.vmap(damped))(rates, ends)
    np.testing.assert_allclose(values, damped_form(rates, ends), rtol=1e-9, atol=1e-15)
    slopes = transform(wg.vmap(wg.grad(damped, argnums=(0, 1))))(rates, ends)
    expected = wg.vmap(wg.grad(damped_form, argnums=(0, 1)))(rates, ends)
    np.testing.assert_allclose(slopes, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("transform", [lambda f: f, wg.jit])
def test_examples_share_constants(transform: Any) -> None:
    ends = np.array([[0.5, 1.0], [2.0, 3.0]])
    total = lambda rate: np.sum(wg.vmap(wg.vmap(lambda end: damped(rate, end)))(ends))  # noqa: E731
    expected = wg.grad(lambda rate: np.sum(damped_form(rate, ends)))(1.3)
    assert transform(wg.grad(total))(1.3) == pytest.approx(expected, rel=1e-12)


def test_float32_parameters_have_float32_cotangents() -> None:
    slope = wg.grad(lambda c: quad(lambda x: np.exp(c * x), 0, 1)[0])(np.float32(0.5))
    assert slope.dtype == np.float32
    assert slope == pytest.approx(float(4 - 2 * math.exp(0.5)), rel=1e-6)


def test_a_quantile_is_the_root_of_an_integral() -> None:
    density = lambda t, scale: np.exp(-((t / scale) ** 2) / 2) / (scale * math.sqrt(2 * math.pi))  # noqa: E731

    def quantile(scale: Any) -> Any:
        share = lambda x: quad(density, -np.inf, x, args=(scale,))[0] - 0.975  # noqa: E731
        return wg.implicit.root(share, 0.0)

    assert wg.grad(quantile)(2.0) == pytest.approx(1.959963985, rel=1e-8)
    assert wg.jvp(quantile, (2.0,), (1.0,))[1] == pytest.approx(1.959963985, rel=1e-8)


@pytest.mark.parametrize("run", [lambda f: f, wg.jit], ids=["eager", "compiled"])
def test_integrals_nest(run: Any) -> None:
    def triangle(rate: Any) -> Any:
        inner = lambda y: quad(lambda x: np.exp(rate * (x + y)), 0, 1 - y)[0]  # noqa: E731
        return quad(inner, 0, 1)[0]

    def form(rate: Any) -> Any:
        return np.exp(rate) / rate - (np.exp(rate) - 1) / rate**2

    value, slope = run(wg.value_and_grad(triangle))(1.3)
    assert value == pytest.approx(form(1.3), rel=1e-12)
    assert slope == pytest.approx(wg.grad(form)(1.3), rel=1e-12)


def test_functions_of_math_are_followed() -> None:
    slope = wg.grad(lambda rate: quad(lambda x: math.exp(rate * x), 0, 1)[0])(1.0)
    assert slope == pytest.approx(1, rel=1e-12)


def test_loops_hold_integrals() -> None:
    def total(rate: Any) -> Any:
        step = lambda carry, end: (carry + damped(rate, end), None)  # noqa: E731
        return wg.scan(step, 0.0, np.arange(1.0, 4.0))[0]

    expected = wg.grad(lambda rate: np.sum(damped_form(rate, np.arange(1.0, 4.0))))(1.3)
    for slope in (wg.grad(total), wg.jit(wg.grad(total)), wg.grad(wg.checkpoint(total))):
        assert slope(1.3) == pytest.approx(expected, rel=1e-12)


def test_the_source_of_an_integral_runs() -> None:
    slope = wg.grad(damped)
    assert wg.source(slope)(1.3, 2.0).function()(1.3, 2.0) == pytest.approx(slope(1.3, 2.0), rel=1e-12)


# -- errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [lambda x: 1 / x, lambda x: np.nan * x], ids=["a pole", "nan"])
def test_no_integral_is_silently_wrong(function: Any) -> None:
    with pytest.raises(LimitError, match="after limit=30 intervals"):
        quad(function, 0, 1, limit=30)
    with pytest.raises(LimitError, match="after limit=30 intervals"):
        wg.jit(lambda a: quad(function, a, 1, limit=30)[0])(0.0)


def test_a_derivative_that_diverges_is_an_error() -> None:
    jump = lambda p: quad(lambda x: 1 / np.sqrt(np.abs(x - p)), 0, p, limit=100, epsrel=1e-6)[0]  # noqa: E731
    assert jump(0.5) == pytest.approx(2 * math.sqrt(0.5), abs=1e-5)
    with pytest.raises(LimitError):
        wg.grad(jump)(0.5)


def test_errors_name_the_requirement() -> None:
    with pytest.raises(ArgumentError, match="finite interval"):
        quad(np.exp, -np.inf, 0, points=[-1.0])
    with pytest.raises(ArgumentError, match="a must be less than b"):
        quad(np.exp, np.inf, 0)
    with pytest.raises(ArgumentError, match="limit must be larger"):
        quad(np.exp, 0, 1, points=[0.5], limit=1)
    with pytest.raises(DtypeError, match="real"):
        quad(lambda x: 1j * x, 0, 1)
    with pytest.raises(ShapeError, match="same length"):
        cubature(lambda x: x[:, 0], [0, 0], [1])
    with pytest.raises(ShapeError, match="a value for each"):
        cubature(lambda x: np.sum(x), [0, 0], [1, 1])
    with pytest.raises(ArgumentError, match="genz-malik"):
        cubature(lambda x: x[:, 0], [0, 0], [1, 1], rule="gk21")


# -- boxes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_integral_over_a_box_is_a_product(axes: int) -> None:
    low, high = -0.2 * np.arange(axes), 1.0 + 0.3 * np.arange(axes)
    result = cubature(lambda x: np.exp(np.sum(x, axis=1)), low, high, rtol=1e-7)
    exact = np.prod(np.exp(high) - np.exp(low))
    assert abs(result.estimate - exact) <= result.error <= 1e-7 * exact


@pytest.mark.parametrize("run", [lambda f: f, wg.jit], ids=["eager", "compiled"])
def test_boxes_have_derivatives(run: Any) -> None:
    def mass(low: Any, high: Any, scale: Any) -> Any:
        return cubature(lambda x: np.exp(scale * (x[:, 0] + x[:, 1])), low, high, rtol=1e-9).estimate

    def form(low: Any, high: Any, scale: Any) -> Any:
        return np.prod((np.exp(scale * high) - np.exp(scale * low)) / scale)

    point = np.array([0.1, -0.2]), np.array([1.0, 0.7]), 0.8
    expected = wg.grad(form, argnums=(0, 1, 2))(*point)
    slopes = run(wg.grad(mass, argnums=(0, 1, 2)))(*point)
    for mine, theirs in zip(slopes, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-7)
    second = wg.grad(wg.grad(lambda scale: mass(*point[:2], scale)))(0.8)
    assert second == pytest.approx(wg.grad(wg.grad(lambda scale: form(*point[:2], scale)))(0.8), rel=1e-6)


def test_a_box_may_be_infinite() -> None:
    def bell(rate: Any) -> Any:
        height = lambda x: np.exp(-rate * np.sum(x**2, axis=1))  # noqa: E731
        return cubature(height, [-np.inf, 0], [np.inf, np.inf], rtol=1e-5).estimate

    assert bell(1.3) == pytest.approx(math.pi / 2.6, rel=1e-5)
    assert wg.grad(bell)(1.3) == pytest.approx(-math.pi / 2 / 1.3**2, rel=1e-4)
