"""Durable files: JSON, and trees of arrays as safetensors with a checksum. A file is complete or unchanged."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import numpy as np

from wengert.data import DataError
from wengert.engine.core.dtypes import NDARRAY, dtype_of
from wengert.engine.core.errors import ArgumentError, DtypeError, MissingExtraError, WengertError, message
from wengert.engine.core.files import replacing
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import flatten, paths, unflatten
from wengert.train.state import Trained

SUFFIX = ".safetensors"
_CHECKSUM = "sha256"
_NAMED = 3
"""The number of missing or unexpected arrays that an error names."""


class RunError(WengertError, OSError):
    """A run that cannot be written or read."""


# -- files -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def writing(path: Path) -> Generator[None, None, None]:
    """Turn an `OSError` into a `RunError` that names the file."""
    try:
        yield
    except RunError:
        raise
    except OSError as problem:
        raise RunError(f"{path} cannot be written: {problem.strerror or problem}") from None


def write_file(path: Path, content: bytes) -> None:
    """Write a file completely or not at all, even if the machine stops."""
    write_files({path: content})


def write_files(contents: dict[Path, bytes]) -> None:
    """Write files of one folder in order, each completely or not at all, then make their names durable.

    The files are not written together: a reader must check that they belong together.
    """
    for path, content in contents.items():
        with writing(path), replacing(path) as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    folder = next(iter(contents)).parent
    if os.name != "nt":  # Windows cannot open a folder
        with writing(folder):
            _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def remove_partial(folder: Path) -> None:
    """Remove the temporary files of a process that was killed while it wrote."""
    for path in folder.glob(".*.part"):
        path.unlink(missing_ok=True)


# -- JSON ------------------------------------------------------------------------------------------------


def parsed(content: bytes) -> dict[str, Any]:
    """Return the JSON object in some bytes; raise `ValueError` if there is none."""
    try:
        value = json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("it must hold a JSON object")
    return cast("dict[str, Any]", value)


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; `DataError` if it holds something else."""
    try:
        return parsed(path.read_bytes())
    except ValueError as problem:
        raise DataError(f"{path}: the file is damaged: {problem}") from None


# -- arrays ----------------------------------------------------------------------------------------------


def save_model(path: str | os.PathLike[str], model: Any) -> None:
    """Save the arrays of a model as a safetensors file, each under its path in the model.

    Args:
        path: the file; its name must end in ``.safetensors``.
        model: a tree of arrays; the state of a `Trained` is saved, too, under its own paths.

    Raises:
        ArgumentError: the name has another ending.
        DtypeError: the path is not one.
        RunError: the file cannot be written; an earlier file stays unchanged.

    Example:
        >>> import tempfile, os
        >>> from wengert import nn
        >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
        >>> save_model(path, nn.Dense(2, 3, seed=0))
        >>> load_model(path, nn.Dense(2, 3, seed=1)).weight.shape
        (2, 3)
    """
    place: Any = path
    if not isinstance(place, str | os.PathLike):
        hint = "write save_model(path, model)" if isinstance(model, str | os.PathLike) else ""
        raise DtypeError(
            message("save_model", "the first argument must be a path", type(path).__name__, hint)
        )
    if Path(path).suffix != SUFFIX:
        raise ArgumentError(message("save_model", f"the file must be named *{SUFFIX}", os.fspath(path)))
    write_file(Path(path), encoded(**_parts(model)))


def load_model(path: str | os.PathLike[str], model: Any) -> Any:
    """Return a model of the structure of ``model`` with the saved arrays.

    Args:
        path: a file from `save_model`, or one in NumPy's ``.npz`` format from an earlier version.
        model: gives the structure, shapes and dtypes; its numbers are ignored.

    Returns:
        The model with the saved arrays.

    Raises:
        DataError: the file is damaged, or belongs to another model.
        FileNotFoundError: the file does not exist.

    Example:
        >>> import tempfile, os
        >>> from wengert import nn
        >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
        >>> save_model(path, nn.Dense(2, 3, seed=0))
        >>> load_model(path, nn.Dense(2, 3, seed=1)).bias
        array([0., 0., 0.], dtype=float32)
    """
    trees = restored(read_arrays(path), os.fspath(path), **_parts(model))
    return Trained(*trees) if isinstance(model, Trained) else trees[0]


