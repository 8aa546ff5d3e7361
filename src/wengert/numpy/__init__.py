"""NumPy's names, for programs inside transforms.

NumPy's own functions work on boxes, because boxes answer NumPy's protocols: the implementations are here, one family a
file, composed of primitives, and this module offers NumPy's functions that have one. What NumPy cannot dispatch - making
arrays: `array`, `zeros`, `arange` and so on - it offers itself. Inside a transform these return arrays into which boxes
can be written.

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
from types import ModuleType
from typing import Any

import numpy as _np

from wengert.array import FUNCTIONS as _FUNCTIONS
from wengert.array import Array as _Array
from wengert.numpy import (  # noqa: F401  (they register what they implement)
    differences,
    einstein,
    elementary,
    joining,
    linear,
    methods,
    norms,
    padding,
    queries,
    reducing,
    selecting,
    shaping,
    sorting,
    statistics,
    writing,
)
from wengert.numpy.creation import (  # noqa: F401  (offered under NumPy's names)
    arange,
    array,
    asarray,
    copy,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    geomspace,
    identity,
    linspace,
    logspace,
    meshgrid,
    ones,
    ones_like,
    tri,
    zeros,
    zeros_like,
)
from wengert.ops.elementwise import UFUNCS as _UFUNCS

newaxis = None
#: What needs no dispatch: constants, types, and functions of plain values alone.
_PLAIN = frozenset(
    "pi e inf nan euler_gamma linalg ndarray dtype finfo iinfo isdtype issubdtype promote_types isscalar errstate "
    "broadcast_shapes s_ index_exp ix_ indices ndindex ndenumerate tril_indices triu_indices diag_indices unravel_index "
    "ravel_multi_index".split()
)


def _offered(name: str, value: Any) -> bool:
    if isinstance(value, type):
        return issubclass(value, _np.generic) or name in _PLAIN
    dispatched = callable(value) and (value in _FUNCTIONS or value in _UFUNCS)
    return dispatched or name in _PLAIN


def __getattr__(name: str) -> Any:
    value = None if name.startswith("_") else getattr(_np, name, None)
    if value is None or not _offered(name, value):
        raise AttributeError(
            f"wengert.numpy has no {name!r}: NumPy's own, if it has one, works on plain arrays only"
        )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    own = {name for name, value in globals().items() if not isinstance(value, ModuleType)} - {
        "ModuleType",
        "Any",
        "annotations",
    }
    numpys = {name for name, value in vars(_np).items() if _offered(name, value)}
    return sorted(name for name in own | numpys if not name.startswith("_"))


_Array.namespace = sys.modules[__name__]
