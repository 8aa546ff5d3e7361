"""Differences of digamma and its derivatives at two points."""

from __future__ import annotations

from typing import Any

from wengert.engine.kernels import differences as kernels
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.elementwise import elementwise
from wengert.engine.ops.special.error_and_gamma import polygamma


def _difference(x: Any, h: Any, order: int) -> Any:
    return kernels.digamma_difference(x, h, order)


digamma_difference = elementwise(
    "digamma_difference",
    _difference,
    lambda out, x, h, order: digamma_difference(x, h, order=order + 1),
    lambda out, x, h, order: polygamma(x + h, order=order + 1),
    doc="psi(x + h) - psi(x) of a derivative of digamma, without cancellation",
    domain=((0.5, 3.0), (0.5, 3.0)),
    singular=[(0.0, 1.0)],
    params={"order": 0},
    lowering=OnHost("a recurrence and a series compute it"),
    source="wengert.engine.kernels.differences.digamma_difference({0}, {1}, {order})",
)
