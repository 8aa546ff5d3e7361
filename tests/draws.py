"""The samples of primitives: `wengert.engine.primitive.Draw` with hypothesis."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

Array = np.ndarray[Any, Any]

# Values lie on a lattice, and the lattice of each array is shifted by another fraction of its spacing. So the values of
# a sample are distinct, exact in float32, and neither integers nor rounding borders, and steps of differences that are
# much smaller than the shift cross no kink.
SPACING = 2.0**-10
SHIFT = 2.0**-14
SHIFTS = int(SPACING / SHIFT) - 1

#: The share of its examples that a property draws: 1 in the longer run.
SHARE = float(os.environ.get("WENGERT_EXAMPLES", "0.08"))
#: Runs with other numbers keep other cases (`tests.covers`), and take primitives compiled on other samples.
CASES = int(os.environ.get("WENGERT_CASES", "1"))

# hypothesis begins with the first of all choices: a sample with several elements along several axes tells most.
EXTENTS = (3, 2, 4, 1, 2, 3, 1, 0)
RANKS = (2, 1, 3, 0)


def examples(count: float) -> settings:
    """Return the settings of a property that draws a number of examples, or a share of them in a short run.

    These are at least two, because hypothesis begins with the simplest of all.
    """
    return settings(max_examples=max(2, round(SHARE * count)))


def many(count: int) -> int:
    """Return how many cheap cases a test draws itself: the short run leaves more of them than of examples."""
    return max(1, round(math.sqrt(SHARE) * count))


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
    """Return the values with strides that fit no contiguous layout."""
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
    """Draw from hypothesis's ``data``; the numbers come from a generator with a drawn seed.

    Args:
        data: the value of ``st.data()``.
        plain: make every array contiguous.
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
        ranks = [rank for rank in RANKS if min_rank <= rank <= max_rank]
        rank = self.choice(ranks or [min_rank])
        return tuple(self.choice((*EXTENTS[axis % 2 :], *EXTENTS[: axis % 2])) for axis in range(rank))

    def broadcastable(self, count: int) -> list[tuple[int, ...]]:
        shape = self.shape()
        return [self._narrowed(shape, position) for position in range(count)]

    def _narrowed(self, shape: tuple[int, ...], position: int) -> tuple[int, ...]:
        """Return a shape that broadcasts to another one; the simplest first operand lacks the first axis."""
        is_short = (self.integer(0, 2) + position) % 3 == 0
        kept = shape[(self.integer(0, len(shape)) + 1) % (len(shape) + 1) if is_short else 0 :]
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


class SeededDraw(HypothesisDraw):
    """Draw from a generator: the same values for each seed."""

    def __init__(self, seed: int, *, plain: bool = False) -> None:
        self._plain = plain
        self._shifts = 0
        self.rng = np.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high, endpoint=True))


# -- indices ---------------------------------------------------------------------------------------------


def draw_slice(draw: HypothesisDraw, extent: int) -> slice:
    ends = [None, *range(-extent - 1, extent + 2)]
    return slice(draw.choice(ends), draw.choice(ends), draw.choice([None, 1, 2, -1, -2, 3]))


def draw_positions(draw: HypothesisDraw, extent: int) -> Any:
    shape = draw.choice([(), (2,), (1,), (3, 1), (2, 3), (0,)]) if extent else (0,)
    positions = draw.integers(shape, -extent, max(extent - 1, 0))
    kind = draw.choice(["array", "array", "list", "small", "scalar", "range"])
    if kind == "range":
        return range(*draw_slice(draw, extent).indices(extent))
    if kind == "list":
        return positions.tolist()
    if kind == "small":
        return positions.astype(np.int8)
    return np.int64(positions.flat[0]) if kind == "scalar" and positions.size else positions


def draw_mask(draw: HypothesisDraw, shape: tuple[int, ...]) -> Any:
    mask = draw.integers(shape, 0, 1) > 0
    return mask.tolist() if mask.ndim == 1 and mask.size and draw.choice([False, True]) else mask


def draw_entry(draw: HypothesisDraw, shape: tuple[int, ...], arrays: bool) -> tuple[Any, int]:
    """Draw an index for the leading axis (or axes), and the number of axes that it takes."""
    kind = draw.choice(["slice", "int", *(["positions", "mask"] if arrays else [])])
    if kind == "int" and shape[0]:
        return draw.integer(-shape[0], shape[0] - 1), 1
    if kind == "positions":
        return draw_positions(draw, shape[0]), 1
    if kind == "mask":
        axes = draw.integer(1, len(shape))
        return draw_mask(draw, shape[:axes]), axes
    return draw_slice(draw, shape[0]), 1


def draw_index(draw: HypothesisDraw, shape: tuple[int, ...], arrays: bool = True) -> Any:
    """Draw a valid NumPy index, except that masks and positions may not broadcast together."""
    entries: list[Any] = []
    axis = 0
    while axis < len(shape) and draw.integer(0, 3):
        if draw.integer(0, 6) == 6:
            entries.append(None)
        entry, taken = draw_entry(draw, shape[axis:], arrays)
        entries.append(entry)
        axis += taken
    if draw.integer(0, 2) == 2:
        entries.insert(len(entries) if axis < len(shape) else draw.integer(0, len(entries)), Ellipsis)
    if draw.integer(0, 4) == 4:
        entries.append(None)
    return entries[0] if len(entries) == 1 and draw.choice([True, False]) else tuple(entries)


def refused(x: Array, index: Any) -> bool:
    try:
        x[index]
    except IndexError:
        return True
    return False
