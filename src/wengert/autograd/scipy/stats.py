"""SciPy's distributions; `norm` and others can be imported as modules, under autograd's name for the module."""

from wengert.autograd.namespaces import scipys as _scipys

__getattr__ = _scipys(globals(), "stats")
