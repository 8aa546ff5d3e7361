"""Linear equations with a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.linalg.sparse_solution import sparse_solve


def solve(matrix: Any, b: Any, *, data: Any = None) -> Any:
    """Solve ``A x = b`` with a sparse matrix, by SciPy's `splu`.

    The factor is kept, so that reverse mode solves ``A^T l = c`` without another one.

    Args:
        matrix: a square sparse array or matrix of SciPy; a constant.
        b: the right side: an array whose first axis has an element for each row.
        data: elements in place of ``matrix.data``, for derivatives by the matrix: in the order of ``matrix.tocsr()``.

    Returns:
        x, of the shape of ``b``.

    Raises:
        ArgumentError: the matrix is not sparse.
        ShapeError: the matrix is not square, or does not fit ``b``, or ``data`` does not fit the matrix.
        MatrixError: the matrix is singular.

    Example:
        >>> import numpy as np, scipy.sparse, wengert as wg
        >>> A = scipy.sparse.csr_array(np.array([[2.0, 1.0], [0.0, 4.0]]))
        >>> solve(A, np.array([4.0, 8.0]))
        array([1., 2.])
        >>> wg.grad(lambda data: np.sum(solve(A, np.array([4.0, 8.0]), data=data)))(A.data)
        array([-0.5 , -1.  , -0.25])
    """
    if not hasattr(matrix, "tocsr"):
        requirement = "the matrix must be a sparse array of SciPy"
        hint = "use np.linalg.solve for a dense one"
        got = show(matrix) if hasattr(matrix, "shape") else f"a {type(matrix).__name__}"
        raise ArgumentError(message("sparse.solve", requirement, got, hint))
    rows = matrix.tocsr()
    if rows.shape[0] != rows.shape[1]:
        raise ShapeError(message("sparse.solve", "the matrix must be square", str(rows.shape)))
    elements = rows.data if data is None else data
    if shape_of(elements) != rows.data.shape:
        requirement = f"data must have the {len(rows.data)} elements of matrix.tocsr()"
        raise ShapeError(message("sparse.solve", requirement, show(elements)))
    b = b if isinstance(b, Box) else np.asarray(b)
    columns, pointers = (np.asarray(x, np.int64) for x in (rows.indices, rows.indptr))
    return sparse_solve(b, elements, columns, pointers, transposed=False)
