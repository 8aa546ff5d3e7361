"""SciPy's functions of a complex variable: a table of their derivatives, which are those of holomorphic functions.

SciPy computes their values. Orders and parameters before the variable are real, and have no derivative.

Source of the formulas: Corless et al., "On the Lambert W function", Advances in Computational Mathematics 5 (1996);
Olver et al., "NIST Digital Library of Mathematical Functions", chapter 7, https://dlmf.nist.gov/7.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import COMPLEX128, FLOAT64, INT64, dtype_of, is_complex, is_inexact
from wengert.engine.core.errors import ArgumentError, DtypeError, UnsupportedError, message
from wengert.engine.core.shapes import broadcast
from wengert.engine.ir.types import TensorType, promote, show, type_of
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.arithmetic import floor, multiply_no_nan, size_to_compare
from wengert.engine.ops.comparison import equal, less, logical_and, where
from wengert.engine.ops.complex import as_complex, draw_complex, imag, real
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.ops.exponential import exp
from wengert.engine.ops.special.elliptic import log_over
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME, COMPLEX, scipys
from wengert.engine.ops.trigonometric import cos, sin
from wengert.engine.primitive import Draw, Explicit, Primitive, primitive


def _holomorphic(
    name: str, slope: Callable[[Any, Any], Any], doc: str, samples: Any, operands: tuple[str, ...]
) -> Primitive:
    """State a function of a complex variable, and of integers after it, that SciPy evaluates."""

    def rule(z: TensorType, *orders: TensorType) -> TensorType:
        if not is_complex(z.dtype):
            raise DtypeError(message(name, "a complex number is required", show(z), "add 0j"))
        return TensorType(z.dtype, broadcast(name, z.shape, *(order.shape for order in orders)))

    def evaluate(z: Any, *orders: Any) -> Any:
        dtype = rule(type_of(z), *map(type_of, orders)).dtype
        with np.errstate(all="ignore"):
            result = scipys(name)(np.asarray(z, COMPLEX128), *orders)
        return np.asarray(result, dtype)[()]

    return primitive(
        name=name,
        doc=doc,
        type_rule=rule,
        evaluate=evaluate,
        derivative=Explicit(
            lambda primals, tangents, out: multiply_no_nan(tangents[0], slope(out, primals[0]))
        ),
        batch=batch_elementwise,
        lowering=OnHost("SciPy computes it"),
        source=lambda *arguments: f"scipy.special.{name}({', '.join(arguments)})",
        samples=samples,
        elementwise=True,
        operands=operands,
    )


def _off_the_cut(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return points away from the branch cut of W, and branches."""
    shape, of_branches = draw.broadcastable(2)
    z = draw.array(shape, 0.5, 2.0) + 1j * draw.array(shape, 0.5, 2.0)
    return (z, draw.integers(of_branches, -1, 1)), {}


lambertw = _holomorphic(
    "lambertw",
    lambda out, z: 1 / (exp(out) * (1 + out)),  # finite at z = 0 too
    "the branch k of Lambert's W, the solution of W e^W = z",
    _off_the_cut,
    ("z", "k"),
)
wofz = _holomorphic(
    "wofz",
    lambda out, z: 2j / math.sqrt(math.pi) - 2 * z * out,
    "the Faddeeva function e^(-z^2) erfc(-i z)",
    lambda draw: ((draw_complex(draw, draw.shape()),), {}),
    ("z",),
)


def _floating(x: Any) -> Any:
    return x if is_inexact(dtype_of(x)) else cast(x, dtype=FLOAT64)


def _lambertw(z: Any, k: Any, tol: float) -> Any:
    return lambertw(as_complex(_floating(z)), cast(real(k), dtype=INT64))  # NumPy's promotion made k floating


def _voigt_profile(x: Any, sigma: Any, gamma: Any) -> Any:
    """Return the density of a normal plus a Cauchy variable: ``Re w(z) / (sigma sqrt(2 pi))``.

    Without a normal part it is Cauchy's density.
    """
    x, sigma, gamma = map(_floating, (x, sigma, gamma))
    is_zero = equal(sigma, 0)
    width = where(is_zero, 1.0, sigma)
    profile = real(wofz((x + 1j * gamma) / (width * math.sqrt(2)))) / (width * math.sqrt(2 * math.pi))
    scale = where(is_zero, gamma, 1.0)
    return where(is_zero, scale / (math.pi * (x * x + scale * scale)), profile)


