"""Sources and streams: each example once, a bounded buffer, resumed to the same bits, read ahead."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.heaps import young_heap as young_heap  # a fixture
from wengert.data import (
    DataError,
    DataNotFoundError,
    Source,
    Stream,
    array_source,
    open_source,
    save_source,
    text_source,
)
from wengert.engine.core.errors import ArgumentError


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any), st.integers(1, 12), st.integers(1, 20),
    st.booleans(), st.booleans(), st.integers(0, 3), st.data(),
)  # fmt: skip
def test_an_epoch_has_each_example_once_and_is_resumed_to_the_same_bits(
    counts, size, buffer, shuffle, drop_last, epoch, data
):
    edges = tuple(int(edge) for edge in np.cumsum([0, *counts]))
    source = Source(edges, lambda a, b: {"x": np.arange(a, b), "y": np.arange(a, b) * 2.0})
    stream = Stream(source, size, seed=3, buffer=buffer, shuffle=shuffle, drop_last=drop_last)
    batches = list(stream.batches(epoch))
    assert len(batches) == len(stream)
    x = np.concatenate([batch["x"] for batch in batches]) if batches else np.zeros(0)
    assert all(len(batch["x"]) == size for batch in batches[:-1])
    assert len(set(x.tolist())) == len(x) == (len(source) // size * size if drop_last else len(source))
    assert all(np.array_equal(batch["y"], 2 * batch["x"]) for batch in batches)
    if not shuffle:
        assert np.array_equal(x, np.arange(len(x)))
    start = data.draw(st.integers(0, len(batches)))
    again = list(stream.batches(epoch, start))
    assert [batch["x"].tolist() for batch in again] == [batch["x"].tolist() for batch in batches[start:]]


def test_epochs_and_seeds_have_other_orders():
    source = array_source(np.arange(100), shard=10)
    orders = {
        tuple(np.concatenate(list(Stream(source, 7, seed=seed, buffer=30).batches(epoch))))
        for seed in range(2)
        for epoch in range(2)
    }
    assert len(orders) == 4
    assert all(sorted(order) == list(range(100)) for order in orders)


def test_examples_of_different_shards_are_mixed():
    stream = Stream(array_source(np.arange(1000), shard=10), 100, buffer=500)
    first = next(stream.batches())
    assert len({x // 10 for x in first.tolist()}) > 20
    assert len({x // 100 for x in first.tolist()}) > 5


def test_the_buffer_bounds_what_is_read_ahead():
    read: list[int] = []

    def reading(start, stop):
        read.append(stop - start)
        return np.arange(start, stop)

    stream = Stream(Source(tuple(range(0, 1001, 10)), reading), 10, buffer=50)
    batches = stream.batches()
    for number in range(1, 40):
        next(batches)
        windows = -(-number * 10 // 50) + 1
        assert sum(read) <= windows * 50
    batches.close()


def test_a_resumed_stream_reads_only_its_windows():
    read: list[int] = []

    def reading(start, stop):
        read.append(start)
        return np.arange(start, stop)

    stream = Stream(Source(tuple(range(0, 1001, 10)), reading), 10, buffer=50)
    assert len(list(stream.batches(start=90))) == 10
    assert len(read) == 10


@pytest.mark.usefixtures("young_heap")
def test_errors_of_the_reader_reach_the_loop_and_its_thread_ends():
    def failing(start, stop):
        if start >= 60:
            raise DataError("the disk is gone")
        return np.arange(start, stop)

    stream = Stream(Source(tuple(range(0, 101, 10)), failing), 10, buffer=20, shuffle=False)
    batches = stream.batches()
    assert [len(next(batches)) for _ in range(4)] == [10] * 4
    with pytest.raises(DataError, match="the disk is gone"):
        list(batches)
    stopped = stream.batches()
    next(stopped)
    del stopped
    gc.collect()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("wengert-data")]


def test_a_source_that_gives_too_little():
    stream = Stream(Source((0, 4), lambda a, b: np.zeros(3)), 2)
    with pytest.raises(DataError, match="examples 0 to 3 are missing: the source gave 3"):
        next(stream.batches())


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"buffer": 0}])
def test_wrong_numbers(options):
    with pytest.raises(ArgumentError, match="must be at least 1; got 0"):
        Stream(array_source(np.zeros(3)), **{"batch_size": 2, **options})
    with pytest.raises(ArgumentError, match="the number of examples"):
        Stream(array_source(np.zeros(0)), 2)
    with pytest.raises(ArgumentError, match="epoch >= 0"):
        Stream(array_source(np.zeros(3)), 2).batches(-1)


# -- files -------------------------------------------------------------------------------------------------


def test_npy(tmp_path):
    x, y = np.random.default_rng(0).standard_normal((50, 3)), np.arange(50)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    source = open_source({"x": tmp_path / "x.npy", "y": tmp_path / "y.npy"}, shard=8)
    assert repr(source) == "<Source of 50 examples in 7 shards>"
    for batch in Stream(source, 16, buffer=20).batches():
        assert np.array_equal(batch["x"], x[batch["y"]])
        assert type(batch["x"]) is np.ndarray
        assert batch["x"].flags.owndata


def test_wrong_files(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3))
    np.save(tmp_path / "y.npy", np.zeros(4))
    np.save(tmp_path / "number.npy", np.float64(3))
    np.save(tmp_path / "objects.npy", np.array([None]), allow_pickle=True)
    (tmp_path / "damaged.npy").write_bytes(b"\x93NUMPY")
    (tmp_path / "x.csv").write_text("1,2")
    with pytest.raises(DataNotFoundError, match=r"missing.npy does not exist"):
        open_source(tmp_path / "missing.npy")
    with pytest.raises(DataError, match=r"same number of examples; got {'x': 3, 'y': 4}"):
        open_source({"x": tmp_path / "x.npy", "y": tmp_path / "y.npy"})
    for name, problem in (("number", "got a number"), ("objects", "holds objects"), ("damaged", "damaged")):
        with pytest.raises(DataError, match=problem):
            open_source(tmp_path / f"{name}.npy")
    with pytest.raises(DataError, match=r"must end in .npy, .parquet or .zarr"):
        open_source(tmp_path / "x.csv")
    with pytest.raises(ArgumentError, match="same number of examples"):
        array_source((np.zeros(3), np.zeros(4)))


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    vectors = np.random.default_rng(0).standard_normal((30, 3))
    columns = {
        "id": np.arange(30),
        "vector": list(vectors),
        "name": list("abc" * 10),
        "gap": [None, 1.0] * 15,
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "x.parquet", row_group_size=8)
    source = open_source(tmp_path / "x.parquet", columns=["id", "vector"])
    assert source.edges == (0, 8, 16, 24, 30)
    for batch in Stream(source, 7, buffer=16).batches():
        assert np.array_equal(batch["vector"], vectors[batch["id"]])
    assert source.read(6, 18)["id"].tolist() == list(range(6, 18))
    for name, problem in (("name", "holds string, not numbers"), ("gap", "missing values")):
        with pytest.raises(DataError, match=problem):
            open_source(tmp_path / "x.parquet", columns=[name]).read(0, 3)
    with pytest.raises(DataError, match="there is no column 'age'; the columns are id, vector"):
        open_source(tmp_path / "x.parquet", columns=["age"])
    (tmp_path / "y.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="damaged"):
        open_source(tmp_path / "y.parquet")


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "x.zarr"), mode="w")
    for name, content in (("x", np.arange(60).reshape(20, 3)), ("y", np.arange(20.0))):
        array = group.create_array(
            name, shape=content.shape, chunks=(6, *content.shape[1:]), dtype=content.dtype
        )
        array[:] = content
    source = open_source(tmp_path / "x.zarr")
    assert source.edges == (0, 6, 12, 18, 20)
    for batch in Stream(source, 4, buffer=8).batches():
        assert np.array_equal(batch["x"][:, 0], 3 * batch["y"])
    assert open_source(tmp_path / "x.zarr", columns=["y"]).read(18, 20)["y"].tolist() == [18.0, 19.0]
    with pytest.raises(DataError, match="there is no array 'z'"):
        open_source(tmp_path / "x.zarr", columns=["z"])


def test_text(tmp_path):
    (tmp_path / "text").write_bytes(bytes(range(100)))
    source = text_source(tmp_path / "text", 8, shard=3)
    assert len(source) == 12
    pieces = np.concatenate(
        [source.read(a, b) for a, b in zip(source.edges[:-1], source.edges[1:], strict=True)]
    )
    assert pieces.shape == (12, 9)
    assert np.array_equal(pieces[:, :-1].ravel(), np.arange(96))
    assert np.array_equal(pieces[:, 1:].ravel(), np.arange(1, 97))
    with pytest.raises(DataError, match="at least 101 bytes; got 100"):
        text_source(tmp_path / "text", 100)
    with pytest.raises(DataNotFoundError):
        text_source(tmp_path / "none", 3)
    with pytest.raises(ArgumentError, match="length"):
        text_source(tmp_path / "text", 0)


def test_save_source(tmp_path):
    x, y = np.arange(30.0).reshape(10, 3), np.arange(10)
    save_source(array_source((x, y), shard=4), (tmp_path / "x.npy", tmp_path / "y.npy"))
    assert np.array_equal(np.load(tmp_path / "x.npy"), x)
    assert np.array_equal(np.load(tmp_path / "y.npy"), y)
    with pytest.raises(ArgumentError, match="a file for each array"):
        save_source(array_source((x, y)), tmp_path / "z.npy")
