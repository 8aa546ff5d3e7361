"""Sums of trees over numbered parts, in the order of the fixed tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.parallel.layout import Buffer, Layout
from wengert.parallel.mpi import Exchange
from wengert.parallel.tree import Pairwise, share, total


class Reduction:
    """Adds trees of one layout over numbered parts; its buffers serve every sum.

    Args:
        layout: of the trees.
        parts: the number of parts.
        communicator: of the processes that hold the parts; None for this process alone.

    Example:
        >>> reduction = Reduction(Layout.of(1.0), 3)
        >>> for part in range(3):
        ...     reduction.add(part, reduction.packed(10.0**part))
        >>> reduction.layout.unpack(reduction.finish(reduction.layout.buffer()))
        np.float64(111.0)
    """

    def __init__(self, layout: Layout, parts: int, communicator: Any = None) -> None:
        self.layout, self.parts, self.communicator = layout, parts, communicator
        self._free: list[Buffer] = []
        self._pairwise = Pairwise(self._added)
        size = 1 if communicator is None else communicator.Get_size()
        self.divide([share(parts, rank, size) for rank in range(size)])

    def divide(self, shares: Sequence[range]) -> None:
        """Give each process other consecutive parts, between two sums; the sums keep their bits."""
        self.shares = shares
        """The parts of each process."""
        if self.communicator is not None:
            self._exchange = Exchange(self.communicator, self.layout, shares)

    @property
    def own(self) -> range:
        """The parts of this process."""
        return self.shares[0 if self.communicator is None else self.communicator.Get_rank()]

    def packed(self, tree: Any) -> Buffer:
        """Return a tree in a buffer of this sum, which `add` takes; several threads may pack at a time."""
        try:
            buffer = self._free.pop()
        except IndexError:
            buffer = self.layout.buffer()
        self.layout.pack(tree, buffer)
        return buffer

    def add(self, part: int, buffer: Buffer) -> None:
        """Add a buffer from `packed`; the parts of this process come in order."""
        self._pairwise.add(part, buffer)

    def _added(self, left: Buffer, right: Buffer) -> Buffer:
        total = left.add(right)
        self._free.append(right)  # from here on, another thread may pack into it
        return total

    def finish(self, out: Buffer) -> Buffer:
        """Write the sum over all parts of all processes into a buffer, and return it."""
        held, self._pairwise.held = self._pairwise.held, {}
        if self.communicator is not None:
            self._exchange.finish(held, out.content)
            self._free.extend(held.values())
        else:
            root = total(held, self.parts, self._added)
            out.content[...] = root.content
            self._free.append(root)
        return out

    def clear(self) -> None:
        """Forget the parts that were added since the last sum."""
        self._free.extend(self._pairwise.held.values())
        self._pairwise.held.clear()
