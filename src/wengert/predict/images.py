"""Image files as a network's input: grey, uint8, of the size that it learned."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from wengert.data import DataError, DataNotFoundError, read_idx
from wengert.data.dataset import SIZE
from wengert.data.errors import damaged
from wengert.data.idx import GZIP_MAGIC
from wengert.data.image_folders import pillow

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

Array: TypeAlias = np.ndarray[Any, Any]

_FORMATS = {
    "PNG": (b"\x89PNG",),
    "JPEG": (b"\xff\xd8\xff",),
    "BMP": (b"BM",),
    "PPM": (b"P2", b"P3", b"P5", b"P6"),
}
_ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm"}
_KNOWN = "PNG, JPEG, BMP, PGM, PPM or IDX"
_BOX = 20 / 28
"""The fraction of the height and width that MNIST's digits fill."""
_FAINT = 64
"""Darker pixels (of 255) are background when a drawing is cropped."""
_MOST_PIXELS = 1 << 25
"""Of a picture; a phone's camera takes 12 to 24 million."""
_MOST_IN_ALL = 1 << 28
"""Pixels of all images in an IDX file; MNIST has 47 million."""
_STRIP = 1 << 20
"""Pixels that are converted to grey at a time."""
_LEVELS_16 = 257
"""Levels of 16 bits for each of 8 bits: 65535 / 255."""


class Images(NamedTuple):
    """The images in a file."""

    path: str
    images: Array
    """uint8 (examples, height, width), 0 for the background."""
    many: bool
    """Whether the file can hold many images (IDX), which are numbered."""
    resized: tuple[int, int] | None = None
    """The original height and width, if the images were resized."""
    light: bool = False
    """Whether most pixels at the edges are light, as on a scan of ink on paper."""

    @property
    def names(self) -> list[str]:
        """A name for each image."""
        return [f"{self.path}[{number}]" if self.many else self.path for number in range(len(self.images))]


def image_files(place: str | os.PathLike[str]) -> list[str]:
    """Return the file, or the image files in a folder: those with a known ending or with ``idx3`` in their names.

    Raises:
        DataError: the folder holds no images.
        DataNotFoundError: the file or folder does not exist.
    """
    path = Path(place)
    if not path.exists():
        raise DataNotFoundError(f"{place}: there is no such file or folder")
    if not path.is_dir():
        return [os.fspath(place)]
    try:
        files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    except OSError as problem:
        raise DataError(f"{place}: cannot be read: {problem.strerror or problem}") from None
    images = [str(file) for file in files if file.suffix.lower() in _ENDINGS or "idx3" in file.name]
    if not images:
        raise DataError(f"{place}: the folder holds no images ({_KNOWN})")
    return images


def read_images(
    path: str | os.PathLike[str],
    size: tuple[int, int] | None = SIZE,
    *,
    invert: bool = False,
    resize: bool = False,
    centre: bool = False,
) -> Images:
    """Read an image file: a picture (PNG, JPEG, BMP, PGM, PPM) or an IDX file, gzipped or not.

    The content decides the format, not the name. Colours become grey, 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601);
    16 bits become 8. Transparent pixels become background.

    Args:
        path: the file.
        size: the required height and width; None for any.
        invert: invert the levels, for dark ink on light paper: networks learn light on black.
        resize: resize images of other sizes to ``size``; keep the proportions, pad with the level of the edges.
        centre: crop the drawing, subtract the background's grey, scale it into a square of 20/28 of the image, and move
            its centre of mass to the middle, as in MNIST; images may have any size.

    Returns:
        Images, uint8 (examples, height, width).

    Raises:
        DataNotFoundError: the file does not exist.
        DataError: the file is damaged, holds no images, images of another size, or too many pixels: a picture may have
            2^25, all images of an IDX file together 2^28. They are counted before decompression.
        MissingExtraError: pictures and resizing need Pillow.

    Example:
        >>> import tempfile
        >>> from wengert.data import digits, write_idx
        >>> path = os.path.join(tempfile.mkdtemp(), "some")
        >>> write_idx(path, digits(3)[0])
        >>> read_images(path).names[2] == path + "[2]"
        True
    """
    start = _start(path)
    name = os.fspath(path)
    if start[:2] in (GZIP_MAGIC, b"\0\0"):
        images, many = _read_idx(path, invert)
    elif start.startswith(tuple(magic for magics in _FORMATS.values() for magic in magics)):
        images, many = _read_picture(name, invert)[np.newaxis], False
    else:
        raise DataError(f"{name}: the file is {f'not {_KNOWN}' if start else 'empty'}")
    original, light = images.shape[1:], float(np.median(_edges(images))) > 127
    if size is None or (original == size and not centre):
        return Images(name, images, many, light=light)
    if not (resize or centre):
        requirement = f"images must be {size[0]}x{size[1]} (height x width); got {original[0]}x{original[1]}"
        raise DataError(f"{name}: {requirement}; resize them with --resize (resize=True)")
    if (count := len(images) * size[0] * size[1]) > _MOST_IN_ALL:
        requirement = f"resized to {size[0]}x{size[1]}, all images may have {_MOST_IN_ALL:,} pixels"
        raise DataError(f"{name}: {requirement}; {len(images):,} images have {count:,}; split the file")
    resized = np.stack([(_centred if centre else _fitted)(image, size) for image in images])
    return Images(name, resized, many, None if original == size else original, light)


