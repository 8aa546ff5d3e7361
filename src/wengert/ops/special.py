"""Special functions that NumPy lacks: error functions and gamma functions."""

from __future__ import annotations

import math
from typing import Any

from wengert.kernels import special as kernels
from wengert.nest.lowering import Elementwise
from wengert.ops.elementwise import elementwise
from wengert.ops.exponential import exp

_POLES = [(0.0,), (-1.0,), (-2.0,)]
_BELL = 2 / math.sqrt(math.pi)


erf = elementwise("erf", kernels.erf, lambda out, x: _BELL * exp(-x * x))
erfc = elementwise("erfc", kernels.erfc, lambda out, x: -_BELL * exp(-x * x))
erfinv = elementwise(
    "erfinv",
    kernels.erfinv,
    lambda out, y: exp(out * out) / _BELL,
    domain=(-0.9, 0.9),
    singular=[(-1.0,), (1.0,)],
)


def _polygamma(x: Any, order: int) -> Any:
    return kernels.polygamma(order, x)


polygamma = elementwise(
    "polygamma",
    _polygamma,
    lambda out, x, order: polygamma(x, order=order + 1),
    doc="the derivative of digamma of the given order",
    domain=(0.5, 4.0),
    params={"order": 1},
    source="wengert.special.polygamma({order}, {0})",
    lowering=Elementwise("polygamma", param="order"),
    singular=_POLES,
)
digamma = elementwise(
    "digamma", kernels.digamma, lambda out, x: polygamma(x, order=1), domain=(0.5, 4.0), singular=_POLES
)
lgamma = elementwise("lgamma", kernels.lgamma, lambda out, x: digamma(x), domain=(0.5, 4.0), singular=_POLES)
