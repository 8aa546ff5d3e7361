"""Operations on complex numbers as operations on their real and imaginary parts.

`Parts` is a complex value. A part that is None is zero for certain, so that a real operand and ``1j * x`` cost nothing.
Where a result would be 0 times infinity because of such a part, it is 0, as in Annex G of the C standard.

Sources: Kahan, "Branch cuts for complex elementary functions, or much ado about nothing's sign bit" (1987); Smith,
"Algorithm 116: Complex division" (1962).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops import arithmetic, comparison, reduction
from wengert.engine.ops.arithmetic import absolute, copysign, multiply_no_nan
from wengert.engine.ops.comparison import (
    equal,
    greater,
    greater_equal,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_or,
    where,
)
from wengert.engine.ops.exponential import exp, expm1, log, log1p, sqrt
from wengert.engine.ops.shape import concatenate, slice_, whole
from wengert.engine.ops.trigonometric import arcsinh, arctan2, cos, cosh, hypot, sin, sinh, tan

_LN2, _LN10 = math.log(2), math.log(10)
#: The magnitude of the real part from which tanh is +-1 to the last digit.
_SATURATED = 22.0


class Parts(NamedTuple):
    """A complex value; None stands for a part that is zero."""

    re: Any
    im: Any


#: The operation on parts that stands for each elementwise primitive: ``(*operands, **params) -> Parts, or a value``.
OF_PARTS: dict[str, Callable[..., Any]] = {}


def _states(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        OF_PARTS.update(dict.fromkeys(names, function))
        return function

    return enter


def both(z: Parts) -> tuple[Any, Any]:
    """Return the parts of a value, the number 0 for a zero one."""
    return 0.0 if z.re is None else z.re, 0.0 if z.im is None else z.im


def _plus(x: Any, y: Any) -> Any:
    return y if x is None else x if y is None else x + y


def _minus(x: Any, y: Any) -> Any:
    return x if y is None else -y if x is None else x - y


def _times(x: Any, y: Any) -> Any:
    return None if x is None or y is None else x * y


def _negated(x: Any) -> Any:
    return None if x is None else -x


# -- arithmetic ------------------------------------------------------------------------------------------


@_states("multiply")
def product(x: Parts, y: Parts) -> Parts:
    """Return ``(ac - bd) + i (ad + bc)``."""
    re = _minus(_times(x.re, y.re), _times(x.im, y.im))
    return Parts(re, _plus(_times(x.re, y.im), _times(x.im, y.re)))


@_states("divide")
def _divide(x: Parts, y: Parts) -> Parts:
    """Divide by the larger part first, so that nothing overflows before the result does (Smith)."""
    if y.im is None:
        return Parts(*(None if part is None else part / y.re for part in x))
    if y.re is None:
        return Parts(None if x.im is None else x.im / y.im, None if x.re is None else -(x.re / y.im))
    by_real = greater_equal(absolute(y.re), absolute(y.im))
    large, small = where(by_real, y.re, y.im), where(by_real, y.im, y.re)
    is_zero = logical_and(by_real, equal(large, 0))  # both parts; a NaN is not by the real one
    ratio = where(is_zero, 0.0, small / where(is_zero, 1.0, large))
    scale = arithmetic.divide(1, where(is_zero, absolute(large), large + small * ratio))
    a, b = both(x)
    re = where(is_zero, a, where(by_real, a + b * ratio, a * ratio + b))
    return Parts(re * scale, where(is_zero, b, where(by_real, b - a * ratio, b * ratio - a)) * scale)


@_states("reciprocal")
def _reciprocal(z: Parts) -> Parts:
    """Divide 1 as NumPy does, without a case for zero."""
    if z.re is None or z.im is None:
        return _divide(Parts(1.0, None), z)
    by_real = less_equal(absolute(z.im), absolute(z.re))
    large, small = where(by_real, z.re, z.im), where(by_real, z.im, z.re)
    ratio = small / large
    divisor = large + small * ratio
    return Parts(where(by_real, 1.0, ratio) / divisor, -where(by_real, ratio, 1.0) / divisor)


@_states("integer_power")
def _integer_power(z: Parts, exponent: int) -> Parts:
    """Multiply powers by squaring, as NumPy does."""
    if abs(exponent) >= 100:
        return _power(z, Parts(float(exponent), None))
    result, power, left = None, z, abs(exponent)
    while left:
        if left & 1:
            result = power if result is None else product(result, power)
        left >>= 1
        if left:
            power = product(power, power)
    if result is None:
        a, _ = both(z)
        return Parts(a * 0 + 1, None) if not shape_of(a) else Parts(np.ones(shape_of(a), dtype_of(a)), None)
    return result if exponent > 0 else _reciprocal(result)


@_states("power")
def _power(x: Parts, y: Parts) -> Parts:
    """Return ``e^(y ln x)``; 1 for y = 0, x for y = 1, and of x = 0 the limit: 0, and NaN where Re y < 0."""
    is_zero = _is_zero(x)
    a, b = both(x)
    result = _exp(product(y, _log(Parts(where(is_zero, 1.0, a), where(is_zero, 0.0, b)))))
    c, _ = both(y)
    is_one, is_same = _is_zero(y), _equal(y, Parts(1.0, None))  # whatever x
    at_zero = where(greater(c, 0), 0.0, np.nan)
    re, im = (where(is_zero, at_zero, part) for part in both(result))
    re, im = where(is_same, a, re), where(is_same, b, im)
    return Parts(where(is_one, 1.0, re), where(is_one, 0.0, im))


@_states("multiply_no_nan")
def _multiply_no_nan(x: Parts, y: Parts) -> Parts:
    def times(a: Any, b: Any) -> Any:
        return None if a is None or b is None else multiply_no_nan(a, b)

    return Parts(_minus(times(x.re, y.re), times(x.im, y.im)), _plus(times(x.re, y.im), times(x.im, y.re)))


# -- parts, comparison, logic ----------------------------------------------------------------------------


@_states("absolute")
def _absolute(z: Parts) -> Any:
    if z.re is None or z.im is None:
        return absolute(z.im if z.re is None else z.re)
    return hypot(z.re, z.im)


def _is_zero(z: Parts) -> Any:
    tests = [equal(part, 0) for part in z if part is not None]
    return functools.reduce(logical_and, tests)


@_states("equal")
def _equal(x: Parts, y: Parts) -> Any:
    (a, b), (c, d) = both(x), both(y)
    return logical_and(equal(a, c), equal(b, d))


def _ordered(strict: Any, last: Any) -> Callable[[Parts, Parts], Any]:
    """Return the order by real parts, and by imaginary parts where these are equal."""

    def compare(x: Parts, y: Parts) -> Any:
        (a, b), (c, d) = both(x), both(y)
        ordered = logical_and(equal(b, b), equal(d, d))  # NumPy compares nothing with a NaN
        return logical_or(logical_and(strict(a, c), ordered), logical_and(equal(a, c), last(b, d)))

    return compare


OF_PARTS["less"] = _ordered(less, less)
OF_PARTS["less_equal"] = _ordered(less, less_equal)
OF_PARTS["greater"] = _ordered(greater, greater)
OF_PARTS["greater_equal"] = _ordered(greater, greater_equal)


def _extremum(order: str, of_first: bool) -> Callable[[Parts, Parts], Parts]:
    def choose(x: Parts, y: Parts) -> Parts:
        takes = logical_or(OF_PARTS[order](x, y), _isnan(x if of_first else y))
        (a, b), (c, d) = both(x), both(y)
        return Parts(where(takes, a, c), where(takes, b, d))

    return choose


OF_PARTS["maximum"], OF_PARTS["minimum"] = _extremum("greater_equal", True), _extremum("less_equal", True)
OF_PARTS["fmax"], OF_PARTS["fmin"] = _extremum("greater_equal", False), _extremum("less_equal", False)


def _any_part(test: Any, combine: Any) -> Callable[[Parts], Any]:
    def tested(z: Parts) -> Any:
        return functools.reduce(combine, [test(part) for part in z if part is not None])

    return tested


_isnan = OF_PARTS["isnan"] = _any_part(isnan, logical_or)
_is_infinite = OF_PARTS["isinf"] = _any_part(isinf, logical_or)
OF_PARTS["isfinite"] = _any_part(comparison.isfinite, logical_and)


def _logic(operation: Any) -> Callable[..., Any]:
    return lambda *operands: operation(*(comparison.logical_not(_is_zero(z)) for z in operands))


for _name in ("logical_and", "logical_or", "logical_xor", "logical_not"):
    OF_PARTS[_name] = _logic(getattr(comparison, _name))


# -- exponentials and logarithms -------------------------------------------------------------------------


def polar(radius: Any, angle: Any) -> Parts:
    """Return ``r e^(i angle)``; a zero part of the direction stays zero for an infinite radius."""
    return Parts(multiply_no_nan(radius, cos(angle)), multiply_no_nan(radius, sin(angle)))


@_states("exp")
def _exp(z: Parts) -> Parts:
    if z.re is None:
        return Parts(cos(z.im), sin(z.im))
    return Parts(exp(z.re), None) if z.im is None else polar(exp(z.re), z.im)


@_states("exp2")
def _exp2(z: Parts) -> Parts:
    return _exp(Parts(*(None if part is None else part * _LN2 for part in z)))


@_states("expm1")
def _expm1(z: Parts) -> Parts:
    """Return ``(expm1 a cos b - 2 sin^2 b/2) + i e^a sin b``, which cancels nothing near 0."""
    a, b = both(z)
    half = sin(0.5 * b)
    return Parts(expm1(a) * cos(b) - 2 * (half * half), multiply_no_nan(exp(a), sin(b)))


@_states("log")
def _log(z: Parts) -> Parts:
    a, b = both(z)
    return Parts(_log_magnitude(a, b), arctan2(b, a))


def _log_magnitude(a: Any, b: Any) -> Any:
    """Return ``ln |a + i b|``; near the unit circle by ln(1 + x) of ``|z|^2 - 1 = (m - 1)(m + 1) + n^2``."""
    x, y = absolute(a), absolute(b)
    larger, smaller = arithmetic.maximum(x, y), arithmetic.minimum(x, y)
    is_near = logical_and(greater(larger, 0.5), less(larger, 2.0))
    m, n = where(is_near, larger, 1.0), where(is_near, smaller, 0.0)
    huge, tiny = _exponents(larger)
    scale, surplus = _scaling(larger, 1), _at_limits(larger, huge * _LN2, tiny * _LN2, 0.0)
    far = log(hypot(a * scale, b * scale)) - surplus
    return where(is_near, 0.5 * log1p((m - 1) * (m + 1) + n * n), far)


def _exponents(x: Any) -> tuple[int, int]:
    """Return the powers of 2 that bring huge and subnormal numbers of a dtype away from its limits."""
    return -8, -4 * (np.finfo(dtype_of(x)).minexp // 8)


def _at_limits(magnitude: Any, huge: float, tiny: float, usual: float) -> Any:
    """Return a number for huge magnitudes, one for tiny ones, and one for those between."""
    limits = np.finfo(dtype_of(magnitude))
    is_tiny = less(magnitude, 2.0 ** (limits.minexp + 64))
    return where(greater(magnitude, 2.0 ** (limits.maxexp - 4)), huge, where(is_tiny, tiny, usual))


def _scaling(magnitude: Any, divisor: int) -> Any:
    """Return the root of a power of 2 that brings a huge or a tiny magnitude away from the limits; 1 otherwise."""
    huge, tiny = _exponents(magnitude)
    return _at_limits(magnitude, 2.0 ** (huge // divisor), 2.0 ** (tiny // divisor), 1.0)


def _log_scaled(divisor: float) -> Callable[[Parts], Parts]:
    def logarithm(z: Parts) -> Parts:
        re, im = _log(z)
        return Parts(re / divisor, im / divisor)

    return logarithm


OF_PARTS["log2"], OF_PARTS["log10"] = _log_scaled(_LN2), _log_scaled(_LN10)


@_states("log1p")
def _log1p(z: Parts) -> Parts:
    a, b = both(z)
    is_small = less(arithmetic.maximum(absolute(a), absolute(b)), 0.5)
    m, n = where(is_small, a, 0.0), where(is_small, b, 0.0)
    near = 0.5 * log1p(m * (m + 2) + n * n)
    return Parts(where(is_small, near, _log_magnitude(1 + a, b)), arctan2(b, 1 + a))


@_states("sqrt")
def _sqrt(z: Parts) -> Parts:
    """Return the root with a real part that is not negative, and an imaginary part of the sign of b."""
    a, b = both(z)
    larger = arithmetic.maximum(absolute(a), absolute(b))
    scale, back = _scaling(larger, 1), _scaling(larger, -2)
    a, b = a * scale, b * scale
    half = sqrt(0.5 * absolute(a) + 0.5 * hypot(a, b))
    is_zero = equal(half, 0)
    second = absolute(b) / (2 * where(is_zero, 1.0, half))
    is_right = greater_equal(a, 0)
    far = isinf(b)  # infinite in the imaginary part: so is the root, in both
    re, im = where(is_right, half, second), where(is_right, second, half)
    return Parts(where(far, np.inf, re * back), copysign(where(far, np.inf, im * back), b))


# -- trigonometric and hyperbolic ------------------------------------------------------------------------


def turned(z: Parts) -> Parts:
    """Return ``i z``."""
    return Parts(_negated(z.im), z.re)


def turned_back(z: Parts) -> Parts:
    """Return ``-i z``."""
    return Parts(z.im, _negated(z.re))


@_states("sin")
def _sin(z: Parts) -> Parts:
    a, b = both(z)
    return Parts(multiply_no_nan(cosh(b), sin(a)), multiply_no_nan(sinh(b), cos(a)))


@_states("cos")
def _cos(z: Parts) -> Parts:
    a, b = both(z)
    return Parts(multiply_no_nan(cosh(b), cos(a)), -multiply_no_nan(sinh(b), sin(a)))


@_states("sinh")
def _sinh(z: Parts) -> Parts:
    a, b = both(z)
    return Parts(multiply_no_nan(sinh(a), cos(b)), multiply_no_nan(cosh(a), sin(b)))


@_states("cosh")
def _cosh(z: Parts) -> Parts:
    a, b = both(z)
    return Parts(multiply_no_nan(cosh(a), cos(b)), multiply_no_nan(sinh(a), sin(b)))


@_states("tanh")
def _tanh(z: Parts) -> Parts:
    """Return ``(q s r + i t) / (1 + q s^2)`` with t = tan b, q = 1 + t^2, s = sinh a, r = cosh a (Kahan).

    Of an infinite a it is +-1, whatever b.
    """
    a, b = both(z)
    is_far = greater(absolute(a), _SATURATED)
    near = where(is_far, 1.0, a)
    t, s = tan(b), sinh(near)
    q = 1 + t * t
    divisor = 1 + q * (s * s)
    decay = exp(-2 * absolute(a))
    unit = copysign(where(isinf(a), 1.0, 1.0 + (b - b)), a)
    re = where(is_far, unit, q * s * cosh(near) / divisor)
    return Parts(re, where(is_far, multiply_no_nan(4 * (sin(b) * cos(b)), decay), t / divisor))


def _roots(z: Parts) -> tuple[Parts, Parts]:
    """Return ``sqrt(1 - z)`` and ``sqrt(1 + z)``."""
    a, b = both(z)
    return _sqrt(Parts(1 - a, -b)), _sqrt(Parts(1 + a, b))


@_states("arcsin")
def _arcsin(z: Parts) -> Parts:
    a, b = both(z)
    (p, q), (r, s) = _roots(z)
    far = _is_infinite(z)
    re = arctan2(a, where(far, absolute(b), p * r - q * s))
    return Parts(re, where(far, copysign(np.inf, b), arcsinh(p * s - q * r)))


@_states("arccos")
def _arccos(z: Parts) -> Parts:
    a, b = both(z)
    (p, q), (r, s) = _roots(z)
    far = _is_infinite(z)
    re = where(far, arctan2(absolute(b), a), 2 * arctan2(p, r))
    return Parts(re, where(far, copysign(np.inf, -b), arcsinh(r * q - s * p)))


@_states("arccosh")
def _arccosh(z: Parts) -> Parts:
    a, b = both(z)
    (p, q), (r, s) = _sqrt(Parts(a - 1, b)), _sqrt(Parts(a + 1, b))
    far = _is_infinite(z)
    return Parts(where(far, np.inf, arcsinh(p * r + q * s)), where(far, arctan2(b, a), 2 * arctan2(q, r)))


@_states("arctanh")
def _arctanh(z: Parts) -> Parts:
    a, b = both(z)
    x, y = absolute(a), absolute(b)
    limit = 2.0 ** (np.finfo(dtype_of(x)).maxexp // 3)
    far = logical_or(greater(x, limit), greater(y, limit))  # where it is 1/z + i pi/2, to the last digit
    m, n = arithmetic.maximum(x, y), arithmetic.minimum(x, y)
    inverse = where(_is_infinite(z), 0.0, x / m / (m + n * (n / m)))
    x, a_near, b_near = (where(far, 0.0, value) for value in (x, a, b))
    distance = (1 - x) * (1 - x) + b_near * b_near
    at_end = logical_and(equal(x, 1), less(y, math.sqrt(np.finfo(dtype_of(x)).eps)))  # where y^2 is lost
    re = where(far, inverse, where(at_end, 0.5 * (_LN2 - log(y)), 0.25 * log1p(4 * x / distance)))
    angle = 0.5 * arctan2(2 * b_near, (1 - a_near) * (1 + a_near) - b_near * b_near)
    return Parts(copysign(re, a), where(far, copysign(math.pi / 2, b) + where(isinf(b), 0.0, n - n), angle))


# -- products over axes ----------------------------------------------------------------------------------


def _range(z: Parts, axis: int, start: int, count: int) -> Parts:
    """Return a range of a value along an axis."""

    def part(x: Any) -> Any:
        if x is None:
            return None
        index = whole(shape_of(x))
        index[axis] = (start, count, 1)
        return slice_(x, index=tuple(index))

    return Parts(*map(part, z))


def _joined(axis: int, *values: Parts) -> Parts:
    return Parts(*(concatenate(*parts, axis=axis) for parts in zip(*values, strict=True)))


def _filled(z: Parts) -> Parts:
    """Return a value whose parts are both arrays."""
    like = z.im if z.re is None else z.re
    zeros = np.zeros(shape_of(like), dtype_of(like))
    return Parts(*(zeros if part is None else part for part in z))


@_states("reduce_prod")
def _reduce_prod(z: Parts, axes: tuple[int, ...]) -> Parts:
    """Multiply halves, until one factor is left along each axis."""
    z = _filled(z)
    for axis in axes:
        count = shape_of(z.re)[axis]
        if not count:
            shape = tuple(1 if n == axis else extent for n, extent in enumerate(shape_of(z.re)))
            z = Parts(np.ones(shape, dtype_of(z.re)), np.zeros(shape, dtype_of(z.re)))
        while count > 1:
            half = count // 2
            unpaired = [_range(z, axis, 2 * half, 1)] if count % 2 else []
            z = product(_range(z, axis, 0, half), _range(z, axis, half, half))
            z = _joined(axis, z, *unpaired) if unpaired else z
            count = half + len(unpaired)
    return Parts(*(reduction.reduce_sum(part, axes=axes) for part in z))


@_states("cumprod")
def _cumprod(z: Parts, axis: int, reverse: bool) -> Parts:
    """Multiply with the product 1, 2, 4, ... places before (Hillis and Steele, 1986)."""
    z = _filled(z)
    count, step = shape_of(z.re)[axis], 1
    while step < count:
        if reverse:
            moved = product(_range(z, axis, 0, count - step), _range(z, axis, step, count - step))
            z = _joined(axis, moved, _range(z, axis, count - step, step))
        else:
            moved = product(_range(z, axis, step, count - step), _range(z, axis, 0, count - step))
            z = _joined(axis, _range(z, axis, 0, step), moved)
        step *= 2
    return z


# -- by other operations ---------------------------------------------------------------------------------

OF_PARTS.update(
    add=lambda x, y: Parts(_plus(x.re, y.re), _plus(x.im, y.im)),
    subtract=lambda x, y: Parts(_minus(x.re, y.re), _minus(x.im, y.im)),
    negative=lambda z: Parts(_negated(z.re), _negated(z.im)),
    positive=lambda z: z,
    stop_gradient=lambda z: z,
    conjugate=lambda z: Parts(z.re, _negated(z.im)),
    square=lambda z: product(z, z),
    real=lambda z: z.re,
    imag=lambda z: z.im,
    not_equal=lambda x, y: comparison.logical_not(_equal(x, y)),
    tan=lambda z: turned_back(_tanh(turned(z))),
    arcsinh=lambda z: turned_back(_arcsin(turned(z))),
    arctan=lambda z: turned_back(_arctanh(turned(z))),
)
