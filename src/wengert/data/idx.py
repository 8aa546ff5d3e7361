"""IDX files, the format of MNIST: an array after a short big-endian header.

| bytes | meaning |
|---|---|
| 0, 1 | zero |
| 2 | dtype: 08 uint8, 09 int8, 0B int16, 0C int32, 0D float32, 0E float64 |
| 3 | number of dimensions d |
| 4 to 4 + 4 d | the dimensions, uint32 each |
| the rest | the elements, last dimension fastest |
"""

from __future__ import annotations

import gzip
import io
import math
import os
import struct
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from wengert.data.dataset import Array
from wengert.data.errors import DataError, DataNotFoundError, damaged
from wengert.engine.core.errors import ArgumentError, DtypeError, message
from wengert.engine.core.files import replacing

GZIP_MAGIC = b"\x1f\x8b"
#: The errors that Python raises for damaged or truncated gzip data.
GZIP_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)

_CODES = {
    np.dtype(np.uint8): 0x08,
    np.dtype(np.int8): 0x09,
    np.dtype(np.int16): 0x0B,
    np.dtype(np.int32): 0x0C,
    np.dtype(np.float32): 0x0D,
    np.dtype(np.float64): 0x0E,
}
_DTYPES = {code: dtype for dtype, code in _CODES.items()}
_MAX_DIMENSIONS = 32  # the format allows 255, the oldest supported NumPy 32
_CHUNK = 1 << 20
_FREE, _MOST_PACKED = 1 << 20, 100
"""The bytes that a gzipped file may unpack to, and those for each of its own bytes."""


def read_idx(path: str | os.PathLike[str], *, most: int | None = None) -> Array:
    """Read the array of an IDX file, gzipped or not.

    The content decides whether the file is gzipped, not its name. Memory grows as data arrives: a header that promises
    more than the file holds costs nothing, and a gzipped file unpacks to what its header promises, at most.

    Args:
        path: The file.
        most: The largest number of bytes that the array may take; by default 100 times those of a gzipped file, and a
            million.

    Returns:
        A writable array in native byte order: uint8, int8, int16, int32, float32 or float64.

    Raises:
        DataNotFoundError: The file does not exist.
        DataError: The file is not an IDX file, is larger than ``most``, damaged, too short or too long. The error names
            the file, the byte (of the unpacked content) and the expected content.

    The format: Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits", 1998.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = Path(folder.name) / "labels.gz"
        >>> write_idx(path, np.arange(5, dtype=np.uint8))
        >>> read_idx(path)
        array([0, 1, 2, 3, 4], dtype=uint8)
        >>> folder.cleanup()
    """
    with unpacked(path) as stream:
        reader = _Reader(Path(path), stream)
        dtype, shape = _read_header(reader)
        size = math.prod(shape) * dtype.itemsize
        if most is not None and size > most:
            got = f"{size:,} bytes of {dtype}{list(shape)}"
            raise reader.error(4, f"an array of at most {most:,} bytes", got)
        bound = size
        if most is None and isinstance(stream, gzip.GzipFile):
            bound = _FREE + _MOST_PACKED * os.path.getsize(path)
        data = reader.take(size, f"{size} bytes of {dtype}{list(shape)}", bound)
        reader.expect_end()
    try:
        array: Array = np.ndarray(shape, dtype.newbyteorder(">"), buffer=data)
    except ValueError:  # an empty array whose other dimensions overflow
        raise damaged(path, 4, "dimensions that an array can have", str(shape)) from None
    return array.astype(dtype, copy=False)


def map_idx(path: str | os.PathLike[str]) -> Array:
    """Return the array of an IDX file, mapped into memory: its pages are read when they are used.

    `read_idx` reads gzipped files, and numbers of several bytes, which the format stores in big-endian order.

    Returns:
        A writable array; what is written to it stays in memory.

    Raises:
        DataNotFoundError, DataError: as `read_idx`.
    """
    with unpacked(path) as stream:
        reader = _Reader(Path(path), stream)
        dtype, shape = _read_header(reader)
        end = reader.offset + math.prod(shape)
        if (
            isinstance(stream, io.BufferedReader)
            and dtype.itemsize == 1
            and os.fstat(stream.fileno()).st_size == end > reader.offset
        ):
            # A plain array on the same memory: np.memmap is a subclass, which other parts need not know.
            return np.asarray(np.memmap(stream, dtype, "c", reader.offset, shape))
    return read_idx(path)


def is_gzipped(path: str | os.PathLike[str]) -> bool:
    """Return whether the content of a file is gzipped."""
    with unpacked(path) as stream:
        return isinstance(stream, gzip.GzipFile)


