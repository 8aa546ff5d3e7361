"""Augmentation of images by random keys: the same eagerly and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import shape_of
from wengert.random import bernoulli, fold_in, randint

__all__ = ["crop", "flip"]
__dir__ = __all__.copy


def flip(key: Any, images: Any, *, probability: float = 0.5, axis: int = -1) -> Any:
    """Mirror each image with a probability.

    Args:
        key: a random key; see `wengert.random`.
        images: (examples, ..., height, width), any dtype.
        probability: of mirroring an image.
        axis: the axis to turn round; -1 exchanges left and right, -2 top and bottom.

    Returns:
        Images of the same shape and dtype.

    Raises:
        ArgumentError: there is no axis of examples and of pixels.

    Example:
        >>> from wengert.random import key
        >>> flip(key(0), np.arange(8).reshape(4, 1, 2))[:, 0].tolist()
        [[1, 0], [3, 2], [4, 5], [6, 7]]
    """
    shape = _checked("flip", images, 2)
    chosen = bernoulli(key, probability, (shape[0],)).reshape((shape[0],) + (1,) * (len(shape) - 1))
    numpy: Any = np  # its functions take traced arrays, too
    return numpy.where(chosen, numpy.flip(images, axis), images)


def crop(key: Any, images: Any, *, padding: int) -> Any:
    """Move each image by up to some pixels: pad it with zeros, then cut out a part of its size at a random place.

    Args:
        key: a random key; see `wengert.random`.
        images: (examples, ..., height, width), any dtype.
        padding: zeros on each side, at least 0.

    Returns:
        Images of the same shape and dtype.

    Raises:
        ArgumentError: the padding is negative, or the images have too few axes.

    Example:
        >>> from wengert.random import key
        >>> crop(key(1), np.ones((2, 2, 2)), padding=1).tolist()
        [[[1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]]
    """
    if padding < 0:
        raise ArgumentError(message("crop", "padding must be at least 0", str(padding)))
    count, *_, height, width = shape = _checked("crop", images, 3)
    sides = [(0, 0)] * (len(shape) - 2) + [(padding, padding)] * 2
    rows, columns = (
        randint(fold_in(key, number), (count, 1), 0, 2 * padding + 1) + np.arange(size)
        for number, size in enumerate((height, width))
    )
    padded = np.pad(images, sides)
    # The axes between examples and pixels move behind, so that one gather takes whole pixels.
    pixels = np.moveaxis(padded, (-2, -1), (1, 2))
    cut = pixels[np.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]]
    return np.moveaxis(cut, (1, 2), (-2, -1))


def _checked(operation: str, images: Any, least: int) -> tuple[int, ...]:
    shape = shape_of(images)
    if len(shape) < least:
        requirement = "images must have the axes (examples, ..., height, width)"
        raise ArgumentError(message(operation, requirement, f"the shape {shape}"))
    return shape
