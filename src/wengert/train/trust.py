"""Decides which programs in the folders of runs may be run: those that the user has trained with, or trusts.

A run with a network of the user's holds a copy of his file. Whoever gives away a run gives away a program, and looking
at the run would start it. So `wengert train` keeps a record of what it has run, in the user's own folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from wengert.core.errors import WengertError
from wengert.core.private_files import add_line, make_folder, read_own, state_folder, weakness

_RECORD = "trained-with"
"""A file of the user's state: the digest of a program a line."""


class UntrustedError(WengertError, PermissionError):
    """A program in a run's folder that the user has neither trained with nor trusted."""


def require_trust(source: Path, modules: Path, place: str) -> None:
    """Raise `UntrustedError` where this user has not trained with the program of a run.

    Args:
        source: the run's copy of a user's file.
        modules: the folder with what it imports.
        place: what the settings say of it; the folder there is searched for imports, too.
    """
    digest = _digest(source, modules, place)
    if digest is not None and digest in _known():
        return
    more = f" and {modules}" if modules.exists() else ""
    raise UntrustedError(
        f"{source}: this program would be run, and you have not trained with it here as it is now; "
        f"read it{more}, and if you trust it, say --trust (trust=True in Python)"
    )


def remember(source: Path, modules: Path, place: str) -> None:
    """Record that this user trains with the program of a run; where that fails, the program is not trusted later."""
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
    """Return the digests of the record; none where somebody else could have written it."""
    folder = _folder()
    if folder is None or weakness(folder):
        return set()
    return set((read_own(folder / _RECORD) or b"").decode("ascii", "replace").split())


def _digest(source: Path, modules: Path, place: str) -> str | None:
    """Return the digest of all that the import system could run; None unless that is plain files and folders alone."""
    digest = hashlib.sha256()
    try:
        for name, content in [("place", place.encode()), *_contents(source, modules)]:
            for part in (name.encode(), content):
                digest.update(len(part).to_bytes(8, "little"))
                digest.update(part)
    except (OSError, ValueError):
        return None
    return digest.hexdigest()


def _contents(source: Path, modules: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each file with its place: compiled ones, too, which Python may prefer to their text."""
    yield "source", _plain(source)
    if os.path.lexists(modules):
        for path in sorted((modules, *modules.rglob("*"))):
            if not stat.S_ISDIR(path.lstat().st_mode):
                yield path.relative_to(modules).as_posix(), _plain(path)


def _plain(path: Path) -> bytes:
    if not stat.S_ISREG(path.lstat().st_mode):
        raise ValueError(f"{path} is no plain file")
    return path.read_bytes()