def _parts(model: Any) -> dict[str, Any]:
    """Return the trees that a file holds, by the first part of their arrays' names."""
    return {"model": model.model, "state": model.state} if isinstance(model, Trained) else {"model": model}


def _safetensors() -> Any:
    """Return the module that reads and writes arrays."""
    try:
        from safetensors import numpy
    except ImportError:
        requirement = "files of arrays need the package safetensors, which is not installed"
        raise MissingExtraError(message("storage", requirement, hint="pip install safetensors")) from None
    return numpy


def encoded(**trees: Any) -> bytes:
    """Return a safetensors file of the arrays of named trees."""
    arrays: dict[str, Any] = {}
    for name, tree in trees.items():
        values, structure = flatten(tree)
        arrays |= zip(paths(structure, name), map(_plain, values), strict=True)
    return _safetensors().save(arrays, {_CHECKSUM: _checksum(arrays)})


def _plain(value: Any) -> Any:
    """Return an array as the format requires it: in native byte order and contiguous."""
    array = np.asarray(value, order="C")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _checksum(arrays: dict[str, Any]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def restored(arrays: dict[str, Any], where: str, **trees: Any) -> list[Any]:
    """Return trees of the structures of the named ones with the arrays of a file, if names, shapes and dtypes agree."""
    flat = {name: flatten(tree) for name, tree in trees.items()}
    names = {name: paths(structure, name) for name, (_, structure) in flat.items()}
    expected = {path for tree_paths in names.values() for path in tree_paths}
    missing, others = sorted(expected - arrays.keys()), sorted(arrays.keys() - expected)
    if missing or others:
        parts = [f"it lacks {_few(missing)}"] if missing else []
        parts += [f"it holds {_few(others)}, which the model does not have"] if others else []
        raise DataError(f"{where}: it is not a file of this model: {'; '.join(parts)}")
    result: list[Any] = []
    for name, (values, structure) in flat.items():
        pairs = zip(names[name], values, strict=True)
        result.append(unflatten(structure, [_as(value, arrays[path], path, where) for path, value in pairs]))
    return result


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown


def _as(value: Any, array: Any, name: str, where: str) -> Any:
    """Return a saved array in the form of a value: an array, or a NumPy or Python number."""
    shape, dtype = shape_of(value), dtype_of(value)
    if (array.shape, array.dtype) != (shape, dtype):
        raise DataError(f"{where}: {name} must be {dtype}{shape}; got {array.dtype}{array.shape}")
    return array if isinstance(value, np.ndarray) else type(value)(array[()])


def read_arrays(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arrays of a file by name; `DataError` if it is damaged."""
    return decoded(Path(path).read_bytes(), os.fspath(path))


def decoded(content: bytes, where: str) -> dict[str, Any]:
    """Return the arrays in a file's content by name, and check their checksum."""
    if content.startswith(b"PK"):
        return _unzipped(content, where)
    reader = _safetensors()
    try:
        arrays = reader.load(content)
        length = int.from_bytes(content[:8], "little")
        expected = json.loads(content[8 : 8 + length])["__metadata__"][_CHECKSUM]
        if _checksum(arrays) != expected:
            raise ValueError("the arrays do not have their checksum")
    except Exception as problem:  # a damaged header can raise anything
        raise DataError(f"{where}: the file is damaged: {problem}") from None
    return arrays


def _unzipped(content: bytes, where: str) -> dict[str, Any]:
    stream = io.BytesIO(content)
    if not zipfile.is_zipfile(stream):
        raise DataError(f"{where}: it is not a complete .npz file")
    try:
        with np.load(stream, allow_pickle=False) as saved:
            arrays = dict(saved)
        if not all(isinstance(array, NDARRAY) for array in arrays.values()):
            raise ValueError("it must hold only arrays")
    except Exception as problem:  # a damaged archive can raise anything in zipfile and NumPy
        raise DataError(f"{where}: the file is damaged: {problem}") from None
    return arrays
