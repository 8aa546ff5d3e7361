"""NumPy's random numbers, which have no derivatives."""

from wengert.numpy.random import *  # noqa: F403
from wengert.numpy.random import __all__ as __all__
