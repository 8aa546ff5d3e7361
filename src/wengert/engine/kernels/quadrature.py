"""The common parts of quadratures of functions of several operands."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from wengert.engine.core.dtypes import FLOAT64, is_float

Array: TypeAlias = np.ndarray[Any, Any]

_RUN = 2048  # elements at a time


@functools.cache  # on first use, because many nodes take longer than the import of the package
def gauss_legendre(count: int) -> tuple[Array, Array]:
    """Return the nodes and weights of Gauss's quadrature on (0, 1).

    Example:
        >>> nodes, weights = gauss_legendre(3)
        >>> print(f"{weights @ nodes**5:.6f}")
        0.166667
    """
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * (nodes + 1), 0.5 * weights


def elementwise(function: Callable[..., Array], *operands: Any, order: Any) -> Any:
    """Evaluate a function of vectors on operands that broadcast, run by run; floats keep their dtype."""
    arrays = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in operands))
    flat = [x.reshape(-1) for x in arrays]
    dtype = np.result_type(*operands)
    result = np.empty(flat[0].size, dtype if is_float(dtype) else FLOAT64)
    with np.errstate(all="ignore"):
        for start in range(0, result.size, _RUN):
            run = slice(start, start + _RUN)
            result[run] = function(*(x[run] for x in flat), order)
    return result.reshape(arrays[0].shape)[()]
