"""`scipy.sparse` for values inside transforms: matrices whose elements are followed.

The places of the elements are plain numbers. A matrix of a followed dense array has a place for each of its elements,
zero or not. Of plain numbers the classes and functions make SciPy's own matrices.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> rows, columns = np.array([0, 1, 1]), np.array([0, 0, 1])
    >>> wg.grad(lambda d: np.sum(csr_array((d, (rows, columns))) @ np.array([1.0, 3.0])))(np.ones(3))
    array([1., 1., 3.])
"""

from __future__ import annotations

from wengert.scipy.registry import others_of as _others_of
from wengert.scipy.sparse import linalg
from wengert.scipy.sparse.functions import FUNCTIONS as _FUNCTIONS
from wengert.scipy.sparse.functions import issparse
from wengert.scipy.sparse.matrices import CLASSES as _CLASSES

globals().update(_CLASSES | _FUNCTIONS)
__all__ = ["issparse", "linalg", *_CLASSES, *_FUNCTIONS]  # pyright: ignore[reportUnsupportedDunderAll]
__dir__ = __all__.copy
__getattr__ = _others_of(__name__)
