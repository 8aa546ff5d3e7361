"""Sums whose bits do not depend on who adds: a fixed binary tree over numbered parts.

A node of level l covers 2^l consecutive parts that begin at a multiple of 2^l. Its value is that of its left child plus
that of its right child, or the left one alone where the right one lies beyond the last part. Each process adds the
largest nodes that it holds; whoever has all of these finishes the tree. So every sum of floats rounds in the same way,
however the parts are shared.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class Node(NamedTuple):
    """A node of the tree: the nodes of level 0 are the parts."""

    start: int
    """The first part below the node."""
    level: int

    @property
    def parent(self) -> Node:
        """The node above this one."""
        return Node(self.start >> (self.level + 1) << (self.level + 1), self.level + 1)

    @property
    def sibling(self) -> Node:
        """The other child of the parent."""
        return Node(self.start ^ (1 << self.level), self.level)


def share(parts: int, rank: int, size: int) -> range:
    """Return the consecutive parts of one of ``size`` processes; their numbers differ by at most one.

    Example:
        >>> [list(share(8, rank, 3)) for rank in range(3)]
        [[0, 1], [2, 3, 4], [5, 6, 7]]
    """
    return range(parts * rank // size, parts * (rank + 1) // size)


def shares(parts: int, seconds: Sequence[float]) -> list[range]:
    """Return consecutive parts for each process such that the last process ends as early as possible.

    Args:
        parts: the number of parts, at least that of the processes.
        seconds: how long each process takes for a part.

    Returns:
        At least one part for each process.

    Example:
        >>> [list(own) for own in shares(8, [1.0, 1.6])]
        [[0, 1, 2, 3, 4], [5, 6, 7]]
    """
    counts = [1] * len(seconds)
    for _ in range(parts - len(seconds)):
        ends = [(count + 1) * each for count, each in zip(counts, seconds, strict=True)]
        counts[ends.index(min(ends))] += 1
    return [range(*pair) for pair in itertools.pairwise([0, *itertools.accumulate(counts)])]


def nodes_of(parts: range) -> list[Node]:
    """Return the largest nodes that cover consecutive parts, in order.

    Example:
        >>> nodes_of(range(3, 8))
        [Node(start=3, level=0), Node(start=4, level=2)]
    """
    held: list[Node] = []
    for part in parts:
        node = Node(part, 0)
        while held and held[-1] == node.sibling:
            held.pop()
            node = node.parent
        held.append(node)
    return held


class Pairwise:
    """Adds consecutive parts as they come, and keeps the sums of the largest nodes: at most two of a level.

    Args:
        add: ``(left, right) -> sum``; it may write into the left operand.

    Example:
        >>> sums = Pairwise(lambda left, right: left + right)
        >>> for part in range(5):
        ...     sums.add(part, 10.0**part)
        >>> sums.held
        {Node(start=0, level=2): 1111.0, Node(start=4, level=0): 10000.0}
    """

    def __init__(self, add: Callable[[Any, Any], Any]) -> None:
        self._add = add
        self.held: dict[Node, Any] = {}
        """The sums by their nodes, in the order of the parts."""

    def add(self, part: int, value: Any) -> None:
        """Add the value of the part after the last one."""
        node = Node(part, 0)
        while self.held and next(reversed(self.held)) == node.sibling:
            _, left = self.held.popitem()
            node, value = node.parent, self._add(left, value)
        self.held[node] = value


def total(sums: Mapping[Node, Any], parts: int, add: Callable[[Any, Any], Any]) -> Any:
    """Return the sum of all parts from the sums of nodes that cover them.

    Args:
        sums: values by their nodes, which cover each part once.
        parts: the number of parts, at least 1.
        add: as in `Pairwise`.

    Returns:
        The value of the root.

    Example:
        >>> total({Node(0, 1): "ab", Node(2, 0): "c"}, 3, lambda left, right: f"({left}{right})")
        '(abc)'
    """

    def value(node: Node) -> Any:
        if node in sums:
            return sums[node]
        left = Node(node.start, node.level - 1)
        right = left.sibling
        return value(left) if right.start >= parts else add(value(left), value(right))

    return value(Node(0, (parts - 1).bit_length()))
