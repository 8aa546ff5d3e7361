"""MNIST and Fashion-MNIST: from a folder, the user's cache, or a download."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wengert.data.dataset import DIGITS, SIZE, Array, Dataset
from wengert.data.download import Progress, RemoteFile, fetch, shown_progress
from wengert.data.errors import DataError, DataNotFoundError, damaged
from wengert.data.idx import is_gzipped, map_idx, read_idx, write_idx

_WAYS_OUT = (
    "put the four files into a folder and pass folder= (--data-dir), "
    "or set WENGERT_DATA to that folder, "
    "or use the built-in digits (digit_set)"
)


@dataclass(frozen=True)
class Source:
    """The class names of a data set, the URLs of folders with its files, and their names.

    These are training images, training labels, test images, test labels.
    """

    classes: tuple[str, ...]
    mirrors: tuple[str, ...]
    files: tuple[RemoteFile, ...]


def _files(*sha256: str) -> tuple[RemoteFile, ...]:
    parts = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    names = (f"{part}-ubyte.gz" for part in parts)
    return tuple(map(RemoteFile, names, sha256))


SOURCES = {
    "mnist": Source(
        classes=DIGITS,
        mirrors=(
            "https://ossci-datasets.s3.amazonaws.com/mnist",
            "https://storage.googleapis.com/cvdf-datasets/mnist",
        ),
        files=_files(
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ),
    "fashion-mnist": Source(
        classes=(
            "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
            "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
        ),
        mirrors=(
            "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion",
            "https://storage.googleapis.com/tensorflow/tf-keras-datasets",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
        ),
        files=_files(
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    ),
}  # fmt: skip


def load(
    name: str = "mnist",
    folder: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    mirrors: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Load MNIST or Fashion-MNIST.

    With ``folder`` the four files, gzipped or not, must be there. Otherwise they may be in the folder that the
    environment variable ``WENGERT_DATA`` names, or in the user's cache; missing files are downloaded into the cache,
    and their checksums compared. A folder may hold the files in a subfolder ``name``.

    The files are mapped into memory: a page is read when it is used. Gzipped files are first unpacked into the cache.

    Args:
        name: ``"mnist"`` or ``"fashion-mnist"``.
        folder: The folder of the files.
        download: Whether files may be downloaded.
        mirrors: URLs of folders to download from, instead of the known ones.
        progress: Called with the name of a file, the number of bytes received and the number expected (or None). By
            default a bar is shown if stderr is a terminal.

    Returns:
        60,000 images to train with and 10,000 to test with, 28x28 each, and their labels.

    Raises:
        DataNotFoundError: A folder or a file is missing and cannot be downloaded.
        DataError: The name is unknown, or a file is damaged or does not fit the others.

    Sources: http://yann.lecun.com/exdb/mnist and https://github.com/zalandoresearch/fashion-mnist.

    Example:
        >>> load("minst")
        Traceback (most recent call last):
        wengert.data.errors.DataError: unknown data set 'minst'; known are mnist, fashion-mnist
    """
    if name not in SOURCES:
        raise DataError(f"unknown data set {name!r}; known are {', '.join(SOURCES)}")
    source = SOURCES[name]
    paths = _find(name, folder)
    if paths is None:
        paths = _cached(name, mirrors or source.mirrors if download else (), progress)
    train_images, train_labels = _read_pair(paths[0], paths[1], len(source.classes))
    test_images, test_labels = _read_pair(paths[2], paths[3], len(source.classes))
    _check_identity(name, paths[1])
    return Dataset(train_images, train_labels, test_images, test_labels, name, source.classes)


def cache_folder() -> Path:
    """Return the folder of downloads, by the convention of the platform."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "wengert" / "data"


def _find(name: str, folder: str | os.PathLike[str] | None) -> list[Path] | None:
    """Return the four files in the user's folder, if there is one."""
    files = SOURCES[name].files
    if base := folder or os.environ.get("WENGERT_DATA"):
        if not Path(base).is_dir():
            raise DataNotFoundError(f"{base}: there is no such folder to load {name} from")
        for place in (Path(base) / name, Path(base)):
            located = {file.name: _locate(place, file.name) for file in files}
            paths = [path for path in located.values() if path]
            if len(paths) == len(files):
                return paths
            if paths:
                missing = ", ".join(name for name, path in located.items() if not path)
                raise DataNotFoundError(f"{place}: some files of {name} are here, but not {missing}")
        if folder:
            names = ", ".join(file.name for file in files)
            raise DataNotFoundError(
                f"{base}: the files of {name} are not here; put {names} into it, or omit the folder "
                "to use $WENGERT_DATA, the user's cache or a download"
            )
    return None


def _locate(folder: Path, name: str) -> Path | None:
    """Return the path of a file under any of its usual names."""
    bare = name.removesuffix(".gz")
    dotted = bare.replace("-idx", ".idx")
    candidates = (folder / spelling for spelling in (name, bare, dotted + ".gz", dotted))
    return next((path for path in candidates if path.is_file()), None)


def _cached(name: str, mirrors: Sequence[str], progress: Progress | None) -> list[Path]:
    """Return the four files in the cache; download missing ones."""
    cache = cache_folder() / name
    missing = [file for file in SOURCES[name].files if not (cache / file.name).is_file()]
    if missing and not mirrors:
        raise DataNotFoundError(f"{name}: not in {cache}, and downloads are off; {_WAYS_OUT}")
    try:
        with shown_progress() as bars:
            for file in missing:
                fetch(file, mirrors, cache, progress=progress or bars)
    except DataNotFoundError as error:
        raise DataNotFoundError(f"{name}: could not be downloaded ({error}); {_WAYS_OUT}") from None
    return [cache / file.name for file in SOURCES[name].files]


def _check_identity(name: str, labels: Path) -> None:
    """Check that the labels are not those of another set with files of the same names."""
    for twin, source in SOURCES.items():
        if twin != name and source.files[1].matches(labels):
            raise DataError(f"{labels}: expected {name}, got {twin}; put it into a subfolder named {twin}")


def _read_pair(images_path: Path, labels_path: Path, classes: int) -> tuple[Array, Array]:
    images, labels = _array(images_path), _array(labels_path)
    if images.dtype != np.uint8 or images.shape[1:] != SIZE:
        raise damaged(images_path, 2, "images, uint8[n, 28, 28]", f"{images.dtype}{list(images.shape)}")
    if labels.dtype != np.uint8 or labels.ndim != 1:
        raise damaged(labels_path, 2, "labels, uint8[n]", f"{labels.dtype}{list(labels.shape)}")
    if len(images) != len(labels):
        expected = f"{len(images)} labels for the images of {images_path.name}"
        raise damaged(labels_path, 4, expected, str(len(labels)))
    if np.any(wrong := labels >= classes):
        first = int(np.argmax(wrong))
        raise damaged(labels_path, 8 + first, f"a label below {classes}", str(labels[first]))
    return images, labels


def _array(path: Path) -> Array:
    """Return the array of a file, mapped into memory; a gzipped file's content is kept in the cache."""
    if not is_gzipped(path):
        return map_idx(path)
    copy = cache_folder() / "unpacked" / hashlib.sha256(path.read_bytes()).hexdigest()
    with contextlib.suppress(DataNotFoundError, DataError):  # not there yet, or damaged
        return map_idx(copy)
    array = read_idx(path)
    with contextlib.suppress(OSError):  # the cache cannot be written: the array stays in memory
        copy.parent.mkdir(parents=True, exist_ok=True)
        write_idx(copy, array)
        return map_idx(copy)
    return array
