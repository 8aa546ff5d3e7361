"""Functions whose slope is a quotient that is 0 / 0 at a point: all derivatives there are those around it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import CASES, many

special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")
distance = pytest.importorskip("scipy.spatial.distance")
Function = Callable[[Any], Any]

#: Functions of one number, and points at which a formula of theirs, or of a derivative, needs a limit.
FUNCTIONS: dict[str, tuple[Function, tuple[float, ...]]] = {
    "sinc": (np.sinc, (0.0, 1.0)),
    "i0": (np.i0, (0.0,)),
    "i1": (special.i1, (0.0,)),
    "exprel": (special.exprel, (0.0,)),
    "boxcox": (lambda x: special.boxcox(2.0, x), (0.0,)),
    "inv_boxcox": (lambda x: special.inv_boxcox(1.0, x), (0.0,)),
    "sici": (lambda x: special.sici(x)[0], (0.0,)),
    "shichi": (lambda x: special.shichi(x)[0], (0.0,)),
    "fresnel S": (lambda x: special.fresnel(x)[0], (0.0, -1.0, 2.0)),
    "fresnel C": (lambda x: special.fresnel(x)[1], (0.0, -1.0, 2.0)),
    "struve 0": (lambda x: special.struve(0, x), (0.0, 1.0)),
    "struve 1": (lambda x: special.struve(1, x), (0.0, 1.0)),
    **{f"jv {n}": (lambda x, n=n: special.jv(n, x), (0.0,)) for n in (-2, -1, 0, 1, 2, 3)},
    **{f"iv {n}": (lambda x, n=n: special.iv(n, x), (0.0,)) for n in (-2, -1, 0, 1, 2, 3)},
    **{f"spherical_jn {n}": (lambda x, n=n: special.spherical_jn(n, x), (0.0,)) for n in range(4)},
    **{f"spherical_in {n}": (lambda x, n=n: special.spherical_in(n, x), (0.0,)) for n in range(4)},
    **{f"legendre {n}": (lambda x, n=n: special.eval_legendre(n, x), (0.0, 1.0)) for n in range(5)},
    **{f"t.{m}": (lambda x, m=m: getattr(stats.t, m)(x, 3.0), (0.0,)) for m in ("logpdf", "logsf", "pdf")},
    "t.logpdf of its scale": (lambda x: stats.t.logpdf(0.3, 3.0, 0.3 + x, 1.5), (0.0,)),
    "cauchy.logpdf": (stats.cauchy.logpdf, (0.0,)),
    "logistic.logpdf": (stats.logistic.logpdf, (0.0,)),
    "norm of order 4": (lambda x: np.linalg.norm(np.stack([x, 1.0 + x]), 4), (0.0, -1.0)),
    "minkowski": (lambda x: distance.minkowski(np.stack([x, 1.0 + x]), np.zeros(2), 6), (0.0, -1.0)),
    "spence": (special.spence, (1.0,)),
    "spence of complex numbers": (lambda x: np.real(special.spence(x + 0j)), (1.0,)),
    "rgamma": (special.rgamma, (0.0, -1.0, -2.0)),
    "rgamma of complex numbers": (lambda x: np.imag(special.rgamma(1j * x - 1.0)), (0.0,)),
    **{name: (getattr(special, name), (0.0,)) for name in ("ber", "bei", "berp", "beip", "ellipk", "ellipe")},
    "ellipkinc": (lambda x: special.ellipkinc(x, 0.3), (0.0, math.pi)),
    "ellipeinc": (lambda x: special.ellipeinc(0.7, x), (0.0, 1.0)),
    "ellipj": (lambda x: special.ellipj(x, 0.4)[0], (0.0,)),
    "elliprc": (lambda x: special.elliprc(x, 1.0), (1.0,)),
    "beta": (lambda x: special.beta(0.2 * x - 0.5, 0.1 * x - 0.5), (0.0,)),
    "beta of a whole number": (lambda x: special.beta(x, 2.0), (-3.0,)),
    "poch": (lambda x: special.poch(0.2 * x, 1.5), (0.0, -10.0)),
    "poch of a whole number": (lambda x: special.poch(x, 3.0), (0.0, -1.0, -4.0)),
    "elliprd": (lambda x: special.elliprd(1.0, x, 1.0), (1.0,)),
    "prod": (lambda x: np.prod(np.stack([x, 2.0 * x, x + 1.0, x])), (0.0, -1.0)),
    "det": (lambda x: np.linalg.det(np.array([[1.0, 2.0], [2.0, 3.0]]) * x), (0.0,)),
}
CASES_OF = [
    (name, point, order) for name, (_, points) in FUNCTIONS.items() for point in points for order in (2, 3, 4)
]
#: Nodes around a point, of which the even part of a function at the point is a sum (to sixth order).
NODES, WEIGHTS = (1, 2, 3), (0.75, -0.3, 0.05)


def around(slope: Function, point: float, step: float) -> float:
    """Return what values around a point say of the value there."""
    return sum(
        w * (slope(point + k * step) + slope(point - k * step)) for k, w in zip(NODES, WEIGHTS, strict=True)
    )


def differs(name: str, point: float, order: int, compiled: bool = True) -> list[str]:
    """Return the modes whose derivative at a point, or close to it, is not the one around it."""
    f = FUNCTIONS[name][0]
    slope = wg.derivative(f, order=order)
    step = 0.02
    nodes = [slope(point + k * step) for k in NODES]
    expected, size = around(slope, point, step), max(1.0, float(np.max(np.abs(nodes))))
    found = {
        "series": slope(point),
        "beside it": around(slope, point, 1e-9),
        "compiled": wg.jit(slope)(point),
    }
    nested = f
    for place in range(order):
        nested = (wg.grad, wg.derivative)[(place + order) % 2](nested)
    found["nested"] = nested(point)
    return [
        f"{name} at {point}, order {order}, {way}: {value}, not {expected}"
        for way, value in found.items()
        if not math.isclose(value, expected, rel_tol=0.0, abs_tol=1e-5 * size)
    ]


def test_derivatives_are_those_around_a_point() -> None:
    for place in np.random.default_rng(CASES).choice(len(CASES_OF), many(10), replace=False):
        assert differs(*CASES_OF[place], compiled=False) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_derivatives_are_those_around_a_point(name: str) -> None:
    assert [text for case in CASES_OF if case[0] == name for text in differs(*case)] == []
