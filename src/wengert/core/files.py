"""Atomic replacement of files."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path) -> Generator[IO[bytes], None, None]:
    """Open a temporary file that atomically replaces ``path`` when the block ends.

    If the block raises, on Ctrl-C too, the temporary file is removed and ``path`` stays as it was.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(temporary, "xb") as stream:
            yield stream
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
