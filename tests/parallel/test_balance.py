"""Shares that follow the speed of the processes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wengert.parallel import Group
from wengert.parallel.balance import Balance, better
from wengert.parallel.layout import Layout
from wengert.parallel.reduction import Reduction
from wengert.parallel.tree import shares

SECONDS = st.lists(st.floats(0.1, 10.0), min_size=1, max_size=4)


def end(counts, seconds):
    return max(count * each for count, each in zip(counts, seconds, strict=True))


@given(SECONDS, st.integers(0, 6))
def test_no_other_shares_end_earlier(seconds, more):
    parts = len(seconds) + more
    found = shares(parts, seconds)
    assert [part for own in found for part in own] == list(range(parts))
    others = itertools.product(range(1, parts + 1), repeat=len(seconds))
    best = min(end(counts, seconds) for counts in others if sum(counts) == parts)
    assert end(map(len, found), seconds) == best
    assert min(map(len, found)) >= 1


def test_shares_change_only_where_that_pays():
    halves = [range(4), range(4, 8)]
    assert better(halves, [1.0, 1.0], 0.0) is None
    assert better(halves, [1.0, 1.02], 0.0) is None
    chosen = better(halves, [1.0, 1.5], 0.0)
    assert chosen == [range(5), range(5, 8)]
    assert better(chosen, [1.0, 1.5], 0.0) is None
    assert better(chosen, [1.0, 1.0], 0.0) == halves


class Two(Group):
    """This process, which is the first of two, and what the other would say."""

    def __init__(self, theirs: float) -> None:
        super().__init__()
        self.size, self.theirs, self.asked = 2, theirs, 0

    def gather(self, value):
        self.asked += 1
        return [value, (self.theirs, value[1])]


class Divided(Reduction):
    """A sum of two processes that is never exchanged."""

    def divide(self, shares):
        self.shares = shares


@pytest.mark.parametrize(("theirs", "expected"), [(1.0, 4), (1.7, 5), (0.1, 1)])
def test_the_slower_process_gets_fewer_parts(theirs, expected):
    group, reduction = Two(theirs), Divided(Layout.of(1.0), 8)
    reduction.divide([range(4), range(4, 8)])
    balance = Balance(group, reduction)
    for _ in range(64):
        balance.record(1.0 * len(reduction.own), 0.001)
    assert len(reduction.own) == expected
    assert group.asked == 4


def test_one_process_asks_nobody():
    group = Group()
    group.gather = lambda value: pytest.fail("one process gathers nothing")
    balance = Balance(group, Reduction(Layout.of(1.0), 8))
    for _ in range(64):
        balance.record(1.0, 0.0)
