"""NumPy's linear algebra as `wengert.numpy.linalg`: all functions have derivatives.

Example:
    >>> import wengert as wg
    >>> import wengert.numpy as np
    >>> from wengert.numpy.linalg import solve
    >>> A = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> wg.grad(lambda b: np.sum(solve(A, b)))(np.array([1.0, 2.0]))
    array([0.4, 0.2])
"""

from numpy import linalg as _numpys
from numpy.linalg import __all__ as __all__

from wengert.numpy.list_arguments import offered_by as _offered_by

__dir__ = __all__.copy
__getattr__ = _offered_by(__name__, _numpys)
