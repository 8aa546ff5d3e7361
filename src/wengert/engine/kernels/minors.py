"""The cofactors of square matrices, singular ones included."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]


def cofactors(a: Array) -> Array:
    """Return ``det(A) A^-T`` of stacked matrices, and of a singular one its limit, by singular values.

    With ``A = U diag(s) V^H`` these are ``det(U) det(V^H) conj(U) diag(p) conj(V^H)``, where p_i is the product of the
    singular values but s_i.

    Example:
        >>> cofactors(np.array([[1.0, 2.0], [2.0, 4.0]])).round(12)
        array([[ 4., -2.],
               [-2.,  1.]])
    """
    rows = a.shape[-1]
    size = np.max(np.abs(a), axis=(-2, -1), keepdims=True, initial=0.0)
    size = np.exp2(np.floor(np.log2(np.where((size > 0) & np.isfinite(size), size, 1.0))))
    a = a / size  # the determinant may be too large or too small for a number where the cofactors are not
    determinant = np.linalg.det(a)
    is_singular = determinant == 0
    regular = np.where(is_singular[..., None, None], np.eye(rows, dtype=a.dtype), a)
    result = determinant[..., None, None] * np.swapaxes(np.linalg.inv(regular), -1, -2)
    if np.any(is_singular):
        result[is_singular] = _of_singular(a[is_singular])
    half = max(rows - 1, 0) // 2
    return (result * size**half * size ** (max(rows - 1, 0) - half)).astype(result.dtype, copy=False)


def _of_singular(a: Array) -> Array:
    u, s, vh = np.linalg.svd(a)
    before = np.cumprod(np.concatenate([np.ones_like(s[..., :1]), s[..., :-1]], axis=-1), axis=-1)
    behind = np.cumprod(np.concatenate([np.ones_like(s[..., :1]), s[..., :0:-1]], axis=-1), axis=-1)[
        ..., ::-1
    ]
    sign = (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]
    return sign * (u.conj() * (before * behind)[..., None, :]) @ vh.conj()
