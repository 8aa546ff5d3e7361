"""Loops that write elements of carried arrays: random programs against NumPy, and their memory traffic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
import wengert.numpy as wnp
from tests.compiler.comparing import check
from tests.draws import examples

ROWS, STEPS = 7, 5

#: Where a turn reads and writes.
PLACES: tuple[Callable[[Any], Any], ...] = (
    lambda i: i,
    lambda i: i + 1,
    lambda i: i + 2,
    lambda i: ROWS - 1 - i,
    lambda i: (3 * i) % ROWS,
    lambda i: -1,
    lambda i: 0,
)
Place = Callable[[Any], Any]
#: What a turn does to two arrays: it may replace either, and gives both.
Statement = Callable[[Any, Any, Any], tuple[Any, Any]]


def assigned(p: Place, q: Place) -> Statement:
    def run(i: Any, y: Any, z: Any) -> Any:
        y[p(i)] = np.sin(z[q(i)]) + y[q(i)]
        return y, z

    return run


def added(p: Place, q: Place) -> Statement:
    def run(i: Any, y: Any, z: Any) -> Any:
        y[p(i)] += 0.5 * z[q(i)]
        return y, z

    return run


def shifted(p: Place, q: Place) -> Statement:
    def run(i: Any, y: Any, z: Any) -> Any:
        y[p(i), 1:] = y[q(i), :-1] * z[q(i), ::-1][1:]
        return y, z

    return run


def viewed(p: Place, q: Place) -> Statement:
    def run(i: Any, y: Any, z: Any) -> Any:
        row, other = y[p(i)], z[q(i)]
        row *= 0.9
        other -= row
        row[0] = other[-1]
        return y, z

    return run


def of_columns(p: Place, q: Place) -> Statement:
    def run(i: Any, y: Any, z: Any) -> Any:
        y[:, p(i) % 3] = 0.5 * z[:, q(i) % 3]
        y[p(i)] = np.sum(0.1 * y, axis=0) + y[p(i)]
        return y, z

    return run


def exchanged(p: Place, q: Place) -> Statement:
    def run(i: Any, y: Any, z: Any) -> Any:
        before = y[p(i)].copy()
        y[p(i)] = y[q(i)]
        y[q(i)] = before
        return z, y

    return run


def copied(p: Place, q: Place) -> Statement:
    def run(i: Any, y: Any, z: Any) -> Any:
        new = y.copy()
        new[p(i)] = z[q(i)] * y[p(i)]
        return (new, y) if q(0) else (new, z)

    return run


def several(p: Place, q: Place) -> Statement:
    def run(i: Any, y: Any, z: Any) -> Any:
        y[np.array([0, 2, 2]) + i] = z[:3] * 0.5
        z[np.array([2, 1]) + i] += y[q(i)]
        return y, z

    return run


STATEMENTS = (assigned, added, shifted, viewed, of_columns, exchanged, copied, several)


@st.composite
def turns(draw: st.DrawFn) -> Callable[..., Any]:
    """Draw the body of a loop with two arrays."""
    count = draw(st.integers(1, 4))
    places = st.sampled_from(PLACES)
    chosen = [draw(st.sampled_from(STATEMENTS))(draw(places), draw(places)) for _ in range(count)]
    seen = draw(places)

    def body(carry: Any, i: Any) -> Any:
        y, z = (x.copy() for x in carry)
        for statement in chosen:
            y, z = statement(i, y, z)
        return (y, z), y[seen(i)]

    return body


def looped(body: Callable[..., Any], reverse: bool = False) -> Callable[..., Any]:
    def function(y: Any, z: Any) -> Any:
        return wg.scan(body, (y, z), np.arange(STEPS), reverse=reverse)

    return function


def arrays() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    return rng.normal(size=(ROWS, 3)), rng.normal(size=(ROWS, 3))


def loss_of(function: Callable[..., Any]) -> Callable[..., Any]:
    def loss(y: Any, z: Any) -> Any:
        (y, z), seen = function(y, z)
        return np.sum(np.tanh(y)) + np.sum(z * 0.1) + np.sum(np.cos(seen))

    return wg.value_and_grad(loss, argnums=(0, 1))


@examples(30)
@given(body=turns(), reverse=st.booleans())
def test_drawn_loops(body: Callable[..., Any], reverse: bool) -> None:
    check(looped(body, reverse), *arrays(), ulp=200, scale=10.0)


@examples(30)
@given(body=turns(), reverse=st.booleans())
def test_derivatives_of_drawn_loops(body: Callable[..., Any], reverse: bool) -> None:
    check(loss_of(looped(body, reverse)), *arrays(), ulp=2000, scale=10.0)


@pytest.mark.usefixtures("small")
@examples(20)
@given(body=turns(), reverse=st.booleans())
def test_drawn_loops_pass_as_large_ones(body: Callable[..., Any], reverse: bool) -> None:
    check(looped(body, reverse), *arrays(), ulp=200, scale=10.0)
    check(loss_of(looped(body, reverse)), *arrays(), ulp=2000, scale=10.0)


def recurrence(x: Any, count: int) -> Any:
    """Return ``y[i + 2] = sin y[i + 1] + y[i] / 2``."""
    y = wnp.zeros(count)
    y[0] = y[1] = x

    def turn(i: Any, y: Any) -> Any:
        y = y.copy()
        y[i + 2] = np.sin(y[i + 1]) + 0.5 * y[i]
        return y

    return wg.fori_loop(0, count - 2, turn, y)


def table(x: Any) -> Any:
    """Return the sums along the best paths down a table, row by row."""
    y = np.zeros_like(x)

    def turn(i: Any, y: Any) -> Any:
        y = y.copy()
        row = y[i + 1]
        row += np.maximum(y[i], x[i])
        row[1:] *= 0.9
        return y

    return wg.fori_loop(0, len(x) - 1, turn, y)


def exchanges(x: Any) -> Any:
    """Return an array whose first element changes places with each of the others, and grows until it is large."""
    y = x.copy()
    for end in range(len(y) - 1, 0, -1):
        y[0], y[end] = y[end], y[0]
        k = 0
        while k < end and y[0] < x[end]:
            y[0] += 0.5
            y[k] += y[1]
            k += 1
        if x[end] > 0:
            y[0] *= 0.5
            y[end] = y[0]
    return y


PROGRAMS: dict[str, Callable[[int], tuple[Callable[..., Any], Any]]] = {
    "recurrence": lambda count: (lambda x: recurrence(x[0], count), np.array([0.3])),
    "its derivative": lambda count: (
        wg.grad(lambda x: np.sum(recurrence(x[0], count))),
        np.array([0.3]),
    ),
    "table": lambda count: (table, np.linspace(-1, 1, 8 * count).reshape(count, 8)),
    "exchanges": lambda count: (exchanges, np.sin(np.arange(2.0, count + 2.0))),
    "its gradient": lambda count: (
        wg.grad(lambda x: np.sum(table(x) ** 2)),
        np.linspace(-1, 1, 8 * count).reshape(count, 8),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_turn_moves_an_element_and_not_the_array(name: str) -> None:
    moved: list[float] = []
    for count in (50, 400):
        function, x = PROGRAMS[name](count)
        compiled = wg.jit(function)
        check(function, x, ulp=2000, scale=1.0, compiled=compiled)
        moved.append(compiled.report(x).bytes)
    assert moved[1] < 10 * moved[0], "eight times as many turns move eight times as much, not sixty-four"


def test_what_was_read_before_is_what_was_there_before() -> None:
    """A copy may share the memory of its array only if no later operation reads the array."""

    def turn(y: Any, i: Any) -> Any:
        new = y.copy()
        new[i] = 2 * y[i]
        new[i + 1] = y[i] + y[i + 1]
        return new, y[i] * new[i]

    check(lambda y: wg.scan(turn, y, np.arange(4)), np.arange(1.0, 6.0), ulp=8, scale=1.0)


@pytest.mark.parametrize("per_example", [False, True])
def test_places_computed_from_what_the_same_nest_makes(per_example: bool) -> None:
    """The first write also produces i, and the second one reads it."""

    def written(a: Any, b: Any, j: Any) -> Any:
        i, a = j % 5, a.copy()
        a[i % 3] = b[i]
        a[i % 3] = b[i + 1]
        return a

    function = wg.vmap(written) if per_example else written
    lead = (2,) if per_example else ()
    a, b = np.zeros((*lead, 9)), np.arange(1.0, 10.0 * 2)[: 9 * (2 if per_example else 1)].reshape((*lead, 9))
    check(function, a, b, np.array([1, -3]))


def test_arrays_of_fewer_axes_in_one_nest_with_a_stack() -> None:
    """One nest writes the result of a turn to its row of the stack and, shifted by one, to a second array."""

    def stacked(n: Any, more: Any) -> Any:
        def turn(carry: Any, j: Any) -> Any:
            n = carry[0].copy()
            n[j] += more[j]
            n %= 13
            moved = np.zeros_like(n)
            moved[1:] = n[:-1]
            return (n, moved), n

        return wg.scan(turn, (n, more), np.array([0, 1, 2, 1]))

    check(stacked, np.array([1, 2, 3]), np.array([5, 6, 7]))


@pytest.mark.parametrize("seed", range(12))
def test_writes_at_indices_that_occur_twice_read_what_was_there_before(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 5), rng.integers(1, 300)
    writes = [
        (rng.integers(-rows, rows, rng.integers(1, 9)), rng.normal(size=2), rng.integers(4))
        for _ in range(rng.integers(1, 4))
    ]

    def program(x: Any, shift: Any) -> Any:
        y = np.cos(x)
        for index, (factor, term), kind in writes:
            index = index + shift
            if kind == 0:
                y[index] = factor * y[index] + term
            elif kind == 1:
                y[index] = np.where(y[index] > 0, factor * y[index], y[index])
            elif kind == 2:
                y[index] += factor * y[index]
            else:
                np.add.at(y, index, factor * y[index])
        return y

    x = rng.normal(size=(rows, columns))
    np.testing.assert_allclose(wg.jit(program)(x, 0), program(x, 0), rtol=1e-12)

    def total(x: Any, shift: Any) -> Any:
        return np.sum(np.sin(program(x, shift)))

    np.testing.assert_allclose(wg.jit(wg.grad(total))(x, 0), wg.grad(total)(x, 0), rtol=1e-10, atol=1e-13)


def test_room_for_checkpoints_is_not_cleared() -> None:
    def medians(x: Any) -> Any:
        total, window = x[0] * 0.0, np.zeros(3)
        for start in range(len(x) - 2):
            for i in range(3):
                value, j = x[start + i], i
                while j > 0 and window[j - 1] > value:
                    window[j] = window[j - 1]
                    j -= 1
                window[j] = value
            total = total + window[1] * x[start]
        return total

    x, slope = np.random.default_rng(5).normal(size=300), wg.grad(medians)
    compiled = wg.jit(slope)
    np.testing.assert_allclose(compiled(x), slope(x), rtol=1e-12)
    assert "<64" not in compiled.nests(x)
    batch = x.reshape(3, 100)
    np.testing.assert_allclose(wg.jit(wg.vmap(slope))(batch), [slope(row) for row in batch], rtol=1e-12)
