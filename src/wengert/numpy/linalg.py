"""NumPy's linear algebra, under the name that it has in `wengert.numpy`; but `eig` and `eigvals` have derivatives.

Example:
    >>> import wengert as wg
    >>> import wengert.numpy as np
    >>> from wengert.numpy.linalg import solve
    >>> A = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> wg.grad(lambda b: np.sum(solve(A, b)))(np.array([1.0, 2.0]))
    array([0.4, 0.2])
"""

from numpy.linalg import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]
from numpy.linalg import __all__ as __all__
