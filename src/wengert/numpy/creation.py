"""Creation of arrays: from nested sequences, of constants, ranges and grids.

NumPy cannot dispatch these calls, so `wengert.numpy` has its own. Inside a transform they return boxes of plain arrays,
into which boxes can be written.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.engine.array.array import FUNCTIONS, operand
from wengert.engine.array.suggestions import RANGE
from wengert.engine.array.views import array_without_axes
from wengert.engine.boxes import CONSTANT, Unsized, concrete, inside_transform
from wengert.engine.core.dtypes import FLOAT64, dtype_of, is_float, is_inexact
from wengert.engine.core.errors import ArgumentError, ShapeError, UnsupportedError, message
from wengert.engine.core.shapes import axis_index, broadcast, shape_of, size
from wengert.engine.ir.types import promote, show, type_of
from wengert.engine.memory import lay, lay_as, lay_like, lies_in, memory_of, rows
from wengert.engine.nest.lowering import check_integers
from wengert.engine.ops.arithmetic import floor
from wengert.engine.ops.cells import array_of
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.elementwise import check_real
from wengert.engine.ops.exponential import exp, log, power
from wengert.engine.ops.shape import broadcast_to, concatenate, reshape
from wengert.numpy.registry import (
    Implementation,
    complete_docstring,
    implements,
    integers,
    is_box,
    is_sequence,
    known,
    rank_of,
    strong,
)
from wengert.numpy.shaping import broadcast_to_, expand_dims, moveaxis, reshaped

__all__ = [
    "arange", "array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "copy",
    "empty", "empty_like", "eye", "fromiter", "full", "full_like", "geomspace", "identity", "linspace", "logspace",
    "meshgrid", "ones", "ones_like", "require", "tri", "zeros", "zeros_like",
]  # fmt: skip

_array: Any = np.array  # its type is only known in part


def fresh(array: Any) -> Any:
    """Return a new array: inside a transform as a box, into which boxes can be written."""
    return _boxed(array) if inside_transform() else array


def _boxed(array: Any) -> Any:
    """Return a box of a new array, which lies as the array does."""
    box = lay_as(CONSTANT.constant(array), array)
    return array_without_axes(box) if is_box(box) and not shape_of(array) else box


def _creates(function: Any) -> Callable[[Implementation], Implementation]:
    """Register the implementation that NumPy's function has for ``like=box``."""

    def register(implementation: Implementation) -> Implementation:
        FUNCTIONS[function] = lambda *arguments, **options: _boxed(implementation(*arguments, **options))
        complete_docstring(implementation, function)
        return implementation

    return register


def _constant(function: Callable[..., Any]) -> Callable[[Implementation], Implementation]:
    """Implement a declaration by NumPy's function; it returns boxes inside transforms, and with ``like=box``."""

    def implement(declaration: Implementation) -> Implementation:
        @functools.wraps(declaration)
        def create(*arguments: Any, like: Any = None, **options: Any) -> Any:
            array = function(*arguments, **options)
            return _boxed(array) if is_box(like) else fresh(array)

        register: Any = _creates(function)
        return register(create)

    return implement


@_constant(np.zeros)
def zeros(shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None) -> Any:
    """Return zeros, into which boxes can be written inside a transform; as `np.zeros`.

    Example:
        >>> zeros((1, 2))
        array([[0., 0.]])
    """


@_constant(np.ones)
def ones(shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None) -> Any:
    """Return ones, into which boxes can be written inside a transform; as `np.ones`.

    Example:
        >>> ones(2)
        array([1., 1.])
    """


@_constant(np.empty)
def empty(shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None) -> Any:
    """Return an array without values, into which boxes can be written inside a transform; as `np.empty`.

    Example:
        >>> empty((2, 3)).shape
        (2, 3)
    """


@_constant(np.eye)
def eye(
    N: int, M: int | None = None, k: int = 0, dtype: Any = float, order: Any = "C",
    *, device: Any = None, like: Any = None,
) -> Any:  # fmt: skip
    """Return ones on a diagonal and zeros elsewhere, as `np.eye`.

    Example:
        >>> eye(2)
        array([[1., 0.],
               [0., 1.]])
    """


