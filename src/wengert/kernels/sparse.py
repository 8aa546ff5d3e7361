"""Products with a sparse matrix in CSR format: by SciPy where it is loaded, as with any sparse matrix, or by NumPy."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

_SINGLE = np.dtype(np.float32)


def product(x: Any, data: Any, columns: Any, pointers: Any, width: int, transposed: bool) -> Any:
    """Return the product of a matrix, or of its transpose, and an array; half precision is summed in single.

    Args:
        x: an array, whose first axis is summed over.
        data: the elements, row after row.
        columns: the column of each element.
        pointers: the start of each row, and the end of the last one.
        width: the number of columns.
        transposed: whether the matrix is transposed.
    """
    dtype = np.result_type(x, data)
    working = _SINGLE if dtype.kind == "f" and dtype.itemsize == 2 else dtype
    scipys = sys.modules.get("scipy.sparse")
    multiply = of_numpy if scipys is None else _of_scipy
    result = multiply(np.asarray(x, working), np.asarray(data, working), columns, pointers, width, transposed)
    return result if working == dtype else result.astype(dtype)


def _of_scipy(x: Any, data: Any, columns: Any, pointers: Any, width: int, transposed: bool) -> Any:
    matrix = sys.modules["scipy.sparse"].csr_array(
        (data, columns, pointers), shape=(len(pointers) - 1, width)
    )
    matrix = matrix.T if transposed else matrix
    rest = x.shape[1:]
    result = matrix @ (x if len(rest) < 2 else x.reshape(len(x), math.prod(rest)))
    return result.reshape(matrix.shape[0], *rest)


def of_numpy(x: Any, data: Any, columns: Any, pointers: Any, width: int, transposed: bool) -> Any:
    """Return the product by NumPy alone."""
    rows = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
    read, written = (rows, columns) if transposed else (columns, rows)
    result = np.zeros((width if transposed else len(pointers) - 1, *x.shape[1:]), x.dtype)
    np.add.at(result, written, data.reshape(-1, *(1,) * (x.ndim - 1)) * x[read])
    return result
