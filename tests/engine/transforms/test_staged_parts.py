"""Lists whose length only a run knows: parts, copies, searches, and other lists in their place, as in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import StagingError

_X = np.array([3.0, -1.0, 2.0, 5.0, 0.5, -2.0])


def changed(x: Any) -> Any:
    items: list[Any] = []
    longest = 0
    for value in x:
        if value > 0:
            items.insert(0, value)
        else:
            longest = max(longest, len(items))
            items.clear()
        items.append(value * 2)
        if len(items) > 3:
            del items[1]
    return longest, len(items), sum(items), items[0]


def shown(x: Any) -> Any:
    items = [value for value in x if value > 0.7]
    others = items.copy()
    others.append(x[1])
    return (
        *(sum(items[1:]), sum(items[-2:]), sum(items[::-1][:2]), len(items[::2]), len(list(items))),
        *(len(others), len(items), max(items, default=-1.0), min(items[5:], default=7.0)),
        *(x[0] in items, x[1] in items, 2.0 in others, items == [], items[9:] == [], items != []),
        *(any(items), all(others), any(value > 4 for value in items), sum(v * v for v in items)),
    )


def emptied(x: Any) -> Any:
    part: list[Any] = []
    best: list[Any] = []
    total = 0.0
    for value in x:
        part.append(value)
        if value < 0 or len(part) == 3:
            if len(part) > len(best):
                best = part[:]
            total += sum(part) * len(part)
            part = []
    return total, len(part), len(best), best[-1]


def filtered(x: Any) -> Any:
    items = [1.0, 2.0, 3.0, 4.0]
    for value in x:
        items = [item for item in items if item < value + 2.5]
        if value > 0:
            items.append(value)
    return len(items), sum(items)


def levels(x: Any) -> Any:
    front, seen = [0], [False] * 6
    depth = total = 0
    while front:
        following: list[Any] = []
        for u in front:
            if not seen[u]:
                seen[u] = True
                total += depth * u
                for w in range(6):
                    if abs(x[w] - x[u]) < 2.6 and not seen[w]:
                        following.append(w)
        front = following
        depth += 1
    return total, depth


def windows(x: Any) -> Any:
    coefficients = [1.0, 2.0, 3.0, 4.0]
    n = np.argmax(x)
    return sum(coefficients[:n]), len(coefficients[n:]), sum([x[i] * 2 for i in range(n)])


def by_key(x: Any) -> Any:
    nearest = min(range(6), key=lambda i: abs(x[i] - 1.0))
    return nearest, max(x, key=abs), min(x[0], x[1], key=lambda value: -value)


def pairs(x: Any) -> Any:
    i, j, turns = 0, 1, 0
    while (i, j) != (2, 2) and turns < 40:
        i, j = (i + 1) % 3, (j + (1 if x[i] > 0 else 2)) % 3
        turns += 1
    return turns, (i, j) == (2, 2), (i, j) in [(2, 2), (0, 1)]


def multiples(x: Any) -> Any:
    primes, total = [True] * 30, 0
    for i in range(2, 30):
        if primes[i]:
            total += i * (x[i % 6] > 0)
            for j in range(i * i, 30, i):
                primes[j] = False
        for j in range(9, 0, -i):
            total += j
    return total, sum(primes)


_PROGRAMS = [multiples, changed, shown, emptied, filtered, levels, windows, by_key, pairs]


@pytest.mark.parametrize("program", _PROGRAMS)
def test_programs_are_pythons(program: Callable[..., Any]) -> None:
    compiled = wg.jit(program)
    for x in (_X, _X[::-1].copy()):
        found, expected = wg.tree.leaves(compiled(x)), wg.tree.leaves(program(x))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, err_msg=program.__name__)


@pytest.mark.parametrize("program", [changed, emptied, filtered, by_key])
def test_slopes_are_the_eager_ones(program: Callable[..., Any]) -> None:
    def total(x: Any) -> Any:
        return sum(np.sum(np.sin(part)) for part in wg.tree.leaves(program(x)))

    for x in (_X, _X[::-1].copy()):
        np.testing.assert_allclose(wg.jit(wg.grad(total))(x), wg.grad(total)(x), rtol=1e-10, atol=1e-12)


def test_nan_is_found_where_python_finds_it() -> None:
    def program(x: Any) -> Any:
        items = [value for value in x if value != 2.0]
        wanted = x[0] * np.nan
        return wanted in items, len(items)

    for x in (_X, _X * np.nan):
        assert wg.jit(program)(x) == program(x)


# -- other names -----------------------------------------------------------------------------------------


def best_is_the_list(x: Any) -> Any:
    part: list[Any] = []
    best: list[Any] = []
    for value in x:
        part.append(value)
        if value < 0:
            if len(part) > len(best):
                best = part
            part = []
    return len(best), len(part)


def swapped(x: Any) -> Any:
    a: list[Any] = []
    b = [1.0]
    for value in x:
        if value > 0:
            a.append(value)
        else:
            a, b = b, a
    return len(a), len(b)


def two_names(x: Any) -> Any:
    a = [1.0, 2.0, 3.0]
    b = a
    if x[0] > 2:
        a = [9.0]
    a.append(4.0)
    return len(a), len(b)


def new_name(x: Any) -> Any:
    a, c = [1.0, 2.0, 3.0], [0.0]
    if x[0] > 2:
        a = [9.0]
        c = a
    a.append(4.0)
    return len(a), len(c)


def argument(x: Any) -> Any:
    def use(items: Any) -> Any:
        if x[0] > 2:
            items = []
        items.append(7.0)
        return len(items)

    items = [1.0, 2.0]
    return use(items), len(items)


def gone_through(x: Any) -> Any:
    a, total = [1.0, 2.0, 3.0], 0.0
    for value in a:
        if value > x[2]:
            a = []
        total += value
        a.append(value)
    return total, len(a)


def held_by_a_function(x: Any) -> Any:
    a = [1.0, 2.0, 3.0]

    def size(items: Any = a) -> Any:
        return len(items)

    if x[0] > 2:
        a = [9.0]
    return size(), len(a)


@pytest.mark.parametrize(
    "program", [best_is_the_list, swapped, two_names, new_name, argument, gone_through, held_by_a_function]
)
def test_other_names_keep_their_lists_or_it_is_refused(program: Callable[..., Any]) -> None:
    for x in (_X, _X[::-1].copy()):
        try:
            found = wg.jit(program)(x)
        except StagingError:
            continue
        np.testing.assert_allclose(found, program(x), err_msg=program.__name__)
