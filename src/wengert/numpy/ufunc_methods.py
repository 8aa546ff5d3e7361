"""The methods of ufuncs: `reduce`, `accumulate`, `reduceat`, `outer` and `at`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array import indexing
from wengert.engine.array.array import FUNCTIONS, UFUNC_METHODS, operand
from wengert.engine.array.ufunc_calls import as_operand, fitting, truth_values
from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import BOOL, dtype_of
from wengert.engine.core.errors import DtypeError, IndexingError, ScalarError, ShapeError, message
from wengert.engine.core.shapes import Shape, axis_index, drop_axes, keep_axes, shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.memory import is_in_rows, iterated, jointly, lay_like, lay_reduced, memory_of, placed
from wengert.engine.ops.comparison import equal, logical_not, not_equal
from wengert.engine.ops.comparison import where as chosen
from wengert.engine.ops.elementwise import UFUNCS
from wengert.engine.ops.shape import broadcast_to, concatenate, reshape, transpose
from wengert.numpy import ufuncs as ufuncs  # its functions get methods, too
from wengert.numpy.in_place import target_of
from wengert.numpy.reducing import all_, any_, cumprod, cumsum, kept, max_, min_, prod, reduced_axes, sum_
from wengert.numpy.registry import known, rank_of, strong
from wengert.numpy.shaping import part, ravel, unfolded

#: Most positions of which only the type is known that `at` writes to, one after the other.
_MOST_POSITIONS = 4096


def _function(ufunc: np.ufunc) -> Callable[..., Any]:
    return FUNCTIONS.get(ufunc) or UFUNCS[ufunc]


# -- reduce, reduceat ------------------------------------------------------------------------------------


def reduces(ufunc: np.ufunc, reduction: Callable[..., Any]) -> None:
    """Register the reduction of a ufunc: a function of an array, ``axis``, ``keepdims``, ``initial`` and ``where``."""
    name = f"np.{ufunc.__name__}.reduce"

    def reduce(
        array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = True,
    ) -> Any:  # fmt: skip
        array = operand(array)
        if dtype is not None:
            array = strong(array, _loop(ufunc, array, (np.dtype(dtype), None, None))[0])
        options = {} if initial is None else {"initial": initial}
        if where is not True:
            options["where"] = where
        return reduction(
            array, axis if rank_of(array) or axis not in (0, -1) else None, keepdims=keepdims, **options
        )

    UFUNC_METHODS[ufunc.__name__, "reduce"] = reduce
    reduced = _of_several(reduce) if ufunc is np.hypot else reduce
    UFUNC_METHODS[ufunc.__name__, "reduceat"] = _reduceat(f"{name}at", reduced)


def _of_several(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reduction that keeps a single element as it is, such as a negative one under `np.hypot`."""

    def reduced(piece: Any, axis: int, dtype: Any, **options: Any) -> Any:
        result = reduce(piece, axis, dtype, **options)
        return strong(piece, dtype_of(result)) if shape_of(piece)[axis] == 1 else result

    return reduced


