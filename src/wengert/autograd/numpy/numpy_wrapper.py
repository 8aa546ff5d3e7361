"""NumPy's functions by the name of the module that defines them in autograd."""

from wengert.autograd import numpy as _numpy
from wengert.autograd.primitives import primitive as primitive

__getattr__ = _numpy.__getattr__
