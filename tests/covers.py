"""Which cases of the tests' grids the quick run keeps.

A test may run over the grid of all operations, modes, dtypes and shapes, and other tests of its file over the same
operations. The quick run keeps cases of each file such that

* each test keeps a case;
* each value of each parameter stays in a share of the tests that take it, and in at least one.

The name of the file decides which cases these are, so all runs keep the same ones. A test whose cases are all
cheap, such as that of the links of the pages, keeps every case with the marker ``exhaustive``.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import pytest

#: The share of the tests of a parameter in which the quick run gives it a certain value.
SHARE = 0.2


class Case(NamedTuple):
    """A test with values of its parameters."""

    test: str
    values: frozenset[Hashable]


def told_apart(name: str, value: object) -> Hashable:
    """Return a parameter with its value; arrays and lists are told apart by their addresses."""
    try:
        hash(value)
    except TypeError:
        return name, id(value)
    return name, type(value), value


def case_of(item: Any) -> Case:
    values = frozenset(told_apart(name, value) for name, value in item.callspec.params.items())
    return Case(item.nodeid.partition("[")[0], values)


def cover(cases: Sequence[Case], seed: str, share: float = SHARE) -> list[int]:
    """Return the positions of the cases of a file that the quick run keeps.

    Example:
        >>> grid = [Case("sum", frozenset({("axis", i), ("dtype", j)})) for i in range(3) for j in range(3)]
        >>> len(cover(grid, "a file"))
        3
    """
    takers: dict[Hashable, set[str]] = defaultdict(set)
    for case in cases:
        for value in case.values:
            takers[value].add(case.test)
    needed = Counter({value: math.ceil(share * len(tests)) for value, tests in takers.items()})
    order = list(range(len(cases)))
    random.Random(seed).shuffle(order)
    # Cases that give the most values first: a grid of a few parameters shrinks to its longest side.
    kept: list[int] = []
    met: set[tuple[str, Hashable]] = set()
    tests: set[str] = set()
    for least in range(max((len(case.values) for case in cases), default=0), 0, -1):
        for position in order:
            test, values = cases[position]
            new = [value for value in values if needed[value] > 0 and (test, value) not in met]
            if len(new) >= least:
                needed.subtract(new)
                met.update((test, value) for value in new)
                tests.add(test)
                kept.append(position)
    for position in order:
        if cases[position].test not in tests:
            tests.add(cases[position].test)
            kept.append(position)
    return kept


def in_grid(item: pytest.Item) -> bool:
    """Return whether an item is a case that the quick run may leave out."""
    marked = any(item.get_closest_marker(name) for name in ("slow", "exhaustive"))
    return isinstance(item, pytest.Function) and hasattr(item, "callspec") and not marked


def mark_the_rest_slow(items: Sequence[pytest.Item]) -> None:
    """Leave the cases that the quick run does not keep to the longer run."""
    files: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if in_grid(item):
            files[item.nodeid.partition("::")[0]].append(item)
    for name, grid in files.items():
        kept = set(cover([case_of(item) for item in grid], name))
        for position, item in enumerate(grid):
            if position not in kept:
                item.add_marker(pytest.mark.slow)
