"""`np.pad` in NumPy's modes: constants, edges, reflections, periods, ramps and statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.core.dtypes import dtype_of, is_inexact
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.memory import lay_like
from wengert.engine.ops.reduction import reduce_max, reduce_min, reduce_sum
from wengert.engine.ops.shape import broadcast_to, concatenate, place, reshape
from wengert.numpy.joining import along_axis
from wengert.numpy.registry import implements, is_sequence, rank_of, strong
from wengert.numpy.shaping import moveaxis, part
from wengert.numpy.sorting import median

_INDEXED = ("edge", "reflect", "symmetric", "wrap")
_STATISTICS: dict[str, Any] = {
    "maximum": lambda x, axis: reduce_max(x, axes=(axis,)),
    "minimum": lambda x, axis: reduce_min(x, axes=(axis,)),
    "mean": lambda x, axis: reduce_sum(x, axes=(axis,)) / shape_of(x)[axis],
    "median": lambda x, axis: median(x, axis),
}
_MODES = ("constant", *_INDEXED, "linear_ramp", *_STATISTICS, "empty")


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """The mode "empty" pads with zeros. A function writes to each line in turn, as NumPy's documentation says."""
    array = operand(array)
    widths = _pairs("pad_width", _by_axis(pad_width, rank_of(array)), rank_of(array))
    widths = [(int(before), int(after)) for before, after in widths]
    if any(width < 0 for pair in widths for width in pair):
        raise ArgumentError(message("pad", "widths must not be negative", str(pad_width)))
    if callable(mode):
        padded = _by_function(array, widths, mode, kwargs)
    elif mode in _MODES:
        padded = _padded(array, widths, mode, kwargs)
    else:
        raise ArgumentError(message("pad", f"mode must be one of {', '.join(_MODES)}", repr(mode)))
    return lay_like(padded, array, "A")


def _padded(array: Any, widths: list[tuple[int, int]], mode: str, kwargs: dict[str, Any]) -> Any:
    values = kwargs.get("constant_values", 0)
    if mode == "empty" or (mode == "constant" and isinstance(values, int) and values == 0):
        return _with_zeros(array, widths)
    if mode in _INDEXED and kwargs.get("reflect_type", "even") != "odd":
        return _from_itself(array, widths, mode)
    return _by_sides(array, widths, mode, _sides(mode, kwargs, rank_of(array)))


def _by_function(x: Any, widths: list[tuple[int, int]], function: Any, options: Any) -> Any:
    padded = _with_zeros(x, widths)
    for axis, width in enumerate(widths):
        lines = moveaxis(padded, axis, -1)
        for index in np.ndindex(*shape_of(lines)[:-1]):
            function(lines[index], width, axis, options)
    return padded


def _by_axis(pad_width: Any, rank: int) -> Any:
    """Return the widths of all axes, if a dictionary names those of some."""
    if not hasattr(pad_width, "items"):
        return pad_width
    widths: list[Any] = [(0, 0)] * rank
    for axis, width in pad_width.items():
        widths[axis] = width if is_sequence(width) else (width, width)
    return widths


def _pairs(name: str, value: Any, rank: int) -> list[tuple[Any, Any]]:
    """Return the values before and after each axis, from one value, one pair, or one pair an axis."""

    def entries(nested: Any) -> list[Any] | None:
        return list(nested) if is_sequence(nested) or np.ndim(nested) else None

    rows = entries(value)
    if rows is None or len(rows) == 0 or entries(rows[0]) is None:
        rows = [rows or [value]]
    pairs = [(entries(row) or [row]) for row in rows]
    if len(pairs) not in (1, rank) or any(len(pair) not in (1, 2) for pair in pairs):
        requirement = f"{name} must be one value, a pair, or a pair an axis"
        raise ShapeError(message("pad", requirement, repr(value)))
    return [(pair[0], pair[-1]) for pair in (pairs if len(pairs) == rank else pairs * rank)]


def _with_zeros(x: Any, widths: list[tuple[int, int]]) -> Any:
    shape = shape_of(x)
    longer = tuple(extent + before + after for extent, (before, after) in zip(shape, widths, strict=True))
    starts = (before if extent else 0 for extent, (before, _) in zip(shape, widths, strict=True))
    index = tuple((start, extent, 1) for start, extent in zip(starts, shape, strict=True))
    return place(broadcast_to(np.zeros((), dtype_of(x)), shape=longer), x, index=index)


