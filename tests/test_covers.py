"""The quick run keeps each test, each value of a parameter and each operation in each mode."""

from __future__ import annotations

import itertools
import json
import math
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import collecting, covers
from tests.covers import Case, cover
from tests.seconds import GATE, QUICK, cases_of, record_of, recorded, table

pytest_plugins = ["pytester"]

OF_VALUES = {"batching", "compiled"}
OF_DERIVATIVES = {"forward", "reverse", "second order", "series", "compiled forward", "compiled reverse"}


@given(
    st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3), min_size=1, max_size=6),
    st.sampled_from([0.1, 0.3, 0.5, 1.0]),
)
def test_each_test_and_a_share_of_the_tests_of_each_value_are_kept(grids, share):
    cases = [
        Case(f"test_{number}", tuple(enumerate(point)))
        for number, extents in enumerate(grids)
        for point in itertools.product(*map(range, extents))
    ]
    positions = cover(cases, "a file", share)
    assert len(set(positions)) == len(positions)
    assert positions == cover(cases, "a file", share)
    kept = [cases[position] for position in positions]
    assert {case.test for case in kept} == {case.test for case in cases}
    takers, met = defaultdict(set), defaultdict(set)
    for listed, tests in ((cases, takers), (kept, met)):
        for case in listed:
            for value in case.values:
                tests[value].add(case.test)
    assert all(len(met[value]) >= math.ceil(share * len(tests)) for value, tests in takers.items())


def test_a_grid_shrinks_to_its_longest_side():
    cases = [
        Case("sum", tuple(enumerate(point))) for point in itertools.product(range(9), range(3), range(2))
    ]
    assert len(cover(cases, "a file")) == 9


def test_tests_that_keep_all_cases_count_for_their_values():
    grid = [Case(f"test_{n}", (("operation", i),)) for n in range(6) for i in range(200)]
    kept = [grid[position] for position in cover(grid, "a file", 0.2, ["test_0"])]
    counts = Counter(case.test for case in kept)
    assert counts["test_0"] == 200
    assert 100 < counts.total() - 200 < 300
    assert len(set(kept)) == len(kept)


GRID = """
import pytest

@pytest.mark.parametrize("a", [1, 2, 3])
@pytest.mark.parametrize("b", [[1], [2], [3]])
def test_grid(a, b): pass

@pytest.mark.exhaustive
@pytest.mark.parametrize("a", [1, 2, 3])
@pytest.mark.parametrize("b", [[1], [2], [3]])
def test_all(a, b): pass

@pytest.mark.modes("forward")
@pytest.mark.parametrize("c", range(4))
def test_forward(c): pass

@pytest.mark.slow
@pytest.mark.parametrize("a", [1, 2, 3])
def test_slow(a): pass

@pytest.mark.parametrize("a", range(9))
@pytest.mark.parametrize("b", range(9))
def test_some(a, b): pass

def test_long(): pass

@pytest.mark.site
@pytest.mark.parametrize("d", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=[])])
@pytest.mark.exhaustive
def test_pages(d): pass
"""
MARKERS = ("slow", "rest", "long", "site", "exhaustive", "modes(names)")
#: Of 9 kept cases of `test_some`, the quick run takes 3, and the gate 4 more; for each there is time for half a case.
SECONDS = {"test_some": QUICK / 3.5, "test_long": 2 * GATE}
QUICK_RUN = "not slow and not rest and not long"


@pytest.fixture
def grid(pytester: pytest.Pytester, monkeypatch) -> pytest.Pytester:
    path = pytester.makepyfile(GRID)
    monkeypatch.setattr(covers, "GATE", 7.5 * QUICK / 3.5)
    monkeypatch.setattr(covers, "recorded", lambda: {f"{path.name}::{k}": v for k, v in SECONDS.items()})
    pytester.makeini("[pytest]\nmarkers =\n" + "".join(f"    {name}: a marker\n" for name in MARKERS))
    return pytester


