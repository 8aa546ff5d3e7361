"""NumPy's Fourier transforms as `wengert.numpy.fft`: all functions have derivatives.

Example:
    >>> import wengert as wg
    >>> import wengert.numpy as np
    >>> from wengert.numpy.fft import fft
    >>> wg.grad(lambda x: np.sum(np.abs(fft(x)) ** 2))(np.array([1.0, 2.0]))  # 2 n x, by Parseval's theorem
    array([4., 8.])
"""

from numpy import fft as _numpys
from numpy.fft import __all__ as __all__

from wengert.numpy import fourier as fourier  # it registers the implementations
from wengert.numpy.list_arguments import offered_by as _offered_by

__dir__ = __all__.copy
__getattr__ = _offered_by(__name__, _numpys)
