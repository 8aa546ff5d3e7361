"""Images in folders, their augmentation, and .npy files for ``wengert train``."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert import random
from wengert.data import DataError, DataNotFoundError, Stream, digits, image_folder, load_arrays, save_source
from wengert.data.augment import crop, flip
from wengert.data.sources import mapped
from wengert.engine.core.errors import ArgumentError


@pytest.fixture
def pictures(tmp_path):
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "pictures"
    for label, name in enumerate(("cat", "dog", "empty")):
        (folder / name).mkdir(parents=True)
        for number in range(3 if name != "empty" else 0):
            image.new("RGB", (12, 8), (10 * label, number, 255)).save(folder / name / f"{number}.png")
    (folder / "cat" / "notes.txt").write_text("not a picture")
    (folder / "cat" / ".hidden.png").write_text("not a picture")
    return folder


def test_pictures_and_labels(pictures):
    source, classes = image_folder(pictures, (6, 6), colour=True, shard=2)
    assert classes == ("cat", "dog", "empty")
    assert source.edges == (0, 2, 4, 6)
    images, labels = source.read(2, 5)
    assert images.shape == (3, 3, 6, 6)
    assert images.dtype == np.uint8
    assert images[:, :, 3, 3].tolist() == [[0, 2, 255], [10, 0, 255], [10, 1, 255]]
    assert labels.tolist() == [0, 1, 1]
    grey = image_folder(pictures, (6, 5)).source
    assert next(Stream(grey, 4).batches())[0].shape == (4, 6, 5)


def test_wrong_folders(pictures, tmp_path):
    (pictures / "dog" / "9.png").write_bytes(b"\x89PNG damaged")
    source = image_folder(pictures, (6, 6)).source
    with pytest.raises(DataError, match=r"9.png: the picture is damaged"):
        source.read(0, len(source))
    with pytest.raises(DataNotFoundError, match="is not a folder"):
        image_folder(tmp_path / "none", (6, 6))
    with pytest.raises(DataNotFoundError, match="holds no pictures"):
        image_folder(pictures / "empty", (6, 6))
    with pytest.raises(ArgumentError, match="at least 1"):
        image_folder(pictures, (0, 6))


@pytest.mark.parametrize("shape", [(5, 6), (3, 5, 6)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_augmentation_is_compiled_to_the_same_numbers(shape, dtype):
    images = np.random.default_rng(0).integers(0, 255, (40, *shape)).astype(dtype)
    key = random.key(7)
    mirrored, moved = flip(key, images), crop(key, images, padding=2)
    for function, result in ((flip, mirrored), (lambda key, x: crop(key, x, padding=2), moved)):
        compiled = wg.jit(function)(key, images)
        assert result.dtype == dtype
        assert compiled.dtype == dtype
        assert np.array_equal(result, compiled)
    is_mirrored = [np.array_equal(a, b[..., ::-1]) for a, b in zip(mirrored, images, strict=True)]
    is_same = [np.array_equal(a, b) for a, b in zip(mirrored, images, strict=True)]
    assert all(a or b for a, b in zip(is_mirrored, is_same, strict=True))
    assert 5 < sum(is_mirrored) < 35
    padded = np.pad(images, [(0, 0)] * (len(shape) - 1) + [(2, 2)] * 2)
    places = set()
    for number, image in enumerate(moved):
        found = [
            (row, column)
            for row in range(5)
            for column in range(5)
            if np.array_equal(image, padded[number, ..., row : row + 5, column : column + 6])
        ]
        assert found
        places |= {found[0]}
    assert len(places) > 12


def test_augmentation_keeps_what_it_must():
    images = np.arange(24.0).reshape(2, 3, 4)
    assert np.array_equal(flip(random.key(0), images, probability=0.0), images)
    assert np.array_equal(flip(random.key(0), images, probability=1.0, axis=-2), images[:, ::-1])
    assert np.array_equal(crop(random.key(0), images, padding=0), images)
    with pytest.raises(ArgumentError, match="padding"):
        crop(random.key(0), images, padding=-1)
    with pytest.raises(ArgumentError, match="axes"):
        crop(random.key(0), np.zeros((3, 3)), padding=1)


# -- .npy files --------------------------------------------------------------------------------------------


@pytest.fixture
def arrays(tmp_path):
    for part, count in (("train", 60), ("test", 20)):
        images, labels = digits(count, seed=count)
        np.save(tmp_path / f"{part}-images.npy", images)
        np.save(tmp_path / f"{part}-labels.npy", labels)
    return tmp_path


def test_arrays_are_mapped(arrays):
    dataset = load_arrays(arrays)
    assert type(dataset.train_images) is np.ndarray
    assert not dataset.train_images.flags.owndata
    assert dataset.classes == tuple("0123456789")
    (arrays / "classes.txt").write_text("\n".join("abcdefghij") + "\n")
    assert load_arrays(arrays).classes == tuple("abcdefghij")


def test_wrong_arrays(arrays):
    (arrays / "classes.txt").write_text("a\nb\n")
    with pytest.raises(DataError, match="labels must be 0 to 1; got 0 to 9"):
        load_arrays(arrays)
    np.save(arrays / "test-labels.npy", np.zeros(3))
    with pytest.raises(DataError, match=r"labels must be integers\[20\]; got float64\[3\]"):
        load_arrays(arrays)
    np.save(arrays / "train-images.npy", np.zeros((60, 28, 28)))
    with pytest.raises(DataError, match=r"images must be uint8\[n, height, width\]; got float64"):
        load_arrays(arrays)
    (arrays / "train-images.npy").unlink()
    with pytest.raises(DataNotFoundError, match=r"train-images.npy is not here"):
        load_arrays(arrays)


def test_pictures_become_arrays(pictures, tmp_path):
    source = image_folder(pictures, (28, 28)).source
    save_source(source, (tmp_path / "train-images.npy", tmp_path / "train-labels.npy"))
    assert np.load(tmp_path / "train-images.npy").shape == (6, 28, 28)
    assert np.load(tmp_path / "train-labels.npy").tolist() == [0, 0, 0, 1, 1, 1]


def test_a_run_on_arrays(arrays, wengert):
    options = ("--batch-size", "10", "--epochs", "1", "--eager", "--dry-run")
    ended = wengert("train", "mlp", "--data", "arrays", "--data-dir", str(arrays), *options)
    assert ended.code == 0, ended.err
    assert "60 images to train, 20 to test" in ended.out
    wengert("train", "mlp", "--data", "arrays").failed(2, "--data arrays needs --data-dir")
    np.save(arrays / "train-images.npy", np.zeros((60, 9, 9), np.uint8))
    wengert("train", "mlp", "--data", "arrays", "--data-dir", str(arrays)).failed(
        1, "mlp learns images of 28x28; got 9x9"
    )


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.exhaustive
def test_damaged_headers_are_named(tmp_path, seed):
    """Each damage of the first bytes ends in `DataError`, or leaves an array that NumPy reads."""
    rng, path = np.random.default_rng(seed), tmp_path / "images.npy"
    for _ in range(many(20)):
        np.save(path, np.zeros((3, 2)))
        content = bytearray(path.read_bytes())
        for place in rng.integers(8, 80, rng.integers(1, 4)):
            content[place] = rng.choice(list(b"(){}[],:'\"<f8 \n1"))
        path.write_bytes(content)
        with contextlib.suppress(DataError):
            assert mapped(path).ndim
