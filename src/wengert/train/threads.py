"""How many threads NumPy's linear algebra takes."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import numpy as np

_CHOICES = {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"}


def one_thread() -> None:
    """Let the linear algebra that NumPy brings along run on one thread, unless the environment says how many.

    The products of a training step are small. A second thread hardly helps on an idle machine, and where it has to wait
    for a processor, a step takes ten times as long. Other builds of NumPy are left as they are.
    """
    if not _CHOICES.isdisjoint(os.environ):
        return
    package = Path(np.__file__).parent
    libraries = (*package.with_name("numpy.libs").glob("*openblas*"), *package.glob(".dylibs/*openblas*"))
    for library in libraries:  # loaded already: this is another name for it
        set_threads = getattr(ctypes.CDLL(str(library)), "scipy_openblas_set_num_threads64_", None)
        if set_threads is not None:
            set_threads(1)
