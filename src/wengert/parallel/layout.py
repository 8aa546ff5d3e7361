"""Trees of arrays as one buffer of bytes, so that one message carries all their leaves."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core.dtypes import Dtype, dtype_of
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import Structure, flatten, unflatten

ALIGNMENT = 64
"""Each leaf begins on a cache line, and each process adds whole lines."""


class Place(NamedTuple):
    """A leaf in the buffer."""

    begin: int
    shape: tuple[int, ...]
    dtype: Dtype

    @property
    def end(self) -> int:
        """The byte after the leaf."""
        return self.begin + int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def of(self, buffer: Any) -> Any:
        """Return the leaf as a view of the buffer."""
        return buffer[self.begin : self.end].view(self.dtype).reshape(self.shape)


class Buffer:
    """The numbers of a tree, or of consecutive lines of it, in one piece of memory; their views are made once.

    There is a view for each run of leaves of one dtype, and for each leaf of a whole tree.
    """

    __slots__ = "content", "leaves", "runs"

    def __init__(self, content: Any, runs: Sequence[Any], leaves: Sequence[Any] = ()) -> None:
        self.content, self.runs, self.leaves = content, runs, leaves

    def add(self, addend: Buffer) -> Buffer:
        """Add the numbers of a buffer of the same lines to those of this one, and return this one."""
        with np.errstate(all="ignore"):
            for mine, theirs in zip(self.runs, addend.runs, strict=True):
                np.add(mine, theirs, out=mine)
        return self


@dataclass(frozen=True)
class Layout:
    """The places of a tree's leaves in one buffer.

    Example:
        >>> tree = {"w": np.ones((2, 3), np.float32), "loss": 0.5}
        >>> layout = Layout.of(tree)
        >>> buffer = layout.buffer()
        >>> layout.pack(tree, buffer)
        >>> total = layout.unpack(buffer.add(buffer))
        >>> total["w"][0], total["loss"], layout.size
        (array([2., 2., 2.], dtype=float32), np.float64(1.0), 128)
    """

    structure: Structure
    places: tuple[Place, ...]
    size: int
    """Bytes of the buffer."""

    @classmethod
    def of(cls, tree: Any) -> Layout:
        """Return the layout of a tree of numbers and arrays."""
        leaves, structure = flatten(tree)
        places: list[Place] = []
        size = 0
        for leaf in leaves:
            place = Place(size, tuple(shape_of(leaf)), dtype_of(leaf))
            if place.dtype.kind not in "iufc":
                raise DtypeError(message("sum", "the leaves must be numbers", str(place.dtype)))
            places.append(place)
            size = -(-place.end // ALIGNMENT) * ALIGNMENT
        return cls(structure, tuple(places), size)

    def buffer(self) -> Buffer:
        """Return a new buffer on a cache line, with zeros between the leaves."""
        raw = np.zeros(self.size + ALIGNMENT, np.uint8)
        begin = -raw.ctypes.data % ALIGNMENT
        content = raw[begin : begin + self.size]
        leaves = [place.of(content) for place in self.places]
        return Buffer(content, self.part(content, 0).runs, leaves)

    def part(self, content: Any, begin: int) -> Buffer:
        """Return some lines of a buffer, which begin at its byte ``begin``, as a buffer of their own.

        A leaf may lie beyond both ends; ends within a leaf lie between two of its numbers.
        """
        runs: list[Any] = []
        for start, stop, dtype in self._runs:
            start, stop = max(start - begin, 0), min(stop - begin, len(content))
            if start < stop:
                runs.append(content[start:stop].view(dtype))
        return Buffer(content, runs)

    @functools.cached_property
    def _runs(self) -> list[tuple[int, int, Dtype]]:
        """The bytes of consecutive leaves of one dtype, which are added at once."""
        runs: list[tuple[int, int, Dtype]] = []
        for dtype, group in itertools.groupby(self.places, key=lambda place: place.dtype):
            places = list(group)
            runs.append((places[0].begin, places[-1].end, dtype))
        return runs

    def pack(self, tree: Any, buffer: Buffer) -> None:
        """Copy the leaves of a tree into a buffer, if structure, shapes and dtypes agree."""
        leaves, structure = flatten(tree)
        if structure != self.structure:
            raise ArgumentError(message("sum", "all parts must have the same structure", str(structure)))
        for place, view, leaf in zip(self.places, buffer.leaves, leaves, strict=True):
            if (shape_of(leaf), dtype_of(leaf)) != (place.shape, place.dtype):
                requirement = f"all parts must have a leaf {place.dtype}{list(place.shape)} here"
                raise ShapeError(message("sum", requirement, f"{dtype_of(leaf)}{list(shape_of(leaf))}"))
            view[...] = leaf

    def unpack(self, buffer: Buffer) -> Any:
        """Return the tree whose leaves are views of a buffer; scalars are NumPy's numbers."""
        return unflatten(self.structure, [leaf if leaf.ndim else leaf[()] for leaf in buffer.leaves])

    def described(self) -> str:
        """Return the types of the leaves as text."""
        return ", ".join(f"{place.dtype}{list(place.shape)}" for place in self.places)


def slices(size: int, count: int) -> list[slice]:
    """Split a buffer of ``size`` bytes into ``count`` slices of whole cache lines.

    Example:
        >>> [(part.start, part.stop) for part in slices(320, 2)]
        [(0, 128), (128, 320)]
    """
    lines = size // ALIGNMENT
    cuts = [lines * number // count * ALIGNMENT for number in range(count + 1)]
    return [slice(*pair) for pair in itertools.pairwise(cuts)]
