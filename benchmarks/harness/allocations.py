"""An allocator before the C library, in the processes of contestants, that counts the bytes of all requests."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SOURCE = Path(__file__).parents[2] / "tests" / "compiler" / "allocation.c"


@contextmanager
def counted() -> Iterator[bool]:
    """Count the requests of the processes that start meanwhile; yield whether this is possible.

    It needs Linux and a C compiler.
    """
    if not sys.platform.startswith("linux") or shutil.which("cc") is None:
        yield False
        return
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "allocation.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, _SOURCE, "-ldl"], check=True)
        os.environ["LD_PRELOAD"] = str(library)
        try:
            yield True
        finally:
            del os.environ["LD_PRELOAD"]


def requested() -> int | None:
    """Return the bytes that this process has asked for since the first call; None where nothing counts them."""
    library = ctypes.CDLL(None) if os.name == "posix" else None
    if not hasattr(library, "allocation_bytes"):
        return None
    library.allocation_watch(1)
    library.allocation_bytes.restype = ctypes.c_long
    return library.allocation_bytes()
