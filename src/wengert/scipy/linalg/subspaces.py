"""Orthonormal bases of ranges and null spaces, under SciPy's names.

A basis of a space is not unique, and neither is its derivative. Here the basis for a matrix nearby is the orthonormal
one nearest to the basis that SciPy's function returns: it turns as little as possible, and functions that do not depend
on the choice of a basis have their exact derivatives, of all orders. The rank stays the same nearby.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.core.dtypes import dtype_of, real_dtype
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import type_of
from wengert.engine.ops.linalg import matrix_functions
from wengert.engine.ops.linalg.square import check_matrices, multiply
from wengert.numpy import linear_algebra as numpys
from wengert.numpy.registry import is_box
from wengert.scipy.linalg.equations import checked
from wengert.scipy.registry import number


def _parts(operation: str, a: Any, rcond: Any) -> tuple[Any, int, Any, float]:
    """Return the singular vectors of a known matrix, its rank, and the tolerance for its singular values."""
    matrix = np.asarray(number(operation, "the matrix, whose rank is the size of the result,", a))
    left, values, right = np.linalg.svd(matrix)
    relative = np.finfo(values.dtype).eps * max(matrix.shape) if rcond is None else float(rcond)
    return left, int(np.sum(values > np.max(values, initial=0.0) * relative)), right, relative


def _nearest(space: Any, basis: Any) -> Any:
    """Return the orthonormal basis of the space of a projection that is nearest to a basis of a space nearby."""
    return matrix_functions.polar(multiply(space, np.ascontiguousarray(basis)))


@substitutes("scipy.linalg.null_space")
def null_space(
    A: Any,
    rcond: Any = None,
    *,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = None,
) -> Any:
    """Return an orthonormal basis of the vectors x with ``A x = 0``, which turns as little as possible with A.

    ``A``: a matrix with known elements.

    Raises:
        ConcreteError: the elements are not known, as in `wg.jit`: the number of columns depends on them.

    Example:
        >>> abs(null_space(np.array([[1.0, 1.0]]))).round(3)
        array([[0.707],
               [0.707]])
    """
    (a,) = checked("null_space", check_finite, A)
    check_matrices("null_space", type_of(a))
    _, rank, right, relative = _parts("null_space", a, rcond)
    basis = np.conj(right[rank:].T)
    if not is_box(a) or not basis.size:
        return basis
    inside = multiply(numpys.pinv(a, relative), a)
    return _nearest(np.eye(shape_of(a)[1], dtype=real_dtype(dtype_of(a))) - inside, basis)


@substitutes("scipy.linalg.orth")
def orth(A: Any, rcond: Any = None) -> Any:
    """Return an orthonormal basis of the range of a matrix, which turns as little as possible with it.

    ``A``: a matrix with known elements.

    Raises:
        ConcreteError: the elements are not known, as in `wg.jit`: the number of columns depends on them.

    Example:
        >>> abs(orth(np.array([[3.0], [4.0]]))).round(6)
        array([[0.6],
               [0.8]])
    """
    (a,) = checked("orth", False, A)
    check_matrices("orth", type_of(a))
    left, rank, _, relative = _parts("orth", a, rcond)
    basis = left[:, :rank]
    if not is_box(a) or not basis.size:
        return basis
    return _nearest(multiply(a, numpys.pinv(a, relative)), basis)
