"""NumPy's functions under autograd's names: those of `wengert.numpy`, with autograd's conventions at kinks.

Example:
    >>> import wengert.autograd.numpy as np
    >>> from wengert.autograd import grad
    >>> grad(lambda x: np.sum(np.array([x, np.sin(x)])))(0.0)
    2.0
"""

from __future__ import annotations

from typing import Any

import numpy as _np

from wengert import numpy as _own
from wengert.autograd.namespaces import names_of as _names_of
from wengert.autograd.numpy import fft as fft
from wengert.autograd.numpy import linalg as linalg
from wengert.autograd.numpy import random as random

numpy_version = __version__ = _np.__version__


def _find(name: str) -> Any:
    return getattr(_own, {"row_stack": "vstack", "_original_where": "where", "_astype": "astype"}.get(name, name))


__getattr__ = _names_of(globals(), _find)
__dir__ = _own.__dir__


def clip(a: Any, a_min: Any = None, a_max: Any = None, **options: Any) -> Any:
    """Limit the elements of an array; as in autograd, the derivative of an element at a limit is 0.

    Args:
        a: an array or a number.
        a_min: the lower limit, or None.
        a_max: the upper limit, or None.
        options: the other ones of `np.clip`.

    Returns:
        The array.

    Example:
        >>> from wengert.autograd import grad
        >>> grad(lambda x: clip(x, 0.0, 1.0))(1.0)
        0.0
    """
    if options:
        return _own.clip(a, a_min, a_max, **options)
    low = a if a_min is None else _own.where(a <= a_min, a_min, a)
    return low if a_max is None else _own.where(a >= a_max, a_max, low)


def make_diagonal(D: Any, offset: int = 0, axis1: int = -1, axis2: int = -2) -> Any:
    """Return matrices with given diagonals and zeros elsewhere.

    Args:
        D: the diagonals, along the last axis.
        offset: 0.
        axis1: -1.
        axis2: -2.

    Returns:
        An array with one more axis.

    Example:
        >>> make_diagonal(_np.ones((5, 2))).shape
        (5, 2, 2)
    """
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal supports offset=0, axis1=-1, axis2=-2 alone")
    return D[..., None] * _own.eye(D.shape[-1], dtype=D.dtype)