def _reduceat(name: str, reduce: Callable[..., Any]) -> Callable[..., Any]:
    def reduceat(array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
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
        parts = concatenate(*(reduce(piece, axis, dtype, keepdims=True) for piece in pieces), axis=axis)
        if is_in_rows(array):
            return parts
        axes = [[-1 if dim == axis else dim for dim in range(rank_of(array))], list(range(rank_of(array)))]
        return lay_like(parts, iterated([memory_of(array)], axes, "K", shape=shape_of(parts)))

    return reduceat


def _loop(ufunc: np.ufunc, x: Any, signature: Any, own: Any = None) -> Any:
    """Return the dtypes in which a ufunc combines elements of a value, or raise `DtypeError`."""
    requested: dict[str, Any] = {} if signature is None else {"signature": signature, "casting": "unsafe"}
    try:
        return ufunc.resolve_dtypes((None, own or dtype_of(x), None), reduction=True, **requested)
    except TypeError as problem:
        raise DtypeError(message(f"np.{ufunc.__name__}.reduce", str(problem).rstrip("."), show(x))) from None


def combined(ufunc: np.ufunc, x: Any, dtype: Any = None) -> Any:
    """Return a value in the dtype in which a ufunc combines its elements."""
    own = dtype_of(x) if dtype is None else np.dtype(dtype)
    loop = _loop(ufunc, x, None, own)
    return strong(not_equal(x, 0) if loop[2] == BOOL and own != BOOL else x, loop[2])


def _identity(ufunc: np.ufunc, dtype: Any) -> Any:
    """Return the identity of a ufunc in a dtype, or None; -1 has all bits of an unsigned integer, too."""
    return None if ufunc.identity is None else np.array(ufunc.identity).astype(dtype)[()]


def _lines(x: Any, axes: tuple[int, ...]) -> Any:
    """Return a value with the axes to reduce as one last axis."""
    shape = shape_of(x)
    leading = tuple(dim for dim in range(len(shape)) if dim not in axes)
    count = size(tuple(shape[dim] for dim in axes))
    return reshape(transpose(x, permutation=leading + axes), shape=(*drop_axes(shape, axes), count))


def _by_halves(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return the reduction by an associative ufunc, which combines halves with one another in log2(n) steps."""
    pair, name, in_order = _function(ufunc), f"np.{ufunc.__name__}.reduce", _in_order(ufunc)

    def reduction(x: Any, axis: Any, keepdims: Any = False, initial: Any = None, where: Any = True) -> Any:
        if where is not True and ufunc.identity is None:
            return in_order(x, axis, keepdims, initial, where)
        x = combined(ufunc, x)
        identity = _identity(ufunc, dtype_of(x))
        x = kept(x, where, identity)
        shape = shape_of(x)
        axes = reduced_axes(name, axis, len(shape))
        lines, lead = _lines(x, axes), drop_axes(shape, axes)
        last = len(lead)
        fewest = 1 if ufunc is np.hypot else 0  # hypot(0, x) = |x|
        start = identity if initial is None and shape_of(lines)[last] <= fewest else initial
        if start is not None:
            start = broadcast_to(strong(operand(start), dtype_of(x)), shape=(*lead, 1))
            lines = concatenate(start, lines, axis=last)
        if not shape_of(lines)[last]:
            raise ShapeError(message(name, "the reduced axes must not be empty", show(x)))
        while (half := shape_of(lines)[last] // 2) > 0:
            first, second = part(lines, last, slice(0, half)), part(lines, last, slice(half, 2 * half))
            lines = concatenate(pair(first, second), part(lines, last, slice(2 * half, None)), axis=last)
        lines = reshape(lines, shape=keep_axes(shape, axes) if keepdims else lead)
        return lay_reduced(lines, x, axes, keepdims)

    return reduction


def _in_order(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return the reduction by any ufunc: the elements are combined one after the other."""
    pair, name = _function(ufunc), f"np.{ufunc.__name__}.reduce"

    def reduction(x: Any, axis: Any, keepdims: Any = False, initial: Any = None, where: Any = True) -> Any:
        x = combined(ufunc, x)
        shape = shape_of(x)
        axes = reduced_axes(name, axis, len(shape))
        if ufunc not in _REORDERABLE and len(axes) > 1:
            raise ShapeError(message(name, "the order of elements counts: give one axis", f"axis={axis}"))
        lines, lead = _lines(x, axes), drop_axes(shape, axes)
        mask = (
            None if where is True else _lines(broadcast_to(truth_values("where=", where), shape=shape), axes)
        )
        start = _identity(ufunc, dtype_of(x)) if initial is None else initial
        if start is None and mask is not None:
            hint = "give initial=, the result where no element is left"
            raise ShapeError(message(name, "with where= there must be an initial value", hint=hint))
        elements = range(shape_of(lines)[-1])
        if initial is None and mask is None and elements:
            total, elements = lines[..., 0], elements[1:]
        elif start is not None:
            total = broadcast_to(strong(operand(start), dtype_of(x)), shape=lead)
        else:
            raise ShapeError(message(name, "the reduced axes must not be empty", show(x)))
        for position in elements:
            longer = pair(total, lines[..., position])
            total = longer if mask is None else chosen(mask[..., position], longer, total)
        total = reshape(total, shape=keep_axes(shape, axes) if keepdims else lead)
        return lay_reduced(total, x, axes, keepdims)

    return reduction


def _truth(ufunc: np.ufunc, reduction: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(x: Any, axis: Any, keepdims: Any = False, initial: Any = None, where: Any = True) -> Any:
        result = reduction(x, axis, keepdims=keepdims, where=where)
        return result if initial is None else ufunc(result, operand(initial))

    return reduced


# -- accumulate ------------------------------------------------------------------------------------------


def _accumulates(ufunc: np.ufunc, running: Callable[..., Any]) -> None:
    name = f"np.{ufunc.__name__}.accumulate"

    def accumulate(array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        if not rank_of(array := operand(array)):
            raise ScalarError(message(name, "an array of at least one axis is required", show(array)))
        return placed(jointly, running(array, axis, dtype), [array], {})

    UFUNC_METHODS[ufunc.__name__, "accumulate"] = accumulate


def _running(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return the scan by an associative ufunc, in log2(n) steps at doubling distances (Hillis and Steele, 1986)."""
    pair = _function(ufunc)

    def running(x: Any, axis: int, dtype: Any) -> Any:
        x = combined(ufunc, x, dtype)
        axis = axis_index("accumulate", axis, rank_of(x))
        distance = 1
        while distance < shape_of(x)[axis]:
            farther = pair(part(x, axis, slice(distance, None)), part(x, axis, slice(None, -distance)))
            x = concatenate(part(x, axis, slice(None, distance)), farther, axis=axis)
            distance *= 2
        return x

    return running


def _running_in_order(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return the scan by any ufunc: each element is combined with the result before it."""
    pair = _function(ufunc)

    def running(x: Any, axis: int, dtype: Any) -> Any:
        x = combined(ufunc, x, dtype)
        axis = axis_index("accumulate", axis, rank_of(x))
        results: list[Any] = []
        for position in range(shape_of(x)[axis]):
            element = part(x, axis, slice(position, position + 1))
            results.append(pair(results[-1], element) if results else element)
        return concatenate(*results, axis=axis) if results else x

    return running


def _running_truth(x: Any, axis: int, dtype: Any) -> Any:
    return cumsum(not_equal(x, 0), axis) > 0


# -- outer, at -------------------------------------------------------------------------------------------


def _outer(ufunc: np.ufunc) -> Callable[..., Any]:
    def outer(a: Any, b: Any, /, **options: Any) -> Any:
        a, b = strong(operand(a)), strong(operand(b))  # NumPy makes arrays of Python's numbers
        return ufunc(unfolded(a, (*shape_of(a), *(1,) * rank_of(b))), b, **options)

    return outer


def _at(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return the method that applies a ufunc at positions in order, as often as each is named."""
    name, function = f"np.{ufunc.__name__}.at", _function(ufunc)

    def at(a: Any, indices: Any, *b: Any) -> None:
        target, others = target_of(name, a), list(map(as_operand, b))
        if indexing.is_mask_without_value(indices, target.shape) and not any(map(rank_of, others)):
            values = fitting(name, function(target, *others), target)
            target[...] = chosen(indices, values, target)
        elif _is_known(indices):
            _apply_at(name, function, target, _known_index(indices), others)
        else:
            _apply_at_unknown(name, function, target, _parts(indices), others)

    return at


def _numbered(shape: Shape) -> Any:
    return np.arange(size(shape)).reshape(shape)


def _apply_at(name: str, function: Any, target: Any, index: Any, others: list[Any]) -> None:
    """Apply a function at known positions: in each turn at different ones."""
    numbers = _numbered(target.shape)
    try:
        positions = numbers[index]
    except IndexError as problem:
        raise IndexingError(message(name, str(problem), show(target))) from None
    others = [ravel(broadcast_to(value, shape=positions.shape)) for value in others]
    flat = ravel(target.copy())
    order = positions.ravel()
    turns = _turns(order)
    for turn in range(int(turns.max(initial=-1)) + 1):
        now = np.flatnonzero(turns == turn)
        values = function(flat[order[now]], *(value[now] for value in others))
        flat[order[now]] = fitting(name, values, target)
    target[...] = reshape(flat, shape=target.shape)


def _apply_at_unknown(
    name: str, function: Any, target: Any, parts: tuple[Any, ...], others: list[Any]
) -> None:
    """Apply a function at positions of which only the type is known, one after the other."""
    if len(parts) > target.ndim or any(isinstance(part, (slice, type(None), type(...))) for part in parts):
        hint = "give an index array for each leading axis"
        raise IndexingError(message(name, "unknown positions cannot stand beside slices", show(target), hint))
    lead = np.broadcast_shapes(*map(shape_of, parts))
    if size(lead) > _MOST_POSITIONS:
        hint = "know the positions outside of the transform, or write np.add.at"
        raise ShapeError(
            message(name, f"at most {_MOST_POSITIONS} positions may be unknown", str(size(lead)), hint)
        )
    grids = [broadcast_to(as_operand(part), shape=lead) for part in parts]
    shape = (*lead, *target.shape[len(parts) :])
    others = [broadcast_to(value, shape=shape) for value in others]
    for point in np.ndindex(*lead):
        place = tuple(grid[point] for grid in grids)
        values = function(target[place], *(value[point] for value in others))
        target[place] = fitting(name, values, target)


def _turns(order: Any) -> Any:
    """Return for each position how often it came before."""
    sorting = np.argsort(order, kind="stable")
    ranked = order[sorting]
    firsts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if order.size else order
    turns = np.empty(order.size, int)
    turns[sorting] = np.arange(order.size) - np.repeat(firsts, np.diff(np.append(firsts, order.size)))
    return turns


def _parts(indices: Any) -> tuple[Any, ...]:
    return indices if isinstance(indices, tuple) else (indices,)  # pyright: ignore[reportUnknownVariableType]


def _is_known(indices: Any) -> bool:
    others = (slice, type(None), type(...))
    return all(isinstance(part, others) or concrete(part) is not None for part in _parts(indices))


def _known_index(indices: Any) -> Any:
    """Return an index with the arrays behind its boxes."""
    parts = tuple(map(concrete, _parts(indices)))
    return parts if isinstance(indices, tuple) else parts[0]


# -- registration ----------------------------------------------------------------------------------------

_BITWISE = (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
_ASSOCIATIVE = (*_BITWISE, np.logical_xor, np.fmax, np.fmin, np.hypot, np.logaddexp2, np.gcd, np.lcm)
#: Ufuncs that NumPy reduces over several axes.
_REORDERABLE = frozenset({*_ASSOCIATIVE, np.logaddexp})
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
for _ufunc in {**UFUNCS, **FUNCTIONS}:
    if not isinstance(_ufunc, np.ufunc) or _ufunc.nout > 1 or _ufunc.signature:
        continue
    if _ufunc in _ASSOCIATIVE:
        _REDUCTIONS[_ufunc], _RUNNING[_ufunc] = _by_halves(_ufunc), _running(_ufunc)
    if _ufunc.nin == 2:
        reduces(_ufunc, _REDUCTIONS.get(_ufunc) or _in_order(_ufunc))
        _accumulates(_ufunc, _RUNNING.get(_ufunc) or _running_in_order(_ufunc))
        UFUNC_METHODS[_ufunc.__name__, "outer"] = _outer(_ufunc)
    UFUNC_METHODS.setdefault((_ufunc.__name__, "at"), _at(_ufunc))
