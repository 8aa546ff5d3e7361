"""NumPy's linear algebra as `wengert.numpy.linalg`: all functions have derivatives.

Example:
    >>> import wengert as wg
    >>> import wengert.numpy as np
    >>> from wengert.numpy.linalg import solve
    >>> A = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> wg.grad(lambda b: np.sum(solve(A, b)))(np.array([1.0, 2.0]))
    array([0.4, 0.2])
"""

from typing import Any

from numpy import linalg as _numpys
from numpy.linalg import __all__ as __all__

from wengert.numpy.list_arguments import offered_for as _offered_for


def __getattr__(name: str) -> Any:
    """Return NumPy's function, which accepts lists of boxes here."""
    if name not in __all__:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}, nor has numpy.linalg", name=name
        )
    value = _offered_for(getattr(_numpys, name))
    globals()[name] = value
    return value


__dir__ = __all__.copy
