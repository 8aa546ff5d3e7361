"""NumPy's names, for programs inside transforms.

NumPy's own functions work on boxes, because boxes implement NumPy's protocols. This package holds their
implementations, composed of primitives, and offers NumPy's functions that have one. NumPy does not dispatch
functions that make arrays, such as `array`, `zeros` and `arange`; this module has its own. Inside a transform these
return arrays into which boxes can be written.

The module has the rest of NumPy's names as well, `wengert.numpy.linalg`, `wengert.numpy.random` and
`wengert.numpy.fft` among them, so that a program can import it in NumPy's place. The names that `dir` lists work on
boxes.

Example:
    >>> import wengert as wg
    >>> import wengert.numpy as wnp
    >>> def f(x):
    ...     powers = wnp.zeros(3)
    ...     for n in range(3):
    ...         powers[n] = x**n
    ...     return wnp.sum(powers)
    >>> wg.grad(f)(2.0)
    5.0
"""

from __future__ import annotations

import functools as _functools
import importlib as _importlib
import sys as _sys
from typing import Any

import numpy as _np

from wengert.engine.array.array import FUNCTIONS as _FUNCTIONS
from wengert.engine.array.operators import LATE as _LATE
from wengert.engine.array.substitutes import MODULES as _MODULES
from wengert.numpy import (
    bits,
    finite_differences,
    histograms,
    in_place,
    introspection,
    joining,
    linalg,
    linear_algebra,
    padding,
    polynomials,
    products,
    reducing,
    selecting,
    sets,
    shaping,
    sorting,
    statistics,
    ufunc_methods,
    ufuncs,
)
from wengert.numpy.creation import *  # noqa: F403
from wengert.numpy.introspection import isscalar as isscalar
from wengert.numpy.joining import c_ as c_
from wengert.numpy.joining import r_ as r_
from wengert.numpy.list_arguments import is_dispatched as _is_dispatched
from wengert.numpy.list_arguments import offered_for as _offered_for
from wengert.numpy.vectorizing import ndenumerate as ndenumerate
from wengert.numpy.vectorizing import vectorize as vectorize

#: The modules whose implementations are registered as they load.
_FAMILIES = [
    bits, finite_differences, histograms, in_place, introspection, joining, linalg, linear_algebra, padding,
    polynomials, products, reducing, selecting, sets, shaping, sorting, statistics, ufunc_methods, ufuncs,
]  # fmt: skip
newaxis = None
take: Any = _FUNCTIONS[_np.take]  # NumPy's dispatches on the array alone, not on traced positions

#: Names that need no dispatch: constants, types, functions of plain values alone, and `wengert.numpy`'s own objects.
_PLAIN_NAMES = """
    pi e inf nan newaxis linalg ndarray dtype finfo iinfo isdtype errstate
    issubdtype promote_types isscalar broadcast_shapes s_ r_ c_ index_exp ix_
    indices ndindex ndenumerate vectorize asarray_chkfinite tril_indices triu_indices diag_indices
    unravel_index ravel_multi_index
"""
_PLAIN = frozenset(_PLAIN_NAMES.split())


def _offered(name: str, value: Any) -> bool:
    if isinstance(value, type):
        real = issubclass(value, (_np.number, _np.bool_)) and not issubclass(value, _np.complexfloating)
        return real or name in _PLAIN
    return _is_dispatched(value) or name in _PLAIN


def __getattr__(name: str) -> Any:
    """Return NumPy's object of a name; a function that `dir` does not list raises an error on boxes."""
    value = None if name.startswith("__") else getattr(_np, name, None)
    if value is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}, nor has NumPy", name=name)
    globals()[name] = value = _offered_for(value)
    return value


def __dir__() -> list[str]:
    return sorted(name for name, value in vars(_np).items() if name[0] != "_" and _offered(name, value))


# NumPy loads its own transforms late, too.
_LATE["numpy.fft"] = _functools.partial(_importlib.import_module, "wengert.numpy.fourier")
_MODULES["numpy"] = _sys.modules[__name__]