@_constant(np.identity)
def identity(n: int, dtype: Any = None, *, like: Any = None) -> Any:
    """Return the identity matrix, as `np.identity`.

    Example:
        >>> identity(2)
        array([[1., 0.],
               [0., 1.]])
    """


@_constant(np.tri)
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float, *, like: Any = None) -> Any:
    """Return ones at and below a diagonal and zeros elsewhere, as `np.tri`.

    Example:
        >>> tri(2)
        array([[1., 0.],
               [1., 1.]])
    """


# -- copies and nested sequences -------------------------------------------------------------------------


def _leaves(nested: Any) -> Iterator[Any]:
    if is_sequence(nested):
        for item in nested:
            yield from _leaves(item)
    else:
        yield nested


def contains_box(nested: Any) -> bool:
    """Report whether a value is a box, or nested sequences that contain one."""
    return any(map(is_box, _leaves(nested)))


def _joined(nested: Any, dtype: Any) -> Any:
    """Join nested sequences that contain boxes, innermost first."""
    if not is_sequence(nested):
        return strong(nested if is_box(nested) else np.asarray(nested), dtype)
    if not contains_box(nested):
        return np.array(nested, dtype=dtype)
    parts = [_joined(item, dtype) for item in nested]
    shape = shape_of(parts[0])
    if any(shape_of(part) != shape for part in parts):
        raise ShapeError(message("array", "the nested parts must have one shape", show(*parts)))
    return concatenate(*(reshape(part, shape=(1, *shape)) for part in parts), axis=0)


def _from_boxes(value: Any, dtype: Any, copy: bool | None, order: Any) -> Any:
    """Return an array of a box, or of nested sequences that contain boxes."""
    if is_box(value):
        wanted = value.dtype if dtype is None else np.dtype(dtype)
        if wanted != value.dtype or value.weak:
            return lay_like(cast(value, dtype=wanted), value, "K" if order == "A" else order)
        return (
            value if not copy and lies_in(value, order if order in ("C", "F") else "K") else value.copy(order)
        )
    if dtype is None:
        dtype = np.result_type(*{dtype_of(leaf) for leaf in _leaves(value)})
    joined = _joined(value, np.dtype(dtype))
    return lay_like(joined, joined, order if order == "F" else "C")


@_creates(np.array)
def array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, order: Any = "K", subok: bool = False,
    ndmin: int = 0, like: Any = None,
) -> Any:  # fmt: skip
    """Return an array of a number, an array or nested sequences, which may contain boxes; as `np.array`.

    Args:
        object: the elements.
        dtype: of the result; by default the one that holds all elements.
        copy: False returns an array or a box as it is.
        order: the order in memory.
        subok: whether a subclass of `np.ndarray` stays one.
        ndmin: the least number of axes; axes of extent one are put in front.
        like: a box makes the result one.

    Returns:
        The array; a box of it inside a transform.

    Raises:
        ShapeError: the nested parts differ in shape.

    Example:
        >>> import wengert as wg
        >>> wg.grad(lambda t: wg.numpy.array([t, 2.0 * t]).sum())(1.0)
        3.0
    """
    if not isinstance(copy, bool):  # SciPy passes NumPy's enumeration
        copy = {0: False, 1: True}.get(getattr(copy, "value", 2))
    if isinstance(object, Unsized):
        return object.as_array(dtype)
    if type(object) is list and (whole := array_of(object)) is not None:
        object, copy = whole, True
    if contains_box(object):
        result = _from_boxes(object, dtype, copy, order)
        shape = shape_of(result)
        if not shape and not ndmin and is_box(result) and (copy or result.lens is None):
            return array_without_axes(result)
        return reshaped(result, (1,) * (ndmin - len(shape)) + shape) if len(shape) < ndmin else result
    plain = _array(object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin)
    shared = not copy and plain is object
    return plain if shared else _boxed(plain) if is_box(like) else fresh(plain)


@_creates(np.asarray)
def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None, like: Any = None
) -> Any:  # fmt: skip
    """Return an array of a number or nested sequences, and arrays and boxes as they are; as `np.asarray`.

    Example:
        >>> asarray([1.0, 2.0])
        array([1., 2.])
    """
    return array(a, dtype, copy=copy, order=order or "K", like=like)


