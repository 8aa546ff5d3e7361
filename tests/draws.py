"""Where the samples of a primitive come from: `wengert.primitive.Draw`, with hypothesis behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

Array = np.ndarray[Any, Any]

# Values lie on a lattice, and each array's lattice is shifted by another fraction of its spacing. So no two values
# of one sample tie, none is an integer or a rounding border, all are exact in float32, and a step of differences
# much smaller than the shift crosses no kink.
SPACING = 2.0**-10
SHIFT = 2.0**-14
SHIFTS = int(SPACING / SHIFT) - 1

EXTENTS = (1, 2, 3, 4, 2, 3, 1, 0)


def fortran(values: Array) -> Array:
    return np.array(values, order="F")


def reversed_(values: Array) -> Array:
    every = (..., *(slice(None, None, -1),) * values.ndim)
    return values[every].copy()[every]


def every_second(values: Array) -> Array:
    wide = np.full([2 * extent for extent in values.shape], -7, values.dtype)
    view = wide[(..., *(slice(None, None, 2),) * values.ndim)]
    view[...] = values
    return view


def transposed(values: Array) -> Array:
    return values.T.copy().T


def read_only(values: Array) -> Array:
    frozen = values.copy()
    frozen.flags.writeable = False
    return frozen


def unaligned(values: Array) -> Array:
    buffer = np.zeros(values.nbytes + 1, np.uint8)
    view = buffer[1:].view(values.dtype).reshape(values.shape)
    view[...] = values
    return view


def repeated_rows(values: Array) -> Array:
    """Return the values behind a new axis taken away again: strides that fit no contiguous layout."""
    return np.broadcast_to(values, (2, *values.shape))[1, ...]


LAYOUTS: tuple[Callable[[Array], Array], ...] = (
    np.array,
    fortran,
    reversed_,
    every_second,
    transposed,
    read_only,
    unaligned,
    repeated_rows,
)


class HypothesisDraw:
    """Draws from hypothesis's ``data``; the numbers themselves come from a generator with a drawn seed.

    Args:
        data: of ``st.data()``.
        plain: lay every array out contiguously.
    """

    def __init__(self, data: st.DataObject, *, plain: bool = False) -> None:
        self._data = data
        self._plain = plain
        self._shifts = 0
        self.rng = np.random.default_rng(data.draw(st.integers(0, 2**16), label="seed"))

    def integer(self, low: int, high: int) -> int:
        return self._data.draw(st.integers(low, high))

    def choice(self, options: Sequence[Any]) -> Any:
        return options[self.integer(0, len(options) - 1)]

    def shape(self, min_rank: int = 0, max_rank: int = 3) -> tuple[int, ...]:
        rank = self.integer(min_rank, max_rank)
        return tuple(self.choice(EXTENTS) for _ in range(rank))

    def broadcastable(self, count: int) -> list[tuple[int, ...]]:
        shape = self.shape()
        return [self._narrowed(shape) for _ in range(count)]

    def _narrowed(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        kept = shape[self.integer(0, len(shape)) if shape and self.integer(0, 2) == 2 else 0 :]
        return tuple(1 if self.integer(0, 3) == 3 else extent for extent in kept)

    def array(self, shape: tuple[int, ...], low: float = -2.0, high: float = 2.0) -> Any:
        self._shifts = self._shifts % SHIFTS + 1
        first, end = math.ceil(low / SPACING), math.floor(high / SPACING)
        points = self.rng.choice(end - first, size=math.prod(shape), replace=False)
        return self._laid_out(((first + points) * SPACING + self._shifts * SHIFT).reshape(shape))

    def integers(self, shape: tuple[int, ...], low: int, high: int) -> Any:
        return self._laid_out(self.rng.integers(low, high, size=shape, endpoint=True, dtype=np.int64))

    def _laid_out(self, values: Array) -> Any:
        layout = np.array if self._plain else self.choice(LAYOUTS)
        return layout(values)
