from __future__ import annotations

import contextlib
import gzip
import re
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from wengert.data import DataError, DataNotFoundError, idx, read_idx, write_idx
from wengert.data.idx import map_idx
from wengert.engine.core.errors import ArgumentError, DtypeError

DTYPES = [np.uint8, np.int8, np.int16, np.int32, np.float32, np.float64]
EXAMPLE = np.arange(-6, 6, dtype=np.int16).reshape(2, 3, 2)
EXAMPLE_BYTES = bytes.fromhex("00000b03 00000002 00000003 00000002") + EXAMPLE.astype(">i2").tobytes()


def file_with(content: bytes, folder: Path, name: str = "file") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


ARRAYS = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
)


@given(array=ARRAYS, compress=st.booleans())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, array: np.ndarray[Any, Any], compress: bool
) -> None:
    path = tmp_path_factory.mktemp("idx") / "array"
    write_idx(path, array, compress)
    read = read_idx(path)
    assert read.dtype == array.dtype
    assert read.dtype.isnative
    assert read.flags.writeable
    np.testing.assert_array_equal(read, array, strict=True)


def test_the_bytes_are_those_of_the_format(tmp_path: Path) -> None:
    write_idx(tmp_path / "plain", EXAMPLE)
    assert (tmp_path / "plain").read_bytes() == EXAMPLE_BYTES


@pytest.mark.parametrize("view", [EXAMPLE.astype(">i2"), EXAMPLE.T.copy().T, np.repeat(EXAMPLE, 2, 0)[::2]])
def test_byte_order_and_strides_do_not_matter(tmp_path: Path, view: np.ndarray[Any, Any]) -> None:
    write_idx(tmp_path / "view", view)
    assert (tmp_path / "view").read_bytes() == EXAMPLE_BYTES


def test_the_name_decides_only_how_to_write(tmp_path: Path) -> None:
    write_idx(tmp_path / "a.gz", EXAMPLE)
    write_idx(tmp_path / "b.gz", EXAMPLE, compress=False)
    write_idx(tmp_path / "c", EXAMPLE, compress=True)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "c").read_bytes() != EXAMPLE_BYTES
    assert (tmp_path / "b.gz").read_bytes() == EXAMPLE_BYTES
    for name in ("a.gz", "b.gz", "c"):
        np.testing.assert_array_equal(read_idx(tmp_path / name), EXAMPLE)


@pytest.mark.parametrize("length", range(len(EXAMPLE_BYTES)))
def test_every_truncation_is_found(tmp_path: Path, length: int) -> None:
    parts = {0: "the 4 bytes of an IDX magic number", 4: "3 dimensions", 16: "24 bytes of int16[2, 3, 2]"}
    start = max(offset for offset in parts if offset <= length)
    path = file_with(EXAMPLE_BYTES[:length], tmp_path)
    with pytest.raises(DataError) as info:
        read_idx(path)
    assert f"{path}: at byte {start}: expected {parts[start]}" in str(info.value)
    assert f"got {length - start} bytes and the end of the file" in str(info.value)


def test_trailing_bytes_are_found(tmp_path: Path) -> None:
    for name, content in {
        "plain": EXAMPLE_BYTES + b"\0",
        "packed": gzip.compress(EXAMPLE_BYTES + b"\0"),
    }.items():
        with pytest.raises(DataError, match=f"{name}: at byte 40: expected the end of the file; got more"):
            read_idx(file_with(content, tmp_path, name))


@pytest.mark.parametrize("length", range(2, len(gzip.compress(EXAMPLE_BYTES))))
def test_every_truncation_of_a_gzipped_file_is_found(tmp_path: Path, length: int) -> None:
    path = file_with(gzip.compress(EXAMPLE_BYTES)[:length], tmp_path)
    with pytest.raises(DataError, match=r"file: at byte \d+: expected .*; got damaged gzip data"):
        read_idx(path)


