"""Power series: known coefficients, curves, nesting, and what they cost."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from wengert.errors import ArgumentError, DtypeError, ShapeError

BERNOULLI = (1.0, 0.0, 2.0, 0.0, 16.0, 0.0, 272.0, 0.0, 7936.0)  # the derivatives of tan at 0


def nested(function: Any, order: int) -> Any:
    for _ in range(order):
        function = wg.derivative(function)
    return function


@pytest.mark.parametrize(
    ("function", "point", "expected"),
    [
        (np.exp, 0.5, [math.exp(0.5)] * 9),
        (np.sin, 0.5, [math.sin(0.5 + n * math.pi / 2) for n in range(1, 10)]),
        (np.tan, 0.0, BERNOULLI),
        (np.log, 2.0, [-math.factorial(n - 1) * (-0.5) ** n for n in range(1, 10)]),
        (lambda t: 1 / (1 - t), 0.0, [math.factorial(n) for n in range(1, 10)]),
        (lambda t: t**4, 0.0, [0.0, 0.0, 0.0, 24.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        (np.sqrt, 1.0, [math.prod(0.5 - k for k in range(n)) for n in range(1, 10)]),
    ],
)
def test_known_series(function: Any, point: float, expected: list[float]) -> None:
    value, terms = wg.jet(function, (point,), [[1.0, *[0.0] * 8]])
    assert value == function(point)
    np.testing.assert_allclose(terms, expected, rtol=1e-12, atol=1e-13)
    for order in (1, 2, 9):
        np.testing.assert_allclose(
            wg.derivative(function, order=order)(point), expected[order - 1], 1e-12, 1e-13
        )


@given(st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4), st.floats(0.2, 1.5))
@examples(40)
def test_curves_follow_the_formula_of_faa_di_bruno(curve: list[float], point: float) -> None:
    """The derivatives along a curve are those of f of its polynomial."""

    def polynomial(t: Any) -> Any:
        return point + sum(c * t**k / math.factorial(k) for k, c in enumerate(curve, start=1))

    def f(x: Any) -> Any:
        return np.arctan(x * x) * np.exp(-x) + np.tanh(x) / (1 + x**2)

    _, terms = wg.jet(f, (point,), [curve])
    expected = [nested(lambda t: f(polynomial(t)), order)(0.0) for order in range(1, 5)]
    np.testing.assert_allclose(terms, expected, rtol=1e-9, atol=1e-9)


def network(weights: Any, x: Any) -> Any:
    for matrix in weights["layers"]:
        x = np.tanh(matrix @ x)
    return {"sum": np.sum(x), "largest": np.max(x), "sorted": np.sort(x)[1:]}


def test_containers() -> None:
    rng = np.random.default_rng(0)
    weights = {"layers": [rng.standard_normal((3, 4)), rng.standard_normal((3, 3))]}
    x, direction = rng.standard_normal(4), rng.standard_normal(4)
    move = wg.tree.map_tree(np.ones_like, weights)
    still = wg.tree.map_tree(np.zeros_like, weights)
    output, (first, second) = wg.jet(network, (weights, x), [[move, still], [direction, np.zeros(4)]])

    def slope(weights: Any, x: Any) -> Any:
        return wg.jvp(network, (weights, x), (move, direction))[1]

    expected, curvature = wg.jvp(slope, (weights, x), (move, direction))
    for found, other in ((output, network(weights, x)), (first, expected), (second, curvature)):
        assert found.keys() == other.keys()
        for key in found:
            np.testing.assert_allclose(found[key], other[key], rtol=1e-10, atol=1e-12)


def test_precisions_and_kinds_of_numbers() -> None:
    x = np.linspace(0.1, 0.9, 5, dtype=np.float32)
    value, terms = wg.jet(lambda x: np.sin(x) / x, (x,), [[np.ones_like(x), np.zeros_like(x)]])
    assert {value.dtype, *(term.dtype for term in terms)} == {np.dtype(np.float32)}
    assert type(wg.derivative(lambda t: t**3, order=2)(2.0)) is float
    assert wg.derivative(lambda z: z**4, order=3, holomorphic=True)(1.0 + 1.0j) == 24 * (1.0 + 1.0j)
    assert wg.derivative(lambda t: 3.0, order=2)(2.0) == 0.0
    assert wg.derivative(lambda t: np.floor(t) + (t > 1), order=2)(2.5) == 0.0


@pytest.mark.parametrize("order", [2, 5])
def test_transforms_around_and_inside(order: int) -> None:
    def f(t: Any) -> Any:
        return np.log1p(t * t) * np.cos(t)

    expected = nested(f, order + 1)(0.7)
    high = wg.derivative(f, order=order)
    np.testing.assert_allclose(wg.grad(high)(0.7), expected, rtol=1e-9)
    np.testing.assert_allclose(wg.derivative(high)(0.7), expected, rtol=1e-9)
    np.testing.assert_allclose(wg.derivative(wg.grad(f), order=order)(0.7), expected, rtol=1e-9)
    np.testing.assert_allclose(wg.derivative(wg.jit(f), order=order + 1)(0.7), expected, rtol=1e-9)
    np.testing.assert_allclose(wg.jit(wg.derivative(f, order=order + 1))(0.7), expected, rtol=1e-9)
    points = np.array([0.2, 0.7])
    np.testing.assert_allclose(wg.vmap(high)(points), [high(t) for t in points], rtol=1e-12)
    np.testing.assert_allclose(
        wg.derivative(lambda s: np.sum(wg.vmap(f)(points * s)), order=order)(1.0),
        sum(t**order * high(t) for t in points),
        rtol=1e-9,
    )


@wg.custom_jvp
def softened(x: Any) -> Any:
    return np.sqrt(x * x + 1.0)


@softened.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (x,), (tangent,) = primals, tangents
    y = softened(x)
    return y, x / y * tangent


def looped(t: Any) -> Any:
    carry, rows = wg.scan(lambda c, x: (np.sin(c * x) + c, c * x), t, np.array([0.3, 0.8, 1.1]))
    return carry + np.sum(rows**2)


def repeated(t: Any) -> Any:
    return wg.while_loop(lambda c: c[1] < 4, lambda c: (np.cos(c[0]) * 1.5, c[1] + 1), (t, 0))[0]


def branched(t: Any) -> Any:
    return wg.cond(t > 0.5, lambda t: np.exp(t) / t, lambda t: t**3, t)


def checkpointed(t: Any) -> Any:
    return wg.checkpoint(lambda t: np.sin(t * t))(t)


@pytest.mark.parametrize("function", [softened, looped, repeated, branched, checkpointed])
def test_operations_that_hold_programs(function: Any) -> None:
    expected = nested(function, 3)(0.7)
    np.testing.assert_allclose(wg.derivative(function, order=3)(0.7), expected, rtol=1e-9)
    np.testing.assert_allclose(wg.jit(wg.derivative(function, order=3))(0.7), expected, rtol=1e-9)


def evaluations(order: int) -> int:
    """Return how many operations the graph of a derivative has."""

    def f(t: Any) -> Any:
        return np.sin(t) ** 2.5 / (1 + np.exp(t) * t)

    return len(wg.trace(wg.derivative(f, order=order))(0.7).equations)


def test_the_cost_grows_as_a_polynomial_of_the_order() -> None:
    """Nested forward mode doubles its operations with each order: from 8 to 16 by a factor of 256."""
    assert evaluations(16) < 9 * evaluations(8)


def test_long_programs_do_not_exhaust_the_stack() -> None:
    def long(t: Any) -> Any:
        for _ in range(sys.getrecursionlimit()):
            t = t + 0.001 * np.sin(t)
        return t

    assert math.isfinite(wg.derivative(long, order=3)(0.7))


def test_writes_into_arrays() -> None:
    def f(t: Any) -> Any:
        rows = np.zeros(3)
        rows[0] = t
        rows[1:] = np.sin(rows[0]) * np.arange(1.0, 3.0)
        rows[::2] *= rows[1]
        return np.sum(rows)

    np.testing.assert_allclose(wg.derivative(f, order=3)(0.7), nested(f, 3)(0.7), rtol=1e-12)


def test_a_point_where_a_partial_is_infinite_and_its_factor_zero() -> None:
    """The series of x^2 stays finite at 0, though powers of x that it reads do not."""
    assert wg.jet(lambda x: x**2.0, (0.0,), [[1.0, 0.0, 0.0]])[1] == [0.0, 2.0, 0.0]
    assert wg.derivative(lambda x: np.abs(x), order=2)(0.0) == 0.0


def test_no_warning_of_what_the_program_does_not_compute() -> None:
    with np.errstate(all="raise"):
        wg.derivative(lambda t: np.sqrt(t) + np.log(t + 1.0), order=3)(0.0)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        wg.derivative(lambda t: np.log(t), order=3)(0.0)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: wg.jet(np.sin, 1.0, [[1.0]]), ArgumentError, "must be tuples or lists"),
        (lambda: wg.jet(np.sin, (1.0,), [1.0]), ArgumentError, "the series of each argument a list"),
        (lambda: wg.jet(np.add, (1.0, 2.0), [[1.0]]), ArgumentError, "a series for each argument"),
        (lambda: wg.jet(np.add, (1.0, 2.0), [[1.0], [1.0, 2.0]]), ArgumentError, "all of the same length"),
        (lambda: wg.jet(np.sin, (np.ones(2),), [[np.ones(3)]]), ShapeError, "the shape of its primal"),
        (lambda: wg.jet(np.sin, (1,), [[1.0]]), DtypeError, "floating-point"),
        (lambda: wg.derivative(np.sin, order=0), ArgumentError, "integer from 1 to 170"),
        (lambda: wg.derivative(np.sin, order=1.5), ArgumentError, "integer from 1 to 170"),  # pyright: ignore[reportArgumentType]
        (lambda: wg.derivative(np.sum, order=2)(np.ones(2)), ShapeError, "must be a scalar"),
    ],
)
def test_errors(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()


def test_a_curve_without_derivatives() -> None:
    assert wg.jet(np.exp, (0.0,), [[]]) == (1.0, [])


def test_orders_whose_factorials_are_no_floats() -> None:
    with pytest.raises(wg.errors.ArgumentError, match="an integer from 1 to 170; got 171"):
        wg.derivative(np.exp, order=171)
