"""A file of finished chunks: a killed sweep goes on from it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
import warnings
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np

from wengert.engine.core.errors import ArgumentError, WengertError, message
from wengert.engine.core.tree import LEAF, Structure

_FORMAT = 1
_SECONDS_BETWEEN_SYNCS = 1.0
_LENGTHS = 16
_CHECKSUM = 32
_KINDS: dict[str, type] = {"dict": dict, "list": list, "tuple": tuple, "none": type(None)}


class JournalError(WengertError, OSError):
    """A journal that is in use, or cannot be read or written."""


class Record(NamedTuple):
    """The results of some items."""

    start: int
    leaves: list[np.ndarray[Any, Any]]
    structure: Structure | None
    """None if it holds classes of the user, which a file does not name."""


class Journal:
    """A journal, open for writing.

    The first line describes the inputs. Each record has its length and a checksum, and is appended when a chunk is
    finished; an incomplete record at the end, of a process that was killed, is cut off.

    Args:
        path: the file; it is made if it does not exist.
        inputs: what the results depend on.

    Raises:
        ArgumentError: the file is a journal of other inputs.
        JournalError: another process uses the file, or it is not a journal, or it cannot be read or written.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "journal")
        >>> journal = Journal(path, {"items": 4})
        >>> journal.add(2, [np.array([4.0, 9.0])], LEAF)
        >>> journal.close()
        >>> again = Journal(path, {"items": 4})
        >>> [(record.start, record.leaves) for record in again.records()]
        [(2, [array([4., 9.])])]
        >>> again.close()
    """

    def __init__(self, path: str | os.PathLike[str], inputs: dict[str, Any]) -> None:
        self._path = Path(path)
        self._head = (json.dumps({"wengert journal": _FORMAT} | inputs) + "\n").encode()
        with self._naming():
            number = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
            self._file: IO[bytes] = os.fdopen(number, "r+b")
        try:
            self._lock()
            with self._naming():
                self._check_head()
        except BaseException:
            self._file.close()
            raise
        self._synced = time.monotonic()

    @contextlib.contextmanager
    def _naming(self) -> Generator[None, None, None]:
        try:
            yield
        except OSError as problem:
            if isinstance(problem, WengertError):
                raise
            raise JournalError(f"map: the journal {self._path} cannot be used: {problem.strerror}") from None

    def _lock(self) -> None:
        if os.name == "nt":
            return
        import fcntl

        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(f"map: another process uses the journal {self._path}") from None
        except OSError:  # a file system without locks
            pass

    def _check_head(self) -> None:
        line = self._file.readline()
        if not line.endswith(b"\n"):  # new, or killed at once
            if line and not self._head.startswith(line):
                raise self._no_journal()
            self._file.seek(0)
            self._file.truncate()
            self._file.write(self._head)
            self._file.flush()
            return
        if line == self._head:
            return
        try:
            before, now = json.loads(line), json.loads(self._head)
        except ValueError:
            raise self._no_journal() from None
        if not isinstance(before, dict) or "wengert journal" not in before:
            raise self._no_journal()
        old = cast("dict[str, Any]", before)
        different = next(name for name in {**now, **old} if old.get(name) != now.get(name))
        requirement = f"{self._path} is the journal of other inputs: {different} is {old.get(different)!r}"
        hint = "give another file, or delete it to begin anew"
        raise ArgumentError(message("map", requirement, repr(now.get(different)), hint))

    def _no_journal(self) -> JournalError:
        return JournalError(f"map: {self._path} is not a journal: give a new file")

    def records(self) -> Iterator[Record]:
        """Yield the records; cut off an incomplete or damaged one, with all after it."""
        with self._naming():
            size = self._file.seek(0, os.SEEK_END)
            place = self._file.seek(len(self._head))
            while place < size:
                content = self._record(size - place)
                if content is None:
                    self._file.seek(place)
                    self._file.truncate()
                    return
                yield content
                place = self._file.tell()

    def _record(self, left: int) -> Record | None:
        start = self._file.read(_LENGTHS + _CHECKSUM)
        head, body = (int.from_bytes(start[i : i + 8], "little") for i in (0, 8))
        if len(start) < _LENGTHS + _CHECKSUM or head + body > left - len(start):
            return None
        parts = self._file.read(head), self._file.read(body)
        if _checksum(start[:_LENGTHS], *parts) != start[_LENGTHS:]:
            warnings.warn(f"map: {self._path} is damaged; its last items are computed again", stacklevel=2)
            return None
        facts = json.loads(parts[0])
        leaves: list[np.ndarray[Any, Any]] = []
        place = 0
        for dtype, shape in facts["arrays"]:
            flat = np.frombuffer(parts[1], dtype, int(np.prod(shape)), place)
            leaves.append(flat.reshape(shape))
            place += flat.nbytes
        return Record(facts["start"], leaves, _read_structure(facts["structure"]))

    def add(self, start: int, leaves: Sequence[np.ndarray[Any, Any]], structure: Structure) -> None:
        """Append the results of the items from ``start`` on; each array has a first axis of the items.

        A killed process loses none of them; a machine that stops may lose the last ones.
        """
        arrays = [(leaf.dtype.str, leaf.shape) for leaf in leaves]
        facts = {"start": start, "arrays": arrays, "structure": _written_structure(structure)}
        head, body = json.dumps(facts).encode(), b"".join(leaf.tobytes() for leaf in leaves)
        lengths = len(head).to_bytes(8, "little") + len(body).to_bytes(8, "little")
        with self._naming():
            self._file.write(b"".join((lengths, _checksum(lengths, head, body), head, body)))
            self._file.flush()
            if time.monotonic() - self._synced >= _SECONDS_BETWEEN_SYNCS:
                self._sync()

    def _sync(self) -> None:
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def close(self) -> None:
        """Make the records durable and close the file."""
        with self._naming(), self._file:
            self._sync()


def _checksum(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()


def _written_structure(structure: Structure) -> Any:
    """Return a structure of plain containers for JSON; None for one with other classes."""
    if structure == LEAF:
        return "leaf"
    name = next((name for name, kind in _KINDS.items() if structure.kind is kind), None)
    children = [_written_structure(child) for child in structure.children]
    if name is None or None in children or any(type(key) not in (str, int) for key in structure.keys):
        return None
    return {"kind": name, "keys": list(structure.keys), "children": children}


def _read_structure(written: Any) -> Structure | None:
    if written is None or written == "leaf":
        return None if written is None else LEAF
    children = tuple(_read_structure(child) for child in written["children"])
    return Structure(_KINDS[written["kind"]], tuple(written["keys"]), cast("Any", children))
