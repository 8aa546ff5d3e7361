from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wengert.data import DataError, DataNotFoundError, Dataset, load, read_idx, write_idx
from wengert.data.mnist import SOURCES, cache_folder

MARKS = {"env/mnist": 3, "env": 4, "cache/mnist": 5}


def test_a_folder_in_every_spelling(places: Path, small_set: Any) -> None:
    paths = small_set(places / "here")
    for spelling in (
        lambda path: path.with_suffix(""),
        lambda path: path.with_name(path.name.replace("-idx", ".idx")),
    ):
        data = load("mnist", places / "here")
        assert data.train_images.shape == (30, 28, 28)
        assert data.test_images.shape == (20, 28, 28)
        assert data.train_images.dtype == data.test_labels.dtype == np.uint8
        assert data.train_labels.tolist() == [i % 10 for i in range(30)]
        assert repr(data) == "<Dataset mnist: 30 to train, 20 to test, 28x28, 10 classes>"
        for path in paths:
            write_idx(spelling(path), read_idx(path))
            path.unlink()
        paths = [spelling(path) for path in paths]


@pytest.mark.parametrize("present", range(1, len(MARKS) + 1))
def test_the_first_place_wins(
    places: Path, small_set: Any, monkeypatch: pytest.MonkeyPatch, present: int
) -> None:
    (places / "env").mkdir()
    for place, mark in list(MARKS.items())[-present:]:
        small_set(places / place, first=mark)
    monkeypatch.setenv("WENGERT_DATA", str(places / "env"))
    assert load("mnist", download=False).train_images[0, 0, 0] == list(MARKS.values())[-present]


@pytest.mark.parametrize("subfolder", ["", "mnist"])
def test_a_folder_that_is_named_is_the_only_place(
    places: Path, small_set: Any, monkeypatch: pytest.MonkeyPatch, subfolder: str
) -> None:
    for place in ("env", "cache/mnist"):
        small_set(places / place, first=7)
    monkeypatch.setenv("WENGERT_DATA", str(places / "env"))
    folder = places / "folder"
    folder.mkdir()
    with pytest.raises(DataNotFoundError, match=r"folder: the files of mnist are not here; put train-images"):
        load("mnist", folder)
    assert not list(folder.iterdir())
    small_set(folder / subfolder, first=1)
    assert load("mnist", folder).train_images[0, 0, 0] == 1


def test_a_folder_that_is_not_there(places: Path, small_set: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    small_set(places / "cache" / "mnist")
    with pytest.raises(DataNotFoundError, match="nowhere: there is no such folder to load mnist from"):
        load("mnist", places / "nowhere")
    monkeypatch.setenv("WENGERT_DATA", str(places / "gone"))
    with pytest.raises(DataNotFoundError, match="gone: there is no such folder"):
        load("mnist")


def test_a_part_of_the_files_is_not_mixed_with_others(places: Path, small_set: Any) -> None:
    small_set(places / "cache" / "mnist")
    small_set(places / "here")[2].unlink()
    with pytest.raises(
        DataNotFoundError, match=r"here: some files of mnist .* not t10k-images-idx3-ubyte\.gz$"
    ):
        load("mnist", places / "here")


def test_an_unknown_name() -> None:
    with pytest.raises(DataError, match="unknown data set 'minst'; known are mnist, fashion-mnist"):
        load("minst")


@pytest.mark.parametrize(
    ("which", "array", "complaint"),
    [
        (0, np.zeros((30, 28, 27), np.uint8), r"train-images\S+: at byte 2: .*uint8\[n, 28, 28\]; got uint8"),
        (0, np.zeros((30, 28, 28), np.float32), r"train-images\S+: at byte 2: .* got float32\[30, 28, 28\]"),
        (1, np.zeros((30, 1), np.uint8), r"train-labels\S+: at byte 2: .*uint8\[n\]; got uint8\[30, 1\]"),
        (
            1,
            np.zeros(29, np.uint8),
            r"train-labels\S+: at byte 4: expected 30 labels for the images of .*; got 29",
        ),
        (3, np.arange(20, dtype=np.uint8), r"t10k-labels\S+: at byte 18: expected a label below 10; got 10"),
    ],
)
def test_files_that_do_not_fit(places: Path, small_set: Any, which: int, array: Any, complaint: str) -> None:
    write_idx(small_set(places / "here")[which], array)
    with pytest.raises(DataError, match=complaint):
        load("mnist", places / "here")


def test_a_damaged_file(places: Path, small_set: Any) -> None:
    path = small_set(places / "here")[2]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"t10k-images-idx3-ubyte\.gz: at byte .* damaged gzip data"):
        load("mnist", places / "here")


def arrays_of(data: Dataset) -> list[np.ndarray[Any, Any]]:
    return [data.train_images, data.train_labels, data.test_images, data.test_labels]


