"""NumPy's linear algebra, under autograd's name for the module."""

from __future__ import annotations

from typing import Any

import numpy as _np

from wengert.autograd.namespaces import names_of as _names_of
from wengert.autograd.tracer import isbox as _isbox
from wengert.engine.control import stop_gradient as _stop_gradient
from wengert.numpy import linalg as _own

__getattr__ = _names_of(globals(), lambda name: getattr(_own, name))


def symmetric(a: Any) -> Any:
    """Return matrices whose derivatives are symmetric: autograd shares them between both triangles.

    Example:
        >>> from wengert.autograd import grad
        >>> grad(lambda a: symmetric(a)[1, 0])(_np.eye(2))
        array([[0. , 0.5],
               [0.5, 0. ]])
    """
    if not _isbox(a) or a.ndim < 2:
        return a
    mean = 0.5 * (a + _np.conj(_np.swapaxes(a, -1, -2)))
    return mean + _stop_gradient(a - mean)


def cholesky(a: Any, *, upper: bool = False) -> Any:
    """Return the triangular factor of positive definite matrices; as in autograd, the gradient is symmetric.

    Example:
        >>> from wengert.autograd import grad
        >>> grad(lambda a: cholesky(a)[1, 0])(_np.eye(2))
        array([[0. , 0.5],
               [0.5, 0. ]])
    """
    return _own.cholesky(symmetric(a), **({"upper": True} if upper else {}))
