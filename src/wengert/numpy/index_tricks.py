"""Arrays joined between brackets: `r_` and `c_`; NumPy's join plain arrays alone."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from wengert.array.array import operand
from wengert.core.errors import ArgumentError, message
from wengert.core.shapes import axis_index, shape_of
from wengert.ir.types import promote, type_of
from wengert.numpy.creation import arange, contains_box, fresh, linspace
from wengert.numpy.registry import rank_of, strong
from wengert.ops.shape import concatenate, reshape, transpose


class Joiner:
    """Joins the arrays, numbers and ranges between its brackets.

    Args:
        name: what errors call it.
        numpys: NumPy's, for plain values.
        directive: the axis, the least number of axes, and where an array's own axes stand among them; NumPy's text
            ``"axis,ndim,start"`` as the first entry says it otherwise.
    """

    def __init__(self, name: str, numpys: Any, directive: tuple[int, int, int]) -> None:
        self._name = name
        self._numpys = numpys
        self._directive = directive

    def __getitem__(self, key: Any) -> Any:
        entries = cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,))
        if not any(map(_follows, entries)):
            return fresh(self._numpys[key])
        axis, least, start = self._directive
        if isinstance(entries[0], str):
            axis, least, start = _directive(self._name, entries[0], self._directive)
            entries = entries[1:]
        values = [_range(entry) if isinstance(entry, slice) else operand(entry) for entry in entries]
        dtype, _ = promote(*map(type_of, values))
        parts = [_with_axes(strong(value, dtype), least, start) for value in values]
        return concatenate(*parts, axis=axis_index(self._name, axis, rank_of(parts[0])))

    def __len__(self) -> int:
        return 0


def _follows(entry: Any) -> bool:
    """Tell whether an entry is a box, or contains one, as an end of a range may be."""
    return contains_box([entry.start, entry.stop, entry.step] if isinstance(entry, slice) else entry)


def _directive(name: str, text: str, default: tuple[int, int, int]) -> tuple[int, int, int]:
    try:
        given = tuple(map(int, text.split(",")))
    except ValueError:
        given = ()
    if not 1 <= len(given) <= 3:
        requirement = "a text must name axis, number of axes and where an array's own begin, such as '0,2,1'"
        raise ArgumentError(message(name, requirement, repr(text), "write np.concatenate or np.stack"))
    axis, least, start = (*given, *default[len(given) :])
    return axis, least, start


def _range(entry: slice) -> Any:
    """Return the numbers of ``start:stop:step``; an imaginary step counts them."""
    start, step = 0 if entry.start is None else entry.start, 1 if entry.step is None else entry.step
    if isinstance(step, (complex, np.complexfloating)):
        return operand(linspace(start, entry.stop, int(abs(step))))
    return operand(arange(start, entry.stop, step))


def _with_axes(value: Any, least: int, start: int) -> Any:
    """Return an array with at least so many axes, its own from ``start`` on; by default they come last."""
    rank = rank_of(value)
    if rank >= least:
        return value
    added = least - rank
    longer = reshape(value, shape=(*(1,) * added, *shape_of(value)))
    first = start + added + 1 if start < 0 else start
    axes = [*range(least)]
    order = (*axes[:first], *axes[added:], *axes[first:added])
    return longer if order == tuple(axes) else transpose(longer, permutation=order)


r_ = Joiner("r_", np.r_, (0, 1, -1))
c_ = Joiner("c_", np.c_, (-1, 2, 0))