def write_idx(path: str | os.PathLike[str], array: Any, compress: bool | None = None) -> None:
    r"""Write an array as an IDX file.

    The replacement is atomic, and equal arrays give equal bytes (no time is stored).

    Args:
        path: The file, replaced if it exists.
        array: An array of uint8, int8, int16, int32, float32 or float64, with at most 32 dimensions.
        compress: Whether to gzip the file; by default, if its name ends in ``.gz``.

    Raises:
        DtypeError: The format does not have the dtype.
        ArgumentError: The format does not have the shape.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = Path(folder.name) / "labels"
        >>> write_idx(path, np.array([3, 1], dtype=np.uint8))
        >>> path.read_bytes()
        b'\x00\x00\x08\x01\x00\x00\x00\x02\x03\x01'
        >>> folder.cleanup()
    """
    path = Path(path)
    array = np.asarray(array)
    code = _CODES.get(array.dtype.newbyteorder("="))
    if code is None:
        names = ", ".join(str(dtype) for dtype in _CODES)
        raise DtypeError(message("write_idx", f"{names} is required", str(array.dtype), "convert it"))
    if array.ndim > _MAX_DIMENSIONS or any(size >= 1 << 32 for size in array.shape):
        limit = f"at most {_MAX_DIMENSIONS} dimensions below 2**32 are required"
        raise ArgumentError(message("write_idx", limit, f"shape {array.shape}", "reshape or split the array"))
    with replacing(path) as file:
        if not (path.suffix == ".gz" if compress is None else compress):
            _write(file, code, array)
            return
        _write_packed(file, code, array, 9)
        if array.nbytes > _FREE + _MOST_PACKED * file.tell():  # `read_idx` would take it for damage
            file.seek(0)
            file.truncate()
            _write_packed(file, code, array, 0)


def _write_packed(file: IO[bytes], code: int, array: Array, level: int) -> None:
    with gzip.GzipFile("", "wb", level, file, mtime=0) as packed:
        _write(packed, code, array)


def _write(stream: IO[bytes] | gzip.GzipFile, code: int, array: Array) -> None:
    stream.write(bytes((0, 0, code, array.ndim)))
    stream.write(np.array(array.shape, dtype=">u4").tobytes())
    stream.write(array.astype(array.dtype.newbyteorder(">"), copy=False).tobytes())


@contextmanager
def unpacked(path: str | os.PathLike[str]) -> Generator[io.BufferedReader | gzip.GzipFile, None, None]:
    """Open a file and unpack it if it is gzipped."""
    try:
        with open(path, "rb") as file:
            if file.peek(2)[:2] == GZIP_MAGIC:
                with gzip.GzipFile(fileobj=file) as stream:
                    yield stream
            else:
                yield file
    except FileNotFoundError:
        raise DataNotFoundError(f"{path}: there is no such file") from None
    except GZIP_ERRORS as error:
        raise DataError(f"{path}: expected a whole gzip file; {error}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None


class _Reader:
    """A stream that counts its bytes, for errors that name them."""

    def __init__(self, path: Path, stream: io.BufferedReader | gzip.GzipFile) -> None:
        self.path, self.stream, self.offset = path, stream, 0

    def take(self, size: int, content: str, bound: int | None = None) -> bytearray:
        """Read exactly ``size`` bytes, and no more than ``bound``; errors call them ``content``."""
        start, data = self.offset, bytearray()
        while len(data) < size:
            chunk = self._read(min(_CHUNK, size - len(data)), content)
            if not chunk:
                raise self.error(start, content, f"{len(data)} bytes and the end of the file")
            data += chunk
            if bound is not None and len(data) > bound:
                expected = f"at most {bound:,} bytes, for a gzipped file of its size; most= allows more"
                raise self.error(start, expected, content)
            self.offset += len(chunk)
        return data

    def expect_end(self) -> None:
        """Check that the file ends here; for a gzipped file, check its checksum too."""
        if self._read(1, "the end of the file"):
            raise self.error(self.offset, "the end of the file", "more bytes")

    def error(self, offset: int, expected: str, got: str) -> DataError:
        return damaged(self.path, offset, expected, got)

    def _read(self, size: int, content: str) -> bytes:
        try:
            return self.stream.read(size)
        except GZIP_ERRORS as error:
            raise self.error(self.offset, content, f"damaged gzip data ({error})") from None


def _read_header(reader: _Reader) -> tuple[np.dtype[Any], tuple[int, ...]]:
    first, second, code, ndim = reader.take(4, "the 4 bytes of an IDX magic number")
    if first or second:
        raise reader.error(0, "an IDX magic number, which starts with 00 00", f"{first:02x} {second:02x}")
    if code not in _DTYPES:
        codes = ", ".join(f"{number:02x} ({dtype})" for number, dtype in _DTYPES.items())
        raise reader.error(2, f"a dtype code of {codes}", f"{code:02x}")
    if ndim > _MAX_DIMENSIONS:
        raise reader.error(3, f"at most {_MAX_DIMENSIONS} dimensions", str(ndim))
    return _DTYPES[code], struct.unpack(f">{ndim}I", reader.take(4 * ndim, f"{ndim} dimensions of 4 bytes"))
