"""Arithmetic: sums, products, quotients, powers with a constant exponent, extrema, rounding."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import BOOL, DEFAULT_DTYPE, INT64, NUMPY_SCALAR, dtype_of, is_complex
from wengert.engine.core.shapes import broadcast
from wengert.engine.ir.types import TensorType
from wengert.engine.kernels import elementwise as kernels
from wengert.engine.kernels.elementwise import strong_product
from wengert.engine.nest.lowering import Elementwise, check_integers
from wengert.engine.ops.comparison import equal, isnan, less, signbit, where
from wengert.engine.ops.complex import conjugate, imag, real
from wengert.engine.ops.conversion import cast, stop_gradient_primitive
from wengert.engine.ops.elementwise import (
    elementwise,
    evaluation,
    locally_constant,
    of_real,
    same_type,
    ufunc_type,
)
from wengert.engine.ops.kinks import slope_at
from wengert.engine.primitive import Linear, NonDifferentiable, Primitive

_POSITIVE_SECOND = ((-2.0, 2.0), (0.5, 2.0))

add = elementwise("add", np.add, 1.0, 1.0, doc="x + y", source="{0} + {1}", operator=operator.add)
subtract = elementwise(
    "subtract", np.subtract, 1.0, -1.0, doc="x - y", source="{0} - {1}", operator=operator.sub
)
multiply = elementwise(
    "multiply",
    np.multiply,
    lambda out, x, y: y,
    lambda out, x, y: x,
    doc="x y",
    source="{0} * {1}",
    operator=operator.mul,
)
negative = elementwise("negative", np.negative, -1.0, doc="-x", source="-{0}")
positive = elementwise("positive", np.positive, 1.0, doc="x", source="+{0}")


def _multiply_no_nan(x: Any, y: Any) -> Any:
    with np.errstate(invalid="ignore"):
        product = strong_product(x, y)
    is_weak = isinstance(product, NUMPY_SCALAR) and type(x) in DEFAULT_DTYPE and type(y) in DEFAULT_DTYPE
    return product.item() if is_weak else product


multiply_no_nan = elementwise(
    "multiply_no_nan",
    strong_product,
    doc="x y, but 0 where either is 0, even if the other is not finite: 0 inf = 0, 0 nan = 0",
    derivative=Linear(
        lambda cotangent, x, y: multiply_no_nan(cotangent, y),
        lambda cotangent, x, y: multiply_no_nan(x, cotangent),
        jointly=False,
    ),
    evaluate=_multiply_no_nan,
    source="np.where((({0} == 0) | ({1} == 0)) & np.isnan({0} * {1}), 0, {0} * {1})",
    type_rule=same_type("multiply_no_nan"),
    operands=2,
)
divide = elementwise(
    "divide",
    np.divide,
    lambda out, x, y: divide(1, y),
    lambda out, x, y: negative(divide(out, y)),
    doc="x / y",
    domain=_POSITIVE_SECOND,
    singular=[(1.0, 0.0), (0.0, 0.0)],
    source="{0} / {1}",
    operator=operator.truediv,
)
reciprocal = elementwise(
    "reciprocal", np.reciprocal, lambda out, x: -out * out, doc="1 / x", domain=(0.5, 2.0), singular=[(0.0,)]
)
square = elementwise("square", np.square, lambda out, x: 2 * x, doc="x^2")


def _signed(keep: Any, like: Any) -> Any:
    return cast(keep, dtype=dtype_of(like))


def _absolute_partial(out: Any, x: Any) -> Any:
    """Return the sign of a real x; of a complex one conj(x) / |x|, whose product with a tangent has the real part."""
    if not is_complex(dtype_of(x)):
        return slope_at("abs", sign(x), x)
    at_origin = equal(out, 0)
    return slope_at("abs", where(at_origin, 0.0, conjugate(x)) / where(at_origin, 1.0, out), out)


absolute = elementwise(
    "absolute",
    np.absolute,
    _absolute_partial,
    doc="|x|; the derivative at 0 is 0 (the subgradient of least norm)",
    kinks=[(0.0,)],
)


def size_to_compare(x: Any) -> Any:
    """Return ``|x|`` for a comparison: it passes no derivative, so its kink decides none."""
    return absolute(stop_gradient_primitive(x))


def smooth_magnitude(x: Any, p: Any) -> Any:
    """Return ``|x|`` to raise to the power p: as x for an even p, and for p > 2 as ``x sign(x)``.

    So ``|x|^p`` has all derivatives at 0 for an even p, and the first two for p > 2.
    """
    if not isinstance(p, float | int) or is_complex(dtype_of(x)):
        return absolute(x)
    return x if is_even(p) else x * sign(x) if p > 2 else absolute(x)


def is_even(p: Any) -> bool:
    """Return whether a power is a positive even number, so that it needs no magnitude."""
    return isinstance(p, float | int) and p > 0 and p % 2 == 0


def squared_magnitude(x: Any) -> Any:
    """Return ``|x|^2``, without a square root, and so without a kink at 0."""
    return square(real(x)) + square(imag(x)) if is_complex(dtype_of(x)) else x * x


fabs = elementwise(
    "fabs",
    np.fabs,
    lambda out, x: slope_at("fabs", sign(x), x),
    doc="|x| as a float; the derivative at 0 is 0",
    kinks=[(0.0,)],
)
_DIRECTION = "divide by np.abs(x)"
sign = locally_constant(
    "sign",
    np.sign,
    "-1, 0 or 1 of a real number",
    "it is constant on both sides of zero",
    type_rule=of_real("sign", ufunc_type("sign", np.sign), _DIRECTION),
    evaluate=of_real("sign", evaluation(np.sign), _DIRECTION),
)
copysign = elementwise(
    "copysign",
    np.copysign,
    lambda out, x, y: sign(x) * (1 - 2 * _signed(signbit(y), out)),
    None,
    doc="|x| with the sign of y; the derivative at x = 0 is 0, as for |x|",
    domain=_POSITIVE_SECOND,
    kinks=[(0.0, 1.0), (0.0, -1.0), (1.0, 0.0)],
)


def _winner(out: Any, mine: Any, rival: Any) -> Any:
    number = dtype_of(out).type
    return where(equal(mine, out), where(equal(rival, out), number(0.5), number(1.0)), number(0.0))


def _share_type(out: TensorType, mine: TensorType, rival: TensorType) -> TensorType:
    shape = broadcast("extremum_share", out.shape, mine.shape, rival.shape)
    return TensorType(out.dtype, shape, out.weak and mine.weak and rival.weak)


extremum_share = elementwise(
    "extremum_share",
    kernels.extremum_share,
    doc="1 where the extremum ``out`` is ``mine``, 1/2 where it is ``other`` as well (the mean of both sides), else 0",
    derivative=NonDifferentiable("it is constant between its jumps"),
    operands=3,
    type_rule=_share_type,
    lowering=Elementwise(
        "extremum_share", lambda types, result: [operand.dtype for operand in types], program=_winner
    ),
    source="np.where({1} == {0}, np.where({2} == {0}, 0.5, 1.0), 0.0).astype(np.result_type({0}))",
)


def _extremum(name: str, ufunc: np.ufunc, doc: str) -> Primitive:
    return elementwise(
        name,
        ufunc,
        lambda out, x, y: slope_at(name, extremum_share(out, x, y), x - y),
        lambda out, x, y: slope_at(name, extremum_share(out, y, x), x - y),
        doc=f"{doc}; each operand gets half of the derivative at a tie",
        kinks=[(1.0, 1.0), (0.0, 0.0)],
    )


maximum = _extremum("maximum", np.maximum, "max(x, y), NaN if either is NaN")
minimum = _extremum("minimum", np.minimum, "min(x, y), NaN if either is NaN")
fmax = _extremum("fmax", np.fmax, "max(x, y), the other operand where one is NaN")
fmin = _extremum("fmin", np.fmin, "min(x, y), the other operand where one is NaN")

_STEP = "it is constant between its jumps"
floor = locally_constant("floor", np.floor, "the largest integer <= x", _STEP)
ceil = locally_constant("ceil", np.ceil, "the smallest integer >= x", _STEP)
trunc = locally_constant("trunc", np.trunc, "x rounded towards zero", _STEP)
rint = locally_constant("rint", np.rint, "x rounded to the nearest integer, ties to even", _STEP)
floor_divide = locally_constant(
    "floor_divide", np.floor_divide, "floor(x / y)", _STEP, source="{0} // {1}", domain=_POSITIVE_SECOND
)
remainder = elementwise(
    "remainder",
    np.remainder,
    1.0,
    lambda out, x, y: -floor_divide(x, y),
    doc="x - y floor(x / y), with the sign of y; the derivative at a jump is that of its neighbourhood",
    singular=[(1.0, 0.0)],
    kinks=[(0.0, 1.0), (4.0, 2.0)],
    domain=_POSITIVE_SECOND,
    source="{0} % {1}",
)
fmod = elementwise(
    "fmod",
    np.fmod,
    1.0,
    lambda out, x, y: -trunc(x / y),
    doc="x - y trunc(x / y), with the sign of x; the derivative at a jump is that of its neighbourhood",
    singular=[(1.0, 0.0)],
    kinks=[(4.0, 2.0)],
    domain=_POSITIVE_SECOND,
)


def _heaviside(x: Any, y: Any) -> Any:
    number = dtype_of(y).type
    return where(equal(x, 0), y, where(less(x, 0), number(0), where(isnan(x), x, number(1))))


heaviside = elementwise(
    "heaviside",
    np.heaviside,
    None,
    lambda out, x, y: _signed(equal(x, 0), out),
    native=_heaviside,
    doc="0 below zero, y at zero, 1 above; the derivative in x is 0 everywhere",
    kinks=[(0.0, 0.5)],
)


def _integer_power_type(x: TensorType, exponent: int) -> TensorType:
    if not x.weak:
        check_integers("power", [exponent], [x.dtype])
    if exponent == 2 and x.dtype == BOOL and not x.weak:  # NumPy squares truth values as bytes
        return x._replace(dtype=np.square.resolve_dtypes((BOOL, None))[-1])
    exponent_type = x if exponent == 2 and not x.weak else TensorType(INT64, (), True)
    return same_type("integer_power")(x, exponent_type)._replace(weak=x.weak)


def _integer_power(x: Any, exponent: int) -> Any:
    if exponent == 2:
        return np.square(x) if dtype_of(x) == BOOL and not isinstance(x, bool) else x * x
    is_python_float = isinstance(x, (float, complex)) and not isinstance(x, np.inexact)
    return np.power(x, exponent).item() if is_python_float else x**exponent


def _integer_power_partial(out: Any, x: Any, exponent: int) -> Any:
    if exponent in (0, 1):
        return dtype_of(out).type(exponent)
    return exponent * integer_power(x, exponent=exponent - 1)


integer_power = elementwise(
    "integer_power",
    _integer_power,
    _integer_power_partial,
    doc="x^n for a constant integer n; the derivative is n x^(n-1), finite at 0 for n >= 1, and 0 for n = 0",
    domain=(0.5, 2.0),
    singular=[(0.0,)],
    params={"exponent": 3},
    source="{0} ** {exponent}",
    type_rule=_integer_power_type,
    lowering=Elementwise("integer_power", param="exponent"),
)
