"""NumPy's Fourier transforms, for plain arrays. Wengert has no derivative of them: on boxes they raise an error.

Example:
    >>> import wengert.numpy.fft
    >>> wengert.numpy.fft.fft([1.0, 1.0]).real
    array([2., 0.])
"""

from numpy.fft import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]
from numpy.fft import __all__ as __all__
