"""Ufuncs composed of primitives, the methods of ufuncs, rounding, and the comparison of arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.array.array import UFUNC_METHODS, operand
from wengert.array.operators import power_of
from wengert.core.dtypes import BOOL, FLOAT64, dtype_of, is_float
from wengert.core.errors import DtypeError, IndexingError, ScalarError, ShapeError, message
from wengert.core.shapes import axis_index, drop_axes, keep_axes, shape_of, size
from wengert.ir.types import is_weak, show
from wengert.numpy.creation import zeros_like
from wengert.numpy.reducing import all_, any_, cumprod, cumsum, max_, min_, prod, sum_
from wengert.numpy.registry import (
    axes_of,
    floating,
    floating_for,
    implements,
    is_box,
    known,
    rank_of,
    refuse,
    strong,
)
from wengert.numpy.shaping import part, read_only_view
from wengert.ops.arithmetic import floor_divide, multiply, positive, remainder, rint, trunc
from wengert.ops.comparison import (
    equal,
    isinf,
    isnan,
    less,
    logical_and,
    logical_not,
    not_equal,
    signbit,
    where,
)
from wengert.ops.conversion import cast
from wengert.ops.elementwise import UFUNCS
from wengert.ops.exponential import binary_exponent, ldexp, power
from wengert.ops.shape import broadcast_to, concatenate, reshape, transpose
from wengert.ops.trigonometric import sin


def _scaled(*ufuncs: np.ufunc, factor: float) -> None:
    @implements(*ufuncs)
    def _(x: Any, /) -> Any:
        return multiply(floating_for(ufuncs[0], operand(x)), factor)


_scaled(np.deg2rad, np.radians, factor=np.pi / 180)
_scaled(np.rad2deg, np.degrees, factor=180 / np.pi)


@implements(np.conjugate)
def conjugate(x: Any, /) -> Any:
    """Return the value, which is real; truth values become integers, as in NumPy."""
    x = operand(x)
    return positive(x if dtype_of(x) != BOOL else cast(x, dtype=np.conjugate.resolve_dtypes((BOOL, None))[1]))


@implements(np.power)
def power_(x1: Any, x2: Any, /) -> Any:
    """For truth values, NumPy's function and its operator return integers of different dtypes."""
    return power(x1, x2) if dtype_of(x1) == BOOL and not is_weak(x1) else power_of(x1, x2)


implements(np.divmod)(lambda x1, x2, /: (floor_divide(x1, x2), remainder(x1, x2)))


@implements(np.modf)
def modf(x: Any, /) -> tuple[Any, Any]:
    x = floating_for(np.modf, operand(x))
    whole = trunc(x)
    finite_x, finite_whole = (where(isinf(x), 0.0, value) for value in (x, whole))
    # A fraction of a negative number is at most zero: its zero is negative.
    return where(signbit(x), -(-finite_x - -finite_whole), finite_x - finite_whole), whole


@implements(np.frexp)
def frexp(x: Any, /) -> tuple[Any, Any]:
    """No derivative passes to the exponent."""
    x = floating_for(np.frexp, operand(x))
    exponent = binary_exponent(x)
    return ldexp(x, -exponent), exponent


implements(np.float_power)(
    lambda x1, x2, /: power(strong(operand(x1), FLOAT64), strong(operand(x2), FLOAT64))
)


# -- rounding and special values -------------------------------------------------------------------------


@implements(np.round, np.around, refuses=["out"])
def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    a = operand(a)
    if decimals == 0 and dtype_of(a).kind in "bf":
        return strong(rint(a))
    if dtype_of(a) == BOOL:
        raise DtypeError(message("round", "truth values have no decimals", show(a), "round x.astype(int)"))
    if not is_float(dtype_of(a)) and decimals >= 0:
        return strong(+a)
    scale = 10 ** abs(decimals)
    rounded = rint(a * scale) / scale if decimals > 0 else rint(a / scale) * scale
    return strong(rounded, dtype_of(a))


implements(np.fix, refuses=["out"])(lambda x, out=None: strong(trunc(operand(x))))


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """No derivative passes where a number is replaced."""
    x = operand(x)
    if not is_float(dtype_of(x)):
        return cast(x, dtype=dtype_of(x))
    limits = np.finfo(dtype_of(x))
    result = where(isnan(x), nan, x)
    result = where(equal(x, np.inf), limits.max if posinf is None else posinf, result)
    result = where(equal(x, -np.inf), limits.min if neginf is None else neginf, result)
    if copy or not is_box(x):
        return result
    x[...] = result
    return x


implements(np.real)(lambda val: val)
implements(np.real_if_close)(lambda a, tol=100: a)


@implements(np.imag)
def imag(val: Any) -> Any:
    zeros = zeros_like(val)
    return read_only_view(zeros, zeros, lambda base: base)


