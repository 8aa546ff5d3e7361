"""Exponentials, logarithms, roots and general powers."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import BOOL, INT64, NUMPY_SCALAR, Dtype, dtype_of
from wengert.engine.core.errors import DtypeError, message
from wengert.engine.ir.types import TensorType, show
from wengert.engine.kernels import special as kernels
from wengert.engine.nest.expression import Apply, Expression, zero
from wengert.engine.nest.lowering import Elementwise
from wengert.engine.ops.arithmetic import square
from wengert.engine.ops.comparison import equal, isinf, less, logical_and, where
from wengert.engine.ops.complex import real
from wengert.engine.ops.elementwise import elementwise, of_real, operator_evaluation, ufunc_inputs, ufunc_type
from wengert.engine.primitive import Draw, Linear, NonDifferentiable

_POSITIVE = (0.3, 3.0)
_FROM_0: dict[str, Any] = {"domain": _POSITIVE, "singular": [(0.0,)]}

exp = elementwise("exp", np.exp, lambda out, x: out, doc="e^x")
exp2 = elementwise("exp2", np.exp2, lambda out, x: math.log(2) * out, doc="2^x")
expm1 = elementwise("expm1", np.expm1, lambda out, x: exp(x), doc="e^x - 1, exact near 0")
log = elementwise("log", np.log, lambda out, x: 1 / x, doc="ln x", **_FROM_0)
log2 = elementwise("log2", np.log2, lambda out, x: 1 / (math.log(2) * x), doc="log to base 2", **_FROM_0)
log10 = elementwise("log10", np.log10, lambda out, x: 1 / (math.log(10) * x), doc="log to base 10", **_FROM_0)
log1p = elementwise(
    "log1p",
    np.log1p,
    lambda out, x: 1 / (1 + x),
    doc="ln(1 + x), exact near 0",
    domain=(-0.7, 2.0),
    singular=[(-1.0,)],
)
sqrt = elementwise(
    "sqrt", np.sqrt, lambda out, x: 0.5 / out, doc="the square root; its slope at 0 is infinite", **_FROM_0
)
cbrt = elementwise(
    "cbrt", np.cbrt, lambda out, x: square(1 / out) / 3, doc="the cube root; infinite slope at 0", **_FROM_0
)


def _base_partial(out: Any, x: Any, y: Any) -> Any:
    """Return y x^(y-1), and 0 at x = y = 0, because x^0 is constant."""
    if isinstance(y, NUMPY_SCALAR) and y != 0:
        return y * power(x, y - 1.0)
    origin = logical_and(equal(x, 0), equal(y, 0))
    return where(origin, 0.0, y * power(x, where(origin, 1.0, y - 1.0)))


def _exponent_partial(out: Any, x: Any, y: Any) -> Any:
    """Return x^y ln x, and 0 at x = 0: the limit for y > 0, and the choice at 0^0."""
    return out * log(where(equal(x, 0), 1.0, x))


_by_operator = operator_evaluation(np.power, operator.pow)


def _checked_exponent(operands: Sequence[Expression], location: str) -> Sequence[Expression]:
    """Require of the exponent of integers that it is not negative."""
    x, y = operands
    if y.dtype.kind != "i":
        return operands
    holds = Apply("greater_equal", (y, zero(y.dtype)), BOOL)
    requirement = "power: integers to negative integer powers are not allowed"
    return x, Apply("fitting", (y, holds), y.dtype, location=location, requirement=requirement)


def _unchecked_exponent(counts: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Return the operands with the exponent 0, which is allowed, for examples that do not count."""
    is_checked = dtype_of(x).kind in "iub" and dtype_of(y).kind == "i"
    return x, where(counts, y, 0) if is_checked else y


power = elementwise(
    "power",
    np.power,
    _base_partial,
    _exponent_partial,
    doc="x^y; at x = 0 the derivative in y is 0, at y = 0 the derivative in x is 0",
    domain=(_POSITIVE, (-2.0, 2.0)),
    singular=[(0.0, 0.5), (0.0, -1.0), (-2.0, 3.0)],
    kinks=[(0.0, 0.0)],
    source="{0} ** {1}",
    evaluate=lambda x, y: np.power(x, y) if getattr(x, "dtype", None) == BOOL else _by_operator(x, y),
    lowering=Elementwise("power", ufunc_inputs(np.power), checked=_checked_exponent),
    unchecked=_unchecked_exponent,
)


