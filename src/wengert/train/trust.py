"""Programs in the folders of runs: only those that the user has trained with, or trusts, may be run.

A run with a user's network holds a copy of its file: a run from somebody else contains a program, and opening the run
starts it. So ``wengert train`` records in the user's state folder which programs it has run.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from wengert.compiler.llvm import disk_cache
from wengert.engine.core.errors import WengertError
from wengert.engine.core.private_files import add_line, make_folder, read_own, state_folder, weakness

_RECORD = "trained-with"
"""A file in the user's state folder with the digest of one program per line."""


class UntrustedError(WengertError, PermissionError):
    """A program in a run's folder that the user has neither trained with nor trusted."""


def require_trust(source: Path, modules: Path, place: str) -> None:
    """Raise `UntrustedError` if this user has not trained with the program: the file, its modules, and its place."""
    digest = _digest(source, modules, place)
    if digest is not None and digest in _known():
        return
    more = f" and {modules}" if modules.exists() else ""
    raise UntrustedError(
        f"{source}: opening the run would run this program, and you have not trained with its present version on "
        f"this machine; read it{more}, and if you trust it, add --trust (trust=True in Python)"
    )


def remember(source: Path, modules: Path, place: str) -> None:
    """Record that this user trains with the program of a run; if that fails, later commands ask for trust."""
    folder, digest = _folder(), _digest(source, modules, place)
    if folder is None or digest is None or digest in _known():
        return
    with contextlib.suppress(OSError):
        make_folder(folder)
        if not weakness(folder):
            add_line(folder / _RECORD, digest)


def _folder() -> Path | None:
    base = state_folder()
    return base and base / "wengert"


def _known() -> set[str]:
    """Return the recorded digests, unless another user could have written them."""
    folder = _folder()
    if folder is None or weakness(folder):
        return set()
    return set((read_own(folder / _RECORD) or b"").decode("ascii", "replace").split())


def _digest(source: Path, modules: Path, place: str) -> str | None:
    """Return the digest of all files that an import could run; None if they are not all plain files and folders."""
    try:
        files = [part for file in _contents(source, modules) for part in file]
        return disk_cache.key("place", place, *files)
    except (OSError, ValueError):
        return None


def _contents(source: Path, modules: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each file with its name, compiled files included: Python may prefer them to the source."""
    yield "source", _plain(source)
    if os.path.lexists(modules):
        for path in sorted((modules, *modules.rglob("*"))):
            if not stat.S_ISDIR(path.lstat().st_mode):
                yield path.relative_to(modules).as_posix(), _plain(path)


def _plain(path: Path) -> bytes:
    if not stat.S_ISREG(path.lstat().st_mode):
        raise ValueError(f"{path} must be a plain file")
    return path.read_bytes()
