"""The disk cache: the results of the compiler, for later processes."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import logging
import os
import re
import struct
import sys
import time
from pathlib import Path

from wengert._version import __version__
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.private_files import (
    cache_folder,
    made_secret,
    make_folder,
    read_own,
    secret,
    weakness,
    write_own,
)

#: The environment variable for the folder of the cache, or ``off``.
VARIABLE = "WENGERT_CACHE"
#: The environment variable for its largest size, in bytes or as ``200M`` or ``1G``.
SIZE_VARIABLE = "WENGERT_CACHE_SIZE"

_USUAL_BYTES = 512 << 20
"""The largest size by default: a program of a network takes some hundred thousand bytes."""
_MAGIC = b"wengert\0"
"""The first bytes of every file."""
_FORMAT = 3
"""The version of the layout of a file."""
_SECRET = "key"
"""The file in the folder with the secret that signs entries."""
_log = logging.getLogger("wengert.jit")
#: Magic, format, the length of the payload and its signature.
_HEADER = struct.Struct("<8sIQ32s")
#: The cache is trimmed at the first write, and each time this part of the bound has been written.
_SELDOM = 16
#: Seconds after which a temporary file counts as left behind by a process that ended.
_ABANDONED = 3600.0


def key(*parts: bytes | str) -> str:
    """Return the key of a result that depends on all parts: SHA-256 over each part and its length.

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


def _signature(signed_by: bytes, name: str, payload: bytes) -> bytes:
    """Return HMAC-SHA256 over an entry's name and payload, which requires the secret."""
    made = hmac.new(signed_by, f"{_FORMAT} {name}\0".encode(), "sha256")
    made.update(payload)
    return made.digest()


def _pack(signed_by: bytes, name: str, payload: bytes) -> bytes:
    """Return a payload behind its header."""
    return _HEADER.pack(_MAGIC, _FORMAT, len(payload), _signature(signed_by, name, payload)) + payload


def _unpack(signed_by: bytes, name: str, data: bytes) -> bytes | None:
    """Return the payload of a file; None if a single bit differs from the file that this user wrote."""
    if len(data) < _HEADER.size:
        return None
    magic, version, length, signature = _HEADER.unpack_from(data)
    payload = data[_HEADER.size :]
    if (magic, version, length) != (_MAGIC, _FORMAT, len(payload)):
        return None
    return payload if hmac.compare_digest(signature, _signature(signed_by, name, payload)) else None


class Entry(NamedTuple):
    """A file of the cache."""

    used: float
    """The time when it was read or written last, in seconds since 1970."""
    size: int
    """Bytes."""
    path: str


class Cache:
    """A folder of entries by key.

    An entry is native code that runs without further checks. So only this user may write to the folder, entries are
    plain files of this user, and each is signed with a secret of the folder. An unsafe folder is not used, and a
    warning is logged once. Nothing here raises an error: an entry that cannot be read is missing, and one that cannot
    be written is made again next time. Several processes may share a folder.

    Args:
        folder: the folder, made at the first write; None for no cache.
        bound: the most bytes of all entries; the least recently used ones are removed first.

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
        self._has_told = False

    def why_unused(self) -> str:
        """Return the reason why entries are not kept; "" if they are."""
        if self.folder is None:
            return f"{VARIABLE} is off"
        return weakness(self.folder)

    def _is_safe(self) -> bool:
        """Return whether only this user can write to the folder; if not, warn once."""
        why = self.why_unused()
        if why and self.folder is not None and not self._has_told:
            self._has_told = True
            hint = f"or name a folder of your own in {VARIABLE}, or set it to off"
            _log.warning("jit: the cache in %s is not used: %s; %s", self.folder, why, hint)
        return not why

    def _path(self, name: str) -> Path | None:
        return self.folder / f"{name}.bin" if self.folder else None

    def get(self, name: str) -> bytes | None:
        """Return the entry with this key, or None. A damaged one is removed."""
        path = self._path(name)
        if path is None or not self._is_safe():
            return None
        signed_by = secret(path.with_name(_SECRET))
        if signed_by is None or (data := read_own(path)) is None:
            return None
        payload = _unpack(signed_by, name, data)
        with contextlib.suppress(OSError):
            if payload is None:
                path.unlink()
            else:
                os.utime(path)  # the least recently used one goes first
        return payload

    def put(self, name: str, payload: bytes) -> None:
        """Write an entry: whole, or not at all."""
        path = self._path(name)
        if path is None:
            return
        with contextlib.suppress(OSError):
            make_folder(path.parent)
            if not self._is_safe():
                return
            signed_by = made_secret(path.with_name(_SECRET))
            if signed_by is not None:
                write_own(path, _pack(signed_by, name, payload))
                self._count(len(payload) + _HEADER.size)

    def _count(self, written: int) -> None:
        """Count the bytes written; trim the cache now and then."""
        self._until_check -= written
        if self._until_check < 0:
            self._until_check = self.bound // _SELDOM
            self.trim()

    def remove(self, name: str) -> None:
        """Remove the entry with this key, if it is there."""
        path = self._path(name)
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink()

    def entries(self) -> list[Entry]:
        """Return the entries; files that a writer has abandoned are removed."""
        entries: list[Entry] = []
        if self.folder is None:
            return entries
        with contextlib.suppress(OSError), os.scandir(self.folder) as files:
            for file in files:
                with contextlib.suppress(OSError):  # another process removed it
                    facts = file.stat(follow_symlinks=False)
                    if file.name.endswith(".bin"):
                        entries.append(Entry(facts.st_mtime, facts.st_size, file.path))
                    elif file.name.endswith(".tmp") and facts.st_mtime < time.time() - _ABANDONED:
                        os.unlink(file.path)
        return entries

    def trim(self) -> None:
        """Remove the least recently used entries until the others are within the bound, with room for more."""
        entries = self.entries()
        total = sum(size for _, size, _ in entries)
        if total <= self.bound:
            return
        for _, size, path in sorted(entries):
            if total <= self.bound - self.bound // _SELDOM:
                return
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size


def _size(text: str) -> int:
    """Return the bytes of a size such as ``200M``."""
    match = re.fullmatch(r"(\d+) *([KMG]?)B?", text.strip(), re.IGNORECASE)
    if match is None:
        requirement = "must be a number of bytes, or one with K, M or G"
        raise ArgumentError(message(SIZE_VARIABLE, requirement, repr(text)))
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2].upper()]


@functools.cache
def _opened(where: str, size: str, user_folder: Path | None) -> Cache:
    """Return the cache for the values of the environment variables."""
    bound = _size(size) if size else _USUAL_BYTES
    if where.lower() in ("off", "0", "no", "false"):
        return Cache(None, bound)
    if where:
        return Cache(Path(os.path.expanduser(where)), bound)
    return Cache(user_folder and user_folder / "wengert" / f"{__version__}-{_FORMAT}", bound)


def default() -> Cache:
    """Return the cache of this process, as ``WENGERT_CACHE`` and ``WENGERT_CACHE_SIZE`` choose it.

    While the interpreter ends, nothing is cached: Python's ``open`` has gone.
    """
    if sys.is_finalizing():
        return Cache(None)
    return _opened(os.environ.get(VARIABLE, ""), os.environ.get(SIZE_VARIABLE, ""), cache_folder())
