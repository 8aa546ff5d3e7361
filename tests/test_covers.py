"""The quick run keeps each test and each value of a parameter, and all runs keep the same cases."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.covers import Case, cover

pytest_plugins = ["pytester"]


@given(
    st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3), min_size=1, max_size=6),
    st.sampled_from([0.1, 0.3, 0.5, 1.0]),
)
def test_each_test_and_a_share_of_the_tests_of_each_value_are_kept(grids, share):
    cases = [
        Case(f"test_{number}", frozenset(enumerate(point)))
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
        Case("sum", frozenset(enumerate(point))) for point in itertools.product(range(9), range(3), range(2))
    ]
    assert len(cover(cases, "a file")) == 9


GRID = """
import pytest

@pytest.mark.parametrize("a", [1, 2, 3])
@pytest.mark.parametrize("b", [[1], [2], [3]])
def test_grid(a, b): pass

@pytest.mark.exhaustive
@pytest.mark.parametrize("a", [1, 2, 3])
@pytest.mark.parametrize("b", [[1], [2], [3]])
def test_all(a, b): pass

@pytest.mark.slow
@pytest.mark.parametrize("a", [1, 2, 3])
def test_long(a): pass
"""


def test_the_longer_run_takes_what_the_quick_one_leaves(pytester: pytest.Pytester):
    pytester.makepyfile(GRID)
    pytester.makeini("[pytest]\nmarkers =\n    slow: long\n    exhaustive: all")
    pytester.makeconftest(
        "from tests.covers import mark_the_rest_slow\n"
        "import pytest\n@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_collection_modifyitems(items): mark_the_rest_slow(items)"
    )
    pytester.inline_run("-p", "no:xdist", "-m", "not slow").assertoutcome(passed=3 + 9)
    pytester.inline_run("-p", "no:xdist", "-m", "slow").assertoutcome(passed=6 + 3)
