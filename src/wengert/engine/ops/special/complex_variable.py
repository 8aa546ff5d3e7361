"""SciPy's functions of a complex variable that real programs use: Lambert's W and the Faddeeva function.

SciPy computes their values. Their derivatives are those of holomorphic functions.

Source of the formulas: Corless et al., "On the Lambert W function", Advances in Computational Mathematics 5 (1996);
Olver et al., "NIST Digital Library of Mathematical Functions", chapter 7, https://dlmf.nist.gov/7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import COMPLEX128, FLOAT64, INT64, dtype_of, is_complex, is_inexact
from wengert.engine.core.errors import DtypeError, message
from wengert.engine.core.shapes import broadcast
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.arithmetic import multiply_no_nan
from wengert.engine.ops.comparison import equal, where
from wengert.engine.ops.complex import as_complex, draw_complex, real
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.ops.exponential import exp
from wengert.engine.ops.special.scipy_ufuncs import BY_NAME, scipys
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
