"""Products that a loop adds up are one product after it, with the same values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from wengert.engine.ir import Equation, Graph, verify
from wengert.engine.machine import costs
from wengert.engine.passes.distribute_loops import distribute_loops
from wengert.engine.passes.factor_products import factor_products
from wengert.engine.transforms.staging import evaluate

RNG = np.random.default_rng(0)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every sum of products leave its loop."""
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, distributed_bytes_share=1e9))


def whole(*shape: int) -> Any:
    """Return small integers, of which sums and products are exact in any order."""
    return RNG.integers(-2, 3, shape).astype(float)


def distributed(function: Callable[..., Any], *args: Any) -> Graph:
    """Return the graph of a function after the pass, which must not change what it computes."""
    graph = factor_products(wg.jit(function).graph(*args))
    changed = distribute_loops(graph)
    verify(changed)
    for found, expected in zip(evaluate(changed, *args), evaluate(graph, *args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    return changed


def scans(graph: Graph) -> list[Equation]:
    """Return the loops of a graph, those in the programs inside it included."""
    found = [equation for equation in graph.equations if equation.primitive == "scan"]
    inside = [body for equation in graph.equations for body in equation.graphs()]
    return found + [equation for body in inside for equation in scans(body)]


def products_in_loops(graph: Graph) -> int:
    """Return how many products the loops of a graph make in each turn."""
    bodies = [body for equation in graph.equations for body in equation.graphs()]
    return sum(
        sum(equation.primitive == "contract" for equation in body.equations) + products_in_loops(body)
        for body in bodies
    )


def run(cell: Callable[..., Any], reverse: bool = False) -> Callable[..., Any]:
    """Return the loss of a recurrence with a matrix."""

    def loss(w: Any, xs: Any) -> Any:
        start = np.zeros((xs.shape[1], w.shape[0]))
        return np.sum(wg.scan(lambda h, x: (cell(h, x, w),) * 2, start, xs, reverse=reverse)[1] ** 2)

    return wg.grad(loss, argnums=(0, 1))


#: The cell, and the products of a turn backward once the sums have left.
CELLS: dict[str, tuple[Callable[..., Any], int]] = {
    "a product": (lambda h, x, w: h @ w + x, 1),
    "a product with the transpose": (lambda h, x, w: h @ w.T + x, 1),
    "two products": (lambda h, x, w: (h @ w + x) @ w, 2),
    "a product of parts": (lambda h, x, w: np.concatenate([(h @ w)[:, :2], h[:, 2:] + x[:, 2:]], 1), 1),
    "a part of the matrix": (lambda h, x, w: np.concatenate([h @ w[:, :2], x[:, 2:]], 1), 1),
    "a product that is turned": (lambda h, x, w: (w @ h.T).T + x, 1),
    "of inputs too": (lambda h, x, w: h @ w + x @ w, 1),
}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", CELLS)
def test_derivatives_of_cells(name: str, reverse: bool, always: None) -> None:
    cell, products = CELLS[name]
    slope, (w, xs) = run(cell, reverse), (whole(4, 4), whole(3, 2, 4))
    forward, backward = scans(distributed(slope, w, xs))
    assert products_in_loops(Graph((), (), (backward,), ())) == products
    assert backward.params["carries"] == 1
    assert forward.params["reverse"] is reverse is not backward.params["reverse"]
    for found, expected in zip(wg.jit(slope)(w, xs), slope(w, xs), strict=True):
        np.testing.assert_array_equal(found, expected)


@given(st.integers(2, 9), st.integers(1, 4), st.integers(1, 6), st.sampled_from(["f4", "f8"]))
@examples(20)
def test_drawn_shapes(turns: int, batch: int, width: int, dtype: str) -> None:
    """Whatever the model of costs decides, the gradient of a recurrence is the same."""
    slope = run(lambda h, x, w: np.tanh(h @ w + x))
    w, xs = (RNG.normal(size=shape).astype(dtype) / 2 for shape in ((width, width), (turns, batch, width)))
    for found, expected in zip(wg.jit(slope)(w, xs), slope(w, xs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_sum_may_begin_with_any_value(always: None) -> None:
    def moments(start: Any, xs: Any) -> Any:
        return wg.scan(lambda total, x: (total + x.T @ x, None), start, xs)[0]

    start, xs = whole(5, 5), whole(6, 3, 5)
    assert products_in_loops(distributed(moments, start, xs)) == 0
    np.testing.assert_array_equal(wg.jit(moments)(start, xs), moments(start, xs))


def test_values_that_the_loop_does_not_stack_are_stacked_once(always: None) -> None:
    def moments(x: Any, y: Any) -> Any:
        def turn(state: Any, _: None) -> Any:
            x, y, first, second = state
            return (np.cos(x), np.sin(y), first + x.T @ y, second + x @ y.T), None

        zeros = np.zeros((3, 3)), np.zeros((4, 4))
        return wg.scan(turn, (x, y, *zeros), None, 5)[0][2:]

    x, y = RNG.normal(size=(2, 4, 3))
    (loop,) = scans(distributed(moments, x, y))
    assert (loop.params["carries"], len(loop.outputs)) == (2, 4)
    for found, expected in zip(wg.jit(moments)(x, y), moments(x, y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_loops_inside_loops(always: None) -> None:
    def loss(w: Any, xs: Any) -> Any:
        def inner(h: Any, x: Any) -> Any:
            return h @ w + x, None

        def outer(h: Any, x: Any) -> Any:
            return wg.scan(inner, h, x)[0], None

        return np.sum(wg.scan(outer, np.zeros((2, 3)), xs)[0] ** 2)

    slope, w, xs = wg.grad(loss), whole(3, 3), whole(3, 2, 2, 3)
    changed = distributed(slope, w, xs)
    assert all(loop.params["carries"] == 1 for loop in scans(changed))
    np.testing.assert_array_equal(wg.jit(slope)(w, xs), slope(w, xs))


def test_unrolled_loops(monkeypatch: pytest.MonkeyPatch, always: None) -> None:
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, rerolled_equations=8, rerolled_turns=3))

    def loss(w: Any, xs: Any) -> Any:
        h = np.zeros((2, 4))
        for x in xs:
            h = np.tanh(h @ w + x)
        return np.sum(h**2)

    slope, w, xs = wg.grad(loss), RNG.normal(size=(4, 4)) / 2, RNG.normal(size=(20, 2, 4))
    changed = distributed(slope, w, xs)
    assert [loop.params["carries"] for loop in scans(changed)] == [1, 1]
    np.testing.assert_allclose(wg.jit(slope)(w, xs), slope(w, xs), rtol=1e-10, atol=1e-12)


def test_a_product_has_no_terms_outside_of_a_part(always: None) -> None:
    """Zeros of a stack would meet what is infinite there."""

    def loss(w: Any, xs: Any) -> Any:
        def turn(h: Any, x: Any) -> Any:
            return h, np.sum((x @ w)[:, :2])

        return np.sum(wg.scan(turn, 0.0, xs)[1])

    slope, w, xs = wg.jit(wg.grad(loss, argnums=(0, 1))), whole(3, 4), whole(5, 2, 3)
    expected = slope(w, xs)
    w[:, 3], xs[2, 0, 0] = np.inf, np.nan
    of_w, of_xs = slope(w, xs)
    np.testing.assert_array_equal(of_w[:, 2:], expected[0][:, 2:])
    np.testing.assert_array_equal(of_xs, expected[1])


# -- what stays ------------------------------------------------------------------------------------------


STAYS: dict[str, Callable[..., Any]] = {
    "the sum is read": lambda s, x: (s + x.T @ x, np.sum(s)),
    "the sum is stacked": lambda s, x: (s + x.T @ x,) * 2,
    "the sum is scaled": lambda s, x: (0.5 * s + x.T @ x, None),
    "the sum is turned": lambda s, x: (s.T + x.T @ x, None),
    "twice the sum": lambda s, x: (s + s + x.T @ x, None),
    "the product is read": lambda s, x: (s + x.T @ x, x.T @ x),
    "another term": lambda s, x: (s + x.T @ x + np.sin(x[:1]), None),
    "a row of a sum": lambda s, x: (s + x[0] @ x.T[:, :1], None),
}


@pytest.mark.parametrize("name", STAYS)
def test_other_sums_stay(name: str, always: None) -> None:
    def total(start: Any, xs: Any) -> Any:
        return wg.scan(STAYS[name], start, xs)

    graph = wg.jit(total).graph(np.ones((3, 3)), np.ones((4, 2, 3)))
    assert distribute_loops(graph) is graph


@pytest.mark.parametrize(("batch", "leaves"), [(1, True), (1000, False)])
def test_sums_stay_where_stacks_would_be_larger(batch: int, leaves: bool) -> None:
    slope = run(lambda h, x, w: np.tanh(h @ w + x))
    changed = distributed(slope, np.eye(8), np.ones((3, batch, 8)))
    assert scans(changed)[1].params["carries"] == (1 if leaves else 2)


@pytest.mark.parametrize(("turns", "leaves"), [(100, True), (1_000_000, False)])
def test_a_long_loop_makes_no_large_stacks(turns: int, leaves: bool) -> None:
    """A loop over nothing but a counter adds up products of what it computes."""

    def f(x: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            x, total = carry
            x = np.cos(x)
            return (x, total + x[:, None] @ x[None]), None

        return wg.scan(step, (x, np.zeros((64, 64))), None, length=turns)[0][1]

    graph = distribute_loops(wg.jit(f).graph(np.ones(64)))
    assert (products_in_loops(graph) == 0) == leaves
