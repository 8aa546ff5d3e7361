"""A built-in set of handwritten digits: strokes drawn with a random hand.

Every number comes from raw bits of the counter-based generator Philox (J. K. Salmon et al., "Parallel random
numbers: as easy as 1, 2, 3", 2011), and every step is an array operation that IEEE 754 defines to the last
bit: + - * / sqrt. The pictures are therefore the same on every platform and with every version of NumPy.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from wengert.core.errors import ArgumentError, message
from wengert.data.dataset import DIGITS, Dataset
from wengert.data.glyphs import Glyphs, glyphs

Array: TypeAlias = np.ndarray[Any, Any]

_DOTS = 96  # dots that make up a digit; at 28x28 about 0.6 pixels apart
_PIXELS_AT_ONCE = 32 * 28 * 28  # so that the working set stays in the second-level cache
_UNIFORMS = 6  # class, style, radius, softness, contrast, grain
_BELLS = 9  # the pose


def digits(n: int, *, seed: int = 0, size: int = 28) -> tuple[Array, Array]:
    """Draw handwritten digits.

    Each picture has a class, a style, a pose (size, slant, curvature, rotation, position), control points
    that tremble, and a thickness, pressure, softness, contrast and noise of its own. Picture i depends on the
    seed and on i only.

    Args:
        n: How many.
        seed: Which ones; 0 <= seed < 2**64.
        size: Height and width in pixels, at least 8.

    Returns:
        The images, uint8, shape (n, size, size), 0 for paper to 255 for ink; and the labels, uint8,
        shape (n,), 0 to 9.

    Raises:
        ArgumentError: An argument is out of range.

    Example:
        >>> images, labels = digits(8, seed=1)
        >>> images.shape, images.dtype, labels.shape
        ((8, 28, 28), dtype('uint8'), (8,))
        >>> bool((images[:5] == digits(5, seed=1)[0]).all())
        True
    """
    return _draw_stream(n, seed, size, 0)


def digit_set(*, train: int = 12000, test: int = 2000, seed: int = 0) -> Dataset:
    """Draw a training set and a test set of handwritten digits.

    The two come from independent streams: neither depends on the size of the other, and the training set is
    ``digits(train, seed=seed)``.

    Args:
        train: Pictures to train with.
        test: Pictures to test.
        seed: Which ones; 0 <= seed < 2**64.

    Returns:
        The data set, 28x28, ten classes.

    Raises:
        ArgumentError: An argument is out of range.

    Example:
        >>> digit_set(train=100, test=10, seed=3).test_images.shape
        (10, 28, 28)
    """
    return Dataset(
        *_draw_stream(train, seed, 28, 0),
        *_draw_stream(test, seed, 28, 1),
        name="digits",
        classes=DIGITS,
    )


def _draw_stream(n: int, seed: int, size: int, stream: int) -> tuple[Array, Array]:
    if n < 0 or size < 8 or not 0 <= seed < 1 << 64:
        needed = "n >= 0, size >= 8 and 0 <= seed < 2**64 are required"
        raise ArgumentError(message("digits", needed, f"n={n}, size={size}, seed={seed}"))
    shapes = glyphs(_DOTS)
    points = shapes.point.shape[1]
    hand = np.random.Philox(key=np.array([seed, 2 * stream], dtype=np.uint64))
    paper = np.random.Philox(key=np.array([seed, 2 * stream + 1], dtype=np.uint64))
    images, labels = np.empty((n, size, size), np.uint8), np.empty(n, np.uint8)
    chunk = max(1, _PIXELS_AT_ONCE // size**2)
    for start in range(0, n, chunk):
        part = slice(start, min(start + chunk, n))
        count = part.stop - start
        words = hand.random_raw((count, _UNIFORMS + _BELLS + 3 * points))
        uniform, bell = _uniform(words[:, :_UNIFORMS]), _bell(words[:, _UNIFORMS:])
        noise = _bell(paper.random_raw((count, size, size)))
        labels[part] = uniform[:, 0] * 10
        style = shapes.style[labels[part], (uniform[:, 1] * 100).astype(np.intp)]
        control = _pose(shapes.point[style], bell)
        images[part] = _ink(_dots(shapes, style, control), noise, uniform[:, 2:])
    return images, labels


def _uniform(words: Array) -> Array:
    """Turn random words into numbers in [0, 1)."""
    return (words >> np.uint64(11)) * 2.0**-53


def _bell(words: Array) -> Array:
    """Turn random words into numbers of mean 0 and variance 1, near normal, none beyond 3.5.

    Each is the sum of the four 16-bit parts of its word (Irwin-Hall): exact, and without far outliers that
    would throw a stroke off the paper.
    """
    low = np.uint64(0xFFFF)
    parts = [words >> np.uint64(shift) & low for shift in (0, 16, 32, 48)]
    return (parts[0] + parts[1] + parts[2] + parts[3] - 2.0 * 65535) * (math.sqrt(3) / 65536)


def _pose(point: Array, bell: Array) -> Array:
    """Return the control points (x, y, pressure) of each picture, (n, points, 3), in units of the picture."""
    tremble = bell[:, _BELLS:].reshape(*point.shape[:2], 3)
    wide, high, slant, bend, taper, waist, turn, right, down = (bell[:, k, None] for k in range(_BELLS))
    x, y = point[..., 0] + 0.03 * tremble[..., 0], point[..., 1] + 0.03 * tremble[..., 1]
    curve = y * y - 0.1
    x = x * (1 + 0.15 * wide + 0.4 * taper * y) - y * (0.12 + 0.18 * slant) + 0.16 * bend * curve
    y = y * (1 + 0.09 * high) + 0.2 * waist * curve
    tangent = 0.075 * turn  # of half the angle: cosine and sine as quotients, for no libm rounds them alike
    scale = 1 + tangent * tangent
    cosine, sine = (1 - tangent * tangent) / scale, 2 * tangent / scale
    x, y = cosine * x - sine * y, sine * x + cosine * y
    pressure = 1 + 0.12 * tremble[..., 2]
    return np.stack((0.7 * x + 0.5 + 0.045 * right, 0.7 * y + 0.5 + 0.045 * down, pressure), axis=-1)


def _dots(shapes: Glyphs, style: Array, control: Array) -> Array:
    """Return the dots (x, y, pressure) of each picture, (n, dots, 3)."""
    index, weight = shapes.index[style], shapes.weight[style]
    row = np.arange(len(style))[:, None]
    terms = [weight[..., k, None] * control[row, index[..., k]] for k in range(4)]
    return terms[0] + terms[1] + terms[2] + terms[3]


def _ink(dots: Array, noise: Array, look: Array) -> Array:
    """Return the pictures: grey by the distance of each pixel to the nearest dot, over its pressure."""
    size: int = noise.shape[-1]
    centre = (np.arange(size) + 0.5) / size
    pressure = np.maximum(dots[..., 2], 0.6)
    offset = (centre - dots[..., :2, None]) / pressure[..., None, None]
    square = offset * offset  # (n, dots, 2, size): Pythagoras' terms for each column and each row
    nearest = np.full(noise.shape, np.inf)
    for dot in range(_DOTS):
        across, down = square[:, dot, 0, None, :], square[:, dot, 1, :, None]
        np.minimum(nearest, across + down, out=nearest)
    radius, softness, contrast, grain = (look[:, k, None, None] for k in range(4))
    edge = (1.0 + 0.9 * radius - 28 * np.sqrt(nearest)) / (0.9 + 0.9 * softness) + 0.5
    edge = np.minimum(np.maximum(edge, 0.0), 1.0)
    grey = (170 + 85 * contrast) * (edge * edge * (3 - 2 * edge)) + 14 * grain * noise
    return np.rint(np.minimum(np.maximum(grey, 0.0), 255.0))
