"""`np.linalg` of square matrices: inverse, solution of equations, Cholesky factor, determinant."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.array.array import operand
from wengert.core.errors import ShapeError, message
from wengert.core.shapes import shape_of
from wengert.ir.types import show
from wengert.numpy.registry import floating, implements, rank_of
from wengert.ops import linalg
from wengert.ops.linalg import swapped
from wengert.ops.shape import reshape


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    """Return the inverse of square matrices, as `np.linalg.inv`."""
    return linalg.inverse(floating(operand(a)))


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """Solve ``a x = b`` for square matrices, as `np.linalg.solve`; b is a vector only if it has one axis."""
    a, b = floating(operand(a)), floating(operand(b))
    if rank_of(b) != 1:
        return linalg.solve(a, b)
    x = linalg.solve(a, reshape(b, shape=(*shape_of(b), 1)))
    return reshape(x, shape=shape_of(x)[:-1])


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Return the Cholesky factor of positive definite matrices, as `np.linalg.cholesky`.

    Like NumPy, it reads one triangle alone, and so the derivative by the other one is zero.
    """
    a = floating(operand(a))
    return swapped(linalg.cholesky(swapped(a))) if upper else linalg.cholesky(a)


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """Return the determinant of square matrices, as `np.linalg.det`."""
    return linalg.determinant(floating(operand(a)))


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    """Return the sign and the logarithm of the magnitude of the determinant, as `np.linalg.slogdet`."""
    a = floating(operand(a))
    plain: Any = np.linalg.slogdet(np.eye(1))  # NumPy's own kind of pair
    return type(plain)(linalg.determinant_sign(a), linalg.log_determinant(a))


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """Solve a linear system whose unknown is an array, as `np.linalg.tensorsolve` with ``axes=None``."""
    a, b = floating(operand(a)), floating(operand(b))
    count = int(np.prod(shape_of(b)))
    shape = shape_of(a)[rank_of(b) :]
    if axes is not None or int(np.prod(shape)) != count:
        raise ShapeError(
            message("tensorsolve", "a must be square over the axes of b and of the result", show(a, b))
        )
    return reshape(solve(reshape(a, shape=(count, count)), reshape(b, shape=(count,))), shape=shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """Return the inverse of an array as a linear map of arrays, as `np.linalg.tensorinv`."""
    a = floating(operand(a))
    into, of = shape_of(a)[:ind], shape_of(a)[ind:]
    rows, columns = int(np.prod(into)), int(np.prod(of))
    if ind <= 0 or rows != columns:
        raise ShapeError(
            message("tensorinv", f"a must be square over the first {ind} axes and the others", show(a))
        )
    return reshape(linalg.inverse(reshape(a, shape=(rows, columns))), shape=(*of, *into))
