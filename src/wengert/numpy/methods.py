"""Methods of ufuncs: ``reduce``, ``accumulate``, ``reduceat`` and ``outer``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.array.array import UFUNC_METHODS, operand
from wengert.core.dtypes import dtype_of
from wengert.core.errors import IndexingError, ScalarError, ShapeError, message
from wengert.core.shapes import axis_index, drop_axes, keep_axes, shape_of, size
from wengert.ir.types import show
from wengert.numpy.reducing import all_, any_, cumprod, cumsum, max_, min_, prod, sum_
from wengert.numpy.registry import axes_of, known, rank_of, refuse, strong
from wengert.numpy.shaping import part
from wengert.ops.comparison import equal, logical_not, not_equal
from wengert.ops.elementwise import UFUNCS
from wengert.ops.shape import broadcast_to, concatenate, reshape, transpose


def reduces(ufunc: np.ufunc, reduction: Callable[..., Any]) -> None:
    """Make a reduction, a function of an array, ``axis``, ``keepdims`` and ``initial``, that of a ufunc."""
    name = f"np.{ufunc.__name__}.reduce"

    def reduce(
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        refuse(name, out, where)
        array = operand(array) if dtype is None else strong(operand(array), dtype)
        options = {} if initial is None else {"initial": initial}
        return reduction(array, axis if rank_of(array) else None, keepdims=keepdims, **options)

    UFUNC_METHODS[ufunc.__name__, "reduce"] = reduce
    UFUNC_METHODS[ufunc.__name__, "reduceat"] = _reduceat(f"{name}at", reduce)


def _reduceat(name: str, reduce: Callable[..., Any]) -> Callable[..., Any]:
    def reduceat(array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        refuse(name, out)
        array = operand(array)
        axis = axis_index(name, axis, rank_of(array))
        extent = shape_of(array)[axis]
        starts = [int(start) for start in known(name, operand(indices))]
        if not starts or min(starts) < 0 or max(starts) >= extent:
            requirement = f"there must be indices, and they must lie in [0, {extent})"
            raise IndexingError(message(name, requirement, str(starts)))
        pieces = [
            part(array, axis, slice(start, max(stop, start + 1)))
            for start, stop in zip(starts, [*starts[1:], extent], strict=True)
        ]
        return concatenate(*(reduce(piece, axis, dtype, keepdims=True) for piece in pieces), axis=axis)

    return reduceat


def combined(ufunc: np.ufunc, x: Any, dtype: Any = None) -> Any:
    """Return a value in the dtype in which a ufunc combines its elements."""
    own = dtype_of(x) if dtype is None else np.dtype(dtype)
    return strong(x, ufunc.resolve_dtypes((own, own, None))[2])


def _in_any_order(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return the reduction by an associative ufunc: halves are combined with one another, in log2(n) steps."""
    pair, name = UFUNCS[ufunc], f"np.{ufunc.__name__}.reduce"

    def reduction(x: Any, axis: Any, keepdims: Any = False, initial: Any = None) -> Any:
        x = combined(ufunc, x)
        shape = shape_of(x)
        axes = axes_of(name, axis, len(shape))
        rest = tuple(one for one in range(len(shape)) if one not in axes)
        lead, count = drop_axes(shape, axes), size(tuple(shape[one] for one in axes))
        lines, last = reshape(transpose(x, permutation=rest + axes), shape=(*lead, count)), len(lead)
        start = ufunc.identity if initial is None and not count else initial
        if start is not None:
            start = broadcast_to(strong(operand(start), dtype_of(x)), shape=(*lead, 1))
            lines = concatenate(start, lines, axis=last)
        if not shape_of(lines)[last]:
            raise ShapeError(message(name, "the reduced axes must not be empty", show(x)))
        while (half := shape_of(lines)[last] // 2) > 0:
            one, other = part(lines, last, slice(0, half)), part(lines, last, slice(half, 2 * half))
            lines = concatenate(pair(one, other), part(lines, last, slice(2 * half, None)), axis=last)
        return reshape(lines, shape=keep_axes(shape, axes) if keepdims else lead)

    return reduction


def _truth(ufunc: np.ufunc, reduction: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(x: Any, axis: Any, keepdims: Any = False, initial: Any = None) -> Any:
        found = reduction(x, axis, keepdims=keepdims)
        return found if initial is None else ufunc(found, operand(initial))

    return reduced


def _accumulates(ufunc: np.ufunc, running: Callable[..., Any]) -> None:
    name = f"np.{ufunc.__name__}.accumulate"

    def accumulate(array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        refuse(name, out)
        if not rank_of(array):
            raise ScalarError(message(name, "an array of at least one axis is required", show(array)))
        return running(array, axis, dtype)

    UFUNC_METHODS[ufunc.__name__, "accumulate"] = accumulate


def _running(ufunc: np.ufunc) -> Callable[..., Any]:
    """Combine with ever farther neighbours (Hillis and Steele, 1986), in log2(n) steps."""
    pair = UFUNCS[ufunc]

    def running(x: Any, axis: int, dtype: Any) -> Any:
        x = combined(ufunc, operand(x), dtype)
        axis = axis_index("accumulate", axis, rank_of(x))
        distance = 1
        while distance < shape_of(x)[axis]:
            farther = pair(part(x, axis, slice(distance, None)), part(x, axis, slice(None, -distance)))
            x = concatenate(part(x, axis, slice(None, distance)), farther, axis=axis)
            distance *= 2
        return x

    return running


def _running_truth(x: Any, axis: int, dtype: Any) -> Any:
    return cumsum(not_equal(x, 0), axis) > 0


def _outer(ufunc: np.ufunc) -> Callable[..., Any]:
    def outer(a: Any, b: Any, /, **options: Any) -> Any:
        a, b = strong(operand(a)), strong(operand(b))  # of Python's numbers NumPy makes arrays
        return ufunc(reshape(a, shape=(*shape_of(a), *(1,) * rank_of(b))), b, **options)

    return outer


_BITWISE = (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
_ASSOCIATIVE = (*_BITWISE, np.logical_xor, np.fmax, np.fmin, np.hypot, np.logaddexp2)
_REDUCTIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: sum_,
    np.multiply: prod,
    np.maximum: max_,
    np.minimum: min_,
    np.logical_and: _truth(np.logical_and, all_),
    np.logical_or: _truth(np.logical_or, any_),
}
_RUNNING: dict[np.ufunc, Callable[..., Any]] = {
    np.add: cumsum,
    np.multiply: cumprod,
    np.maximum: _running(np.maximum),
    np.minimum: _running(np.minimum),
    np.logaddexp: _running(np.logaddexp),  # its reduction is `wengert.special.logsumexp`
    np.logical_or: _running_truth,
    np.logical_and: lambda x, axis, dtype: logical_not(_running_truth(equal(x, 0), axis, dtype)),
}
for _ufunc in _ASSOCIATIVE:
    _REDUCTIONS[_ufunc], _RUNNING[_ufunc] = _in_any_order(_ufunc), _running(_ufunc)
for _ufunc, _reduction in _REDUCTIONS.items():
    reduces(_ufunc, _reduction)
for _ufunc, _function in _RUNNING.items():
    _accumulates(_ufunc, _function)
for _ufunc in UFUNCS:
    if _ufunc.nin == 2:
        UFUNC_METHODS[_ufunc.__name__, "outer"] = _outer(_ufunc)
