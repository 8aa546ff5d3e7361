"""What a network sees of grey images: how they are prepared, and how they are varied in training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.core.shapes import shape_of


def scaled(images: Any) -> Any:
    """Return grey images as float32 in [0, 1]."""
    return images.astype(np.float32) * np.float32(1 / 255)


def standardised(images: Any) -> Any:
    """Return (examples, 1, height, width) with MNIST's mean taken away, in units of its deviation.

    Args:
        images: uint8 (examples, height, width).

    Returns:
        float32 (examples, 1, height, width).

    Example:
        >>> standardised(np.full((1, 28, 28), 255, np.uint8)).max().round(3)
        np.float32(2.821)
    """
    return (scaled(images)[:, np.newaxis] - np.float32(0.1307)) * np.float32(1 / 0.3081)


def as_rows(images: Any) -> Any:
    """Return (examples, rows, columns) in [0, 2].

    Args:
        images: uint8 (examples, height, width).

    Returns:
        float32 (examples, rows, columns).

    Example:
        >>> float(as_rows(np.full((1, 28, 28), 255, np.uint8)).max())
        2.0
    """
    return images.astype(np.float32) * np.float32(2 / 255)


def as_vectors(images: Any) -> Any:
    """Return (examples, height x width).

    Args:
        images: uint8 (examples, height, width).

    Returns:
        float32 (examples, height x width), in [0, 1].

    Example:
        >>> as_vectors(np.zeros((2, 28, 28), np.uint8)).shape
        (2, 784)
    """
    return scaled(images).reshape(len(images), -1)


class Variation(NamedTuple):
    """Changes that leave an image what it is, drawn anew for every example of every step.

    Example:
        >>> brighter = Variation(
        ...     lambda rng, examples: rng.random((examples, 1, 1)),
        ...     lambda images, numbers: np.minimum(images + 9 * numbers, 255).astype(np.uint8),
        ... )
        >>> brighter.apply(np.zeros((1, 1, 2), np.uint8), np.ones((1, 1, 1))).tolist()
        [[[9, 9]]]
    """

    draw: Callable[[np.random.Generator, int], Any]
    """``(generator, examples) -> numbers (examples, ...)`` of a step."""
    apply: Callable[[Any, Any], Any]
    """``(images, numbers of a step) -> images``, uint8; it is compiled along with the step."""


def shifts(most: int) -> Variation:
    """Return the variation that moves each image by up to ``most`` pixels along both axes; zeros move in.

    Args:
        most: the largest number of pixels.

    Returns:
        The variation, which `Task.vary` may be.

    Example:
        >>> move = shifts(1)
        >>> image = np.array([[[1, 2], [3, 4]]], np.uint8)
        >>> move.apply(image, np.array([[0, 2]])).tolist()
        [[[0, 0], [2, 0]]]
    """

    def draw(rng: np.random.Generator, examples: int) -> Any:
        return rng.integers(0, 2 * most + 1, (examples, 2))

    def apply(images: Any, corners: Any) -> Any:
        count, height, width = shape_of(images)
        bordered = np.pad(images, ((0, 0), (most, most), (most, most)))
        rows = corners[:, :1] + np.arange(height)
        columns = corners[:, 1:] + np.arange(width)
        return bordered[np.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]]

    return Variation(draw, apply)
