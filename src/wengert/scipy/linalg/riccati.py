"""Riccati's algebraic equations, under SciPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.linalg.riccati import riccati
from wengert.numpy.registry import rank_of
from wengert.scipy.linalg.equations import checked
from wengert.scipy.registry import signatures


def _solved(operation: str, discrete: bool, *matrices: Any) -> Any:
    a, b, q, r = (np.atleast_2d(x) for x in checked(operation, True, *matrices[:4]))
    m, n = shape_of(a)[-1], shape_of(b)[-1]
    e, s = (np.zeros(()) if x is None else checked(operation, True, x)[0] for x in matrices[4:])
    e, s = (np.eye(m) if matrices[4] is None else e), s + np.zeros((m, n))
    wanted = ((m, m), (m, n), (m, m), (n, n), (m, m))
    if any(
        rank_of(x) < 2 or shape_of(x)[-2:] != size for x, size in zip((a, b, q, r, e), wanted, strict=True)
    ):
        raise ShapeError(message(operation, "the shapes of the matrices must fit", show(a, b, q, r, e)))
    dtype = np.result_type(*map(dtype_of, (a, b, q, r, e, s)))
    return riccati(*(x.astype(dtype) for x in (a, b, q, r, e, s)), discrete=discrete)


_equations = signatures(
    "scipy.linalg",
    "solve_continuous_are solve_discrete_are(a, b, q, r, e=None, s=None, balanced=True)",
    raises="""
        ShapeError: the shapes do not fit.
        LinAlgError: there is no such solution.""",
)


@_equations
def solve_continuous_are(balanced: bool, **matrices: Any) -> Any:
    """Return the stabilising x with ``a^H x + x a - x b r^-1 b^H x + q = 0``, and its general form with e and s.

    q and r must be Hermitian; derivatives are those in Hermitian directions. ``balanced``: without effect.

    Example:
        >>> solve_continuous_are([[1.0]], [[1.0]], [[3.0]], [[1.0]])
        array([[3.]])
    """
    return _solved("solve_continuous_are", False, *matrices.values())


@_equations
def solve_discrete_are(balanced: bool, **matrices: Any) -> Any:
    """Return the stabilising x with ``a^H x a - x - a^H x b (r + b^H x b)^-1 b^H x a + q = 0``, and its general form.

    q and r must be Hermitian; derivatives are those in Hermitian directions. ``balanced``: without effect.

    Example:
        >>> solve_discrete_are([[0.0]], [[1.0]], [[3.0]], [[1.0]])
        array([[3.]])
    """
    return _solved("solve_discrete_are", True, *matrices.values())
