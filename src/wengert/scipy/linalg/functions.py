"""Functions of square matrices and matrix equations, under SciPy's names.

The derivative of ``f(A)`` in a direction is that of Fréchet: see `wengert.engine.ops.linalg.matrix_functions`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.core.dtypes import is_complex
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import type_of
from wengert.engine.ops.linalg import matrix_functions, square
from wengert.engine.ops.linalg.square import adjoint, check_square, multiply
from wengert.engine.ops.shape import reshape
from wengert.numpy.products import kron
from wengert.scipy.linalg.equations import checked
from wengert.scipy.registry import floats


def _square(operation: str, A: Any) -> Any:
    a = floats(A)
    check_square(operation, type_of(a))
    return a


@substitutes("scipy.linalg.expm")
def expm(A: Any) -> Any:
    """Return the exponential of matrices, ``1 + A + A^2 / 2 + ...``.

    By scaling and squaring of Padé approximants (Al-Mohy and Higham, 2009).

    Raises:
        ShapeError: the matrices are not square.

    Example:
        >>> expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
        array([[1., 1.],
               [0., 1.]])
    """
    return matrix_functions.expm(_square("expm", A))


@substitutes("scipy.linalg.expm_frechet")
def expm_frechet(
    A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """Return the exponential of a matrix, and its derivative in a direction.

    ``method``: without effect.

    Example:
        >>> expm_frechet(np.zeros((1, 1)), np.ones((1, 1)), compute_expm=False)
        array([[1.]])
    """
    a, e = checked("expm_frechet", check_finite, A, E)
    tangent = matrix_functions.expm_tangent(a, e)
    return (matrix_functions.expm(a), tangent) if compute_expm else tangent


@substitutes("scipy.linalg.logm")
def logm(A: Any) -> Any:
    """Return the principal logarithm of matrices.

    The dtype of a result is that of the matrix: the logarithm of a real matrix with eigenvalues on the negative axis is
    complex, and needs a complex matrix.

    Raises:
        MatrixError: a matrix is singular, or the logarithm of a real matrix is not real.

    Example:
        >>> logm(np.array([[1.0, 1.0], [0.0, 1.0]]))
        array([[0., 1.],
               [0., 0.]])
    """
    return matrix_functions.logm(_square("logm", A))


@substitutes("scipy.linalg.sqrtm")
def sqrtm(A: Any) -> Any:
    """Return the principal square root of matrices; the dtype of a result is that of the matrix, as for `logm`.

    The roots. They have a derivative where no two eigenvalues of a root add up to 0.

    Raises:
        MatrixError: the root of a real matrix is not real.

    Example:
        >>> sqrtm(np.array([[4.0, 0.0], [0.0, 9.0]]))
        array([[2., 0.],
               [0., 3.]])
    """
    return matrix_functions.sqrtm(_square("sqrtm", A))


@substitutes("scipy.linalg.fractional_matrix_power")
def fractional_matrix_power(A: Any, t: Any) -> Any:
    """Return the power of a matrix with a real exponent, ``e^(t log A)``; integers are powers by products.

    Raises:
        MatrixError: the logarithm of A does not exist, or is not real.

    Example:
        >>> fractional_matrix_power(np.array([[4.0, 0.0], [0.0, 9.0]]), 0.5).round(6)
        array([[2., 0.],
               [0., 3.]])
    """
    if isinstance(t, (int, float)) and t == int(t):
        return np.linalg.matrix_power(A, int(t))
    a = _square("fractional_matrix_power", A)
    return matrix_functions.expm(t * matrix_functions.logm(a))


# -- circular and hyperbolic functions -------------------------------------------------------------------


def _of_angles(A: Any) -> tuple[Any, Any]:
    """Return the cosine and the sine."""
    ahead = matrix_functions.expm(1j * A)
    if not is_complex(type_of(A).dtype):
        return np.real(ahead), np.imag(ahead)
    behind = matrix_functions.expm(-1j * A)
    return (ahead + behind) * 0.5, (ahead - behind) * -0.5j


@substitutes("scipy.linalg.cosm")
def cosm(A: Any) -> Any:
    """Return the cosine of matrices, by the exponential.

    Example:
        >>> cosm(np.zeros((1, 1)))
        array([[1.]])
    """
    return _of_angles(_square("cosm", A))[0]


@substitutes("scipy.linalg.sinm")
def sinm(A: Any) -> Any:
    """Return the sine of matrices, by the exponential.

    Example:
        >>> sinm(np.zeros((1, 1)))
        array([[0.]])
    """
    return _of_angles(_square("sinm", A))[1]


@substitutes("scipy.linalg.tanm")
def tanm(A: Any) -> Any:
    """Return the tangent of matrices, ``cos(A)^-1 sin(A)``.

    Raises:
        MatrixError: the cosine has no inverse.

    Example:
        >>> tanm(np.zeros((1, 1)))
        array([[0.]])
    """
    return square.solve(*checked("tanm", True, *_of_angles(_square("tanm", A))))


def _hyperbolic(A: Any) -> tuple[Any, Any]:
    ahead, behind = matrix_functions.expm(A), matrix_functions.expm(-A)
    return (ahead + behind) * 0.5, (ahead - behind) * 0.5


@substitutes("scipy.linalg.coshm")
def coshm(A: Any) -> Any:
    """Return the hyperbolic cosine of matrices, by the exponential.

    Example:
        >>> coshm(np.zeros((1, 1)))
        array([[1.]])
    """
    return _hyperbolic(_square("coshm", A))[0]


@substitutes("scipy.linalg.sinhm")
def sinhm(A: Any) -> Any:
    """Return the hyperbolic sine of matrices, by the exponential.

    Example:
        >>> sinhm(np.zeros((1, 1)))
        array([[0.]])
    """
    return _hyperbolic(_square("sinhm", A))[1]


@substitutes("scipy.linalg.tanhm")
def tanhm(A: Any) -> Any:
    """Return the hyperbolic tangent of matrices, ``cosh(A)^-1 sinh(A)``.

    Raises:
        MatrixError: the hyperbolic cosine has no inverse.

    Example:
        >>> tanhm(np.zeros((1, 1)))
        array([[0.]])
    """
    return square.solve(*checked("tanhm", True, *_hyperbolic(_square("tanhm", A))))


# -- equations -------------------------------------------------------------------------------------------


@substitutes("scipy.linalg.solve_sylvester")
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Return x with ``a x + x b = q``.

    Raises:
        ShapeError: the shapes do not fit.

    Example:
        >>> solve_sylvester(np.array([[1.0]]), np.array([[2.0]]), np.array([[6.0]]))
        array([[2.]])
    """
    return matrix_functions.solve_sylvester(floats(a), floats(b), floats(q))


