"""Functions of matrices by Schur's form, which SciPy computes: NumPy has no Schur form.

SciPy loads when the first of them is called.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from wengert.engine.core.errors import MissingExtraError, message

Array: TypeAlias = np.ndarray[Any, Any]


def scipy_linalg(operation: str) -> Any:
    """Return `scipy.linalg`, or raise an error that says what needs it."""
    try:
        from scipy import linalg
    except ImportError:
        requirement = "SciPy computes this, and is not installed"
        raise MissingExtraError(message(operation, requirement, hint="pip install scipy")) from None
    return linalg


def _each(function: Callable[[Array], Array], a: Array) -> Array:
    """Apply a function to each of stacked matrices."""
    a = a.astype(np.result_type(a, np.float64))
    result = np.empty_like(a)
    for position in np.ndindex(a.shape[:-2]):
        value = _called(function, a[position]) if a.shape[-1] else a[position]
        if value.dtype.kind == "c" and a.dtype.kind == "f":
            if not np.allclose(value.imag, 0, atol=1e3 * np.finfo(a.dtype).eps * np.max(np.abs(value))):
                requirement = "the principal value of a real matrix with eigenvalues <= 0 is not real"
                raise np.linalg.LinAlgError(f"{requirement}; pass a.astype(complex)")
            value = value.real
        result[position] = value
    return result


def _called(function: Callable[[Array], Array], a: Array) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message=".*singular")
        try:
            return function(a)
        except Warning as problem:
            raise np.linalg.LinAlgError(str(problem).rstrip(".")) from None


def root(a: Array) -> Array:
    """Return the principal square roots of stacked matrices.

    Example:
        >>> root(np.array([[4.0, 0.0], [0.0, 9.0]]))
        array([[2., 0.],
               [0., 3.]])
    """
    return _each(scipy_linalg("sqrtm").sqrtm, a)


def logarithm(a: Array) -> Array:
    """Return the principal logarithms of stacked matrices.

    Example:
        >>> logarithm(np.array([[1.0, 1.0], [0.0, 1.0]]))
        array([[0., 1.],
               [0., 0.]])
    """
    return _each(scipy_linalg("logm").logm, a)


def sylvester(a: Array, b: Array, q: Array) -> Array:
    """Return x with ``a x + x b = q`` for stacked matrices with the same leading axes.

    Example:
        >>> sylvester(np.array([[1.0]]), np.array([[2.0]]), np.array([[6.0]]))
        array([[2.]])
    """
    result = np.empty(q.shape, np.result_type(a, b, q, np.float64))
    for position in np.ndindex(q.shape[:-2]):
        if result[position].size:
            result[position] = scipy_linalg("solve_sylvester").solve_sylvester(
                *(x[position].astype(result.dtype) for x in (a, b, q))
            )
    return result
