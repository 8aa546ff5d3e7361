"""Arrays made: of nested sequences, of constants, ranges and grids.

NumPy cannot dispatch these calls, which is why `wengert.numpy` has them. Inside a transform they return boxes that
hold plain arrays: boxes can be written into those.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.array.array import FUNCTIONS, operand
from wengert.array.suggestions import RANGE
from wengert.boxes import CONSTANT, inside_transform
from wengert.core.dtypes import dtype_of
from wengert.core.errors import ArgumentError, ShapeError, message
from wengert.core.shapes import axis_index, shape_of, size
from wengert.ir.types import show
from wengert.nest.lowering import check_integers
from wengert.numpy.registry import floating, implements, integers, is_box, is_sequence, known, rank_of, strong
from wengert.numpy.shaping import broadcast_to_, moveaxis, reshaped
from wengert.ops.conversion import cast
from wengert.ops.exponential import exp, log, power
from wengert.ops.shape import broadcast_to, concatenate, reshape


def fresh(array: Any) -> Any:
    """Return a new array: inside a transform as a box, into which boxes can be written."""
    return CONSTANT.constant(array) if inside_transform() else array


def _creation(function: Callable[..., Any], name: str) -> Any:
    """Return NumPy's function made to return boxes inside transforms; ``like=box`` always does."""

    @functools.wraps(function)
    def create(*arguments: Any, like: Any = None, **options: Any) -> Any:
        array = function(*arguments, **options)
        return CONSTANT.constant(array) if is_box(like) else fresh(array)

    create.__module__, create.__name__ = __name__, name
    create.__doc__ = (
        f"Return what `np.{name}` returns; inside a transform, an array into which boxes can be written."
    )
    FUNCTIONS[function] = lambda *arguments, **options: CONSTANT.constant(function(*arguments, **options))
    return create


zeros: Any = _creation(np.zeros, "zeros")
ones: Any = _creation(np.ones, "ones")
empty: Any = _creation(np.empty, "empty")
eye: Any = _creation(np.eye, "eye")
identity: Any = _creation(np.identity, "identity")
tri: Any = _creation(np.tri, "tri")


# -- copies and nested sequences -------------------------------------------------------------------------


def _leaves(nested: Any) -> Iterator[Any]:
    if is_sequence(nested):
        for one in nested:
            yield from _leaves(one)
    else:
        yield nested


def contains_box(nested: Any) -> bool:
    """Tell whether a value is a box, or nested sequences that contain one."""
    return any(map(is_box, _leaves(nested)))


def _joined(nested: Any, dtype: Any) -> Any:
    """Join nested sequences that contain boxes, innermost first."""
    if not is_sequence(nested):
        return strong(nested if is_box(nested) else np.asarray(nested), dtype)
    if not contains_box(nested):
        return np.array(nested, dtype=dtype)
    parts = [_joined(one, dtype) for one in nested]
    shape = shape_of(parts[0])
    if any(shape_of(one) != shape for one in parts):
        raise ShapeError(message("array", "the nested parts must have one shape", show(*parts)))
    return concatenate(*(reshape(one, shape=(1, *shape)) for one in parts), axis=0)


def _from(value: Any, dtype: Any, copy: bool | None) -> Any:
    """Return an array of a box, or of nested sequences that contain some."""
    if is_box(value):
        wanted = value.dtype if dtype is None else np.dtype(dtype)
        if wanted != value.dtype or value.weak:
            return cast(value, dtype=wanted)
        return value.copy() if copy else value
    if dtype is None:
        dtype = np.result_type(*{dtype_of(leaf) for leaf in _leaves(value)})
    return _joined(value, np.dtype(dtype))


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    like: Any = None,
) -> Any:
    """Return an array of a number, an array or nested sequences, which may contain boxes; as `np.array`.

    Args:
        object: what the array holds.
        dtype: of the result; by default the one that holds all elements.
        copy: False returns an array or a box as it is.
        order: the layout in memory of a plain array.
        subok: whether a subclass of `np.ndarray` stays one.
        ndmin: axes of extent one are put in front until there are so many.
        like: a box makes the result one.

    Raises:
        ShapeError: the nested parts differ in shape.

    Example:
        >>> import wengert as wg
        >>> wg.grad(lambda t: wg.numpy.array([t, 2.0 * t]).sum())(1.0)
        3.0
    """
    if contains_box(object):
        result = _from(object, dtype, copy)
        shape = shape_of(result)
        return reshaped(result, (1,) * (ndmin - len(shape)) + shape) if len(shape) < ndmin else result
    plain = np.array(object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin)
    shared = not copy and plain is object
    return plain if shared else CONSTANT.constant(plain) if is_box(like) else fresh(plain)


def asarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Any:
    """Return an array of a number or nested sequences; arrays and boxes stay as they are. As `np.asarray`."""
    return array(a, dtype, copy=copy, order=order or "K", like=like)


for _function in (np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray):
    FUNCTIONS[_function] = lambda a, dtype=None, order=None, **options: CONSTANT.constant(asarray(a, dtype))
FUNCTIONS[np.array] = lambda *arguments, **options: CONSTANT.constant(array(*arguments, **options))


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """Return a copy, as `np.copy`; inside a transform boxes can be written into it."""
    return strong(a.copy()) if is_box(a) else array(a)


# -- constants -------------------------------------------------------------------------------------------


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
) -> Any:
    """Return an array filled with a value, which may be a box; as `np.full`."""
    if not is_box(fill_value):
        if dtype is not None:
            check_integers("full", [fill_value], [np.dtype(dtype)])
        filled = np.full(shape, fill_value, dtype, order)
        return CONSTANT.constant(filled) if is_box(like) else fresh(filled)
    return broadcast_to(strong(fill_value, dtype), shape=tuple(integers(shape)))


