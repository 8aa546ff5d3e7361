"""The extension `linalg` of the array API standard: NumPy's functions under its signatures.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> from wengert.array_api import linalg
    >>> round(wg.grad(lambda t: linalg.det(t * np.eye(2)))(3.0), 6)
    6.0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.array_api.functions import TABLE as _MAIN
from wengert.array_api.standard import declared, others_of

_SIGNATURES = """
    cholesky(x, /, *, upper=False)
    cross(x1, x2, /, *, axis=-1)
    det(x, /)
    diagonal(x, /, *, offset=0)
    eig(x, /)
    eigh(x, /)
    eigvals(x, /)
    eigvalsh(x, /)
    inv(x, /)
    matrix_norm(x, /, *, keepdims=False, ord="fro")
    matrix_power(x, n, /)
    matrix_rank(x, /, *, rtol=None)
    outer(x1, x2, /)
    pinv(x, /, *, rtol=None)
    qr(x, /, *, mode="reduced")
    slogdet(x, /)
    solve(x1, x2, /)
    svd(x, /, *, full_matrices=True)
    svdvals(x, /)
    trace(x, /, *, offset=0, dtype=None)
    vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
"""


def _trace(x: Any, offset: int = 0, dtype: Any = None) -> Any:
    """Return the sum of the diagonal, small integers summed in the default integers as by `sum`."""
    return np.sum(np.linalg.diagonal(x, offset=offset), axis=-1, dtype=dtype)


_TABLE = {
    **declared(__name__, _SIGNATURES, np.linalg, trace=_trace),
    **{name: _MAIN[name] for name in ("matmul", "matrix_transpose", "tensordot", "vecdot")},
}
globals().update(_TABLE)
__all__ = sorted(_TABLE)  # pyright: ignore[reportUnsupportedDunderAll]
__dir__ = __all__.copy
__getattr__ = others_of(__name__)
