"""SciPy's functions for values inside transforms, under SciPy's names.

SciPy converts its arguments to plain arrays, so most of its functions cannot follow a derivative. The modules here
have functions of the same names, signatures and meaning, made of Wengert's operations: they work in every transform, on
boxes and on plain arrays. A name that Wengert does not follow is SciPy's own, which loads when it is first used; `dir`
of a module lists the names that are followed.

Docstrings say where a function differs from SciPy's, whose documentation has the parameters and results. Everywhere
``overwrite_*``, ``lapack_driver``, ``driver`` and ``lwork`` have no effect, and ``check_finite`` raises an error for
infinities and NaNs in arrays with known elements alone.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> import wengert.scipy as wsp
    >>> A = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> print(f"{wg.grad(lambda t: wsp.linalg.expm(t * A)[0, 1])(0.0):.1f}")  # cos 0
    1.0
"""

from __future__ import annotations

from wengert.scipy import (
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    signal,
    sparse,
    spatial,
    stats,
)
from wengert.scipy import sequences as _sequences  # pyright: ignore[reportUnusedImport]  # noqa: F401
from wengert.scipy.registry import others_of as _others_of

__all__ = [
    "fft", "integrate", "interpolate", "linalg", "ndimage", "signal", "sparse", "spatial", "stats",
]  # fmt: skip
__dir__ = __all__.copy
__getattr__ = _others_of(__name__)
