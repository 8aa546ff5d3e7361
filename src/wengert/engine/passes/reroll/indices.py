"""Basic indices that follow the turn of a loop: slices, embeddings and writes become those by integer arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wengert.engine.core.shapes import Shape

#: The operations with a basic index, and those with integer arrays that do the same.
INDEXED = {"slice": "gather", "embed": "scatter_add", "place": "scatter"}


def form(index: Sequence[Any]) -> tuple[Any, ...]:
    """Return what a basic index keeps from turn to turn: for each axis no extent, or its extent and step.

    Example:
        >>> form((3, (0, 10, 2)))
        (None, (10, 2))
    """
    return tuple(None if isinstance(entry, int) else entry[1:] for entry in index)


def index_arrays(indices: Sequence[Sequence[Any]], shape: Shape) -> list[tuple[Any, bool]]:
    """Return the integer arrays of the leading axes that basic indices select in the turns of a loop.

    Args:
        indices: the basic index of each turn; all have one form.
        shape: of the array that they index.

    Returns:
        For each axis, up to the last one that is not taken whole, an array, and whether it has a leading axis of turns.

    Example:
        >>> [
        ...     (array.tolist(), turns)
        ...     for array, turns in index_arrays([(0, (1, 2, 1)), (1, (1, 2, 1))], (2, 4))
        ... ]
        [([0, 1], True), ([1, 2], False)]
    """
    first = indices[0]
    lead = max(
        axis + 1
        for axis, extent in enumerate(shape)
        if any(isinstance(index[axis], int) or index[axis] != (0, extent, 1) for index in indices)
    )
    ranges = [axis for axis in range(lead) if not isinstance(first[axis], int)]
    arrays: list[tuple[Any, bool]] = []
    for axis in range(lead):
        entry = first[axis]
        places = _places(entry, sum(later > axis for later in ranges))
        starts = np.array([index[axis] if isinstance(entry, int) else index[axis][0] for index in indices])
        follows = bool(np.any(starts != starts[0]))
        origin = starts.reshape(-1, *(1,) * places.ndim) if follows else starts[0]
        arrays.append((np.asarray(origin + places), follows))
    return arrays


def _places(entry: int | tuple[int, int, int], ranges_after: int) -> Any:
    """Return the places of an entry of a basic index, counted from the first one."""
    if isinstance(entry, int):
        return np.zeros((), np.int64)
    _, extent, step = entry
    return (np.arange(extent) * step).reshape(-1, *(1,) * ranges_after)


def indexed_params(primitive: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the operation with integer arrays."""
    return {"shape": params["shape"]} if primitive == "embed" else {}
