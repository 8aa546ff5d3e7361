"""Which cases of the tests' grids the quick run keeps.

A test may run over the grid of all operations, dtypes and shapes, and other tests of its file over the same operations.
The quick run keeps cases of each file such that

* each test keeps a case;
* each value of each parameter stays in a share of the tests that take it, and in at least one.

The name of the file and ``WENGERT_CASES`` decide which cases these are. So all runs keep the same ones, and a run with
``WENGERT_CASES=2`` keeps others. The marker ``rest`` is on the cases that are left out.

Of these, the quick run takes as many as fit into the seconds that it gives to a test (`tests.seconds`), and leaves out
a test of which no case fits. The marker ``long`` is on the cases that follow, for which the gate has time; it takes a
case of each test.

A test with the marker ``modes`` takes an operation through modes of differentiation, batching or compilation, and one
with the marker ``exhaustive`` has cheap cases, or one that alone finds a fault of ``tools/mutations.toml``. They keep
every case. ``WENGERT_MODES=0.5`` is for runs with other versions: a test of ``modes`` keeps half of its cases, which
its name and ``WENGERT_CASES`` decide.
"""

from __future__ import annotations

import math
import os
import random
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Sequence
from typing import Any, NamedTuple

import pytest

from tests.draws import CASES
from tests.seconds import GATE, QUICK, name_of, recorded

#: The share of the tests of a parameter in which the quick run gives it a certain value.
SHARE = 0.2
#: The share of the cases of tests of modes that stay.
MODES = float(os.environ.get("WENGERT_MODES", "1"))


class Case(NamedTuple):
    """A test with values of its parameters."""

    test: str
    values: tuple[Hashable, ...]


def told_apart(name: str, value: object) -> Hashable:
    """Return a parameter with its value; arrays and lists are told apart by their addresses."""
    try:
        hash(value)
    except TypeError:
        return name, id(value)
    return name, type(value), value


def case_of(item: Any) -> Case:
    values = tuple(told_apart(name, value) for name, value in item.callspec.params.items())
    return Case(name_of(item.nodeid), values)


def cover(
    cases: Sequence[Case],
    seed: str,
    share: float = SHARE,
    whole: Collection[str] = (),
) -> list[int]:
    """Return the positions of the cases of a file that are kept, those that cover most first.

    Args:
        cases: the cases of all tests.
        seed: decides which cases are kept.
        share: the share of the tests that take a value in which it stays. A value of a test that keeps all cases stays
            in this share of the other tests on average, and perhaps in none of them.
        whole: the tests that keep all cases.

    Example:
        >>> grid = [Case("sum", (("axis", i), ("dtype", j))) for i in range(3) for j in range(3)]
        >>> len(cover(grid, "a file"))
        3
    """
    draw = random.Random(seed)
    always = [position for position, case in enumerate(cases) if case.test in whole]
    covered = {value for position in always for value in cases[position].values}
    takers: dict[Hashable, set[str]] = defaultdict(set)
    for test, values in cases:
        for value in values if test not in whole else ():
            takers[value].add(test)

    def times(value: Hashable, tests: set[str]) -> int:
        if value in covered:
            return math.floor(share * len(tests) + draw.random())
        return math.ceil(share * len(tests))

    needed = Counter({value: times(value, tests) for value, tests in takers.items()})
    order = [position for position, case in enumerate(cases) if case.test not in whole]
    draw.shuffle(order)
    # Cases that give the most values first: a grid of a few parameters shrinks to its longest side.
    kept = always
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


def marked(item: pytest.Item, *names: str) -> bool:
    return any(mark.name in names for mark in item.iter_markers())


def limit(cases: Sequence[pytest.Item], seconds: float | None) -> None:
    """Mark the cases of a test that take longer than the quick run, or the gate, gives to it."""
    if seconds is None:
        return
    quick = int(QUICK / seconds)
    gate = max(1, quick, int(GATE / seconds))
    for case in cases[quick:gate]:
        case.add_marker(pytest.mark.long)
    for case in cases[gate:]:
        case.add_marker(pytest.mark.rest)


def mark_some_modes(items: Sequence[pytest.Item]) -> None:
    """Mark the cases of tests of modes that a run with other versions leaves out."""
    of_tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if marked(item, "modes"):
            of_tests[name_of(item.nodeid)].append(item)
    for name, cases in of_tests.items():
        draw = random.Random(f"{name} {CASES}")
        for item in draw.sample(cases, int((1 - MODES) * len(cases))):
            item.add_marker(pytest.mark.rest)


def mark_the_rest(items: Sequence[pytest.Item]) -> None:
    """Mark the cases that the quick run leaves out."""
    if MODES < 1:
        mark_some_modes(items)
    files: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not marked(item, "slow", "rest", "long", "exhaustive"):
            files[item.nodeid.partition("::")[0]].append(item)
    seconds = recorded()
    for name, tests in files.items():
        grid = [item for item in tests if hasattr(item, "callspec")]
        cases = [case_of(item) for item in grid]
        whole = {case.test for case, item in zip(cases, grid, strict=True) if marked(item, "modes")}
        kept = [grid[position] for position in cover(cases, f"{name} {CASES}", whole=whole)]
        for item in set(grid).difference(kept):
            item.add_marker(pytest.mark.rest)
        of_tests: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in (*kept, *set(tests).difference(grid)):
            of_tests[name_of(item.nodeid)].append(item)
        for test in of_tests.keys() - whole:
            limit(of_tests[test], seconds.get(test))
