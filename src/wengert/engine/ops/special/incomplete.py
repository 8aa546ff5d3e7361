"""Derivatives of the incomplete gamma and beta functions in their parameters, of any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.kernels import incomplete as kernels
from wengert.engine.kernels import student
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.arithmetic import multiply_no_nan, sign
from wengert.engine.ops.comparison import less, where
from wengert.engine.ops.elementwise import elementwise
from wengert.engine.ops.exponential import exp, log, log1p
from wengert.engine.ops.special.densities import log_student_density, student_log_slope
from wengert.engine.ops.special.error_and_gamma import digamma, lgamma, polygamma
from wengert.engine.primitive import Explicit

_REASON = "a quadrature computes it"


def _psi(order: int, x: Any) -> Any:
    return polygamma(x, order=order) if order else digamma(x)


def _tangent(*partials: Callable[..., Any]) -> Explicit:
    """Return the derivative from partials that are infinite at ends of intervals."""

    def tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any, order: Any = None) -> Any:
        operands = [1.0 * x for x in primals]
        with np.errstate(all="ignore"):
            terms = [
                multiply_no_nan(moved, partial(*operands, order))
                for partial, moved in zip(partials, tangents, strict=True)
                if moved is not None
            ]
        return sum(terms[1:], terms[0])

    return Explicit(tangent)


def _gamma_partial(a: Any, x: Any, order: int) -> Any:
    """Return the derivative of the density, of the order in a."""

    def slopes(p: int, q: int) -> Any:
        return -_psi(p - 1, a) + (log(x) if p == 1 else 0.0)

    return exp((a - 1) * log(x) - x - lgamma(a)) * kernels.bell((order, 0), slopes)


def _gammainc_slope(a: Any, x: Any, order: int) -> Any:
    return kernels.gammainc_slope(a, x, order)


gammainc_slope = elementwise(
    "gammainc_slope",
    _gammainc_slope,
    derivative=_tangent(lambda a, x, order: gammainc_slope(a, x, order=order + 1), _gamma_partial),
    operands=2,
    doc="the derivative of the regularised incomplete gamma function P(a, x) of an order in a",
    domain=(0.5, 3.0),
    params={"order": 1},
    lowering=OnHost(_REASON),
    source="wengert.engine.kernels.incomplete.gammainc_slope({0}, {1}, {order})",
)


def _beta_partial(a: Any, b: Any, x: Any, order: tuple[int, int]) -> Any:
    """Return the derivative of the density, of the orders in a and b."""
    log_x, log_y = log(x), log1p(-x)

    def slopes(p: int, q: int) -> Any:
        slope = _psi(p + q - 1, a + b)
        if not q:
            slope = slope - _psi(p - 1, a)
        if not p:
            slope = slope - _psi(q - 1, b)
        return slope + (log_x if (p, q) == (1, 0) else log_y if (p, q) == (0, 1) else 0.0)

    density = exp((a - 1) * log_x + (b - 1) * log_y + lgamma(a + b) - lgamma(a) - lgamma(b))
    return density * kernels.bell(order, slopes)


def _betainc_slope(a: Any, b: Any, x: Any, order: tuple[int, int]) -> Any:
    return kernels.betainc_slope(a, b, x, order)


betainc_slope = elementwise(
    "betainc_slope",
    _betainc_slope,
    derivative=_tangent(
        lambda a, b, x, order: betainc_slope(a, b, x, order=(order[0] + 1, order[1])),
        lambda a, b, x, order: betainc_slope(a, b, x, order=(order[0], order[1] + 1)),
        _beta_partial,
    ),
    operands=3,
    doc="the derivative of the regularised incomplete beta function I_x(a, b) of an order in a and one in b",
    domain=((0.5, 3.0), (0.5, 3.0), (0.1, 0.9)),
    params={"order": (1, 0)},
    lowering=OnHost(_REASON),
    source="wengert.engine.kernels.incomplete.betainc_slope({0}, {1}, {2}, {order})",
)


# -- Student's distribution ------------------------------------------------------------------------------

#: The second derivative in df comes from terms that cancel; above, it is NaN.
_MOST_FREEDOM = 1e4


def _student_slope(df: Any, t: Any) -> Any:
    return student.student_slope(df, t)


def _student_curvature(df: Any, t: Any) -> Any:
    """Return the second derivative of Student's distribution function in df, by the incomplete beta function."""
    half, whole, is_small = 0.5 * df, df + t * t, less(t * t, df)
    remainder, share = df / whole, t * t / whole
    near = 0.5 * betainc_slope(0.5, half, share, order=(0, 2))
    near = near - _beta_partial(0.5, half, share, (0, 1)) * share / whole
    far = -0.5 * betainc_slope(half, 0.5, remainder, order=(2, 0))
    far = far - _beta_partial(half, 0.5, remainder, (1, 0)) * share / whole
    density, slope = exp(log_student_density(t, df)), student_log_slope(t, df)
    value = 0.25 * sign(t) * where(is_small, near, far) - 0.5 * t * density * (slope - 1.0 / df) / df
    return where(less(df, _MOST_FREEDOM), value, np.nan)


student_slope = elementwise(
    "student_slope",
    _student_slope,
    derivative=_tangent(
        lambda df, t, order=None: _student_curvature(df, t),
        lambda df, t, order=None: exp(log_student_density(t, df)) * student_log_slope(t, df),
    ),
    operands=2,
    doc="the derivative of Student's distribution function in its degrees of freedom",
    domain=(0.5, 3.0),
    lowering=OnHost(_REASON),
    source="wengert.engine.kernels.student.student_slope({0}, {1})",
)
