"""SciPy's special functions, under autograd's name for the module."""

from __future__ import annotations

import math as _math
from typing import Any

import numpy as _np

from wengert.autograd.namespaces import scipys as _scipys
from wengert.autograd.primitives import defvjp as _defvjp
from wengert.autograd.primitives import primitive as _primitive
from wengert.scipy.registry import others_of as _others_of
from wengert.special import digamma as _digamma
from wengert.special import gammaln as _gammaln

__getattr__ = _scipys(globals(), "special")


@_primitive
def rgamma(x: Any) -> Any:
    """Return the reciprocal of the gamma function."""
    return _others_of("wengert.scipy.special")("rgamma")(x)


_defvjp(rgamma, lambda ans, x: lambda g: -g * ans * _digamma(x))


def multigammaln(a: Any, d: int) -> Any:
    """Return the logarithm of the gamma function of d dimensions."""
    factors = _gammaln(_np.expand_dims(a, -1) - 0.5 * _np.arange(d))
    return _np.sum(factors, axis=-1) + 0.25 * d * (d - 1) * _math.log(_math.pi)
