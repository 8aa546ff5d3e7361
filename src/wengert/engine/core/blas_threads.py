"""The number of threads of the OpenBLAS that NumPy and SciPy contain."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
from pathlib import Path
from typing import Any

from wengert.engine.core.named_tuples import NamedTuple


class ThreadNumber(NamedTuple):
    """The functions of one OpenBLAS, of a package's own build, for its number of threads."""

    get: Any
    """``() -> int``."""
    set: Any
    """``(int) -> None``. It stores the number, for all threads of the process."""


PACKAGES = "scipy", "numpy"
"""The packages whose wheels contain an OpenBLAS."""
#: The names of the functions: SciPy's before version 1.15 have no prefix.
_FORMS = "scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads"


@functools.cache
def thread_number(package: str) -> ThreadNumber | None:
    """Return the functions for the OpenBLAS in NumPy's or SciPy's wheel; None for another build of the package.

    Example:
        >>> number = thread_number("numpy")
        >>> number is None or number.get() >= 1
        True
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.origin:
        return None
    folder = Path(spec.origin).parent
    beside = folder.with_name(f"{package}.libs")
    for path in (*beside.glob("*openblas*"), *folder.glob(".dylibs/*openblas*")):
        try:
            library = ctypes.CDLL(
                str(path)
            )  # the package has loaded it, or will: this opens the same library
        except OSError:
            continue
        for form in _FORMS:
            names = (form.format(verb) for verb in ("get", "set"))
            get, set_ = (getattr(library, name, None) for name in names)
            if get is not None and set_ is not None:
                get.restype, set_.argtypes, set_.restype = ctypes.c_int, (ctypes.c_int,), None
                return ThreadNumber(get, set_)
    return None


def limit_blas(threads: int = 1) -> None:
    """Limit NumPy's bundled OpenBLAS to some threads, unless an environment variable sets the number.

    The products of a training step are small. A second thread hardly helps on an idle machine; if it has to wait for a
    processor, a step takes ten times as long. Other builds of NumPy are unchanged.
    """
    if not {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"}.isdisjoint(os.environ):
        return
    if number := thread_number("numpy"):
        number.set(threads)