@_creates(np.asanyarray)
def asanyarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None, like: Any = None
) -> Any:  # fmt: skip
    """Return an array of a number or nested sequences, and arrays and boxes as they are; as `np.asanyarray`.

    Example:
        >>> asanyarray([1.0, 2.0])
        array([1., 2.])
    """
    return array(a, dtype, copy=copy, order=order or "K", subok=True, like=like)


@_creates(np.ascontiguousarray)
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """Return an array of at least one axis in row-major order, a copy where it must be one; as `np.ascontiguousarray`.

    Example:
        >>> ascontiguousarray(1.0)
        array([1.])
    """
    return array(a, dtype, copy=None, order="C", ndmin=1, like=like)


@_creates(np.asfortranarray)
def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """Return an array in column-major order, a copy where it must be one; as `np.asfortranarray`.

    Example:
        >>> asfortranarray([1.0, 2.0])
        array([1., 2.])
    """
    return array(a, dtype, copy=None, order="F", like=like)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """Return an array as `asarray` does, if all numbers that are known are finite; as `np.asarray_chkfinite`.

    Args:
        a: a number, an array or nested sequences, which may contain boxes.
        dtype: of the result.
        order: the order in memory.

    Returns:
        The array.

    Raises:
        ArgumentError: a number is infinite or NaN.

    Example:
        >>> asarray_chkfinite([1.0, 2.0])
        array([1., 2.])
    """
    result = asarray(a, dtype, order)
    values = concrete(result)
    if values is not None and is_float(dtype_of(values)) and not np.all(np.isfinite(values)):
        raise ArgumentError(message("asarray_chkfinite", "numbers must be finite", str(values)))
    return result


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """Return an array that meets requirements of its memory, a copy where it must be one; as `np.require`.

    Args:
        a: a number, an array or nested sequences, which may contain boxes.
        dtype: of the result.
        requirements: letters or words, such as ``"C"``; of a box not ``"O"``.
        like: as for `array`.

    Returns:
        The array.

    Example:
        >>> require([1.0, 2.0], requirements="C")
        array([1., 2.])
    """
    if contains_box(a):
        if _owns(requirements):
            requirement = "whether an array inside a transform owns its memory is not known"
            hint = "write np.require(x.copy(), ...) without O"
            raise UnsupportedError(message("require", requirement, repr(requirements), hint))
        result = asarray(a, dtype, like=like)
        before = memory_of(result)
        after = np.require(before, None, requirements)
        return result if after is before else lay(result.copy(), after)
    plain = np.require(a, dtype, requirements)
    return plain if plain is a else fresh(plain)


def _owns(requirements: Any) -> bool:
    return any(name.upper() in ("O", "OWNDATA") for name in requirements or ())


@_creates(np.fromiter)
def fromiter(iter: Any, dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    """Return an array of the items of an iterator, which may be boxes; as `np.fromiter`.

    Example:
        >>> fromiter((x * x for x in range(3)), float)
        array([0., 1., 4.])
    """
    items: list[Any] = list(iter if count < 0 else itertools.islice(iter, count))
    if len(items) < count:
        requirement = f"the iterator must have {count} items"
        raise ArgumentError(message("fromiter", requirement, str(len(items))))
    return array(items, dtype, like=like) if items else zeros(0, dtype, like=like)


for _function in (np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray):
    FUNCTIONS[_function] = lambda a, dtype=None, order=None, **options: _boxed(asarray(a, dtype))


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """Return a copy, into which boxes can be written inside a transform; as `np.copy`.

    Example:
        >>> copy([1.0, 2.0])
        array([1., 2.])
    """
    return lay_like(strong(a.copy()), a, order) if is_box(a) else array(a, order=order)


# -- constants -------------------------------------------------------------------------------------------


@_creates(np.full)
def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
) -> Any:
    """Return an array filled with a value, which may be a box; as `np.full`.

    Example:
        >>> full(2, 7.0)
        array([7., 7.])
    """
    if not is_box(fill_value):
        if dtype is not None:
            check_integers("full", [fill_value], [np.dtype(dtype)])
        filled = np.full(shape, fill_value, dtype, order)
        return _boxed(filled) if is_box(like) else fresh(filled)
    filled = broadcast_to(strong(fill_value, dtype), shape=tuple(integers(shape)))
    if not is_box(filled):  # a dtype without a derivative
        return fresh(np.array(filled, order=order))
    return (
        lay(filled, rows(filled.shape, filled.dtype, order)) if filled.shape else array_without_axes(filled)
    )


