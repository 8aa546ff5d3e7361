"""Labelled images in .npy files, mapped into memory: for training on more images than fit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wengert.data.dataset import Array, Dataset
from wengert.data.errors import DataError, DataNotFoundError
from wengert.data.sources import Source, mapped
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.files import replacing
from wengert.engine.core.tree import leaves

FILES = ("train-images.npy", "train-labels.npy", "test-images.npy", "test-labels.npy")
_CLASSES = "classes.txt"
_MOST_CLASSES = 1 << 16


def load_arrays(folder: str | os.PathLike[str]) -> Dataset:
    """Return the labelled images in a folder of .npy files, mapped into memory: pages are read when they are used.

    Args:
        folder: holds ``train-images.npy`` and ``test-images.npy``, uint8 (n, height, width); ``train-labels.npy`` and
            ``test-labels.npy``, integers (n,); and perhaps ``classes.txt`` with the name of a class in each line.

    Returns:
        The data set; its images are mapped to the files.

    Raises:
        DataNotFoundError: a file is missing.
        DataError: a file does not hold such an array, or a label has no class.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> for part, count in (("train", 20), ("test", 10)):
        ...     np.save(folder / f"{part}-images.npy", np.zeros((count, 28, 28), np.uint8))
        ...     np.save(folder / f"{part}-labels.npy", np.arange(count) % 3)
        >>> load_arrays(folder).classes
        ('0', '1', '2')
    """
    place = Path(folder)
    missing = [name for name in FILES if not (place / name).is_file()]
    if missing:
        raise DataNotFoundError(f"{place}: {missing[0]} is not here; the files are {', '.join(FILES)}")
    # A plain array on the same memory: np.memmap is a subclass, which other parts need not know.
    arrays = {name: np.asarray(mapped(place / name)) for name in FILES}
    for part in ("train", "test"):
        _check(place, part, arrays[f"{part}-images.npy"], arrays[f"{part}-labels.npy"])
    labels = [arrays[name] for name in FILES if "labels" in name]
    classes = _classes(place, max((int(part.max()) for part in labels if part.size), default=-1) + 1)
    for name, part in arrays.items():
        if "labels" in name and part.size and (part.min() < 0 or part.max() >= len(classes)):
            raise DataError(
                f"{place / name}: labels must be 0 to {len(classes) - 1}; got {part.min()} to {part.max()}"
            )
    train_images, train_labels, test_images, test_labels = arrays.values()
    return Dataset(train_images, train_labels, test_images, test_labels, place.resolve().name, classes)


def _check(place: Path, part: str, images: Array, labels: Array) -> None:
    if images.dtype != np.uint8 or images.ndim != 3:
        got = f"{images.dtype}{list(images.shape)}"
        raise DataError(f"{place / f'{part}-images.npy'}: images must be uint8[n, height, width]; got {got}")
    if labels.dtype.kind not in "iu" or labels.shape != images.shape[:1]:
        got = f"{labels.dtype}{list(labels.shape)}"
        raise DataError(f"{place / f'{part}-labels.npy'}: labels must be integers[{len(images)}]; got {got}")


def _classes(place: Path, count: int) -> tuple[str, ...]:
    file = place / _CLASSES
    if file.is_file():
        return tuple(filter(None, map(str.strip, file.read_text("utf-8").splitlines())))
    if count > _MOST_CLASSES:
        raise DataError(
            f"{place}: the labels go up to {count - 1:,}: are they classes? write {_CLASSES} if so"
        )
    return tuple(map(str, range(count)))


def save_source(source: Source, paths: Any) -> None:
    """Write the examples of a source to .npy files, a shard at a time.

    Args:
        source: gives an array, or a tuple or dict of arrays.
        paths: a file for each array, in a container of the same form; they are complete or unchanged.

    Raises:
        ArgumentError: the files do not fit the arrays.

    Example:
        >>> import tempfile
        >>> from wengert.data import array_source
        >>> file = Path(tempfile.mkdtemp(), "x.npy")
        >>> save_source(array_source(np.arange(10.0), shard=4), file)
        >>> np.load(file).sum()
        np.float64(45.0)
    """
    first = source.read(source.edges[0], source.edges[1])
    is_same = isinstance(first, Mapping) == isinstance(paths, Mapping) and (
        not isinstance(first, Mapping) or first.keys() == paths.keys()
    )
    files, arrays = [Path(path) for path in leaves(paths)], leaves(first)
    if not is_same or len(files) != len(arrays):
        requirement = "paths must have a file for each array of the source"
        raise ArgumentError(message("save_source", requirement, f"{len(files)} for {len(arrays)}"))
    for number, (file, array) in enumerate(zip(files, arrays, strict=True)):
        with replacing(file) as stream:
            header = {
                "descr": array.dtype.str,
                "fortran_order": False,
                "shape": (len(source), *array.shape[1:]),
            }
            np.lib.format.write_array_header_2_0(stream, header)
            for start, stop in zip(source.edges[:-1], source.edges[1:], strict=True):
                stream.write(np.ascontiguousarray(leaves(source.read(start, stop))[number]).data)
