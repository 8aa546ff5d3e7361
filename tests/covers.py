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
from typing import NamedTuple

from tests.draws import CASES
from tests.seconds import GATE, QUICK, recorded

#: The share of the tests of a parameter in which the quick run gives it a certain value.
SHARE = 0.2
#: The share of the cases of tests of modes that stay.
MODES = float(os.environ.get("WENGERT_MODES", "1"))
#: The marks of tests and cases whose author has chosen the run.
CHOSEN = frozenset({"slow", "rest", "long", "exhaustive"})


class Case(NamedTuple):
    """A test with values of its parameters, and the names of its marks."""

    test: str
    values: tuple[Hashable, ...]
    marks: frozenset[str] = frozenset()


def told_apart(name: str, value: object) -> Hashable:
    """Return a parameter with its value; arrays and lists are told apart by their addresses."""
    try:
        hash(value)
    except TypeError:
        return name, id(value)
    return name, type(value), value


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
    for test, values, _ in cases:
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
            test, values, _ = cases[position]
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


def mark_of(place: int, seconds: float | None) -> str | None:
    """Return ``long`` or ``rest`` if the quick run, or the gate, has no time for one more case of a test.

    Args:
        place: how many cases of the test come before.
        seconds: the recorded seconds of a case; None if all take less than the quick run gives to them.
    """
    if seconds is None or place < (quick := int(QUICK / seconds)):
        return None
    return "long" if place < max(1, quick, int(GATE / seconds)) else "rest"


def left_out_modes(cases: Sequence[Case]) -> list[int]:
    """Return the positions of the cases of tests of modes that a run with other versions leaves out."""
    of_tests: dict[str, list[int]] = defaultdict(list)
    for position, case in enumerate(cases):
        if "modes" in case.marks:
            of_tests[case.test].append(position)
    return [
        position
        for test, positions in of_tests.items()
        for position in random.Random(f"{test} {CASES}").sample(positions, int((1 - MODES) * len(positions)))
    ]


def marks_of(file: str, cases: Sequence[Case]) -> list[str | None]:
    """Return the marks, ``long`` or ``rest``, of the cases of a file that the quick run leaves out.

    Args:
        file: the name of the file.
        cases: all cases of its tests, in the order of the file.
    """
    marks: list[str | None] = [None] * len(cases)
    if MODES < 1:
        for position in left_out_modes(cases):
            marks[position] = "rest"
    free = [n for n, case in enumerate(cases) if marks[n] is None and case.marks.isdisjoint(CHOSEN)]
    grid = [position for position in free if cases[position].values]
    whole = {cases[position].test for position in grid if "modes" in cases[position].marks}
    kept = [grid[n] for n in cover([cases[n] for n in grid], f"{file} {CASES}", whole=whole)]
    for position in set(grid).difference(kept):
        marks[position] = "rest"
    seconds, places = recorded(), Counter[str]()
    for position in (*kept, *(n for n in free if not cases[n].values)):
        if (test := cases[position].test) not in whole:
            marks[position] = mark_of(places[test], seconds.get(test))
            places[test] += 1
    return marks
