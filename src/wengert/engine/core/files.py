"""Atomic replacement of files."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
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


def replace_all(contents: Mapping[Path, bytes]) -> list[Path]:
    """Write files beside their places, and replace those only when all are written; return the paths.

    Folders are made as needed. If a file cannot be written, all places stay as they were.
    """
    with ExitStack() as stack:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            stream = stack.enter_context(replacing(path))
            stream.write(content)
            stream.flush()
    return [*contents]
