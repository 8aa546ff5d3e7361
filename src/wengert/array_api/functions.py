"""The functions of the standard, but for its extensions: their signatures, and what differs from NumPy's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.array_api.standard import as_array, check_device, declared, standard
from wengert.engine.array.array import FUNCTIONS, operand
from wengert.engine.boxes import Box
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import axis_index, shape_of
from wengert.numpy import creation, reducing, shaping
from wengert.numpy.selecting import take_along_axis

_SIGNATURES = """
    arange(start, /, stop=None, step=1, *, dtype=None, device=None)
    empty(shape, *, dtype=None, device=None)
    empty_like(x, /, *, dtype=None, device=None)
    eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
    full(shape, fill_value, *, dtype=None, device=None)
    full_like(x, /, fill_value, *, dtype=None, device=None)
    linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
    meshgrid(*arrays, indexing="xy")
    ones(shape, *, dtype=None, device=None)
    ones_like(x, /, *, dtype=None, device=None)
    tril(x, /, *, k=0)
    triu(x, /, *, k=0)
    zeros(shape, *, dtype=None, device=None)
    zeros_like(x, /, *, dtype=None, device=None)

    astype(x, dtype, /, *, copy=True, device=None)

    abs(x, /)
    acos(x, /)
    acosh(x, /)
    add(x1, x2, /)
    asin(x, /)
    asinh(x, /)
    atan(x, /)
    atan2(x1, x2, /)
    atanh(x, /)
    bitwise_and(x1, x2, /)
    bitwise_invert(x, /)
    bitwise_left_shift(x1, x2, /)
    bitwise_or(x1, x2, /)
    bitwise_right_shift(x1, x2, /)
    bitwise_xor(x1, x2, /)
    ceil(x, /)
    clip(x, /, min=None, max=None)
    conj(x, /)
    copysign(x1, x2, /)
    cos(x, /)
    cosh(x, /)
    divide(x1, x2, /)
    equal(x1, x2, /)
    exp(x, /)
    expm1(x, /)
    floor(x, /)
    floor_divide(x1, x2, /)
    greater(x1, x2, /)
    greater_equal(x1, x2, /)
    hypot(x1, x2, /)
    imag(x, /)
    isfinite(x, /)
    isinf(x, /)
    isnan(x, /)
    less(x1, x2, /)
    less_equal(x1, x2, /)
    log(x, /)
    log10(x, /)
    log1p(x, /)
    log2(x, /)
    logaddexp(x1, x2, /)
    logical_and(x1, x2, /)
    logical_not(x, /)
    logical_or(x1, x2, /)
    logical_xor(x1, x2, /)
    maximum(x1, x2, /)
    minimum(x1, x2, /)
    multiply(x1, x2, /)
    negative(x, /)
    nextafter(x1, x2, /)
    not_equal(x1, x2, /)
    positive(x, /)
    pow(x1, x2, /)
    real(x, /)
    reciprocal(x, /)
    remainder(x1, x2, /)
    round(x, /)
    sign(x, /)
    signbit(x, /)
    sin(x, /)
    sinh(x, /)
    sqrt(x, /)
    square(x, /)
    subtract(x1, x2, /)
    tan(x, /)
    tanh(x, /)
    trunc(x, /)

    take(x, indices, /, *, axis=None)
    take_along_axis(x, indices, /, *, axis=-1)

    matmul(x1, x2, /)
    matrix_transpose(x, /)
    tensordot(x1, x2, /, *, axes=2)
    vecdot(x1, x2, /, *, axis=-1)

    broadcast_arrays(*arrays)
    broadcast_to(x, /, shape)
    concat(arrays, /, *, axis=0)
    expand_dims(x, /, axis=0)
    flip(x, /, *, axis=None)
    moveaxis(x, source, destination, /)
    permute_dims(x, /, axes)
    repeat(x, repeats, /, *, axis=None)
    reshape(x, /, shape, *, copy=None)
    roll(x, /, shift, *, axis=None)
    squeeze(x, /, axis)
    stack(arrays, /, *, axis=0)
    tile(x, repetitions, /)
    unstack(x, /, *, axis=0)

    argmax(x, /, *, axis=None, keepdims=False)
    argmin(x, /, *, axis=None, keepdims=False)
    count_nonzero(x, /, *, axis=None, keepdims=False)
    nonzero(x, /)
    searchsorted(x1, x2, /, *, side="left", sorter=None)
    where(condition, x1, x2, /)

    isin(x1, x2, /, *, invert=False)
    unique_all(x, /)
    unique_counts(x, /)
    unique_inverse(x, /)
    unique_values(x, /)

    argsort(x, /, *, axis=-1, descending=False, stable=True)
    sort(x, /, *, axis=-1, descending=False, stable=True)

    cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
    cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
    max(x, /, *, axis=None, keepdims=False)
    mean(x, /, *, axis=None, keepdims=False)
    min(x, /, *, axis=None, keepdims=False)
    prod(x, /, *, axis=None, dtype=None, keepdims=False)
    std(x, /, *, axis=None, correction=0.0, keepdims=False)
    sum(x, /, *, axis=None, dtype=None, keepdims=False)
    var(x, /, *, axis=None, correction=0.0, keepdims=False)

    all(x, /, *, axis=None, keepdims=False)
    any(x, /, *, axis=None, keepdims=False)
    diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
