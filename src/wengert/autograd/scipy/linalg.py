"""SciPy's linear algebra, under autograd's name for the module."""

from wengert.autograd.namespaces import scipys as _scipys

__getattr__ = _scipys(globals(), "linalg")
