"""Compressed matrices: where each nonzero element stands in the products of a matrix with its colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.sparse.colouring import Colouring


def places(pattern: Any, colouring: Colouring) -> Any:
    """Return for each nonzero element where it stands alone among the elements of all products.

    The products of the colours of columns come first, then those of rows; each is a row of elements.

    Args:
        pattern: the CSR pattern.
        colouring: of the pattern.
    """
    height, width = pattern.shape
    rows = np.repeat(np.arange(height), np.diff(pattern.indptr))
    columns = pattern.indices.astype(np.int64)
    found = np.full(len(columns), -1)
    readings = [_reading(rows, columns, colouring.columns, height, 0)]
    if colouring.symmetric:
        readings.append(_transposed(readings[0], rows, columns, width))
    readings.append(_reading(columns, rows, colouring.rows, width, colouring.column_count * height))
    for reading in readings:
        found = np.where(found < 0, reading, found)
    assert found.min(initial=0) >= 0, "the colouring does not separate the elements of the pattern"
    return found


def _reading(lines: Any, across: Any, colours: Any, length: int, start: int) -> Any:
    """Return the place of each element in the product of its colour; -1 if another element of its line is there, too."""
    if colours is None or not len(across):
        return np.full(len(across), -1)
    colour = colours[across]
    where = start + colour * length + lines
    _, which, counts = np.unique(where, return_inverse=True, return_counts=True)
    return np.where((colour >= 0) & (counts[which.reshape(-1)] == 1), where, -1)


def _transposed(reading: Any, rows: Any, columns: Any, width: int) -> Any:
    """Return the reading of the element across the diagonal; the pattern is symmetric and sorted."""
    return reading[np.argsort(columns * width + rows, kind="stable")]
