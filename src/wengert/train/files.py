"""Files that survive: each is there whole or as it was before, whatever happens meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

from wengert.core.errors import WengertError
from wengert.data import DataError
from wengert.data.files import replacing


def parsed(content: bytes) -> dict[str, Any]:
    """Return the JSON object that some bytes are.

    Raises:
        ValueError: they are none.
    """
    try:
        found = json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it holds no JSON object")
    return cast("dict[str, Any]", found)


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object that a file holds.

    Raises:
        DataError: it holds none.
        OSError: it cannot be read.
    """
    try:
        return parsed(path.read_bytes())
    except ValueError as problem:
        raise DataError(f"{path}: the file is damaged: {problem}") from None


class RunError(WengertError, OSError):
    """A run that cannot be written or read."""


@contextlib.contextmanager
def writing(path: Path) -> Generator[None, None, None]:
    """Turn the system's complaints into an error that names the file."""
    try:
        yield
    except RunError:
        raise
    except OSError as problem:
        raise RunError(f"{path} cannot be written: {problem.strerror or problem}") from None


def write_file(path: Path, content: bytes) -> None:
    """Write a file so that it is either there whole or as it was before, even if the machine stops."""
    write_files({path: content})


def write_files(contents: dict[Path, bytes]) -> None:
    """Write files of one folder, in order, each whole or not at all, and let the folder remember them.

    The names are made durable once, after the last file. Who needs the files to belong together has to check that.
    """
    for path, content in contents.items():
        with writing(path), replacing(path) as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    folder = next(iter(contents)).parent
    with writing(folder):
        sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, on systems where a folder can be opened."""
    if os.name == "nt":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def remove_partial(folder: Path) -> None:
    """Remove what a process left behind that was killed as it wrote a file."""
    for path in folder.glob(".*.part"):
        path.unlink(missing_ok=True)
