"""`scipy.sparse.linalg` for values inside transforms: equations with a sparse matrix, by SciPy's `splu`.

Example:
    >>> import numpy as np, scipy.sparse, wengert as wg
    >>> A = scipy.sparse.csc_array(np.array([[2.0, 1.0], [0.0, 4.0]]))
    >>> wg.grad(lambda b: np.sum(spsolve(A, b)))(np.array([4.0, 8.0]))
    array([0.5  , 0.125])
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import enter_caller
from wengert.engine.core.errors import ShapeError, UnsupportedError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.linalg.sparse_solution import sparse_solve
from wengert.engine.ops.shape import reshape
from wengert.numpy.registry import rank_of
from wengert.scipy.registry import floats, others_of
from wengert.scipy.sparse.matrices import is_followed, is_sparse, known, of

__all__ = ["factorized", "spsolve"]
__dir__ = __all__.copy
__getattr__ = others_of(__name__)


def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """Return x with ``A x = b``; the elements of the matrix and the right side have derivatives.

    ``permc_spec`` and ``use_umfpack``: without effect on followed values.

    Raises:
        MatrixError: the matrix is singular, where SciPy warns and returns NaN.
        ShapeError: the matrix is not square, or does not fit b.
        UnsupportedError: b is sparse.
    """
    if not is_followed((A, b)):
        from scipy.sparse import linalg

        return getattr(linalg, "spsolve")(  # noqa: B009 (without a type)
            *known("spsolve", (A, b)), permc_spec, use_umfpack
        )
    if is_sparse(b):
        hint = "write b.toarray()"
        raise UnsupportedError(message("spsolve", "the right side must be an array", hint=hint))
    matrix, b = of(A).summed().tocsr(), floats(b)
    if matrix.shape[0] != matrix.shape[1] or rank_of(b) not in (1, 2) or shape_of(b)[0] != matrix.shape[0]:
        requirement = "a square matrix, and a right side of its rows are required"
        raise ShapeError(message("spsolve", requirement, f"{matrix.shape}, {show(b)}"))
    columns, pointers = (np.asarray(x, np.int64) for x in (matrix.indices, matrix.indptr))
    x = sparse_solve(b, floats(matrix.elements), columns, pointers, transposed=False)
    return reshape(x, shape=shape_of(x)[:1]) if shape_of(x)[1:] == (1,) else x


def factorized(A: Any) -> Callable[[Any], Any]:
    """Return a function that solves ``A x = b`` for b; the factor is kept."""
    return functools.partial(spsolve, A)


enter_caller("scipy.sparse.linalg.spsolve", spsolve)
enter_caller("scipy.sparse.linalg.factorized", factorized)