"""


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    """Return an array of a number, an array, a buffer, or nested sequences of numbers and arrays.

    A plain array is copied, since a later write to it must not change a derivative.

    Args:
        obj: the elements.
        dtype: of the result.
        device: None or ``"cpu"``.
        copy: True copies a box as well; False raises an error where a copy is needed.

    Returns:
        The array; a box as it is, unless it is converted or copied.

    Example:
        >>> asarray([1, 2]).dtype
        dtype('int64')
    """
    check_device("asarray", device)
    return standard(as_array(obj, dtype, copy), (obj,))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """Return an array of another library's array on the processor; a box stays as it is.

    Args:
        x: an array with the DLPack protocol.
        device: None, or ``"cpu"``, for which an array on another device is brought here.
        copy: as for `asarray`.

    Example:
        >>> from_dlpack(np.arange(2)).shape
        (2,)
    """
    check_device("from_dlpack", device)
    if isinstance(x, Box):
        return asarray(x, copy=copy)
    has_device = device is not None and np.lib.NumpyVersion(np.__version__) >= "2.1.0"
    options: Any = {"device": device} if has_device else {}
    return asarray(np.from_dlpack(x, **options), copy=copy)


def astype(x: Any, dtype: Any, copy: bool = True, device: Any = None) -> Any:
    """Return an array converted to a dtype."""
    check_device("astype", device)
    x = as_array(x)
    if dtype_of(x) == dtype:
        return as_array(x, copy=True) if copy else x
    box: Any = operand(x)
    return box.astype(dtype)


def argsort(x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return the order of the elements along an axis; equal elements keep theirs, also in descending order."""
    axis = axis_index("argsort", axis, len(shape_of(x)))
    if not descending:
        return np.argsort(x, axis=axis, stable=True)
    # The order of the reversed elements, reversed, keeps that of equal elements.
    last = shape_of(x)[axis] - 1
    return last - np.flip(np.argsort(np.flip(x, axis=axis), axis=axis, stable=True), axis=axis)


def sort(x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return the elements in order along an axis."""
    return take_along_axis(operand(x), argsort(x, axis, descending), axis)


def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """Return the elements within limits, in the dtype of the array."""
    if min is None and max is None:
        return as_array(x, copy=True)
    clipped = np.clip(x, min, max)
    return clipped if dtype_of(clipped) == dtype_of(x) else clipped.astype(dtype_of(x))


def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """Return the elements of an axis at positions; a vector needs no axis."""
    if axis is None and len(shape_of(x)) != 1:
        requirement = "axis= is required for an array of other than one axis"
        raise ArgumentError(message("take", requirement, f"{len(shape_of(x))} axes"))
    return np.take(x, indices, axis=0 if axis is None else axis)


def searchsorted(x1: Any, x2: Any, side: str = "left", sorter: Any = None) -> Any:
    """Return where elements belong in a sorted vector; a sorter sorts the vector first."""
    if sorter is not None:
        x1 = take_along_axis(operand(x1), operand(sorter), 0)
    find: Any = np.searchsorted
    return find(x1, x2, side=side)


#: Implementations that are not NumPy's function of the same name.
_OWN: dict[str, Callable[..., Any]] = {
    "arange": creation.arange,
    "argsort": argsort,
    "astype": astype,
    "clip": clip,
    "cumulative_prod": reducing.cumulative_prod_,
    "cumulative_sum": reducing.cumulative_sum_,
    "full": creation.full,
    "full_like": creation.full_like,
    "linspace": creation.linspace,
    "reshape": FUNCTIONS[np.reshape],  # NumPy's has ``copy`` since 2.1
    "searchsorted": searchsorted,
    "sort": sort,
    "take": take,
    "unstack": shaping.unstack,
}


#: Every function by its name.
TABLE: dict[str, Any] = {
    **declared("wengert.array_api", _SIGNATURES, np, **_OWN),
    "asarray": asarray,
    "from_dlpack": from_dlpack,
}
