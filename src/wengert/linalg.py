"""Functions of symmetric matrices whose derivatives stay exact where eigenvalues lie close together.

The derivative of an eigenvector divides by the gap to its neighbours. That of a projector, or of a function of the
matrix, does not: it needs divided differences of the function, which have no pole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.control.custom_derivatives import custom_jvp
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.arithmetic import size_to_compare
from wengert.engine.ops.comparison import equal, greater_equal, less, logical_and, where
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.linalg.square import adjoint, multiply, symmetric
from wengert.engine.ops.reduction import reduce_max
from wengert.engine.ops.shape import reshape
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.engine.transforms.forward_mode import jvp

__all__ = ["matrix_function", "spectral_projector"]
__dir__ = __all__.copy

#: The points and weights of Gauss's quadrature on [0, 1], which integrates slopes over small gaps.
_POINTS, _WEIGHTS = (
    (rule + shift) / 2 for rule, shift in zip(np.polynomial.legendre.leggauss(6), (1, 0), strict=True)
)
#: The gap, relative to the largest eigenvalue, from which on the quotient of differences is used.
_FAR = 0.01


def spectral_projector(a: Any, low: float, high: float) -> Any:
    """Return the projector on the eigenvectors of a symmetric matrix with eigenvalues in ``[low, high)``.

    Its derivative is exact however close the eigenvalues inside lie to each other; it needs a gap at the two ends.

    Args:
        a: symmetric or Hermitian matrices, in the last two axes.
        low: the least eigenvalue that counts.
        high: the eigenvalue from which on none counts.

    Returns:
        Matrices of the shape of ``a``.

    Example:
        >>> import wengert as wg
        >>> spectral_projector(np.diag([1.0, 1.0, 3.0]), 0.0, 2.0)
        array([[1., 0., 0.],
               [0., 1., 0.],
               [0., 0., 0.]])
    """

    def chosen(values: Any) -> Any:
        inside = logical_and(greater_equal(values, low), less(values, high))
        return cast(inside, dtype=dtype_of(values))

    def differences(values: Any, results: Any) -> Any:
        (w, v), (f, g) = _pairs(values), _pairs(results)
        same = equal(f, g)
        return where(same, 0.0, (f - g) / where(same, 1.0, w - v))

    return _spectral(chosen, differences, a)


@with_callbacks
def matrix_function(f: Callable[[Any], Any], a: Any) -> Any:
    """Return ``V f(w) V^H`` for a symmetric matrix with eigenvalues w and eigenvectors V.

    Its derivative has divided differences of ``f``, which are exact where eigenvalues are equal or close together.

    Args:
        f: a smooth elementwise function of real numbers, which closes over no followed values.
        a: symmetric or Hermitian matrices, in the last two axes.

    Returns:
        Matrices of the shape of ``a``.

    Example:
        >>> matrix_function(np.sqrt, np.array([[2.0, 0.0], [0.0, 9.0]])).round(4)
        array([[1.4142, 0.    ],
               [0.    , 3.    ]])
    """

    def differences(values: Any, results: Any) -> Any:
        (w, v), (at_w, at_v) = _pairs(values), _pairs(results)
        gap = w - v
        scale = reshape(
            reduce_max(size_to_compare(values), axes=(len(shape_of(values)) - 1,)),
            shape=(*shape_of(values)[:-1], 1, 1),
        )
        near = less(size_to_compare(gap), _FAR * scale) | equal(gap, 0)
        mean = 0.0 * gap
        for point, weight in zip(_POINTS.tolist(), _WEIGHTS.tolist(), strict=True):
            place = where(near, v + point * gap, v)
            mean = mean + weight * jvp(f, (place,), (0.0 * place + 1.0,))[1]
        return where(near, mean, (at_w - at_v) / where(near, 1.0, gap))

    return _spectral(f, differences, a)


def _pairs(x: Any) -> tuple[Any, Any]:
    """Return a row of numbers as rows and as columns of a matrix."""
    shape = shape_of(x)
    whole = (*shape, shape[-1])
    ones = np.ones(whole[-2:], dtype_of(x))
    return reshape(x, shape=(*shape, 1)) * ones, reshape(x, shape=(*shape[:-1], 1, shape[-1])) * ones


def _spectral(f: Callable[[Any], Any], differences: Callable[[Any, Any], Any], a: Any) -> Any:
    """Return a function of symmetric matrices, whose derivative takes the divided differences of the function."""

    @custom_jvp
    def function(a: Any) -> Any:
        values, vectors = np.linalg.eigh(a)
        return multiply(vectors * f(values)[..., None, :], adjoint(vectors))

    def rule(primals: Any, tangents: Any) -> Any:
        values, vectors = np.linalg.eigh(primals[0])
        results = f(values)
        turned = multiply(adjoint(vectors), multiply(symmetric(tangents[0], "L"), vectors))
        change = differences(values, results) * turned
        value = multiply(vectors * results[..., None, :], adjoint(vectors))
        return value, multiply(multiply(vectors, change), adjoint(vectors))

    function.defjvp(rule)
    return function(a)
