"""Trees of arrays as one buffer of bytes, so that one message carries all their leaves."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.dtypes import Dtype, dtype_of
from wengert.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.core.shapes import shape_of
from wengert.core.tree import Structure, flatten, unflatten

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


class Layout(NamedTuple):
    """The places of a tree's leaves in one buffer.

    Example:
        >>> tree = {"w": np.ones((2, 3), np.float32), "loss": 0.5}
        >>> layout = Layout.of(tree)
        >>> buffer = layout.empty()
        >>> layout.pack(tree, buffer)
        >>> layout.add(buffer, buffer)
        >>> layout.unpack(buffer)["w"][0], layout.unpack(buffer)["loss"], layout.size
        (array([2., 2., 2.], dtype=float32), np.float64(1.0), 128)
    """

    structure: Structure
    places: tuple[Place, ...]
    size: int
    """Bytes of the buffer."""

    @classmethod
    def of(cls, tree: Any) -> Layout:
        """Return the layout of a tree of numbers and arrays.

        Raises:
            DtypeError: a leaf is not a number.
        """
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

    def empty(self) -> Any:
        """Return a buffer on a cache line, with zeros between the leaves."""
        raw = np.zeros(self.size + ALIGNMENT, np.uint8)
        begin = -raw.ctypes.data % ALIGNMENT
        return raw[begin : begin + self.size]

    def pack(self, tree: Any, buffer: Any) -> None:
        """Copy the leaves of a tree into a buffer.

        Raises:
            ArgumentError: the tree has another structure.
            ShapeError: a leaf has another shape or dtype.
        """
        leaves, structure = flatten(tree)
        if structure != self.structure:
            raise ArgumentError(message("sum", "all parts must have the same structure", str(structure)))
        for place, leaf in zip(self.places, leaves, strict=True):
            if (shape_of(leaf), dtype_of(leaf)) != (place.shape, place.dtype):
                requirement = f"all parts must have a leaf {place.dtype}{list(place.shape)} here"
                raise ShapeError(message("sum", requirement, f"{dtype_of(leaf)}{list(shape_of(leaf))}"))
            place.of(buffer)[...] = leaf

    def unpack(self, buffer: Any) -> Any:
        """Return the tree whose leaves are views of a buffer; scalars are NumPy's numbers."""
        leaves = (place.of(buffer) for place in self.places)
        return unflatten(self.structure, [leaf if leaf.ndim else leaf[()] for leaf in leaves])

    def add(self, left: Any, right: Any, begin: int = 0) -> None:
        """Add the right bytes to the left ones, as numbers; both begin at the byte ``begin`` of the buffer.

        A leaf's bytes may lie beyond both ends; ends within a leaf lie between two of its numbers.
        """
        end = begin + len(left)
        for (first, last), dtype in _runs(self.places):
            first, last = max(first, begin), min(last, end)
            if first < last:
                place = slice(first - begin, last - begin)
                target = left[place].view(dtype)
                with np.errstate(all="ignore"):
                    np.add(target, right[place].view(dtype), out=target)

    def described(self) -> str:
        """Return the types of the leaves as text."""
        return ", ".join(f"{place.dtype}{list(place.shape)}" for place in self.places)


def _runs(places: Sequence[Place]) -> list[tuple[tuple[int, int], Dtype]]:
    """Return the bytes of consecutive leaves of one dtype, which are added at once."""
    runs: list[tuple[tuple[int, int], Dtype]] = []
    for dtype, group in itertools.groupby(places, key=lambda place: place.dtype):
        leaves = list(group)
        runs.append(((leaves[0].begin, leaves[-1].end), dtype))
    return runs


def slices(size: int, count: int) -> list[slice]:
    """Split a buffer of ``size`` bytes into ``count`` slices of whole cache lines.

    Example:
        >>> [(part.start, part.stop) for part in slices(320, 2)]
        [(0, 128), (128, 320)]
    """
    lines = size // ALIGNMENT
    cuts = [lines * number // count * ALIGNMENT for number in range(count + 1)]
    return [slice(*pair) for pair in itertools.pairwise(cuts)]
