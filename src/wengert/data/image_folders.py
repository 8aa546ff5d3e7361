"""Images in folders, a folder for each class."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert.data.errors import DataError, DataNotFoundError
from wengert.data.sources import Source
from wengert.engine.core.errors import ArgumentError, MissingExtraError, message

SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm", ".webp", ".gif", ".tif", ".tiff"))
_FORMATS = ("PNG", "JPEG", "BMP", "PPM", "WEBP", "GIF", "TIFF")


class ImageFolder(NamedTuple):
    """Images with labels, and the names of the classes."""

    source: Source
    """Examples ``(images, labels)``: uint8 (n, height, width), in colour (n, 3, height, width); int64 (n,)."""
    classes: tuple[str, ...]


def image_folder(
    path: str | os.PathLike[str], size: tuple[int, int], *, colour: bool = False, shard: int = 64
) -> ImageFolder:
    """Return the images in a folder that holds a folder for each class.

    Pictures are read when they are needed. Each is scaled so that it covers the size, and cut at the centre.

    Args:
        path: the folder; the names of its folders are the classes, in alphabetical order. Files that are not pictures
            (by their endings), and names that begin with a dot, are left out.
        size: height and width of the images.
        colour: whether the images have the three channels red, green and blue; otherwise they are grey.
        shard: pictures that are read in one piece.

    Returns:
        The source of ``(images, labels)``, and the classes.

    Raises:
        DataNotFoundError: the folder does not exist, or holds no pictures.
        DataError: while reading: a picture is damaged.
        MissingExtraError: Pillow is not installed.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> folder = Path(tempfile.mkdtemp())
        >>> for name in ("cat", "dog"):
        ...     (folder / name).mkdir()
        ...     Image.new("L", (8, 6), len(name)).save(folder / name / "1.png")
        >>> images, classes = image_folder(folder, (4, 4))
        >>> classes, images.read(0, 2)[0].shape, images.read(0, 2)[1]
        (('cat', 'dog'), (2, 4, 4), array([0, 1]))
    """
    if min(size) < 1 or shard < 1:
        requirement = "height, width and shard must be at least 1"
        raise ArgumentError(message("image_folder", requirement, f"{size}, {shard}"))
    pillow()
    folder = Path(path)
    if not folder.is_dir():
        raise DataNotFoundError(f"{folder} is not a folder")
    places = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    files = [
        (file, label)
        for label, place in enumerate(places)
        for file in sorted(place.iterdir())
        if file.suffix.lower() in SUFFIXES and not file.name.startswith(".")
    ]
    if not files:
        raise DataNotFoundError(
            f"{folder} holds no pictures in folders of classes, such as {folder}/cat/1.png"
        )

    def read(start: int, stop: int) -> tuple[Any, Any]:
        part = files[start:stop]
        images = np.stack([_read(file, size, colour) for file, _ in part])
        return images, np.array([label for _, label in part])

    edges = (*range(0, len(files), shard), len(files))
    return ImageFolder(Source(edges, read), tuple(place.name for place in places))


def pillow() -> Any:
    """Return `PIL.Image`, or raise `MissingExtraError`."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("pictures need Pillow: pip install 'wengert[images]'") from None
    return Image


def _read(file: Path, size: tuple[int, int], colour: bool) -> Any:
    from PIL import ImageOps

    try:
        with pillow().open(file, formats=_FORMATS) as picture:
            upright: Any = ImageOps.exif_transpose(picture)
            fitted = ImageOps.fit(upright.convert("RGB" if colour else "L"), (size[1], size[0]))
            pixels = np.asarray(fitted, np.uint8)
    except Exception as problem:  # a damaged file can raise anything in a decoder
        raise DataError(f"{file}: the picture is damaged or cannot be read: {problem}") from None
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)) if colour else pixels
