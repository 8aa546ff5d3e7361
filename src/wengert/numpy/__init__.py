"""NumPy's names, for programs inside transforms.

NumPy's own functions work on boxes, because boxes answer NumPy's protocols: the implementations are here, one family a
file, composed of primitives, and this module offers NumPy's functions that have one. What NumPy cannot
dispatch - making arrays: `array`, `zeros`, `arange` and so on - it offers itself. Inside a transform these return
arrays into which boxes can be written.

The rest of NumPy has its names here as well, `wengert.numpy.linalg`, `wengert.numpy.random` and `wengert.numpy.fft`
among them, so that a program imports this module in NumPy's place. What `dir` lists works on boxes.

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

import sys
from typing import Any

import numpy as _np

from wengert.array.array import Array as _Array
from wengert.numpy import (
    decompositions as decompositions,
)
from wengert.numpy import (
    diagonals as diagonals,
)
from wengert.numpy import (
    differences as differences,
)
from wengert.numpy import (
    einstein as einstein,
)
from wengert.numpy import (
    elementary as elementary,
)
from wengert.numpy import (
    histograms as histograms,
)
from wengert.numpy import (
    joining as joining,
)
from wengert.numpy import (
    linalg as linalg,
)
from wengert.numpy import (
    linear as linear,
)
from wengert.numpy import (
    matrices as matrices,
)
from wengert.numpy import (
    methods as methods,
)
from wengert.numpy import (
    norms as norms,
)
from wengert.numpy import (
    padding as padding,
)
from wengert.numpy import (
    polynomials as polynomials,
)
from wengert.numpy import (
    queries as queries,
)
from wengert.numpy import (
    reducing as reducing,
)
from wengert.numpy import (
    selecting as selecting,
)
from wengert.numpy import (
    shaping as shaping,
)
from wengert.numpy import (
    sorting as sorting,
)
from wengert.numpy import (
    statistics as statistics,
)
from wengert.numpy import (
    windows as windows,
)
from wengert.numpy import (
    writing as writing,
)
from wengert.numpy.creation import (
    arange as arange,
)
from wengert.numpy.creation import (
    array as array,
)
from wengert.numpy.creation import (
    asarray as asarray,
)
from wengert.numpy.creation import (
    copy as copy,
)
from wengert.numpy.creation import (
    empty as empty,
)
from wengert.numpy.creation import (
    empty_like as empty_like,
)
from wengert.numpy.creation import (
    eye as eye,
)
from wengert.numpy.creation import (
    full as full,
)
from wengert.numpy.creation import (
    full_like as full_like,
)
from wengert.numpy.creation import (
    geomspace as geomspace,
)
from wengert.numpy.creation import (
    identity as identity,
)
from wengert.numpy.creation import (
    linspace as linspace,
)
from wengert.numpy.creation import (
    logspace as logspace,
)
from wengert.numpy.creation import (
    meshgrid as meshgrid,
)
from wengert.numpy.creation import (
    ones as ones,
)
from wengert.numpy.creation import (
    ones_like as ones_like,
)
from wengert.numpy.creation import (
    tri as tri,
)
from wengert.numpy.creation import (
    zeros as zeros,
)
from wengert.numpy.creation import (
    zeros_like as zeros_like,
)
from wengert.numpy.index_tricks import (
    c_ as c_,
)
from wengert.numpy.index_tricks import (
    r_ as r_,
)
from wengert.numpy.selecting import (
    take as take,  # NumPy's dispatches on the array alone, not on traced positions
)
from wengert.numpy.sequences import is_dispatched as _is_dispatched
from wengert.numpy.sequences import offered_for as _offered_for

newaxis = None

#: What needs no dispatch: constants, types, functions of plain values alone, and what `wengert.numpy` states itself.
_PLAIN = frozenset(
    {
        *("pi", "e", "inf", "nan", "newaxis", "linalg", "ndarray", "dtype", "finfo", "iinfo", "isdtype"),
        *(
            "issubdtype",
            "promote_types",
            "isscalar",
            "errstate",
            "broadcast_shapes",
            "s_",
            "r_",
            "c_",
            "index_exp",
            "ix_",
        ),
        *("indices", "ndindex", "ndenumerate", "tril_indices", "triu_indices", "diag_indices"),
        *("unravel_index", "ravel_multi_index"),
    }
)


def _offered(name: str, value: Any) -> bool:
    if isinstance(value, type):
        real = issubclass(value, (_np.number, _np.bool_)) and not issubclass(value, _np.complexfloating)
        return real or name in _PLAIN
    return _is_dispatched(value) or name in _PLAIN


def __getattr__(name: str) -> Any:
    """Return what NumPy has of a name: what is not in `dir` works on plain arrays, and raises an error on boxes."""
    value = None if name.startswith("_") else getattr(_np, name, None)
    if value is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}, and NumPy has none", name=name)
    globals()[name] = value = _offered_for(value)
    return value


def __dir__() -> list[str]:
    return sorted(name for name, value in vars(_np).items() if name[0] != "_" and _offered(name, value))


_Array.namespace = sys.modules[__name__]