BY_NAME.update(
    _lambertw=_lambertw, wofz=lambda z: wofz(as_complex(_floating(z))), voigt_profile=_voigt_profile
)


# -- functions that are real of real numbers, too --------------------------------------------------------

_ROOT_PI = math.sqrt(math.pi)
Slope = Callable[..., Any]


def _trigamma(z: Any) -> Any:
    """Return the derivative of digamma: by reflection, the recurrence and the asymptotic series."""
    is_left = less(real(z), 0.5)
    w = where(is_left, 1.0 - z, z)
    total: Any = 0.0
    for k in range(15):
        total = total + 1.0 / ((w + k) * (w + k))
    y = 1.0 / (w + 15.0)
    series: Any = 0.0
    for bernoulli in (43867 / 798, -3617 / 510, 7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6):
        series = (series + bernoulli) * y * y
    total = total + y * (1.0 + 0.5 * y + series)
    turned = math.pi * where(is_left, z - floor(real(z)), 0.5)
    return where(is_left, (math.pi / sin(turned)) ** 2 - total, total)


def _rgamma_slope(out: Any, z: Any) -> Any:
    """Return the derivative of 1 / gamma, at its zeros and close to them by reflection, as psi has poles there."""
    is_near = logical_and(less(real(z), 0.5), less(size_to_compare(imag(z)), 1.0))
    near, away = where(is_near, z, 0.0), where(is_near, 1.0, z)
    angle = math.pi * (near - 2.0 * floor(0.5 * real(near)))
    factor = exp(_next("loggamma", 1.0 - near))
    mirrored = factor * (cos(angle) - _next("psi", 1.0 - near) * sin(angle) / math.pi)
    return where(is_near, mirrored, -where(is_near, 0.0, out) * _next("psi", away))


def _cylinder(name: str, before: float, after: float, more: Any = 0.0) -> Slope:
    """Return the derivative of a Bessel function by those of the orders beside it, and a multiple of itself."""

    def slope(out: Any, v: Any, z: Any) -> Any:
        return 0.5 * (before * _next(name, z, v - 1.0) + after * _next(name, z, v + 1.0)) + more * out

    return slope


#: The derivatives, of ``(out, *orders, z)``.
_SLOPES: dict[str, Slope] = {
    "erf": lambda out, z: 2 / _ROOT_PI * exp(-z * z),
    "erfc": lambda out, z: -2 / _ROOT_PI * exp(-z * z),
    "erfi": lambda out, z: 2 / _ROOT_PI * exp(z * z),
    "erfcx": lambda out, z: 2 * z * out - 2 / _ROOT_PI,
    "dawsn": lambda out, z: 1 - 2 * z * out,
    "ndtr": lambda out, z: exp(-0.5 * z * z) / math.sqrt(2 * math.pi),
    "log_ndtr": lambda out, z: exp(-0.5 * z * z - out) / math.sqrt(2 * math.pi),
    "exp1": lambda out, z: -exp(-z) / z,
    "expi": lambda out, z: exp(z) / z,
    "gamma": lambda out, z: out * _next("psi", z),
    "loggamma": lambda out, z: _next("psi", z),
    "rgamma": _rgamma_slope,
    "psi": lambda out, z: _trigamma(z),
    "spence": lambda out, z: log_over(z, less(size_to_compare(z - 1.0), 0.1)),
    "wrightomega": lambda out, z: out / (1 + out),
    "hyp0f1": lambda out, v, z: _next("hyp0f1", z, v + 1.0) / v,
    "hyp1f1": lambda out, a, b, z: a / b * _next("hyp1f1", z, a + 1.0, b + 1.0),
    "hyp2f1": lambda out, a, b, c, z: a * b / c * _next("hyp2f1", z, a + 1.0, b + 1.0, c + 1.0),
    "jv": _cylinder("jv", 1.0, -1.0),
    "yv": _cylinder("yv", 1.0, -1.0),
    "iv": _cylinder("iv", 1.0, 1.0),
    "kv": _cylinder("kv", -1.0, -1.0),
    "kve": _cylinder("kve", -1.0, -1.0, 1.0),
    "hankel1": _cylinder("hankel1", 1.0, -1.0),
    "hankel2": _cylinder("hankel2", 1.0, -1.0),
    "hankel1e": _cylinder("hankel1e", 1.0, -1.0, -1j),
    "hankel2e": _cylinder("hankel2e", 1.0, -1.0, 1j),
}


