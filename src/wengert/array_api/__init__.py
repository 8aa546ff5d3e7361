"""The Python array API standard, version 2024.12, for values inside transforms.

`__array_namespace__` of a box returns this module. It has every function, dtype and constant of the standard, and its
extensions `linalg` and `fft`, under the standard's signatures. Results are boxes, also of numbers and of plain arrays.
The constants among them convert to NumPy's arrays with `np.asarray`.

Example:
    >>> import wengert as wg
    >>> def entropy(p):
    ...     xp = p.__array_namespace__()
    ...     return -xp.sum(p * xp.log(p))
    >>> wg.grad(entropy)(np.array([0.5, 0.5])).round(4)
    array([-0.3069, -0.3069])

Source:
    Consortium for Python Data API Standards, "Python array API standard", version 2024.12,
    https://data-apis.org/array-api/2024.12.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.array_api import fft as fft
from wengert.array_api import functions as _functions
from wengert.array_api import inspection as _inspection
from wengert.array_api import linalg as linalg
from wengert.array_api import special as special
from wengert.array_api.standard import others_of as _others_of
from wengert.engine.array.array import API_VERSIONS as _API_VERSIONS

__array_api_version__ = _API_VERSIONS[-1]
_DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
_CONSTANTS = "e inf nan newaxis pi"
_TABLE: dict[str, Any] = {
    **_functions.TABLE,
    **_inspection.TABLE,
    **{name: np.dtype(name).type for name in _DTYPES.split()},
    **{name: getattr(np, name) for name in _CONSTANTS.split()},
}
globals().update(_TABLE)
__all__ = [*sorted(_TABLE), "__array_api_version__", "fft", "linalg"]  # pyright: ignore[reportUnsupportedDunderAll]
__dir__ = __all__.copy
__getattr__ = _others_of(__name__)
