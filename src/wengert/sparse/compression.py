"""Compressed matrices: which element of which product each nonzero element of a matrix is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.sparse.colouring import Colouring


class Compression(NamedTuple):
    """The directions of the products with a matrix, and where its elements are in the products.

    Products from the right have one direction for each colour of columns, those from the left one for each colour of
    rows. The fields of a side without colours are None.
    """

    columns: Any
    """The colours of columns."""
    rows: Any
    """The colours of rows."""
    places: Any
    """Where each element stands in the products, row by row: those from the right, then those from the left."""


def compress(pattern: Any, colouring: Colouring) -> Compression:
    """Return where the elements of a CSR pattern stand alone in the products of a colouring."""
    lengths = np.diff(pattern.indptr)
    rows, columns = np.repeat(np.arange(len(lengths)), lengths), pattern.indices.astype(np.int64)
    colour = _colours_of(colouring.columns, columns)
    right = _stands_alone(rows, colour)
    line = rows
    if colouring.symmetric:
        across = np.argsort(columns * len(lengths) + rows, kind="stable")  # the elements across the diagonal
        line, colour = _either(right, rows, columns), _either(right, colour, colour[across])
        right = right | right[across]
    colours = _colours_of(colouring.rows, rows)
    assert np.all(right | _stands_alone(columns, colours)), "two elements have one place"
    height, width = pattern.shape
    from_left = colouring.column_count * height + colours * width + columns
    return Compression(colouring.columns, colouring.rows, _either(right, colour * height + line, from_left))


def _either(condition: Any, yes: Any, no: Any) -> Any:
    return np.where(condition, yes, no)  # pyright: ignore[reportUnknownVariableType]


def _colours_of(colours: Any, positions: Any) -> Any:
    return np.full(len(positions), -1) if colours is None else colours[positions]


def _stands_alone(lines: Any, colours: Any) -> Any:
    """Return whether each element has a colour that no other element of its line has."""
    places = lines * (colours.max(initial=0) + 2) + colours + 1
    _, which, counts = np.unique(places, return_inverse=True, return_counts=True)
    return (colours >= 0) & (counts[which.reshape(-1)] == 1)
