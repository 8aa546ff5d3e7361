"""Trigonometric and hyperbolic functions, their inverses, and the polar pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.dtypes import dtype_of, is_complex
from wengert.engine.ops.comparison import equal, where
from wengert.engine.ops.complex import from_parts, imag, real
from wengert.engine.ops.elementwise import elementwise
from wengert.engine.ops.exponential import sqrt
from wengert.engine.ops.kinks import slope_at

_BETWEEN_POLES: dict[str, Any] = {"domain": (-0.9, 0.9), "singular": [(-1.0,), (1.0,)]}


# A branch cut has two sides, which the sign of a zero part names: x - 1 keeps that sign, and 1 - x and x + 1 do not.


def _roots_of_factors(x: Any) -> Any:
    """Return ``sqrt(1 - x) sqrt(1 + x)`` of a complex x, on the side of a branch cut that signed zeros name."""
    return sqrt(-(x - 1.0)) * sqrt(x - -1.0)


def _cosine_of_arcsine(x: Any) -> Any:
    """Return ``sqrt(1 - x^2)``."""
    return _roots_of_factors(x) if is_complex(dtype_of(x)) else sqrt((1 - x) * (1 + x))


def _cosh_of_arcsinh(x: Any) -> Any:
    """Return ``sqrt(1 + x^2)``, without overflow for a real x."""
    return _roots_of_factors(from_parts(-imag(x), real(x))) if is_complex(dtype_of(x)) else hypot(1.0, x)


sin = elementwise("sin", np.sin, lambda out, x: cos(x), doc="sin x, x in radians")
cos = elementwise("cos", np.cos, lambda out, x: -sin(x), doc="cos x, x in radians")
tan = elementwise("tan", np.tan, lambda out, x: 1 + out * out, doc="tan x, x in radians", domain=(-1.2, 1.2))
arcsin = elementwise(
    "arcsin",
    np.arcsin,
    lambda out, x: 1 / _cosine_of_arcsine(x),
    doc="the angle in [-pi/2, pi/2] whose sine is x; the derivative at +-1 is infinite",
    **_BETWEEN_POLES,
)
arccos = elementwise(
    "arccos",
    np.arccos,
    lambda out, x: -1 / _cosine_of_arcsine(x),
    doc="the angle in [0, pi] whose cosine is x; the derivative at +-1 is infinite",
    **_BETWEEN_POLES,
)
arctan = elementwise("arctan", np.arctan, lambda out, x: 1 / (1 + x * x), doc="the angle whose tangent is x")

sinh = elementwise("sinh", np.sinh, lambda out, x: cosh(x), doc="(e^x - e^-x) / 2")
cosh = elementwise("cosh", np.cosh, lambda out, x: sinh(x), doc="(e^x + e^-x) / 2")
arcsinh = elementwise(
    "arcsinh", np.arcsinh, lambda out, x: 1 / _cosh_of_arcsinh(x), doc="the inverse of sinh"
)
arccosh = elementwise(
    "arccosh",
    np.arccosh,
    lambda out, x: 1 / (sqrt(x - 1) * sqrt(x - -1.0)),
    doc="the inverse of cosh; the derivative at 1 is infinite",
    domain=(1.2, 3.0),
    singular=[(1.0,)],
)
arctanh = elementwise(
    "arctanh",
    np.arctanh,
    lambda out, x: 1 / ((1 - x) * (1 + x)),
    doc="the inverse of tanh; the derivative at +-1 is infinite",
    **_BETWEEN_POLES,
)


def _direction(component: Any, length: Any) -> Any:
    """Return component / length, and 0 at the origin, where the length has a kink."""
    at_origin = equal(length, 0)
    return where(at_origin, 0.0, component) / where(at_origin, 1.0, length)


hypot = elementwise(
    "hypot",
    np.hypot,
    lambda out, x, y: slope_at("hypot", _direction(x, out), out),
    lambda out, x, y: slope_at("hypot", _direction(y, out), out),
    doc="sqrt(x^2 + y^2) without overflow; the derivative at the origin is 0 (the subgradient of least norm)",
    kinks=[(0.0, 0.0)],
)
arctan2 = elementwise(
    "arctan2",
    np.arctan2,
    lambda out, y, x: x / hypot(x, y) / hypot(x, y),
    lambda out, y, x: -(y / hypot(x, y) / hypot(x, y)),
    doc="the angle of the point (x, y), in (-pi, pi]; there is no derivative at the origin: it is NaN",
    domain=((0.2, 2.0), (-2.0, 2.0)),
    singular=[(0.0, 0.0)],
)