def test_gzipped_files_are_unpacked_once_and_mapped(
    places: Path, small_set: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = small_set(places / "here", first=3)
    first = load("mnist", places / "here")
    assert all(isinstance(array.base, np.memmap) for array in arrays_of(first))
    assert len(list((places / "cache" / "unpacked").iterdir())) == len(paths)
    with monkeypatch.context() as patch:
        patch.setattr("wengert.data.mnist.read_idx", lambda path: pytest.fail(f"{path} is read again"))
        for left, right in zip(arrays_of(first), arrays_of(load("mnist", places / "here")), strict=True):
            np.testing.assert_array_equal(left, right)
    small_set(places / "here", first=4)
    assert load("mnist", places / "here").train_images[0, 0, 0] == 4


def test_a_damaged_copy_in_the_cache_is_replaced(places: Path, small_set: Any) -> None:
    small_set(places / "here")
    load("mnist", places / "here")
    for copy in (places / "cache" / "unpacked").iterdir():
        copy.write_bytes(copy.read_bytes()[:-1])
    assert load("mnist", places / "here").train_images.shape == (30, 28, 28)


def test_without_a_cache_the_files_are_read(places: Path, small_set: Any) -> None:
    small_set(places / "here")
    (places / "cache").write_text("not a folder")
    assert load("mnist", places / "here").test_images.shape == (20, 28, 28)


NAMES = "mnist", "fashion-mnist"
LAST_CLASSES = {"mnist": "9", "fashion-mnist": "Ankle boot"}


@pytest.mark.parametrize(("name", "twin"), [NAMES, NAMES[::-1]])
def test_one_set_is_not_taken_for_the_other(
    places: Path,
    small_set: Any,
    server: Any,
    offer: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    twin: str,
) -> None:
    paths = small_set(places / "here")
    offer(paths, server, monkeypatch, name)
    for path in paths:  # another compression of the same content, as a package of a distribution has it
        path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), 1))
    with pytest.raises(DataError, match=f"expected {twin}, got {name}; put it into a subfolder named {name}"):
        load(twin, places / "here")
    small_set(places / "here" / twin, train=31)
    assert load(twin, places / "here").classes[9] == LAST_CLASSES[twin]


@pytest.mark.parametrize("name", NAMES)
def test_a_download(
    places: Path, small_set: Any, server: Any, offer: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    paths = small_set(places / "origin")
    offer(paths, server, monkeypatch, name)
    names = [path.name for path in paths]
    cache = places / "cache" / name
    with pytest.raises(DataNotFoundError, match="downloads are off"):
        load(name, download=False)
    assert server.requests == []

    reports: list[str] = []
    loaded = load(name, progress=lambda file, *_: reports.append(file))
    assert (loaded.name, loaded.classes[9], len(loaded.train_labels)) == (name, LAST_CLASSES[name], 30)
    assert server.requests == reports == names
    assert sorted(path.name for path in cache.iterdir()) == sorted(names)

    load(name, download=False)
    assert server.requests == names

    (cache / names[2]).unlink()
    load(name)
    assert server.requests == [*names, names[2]]


def test_other_mirrors(
    places: Path, small_set: Any, server: Any, offer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(small_set(places / "origin"), server, monkeypatch)
    with pytest.raises(DataNotFoundError, match="could not be downloaded"):
        load("mnist", mirrors=["no URL"])
    assert server.requests == []
    load("mnist", mirrors=["no URL", server.url])
    assert len(server.requests) == 4


def test_a_download_that_breaks_off_leaves_whole_files_only(
    places: Path, small_set: Any, server: Any, offer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = small_set(places / "origin")
    offer(paths, server, monkeypatch)
    server.bodies[paths[2].name] = gzip.compress(b"something else")
    with pytest.raises(DataNotFoundError, match="the checksum differs"):
        load("mnist")
    assert {path.name for path in (places / "cache" / "mnist").iterdir()} == {path.name for path in paths[:2]}


@pytest.mark.parametrize("download", [True, False])
def test_the_three_ways_out_when_offline(places: Path, download: bool) -> None:
    with pytest.raises(DataNotFoundError) as info:
        load("mnist", download=download, mirrors=["http://127.0.0.1:9"])
    text = str(info.value)
    assert all(way in text for way in ("folder= (--data-dir)", "set WENGERT_DATA", "built-in digits"))
    assert "\n" not in text


@pytest.mark.parametrize(
    ("platform", "variable", "value", "expected"),
    [
        ("linux", "XDG_CACHE_HOME", "/somewhere", Path("/somewhere/wengert/data")),
        ("linux", "XDG_CACHE_HOME", "", Path.home() / ".cache/wengert/data"),
        ("darwin", "XDG_CACHE_HOME", "", Path.home() / "Library/Caches/wengert/data"),
        ("win32", "LOCALAPPDATA", "/local", Path("/local/wengert/data")),
        ("win32", "LOCALAPPDATA", "", Path.home() / "AppData/Local/wengert/data"),
    ],
)
def test_the_cache_folder(
    monkeypatch: pytest.MonkeyPatch, platform: str, variable: str, value: str, expected: Path
) -> None:
    monkeypatch.setenv(variable, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_folder() == expected


def test_the_known_files_have_distinct_checksums() -> None:
    digests = [file.sha256 for source in SOURCES.values() for file in source.files]
    assert len(set(digests)) == 8
    assert all(len(bytes.fromhex(digest)) == 32 for digest in digests)


def test_mnist(mnist_folder: Path) -> None:
    data = load("mnist", mnist_folder)
    assert data.train_images.shape == (60000, 28, 28)
    assert data.test_images.shape == (10000, 28, 28)
    assert np.bincount(data.test_labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert all(file.matches(mnist_folder / file.name) for file in SOURCES["mnist"].files)
    with pytest.raises(DataError, match="expected fashion-mnist, got mnist"):
        load("fashion-mnist", mnist_folder)
