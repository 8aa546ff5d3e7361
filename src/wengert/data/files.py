"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path) -> Generator[IO[bytes], None, None]:
    """Open a temporary file that takes the place of ``path`` when the block ends.

    The two lie in one folder, so that the replacement is atomic. Where the block raises, Ctrl-C included,
    the temporary file is removed and ``path`` is as it was.

    Args:
        path: The file to create or to replace; its folder must exist.

    Yields:
        The temporary file, open for writing bytes.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(temporary, "xb") as stream:
            yield stream
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