implements(np.isposinf, refuses=["out"])(lambda x, out=None: equal(x, np.inf))
implements(np.isneginf, refuses=["out"])(lambda x, out=None: logical_and(isinf(x), signbit(x)))
implements(np.isreal)(lambda x: np.ones(shape_of(x), dtype=bool))
implements(np.iscomplex)(lambda x: np.zeros(shape_of(x), dtype=bool))


_SERIES = [(-1.0) ** k / float(np.prod(np.arange(1.0, 2 * k + 2))) for k in range(11)]


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """Near 0 the Taylor series of sin z / z, in z^2; derivatives of every order are exact at 0."""
    z = floating(operand(x)) * np.pi
    near = less(np.abs(z), 1.0)
    square = where(near, z, 0.0) ** 2
    series: Any = functools.reduce(lambda total, coefficient: total * square + coefficient, reversed(_SERIES))
    away = where(near, 1.0, z)
    return strong(where(near, series, sin(away) / away), dtype_of(z))


# -- comparison of arrays --------------------------------------------------------------------------------


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    a, b = floating(operand(a)), floating(operand(b))
    finite = np.isfinite(b)
    difference = np.abs(where(finite, a, 0.0) - where(finite, b, 0.0))
    close = np.logical_and(finite, difference <= atol + rtol * np.abs(where(finite, b, 0.0)))
    close = np.logical_or(close, equal(a, b))
    return np.logical_or(close, np.logical_and(isnan(a), isnan(b))) if equal_nan else close


def _all_true(condition: Any) -> Any:
    """Return a box, or Python's truth value."""
    result = np.all(condition)
    return result if is_box(result) else bool(result)


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    return _all_true(isclose(a, b, rtol, atol, equal_nan))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    a1, a2 = operand(a1), operand(a2)
    if shape_of(a1) != shape_of(a2):
        return False
    same = equal(a1, a2)
    if equal_nan and is_float(dtype_of(a1)) and is_float(dtype_of(a2)):
        same = np.logical_or(same, np.logical_and(isnan(a1), isnan(a2)))
    return _all_true(same)


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    a1, a2 = operand(a1), operand(a2)
    try:
        np.broadcast_shapes(shape_of(a1), shape_of(a2))
    except ValueError:
        return False
    return _all_true(equal(a1, a2))


# -- methods: reduce, reduceat, accumulate, outer --------------------------------------------------------


def reduces(ufunc: np.ufunc, reduction: Callable[..., Any]) -> None:
    """Register the reduction of a ufunc: a function of an array, ``axis``, ``keepdims`` and ``initial``."""
    name = f"np.{ufunc.__name__}.reduce"

    def reduce(
        array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = True,
    ) -> Any:  # fmt: skip
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


def _by_halves(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return the reduction by an associative ufunc, which combines halves with one another in log2(n) steps."""
    pair, name = UFUNCS[ufunc], f"np.{ufunc.__name__}.reduce"

    def reduction(x: Any, axis: Any, keepdims: Any = False, initial: Any = None) -> Any:
        x = combined(ufunc, x)
        shape = shape_of(x)
        axes = axes_of(name, axis, len(shape))
        rest = tuple(dim for dim in range(len(shape)) if dim not in axes)
        lead, count = drop_axes(shape, axes), size(tuple(shape[dim] for dim in axes))
        lines, last = reshape(transpose(x, permutation=rest + axes), shape=(*lead, count)), len(lead)
        start = ufunc.identity if initial is None and not count else initial
        if start is not None:
            start = broadcast_to(strong(operand(start), dtype_of(x)), shape=(*lead, 1))
            lines = concatenate(start, lines, axis=last)
        if not shape_of(lines)[last]:
            raise ShapeError(message(name, "the reduced axes must not be empty", show(x)))
        while (half := shape_of(lines)[last] // 2) > 0:
            first, second = part(lines, last, slice(0, half)), part(lines, last, slice(half, 2 * half))
            lines = concatenate(pair(first, second), part(lines, last, slice(2 * half, None)), axis=last)
        return reshape(lines, shape=keep_axes(shape, axes) if keepdims else lead)

    return reduction


def _truth(ufunc: np.ufunc, reduction: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(x: Any, axis: Any, keepdims: Any = False, initial: Any = None) -> Any:
        result = reduction(x, axis, keepdims=keepdims)
        return result if initial is None else ufunc(result, operand(initial))

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
    """Return the scan by an associative ufunc, in log2(n) steps at doubling distances (Hillis and Steele, 1986)."""
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
        a, b = strong(operand(a)), strong(operand(b))  # NumPy makes arrays of Python's numbers
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
    _REDUCTIONS[_ufunc], _RUNNING[_ufunc] = _by_halves(_ufunc), _running(_ufunc)
for _ufunc, _reduction in _REDUCTIONS.items():
    reduces(_ufunc, _reduction)
for _ufunc, _function in _RUNNING.items():
    _accumulates(_ufunc, _function)
for _ufunc in UFUNCS:
    if _ufunc.nin == 2:
        UFUNC_METHODS[_ufunc.__name__, "outer"] = _outer(_ufunc)