@substitutes("scipy.linalg.solve_continuous_lyapunov", "scipy.linalg.solve_lyapunov")
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Return x with ``a x + x a^H = q``.

    Raises:
        ShapeError: the shapes do not fit.

    Example:
        >>> solve_continuous_lyapunov(np.array([[1.0]]), np.array([[6.0]]))
        array([[3.]])
    """
    a = _square("solve_continuous_lyapunov", a)
    return matrix_functions.solve_sylvester(a, adjoint(a), floats(q))


solve_lyapunov = solve_continuous_lyapunov


@substitutes("scipy.linalg.solve_discrete_lyapunov")
def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """Return x with ``a x a^H - x + q = 0``.

    Raises:
        ShapeError: the shapes do not fit.
        ArgumentError: the method is unknown.

    Example:
        >>> solve_discrete_lyapunov(np.array([[0.5]]), np.array([[3.0]]))
        array([[4.]])
    """
    a, q = checked("solve_discrete_lyapunov", True, a, q)
    check_square("solve_discrete_lyapunov", type_of(a))
    check_square("solve_discrete_lyapunov", type_of(q))
    rows, dtype = shape_of(a)[-1], np.result_type(a.dtype, q.dtype)
    method = ("direct" if rows < 10 else "bilinear") if method is None else str(method).lower()
    if method not in ("direct", "bilinear"):
        requirement = 'method must be "direct", "bilinear" or None'
        raise ArgumentError(message("solve_discrete_lyapunov", requirement, repr(method)))
    if method == "direct":
        matrix = np.eye(rows * rows, dtype=dtype) - kron(a, np.conj(a))
        return reshape(square.solve(matrix, reshape(q, shape=(rows * rows, 1))), shape=(rows, rows))
    # With the Cayley transform b = (a^H - 1) (a^H + 1)^-1, the equation is b^H x + x b = -2 (a + 1)^-1 q (a^H + 1)^-1.
    unit = np.eye(rows, dtype=dtype)
    behind = square.inverse(adjoint(a) + unit)
    b = multiply(adjoint(a) - unit, behind)
    right = multiply(square.solve(a + unit, q), behind) * -2.0
    return matrix_functions.solve_sylvester(adjoint(b), b, right)
