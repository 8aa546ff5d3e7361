"""Control flow over power series and over the algebra of the Laplacian: one loop carries all parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from tests.engine.control.nests import distinct_equations
from tests.engine.control.running import assert_close, names, printed_and_parsed, staged

FACTORS = np.array([0.3, -0.5, 1.2, 0.7, -0.2, 0.9])
ORDERS = range(1, 7)
Function = Callable[..., Any]


def product(t: Any, **limits: Any) -> Any:
    """Multiply ``1 + x t`` for all factors x; each step leaves a row behind."""
    total, rows = wg.scan(lambda p, x: (p * (1 + x * t), p), np.ones_like(t), FACTORS, **limits)
    return total + 0 * np.sum(rows)


def exponential(t: Any, terms: int = 30, **limits: Any) -> Any:
    def add(i: Any, state: Any) -> Any:
        total, term = state
        return total + term, term * t / (i + 1)

    return wg.fori_loop(0, terms, add, (0.0 * t, 1.0 + 0.0 * t), **limits)[0]


def root(t: Any, **limits: Any) -> Any:
    """Take Newton's steps for the square root."""
    limits = limits or {"most": 60}
    start = ((t + 1) / 2, 1.0)

    def step(state: Any) -> Any:
        x, _ = state
        return (x + t / x) / 2, wg.stop_gradient(x - t / x)

    # Each further step doubles the number of derivatives that are right.
    x, _ = wg.while_loop(lambda state: abs(state[1]) > 1e-8, step, start, **limits)
    for _ in range(3):
        x = (x + t / x) / 2
    return x


def branch(t: Any) -> Any:
    return wg.cond(t > 0, lambda t: np.exp(2 * t), lambda t: t, t)


def nested(t: Any) -> Any:
    """Add ``x exp(t x)`` for all factors x: a loop inside a branch inside a scan."""

    def step(total: Any, x: Any) -> Any:
        term = wg.cond(x > 0, exponential, lambda y: 1 / exponential(-y), t * x)
        return total + x * term, None

    return wg.scan(step, 0.0 * t, FACTORS)[0]


def polynomial(order: int, t: float) -> float:
    whole = np.prod([np.polynomial.Polynomial([1.0, x]) for x in FACTORS])
    return whole.deriv(order)(t)


def falling(order: int, t: float) -> float:
    return math.prod(0.5 - k for k in range(order)) * t ** (0.5 - order)


