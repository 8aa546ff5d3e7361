"""Derivatives of the incomplete gamma and beta functions in their parameters, of any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.kernels import incomplete as kernels
from wengert.nest.lowering import OnHost
from wengert.ops.arithmetic import multiply_no_nan
from wengert.ops.elementwise import elementwise
from wengert.ops.exponential import exp, log, log1p
from wengert.ops.special import digamma, lgamma, polygamma
from wengert.primitive import Explicit

_REASON = "a quadrature computes it"


def _psi(order: int, x: Any) -> Any:
    return polygamma(x, order=order) if order else digamma(x)


def _tangent(*partials: Callable[..., Any]) -> Explicit:
    """Return the derivative from partials that are infinite at ends of intervals."""

    def tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any, order: Any) -> Any:
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
    source="wengert.kernels.incomplete.gammainc_slope({0}, {1}, {order})",
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
    source="wengert.kernels.incomplete.betainc_slope({0}, {1}, {2}, {order})",
)