def _count(function: str) -> int:
    """Return the number of orders of a function."""
    return len(inspect.signature(_SLOPES[function]).parameters) - 2


def _type_of_holomorphic(
    a: TensorType, b: TensorType, c: TensorType, z: TensorType, function: str
) -> TensorType:
    if function not in _SLOPES:
        requirement = "function must be one of a complex variable that has a derivative"
        raise ArgumentError(message("holomorphic", requirement, repr(function)))
    if not is_complex(z.dtype) or any(is_complex(order.dtype) for order in (a, b, c)):
        requirement = "real orders and a complex variable are required"
        raise DtypeError(message(function, requirement, show(a, b, c, z), "add 0j"))
    return TensorType(promote(a, b, c, z)[0], broadcast(function, *(x.shape for x in (a, b, c, z))))


def _evaluated(a: Any, b: Any, c: Any, z: Any, function: str) -> Any:
    type_ = _type_of_holomorphic(*map(type_of, (a, b, c, z)), function=function)
    with np.errstate(all="ignore"):
        result = scipys(function)(*(a, b, c)[: _count(function)], np.asarray(z, COMPLEX128))
    return np.array(np.broadcast_to(result, type_.shape), type_.dtype)[()]


def _tangent(primals: Any, tangents: Any, out: Any, function: str) -> Any:
    count = _count(function)
    if any(tangent is not None for tangent in tangents[:count]):
        requirement = "there is a derivative in the complex variable alone"
        hint = "pass wg.stop_gradient of the others"
        raise UnsupportedError(message(f"scipy.special.{function}", requirement, show(*primals), hint))
    if tangents[3] is None:
        return None
    z = primals[3]
    z = np.complex128(z) if isinstance(z, complex) else z  # Python's raises an error for a division by 0
    with np.errstate(all="ignore"):
        return multiply_no_nan(tangents[3], _SLOPES[function](out, *primals[:count], z))


def _drawn(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shapes = draw.broadcastable(4)
    orders = [draw.integers(shape, 1, 3) for shape in shapes[:3]]
    return (*orders, draw_complex(draw, shapes[3])), {"function": draw.choice(["erf", "psi", "jv"])}


holomorphic = primitive(
    name="holomorphic",
    doc="a function of SciPy's of a complex variable z, after as many real orders as it has",
    type_rule=_type_of_holomorphic,
    evaluate=_evaluated,
    derivative=Explicit(_tangent),
    batch=batch_elementwise,
    lowering=OnHost("SciPy computes it"),
    source="wengert.engine.ops.special.complex_variable.holomorphic({0}, {1}, {2}, {3}, function={function!r})".format,
    samples=_drawn,
    elementwise=True,
    operands=("a", "b", "c", "z"),
    parameters=("function",),
)


def _next(name: str, z: Any, *orders: Any) -> Any:
    return holomorphic(*orders, *(0.0,) * (3 - len(orders)), z, function=name)


def _of_complex(name: str, *operands: Any) -> Any:
    """Call a function of SciPy's with operands of which one is complex: the last."""
    *orders, z = map(_floating, operands)
    return _next(name, as_complex(z), *orders)


def _hankel(name: str, sign: float) -> Callable[..., Any]:
    """Return a Hankel function of a real variable, with a derivative in the order, too."""

    def of_real(v: Any, x: Any) -> Any:
        v, x = _floating(v), _floating(x)
        value = BY_NAME["jv"](v, x) + sign * 1j * BY_NAME["yv"](v, x)
        return value * exp(-sign * 1j * x) if name.endswith("e") else value

    return of_real


for _name, _sign in (("hankel1", 1.0), ("hankel2", -1.0), ("hankel1e", 1.0), ("hankel2e", -1.0)):
    BY_NAME[_name] = _hankel(_name, _sign)
for _name in _SLOPES:
    COMPLEX[_name] = functools.partial(_of_complex, _name)