class Marked:
    """A plugin that keeps the cases that pytest has before it looks at marks, and those that are left."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items):
        self.made = {item.nodeid: {mark.name for mark in item.iter_markers()} for item in items}
        result = yield
        self.taken = [item.nodeid for item in items]
        return result


def run(pytester: pytest.Pytester, chosen: str, *arguments: str) -> tuple[Any, Marked]:
    marked = Marked()
    plugins = [collecting, marked]
    return pytester.inline_run("-p", "no:xdist", "-m", chosen, *arguments, plugins=plugins), marked


def test_the_longer_runs_take_what_the_quick_one_leaves(grid: pytest.Pytester):
    for chosen, count in {
        QUICK_RUN: 3 + 9 + 4 + 3 + 2,
        "long": 4 + 1,
        "rest": 6 + 72 + 2,
        "slow": 3 + 1,
    }.items():
        run(grid, chosen)[0].assertoutcome(passed=count)


def test_runs_with_other_versions_take_a_share_of_the_modes(grid: pytest.Pytester, monkeypatch):
    monkeypatch.setattr(covers, "MODES", 0.5)
    monkeypatch.setattr(covers, "recorded", dict)
    for chosen, count in {"not slow and not rest": 3 + 9 + 2 + 9 + 1 + 2, "rest": 6 + 2 + 72}.items():
        run(grid, chosen)[0].assertoutcome(passed=count)


NAMES = ("slow", "rest", "long", "site", "modes", "exhaustive", "parametrize")
EXPRESSIONS = [QUICK_RUN, "not slow", "slow", "long", "rest", "(rest or long) and not slow"]
EXPRESSIONS += [
    "site or rest and not slow",
    "modes",
    "modes or long",
    "not exhaustive",
    "not (slow or modes)",
]
EXPRESSIONS += ["parametrize", "not parametrize"]


@pytest.mark.parametrize("chosen", EXPRESSIONS)
def test_the_cases_of_a_run_are_those_that_pytest_would_take_by_their_marks(grid: pytest.Pytester, chosen):
    marks = run(grid, "")[1].made
    taken = {case for case, names in marks.items() if eval(chosen, {name: name in names for name in NAMES})}
    assert len(marks) == 3 * 3 * 2 + 4 + 3 + 81 + 1 + 3
    assert set(run(grid, chosen)[1].taken) == taken


def test_a_run_makes_no_cases_that_it_leaves_out(grid: pytest.Pytester):
    made = run(grid, QUICK_RUN)[1].made
    assert len(made) == 3 + 9 + 4 + 3 + 2


def test_a_named_case_is_there(grid: pytest.Pytester):
    (path,) = grid.path.glob("test_*.py")
    rest = next(
        case for case, names in run(grid, "")[1].made.items() if "test_some" in case and "rest" in names
    )
    result, marked = run(grid, QUICK_RUN, rest)
    assert (result.ret, list(marked.made), marked.taken) == (pytest.ExitCode.NO_TESTS_COLLECTED, [rest], [])
    run(grid, "", rest)[0].assertoutcome(passed=1)
    run(grid, "", f"{path.name}::test_some")[0].assertoutcome(passed=81)


def test_modules_without_an_example_are_not_imported_for_it(pytester: pytest.Pytester):
    pytester.makepyfile(with_one='"""Count.\n\n>>> 1 + 1\n2\n"""', without="raise AssertionError")
    result, marked = run(pytester, "", "--doctest-modules")
    result.assertoutcome(passed=1)
    assert list(marked.made) == ["with_one.py::with_one"]


def test_the_record_names_tests_that_are_there():
    root = Path(__file__).parents[1]
    for test in recorded():
        file, name = test.split("::")[0], test.split("::")[-1].rpartition(".")[2]
        assert re.search(rf"^\s*(?:def|class) {name}\b|\b{name} = ", (root / file).read_text(), re.M), test


def test_a_record_holds_what_takes_longer_than_the_quick_run_gives():
    cases = cases_of([f"{QUICK / 2} a.py::test_a[{n}]\n" for n in range(3)] + ["0.01 a.py::test_b\n"])
    assert record_of(cases) == {"a.py::test_a": float(f"{QUICK / 2:.1g}")}
    assert table(cases).splitlines()[-1].split() == [f"{1.5 * QUICK + 0.01:.1f}", "4", "all"]


LISTING = """
import json, sys
import pytest

from wengert.engine.primitive import REGISTRY, NonDifferentiable

class Listing:
    def pytest_collection_finish(self, session):
        for item in session.items:
            for mark in item.iter_markers("modes"):
                print("case", json.dumps([item.callspec.params["primitive"].name, *mark.args]))
        for primitive in REGISTRY:
            if primitive.samples is not None:
                is_constant = isinstance(primitive.derivative, NonDifferentiable)
                print("constant" if is_constant else "smooth", json.dumps([primitive.name]))

pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[Listing()])
"""


def test_the_quick_run_takes_each_operation_through_each_mode():
    files = ["tests/test_registry.py", "tests/compiler/test_registry_compiled.py"]
    listed = subprocess.run(
        [sys.executable, "-c", LISTING, *files],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    found: dict[str, dict[str, set[str]]] = {
        kind: defaultdict(set) for kind in ("case", "constant", "smooth")
    }
    for line in listed.stdout.splitlines():
        kind, _, told = line.partition(" ")
        if kind in found:
            name, *modes = json.loads(told)
            found[kind][name].update(modes)
    assert len(found["smooth"]) > 100
    expected = dict.fromkeys(found["constant"], OF_VALUES) | dict.fromkeys(
        found["smooth"], OF_VALUES | OF_DERIVATIVES
    )
    assert found["case"] == expected
