"""Results of the compiler on disk: the next process does not compute them again."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import struct
import sys
import tempfile
import time
from pathlib import Path

from wengert._version import __version__
from wengert.errors import ArgumentError, message

#: Where the cache is, or ``off``.
VARIABLE = "WENGERT_CACHE"
#: How large it may grow, in bytes or as ``200M`` or ``1G``.
SIZE_VARIABLE = "WENGERT_CACHE_SIZE"

_USUAL_BYTES = 512 << 20
"""How large the cache may grow if nothing is said: a program of a network takes some hundred thousand bytes."""
_MAGIC = b"wengert\0"
"""What every file begins with."""
_FORMAT = 2
"""The number of the layout of a file; it goes up when that changes."""
#: Magic, format, the length of the payload and its digest.
_HEADER = struct.Struct("<8sIQ32s")
#: The size is looked at when so much has been written, in parts of the bound, and at the first writing.
_SELDOM = 16
#: A temporary file so old, in seconds, is from a process that ended before it could rename it.
_ABANDONED = 3600.0


def key(*parts: bytes | str) -> str:
    """Return the key of what depends on all of the parts: SHA-256 over each with its length before it.

    Example:
        >>> key("ab", "c") == key("a", "bc")
        False
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def _digest(name: str, payload: bytes) -> bytes:
    """Return what tells a payload from a damaged one, and from that of another entry."""
    return hashlib.blake2b(payload, digest_size=32, key=name.encode()[:64]).digest()


def _pack(name: str, payload: bytes) -> bytes:
    """Put the header before a payload."""
    return _HEADER.pack(_MAGIC, _FORMAT, len(payload), _digest(name, payload)) + payload


def _unpack(name: str, data: bytes) -> bytes | None:
    """Return the payload of a file, or nothing if a single bit of it is not as it was written."""
    if len(data) < _HEADER.size:
        return None
    magic, version, length, digest = _HEADER.unpack_from(data)
    payload = data[_HEADER.size :]
    sound = (magic, version, length) == (_MAGIC, _FORMAT, len(payload)) and digest == _digest(name, payload)
    return payload if sound else None


class Cache:
    """A folder of entries that are found by key.

    An entry is native code that is run without another look, so that only files of this user count. Nothing here raises
    an error: an entry that cannot be read is missing, and one that cannot be written is made again next time.
    Several processes may use one folder at once.

    Args:
        folder: where the entries are; made at the first writing. Without one there is no cache.
        bound: how many bytes the entries may take; the least recently used ones go first.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     cache = Cache(Path(folder) / "cache")
        ...     cache.put(key("square", "avx2"), b"code")
        ...     cache.get(key("square", "avx2")), cache.get(key("square", "sse2"))
        (b'code', None)
    """

    def __init__(self, folder: Path | None, bound: int = _USUAL_BYTES) -> None:
        self.folder = folder
        self.bound = bound
        self._until_check = 0

    def _path(self, name: str) -> Path | None:
        """Return the file of an entry."""
        return self.folder / f"{name}.bin" if self.folder else None

    def get(self, name: str) -> bytes | None:
        """Return the entry with this key, or nothing. A damaged one is removed."""
        path = self._path(name)
        if path is None:
            return None
        try:
            with path.open("rb") as file:
                if not _is_own(os.fstat(file.fileno())):
                    return None
                payload = _unpack(name, file.read())
        except OSError:
            return None
        with contextlib.suppress(OSError):
            if payload is None:
                path.unlink()
            else:
                os.utime(path)  # what is used stays
        return payload

    def put(self, name: str, payload: bytes) -> None:
        """Write an entry: whole, or not at all."""
        path = self._path(name)
        if path is None:
            return
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(path, _pack(name, payload))
            self._count(len(payload) + _HEADER.size)

    def _count(self, written: int) -> None:
        """Remember that so much was written; now and then see to the bound."""
        self._until_check -= written
        if self._until_check < 0:
            self._until_check = self.bound // _SELDOM
            self.trim()

    def trim(self) -> None:
        """Remove the least recently used entries until the rest keeps within the bound, with room for more."""
        if self.folder is None:
            return
        entries: list[tuple[float, int, str]] = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as files:
            for file in files:
                with contextlib.suppress(OSError):  # another process was faster
                    facts = file.stat(follow_symlinks=False)
                    if file.name.endswith(".bin"):
                        entries.append((facts.st_mtime, facts.st_size, file.path))
                    elif file.name.endswith(".tmp") and facts.st_mtime < time.time() - _ABANDONED:
                        os.unlink(file.path)
        total = sum(size for _, size, _ in entries)
        if total <= self.bound:
            return
        for _, size, path in sorted(entries):
            if total <= self.bound - self.bound // _SELDOM:
                return
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size


def _is_own(facts: os.stat_result) -> bool:
    """Return whether a file is this user's, and no one else may write to it."""
    if not hasattr(os, "geteuid"):
        return True
    return facts.st_uid == os.geteuid() and not facts.st_mode & 0o022


def _write(path: Path, data: bytes) -> None:
    """Write a file under another name, then give it its own in one step."""
    number, temporary = tempfile.mkstemp(
        suffix=".tmp", dir=path.parent
    )  # with permissions for this user alone
    try:
        with open(number, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _user_folder() -> Path | None:
    """Return where programs of this user keep what they can make again."""
    try:
        if sys.platform == "win32":
            return Path(os.environ["LOCALAPPDATA"]) if os.environ.get("LOCALAPPDATA") else None
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches"
        chosen = os.environ.get("XDG_CACHE_HOME", "")
        return Path(chosen) if os.path.isabs(chosen) else Path.home() / ".cache"
    except RuntimeError:  # no home
        return None


def _size(text: str) -> int:
    """Read a size such as ``200M``."""
    match = re.fullmatch(r"(\d+) *([KMG]?)B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ArgumentError(
            message(SIZE_VARIABLE, "must be a number of bytes, or one with K, M or G", repr(text))
        )
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2].upper()]


@functools.cache
def _opened(where: str, size: str, user_folder: Path | None) -> Cache:
    """Return the cache that the environment asks for."""
    bound = _size(size) if size else _USUAL_BYTES
    if where.lower() in ("off", "0", "no", "false"):
        return Cache(None, bound)
    if where:
        return Cache(Path(os.path.expanduser(where)), bound)
    return Cache(user_folder and user_folder / "wengert" / f"{__version__}-{_FORMAT}", bound)


def default() -> Cache:
    """Return the cache of this process, as ``WENGERT_CACHE`` and ``WENGERT_CACHE_SIZE`` ask for it.

    An interpreter that ends has none: Python's ``open`` has gone.
    """
    if sys.is_finalizing():
        return Cache(None)
    return _opened(os.environ.get(VARIABLE, ""), os.environ.get(SIZE_VARIABLE, ""), _user_folder())
