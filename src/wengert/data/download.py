"""Download of files with known checksums."""

from __future__ import annotations

import hashlib
import urllib.request
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO, TypeAlias

from wengert.data.errors import DataError, DataNotFoundError
from wengert.data.idx import unpacked
from wengert.engine.core.files import replacing
from wengert.engine.core.progress import Bar, megabytes

#: Called with the name of the file, the number of bytes received and, if known, the number expected.
Progress: TypeAlias = Callable[[str, int, int | None], None]

_CHUNK = 1 << 16
_LIMIT = 1 << 26  # more than any known file; a server must not fill the disk


@dataclass(frozen=True)
class RemoteFile:
    """A file to download: its name, the last part of its URL, and the SHA-256 of its content in hexadecimal digits.

    The content is unpacked first: it is the same at mirrors that compress differently.
    """

    name: str
    sha256: str

    def matches(self, path: Path) -> bool:
        """Return whether the file at ``path`` has the digest."""
        with unpacked(path) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == self.sha256


def fetch(
    file: RemoteFile,
    mirrors: Sequence[str],
    folder: Path,
    *,
    progress: Progress | None = None,
    timeout: float = 30.0,
) -> Path:
    """Download a file from the first mirror that delivers it whole and unchanged, and return its path.

    A file that is incomplete or has another checksum does not stay in the folder. After ``timeout`` seconds without an
    answer the next mirror is tried. If no mirror delivers the file, `DataNotFoundError` gives a reason for each.
    """
    path = folder / file.name
    failures: list[str] = []
    for mirror in mirrors:
        url = f"{mirror.rstrip('/')}/{file.name}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with replacing(path) as part:
                _copy(url, part, file.name, progress, timeout)
                part.flush()
                if not file.matches(Path(part.name)):
                    raise DataError("the checksum differs: the file was changed or damaged on the way")
            return path
        except (OSError, HTTPException, ValueError) as error:  # ValueError: bad URLs as well as DataError
            failures.append(f"{url}: {error}")
    raise DataNotFoundError("; ".join(failures) or f"{file.name}: no mirror was given")


def _copy(url: str, part: IO[bytes], name: str, progress: Progress | None, timeout: float) -> None:
    with urllib.request.urlopen(url, timeout=timeout) as response:
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else None
        done = 0
        while chunk := response.read(_CHUNK):
            part.write(chunk)
            done += len(chunk)
            if done > _LIMIT:
                raise DataError(f"expected at most {_LIMIT} bytes; got more")
            if progress:
                progress(name, done, total)
    if total is not None and done != total:
        raise DataError(f"expected {total} bytes; got {done} and the end of the connection")


@contextmanager
def shown_progress() -> Generator[Progress, None, None]:
    """Yield a function that shows the progress of each file as a bar, where somebody watches."""
    with ExitStack() as stack:
        bars: dict[str, Bar] = {}

        def report(name: str, done: int, total: int | None) -> None:
            if name not in bars:
                stack.close()  # the file before it is complete
                bars[name] = stack.enter_context(Bar(name, total, write=megabytes))
            bars[name].show(done)

        yield report
