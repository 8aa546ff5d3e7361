"""Branches and loops, compiled: the results of eager mode, in both modes of differentiation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import check
from wengert.engine.core.errors import IndexingError

Function = Callable[..., Any]


def total(value: Any) -> Any:
    return sum(np.sum(np.sin(leaf)) for leaf in wg.tree.leaves(value))


def check_modes(function: Function, *point: Any, reverse: bool = True) -> None:
    """Compare values, directional derivatives, and gradients; all in one program."""
    direction = wg.tree.map_tree(
        lambda x: np.cos(np.arange(np.size(x)) + 1.0).reshape(np.shape(x))[()], point
    )

    def everything(*point: Any) -> Any:
        actual = [function(*point), wg.jvp(function, point, direction)]
        if reverse:
            numbers = tuple(range(len(point)))
            actual.append(wg.grad(lambda *point: total(function(*point)), argnums=numbers)(*point))
            actual.append(
                wg.jvp(wg.grad(lambda *point: total(function(*point)), argnums=numbers), point, direction)
            )
        return actual

    check(everything, *point, ulp=2e3, scale=1.0)


# -- cond ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [0.7, -0.7])
def test_cond(x: float) -> None:
    def function(x: Any, y: Any) -> Any:
        return wg.cond(x > 0, lambda x, y: (np.sin(y) * x, y), lambda x, y: (y * y, 2.0 * y + x), x, y)

    check_modes(function, np.float64(x), np.linspace(-1, 1, 17))


def test_cond_inside_cond_with_constants() -> None:
    def function(x: Any, y: Any) -> Any:
        inner = lambda y: wg.cond(np.sum(y) > 0, lambda: np.ones(3), lambda: y * 2.0)  # noqa: E731
        return wg.cond(x > 0, inner, lambda y: np.zeros(3), y)

    for x in (1.0, -1.0):
        for sign in (1.0, -1.0):
            check_modes(function, np.float64(x), sign * np.arange(1.0, 4.0))


def test_cond_of_examples() -> None:
    def function(x: Any) -> Any:
        return wg.cond(x[0] > 0, lambda x: np.exp(x), lambda x: x[::-1], x)

    check_modes(wg.vmap(function), np.random.default_rng(0).normal(size=(9, 4)))


# -- while ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0.0, pytest.param(1.0, marks=pytest.mark.exhaustive), 100.0])
def test_while_with_carries_of_several_shapes(limit: float) -> None:
    def function(x: Any, y: Any) -> Any:
        return wg.while_loop(
            lambda state: state[0] < limit,
            lambda state: (state[0] * 2.0 + 0.5, np.tanh(state[2].sum(0)), np.outer(state[1], state[1])),
            (x, y, np.outer(y, y)),
        )

    check_modes(function, np.float64(0.3), np.linspace(-1, 1, 5), reverse=False)


def test_while_of_while() -> None:
    def inner(x: Any) -> Any:
        return wg.while_loop(lambda v: np.sum(v) < 10.0, lambda v: v + 1.5, x)

    def function(x: Any) -> Any:
        return wg.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, 0.25 * inner(s[1])), (0, x))

    check_modes(function, np.array([0.5, -0.25, 1.0]), reverse=False)


def test_while_of_examples() -> None:
    def function(x: Any, n: Any) -> Any:
        return wg.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, np.cos(s[1])), (0, x))

    check(wg.vmap(function), np.linspace(0, 1, 6).reshape(3, 2), np.array([0, 4, 2]))


@pytest.mark.parametrize("upper", [0, 1, 5])
def test_fori_with_known_and_with_unknown_bounds(upper: int) -> None:
    def function(x: Any) -> Any:
        return wg.fori_loop(0, upper, lambda i, v: np.sin(v) + 0.1 * i, x)

    check_modes(function, np.linspace(-1, 1, 33))
    check(lambda n, x: wg.fori_loop(1, n, lambda i, v: v * i, x), np.int64(upper), np.ones(3))


# -- scan -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 2, 7])
def test_scan_with_carries_that_swap(length: int, reverse: bool) -> None:
    def step(carry: Any, row: Any) -> Any:
        h, c = carry
        return (c, np.tanh(h + row)), (h, c * row)

    def function(x: Any, y: Any, rows: Any) -> Any:
        return wg.scan(step, (x, y), rows, reverse=reverse)

    rng = np.random.default_rng(length)
    check_modes(function, rng.normal(size=3), rng.normal(size=3), rng.normal(size=(length, 3)))


@pytest.mark.parametrize("length", [1, 4, 5])
def test_scan_that_moves_carries_around(length: int) -> None:
    def function(a: Any, b: Any, rows: Any) -> Any:
        left = lambda s, x: ((s[1], s[2], s[3], s[0] * 0.5 + s[3]), None)  # noqa: E731
        right = lambda s, x: ((s[2] + x, s[0], s[1]), s[0])  # noqa: E731
        swap = lambda s, x: ((s[1], s[0]), s[0] * x)  # noqa: E731
        return (
            wg.scan(left, (a, b, a * b, a - b), rows)[0],
            wg.scan(right, (a, b, a + b), rows),
            wg.scan(swap, (a, b), rows),
        )

    check_modes(function, np.linspace(0, 1, 5), np.linspace(1, 2, 5), np.linspace(2, 3, length))


def test_scans_of_scans() -> None:
    def inner(carry: Any, row: Any) -> Any:
        return wg.scan(lambda c, x: (np.sin(c) + x, c * x), carry, row)

    def function(start: Any, rows: Any) -> Any:
        return wg.scan(inner, start, rows)

    rng = np.random.default_rng(3)
    check_modes(function, rng.normal(size=4), rng.normal(size=(3, 2, 4)))


def test_one_start_for_several_loops() -> None:
    """The initial value of one loop is still available for the next."""

    def function(x: Any) -> Any:
        start = np.tanh(x)
        first = wg.fori_loop(0, 3, lambda i, v: np.cos(v), start)
        second = wg.scan(lambda c, _: (c * 0.5 + 0.1, None), start, None, length=2)[0]
        return first, second, start

    def counted(x: Any) -> Any:
        start = wg.fori_loop(0, 2, lambda i, v: np.cos(v), x)
        step = lambda s: (s[0] + 1, 0.5 * np.cos(s[1]))  # noqa: E731
        count, _ = wg.while_loop(lambda s: s[0] < 3, step, (0, start))
        return count, wg.while_loop(lambda s: s[0] < 2, step, (0, start))[1]

    check_modes(function, np.linspace(-1, 1, 9))
    check(lambda x: function(x)[1], np.linspace(-1, 1, 9))
    check(counted, np.linspace(-1, 1, 9))


def test_recurrent_network_over_examples() -> None:
    def function(weights: Any, rows: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = np.tanh(h @ weights + x)
            return h, h[0]

        return wg.scan(step, np.zeros(4), rows)

    rng = np.random.default_rng(4)
    weights, rows = 0.5 * rng.normal(size=(4, 4)), rng.normal(size=(17, 6, 4))
    check_modes(lambda weights, rows: wg.vmap(function, in_axes=(None, 0))(weights, rows), weights, rows)


def test_scan_that_reads_and_writes_by_its_counter() -> None:
    def function(x: Any, places: Any) -> Any:
        def step(table: Any, place: Any) -> Any:
            row = table[place]
            table = table.copy()
            table[place - 1] = row * 0.5 + 1.0
            return table, row

        return wg.scan(step, x, places)

    places = np.array([2, 0, -1, 3, 3])
    check_modes(lambda x: function(x, places), np.arange(12.0).reshape(4, 3))
    check(function, np.arange(12.0).reshape(4, 3), places)


def test_scan_with_a_branch_and_integers() -> None:
    def step(carry: Any, row: Any) -> Any:
        count, x = carry
        x = wg.cond(count % 2 == 0, lambda x: x * row, lambda x: x + row, x)
        return (count + 1, x), (count, x)

    check(
        lambda x, rows: wg.scan(step, (0, x), rows), np.float32(0.5), np.linspace(0, 1, 5, dtype=np.float32)
    )


# -- programs with rules of their own ---------------------------------------------------------------------


def test_checkpoint() -> None:
    layer = wg.checkpoint(lambda w, x: np.tanh(x @ w))

    def function(w: Any, x: Any) -> Any:
        return layer(w, layer(w, x)) + wg.checkpoint(np.sin)(x)

    rng = np.random.default_rng(5)
    check_modes(function, rng.normal(size=(5, 5)), rng.normal(size=(3, 5)))


@wg.custom_jvp
def softened(x: Any) -> Any:
    return np.abs(x)


@softened.defjvp
def _softened_rule(primals: Any, tangents: Any) -> Any:
    (x,), (u,) = primals, tangents
    return np.abs(x), np.tanh(10.0 * x) * u


@wg.custom_vjp
def clipped(x: Any, y: Any) -> Any:
    return x * y


clipped.defvjp(
    lambda x, y: (x * y, (x, y)), lambda kept, ct: (np.clip(ct, -0.1, 0.1) * kept[1], ct * kept[0])
)


def test_rules_of_the_user() -> None:
    x = np.linspace(-1, 1, 7)
    check_modes(lambda x: wg.scan(lambda c, r: (softened(c) + r, softened(r)), x[0], x), x)

    def gradient(x: Any) -> Any:
        loss = lambda x: np.sum(wg.vmap(clipped)(x, np.sin(x)) ** 2)  # noqa: E731
        return clipped(x, x), wg.value_and_grad(loss)(x)

    check(gradient, x, scale=1.0)


# -- indices ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [-8, -1, 0, 6, 7, -9, 100, 2**40])
def test_positions_out_of_range_are_found_and_nothing_is_read(place: int) -> None:
    x, places = np.linspace(0, 1, 7), np.zeros(19, np.int64)
    places[17] = place
    for function in (lambda x, i: x[i] * 2.0, lambda x, i: np.stack([x, x])[:, i], lambda x, i: np.sum(x[i])):
        compiled = wg.jit(function)
        if -7 <= place < 7:
            check(function, x, places, compiled=compiled, scale=1.0)
        else:
            with pytest.raises(
                IndexingError, match=f"index {place} is out of bounds for axis . with size 7"
            ) as caught:
                compiled(x, places)
            assert isinstance(caught.value, IndexError)
            check(function, x, np.zeros(19, np.int64), compiled=compiled, scale=1.0)


@pytest.mark.parametrize("place", [-3, 4, 2**31])
def test_positions_to_write_at(place: int) -> None:
    def function(x: Any, i: Any) -> Any:
        y = x.copy()
        y[i] += 1.0
        return y, wg.grad(lambda x: np.sum(x[i] ** 2))(x)

    x = np.arange(4.0)
    with pytest.raises(IndexError):
        wg.jit(function)(x, np.array([1, place * (1 if place > 0 else 2)]))
    check(function, x, np.array([1, -3, 2, 1]))


def test_nothing_to_read_from() -> None:
    compiled = wg.jit(lambda x, i: x[i])
    with pytest.raises(IndexError):
        compiled(np.zeros(0), np.array([0, 0]))
    assert compiled(np.zeros(0), np.zeros(0, np.int64)).shape == (0,)


def test_what_a_loop_that_ends_when_it_is_done_only_reads_is_computed_once() -> None:
    def function(x: Any, w: Any) -> Any:
        scale = np.exp(w)
        return wg.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + 1, s[1] * scale), (0, x))[1]

    x, w = np.linspace(0.1, 0.4, 100), np.linspace(-1, 1, 100)
    check(function, x, w, ulp=40)
    before, inside = str(wg.jit(function).nests(x, w)).split("loop:")
    assert "exp" in before
    assert "exp" not in inside


def test_a_turn_that_writes_at_a_place_and_moves_the_place() -> None:
    """The place is computed before anything is stored, also where one nest writes the element and the next place."""

    def function(x: Any, start: Any) -> Any:
        def turn(state: Any) -> Any:
            kept, place, newest, number = state

            def onward() -> Any:
                total = np.sum(np.sin(x * number) * x)
                taken = total > 0.0
                row = kept.copy()
                row[place] = 1.0 / np.where(taken, total, 2.0)
                after = np.where(taken, np.where(place == 3, 0, place + 1), place)
                return row, after, np.where(taken, total * total, newest) + row[after - 1]

            row, after, last = wg.cond(number % 3 > 0, onward, lambda: (kept, place, newest))
            return row, after, last, number + 1

        return wg.while_loop(lambda s: s[3] < 9, turn, (np.zeros(4), start, np.sum(x), 1))

    check(function, np.linspace(0.0, 1.0, 5), np.int64(0), ulp=100)
