"""Sources of examples that need not fit memory: .npy files, Zarr, Parquet, text as bytes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from wengert.data.errors import DataError, DataNotFoundError
from wengert.engine.core.errors import ArgumentError, MissingExtraError, message
from wengert.engine.core.tree import leaves, map_tree

_SHARD_BYTES = 1 << 20
"""Of a shard of a source that has no parts of its own: a disk reads it about as fast as it can."""


@dataclass(frozen=True, eq=False)
class Source:
    """Examples in shards, each of which is read in one piece.

    Attributes:
        edges: the number of the first example of each shard, in order, and at the end the number of all examples.
        read: ``(start, stop) -> examples``, a container of arrays (stop - start, ...).

    Example:
        >>> source = Source((0, 4, 6), lambda start, stop: np.arange(start, stop))
        >>> len(source), source.read(4, 6)
        (6, array([4, 5]))
    """

    edges: tuple[int, ...]
    read: Callable[[int, int], Any]

    def __len__(self) -> int:
        return self.edges[-1]

    def __repr__(self) -> str:
        return f"<Source of {len(self):,} examples in {len(self.edges) - 1:,} shards>"


def _even(count: int, shard: int) -> tuple[int, ...]:
    return (*range(0, count, max(shard, 1)), count)


def array_source(arrays: Any, *, shard: int | None = None) -> Source:
    """Return a source of arrays in memory, or mapped to files (`numpy.memmap`).

    Args:
        arrays: an array, or a container of arrays, whose first axis runs over the examples.
        shard: examples of a shard; by default about a megabyte of them.

    Returns:
        The source, with the container's structure.

    Raises:
        ArgumentError: the arrays disagree on the number of examples.

    Example:
        >>> source = array_source({"x": np.zeros((10, 2)), "y": np.arange(10)}, shard=4)
        >>> source, source.read(8, 10)["y"]
        (<Source of 10 examples in 3 shards>, array([8, 9]))
    """
    values = leaves(arrays)
    counts = {len(value) if np.ndim(value) else -1 for value in values}
    if len(counts) != 1 or -1 in counts:
        got = ", ".join(str(np.shape(value)) for value in values)
        raise ArgumentError(message("array_source", "all arrays must have the same number of examples", got))
    count = counts.pop()
    if shard is None:
        shard = _SHARD_BYTES // max(sum(value.nbytes for value in values) // max(count, 1), 1)
    # np.array copies: a memory map is read here, in the reader's thread, and not by whoever uses the batch
    return Source(_even(count, shard), lambda a, b: map_tree(lambda x: np.array(x[a:b]), arrays))


def open_source(
    path: str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]],
    *,
    columns: Sequence[str] | None = None,
    shard: int | None = None,
) -> Source:
    """Open examples on disk, by the file's kind.

    ``*.npy`` is mapped into memory; ``*.parquet`` gives a dict of its columns, and its row groups are the shards; a
    folder ``*.zarr`` gives an array or a dict of arrays, and its chunks along the first axis are the shards.

    Args:
        path: a file or a folder; or a dict of them, whose examples belong together by their order.
        columns: of a Parquet file or a Zarr group; by default all.
        shard: examples of a shard, for ``.npy``; by default about a megabyte.

    Returns:
        The source; its examples are an array or a dict of arrays.

    Raises:
        DataNotFoundError: the file does not exist.
        DataError: the file is damaged, of an unknown kind, or does not hold numbers.
        MissingExtraError: pyarrow (Parquet) or Zarr is not installed.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "x.npy")
        >>> np.save(file, np.arange(6.0).reshape(3, 2))
        >>> open_source({"x": file}).read(1, 3)
        {'x': array([[2., 3.],
               [4., 5.]])}
    """
    if isinstance(path, Mapping):
        return _joined(
            {name: open_source(place, columns=columns, shard=shard) for name, place in path.items()}
        )
    place = Path(path)
    if not place.exists():
        raise DataNotFoundError(f"{place} does not exist")
    match place.suffix:
        case ".npy":
            return array_source(mapped(place), shard=shard)
        case ".parquet":
            return _parquet(place, columns)
        case ".zarr":
            return _zarr(place, columns)
        case _:
            raise DataError(f"{place}: the name must end in .npy, .parquet or .zarr")


def _joined(parts: dict[str, Source]) -> Source:
    counts = {name: len(part) for name, part in parts.items()}
    if len(set(counts.values())) != 1:
        raise DataError(f"the files must have the same number of examples; got {counts}")
    first = next(iter(parts.values()))
    return Source(first.edges, lambda a, b: {name: part.read(a, b) for name, part in parts.items()})


# -- kinds of files --------------------------------------------------------------------------------------


def mapped(path: Path) -> Any:
    """Return the array of a .npy file, mapped into memory."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError:
        raise
    except Exception as problem:  # a damaged header can raise anything
        raise DataError(f"{path}: the file is damaged, or holds objects: {problem}") from None
    if array.ndim == 0:
        raise DataError(f"{path}: the file must hold an array of examples; got a number")
    return array