def _start(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(4)
    except FileNotFoundError:
        raise DataNotFoundError(f"{path}: there is no such file") from None
    except OSError as problem:
        raise DataError(f"{path}: cannot be read: {problem.strerror or problem}") from None


def _read_idx(path: str | os.PathLike[str], invert: bool) -> tuple[Array, bool]:
    images = read_idx(path, most=_MOST_IN_ALL)
    if images.dtype != np.uint8 or images.ndim not in (2, 3):
        raise damaged(path, 2, "images, uint8[n, height, width]", f"{images.dtype}{list(images.shape)}")
    if not images.size:
        raise DataError(f"{os.fspath(path)}: the file holds no images")
    many = images.ndim == 3
    return (255 - images if invert else images).reshape(-1, *images.shape[-2:]), many


# -- pictures --------------------------------------------------------------------------------------------


def _read_picture(path: str, invert: bool) -> Array:
    module = pillow()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", module.DecompressionBombWarning)  # our bound is lower
            with module.open(path, formats=tuple(_FORMATS)) as picture:
                _check_pixels(path, picture.width * picture.height, f" ({picture.height}x{picture.width})")
                picture.verify()  # checks the checksums; reading does not
            with module.open(path, formats=tuple(_FORMATS)) as picture:
                return _grey(picture, invert)
    except DataError:
        raise
    except module.DecompressionBombError as problem:  # Pillow does not provide the height and width
        count = re.search(r"\d+", str(problem))
        _check_pixels(path, int(count[0]) if count else 2 * _MOST_PIXELS, "")
        raise
    except Exception as problem:  # a damaged file can raise anything in a decoder
        raise DataError(f"{path}: the picture is damaged or cannot be read: {problem}") from None


def _check_pixels(path: str, count: int, size: str) -> None:
    """Raise `DataError` if a decoded picture would take too much memory."""
    if count > _MOST_PIXELS:
        requirement = f"a picture may have {_MOST_PIXELS:,} pixels; got {count:,}{size}"
        raise DataError(f"{path}: {requirement}; make it smaller first")


def _grey(picture: Picture, invert: bool) -> Array:
    """Return the grey levels of a picture, converted some rows at a time: colours take several times the memory."""
    from PIL import ImageOps

    upright: Any = ImageOps.exif_transpose(picture)
    width, height = upright.size
    levels, rows = np.empty((height, width), np.uint8), max(_STRIP // max(width, 1), 1)
    for top in range(0, height, rows):
        bottom = min(top + rows, height)
        levels[top:bottom] = _grey_levels(upright.crop((0, top, width, bottom)), invert)
    return levels


def _grey_levels(strip: Any, invert: bool) -> Array:
    from PIL import Image

    if strip.mode.startswith("I"):
        levels = np.rint(np.asarray(strip, np.float64) / _LEVELS_16).clip(0, 255).astype(np.uint8)
    elif strip.has_transparency_data:
        colours = strip.convert("RGBA")
        background = Image.new("RGBA", colours.size, "white" if invert else "black")
        levels = np.asarray(Image.alpha_composite(background, colours).convert("L"))
    else:
        levels = np.asarray(strip.convert("L"))
    return 255 - levels if invert else levels


def _edges(images: Array) -> Array:
    sides = (images[..., 0, :], images[..., -1, :], images[..., 0], images[..., -1])
    return np.concatenate([np.ravel(side) for side in sides])


def _fitted(image: Array, size: tuple[int, int]) -> Array:
    """Return an image resized to fit; the proportions stay, the rest is padded."""
    module = pillow()
    from PIL import ImageOps

    height, width = size
    around = int(np.median(_edges(image)))
    # Pillow's bilinear filter averages over the area of a pixel, without the overshoot of longer filters.
    method = module.Resampling.BILINEAR
    return np.asarray(ImageOps.pad(module.fromarray(image), (width, height), method, color=around))


def _centred(image: Array, size: tuple[int, int]) -> Array:
    """Return the light drawing of an image with the size and position of MNIST's digits."""
    module, placed = pillow(), np.zeros(size, np.uint8)
    ink = np.maximum(np.arange(256) - np.median(_edges(image)), 0)  # by level
    if not (most := ink[int(image.max())]):
        return placed
    ink *= 255 / most
    visible = (ink > _FAINT)[image]
    rows, columns = (np.flatnonzero(visible.any(axis)) for axis in (1, 0))
    cropped = image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    factor = min(whole * _BOX / part for whole, part in zip(size, cropped.shape, strict=True))
    height, width = (max(1, round(factor * extent)) for extent in cropped.shape)
    picture = module.fromarray(np.rint(ink).clip(0, 255).astype(np.uint8)[cropped])
    small = np.asarray(picture.resize((width, height), module.Resampling.BILINEAR), np.float64)
    top, left = (
        int(np.clip(round(whole / 2 - _centre_of_mass(small, axis)), 0, whole - part))
        for axis, (whole, part) in enumerate(zip(size, small.shape, strict=True))
    )
    placed[top : top + height, left : left + width] = np.rint(small)
    return placed


def _centre_of_mass(levels: Array, axis: int) -> float:
    sums = np.sum(levels, axis=1 - axis)
    return float(np.sum(sums * (np.arange(len(sums)) + 0.5)) / np.sum(sums))
