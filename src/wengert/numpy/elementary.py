"""Elementary functions that are no primitives of their own: rounding, `sinc`, angles, differences, polynomials."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from wengert.array.array import operand
from wengert.array.operators import power_of
from wengert.core.dtypes import BOOL, FLOAT64, dtype_of, is_float
from wengert.core.errors import DtypeError, message
from wengert.core.shapes import shape_of
from wengert.ir.types import is_weak, show
from wengert.numpy.creation import zeros_like
from wengert.numpy.registry import floating, floating_for, implements, is_box, refuse, strong
from wengert.numpy.shaping import read_only_view
from wengert.ops.arithmetic import floor_divide, multiply, positive, remainder, rint, trunc
from wengert.ops.comparison import equal, isinf, isnan, less, logical_and, signbit, where
from wengert.ops.conversion import cast
from wengert.ops.exponential import binary_exponent, ldexp, power
from wengert.ops.trigonometric import sin


def _scaled(*ufuncs: np.ufunc, factor: float) -> None:
    def scaled(x: Any, /) -> Any:
        return multiply(floating_for(ufuncs[0], operand(x)), factor)

    implements(*ufuncs)(scaled)


_scaled(np.deg2rad, np.radians, factor=np.pi / 180)
_scaled(np.rad2deg, np.degrees, factor=180 / np.pi)


@implements(np.conjugate)
def conjugate(x: Any, /) -> Any:
    """Return the value itself, which is real; truth values become integers, as in `np.conjugate`."""
    x = operand(x)
    return positive(x if dtype_of(x) != BOOL else cast(x, dtype=np.conjugate.resolve_dtypes((BOOL, None))[1]))


@implements(np.power)
def power_(x1: Any, x2: Any, /) -> Any:
    """Return ``x1^x2``, as `np.power`; of truth values NumPy's function makes other integers than its operator."""
    return power(x1, x2) if dtype_of(x1) == BOOL and not is_weak(x1) else power_of(x1, x2)


@implements(np.divmod)
def divmod_(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """Return the floored quotient and the remainder, as `np.divmod`."""
    return floor_divide(x1, x2), remainder(x1, x2)


@implements(np.modf)
def modf(x: Any, /) -> tuple[Any, Any]:
    """Return the fractional and the integral part, as `np.modf`."""
    x = floating_for(np.modf, operand(x))
    whole = trunc(x)
    numbers, wholes = (where(isinf(x), 0.0, each) for each in (x, whole))
    # The rest of a negative number is none above zero: its zero is negative.
    return where(signbit(x), -(-numbers - -wholes), numbers - wholes), whole


@implements(np.frexp)
def frexp(x: Any, /) -> tuple[Any, Any]:
    """Return m and the integer e of ``x = m 2^e`` with ``1/2 <= |m| < 1``, as `np.frexp`; no derivative passes to e."""
    x = floating_for(np.frexp, operand(x))
    exponent = binary_exponent(x)
    return ldexp(x, -exponent), exponent


@implements(np.float_power)
def float_power(x1: Any, x2: Any, /) -> Any:
    """Return ``x1^x2`` in double precision, as `np.float_power`."""
    return power(strong(operand(x1), FLOAT64), strong(operand(x2), FLOAT64))


# -- rounding and special values -------------------------------------------------------------------------


@implements(np.round, np.around)
def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Round to decimals, ties to even, as `np.round`; no derivative passes."""
    refuse("np.round", out)
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


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    """Round towards zero, as `np.fix`; no derivative passes."""
    refuse("np.fix", out)
    return strong(trunc(operand(x)))


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Put numbers in place of NaN and infinities, as `np.nan_to_num`; no derivative passes where it does."""
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


@implements(np.real)
def real(val: Any) -> Any:
    """Return the value itself: it is real."""
    return val


@implements(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Any:
    """Return the value itself: it is real."""
    return a


@implements(np.imag)
def imag(val: Any) -> Any:
    """Return zeros that cannot be written to: the value is real."""
    zeros = zeros_like(val)
    return read_only_view(zeros, zeros, lambda base: base)


@implements(np.isposinf)
def isposinf(x: Any, out: Any = None) -> Any:
    """Tell which elements are plus infinity, as `np.isposinf`."""
    refuse("np.isposinf", out)
    return equal(x, np.inf)


@implements(np.isneginf)
def isneginf(x: Any, out: Any = None) -> Any:
    """Tell which elements are minus infinity, as `np.isneginf`."""
    refuse("np.isneginf", out)
    return logical_and(isinf(x), signbit(x))


@implements(np.isreal)
def isreal(x: Any) -> Any:
    """Tell which elements are real: all."""
    return np.ones(shape_of(x), dtype=bool)


@implements(np.iscomplex)
def iscomplex(x: Any) -> Any:
    """Tell which elements are complex: none."""
    return np.zeros(shape_of(x), dtype=bool)


_SERIES = [(-1.0) ** k / float(np.prod(np.arange(1.0, 2 * k + 2))) for k in range(11)]


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """Return ``sin(pi x) / (pi x)``, 1 at 0, as `np.sinc`; derivatives of every order are exact at 0.

    Near 0 it is the Taylor series of sin z / z, in z^2.
    """
    z = floating(operand(x)) * np.pi
    near = less(np.abs(z), 1.0)
    square = where(near, z, 0.0) ** 2
    series = reduce(
        lambda total, coefficient: total * square + coefficient, reversed(_SERIES[:-1]), _SERIES[-1]
    )
    away = where(near, 1.0, z)
    return strong(where(near, series, sin(away) / away), dtype_of(z))


# -- comparison of arrays --------------------------------------------------------------------------------


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Tell which elements are close, ``|a - b| <= atol + rtol |b|``, as `np.isclose`."""
    a, b = floating(operand(a)), floating(operand(b))
    finite = np.isfinite(b)
    difference = np.abs(where(finite, a, 0.0) - where(finite, b, 0.0))
    close = np.logical_and(finite, difference <= atol + rtol * np.abs(where(finite, b, 0.0)))
    close = np.logical_or(close, equal(a, b))
    return np.logical_or(close, np.logical_and(isnan(a), isnan(b))) if equal_nan else close


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Tell whether all elements are close, as `np.allclose`."""
    result = np.all(isclose(a, b, rtol, atol, equal_nan))
    return result if is_box(result) else bool(result)


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Tell whether shapes and all elements are equal, as `np.array_equal`."""
    a1, a2 = operand(a1), operand(a2)
    if shape_of(a1) != shape_of(a2):
        return False
    same = equal(a1, a2)
    if equal_nan and is_float(dtype_of(a1)) and is_float(dtype_of(a2)):
        same = np.logical_or(same, np.logical_and(isnan(a1), isnan(a2)))
    result = np.all(same)
    return result if is_box(result) else bool(result)


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    """Tell whether all elements are equal after broadcasting, as `np.array_equiv`."""
    a1, a2 = operand(a1), operand(a2)
    try:
        np.broadcast_shapes(shape_of(a1), shape_of(a2))
    except ValueError:
        return False
    result = np.all(equal(a1, a2))
    return result if is_box(result) else bool(result)
