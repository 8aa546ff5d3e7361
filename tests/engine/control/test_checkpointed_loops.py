"""Reverse mode through loops with a budget of memory: binomial checkpointing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.control.growing import EXAMPLES, growth, growth_python
from tests.engine.control.running import TRANSFORMS, assert_equal_in_norm, check_everywhere, write_down
from wengert.engine.control import revolve
from wengert.engine.control.revolve import split
from wengert.engine.core.errors import LimitError
from wengert.engine.transforms.staging import evaluate

Function = Callable[..., Any]


def reach(slots: int, repetitions: int) -> int:
    return math.comb(slots + repetitions, slots)


def fewest(length: int, slots: int) -> int:
    """Return the turns that the best schedule carries out without their residuals (Griewank and Walther 2000)."""
    repetitions = next(r for r in range(length + 1) if length <= reach(slots, r))
    return repetitions * length - (reach(slots + 1, repetitions - 1) if repetitions else 0)


def schedule(length: int, slots: int) -> Iterator[int]:
    """Yield the turns to carry out, by recursion on the part behind a kept state."""
    if length > 1:
        first = int(split(np.int64(length), np.int64(slots))) if slots > 1 and length > 2 else length - 1
        yield first
        yield from schedule(length - first, slots - 1)
        yield from schedule(first, slots)


@pytest.mark.parametrize("slots", range(1, 7))
def test_no_schedule_takes_fewer_turns(slots: int) -> None:
    for length in (1, 2, 3, 4, 5, 7, 10, 13, 20, 33):
        assert sum(schedule(length, slots)) == fewest(length, slots)


@pytest.mark.parametrize(
    ("length", "slots"), [(1, 1), (2, 1), (3, 2), (9, 2), (10, 3), (17, 4), (30, 3), (6, 9)]
)
def test_the_backward_pass_takes_the_turns_of_the_schedule(
    length: int, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = {"advance": 0, "back": 0}
    loops: list[Any] = []

    def counting(graph: Any, *values: Any) -> Any:
        for name in taken:
            taken[name] += graph is getattr(loops[0], name) if loops else 0
        return evaluate(graph, *values)

    monkeypatch.setattr(revolve, "evaluate", counting)
    body, _, _ = write_down(lambda x: np.sin(x), np.float64(1.0))
    loop = revolve.Recomputed(body, 0, 1, False, [True], slots, block=1)
    loops.append(loop)
    # Here each turn of the loops runs in Python: they are not staged.
    monkeypatch.setattr(revolve, "repeat_while", _repeat_in_python)
    (slope,) = loop.run(np.int64(length), [np.float64(0.7)], [np.float64(1.0)])
    expected, x = 1.0, 0.7
    for _ in range(length):
        expected, x = expected * np.cos(x), np.sin(x)
    np.testing.assert_allclose(slope, expected)
    assert taken == {"advance": fewest(length, slots), "back": length}


def _repeat_in_python(test: Function, step: Function, state: Any, raises: bool = False) -> Any:
    while test(*state):
        state = step(*state)
    return list(state)


# -- loops -----------------------------------------------------------------------------------------------


def filtered(x: Any, reverse: bool = False) -> Any:
    rows = x * np.linspace(0.5, 1, 7)

    def step(carry: Any, row: Any) -> Any:
        return np.tanh(carry * row + x), carry * row

    last, ys = wg.scan(step, x, rows, reverse=reverse, max_bytes=600)
    return last + np.sum(ys * np.arange(7.0))


def filtered_python(x: Any, reverse: bool = False) -> Any:
    rows, carry, ys = x * np.linspace(0.5, 1, 7), x, [0.0] * 7
    for i in reversed(range(7)) if reverse else range(7):
        carry, ys[i] = np.tanh(carry * rows[i] + x), carry * rows[i]
    return carry + sum(i * y for i, y in enumerate(ys))


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_while_loops_under_every_transform(transform: str) -> None:
    check_everywhere(lambda x: growth(x, max_bytes=500), growth_python, EXAMPLES, only=[transform])


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("reverse", [False, True])
def test_scans_under_every_transform(reverse: bool, transform: str) -> None:
    check_everywhere(
        lambda x: filtered(x, reverse),
        lambda x: filtered_python(x, reverse),
        [(0.3,), (-0.8,)],
        only=[transform],
    )


@pytest.mark.parametrize("transform", ["value", "grad", "reverse over reverse"])
def test_ranges(transform: str) -> None:
    def series(x: Any) -> Any:
        return wg.fori_loop(1, 9, lambda i, v: np.sin(v * i) + x / i, x, max_bytes=250)

    def python(x: Any) -> Any:
        v = x
        for i in range(1, 9):
            v = np.sin(v * i) + x / i
        return v

    check_everywhere(series, python, [(0.4,), (-1.2,)], only=[transform])


@pytest.mark.parametrize("states", [5, 20])
def test_the_states_are_not_kept_and_the_budget_is_what_a_program_takes(states: int) -> None:
    """The arena of a compiled gradient grows with the budget, and not with the number of turns."""
    size, turns = 1000, 200

    def function(x: Any, count: Any, budget: int | None) -> Any:
        step = lambda v: (v[0] + 1, np.sin(v[1]) + 0.1 * v[1])  # noqa: E731
        limits = {"most": turns} if budget is None else {"max_bytes": budget}
        return np.sum(wg.while_loop(lambda v: v[0] < count, step, (0, x), **limits)[1])

    x = np.linspace(-1, 1, size)
    plain = wg.jit(wg.grad(lambda x, n: function(x, n, None)))
    expected, whole = plain(x, turns), plain.report(x, turns).arena
    saving = wg.jit(wg.grad(lambda x, n: function(x, n, 8 * size * (states + 3))))
    assert_equal_in_norm(saving(x, turns), expected)
    arena = saving.report(x, turns).arena
    assert 8 * size * states <= arena <= 8 * size * (states + 12) < whole / 2
    assert whole > 8 * size * turns


def test_a_budget_that_holds_no_state_raises() -> None:
    with pytest.raises(
        LimitError, match=r"max_bytes: the budget must hold a state and the residuals.*give 16"
    ):
        wg.grad(lambda x: wg.while_loop(lambda v: v < 9, lambda v: v * x, x, max_bytes=8))(2.0)
    # Without a derivative there is nothing to keep.
    assert wg.jit(lambda x: wg.while_loop(lambda v: v < 9, lambda v: v * x, x, max_bytes=8))(2.0) == 16.0


def test_both_limits() -> None:
    def doubled(x: Any) -> Any:
        return wg.while_loop(lambda v: v < 100, lambda v: 2 * v * x, x, most=5, max_bytes=100)

    for run in (lambda f: f, wg.jit):
        assert run(wg.grad(doubled))(2.0) == wg.grad(lambda x: 2.0**3 * x**4)(2.0)
        with pytest.raises(LimitError, match="most=5"):
            run(wg.grad(doubled))(1.0)