#: A function, and its derivative of an order at a point.
KNOWN: dict[str, tuple[Function, Callable[[int, float], Any]]] = {
    "scan": (product, polynomial),
    "scan with a budget": (lambda t: product(t, max_bytes=200), polynomial),
    "fori_loop": (exponential, lambda order, t: math.exp(t)),
    "while_loop": (root, falling),
    "while_loop with a budget": (lambda t: root(t, max_bytes=2000), falling),
    "cond": (branch, lambda order, t: 2**order * math.exp(2 * t)),
    "nested": (nested, lambda order, t: np.sum(FACTORS ** (order + 1) * np.exp(t * FACTORS))),
    "checkpoint": (wg.checkpoint(lambda t: np.exp(-t)), lambda order, t: (-1) ** order * math.exp(-t)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_derivatives(name: str) -> None:
    function, expected = KNOWN[name]
    for order in ORDERS:
        high, value = wg.derivative(function, order=order), expected(order, 0.7)
        for run in (high, staged(high), wg.derivative(staged(function), order=order)):
            np.testing.assert_allclose(run(0.7), value, rtol=1e-10, err_msg=f"order {order}")


@pytest.mark.parametrize("name", KNOWN)
def test_compiled_and_with_other_transforms(name: str) -> None:
    function, expected = KNOWN[name]
    points = np.array([0.4, 0.7])
    for order in (1, 3):
        high = wg.derivative(function, order=order)
        values = [expected(order, t) for t in points]
        slopes = [expected(order + 1, t) for t in points]
        np.testing.assert_allclose(wg.jit(high)(0.7), values[1], rtol=1e-10)
        np.testing.assert_allclose(wg.jit(wg.vmap(high))(points), values, rtol=1e-10)
        np.testing.assert_allclose(staged(wg.vmap(high))(points), values, rtol=1e-10)
        np.testing.assert_allclose(wg.vmap(staged(high))(points), values, rtol=1e-10)
        np.testing.assert_allclose(wg.grad(high)(0.7), slopes[1], rtol=1e-10)
        np.testing.assert_allclose(staged(wg.grad(high))(0.7), slopes[1], rtol=1e-10)
        of_gradient = wg.derivative(wg.grad(function), order=order)
        np.testing.assert_allclose(staged(of_gradient)(0.7), slopes[1], rtol=1e-10)
        np.testing.assert_allclose(staged(wg.vmap(of_gradient))(points), slopes, rtol=1e-10)


@given(st.lists(st.floats(-1.0, 1.0), min_size=12, max_size=12))
@examples(10)
def test_curves_through_a_loop_of_vectors(numbers: list[float]) -> None:
    """The series of the loop, once in a graph, is that of the same steps in Python."""
    x, *curve = np.reshape(numbers, (4, 3))

    def steps(x: Any, loop: Function) -> Any:
        rows = np.stack([x, x * x])

        def step(state: Any, row: Any) -> Any:
            angle, speed = state
            speed = speed - 0.1 * np.sin(angle) + 0.05 * row
            return (angle + 0.1 * speed * x[0], speed), np.dot(angle, speed)

        return loop(step, (x, np.zeros(3)), rows)

    def in_python(step: Function, carry: Any, rows: Any) -> Any:
        left = []
        for row in rows:
            carry, result = step(carry, row)
            left.append(result)
        return carry, np.stack(left)

    def series(loop: Function) -> Function:
        return lambda x, *curve: wg.jet(lambda x: steps(x, loop), (x,), [curve])

    assert_close(staged(series(wg.scan))(x, *curve), series(in_python)(x, *curve))


@pytest.mark.parametrize("kind", ["scan", "while"])
def test_a_loop_carries_as_many_values_as_its_order(kind: str) -> None:
    def function(t: Any) -> Any:
        step: Function = lambda x: np.sin(x) * t  # noqa: E731
        if kind == "scan":
            return wg.fori_loop(0, 9, lambda i, x: step(x), t)
        return wg.while_loop(lambda x: x > 0.1, step, t)

    sizes = []
    for order in range(1, 9):
        graph = printed_and_parsed(wg.trace(wg.derivative(function, order=order))(0.7))
        (loop,) = (equation for equation in graph.equations if equation.primitive == kind)
        integers = sum(var.dtype.kind == "i" for var in loop.outputs)
        assert len(loop.outputs) - integers == order + 1
        sizes.append(distinct_equations(graph))
    # The step is a polynomial of degree 2 in the order: its third differences vanish.
    np.testing.assert_array_equal(np.diff(sizes[2:], 3), 0)


def test_loops_in_the_rule_of_another_operation() -> None:
    """Coefficient k of a rule's result needs the coefficients of its operands below k alone."""

    @wg.custom_jvp
    def exp(x: Any) -> Any:
        return np.exp(x)

    @exp.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        y = exp(primals[0])
        halves = wg.fori_loop(0, 2, lambda i, total: total + y / 2, 0.0 * y)
        chosen = wg.cond(primals[0] > 0, lambda: halves * tangents[0], lambda: y * tangents[0])
        return y, chosen

    for order in (1, 2, 5):
        high = wg.derivative(lambda t: exp(3 * t), order=order)
        for run in (high, staged(high), wg.jit(high)):
            np.testing.assert_allclose(run(0.2), 3**order * math.exp(0.6), rtol=1e-12)


def test_integers_and_values_without_derivative_in_a_loop() -> None:
    def function(t: Any) -> Any:
        def step(state: Any) -> Any:
            count, x, fixed = state
            return count + 1, x * t + np.floor(t), fixed * 2.0

        return wg.while_loop(lambda state: state[0] < 4, step, (0, t, 1.0))

    high = wg.derivative(function, order=2)
    count, x, fixed = staged(high)(1.5)
    assert (count, fixed) == (0, 0.0)
    np.testing.assert_allclose(x, wg.derivative(wg.derivative(lambda t: function(t)[1]))(1.5), rtol=1e-12)


# -- the Laplacian ---------------------------------------------------------------------------------------


def field(x: Any, **limits: Any) -> Any:
    def step(state: Any, row: Any) -> Any:
        u, total = state
        u = wg.cond(total > 0, lambda u: np.tanh(u * row + x), lambda u: np.sin(u) * x, u)
        return (u, total + np.dot(u, u)), np.sum(u) * row

    (u, total), rows = wg.scan(step, (x, 0.0 * x[0]), np.array([0.4, 1.1, -0.3]), **limits)
    return {"mean": np.mean(u) * total, "rows": rows**2}


@pytest.mark.parametrize("limits", [{}, {"max_bytes": 2000}])
def test_the_laplacian_of_a_loop(limits: dict[str, int]) -> None:
    x = np.array([0.3, -0.8, 0.5])

    def function(x: Any) -> Any:
        return field(x, **limits)

    blocks = wg.hessian(field)(x)
    expected = wg.tree.map_tree(lambda block: np.trace(block, axis1=-2, axis2=-1), blocks)
    laplacian = wg.laplacian(function)
    for run in (laplacian, staged(laplacian), wg.laplacian(staged(function)), wg.jit(laplacian)):
        assert_close(run(x), expected)
    loops = [name for name in names(wg.trace(laplacian)(x)) if "scan" in name]
    assert len(loops) == 1
    of_gradient = wg.laplacian(wg.grad(lambda x: function(x)["mean"]))
    back = wg.grad(lambda x: wg.laplacian(field)(x)["mean"])(x)
    assert_close(staged(of_gradient)(x), back)
    assert_close(staged(wg.grad(lambda x: laplacian(x)["mean"]))(x), back)