FUNCTIONS[np.full] = lambda *arguments, **options: CONSTANT.constant(full(*arguments, **options))


def _like(name: str, function: Callable[..., Any]) -> Any:
    """Return the function that makes constants of another array's shape and dtype."""

    def create(
        a: Any,
        dtype: Any = None,
        order: Any = "K",
        subok: bool = True,
        shape: Any = None,
        *,
        device: Any = None,
    ) -> Any:
        a = operand(a)
        array = function(shape_of(a) if shape is None else shape, dtype_of(a) if dtype is None else dtype)
        return CONSTANT.constant(array) if is_box(a) else fresh(array)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"Return an array of the shape and dtype of another, as `np.{name}`."
    return create


zeros_like: Any = implements(np.zeros_like)(_like("zeros_like", np.zeros))
ones_like: Any = implements(np.ones_like)(_like("ones_like", np.ones))


@implements(np.empty_like)
def empty_like(
    prototype: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """Return an array of the shape and dtype of another, to be written, as `np.empty_like`; here it holds zeros."""
    return zeros_like(prototype, dtype, order, subok, shape)


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """Return an array of the shape and dtype of another, filled with a value; as `np.full_like`."""
    a = operand(a)
    like = a if is_box(a) else None
    return full(
        shape_of(a) if shape is None else shape,
        fill_value,
        dtype_of(a) if dtype is None else dtype,
        like=like,
    )


# -- ranges and grids ------------------------------------------------------------------------------------


def arange(
    start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None, like: Any = None
) -> Any:
    """Return evenly spaced values, as `np.arange`; the ends and the step may be boxes, if they are concrete."""
    if stop is None:
        start, stop = 0, start
    numpys: Any = np.arange
    bounds = (start, stop, step)
    if not any(map(is_box, bounds)):
        values = numpys(start, stop, step, dtype)
        return CONSTANT.constant(values) if is_box(like) else fresh(values)
    count = len(numpys(*(known("arange", one, RANGE)[()] for one in bounds)))
    values = start + step * np.arange(count)
    return values if dtype is None else strong(values, dtype)


FUNCTIONS[np.arange] = lambda *arguments, **options: CONSTANT.constant(arange(*arguments, **options))


def _check_axis(operation: str, axis: int, *ends: Any) -> None:
    axis_index(operation, axis, 1 + max(map(rank_of, ends)))


@implements(np.linspace)
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """Return ``num`` evenly spaced values between two, as `np.linspace`; the ends may be boxes."""
    start, stop = operand(start), operand(stop)
    if not (is_box(start) or is_box(stop)):
        found = np.linspace(start, stop, num, endpoint, retstep, dtype, axis)  # pyright: ignore[reportCallIssue,reportArgumentType,reportUnknownVariableType]
        return (fresh(found[0]), found[1]) if retstep else fresh(found)
    if num < 0:
        raise ArgumentError(message("linspace", "the number of values must not be negative", str(num)))
    _check_axis("linspace", axis, start, stop)
    start, stop = floating(start), floating(stop)
    intervals = num - 1 if endpoint else num
    width = stop - start
    numbers = strong(np.arange(num), dtype_of(width)).reshape((num, *(1,) * rank_of(width)))
    values = start + numbers * (width / max(intervals, 1))  # rounded as NumPy rounds
    if endpoint and num > 1:
        last = broadcast_to(stop, shape=(1, *shape_of(width)))
        values = concatenate(values[: num - 1], strong(last, dtype_of(values)), axis=0)
    values = values if dtype is None else strong(values, dtype)
    values = moveaxis(values, 0, axis) if axis else values
    return (values, width / intervals if intervals > 0 else np.nan) if retstep else values


@implements(np.logspace)
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return powers of a base with evenly spaced exponents, as `np.logspace`."""
    _check_axis("logspace", axis, start, stop)
    values = power(base, linspace(start, stop, num, endpoint, axis=axis))
    return values if dtype is None else strong(values, dtype)


@implements(np.geomspace)
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """Return values whose ratios are equal between two positive ones, as `np.geomspace`."""
    _check_axis("geomspace", axis, start, stop)
    values = exp(
        linspace(log(floating(operand(start))), log(floating(operand(stop))), num, endpoint, axis=axis)
    )
    return values if dtype is None else strong(values, dtype)


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Return the coordinates of a grid, as `np.meshgrid`."""
    if indexing not in ("xy", "ij"):
        raise ArgumentError(message("meshgrid", 'indexing must be "xy" or "ij"', repr(indexing)))
    vectors = [operand(one) for one in xi]
    rank = len(vectors)
    order = [1, 0, *range(2, rank)] if indexing == "xy" and rank > 1 else list(range(rank))
    spread = [reshaped(one, _at(one, place, rank)) for one, place in zip(vectors, order, strict=True)]
    if copy:
        spread = [np.copy(one) for one in spread]
    if sparse:
        return tuple(spread)
    shape = np.broadcast_shapes(*map(shape_of, spread))
    grids = [broadcast_to(one, shape=shape) if copy else broadcast_to_(one, shape) for one in spread]
    return tuple(np.array(one) if copy and not is_box(one) else one for one in grids)


def _at(vector: Any, place: int, rank: int) -> tuple[int, ...]:
    """Return the shape of a vector along one axis of a grid."""
    return tuple(size(shape_of(vector)) if axis == place else 1 for axis in range(rank))
