"""NumPy's Fourier transforms, under autograd's name for the module."""

from wengert.autograd.namespaces import names_of as _names_of
from wengert.numpy import fft as _own

__getattr__ = _names_of(globals(), lambda name: getattr(_own, name))
