"""An allocator before the C library, in the processes of contestants, that counts the bytes of all requests."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

_SOURCE = Path(__file__).parents[2] / "tests" / "compiler" / "allocation.c"


@contextmanager
def counted() -> Generator[None]:
    """Count the requests of the processes that start meanwhile, on Linux with a C compiler."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ):
        if sys.platform.startswith("linux") and shutil.which("cc"):
            library = f"{folder}/allocation.so"
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, _SOURCE, "-ldl"], check=True)
            os.environ["LD_PRELOAD"] = library
        yield


def requested() -> int | None:
    """Return the bytes that this process has asked for since the first call; None where nothing counts them."""
    library = ctypes.CDLL(None) if os.name == "posix" else None
    if not hasattr(library, "allocation_bytes"):
        return None
    library.allocation_watch(1)
    library.allocation_bytes.restype = ctypes.c_long
    return library.allocation_bytes()