@given(st.data())
def test_a_damaged_gzipped_file_is_never_read_as_something_else(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(gzip.compress(EXAMPLE_BYTES, mtime=0))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path = file_with(content, tmp_path_factory.mktemp("idx"))
    with contextlib.suppress(DataError):
        # Some bytes of the gzip header, such as the time, mean nothing here.
        np.testing.assert_array_equal(read_idx(path), EXAMPLE)


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        ("89504e47 00000001", "at byte 0: expected an IDX magic number, which starts with 00 00; got 89 50"),
        ("00000a01 00000001", r"at byte 2: expected a dtype code of 08 \(uint8\), .*; got 0a"),
        ("00000821 00000001", "at byte 3: expected at most 32 dimensions; got 33"),
        (
            "00000e04 00000000 ffffffff ffffffff ffffffff",
            "at byte 4: expected dimensions that an array can have",
        ),
    ],
)
def test_a_wrong_header_is_found(tmp_path: Path, header: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        read_idx(file_with(bytes.fromhex(header), tmp_path))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_header_that_promises_terabytes_costs_no_memory(tmp_path: Path, pack: Any) -> None:
    path = file_with(pack(bytes.fromhex("00000e03 00010000 00010000 00010000") + bytes(1000)), tmp_path)
    tracemalloc.start()
    with pytest.raises(
        DataError, match=r"at byte 16: expected 2251799813685248 bytes of float64.*got 1000 bytes"
    ):
        read_idx(path)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_gzipped_data_beyond_the_header_costs_no_memory(tmp_path: Path) -> None:
    path = file_with(gzip.compress(bytes.fromhex("00000801 0000000a") + bytes(64 << 20), 1), tmp_path)
    tracemalloc.start()
    with pytest.raises(DataError, match="at byte 18: expected the end of the file"):
        read_idx(path)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataNotFoundError, match="nowhere: there is no such file"):
        read_idx(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        read_idx(tmp_path / "nowhere")
    with pytest.raises(DataError, match="cannot be read"):
        read_idx(tmp_path)


@pytest.mark.parametrize("dtype", [np.int64, np.bool_, np.complex64, np.uint16])
def test_a_dtype_that_the_format_lacks(tmp_path: Path, dtype: Any) -> None:
    with pytest.raises(DtypeError, match=f"write_idx: .*float64 is required; got {np.dtype(dtype)}"):
        write_idx(tmp_path / "array", np.zeros(3, dtype))
    assert not list(tmp_path.iterdir())


def test_a_shape_that_the_format_lacks(tmp_path: Path) -> None:
    for shape in [(1,) * 33, (1 << 32, 0)]:
        with pytest.raises(ArgumentError, match="at most 32 dimensions below 2"):
            write_idx(tmp_path / "array", np.zeros(shape, np.uint8))
    assert not list(tmp_path.iterdir())


def test_mnist(mnist_folder: Path) -> None:
    images, labels = (
        read_idx(mnist_folder / f"train-{part}-ubyte.gz") for part in ("images-idx3", "labels-idx1")
    )
    assert (images.dtype, images.shape) == (np.uint8, (60000, 28, 28))
    assert labels[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert images.mean() / 255 == pytest.approx(0.1307, abs=1e-4)


@given(array=ARRAYS, compress=st.booleans())
def test_a_mapped_array_is_the_one_that_is_read(
    tmp_path_factory: pytest.TempPathFactory, array: np.ndarray[Any, Any], compress: bool
) -> None:
    path = tmp_path_factory.mktemp("idx") / "array"
    write_idx(path, array, compress)
    mapped = map_idx(path)
    np.testing.assert_array_equal(mapped, read_idx(path), strict=True)
    assert mapped.flags.writeable
    assert isinstance(mapped.base, np.memmap) == (array.itemsize == 1 and array.size > 0 and not compress)


@pytest.mark.parametrize("content", [EXAMPLE_BYTES[:-1], EXAMPLE_BYTES + b"\0", b""])
def test_a_damaged_file_is_not_mapped(tmp_path: Path, content: bytes) -> None:
    path = file_with(content, tmp_path)
    with pytest.raises(DataError) as read:
        read_idx(path)
    with pytest.raises(DataError) as mapped:
        map_idx(path)
    assert str(mapped.value) == str(read.value)


def test_what_is_written_to_a_mapped_array_stays_in_memory(tmp_path: Path) -> None:
    write_idx(tmp_path / "bytes", np.arange(5, dtype=np.uint8))
    mapped = map_idx(tmp_path / "bytes")
    mapped += 1
    assert map_idx(tmp_path / "bytes").tolist() == [0, 1, 2, 3, 4]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_mapped_file_is_read_where_it_is_used(tmp_path: Path) -> None:
    path, examples = tmp_path / "images", 1 << 16
    with open(path, "wb") as file:
        file.write(bytes.fromhex("00000803") + np.array([examples, 32, 32], ">u4").tobytes())
        file.truncate(16 + (examples << 10))
    mapped = map_idx(path)
    assert mapped[::8192].sum() == 0
    (place,) = re.findall(rf"{path}\n(?:.*\n)*?Rss: +(\d+) kB", Path("/proc/self/smaps").read_text())
    assert int(place) < 8 << 10, "of 64 MB"


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5])
def test_a_packed_file_unpacks_to_a_multiple_of_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: Any, dtype: Any, share: float
) -> None:
    monkeypatch.setattr(idx, "_CHUNK", 1 << 16)
    monkeypatch.setattr(idx, "_FREE", 1 << 16)
    array = np.zeros((150, 1000), dtype)
    places = rng.integers(0, array.size, int(share * array.size))
    array.reshape(-1)[places] = rng.integers(0, 200, len(places))
    path = tmp_path / "written.gz"
    write_idx(path, array)  # what the library writes it reads, however dense
    np.testing.assert_array_equal(read_idx(path), array)
    header = bytes((0, 0, {"u": 8, "f": 0x0E}[array.dtype.kind], 2)) + np.array(array.shape, ">u4").tobytes()
    path = file_with(gzip.compress(header + array.astype(array.dtype.newbyteorder(">")).tobytes()), tmp_path)
    if array.nbytes <= (1 << 16) + 100 * path.stat().st_size:
        np.testing.assert_array_equal(read_idx(path), array)
        return
    tracemalloc.start()
    with pytest.raises(
        DataError, match=r"at most [\d,]+ bytes, for a gzipped file of its size; most= allows more"
    ):
        read_idx(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < (8 << 16) + 200 * path.stat().st_size
    np.testing.assert_array_equal(read_idx(path, most=array.nbytes), array)
