"""Sums over numbered parts in one process: the order of the tree, and buffers that serve every sum."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.parallel.layout import Buffer, Layout
from wengert.parallel.reduction import Reduction
from wengert.parallel.tree import Node, total


@pytest.mark.parametrize("parts", [1, 2, 7, 8, 13])
def test_later_sums_take_the_buffers_of_the_first(parts, rng, monkeypatch):
    made = []
    buffer = Layout.buffer
    monkeypatch.setattr(Layout, "buffer", lambda self: made.append(1) or buffer(self))
    trees = rng.standard_normal((parts, 50))
    reduction = Reduction(Layout.of(trees[0]), parts)
    out = reduction.layout.buffer()
    expected = total({Node(n, 0): tree for n, tree in enumerate(trees)}, parts, np.add)
    counts = []
    for _ in range(3):
        buffers = [reduction.packed(tree) for tree in trees]
        for part, buffer in enumerate(buffers):
            reduction.add(part, buffer)
        np.testing.assert_array_equal(reduction.layout.unpack(reduction.finish(out)), expected)
        counts.append(len(made))
    assert counts == [parts + 1] * 3


def test_a_sum_that_is_cleared_gives_its_buffers_back():
    reduction = Reduction(Layout.of(1.0), 3)
    buffer = reduction.packed(5.0)
    reduction.add(0, buffer)
    reduction.clear()
    assert reduction.packed(1.0) is buffer


def test_a_buffer_is_free_only_after_it_was_added(monkeypatch):
    reduction, add = Reduction(Layout.of(1.0), 4), Buffer.add

    def add_while_another_thread_packs(self, other):
        reduction.packed(1000.0)
        return add(self, other)

    monkeypatch.setattr(Buffer, "add", add_while_another_thread_packs)
    for part in range(4):
        reduction.add(part, reduction.packed(10.0**part))
    assert reduction.layout.unpack(reduction.finish(reduction.layout.buffer())) == 1111.0
