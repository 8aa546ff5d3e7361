"""Exponentials, logarithms, roots and general powers."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from wengert.dtypes import BOOL, NUMPY_SCALAR
from wengert.kernels import special as kernels
from wengert.ops.arithmetic import square
from wengert.ops.comparison import equal, isinf, logical_and, where
from wengert.ops.elementwise import elementwise, operator_evaluation

_POSITIVE = (0.3, 3.0)

exp = elementwise("exp", np.exp, lambda out, x: out, doc="e^x")
exp2 = elementwise("exp2", np.exp2, lambda out, x: math.log(2) * out, doc="2^x")
expm1 = elementwise("expm1", np.expm1, lambda out, x: out + 1, doc="e^x - 1, exact near 0")
log = elementwise("log", np.log, lambda out, x: 1 / x, doc="ln x", domain=_POSITIVE, singular=True)
log2 = elementwise(
    "log2",
    np.log2,
    lambda out, x: 1 / (math.log(2) * x),
    doc="log to base 2",
    domain=_POSITIVE,
    singular=True,
)
log10 = elementwise(
    "log10",
    np.log10,
    lambda out, x: 1 / (math.log(10) * x),
    doc="log to base 10",
    domain=_POSITIVE,
    singular=True,
)
log1p = elementwise(
    "log1p",
    np.log1p,
    lambda out, x: 1 / (1 + x),
    doc="ln(1 + x), exact near 0",
    domain=(-0.7, 2.0),
    singular=True,
)
sqrt = elementwise(
    "sqrt",
    np.sqrt,
    lambda out, x: 0.5 / out,
    doc="the square root; the derivative at 0 is infinite",
    domain=_POSITIVE,
    singular=True,
)
cbrt = elementwise(
    "cbrt",
    np.cbrt,
    lambda out, x: square(1 / out) / 3,
    doc="the cube root; the derivative at 0 is infinite",
    domain=_POSITIVE,
    singular=True,
)


def _base_partial(out: Any, x: Any, y: Any) -> Any:
    """Return y x^(y-1), and 0 at x = y = 0: x^0 is constant, also there."""
    if isinstance(y, NUMPY_SCALAR) and y != 0:
        return y * power(x, y - 1.0)
    origin = logical_and(equal(x, 0), equal(y, 0))
    return where(origin, 0.0, y * power(where(origin, 1.0, x), y - 1.0))


def _exponent_partial(out: Any, x: Any, y: Any) -> Any:
    """Return x^y ln x, and 0 where x = 0: the limit for y > 0, and the choice at 0^0."""
    return out * log(where(equal(x, 0), 1.0, x))


_by_operator = operator_evaluation(np.power, operator.pow)


def _power(x: Any, y: Any) -> Any:
    return np.power(x, y) if getattr(x, "dtype", None) == BOOL else _by_operator(x, y)


power = elementwise(
    "power",
    np.power,
    _base_partial,
    _exponent_partial,
    doc="x^y; at x = 0 the derivative in y is 0, at y = 0 the derivative in x is 0",
    domain=(_POSITIVE, (-2.0, 2.0)),
    singular=True,
    source="{0} ** {1}",
    evaluate=_power,
)


expit = elementwise(
    "expit", kernels.expit, lambda out, x: out * (1 - out), doc="1 / (1 + e^-x), the logistic function"
)


def _share(x: Any, y: Any, unit: float = 1.0) -> Any:
    """Return e^(unit x) / (e^(unit x) + e^(unit y)), with 1/2 where both are the same infinity."""
    same_infinity = logical_and(isinf(x), equal(x, y))
    return expit(unit * where(same_infinity, 0.0, x - y))


logaddexp = elementwise(
    "logaddexp",
    np.logaddexp,
    lambda out, x, y: _share(x, y),
    lambda out, x, y: _share(y, x),
    doc="ln(e^x + e^y), without overflow",
)
logaddexp2 = elementwise(
    "logaddexp2",
    np.logaddexp2,
    lambda out, x, y: _share(x, y, math.log(2)),
    lambda out, x, y: _share(y, x, math.log(2)),
    doc="log2(2^x + 2^y), without overflow",
)
