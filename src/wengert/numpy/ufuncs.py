"""Ufuncs composed of primitives, the methods of ufuncs, rounding, and the comparison of arrays."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.array.operators import power_of
from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import BOOL, FLOAT64, dtype_of, is_complex, is_float, is_inexact
from wengert.engine.core.errors import ConcreteError, DtypeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import is_weak, show
from wengert.engine.memory import lay_like
from wengert.engine.ops.arithmetic import (
    absolute,
    floor_divide,
    multiply,
    positive,
    remainder,
    rint,
    size_to_compare,
    trunc,
)
from wengert.engine.ops.arithmetic import sign as sign_of_real
from wengert.engine.ops.comparison import (
    equal,
    isinf,
    isnan,
    less,
    logical_and,
    logical_or,
    not_equal,
    signbit,
    where,
)
from wengert.engine.ops.complex import conjugate, from_parts
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.elementwise import check_real
from wengert.engine.ops.exponential import binary_exponent, ldexp, power
from wengert.engine.ops.special.bessel import i0
from wengert.engine.ops.trigonometric import arctan2, sin
from wengert.numpy.creation import zeros_like
from wengert.numpy.registry import (
    floating,
    floating_for,
    implements,
    is_box,
    strong,
)
from wengert.numpy.shaping import read_only_view


def _scaled(*ufuncs: np.ufunc, factor: float) -> None:
    @implements(*ufuncs)
    def _(x: Any, /) -> Any:
        check_real(ufuncs[0].__name__, x := operand(x))
        return multiply(floating_for(ufuncs[0], x), factor)


_scaled(np.deg2rad, np.radians, factor=np.pi / 180)
_scaled(np.rad2deg, np.degrees, factor=180 / np.pi)


@implements(np.conjugate)
def conjugate_(x: Any, /) -> Any:
    """Return x - i y of x + i y, and a real value; truth values become integers, as in NumPy."""
    x = operand(x)
    if is_complex(dtype_of(x)):
        return conjugate(x)
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
    lambda x1, x2, /: power(
        *(strong(x, np.result_type(dtype_of(x), FLOAT64)) for x in (operand(x1), operand(x2)))
    )
)


# -- rounding and special values -------------------------------------------------------------------------


@implements(np.round, np.around)
def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    a = operand(a)
    if decimals == 0 and dtype_of(a).kind in "bf":
        return strong(rint(a))
    if is_complex(dtype_of(a)):
        return from_parts(round_(a.real, decimals), round_(a.imag, decimals))
    if dtype_of(a) == BOOL:
        raise DtypeError(message("round", "truth values have no decimals", show(a), "round x.astype(int)"))
    if not is_float(dtype_of(a)) and decimals >= 0:
        return strong(+a)
    scale = 10 ** abs(decimals)
    rounded = rint(a * scale) / scale if decimals > 0 else rint(a / scale) * scale
    return lay_like(strong(rounded, dtype_of(a)), a, "A")


implements(np.fix)(lambda x, out=None: strong(trunc(operand(x))))


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """No derivative passes where a number is replaced."""
    x = operand(x)
    if is_complex(dtype_of(x)):
        parts = [nan_to_num(part, True, nan, posinf, neginf) for part in (x.real, x.imag)]
        result = from_parts(*parts)
    elif not is_float(dtype_of(x)):
        return cast(x, dtype=dtype_of(x))
    else:
        nan, posinf, neginf = (_like(x, value) for value in (nan, posinf, neginf))
        result = _replaced(x, nan, posinf, neginf)
    if copy or not is_box(x):
        return lay_like(result, x)
    x[...] = result
    return x


def _like(x: Any, value: Any) -> Any:
    """Return what stands for a number in its dtype."""
    if value is None:
        return None
    check_real("nan_to_num", value := operand(value))
    return value if is_weak(value) else strong(value, dtype_of(x))


def _replaced(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    limits = np.finfo(dtype_of(x))
    result = where(isnan(x), nan, x)
    result = where(equal(x, np.inf), limits.max if posinf is None else posinf, result)
    return where(equal(x, -np.inf), limits.min if neginf is None else neginf, result)


implements(np.real)(lambda val: operand(val).real)


@implements(np.imag)
def imag(val: Any) -> Any:
    val = operand(val)
    if is_complex(dtype_of(val)):
        return val.imag
    zeros = zeros_like(val, order="A")
    return read_only_view(zeros, zeros, lambda base: base)


@implements(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Any:
    """The type of the result depends on the values, so a complex value must be known."""
    a = operand(a)
    if not is_complex(dtype_of(a)):
        return a
    if tol > 1:
        tol = np.finfo(dtype_of(a)).eps * tol
    near = concrete(np.all(less(absolute(a.imag), tol)))
    if near is None:
        requirement = "whether the result is real depends on values that are not known here"
        raise ConcreteError(message("np.real_if_close", requirement, show(a), "write np.real(x)"))
    return a.real if near else a


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    """The derivative at 0 is NaN: there is no angle."""
    z = operand(z)
    result = arctan2(z.imag, z.real) if is_complex(dtype_of(z)) else arctan2(0, z)
    return result * (180 / np.pi) if deg else result


@implements(np.sign)
def sign(x: Any, /) -> Any:
    """z / |z| of a complex number, 0 at 0, and the direction of an infinite part; NaN of two."""
    x = operand(x)
    if not is_complex(dtype_of(x)):
        return sign_of_real(x)
    parts, radius = (x.real, x.imag), absolute(x)
    at_origin, far = equal(x, 0), isinf(radius)
    both = logical_and(*map(isinf, parts))
    divisor = where(logical_or(at_origin, far), 1.0, radius)

    def divided(part: Any) -> Any:
        direction = where(both, np.nan, where(isinf(part), sign_of_real(part), 0.0))
        return where(at_origin, 0.0, where(far, direction, part)) / divisor

    return from_parts(*map(divided, parts))


@implements(np.isposinf)
def isposinf(x: Any, out: Any = None) -> Any:
    check_real("isposinf", x)
    return equal(x, np.inf)


@implements(np.isneginf)
def isneginf(x: Any, out: Any = None) -> Any:
    check_real("isneginf", x)
    return logical_and(isinf(x), signbit(x))


implements(np.isreal)(lambda x: equal(np.imag(x), 0))
implements(np.iscomplex)(
    lambda x: not_equal(x.imag, 0) if is_complex(dtype_of(x)) else zeros_like(x, BOOL, "C")
)


implements(np.i0)(lambda x: i0(floating(operand(x))))

_SERIES = [(-1.0) ** k / float(np.prod(np.arange(1.0, 2 * k + 2))) for k in range(11)]


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """Near 0 the Taylor series of sin z / z, in z^2; derivatives of every order are exact at 0."""
    z = floating(operand(x)) * np.pi
    near = less(size_to_compare(z), 1.0)
    square = where(near, z, 0.0) ** 2
    series: Any = functools.reduce(lambda total, coefficient: total * square + coefficient, reversed(_SERIES))
    away = where(near, 1.0, z)
    return strong(where(near, series, sin(away) / away), dtype_of(z))


# -- comparison of arrays --------------------------------------------------------------------------------


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    a, b = floating(operand(a)), floating(operand(b))
    finite = np.isfinite(b)
    finite_b = where(finite, b, 0.0)
    difference = size_to_compare(where(finite, a, 0.0) - finite_b)
    close = np.logical_and(finite, difference <= atol + rtol * size_to_compare(finite_b))
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
    if equal_nan and is_inexact(dtype_of(a1)) and is_inexact(dtype_of(a2)):
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
