"""NumPy's functions under autograd's names: those of `wengert.numpy`, with autograd's conventions at kinks.

Example:
    >>> import wengert.autograd.numpy as np
    >>> from wengert.autograd import grad
    >>> print(grad(lambda x: np.sum(np.array([x, np.sin(x)])))(0.0))
    2.0
"""

from __future__ import annotations

import functools as _functools
from typing import Any

import numpy as _np

from wengert import numpy as _own
from wengert.autograd.namespaces import names_of as _names_of
from wengert.autograd.numpy import fft as fft
from wengert.autograd.numpy import linalg as linalg
from wengert.autograd.numpy import random as random
from wengert.autograd.tracer import isbox as _isbox
from wengert.engine.control import stop_gradient as _stop_gradient

numpy_version = __version__ = _np.__version__


#: Names that autograd has beside NumPy's.
_OTHERS = {"row_stack": "vstack", "_original_where": "where", "_astype": "astype"}
_OF_SEQUENCES = {"concatenate", "stack", "vstack", "hstack", "dstack", "column_stack"}


def _find(name: str) -> Any:
    name = _OTHERS.get(name, name)
    return _of_sequence(name) if name in _OF_SEQUENCES else getattr(_own, name)


__getattr__ = _names_of(globals(), _find)
__dir__ = _own.__dir__


def clip(a: Any, a_min: Any = None, a_max: Any = None, **options: Any) -> Any:
    """Limit the elements of an array; as in autograd, the derivative of an element at a limit is 0.

    Example:
        >>> from wengert.autograd import grad
        >>> print(grad(lambda x: clip(x, 0.0, 1.0))(1.0))
        0.0
    """
    value = _own.clip(a, a_min, a_max, **options)
    if not _isbox(a):
        return value
    at_limit = _own.logical_or(value == a_min, value == a_max)
    return _own.where(at_limit, _own.clip(_stop_gradient(a), a_min, a_max), value)


def _of_sequence(name: str) -> Any:
    """Return a function of a sequence of arrays that takes any iterable."""
    function = getattr(_own, name)

    @_functools.wraps(function)
    def call(arrays: Any, *arguments: Any, **options: Any) -> Any:
        is_sequence = isinstance(arrays, (tuple, list, _np.ndarray)) or _isbox(arrays)
        return function(arrays if is_sequence else [*arrays], *arguments, **options)

    return call


def make_diagonal(D: Any, offset: int = 0, axis1: int = -1, axis2: int = -2) -> Any:
    """Return matrices with given diagonals and zeros elsewhere.

    Example:
        >>> make_diagonal(_np.ones((5, 2))).shape
        (5, 2, 2)
    """
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal supports offset=0, axis1=-1, axis2=-2 alone")
    return D[..., None] * _own.eye(D.shape[-1], dtype=D.dtype)
