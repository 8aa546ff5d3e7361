"""The fixed tree of sums: the same bits for every way to share the parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wengert.parallel.tree import Node, Pairwise, nodes_of, share, total


def add(left, right):
    return left + right


def bracketed(left, right):
    return f"({left}{right})"


def shared_total(values, cuts, add):
    """Add the parts between cuts as one process each would, then finish the tree."""
    sums: dict[Node, object] = {}
    for start, stop in zip((0, *cuts), (*cuts, len(values)), strict=True):
        pairwise = Pairwise(add)
        for part in range(start, stop):
            pairwise.add(part, values[part])
        assert list(pairwise.held) == nodes_of(range(start, stop))
        sums |= pairwise.held
    return total(sums, len(values), add)


@st.composite
def shared_parts(draw):
    parts = draw(st.integers(1, 40))
    return parts, sorted(draw(st.lists(st.integers(0, parts), max_size=6)))


@given(shared_parts())
def test_the_brackets_do_not_depend_on_the_cuts(drawn):
    parts, cuts = drawn
    letters = [f"{part}." for part in range(parts)]
    assert shared_total(letters, cuts, bracketed) == shared_total(letters, [], bracketed)


@given(shared_parts(), st.integers(0, 99))
def test_sums_have_the_same_bits(drawn, seed):
    parts, cuts = drawn
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((parts, 3)) * 10.0 ** rng.integers(-9, 9, (parts, 1))
    ours, whole = shared_total(values, cuts, add), shared_total(values, [], add)
    assert ours.tobytes() == whole.tobytes()
    np.testing.assert_allclose(whole, np.sum(values, 0), rtol=1e-12, atol=1e-12 * np.abs(values).sum())


@pytest.mark.parametrize("parts", [1, 2, 4, 8, 32])
def test_a_power_of_two_makes_a_complete_tree(parts):
    assert nodes_of(range(parts)) == [Node(0, parts.bit_length() - 1)]


@given(st.integers(0, 50), st.integers(1, 12))
def test_shares_are_consecutive_and_even(parts, size):
    shares = [share(parts, rank, size) for rank in range(size)]
    assert [part for own in shares for part in own] == list(range(parts))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_few_sums_are_held_at_a_time():
    pairwise, most = Pairwise(add), 0
    for part in range(1000):
        pairwise.add(part, 1.0)
        most = max(most, len(pairwise.held))
    assert most <= 10