@implements(np.full_like)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None,
    *, device: Any = None,
) -> Any:  # fmt: skip
    """Return an array of another one's shape and dtype, filled with a value, which may be a box; as `np.full_like`.

    Example:
        >>> full_like([1.0, 2.0], 7)
        array([7., 7.])
    """
    a = operand(a)
    dtype, shape = dtype_of(a) if dtype is None else dtype, shape_of(a) if shape is None else shape
    return lay_like(full(shape, fill_value, dtype, like=a if is_box(a) else None), a, order)


@implements(np.zeros_like)
def zeros_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """Return zeros of another array's shape and dtype, as `np.zeros_like`.

    Example:
        >>> zeros_like([1.0, 2.0])
        array([0., 0.])
    """
    return _like(np.zeros, a, dtype, order, shape)


@implements(np.ones_like)
def ones_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """Return ones of another array's shape and dtype, as `np.ones_like`.

    Example:
        >>> ones_like([3.0, 2.0])
        array([1., 1.])
    """
    return _like(np.ones, a, dtype, order, shape)


@implements(np.empty_like)
def empty_like(
    prototype: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:  # fmt: skip
    """Return an array of another one's shape and dtype, to be written, as `np.empty_like`; here it holds zeros.

    Example:
        >>> empty_like([1.0, 2.0]).shape
        (2,)
    """
    return _like(np.zeros, prototype, dtype, order, shape)


def _like(function: Callable[..., Any], a: Any, dtype: Any, order: Any, shape: Any) -> Any:
    a = operand(a)
    array = function(shape_of(a) if shape is None else shape, dtype_of(a) if dtype is None else dtype)
    return lay_like(_boxed(array) if is_box(a) else fresh(array), a, order)


# -- ranges and grids ------------------------------------------------------------------------------------


@_creates(np.arange)
def arange(
    start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None, like: Any = None
) -> Any:
    """Return evenly spaced values, as `np.arange`; the ends and the step may be boxes, if they are concrete.

    Example:
        >>> arange(1.0, 2.0, 0.5)
        array([1. , 1.5])
    """
    if stop is None:
        start, stop = 0, start
    plain_arange: Any = np.arange
    bounds = (start, stop, step)
    if not any(map(is_box, bounds)):
        values = plain_arange(start, stop, step, dtype)
        return CONSTANT.constant(values) if is_box(like) else fresh(values)
    check_real("arange", *bounds)
    if (
        dtype is not None
        and np.dtype(dtype).kind in "iub"
        and any(is_inexact(dtype_of(end)) for end in bounds)
    ):
        hint = "write np.arange(...).astype(dtype)"
        raise ArgumentError(message("arange", "integers need ends and a step that are integers", hint=hint))
    count = len(plain_arange(*(known("arange", bound, RANGE).item() for bound in bounds)))
    values = start + step * np.arange(count)
    return values if dtype is None else strong(values, dtype)


def _check_axis(operation: str, axis: int, *ends: Any) -> None:
    axis_index(operation, axis, 1 + max(map(rank_of, ends)))


@implements(np.linspace)
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """Return ``num`` evenly spaced values between two ends, which may be boxes; as `np.linspace`.

    Example:
        >>> linspace(0.0, 1.0, 3)
        array([0. , 0.5, 1. ])
    """
    start, stop = operand(start), operand(stop)
    if not (is_box(start) or is_box(stop)):
        plain: Any = np.linspace(start, stop, num, endpoint, retstep, dtype, axis)  # pyright: ignore[reportCallIssue,reportArgumentType,reportUnknownVariableType]
        return (fresh(plain[0]), plain[1]) if retstep else fresh(plain)
    if num < 0:
        raise ArgumentError(message("linspace", "the number of values must not be negative", str(num)))
    _check_axis("linspace", axis, start, stop)
    common = promote(type_of(start), type_of(stop))[0]
    start, stop = (strong(end, common if is_inexact(common) else FLOAT64) for end in (start, stop))
    intervals = num - 1 if endpoint else num
    width = stop - start
    numbers = strong(np.arange(num), dtype_of(width)).reshape((num, *(1,) * rank_of(width)))
    values = start + numbers * (width / max(intervals, 1))  # rounded as NumPy rounds
    if endpoint and num > 1:
        last = broadcast_to(stop, shape=(1, *shape_of(width)))
        values = lay_like(concatenate(values[: num - 1], strong(last, dtype_of(values)), axis=0), values)
    if dtype is not None:  # NumPy rounds down to integers
        values = strong(floor(values) if np.dtype(dtype).kind in "iu" else values, dtype)
    values = moveaxis(values, 0, axis) if axis else values
    return (values, width / intervals if intervals > 0 else np.nan) if retstep else values


@implements(np.logspace)
def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:  # fmt: skip
    """Return powers of a base with evenly spaced exponents, as `np.logspace`.

    Example:
        >>> logspace(0.0, 2.0, 3)
        array([  1.,  10., 100.])
    """
    _check_axis("logspace", axis, start, stop, base)
    if rank_of(base := operand(base)):
        rank = max(map(rank_of, (start := operand(start), stop := operand(stop), base)))
        start, stop, base = (
            reshape(end, shape=(1,) * (rank - rank_of(end)) + shape_of(end)) for end in (start, stop, base)
        )
        base = expand_dims(base, axis)
    values = power(base, linspace(start, stop, num, endpoint, axis=axis))
    return values if dtype is None else strong(values, dtype)


@implements(np.geomspace)
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """Return values with equal ratios between two ends of one sign, or complex ones, as `np.geomspace`.

    Example:
        >>> geomspace(1.0, 4.0, 3).round(6)
        array([1., 2., 4.])
    """
    _check_axis("geomspace", axis, start, stop)
    start, stop = operand(start), operand(stop)
    if not (is_box(start) or is_box(stop)):
        return fresh(np.geomspace(start, stop, num, endpoint, dtype, axis))
    ends = (start, stop)
    if any(end is not None and not np.all(end) for end in map(concrete, ends)):
        raise ArgumentError(message("geomspace", "the ends must not be zero", show(start, stop)))
    common = np.result_type(FLOAT64, *map(dtype_of, ends), *([] if dtype is None else [np.dtype(dtype)]))
    shape = broadcast("geomspace", shape_of(start), shape_of(stop))
    start, stop = (broadcast_to(strong(end, common), shape=(1, *shape)) for end in ends)
    turn = np.sign(start)  # negative ends mirror positive ones; complex ones lie on a spiral
    values = turn * exp(linspace(log(np.abs(start))[0], log(stop / turn)[0], num, endpoint))
    has_last = endpoint and num > 1
    if num:  # the ends are exact, also where NaN lies between ends of two signs
        values = concatenate(start, values[1 : num - has_last], *([stop] if has_last else []), axis=0)
    values = values if dtype is None else strong(values, dtype)
    return moveaxis(values, 0, axis) if axis else values


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Return the coordinates of a grid, as `np.meshgrid`.

    Example:
        >>> x, y = meshgrid([1.0, 2.0], [3.0, 4.0])
        >>> x
        array([[1., 2.],
               [1., 2.]])
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError(message("meshgrid", 'indexing must be "xy" or "ij"', repr(indexing)))
    vectors = [operand(vector) for vector in xi]
    rank = len(vectors)
    axes = [1, 0, *range(2, rank)] if indexing == "xy" and rank > 1 else list(range(rank))
    spread = [
        reshaped(vector, _along(vector, axis, rank)) for vector, axis in zip(vectors, axes, strict=True)
    ]
    if copy:
        spread = [np.copy(vector) for vector in spread]
    if sparse:
        return tuple(spread)
    shape = np.broadcast_shapes(*map(shape_of, spread))
    grids = [broadcast_to(vector, shape=shape) if copy else broadcast_to_(vector, shape) for vector in spread]
    return tuple(np.array(grid) if copy and not is_box(grid) else grid for grid in grids)


def _along(vector: Any, axis: int, rank: int) -> tuple[int, ...]:
    """Return the shape of a vector along one axis of a grid."""
    return tuple(size(shape_of(vector)) if dim == axis else 1 for dim in range(rank))
