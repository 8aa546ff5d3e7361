"""Products with a sparse matrix in CSR format: by SciPy where it is loaded, as with any sparse matrix, or by NumPy."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from wengert.engine.core.errors import OutOfRangeError, message

_SINGLE = np.dtype(np.float32)
_MOST_INT32 = 2**31 - 1


def product(x: Any, data: Any, columns: Any, pointers: Any, width: int, transposed: bool) -> Any:
    """Return the product of a matrix, or of its transpose, and an array; half precision is summed in single.

    Raises:
        OutOfRangeError: a column or a row lies outside of the arrays.
    """
    dtype = np.result_type(x, data)
    columns, pointers = inside("sparse_product", columns, pointers, width)
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
    trailing = x.shape[1:]
    result = matrix @ (x if len(trailing) < 2 else x.reshape(len(x), math.prod(trailing)))
    return result.reshape(matrix.shape[0], *trailing)


def of_numpy(x: Any, data: Any, columns: Any, pointers: Any, width: int, transposed: bool) -> Any:
    """Return the product by NumPy alone."""
    rows = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
    read, written = (rows, columns) if transposed else (columns, rows)
    result = np.zeros((width if transposed else len(pointers) - 1, *x.shape[1:]), x.dtype)
    np.add.at(result, written, data.reshape(-1, *(1,) * (x.ndim - 1)) * x[read])
    return result


def inside(operation: str, columns: Any, pointers: Any, width: int) -> tuple[Any, Any]:
    """Return the columns and the ends of the rows in the dtype that SciPy takes; SciPy itself does not check them.

    Raises:
        OutOfRangeError: a column is not below the width, or the rows do not go through all elements.
    """
    count = len(columns)
    low, high = (int(columns.min()), int(columns.max())) if count else (0, -1)
    if low < 0 or high >= width:
        requirement = f"columns must be from 0 up to {width - 1}"
        raise OutOfRangeError(message(operation, requirement, str(low if low < 0 else high)))
    if not len(pointers) or pointers[0] or pointers[-1] != count or (pointers[1:] < pointers[:-1]).any():
        requirement = f"the rows must begin at 0, follow one another and end at {count}"
        raise OutOfRangeError(message(operation, requirement, np.array2string(pointers, threshold=6)))
    dtype = np.int32 if max(width, count) <= _MOST_INT32 else np.int64
    return columns.astype(dtype, copy=False), pointers.astype(dtype, copy=False)
