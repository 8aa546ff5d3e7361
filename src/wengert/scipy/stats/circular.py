"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.arithmetic import maximum, minimum, rint
from wengert.engine.ops.comparison import greater_equal, less, where
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.exponential import exp, log, sqrt
from wengert.engine.ops.special.scipy_functions import i0e, i1e, ndtri
from wengert.engine.ops.trigonometric import arccos, arcsin, cos, sin
from wengert.scipy.stats.base import Continuous

#: Points and weights of Gauss's quadrature on (0, 1).
_NODES, _WEIGHTS = (0.5 * x + (0.5, 0.0)[i] for i, x in enumerate(np.polynomial.legendre.leggauss(48)))
#: The logarithm of the part of the density that integrals leave out.
_SMALL = 40.0
_STEPS = 8


def _density(z: Any, kappa: Any) -> Any:
    half = sin(0.5 * z)
    return exp(-2.0 * kappa * (half * half)) / (2 * math.pi * i0e(kappa))


def _log_density(z: Any, kappa: Any) -> Any:
    half = sin(0.5 * z)
    return -2.0 * kappa * (half * half) - log(2 * math.pi * i0e(kappa))


def _column(x: Any) -> Any:
    return np.reshape(x, (*shape_of(x), 1))


def _integral(start: Any, kappa: Any, power: int = 0) -> Any:
    """Integrate ``t^power`` times the density from an angle of (0, pi) to pi, or to where it is negligible."""
    fall = _SMALL / maximum(kappa, 1e-300)
    end = stop_gradient(arccos(maximum(cos(start) - fall, -1.0)))
    length = end - start
    t = _column(start) + _column(length) * _NODES
    terms = _density(t, _column(kappa)) * (t**power if power else 1.0)
    return length * np.sum(terms * _WEIGHTS, axis=-1)


def _cdf(z: Any, kappa: Any) -> Any:
    turns = rint(z / (2 * math.pi))
    z = z - 2 * math.pi * turns
    is_left = less(z, 0.0)
    tail = _integral(where(is_left, -z, z), kappa)
    return turns + where(is_left, tail, 1.0 - tail)


def _quantile(q: Any, kappa: Any) -> Any:
    """Solve ``tail(m) = p`` for p < 1/2 by Newton's method, which converges from the left as the tail is convex.

    The last steps are those that have derivatives: they are exact up to the third order.
    """
    is_left = less(q, 0.5)
    p = where(is_left, q, 1.0 - q)
    level, fixed = stop_gradient(p), stop_gradient(kappa)
    distance = minimum(-0.5 * ndtri(level) / sqrt(maximum(fixed, 1e-300)), 1.0)
    m = minimum(2.0 * arcsin(distance), math.pi * (1.0 - 2.0 * level))
    for step in range(_STEPS + 2):
        p_now, kappa_now = (level, fixed) if step < _STEPS else (p, kappa)
        m = m + (_integral(m, kappa_now) - p_now) / _density(m, kappa_now)
        m = minimum(maximum(m, 0.0), math.pi) if step < _STEPS else m
    return where(is_left, -m, m)


class _VonMises(Continuous):
    """The family whose draws are angles from -pi to pi."""

    def rvs(self, *args: Any, size: Any = None, random_state: Any = None, **kwds: Any) -> Any:
        """Draw angles from -pi to pi; see `Continuous.rvs`.

        ``random_state``: a key of `wengert.random`.

        Example:
            >>> from wengert.random import key
            >>> print(np.cos(vonmises.rvs(400.0, loc=7.0, size=3, random_state=key(0)) - 7.0).round(1))
            [1. 1. 1.]
        """
        drawn = super().rvs(*args, size=size, random_state=random_state, **kwds)
        return drawn - 2 * math.pi * rint(drawn / (2 * math.pi))


vonmises = _VonMises(
    "vonmises",
    "The von Mises distribution of angles, of density ``exp(kappa cos z) / (2 pi I0(kappa))``, with kappa >= 0.",
    shapes=("kappa",),
    valid=lambda kappa: greater_equal(kappa, 0.0),
    is_symmetric=True,
    logpdf=_log_density,
    cdf=_cdf,
    ppf=_quantile,
    mean=0.0,
    var=lambda kappa: 2.0 * _integral(0.0 * kappa, kappa, 2),
    entropy=lambda kappa: kappa - kappa * i1e(kappa) / i0e(kappa) + log(2 * math.pi * i0e(kappa)),
)