def _parquet(path: Path, columns: Sequence[str] | None) -> Source:
    parquet = _pyarrow(path)
    try:
        file: Any = parquet.ParquetFile(path)
    except (ValueError, OSError) as problem:  # pyarrow's errors are both
        raise DataError(f"{path}: the file is damaged: {problem}") from None
    available: list[str] = file.schema_arrow.names
    chosen = list(available if columns is None else columns)
    if missing := [name for name in chosen if name not in available]:
        raise DataError(f"{path}: there is no column {missing[0]!r}; the columns are {', '.join(available)}")
    groups: list[int] = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    edges = tuple(int(edge) for edge in np.cumsum([0, *groups]))

    def read(start: int, stop: int) -> dict[str, Any]:
        first, last = np.searchsorted(edges, [start, stop - 1], side="right") - 1
        whole: Any = parquet.ParquetFile(path).read_row_groups(list(range(first, last + 1)), columns=chosen)
        table: Any = whole.slice(start - edges[first], stop - start)
        return {name: _column(f"{path}: column {name!r}", table.column(name)) for name in chosen}

    return Source(edges, read)


def _pyarrow(path: Path) -> Any:
    try:
        import pyarrow.parquet as parquet  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    except ImportError:
        raise MissingExtraError(f"{path}: Parquet needs pyarrow: pip install 'wengert[parquet]'") from None
    return cast("Any", parquet)


def _column(name: str, column: Any) -> Any:
    """Return a column as an array; lists of one length are rows."""
    if column.null_count:
        raise DataError(f"{name} has missing values: fill them first")
    values = column.to_numpy()
    if values.dtype.hasobject and len(values) and isinstance(values[0], np.ndarray):
        if len({len(value) for value in values}) > 1:
            raise DataError(f"{name} has lists of several lengths: pad them to one length first")
        values = np.stack(values)
    if values.dtype.hasobject:
        raise DataError(f"{name} holds {column.type}, not numbers: encode it, or leave it out (columns=)")
    return np.array(values)


def _zarr(path: Path, columns: Sequence[str] | None) -> Source:
    module = _zarr_package(path)
    try:
        opened: Any = module.open(str(path), mode="r")
    except Exception as problem:  # a damaged store can raise anything
        raise DataError(f"{path}: the folder is not a Zarr store: {problem}") from None
    if hasattr(opened, "shape"):
        return _zarr_array(opened)
    available: list[str] = sorted(opened.array_keys())
    chosen = list(available if columns is None else columns)
    if missing := [name for name in chosen if name not in available]:
        raise DataError(f"{path}: there is no array {missing[0]!r}; the arrays are {', '.join(available)}")
    return _joined({name: _zarr_array(opened[name]) for name in chosen})


def _zarr_package(path: Path) -> Any:
    try:
        import zarr  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtraError(f"{path}: Zarr needs its package: pip install 'wengert[zarr]'") from None
    return cast("Any", zarr)


def _zarr_array(array: Any) -> Source:
    return Source(_even(array.shape[0], array.chunks[0]), lambda a, b: np.asarray(array[a:b]))


def text_source(path: str | os.PathLike[str], length: int, *, shard: int | None = None) -> Source:
    """Return the bytes of a file in pieces, for models of text.

    The pieces follow each other and overlap by a byte: ``piece[:-1]`` are inputs, ``piece[1:]`` the bytes to predict.

    Args:
        path: any file, such as UTF-8 text; it is mapped into memory.
        length: the number of predictions of a piece, which has a byte more. A shorter rest of the file is left out.
        shard: pieces of a shard; by default about a megabyte.

    Returns:
        The source; its examples are uint8 (n, length + 1).

    Raises:
        DataNotFoundError: the file does not exist.
        DataError: the file is shorter than a piece.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "text")
        >>> _ = file.write_text("to be or not to be")
        >>> [bytes(piece) for piece in text_source(file, 8).read(0, 2)]
        [b'to be or ', b' not to b']
    """
    place = Path(path)
    if length < 1:
        raise ArgumentError(message("text_source", "length must be at least 1", str(length)))
    if not place.is_file():
        raise DataNotFoundError(f"{place} does not exist")
    count = (place.stat().st_size - 1) // length
    if count < 1:
        raise DataError(
            f"{place}: the file must have at least {length + 1} bytes; got {place.stat().st_size}"
        )
    content = np.memmap(place, np.uint8, "r")
    windows = np.lib.stride_tricks.sliding_window_view(content, length + 1)[::length]
    return Source(_even(count, shard or _SHARD_BYTES // length), lambda a, b: np.array(windows[a:b]))