# The slopes of the logistic function and of tanh are computed from the argument: in a formula of the result, 1 - out
# cancels where out is nearly 1. Each function is computed from the same exponential as its slope.
expit_slope = elementwise(
    "expit_slope",
    kernels.expit_slope,
    lambda out, x: -out * tanh(0.5 * x),
    doc="e^-x / (1 + e^-x)^2, the derivative of expit",
    source="np.square(0.5 / np.cosh(0.5 * {0}))",
)
expit = elementwise("expit", kernels.expit, lambda out, x: expit_slope(x), at_once=True)
tanh_slope = elementwise(
    "tanh_slope",
    kernels.tanh_slope,
    lambda out, x: -2 * (out * tanh(x)),
    doc="1 / cosh^2 x, the derivative of tanh",
    source="np.square(1 / np.cosh({0}))",
)


def _tanh_partial(out: Any, x: Any) -> Any:
    if dtype_of(x).kind != "c":
        return tanh_slope.apply((x,), {})
    decay = exp(-2 * where(less(real(x), 0), -x, x))  # 1 / cosh^2 is even
    return 4 * decay / square(1 + decay)


tanh = elementwise("tanh", np.tanh, _tanh_partial, doc="sinh x / cosh x", at_once=True)


def _difference(x: Any, y: Any) -> Any:
    """Return x - y, and 0 where both are the same infinity."""
    return where(logical_and(isinf(x), equal(x, y)), 0.0, x - y)


def _binary_share(x: Any, y: Any) -> Any:
    """Return 2^x / (2^x + 2^y)."""
    return 1 / (1 + exp2(_difference(y, x)))


logaddexp = elementwise(
    "logaddexp",
    np.logaddexp,
    lambda out, x, y: expit(_difference(x, y)),
    lambda out, x, y: expit(_difference(y, x)),
    doc="ln(e^x + e^y), without overflow",
)
logaddexp2 = elementwise(
    "logaddexp2",
    np.logaddexp2,
    lambda out, x, y: _binary_share(x, y),
    lambda out, x, y: _binary_share(y, x),
    doc="log2(2^x + 2^y), without overflow",
)


# -- the binary representation ---------------------------------------------------------------------------


def _ldexp_type(x: TensorType, exponent: TensorType) -> TensorType:
    if exponent.dtype.kind == "f":
        raise DtypeError(message("ldexp", "the exponent must be an integer", show(x, exponent)))
    return ufunc_type("ldexp", np.ldexp)(x, exponent)


def _ldexp_samples(draw: Draw) -> Any:
    x, exponent = draw.broadcastable(2)
    return (draw.array(x), draw.integers(exponent, -3, 3)), {}


def _frexp_dtypes(dtype: Dtype) -> Sequence[Dtype]:
    """Return the dtypes of the operand of NumPy's function, of the significand and of the exponent."""
    return np.frexp.resolve_dtypes((dtype, None, None))


def _exponent_of(x: Any) -> Any:
    return np.frexp(x)[1]


ldexp = elementwise(
    "ldexp",
    np.ldexp,
    doc="x 2^e for an integer e, rounded once: exact unless the result is subnormal or infinite",
    derivative=Linear(lambda cotangent, x, exponent: ldexp(cotangent, exponent), None),
    type_rule=_ldexp_type,
    lowering=Elementwise("ldexp", lambda types, result: (result.dtype, INT64)),
    samples=_ldexp_samples,
)

binary_exponent = elementwise(
    "binary_exponent",
    _exponent_of,
    evaluate=of_real("binary_exponent", _exponent_of),
    doc="the integer e of x = m 2^e with 1/2 <= |m| < 1; 0 of 0, infinities and NaN",
    derivative=NonDifferentiable("it is constant between its jumps"),
    operands=1,
    type_rule=of_real("binary_exponent", lambda x: TensorType(_frexp_dtypes(x.dtype)[2], x.shape)),
    lowering=Elementwise("binary_exponent", lambda types, result: _frexp_dtypes(types[0].dtype)[:1]),
    source="np.frexp({0})[1]",
)
