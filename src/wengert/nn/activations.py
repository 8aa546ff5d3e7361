"""Activations: elementwise functions between layers."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from wengert.engine.core.docstrings import documented
from wengert.engine.ops.comparison import greater, less_equal, where
from wengert.special import erf, expit, softplus

__all__ = ["elu", "gelu", "leaky_relu", "relu", "sigmoid", "silu", "softplus", "tanh"]

_activation = functools.partial(
    documented, {"x": "an array or a number, floating-point."}, Returns="An array of the shape of ``x``."
)


@_activation()
def relu(x: Any) -> Any:
    """Return the positive part, ``max(x, 0)``; the derivative at 0 is 0, and NaN stays NaN.

    Example:
        >>> relu(np.array([-1.0, 0.0, 2.0]))
        array([0., 0., 2.])
    """
    return where(less_equal(x, 0.0), 0.0, x)


@_activation(slope="the factor of negative numbers.")
def leaky_relu(x: Any, slope: float = 0.01) -> Any:
    """Return ``x`` where it is positive and ``slope x`` elsewhere; the derivative at 0 is ``slope``.

    Example:
        >>> leaky_relu(-2.0, 0.1)
        -0.2
    """
    return where(greater(x, 0.0), x, slope * x)


@_activation(alpha="the result tends to ``-alpha`` as ``x`` tends to minus infinity.")
def elu(x: Any, alpha: float = 1.0) -> Any:
    """Return ``x`` where it is positive and ``alpha (e^x - 1)`` elsewhere (Clevert et al., 2016).

    Example:
        >>> float(elu(2.0))
        2.0
    """
    # The exponential sees 0 where its result is not used, so that it cannot overflow.
    return where(greater(x, 0.0), x, alpha * np.expm1(where(greater(x, 0.0), 0.0, x)))


@_activation()
def sigmoid(x: Any) -> Any:
    """Return the logistic function ``1 / (1 + e^-x)``.

    Example:
        >>> float(sigmoid(0.0))
        0.5
    """
    return expit(x)


@_activation()
def tanh(x: Any) -> Any:
    """Return the hyperbolic tangent.

    Example:
        >>> float(tanh(0.0))
        0.0
    """
    return np.tanh(x)


@_activation()
def silu(x: Any) -> Any:
    """Return ``x / (1 + e^-x)`` (Elfwing et al., 2018).

    Example:
        >>> float(silu(0.0))
        0.0
    """
    return x * expit(x)


@_activation()
def gelu(x: Any) -> Any:
    """Return ``x Phi(x)`` with the normal distribution function Phi (Hendrycks and Gimpel, 2016).

    Example:
        >>> float(gelu(0.0))
        0.0
    """
    return 0.5 * x * (1.0 + erf(x * (1 / math.sqrt(2))))
