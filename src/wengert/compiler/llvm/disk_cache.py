"""Results of the compiler on disk: the next process does not compute them again."""

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
from wengert.core.errors import ArgumentError, message
from wengert.core.private_files import (
    cache_folder,
    made_secret,
    make_folder,
    read_own,
    secret,
    weakness,
    write_own,
)

#: Where the cache is, or ``off``.
VARIABLE = "WENGERT_CACHE"
#: How large it may grow, in bytes or as ``200M`` or ``1G``.
SIZE_VARIABLE = "WENGERT_CACHE_SIZE"

_USUAL_BYTES = 512 << 20
"""How large the cache may grow if nothing is said: a program of a network takes some hundred thousand bytes."""
_MAGIC = b"wengert\0"
"""What every file begins with."""
_FORMAT = 3
"""The number of the layout of a file; it goes up when that changes."""
_SECRET = "key"
"""The file of the folder with what entries are signed with."""
_log = logging.getLogger("wengert.jit")
#: Magic, format, the length of the payload and its signature.
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


def _signature(signed_by: bytes, name: str, payload: bytes) -> bytes:
    """Return what no one can make who does not know the secret: HMAC-SHA256 over an entry's name and payload."""
    made = hmac.new(signed_by, f"{_FORMAT} {name}\0".encode(), "sha256")
    made.update(payload)
    return made.digest()


def _pack(signed_by: bytes, name: str, payload: bytes) -> bytes:
    """Put the header before a payload."""
    return _HEADER.pack(_MAGIC, _FORMAT, len(payload), _signature(signed_by, name, payload)) + payload


def _unpack(signed_by: bytes, name: str, data: bytes) -> bytes | None:
    """Return the payload of a file, or nothing if a single bit of it is not as this user wrote it."""
    if len(data) < _HEADER.size:
        return None
    magic, version, length, signature = _HEADER.unpack_from(data)
    payload = data[_HEADER.size :]
    if (magic, version, length) != (_MAGIC, _FORMAT, len(payload)):
        return None
    return payload if hmac.compare_digest(signature, _signature(signed_by, name, payload)) else None


class Cache:
    """A folder of entries that are found by key.

    An entry is native code that is run without another look. So the folder must be one into which nobody else can
    write, entries are plain files of this user, and each is signed with a secret of the folder. A folder where this
    does not hold is not used, which a warning tells once. Nothing here raises an error: an entry that cannot be
    read is missing, and one that cannot be written is made again next time. Several processes may use one folder at
    once.

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
        self._has_told = False

    def why_unused(self) -> str:
        """Say why nothing is kept; an empty text if entries are."""
        if self.folder is None:
            return f"{VARIABLE} is off"
        return weakness(self.folder)

    def _is_safe(self) -> bool:
        """Tell whether the folder is this user's alone; if it is not, warn once."""
        why = self.why_unused()
        if why and self.folder is not None and not self._has_told:
            self._has_told = True
            hint = f"or name a folder of your own in {VARIABLE}, or set it to off"
            _log.warning("jit: the cache in %s is not used: %s; %s", self.folder, why, hint)
        return not why

    def _path(self, name: str) -> Path | None:
        """Return the file of an entry."""
        return self.folder / f"{name}.bin" if self.folder else None

    def get(self, name: str) -> bytes | None:
        """Return the entry with this key, or nothing. A damaged one is removed."""
        path = self._path(name)
        if path is None or not self._is_safe():
            return None
        signed_by = secret(path.with_name(_SECRET))
        data = None if signed_by is None else read_own(path)
        if signed_by is None or data is None:
            return None
        payload = _unpack(signed_by, name, data)
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
            make_folder(path.parent)
            if not self._is_safe():
                return
            signed_by = made_secret(path.with_name(_SECRET))
            if signed_by is not None:
                write_own(path, _pack(signed_by, name, payload))
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
    return _opened(os.environ.get(VARIABLE, ""), os.environ.get(SIZE_VARIABLE, ""), cache_folder())
