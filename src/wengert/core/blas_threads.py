"""The number of threads of NumPy's linear algebra."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import numpy as np


def limit_blas(threads: int = 1) -> None:
    """Limit NumPy's bundled OpenBLAS to some threads, unless an environment variable sets the number.

    The products of a training step are small. A second thread hardly helps on an idle machine; if it has to wait for a
    processor, a step takes ten times as long. Other builds of NumPy are unchanged.
    """
    if not {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"}.isdisjoint(os.environ):
        return
    package = Path(np.__file__).parent
    libraries = (*package.with_name("numpy.libs").glob("*openblas*"), *package.glob(".dylibs/*openblas*"))
    for library in libraries:  # NumPy has loaded it: this opens the same library
        set_threads = getattr(ctypes.CDLL(str(library)), "scipy_openblas_set_num_threads64_", None)
        if set_threads is not None:
            set_threads(threads)