def _from_itself(x: Any, widths: list[tuple[int, int]], mode: Any) -> Any:
    """Take each element of the border from inside: NumPy pads the positions, which are then gathered."""
    for axis, width in enumerate(widths):
        if width != (0, 0):
            _check_extensible(x, axis, sum(width), mode)
            x = along_axis(x, np.pad(np.arange(shape_of(x)[axis]), width, mode), axis)
    return x


Side = Callable[[Any, int, int, bool], Any]


def _check_extensible(x: Any, axis: int, width: int, mode: str) -> None:
    if width and not shape_of(x)[axis] and mode != "constant":
        requirement = f"an empty axis cannot be extended in mode {mode!r}"
        raise ShapeError(message("pad", requirement, str(shape_of(x))))


def _by_sides(x: Any, widths: list[tuple[int, int]], mode: str, side: Side) -> Any:
    for axis, (before, after) in enumerate(widths):
        _check_extensible(x, axis, before + after, mode)
        parts: list[Any] = [x]
        if before:
            parts.insert(0, strong(side(x, axis, before, True), dtype_of(x)))
        if after:
            parts.append(strong(side(x, axis, after, False), dtype_of(x)))
        x = concatenate(*parts, axis=axis) if len(parts) > 1 else x
    return x


def _sides(mode: str, options: dict[str, Any], rank: int) -> Side:
    """Return the function that makes one side of the border: ``(x, axis, width, before) -> border``."""
    if mode in _INDEXED:
        return lambda x, axis, width, before: _odd_reflection(x, axis, width, before, mode)
    if mode == "constant":
        constants = _pairs("constant_values", options.get("constant_values", 0), rank)
        return lambda x, axis, width, before: _spread(operand(constants[axis][not before]), x, axis, width)
    if mode == "linear_ramp":
        ends = _pairs("end_values", options.get("end_values", 0), rank)
        return lambda x, axis, width, before: _ramp(x, axis, width, before, operand(ends[axis][not before]))
    lengths = _pairs("stat_length", options.get("stat_length"), rank)
    return lambda x, axis, width, before: _statistic(x, axis, width, before, lengths[axis][not before], mode)


def _spread(value: Any, x: Any, axis: int, width: int) -> Any:
    shape = shape_of(x)
    return broadcast_to(value, shape=(*shape[:axis], width, *shape[axis + 1 :]))


def _edge(x: Any, axis: int, before: bool, length: int = 1) -> Any:
    return part(x, axis, slice(0, length) if before else slice(shape_of(x)[axis] - length, None))


def _ramp(x: Any, axis: int, width: int, before: bool, end: Any) -> Any:
    steps = np.arange(width) / width if before else np.arange(width - 1, -1, -1) / width
    steps = reshape(steps, shape=(width, *(1,) * (rank_of(x) - axis - 1)))
    steps = strong(steps, dtype_of(x) if is_inexact(dtype_of(x)) else None)
    return end + (_edge(x, axis, before) - end) * steps


def _statistic(x: Any, axis: int, width: int, before: bool, length: int | None, mode: str) -> Any:
    extent = shape_of(x)[axis]
    measured = _STATISTICS[mode](_edge(x, axis, before, min(length or extent, extent)), axis)
    shape = shape_of(x)
    if mode in ("mean", "median") and dtype_of(x).kind in "iu":
        measured = np.rint(measured)
    return _spread(reshape(measured, shape=(*shape[:axis], 1, *shape[axis + 1 :])), x, axis, width)


def _odd_reflection(x: Any, axis: int, width: int, before: bool, mode: Any) -> Any:
    """Reflect in the edge point: twice the edge less the opposite elements, repeated up to the width."""
    extent = shape_of(x)[axis]
    if mode not in ("reflect", "symmetric"):
        return along_axis(x, _opposite(extent, width, before, mode), axis)
    span = extent - 1 if mode == "reflect" else extent
    if extent == 1 and mode == "reflect":
        return _spread(x, x, axis, width)
    if width > span:
        near = _odd_reflection(x, axis, span, before, mode)
        longer = concatenate(*((near, x) if before else (x, near)), axis=axis)
        far = _odd_reflection(longer, axis, width - span, before, mode)
        return concatenate(*((far, near) if before else (near, far)), axis=axis)
    return 2 * _edge(x, axis, before) - along_axis(x, _opposite(extent, width, before, mode), axis)


def _opposite(extent: int, width: int, before: bool, mode: Any) -> Any:
    padded = np.pad(np.arange(extent), (width, 0) if before else (0, width), mode)
    return padded[:width] if before else padded[extent:]
