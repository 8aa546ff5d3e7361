"""Routines of BLAS and LAPACK that NumPy does not offer, from SciPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


@functools.cache
def routine(name: str, dtype: str) -> Callable[..., Any] | None:
    """Return a routine of BLAS or LAPACK for a dtype, given by its character; None where SciPy is not installed."""
    try:
        from scipy.linalg import blas, lapack
    except ImportError:
        return None
    library = blas if name in ("trsm", "trmm") else lapack
    return getattr(library, _LETTERS[dtype] + name)


_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
