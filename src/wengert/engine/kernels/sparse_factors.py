"""Solutions with sparse matrices in CSR format, by SciPy's SuperLU; the last factors are kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, cast

import numpy as np

from wengert.engine.core.errors import MissingExtraError, message
from wengert.engine.kernels.sparse import inside

_KEPT = 4
"""The number of factors that stay: a derivative of a solution has the matrix of the solution, or its transpose."""
_factors: OrderedDict[bytes, Any] = OrderedDict()
_lock = threading.Lock()


def solution(b: Any, data: Any, columns: Any, pointers: Any, *, transposed: bool) -> Any:
    """Return x with ``A x = b``, or with ``A^T x = b``; half precision is solved in single.

    Raises:
        OutOfRangeError: a column or a row lies outside of the matrix.
        LinAlgError: the matrix is singular.
    """
    are_floats = all(np.asarray(x).dtype.kind in "fc" for x in (b, data))
    dtype = np.result_type(b, data) if are_floats else np.result_type(b, data, np.float64)
    working = np.promote_types(dtype, np.float32)
    count = len(pointers) - 1
    if not np.size(b):
        return np.zeros(np.shape(b), dtype)
    right = np.asarray(b, working).reshape(count, -1)
    factor = _factor(np.asarray(data, working), columns, pointers)
    result = factor.solve(np.asfortranarray(right), trans="N" if transposed else "T")
    return result.reshape(np.shape(b)).astype(dtype, copy=False)


def _factor(data: Any, columns: Any, pointers: Any) -> Any:
    """Return the factor of the transposed matrix, whose CSC format is the CSR format of the matrix."""
    key = _digest(data, columns, pointers)
    with _lock:
        if key in _factors:
            _factors.move_to_end(key)
            return _factors[key]
    factor = _factorise(data, columns, pointers)
    with _lock:
        _factors[key] = factor
        while len(_factors) > _KEPT:
            _factors.popitem(last=False)
    return factor


def _digest(*arrays: Any) -> bytes:
    import hashlib  # loads OpenSSL, which takes as long as ten modules of ours

    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


def _factorise(data: Any, columns: Any, pointers: Any) -> Any:
    try:
        import scipy.sparse
        from scipy.sparse import linalg
    except ImportError:
        requirement = "SciPy factorises sparse matrices, and is not installed"
        raise MissingExtraError(message("sparse_solve", requirement, hint="pip install scipy")) from None
    count = len(pointers) - 1
    columns, pointers = inside("sparse_solve", columns, pointers, count)
    matrix = cast("Any", scipy.sparse).csc_array((data, columns, pointers), shape=(count, count), copy=True)
    try:
        return cast("Any", linalg).splu(matrix)
    except RuntimeError as problem:
        raise np.linalg.LinAlgError(f"the sparse matrix is singular ({problem})") from None
