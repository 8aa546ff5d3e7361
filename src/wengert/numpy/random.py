"""NumPy's random numbers, for data and initial values; inside a transform use `wengert.random`.

Example:
    >>> import wengert.numpy.random as npr
    >>> npr.RandomState(0).randn(2).round(3)
    array([1.764, 0.4  ])
"""

from numpy.random import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]
from numpy.random import __all__ as __all__
