"""Trees of arrays as safetensors files, each array under the name of its place, with a checksum of them all."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from wengert.core.dtypes import NDARRAY, dtype_of
from wengert.core.errors import ArgumentError, message
from wengert.core.shapes import shape_of
from wengert.core.tree import flatten, paths, unflatten
from wengert.data import DataError
from wengert.train.files import write_file
from wengert.train.stateful import Trained

SUFFIX = ".safetensors"
_CHECKSUM = "sha256"
_NAMED = 3
"""Of what a file lacks, or holds besides, so many are named."""


def save_model(path: str | os.PathLike[str], model: Any) -> None:
    """Save the arrays of a model as a safetensors file, each under the name of its place.

    Args:
        path: where; it must end in ``.safetensors``.
        model: a tree of arrays; of a `Trained`, the state is saved, too, under names of its own.

    Raises:
        ArgumentError: the name has another ending.
        RunError: the file cannot be written; one that was there before stays as it was.

    Example:
        >>> import tempfile, os
        >>> from wengert import nn
        >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
        >>> save_model(path, nn.Dense(2, 3, seed=0))
        >>> load_model(path, nn.Dense(2, 3, seed=1)).weight.shape
        (2, 3)
    """
    if Path(path).suffix != SUFFIX:
        raise ArgumentError(message("save_model", f"the file must be named *{SUFFIX}", os.fspath(path)))
    write_file(Path(path), encoded(**_parts(model)))


def load_model(path: str | os.PathLike[str], model: Any) -> Any:
    """Return a model of the structure of ``model`` with the saved arrays.

    Args:
        path: a file of `save_model`, or one in NumPy's ``.npz``, as earlier versions wrote it.
        model: the structure, shapes and dtypes; its numbers are not looked at.

    Returns:
        A model like ``model``, its arrays read from the file.

    Raises:
        DataError: the file is damaged, or is that of another model.
        FileNotFoundError: there is no such file.

    Example:
        >>> import tempfile, os
        >>> from wengert import nn
        >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
        >>> save_model(path, nn.Dense(2, 3, seed=0))
        >>> load_model(path, nn.Dense(2, 3, seed=1)).bias
        array([0., 0., 0.], dtype=float32)
    """
    found = restored(read_arrays(path), os.fspath(path), **_parts(model))
    return Trained(*found) if isinstance(model, Trained) else found[0]


def _parts(model: Any) -> dict[str, Any]:
    """Return what a file has the arrays of, by the name with which these begin."""
    if isinstance(model, Trained):
        return {"model": model.model, "state": model.state}
    return {"model": model}


def encoded(**trees: Any) -> bytes:
    """Return the arrays of named trees as the content of one safetensors file."""
    arrays: dict[str, Any] = {}
    for name, tree in trees.items():
        values, structure = flatten(tree)
        arrays |= zip(paths(structure, name), map(_plain, values), strict=True)
    return safetensors.numpy.save(arrays, {_CHECKSUM: _checksum(arrays)})


def _plain(value: Any) -> Any:
    """Return an array in this machine's byte order and without gaps, which the format takes for granted."""
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
    """Return trees of the structures of the named ones with the arrays of a file.

    Raises:
        DataError: the file has other names, shapes or dtypes.
    """
    flat = {name: flatten(tree) for name, tree in trees.items()}
    names = {name: paths(structure, name) for name, (_, structure) in flat.items()}
    expected = {path for named in names.values() for path in named}
    lacking, others = sorted(expected - arrays.keys()), sorted(arrays.keys() - expected)
    if lacking or others:
        parts = [f"it lacks {_few(lacking)}"] if lacking else []
        parts += [f"it holds {_few(others)}, which the model does not have"] if others else []
        raise DataError(f"{where}: it is not a file of this model: {'; '.join(parts)}")
    found: list[Any] = []
    for name, (values, structure) in flat.items():
        pairs = zip(names[name], values, strict=True)
        found.append(unflatten(structure, [_as(value, arrays[path], path, where) for path, value in pairs]))
    return found


def _few(names: list[str]) -> str:
    """Name some things, and say how many more there are."""
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown


def _as(value: Any, array: Any, name: str, where: str) -> Any:
    """Return a saved array in the form of a value: an array, or a number of NumPy's or Python's."""
    shape, dtype = shape_of(value), dtype_of(value)
    if (array.shape, array.dtype) != (shape, dtype):
        raise DataError(f"{where}: {name} must be {dtype}{shape}; got {array.dtype}{array.shape}")
    return array if isinstance(value, np.ndarray) else type(value)(array[()])


# -- reading ---------------------------------------------------------------------------------------------


def read_arrays(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arrays of a file by name.

    Raises:
        DataError: the file is damaged.
        FileNotFoundError: there is no such file.
    """
    return decoded(Path(path).read_bytes(), os.fspath(path))


def decoded(content: bytes, where: str) -> dict[str, Any]:
    """Return the arrays of a file's content by name, their checksum compared."""
    if content.startswith(b"PK"):
        return _unzipped(content, where)
    try:
        arrays = safetensors.numpy.load(content)
        length = int.from_bytes(content[:8], "little")
        expected = json.loads(content[8 : 8 + length])["__metadata__"][_CHECKSUM]
        sound = _checksum(arrays) == expected
    except Exception as problem:  # there is no list of what damaged headers raise
        raise DataError(f"{where}: the file is damaged: {problem}") from None
    if not sound:
        raise DataError(f"{where}: the file is damaged: the arrays do not have their checksum")
    return arrays


def _unzipped(content: bytes, where: str) -> dict[str, Any]:
    stream = io.BytesIO(content)
    if not zipfile.is_zipfile(stream):
        raise DataError(f"{where}: it is no .npz file, or not a whole one")
    try:
        with np.load(stream, allow_pickle=False) as saved:
            arrays = dict(saved)
        if not all(isinstance(array, NDARRAY) for array in arrays.values()):
            raise ValueError("it holds something that is no array")
        return arrays
    except Exception as problem:  # there is no list of what zipfile and NumPy raise for damaged archives
        raise DataError(f"{where}: the file is damaged: {problem}") from None
