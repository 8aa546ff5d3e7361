"""Products of SciPy's sparse matrices with boxes; the matrices are constants.

This module does not import SciPy: a user with a sparse matrix has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.core.dtypes import check_known
from wengert.engine.core.errors import ShapeError, UnsupportedError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.linalg.sparse_products import sparse_product
from wengert.engine.ops.shape import transpose

#: The hint for a sparse matrix as an argument of a compiled function.
FROM_OUTSIDE = "let the function close over it instead: a sparse matrix is a constant of a compiled function"
#: The function that makes a matrix one of followed elements; `wengert.scipy.sparse` enters it.
FOLLOWED: list[Callable[[Any], Any]] = []
_HOME = "scipy.sparse"
_BOTH_AXES = (1, 0)


def is_sparse(value: Any) -> bool:
    """Return whether a value is a sparse array or matrix of SciPy."""
    scipys = sys.modules.get(_HOME)
    return scipys is not None and scipys.issparse(value)


def refused(operation: str, matrix: Any) -> UnsupportedError:
    """Return the error for an unsupported operation of a sparse matrix and a box."""
    requirement = "inside a transform a sparse matrix supports only the products A @ x and x @ A"
    hint = "write A.toarray(), or s * (A @ x) for a number s"
    return UnsupportedError(message(operation, requirement, _show(matrix), hint))


def times(matrix: Any, x: Any) -> Any:
    """Return ``matrix @ x`` for a vector or a matrix ``x`` inside a transform."""
    _check(matrix, x, f"{_show(matrix)}, {show(x)}")
    return _product(matrix, x, False)


def times_right(x: Any, matrix: Any) -> Any:
    """Return ``x @ matrix``, the transposed matrix times the transposed ``x``."""
    _check(matrix, x, f"{show(x)}, {_show(matrix)}")
    if len(shape_of(x)) == 1:
        return _product(matrix, x, True)
    columns = transpose(x, permutation=_BOTH_AXES)
    return transpose(_product(matrix, columns, True), permutation=_BOTH_AXES)


def star(left: Any, right: Any) -> Any:
    """Return ``left * right``, one of them sparse: the product of matrices, for SciPy's arrays that of elements."""
    matrix, x = (left, right) if is_sparse(left) else (right, left)
    if isinstance(matrix, sys.modules[_HOME].spmatrix) and shape_of(x):
        return times(matrix, x) if matrix is left else times_right(x, matrix)
    if FOLLOWED:
        return FOLLOWED[0](matrix) * x
    raise refused("multiply", matrix)


def _check(matrix: Any, x: Any, got: str) -> None:
    if len(matrix.shape) != 2:
        requirement = "a sparse factor must have two axes"
        hint = "write A[i : i + 1] for one row of A, which keeps both axes, or A.toarray()[i]"
        raise ShapeError(message("matmul", requirement, got, hint))
    if len(shape_of(x)) not in (1, 2):
        requirement = "a sparse matrix multiplies a vector or a matrix"
        hint = (
            "write A.toarray() @ x for more axes" if shape_of(x) else "write x * A.toarray() for a number x"
        )
        raise ShapeError(message("matmul", requirement, got, hint))


def _show(matrix: Any) -> str:
    return f"{type(matrix).__name__} of shape {getattr(matrix, 'shape', ())}"


def _product(matrix: Any, x: Any, transposed: bool) -> Any:
    """Multiply by the stored elements, without a copy: stored columns are the rows of the transposed matrix."""
    by_columns = matrix.format == "csc"
    stored = matrix if by_columns else matrix.tocsr()
    rows, width = matrix.shape[::-1] if by_columns else matrix.shape
    assert len(stored.indptr) == rows + 1
    data = stored.data
    data = data if isinstance(data, Box) else np.asarray(data, check_known("matmul", matrix.dtype))
    return sparse_product(
        x, data, stored.indices, stored.indptr, width=width, transposed=transposed != by_columns
    )


def left_to_box(box: Box, caller: FrameType | None) -> Any:
    """Return an object array for SciPy's ``matrix @ box``, so that the operator of the box applies; None elsewhere.

    SciPy's operators return `NotImplemented` for an operand that NumPy converts to one object, and Python calls the
    operator of the box. `dot` makes the same test before it calls the operator.

    Raises:
        UnsupportedError: another method of a sparse matrix converts the box.
    """
    if caller is None or not _is_scipys(caller) or caller.f_locals.get("other") is not box:
        return None
    names: list[str] = []
    frame: FrameType | None = caller
    while frame is not None and _is_scipys(frame):
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    method = names[-1]
    if method != "dot" and not any(name.startswith("__") for name in names):
        raise refused(method, caller.f_locals.get("self"))
    wrapped = np.empty((1,) if names == ["dot"] else (), object)
    wrapped[(0,) * wrapped.ndim] = box
    return wrapped


def left_of_function(box: Any) -> Any:
    """Return what `left_to_box` does where SciPy calls a function of NumPy's with a box: 1.13 makes it a matrix."""
    if _HOME not in sys.modules or not isinstance(box, Box):
        return None
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_name != "__array_function__":
        frame = frame.f_back
    return left_to_box(box, frame and frame.f_back)


def _is_scipys(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__", "").startswith(_HOME)
