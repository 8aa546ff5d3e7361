"""Routines of BLAS and LAPACK that NumPy does not offer, from SciPy."""

from __future__ import annotations

import ctypes
import functools
import sys
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
    return getattr(library, LETTERS[dtype] + name)


LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
_MODULES = ("blas", "lapack")


@functools.cache
def is_available() -> bool:
    """Return whether SciPy has the routines as native functions, whose integers are of 32 bits."""
    try:
        return bool(address("dgetrf") and address("dtrsm"))
    except (ImportError, AttributeError, KeyError):
        return False


@functools.cache
def address(name: str) -> int:
    """Return the address of a routine of BLAS or LAPACK, such as ``dgetrf``, from SciPy's Cython modules.

    Raises:
        ImportError: SciPy is not installed.
        KeyError: SciPy has no such routine, or one with integers of another size.
    """
    from scipy import linalg

    modules: Any = linalg
    capsules = {**modules.cython_blas.__pyx_capi__, **modules.cython_lapack.__pyx_capi__}
    signature = _name_of(capsules[name])
    if not signature.startswith(b"void (") or b"int *" not in signature:
        raise KeyError(name)
    return _pointer_in(capsules[name], signature)


def loaded_names() -> set[str]:
    """Return the names of the routines that have an address, once a program has asked for that of one."""
    modules: list[Any] = [sys.modules.get(f"scipy.linalg.cython_{part}") for part in _MODULES]
    return {name for module in modules if module is not None for name in module.__pyx_capi__}


def _prototype(name: str, result: Any, *parameters: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *parameters)((name, ctypes.pythonapi))


_name_of = _prototype("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
_pointer_in = _prototype("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
