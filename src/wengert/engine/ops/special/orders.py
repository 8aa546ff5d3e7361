"""Derivatives of Bessel, hypergeometric and zeta functions by their orders and parameters.

Each is a primitive of its own, with a derivative in the argument. A second derivative by an order raises an error.
"""

from __future__ import annotations

import functools
from typing import Any

from wengert.engine.kernels import orders as kernels
from wengert.engine.ops.arithmetic import sign
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME, stated
from wengert.engine.primitive import Primitive


def _slope(
    name: str, kernel: str, *partials: Any, doc: str, domain: Any = (0.5, 3.0), **params: Any
) -> Primitive:
    """State the derivative of a function by a parameter: all operands but the last are parameters."""
    operands = ", ".join(f"{{{n}}}" for n in range(len(partials)))
    options = "".join(f", {key}={value!r}" for key, value in params.items())
    return stated(
        name,
        *partials,
        doc=doc,
        domain=domain,
        whole=len(partials) - 1,
        by=functools.partial(getattr(kernels, kernel), **params),
        source=f"wengert.engine.kernels.orders.{kernel}({operands}{options})",
    )


# -- Bessel functions ------------------------------------------------------------------------------------

jv_order = _slope(
    "jv_order",
    "jv_order",
    None,
    lambda out, v, x: 0.5 * (jv_order(v - 1, x) - jv_order(v + 1, x)),
    doc="the derivative of J_v(x) by v",
)
yv_order = _slope(
    "yv_order",
    "yv_order",
    None,
    lambda out, v, x: 0.5 * (yv_order(v - 1, x) - yv_order(v + 1, x)),
    doc="the derivative of Y_v(x) by v",
)
iv_order = _slope(
    "iv_order",
    "iv_order",
    None,
    lambda out, v, x: 0.5 * (iv_order(v - 1, x) + iv_order(v + 1, x)),
    doc="the derivative of I_v(x) by v",
    scaled=False,
)
ive_order = _slope(
    "ive_order",
    "iv_order",
    None,
    lambda out, v, x: 0.5 * (ive_order(v - 1, x) + ive_order(v + 1, x)) - sign(x) * out,
    doc="the derivative of e^-x I_v(x) by v",
    scaled=True,
)
kv_order = _slope(
    "kv_order",
    "kv_order",
    None,
    lambda out, v, x: -0.5 * (kv_order(v - 1, x) + kv_order(v + 1, x)),
    doc="the derivative of K_v(x) by v",
    scaled=False,
)
kve_order = _slope(
    "kve_order",
    "kv_order",
    None,
    lambda out, v, x: out - 0.5 * (kve_order(v - 1, x) + kve_order(v + 1, x)),
    doc="the derivative of e^x K_v(x) by v",
    scaled=True,
)

# -- hypergeometric functions and the zeta function ------------------------------------------------------

hyp1f1_by_a = _slope(
    "hyp1f1_by_a",
    "hyp1f1_order",
    None,
    None,
    lambda out, a, b, x: (BY_NAME["hyp1f1"](a + 1, b + 1, x) + a * hyp1f1_by_a(a + 1, b + 1, x)) / b,
    doc="the derivative of 1F1(a; b; x) by a",
    position=0,
)
hyp1f1_by_b = _slope(
    "hyp1f1_by_b",
    "hyp1f1_order",
    None,
    None,
    lambda out, a, b, x: a / b * (hyp1f1_by_b(a + 1, b + 1, x) - BY_NAME["hyp1f1"](a + 1, b + 1, x) / b),
    doc="the derivative of 1F1(a; b; x) by b",
    position=1,
)
_NEAR: Any = ((0.5, 2.0), (0.5, 2.0), (0.5, 2.0), (-0.6, 0.6))
hyp2f1_by_a = _slope(
    "hyp2f1_by_a",
    "hyp2f1_order",
    None,
    None,
    None,
    lambda out, a, b, c, x: b / c * (_next(a, b, c, x) + a * hyp2f1_by_a(a + 1, b + 1, c + 1, x)),
    doc="the derivative of 2F1(a, b; c; x) by a",
    domain=_NEAR,
    position=0,
)
hyp2f1_by_b = _slope(
    "hyp2f1_by_b",
    "hyp2f1_order",
    None,
    None,
    None,
    lambda out, a, b, c, x: a / c * (_next(a, b, c, x) + b * hyp2f1_by_b(a + 1, b + 1, c + 1, x)),
    doc="the derivative of 2F1(a, b; c; x) by b",
    domain=_NEAR,
    position=1,
)
hyp2f1_by_c = _slope(
    "hyp2f1_by_c",
    "hyp2f1_order",
    None,
    None,
    None,
    lambda out, a, b, c, x: a * b / c * (hyp2f1_by_c(a + 1, b + 1, c + 1, x) - _next(a, b, c, x) / c),
    doc="the derivative of 2F1(a, b; c; x) by c",
    domain=_NEAR,
    position=2,
)


def _next(a: Any, b: Any, c: Any, x: Any) -> Any:
    return BY_NAME["hyp2f1"](a + 1, b + 1, c + 1, x)


zeta_by_s = _slope(
    "zeta_by_s",
    "zeta_order",
    None,
    lambda out, s, q: -BY_NAME["zeta"](s + 1, q) - s * zeta_by_s(s + 1, q),
    doc="the derivative of the Hurwitz zeta function by its exponent s",
)
