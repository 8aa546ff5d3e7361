"""A built-in set of handwritten digits: strokes drawn with a random hand.

A digit is one unit high; x runs to the right and y down. Its strokes are Catmull-Rom splines through control points
(E. Catmull, R. Rom, "A class of local interpolating splines", 1974), closed where they end at their first point.
Equal coordinates within a glyph are one control point, so that strokes still meet when points move; two strokes that
share an end make a corner.

Every number comes from raw bits of the counter-based generator Philox (J. K. Salmon et al., "Parallel random numbers:
as easy as 1, 2, 3", 2011), and every step is an array operation that IEEE 754 defines to the last bit: + - * / sqrt.
The pictures are therefore the same on every platform and with every version of NumPy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from wengert.data.dataset import DIGITS, Array, Dataset
from wengert.engine.core.errors import ArgumentError, message

_DOTS = 96  # the dots of a digit; at 28x28 about 0.6 pixels apart
_PIXELS_AT_ONCE = 32 * 28 * 28  # the working set fits into the second-level cache
_UNIFORMS = 6  # class, style, radius, softness, contrast, grain
_BELLS = 9  # the pose


def digits(n: int, *, seed: int = 0, size: int = 28) -> tuple[Array, Array]:
    """Draw handwritten digits.

    Each picture has its own class, style, pose (size, slant, curvature, rotation, position), trembling control points,
    thickness, pressure, softness, contrast and noise. Picture i depends on the seed and on i only.

    Args:
        n: The number of pictures.
        seed: Chooses the pictures; 0 <= seed < 2**64.
        size: Height and width in pixels, at least 8.

    Returns:
        The images, uint8, shape (n, size, size), from 0 for paper to 255 for ink; and the labels, uint8, shape (n,),
        0 to 9.

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

    They come from independent streams: neither depends on the size of the other, and the training set is
    ``digits(train, seed=seed)``.

    Args:
        train: The number of pictures to train with.
        test: The number of pictures to test with.
        seed: Chooses the pictures; 0 <= seed < 2**64.

    Returns:
        The data set, 28x28, ten classes.

    Raises:
        ArgumentError: An argument is out of range.

    Example:
        >>> digit_set(train=100, test=10, seed=3).test_images.shape
        (10, 28, 28)
    """
    return Dataset(
        *_draw_stream(train, seed, 28, 0), *_draw_stream(test, seed, 28, 1), name="digits", classes=DIGITS
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
    """Turn random words into nearly normal numbers of mean 0 and variance 1, at most 3.5 in size.

    Each is the sum of the four 16-bit parts of its word (Irwin-Hall): exact, and without outliers that would move a
    stroke off the paper.
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
    tangent = (
        0.075 * turn
    )  # of half the angle: cosine and sine as quotients, because math libraries round them differently
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
    """Return the pictures: the grey of a pixel follows from its distance to the nearest dot over the pressure."""
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


# -- glyphs ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Glyphs:
    """All styles of all digits as arrays, padded to the same number of control points.

    Dot ``p`` of style ``s`` lies at the sum over k of ``weight[s, p, k] * point[s, index[s, p, k]]``.

    Attributes:
        style: int, shape (digits, 100): the style that each of a hundred writers uses.
        point: float64, shape (styles, points, 2): control points, (0, 0) at the centre of the glyph's box.
        index: int, shape (styles, dots, 4): the control points next to a dot.
        weight: float64, shape (styles, dots, 4): their weights, which sum to 1.
    """

    style: Array
    point: Array
    index: Array
    weight: Array


def read_styles() -> list[tuple[int, int, str]]:
    """Return the digit, the percentage of writers and the strokes of each style."""
    lines = Path(__file__).with_name("glyphs.txt").read_text("ascii").splitlines()
    rows = [line.split(maxsplit=2) for line in lines if not line.startswith("#")]
    return [(int(digit), int(share), strokes) for digit, share, strokes in rows]


@cache
def glyphs(dots: int) -> Glyphs:
    """Return all glyphs, each drawn with the given number of dots."""
    styles = read_styles()
    built = [_build(strokes, dots) for _, _, strokes in styles]
    most = max(len(point) for point, _, _ in built)
    return Glyphs(
        style=np.repeat(np.arange(len(styles)), [share for _, share, _ in styles]).reshape(10, 100),
        point=np.stack([np.pad(point, ((0, most - len(point)), (0, 0))) for point, _, _ in built]),
        index=np.stack([index for _, index, _ in built]),
        weight=np.stack([weight for _, _, weight in built]),
    )


def _build(strokes: str, dots: int) -> tuple[Array, Array, Array]:
    """Return the control points of one glyph, and the indices and weights of its dots."""
    lines = [stroke.split() for stroke in strokes.split("|")]
    points = list(dict.fromkeys(point for line in lines for point in line))
    spans = [span for line in lines for span in _spans([points.index(point) for point in line])]
    point = np.array([point.split(",") for point in points], dtype=np.float64) / 100
    step = point[[span[2] for span in spans]] - point[[span[1] for span in spans]]
    ends = np.cumsum(np.sqrt(step[:, 0] ** 2 + step[:, 1] ** 2))
    ends = np.concatenate(([0.0], ends)) / ends[-1]
    place = (np.arange(dots) + 0.5) / dots  # equal distances along the chords of the spans
    span = np.searchsorted(ends, place) - 1
    time = (place - ends[span]) / (ends[span + 1] - ends[span])
    return point - (point.min(0) + point.max(0)) / 2, np.array(spans)[span], _catmull_rom(time)


def _spans(stroke: list[int]) -> list[tuple[int, int, int, int]]:
    """Return the four control points of each span; the last point of an open end counts twice."""
    closed = stroke[0] == stroke[-1]
    before, after = (stroke[-2], stroke[1]) if closed else (stroke[0], stroke[-1])
    line = [before, *stroke, after]
    return list(zip(line[:-3], line[1:-2], line[2:-1], line[3:], strict=True))


def _catmull_rom(t: Array) -> Array:
    """Return the weights of the four control points at the position ``t`` in [0, 1] of a span."""
    t2, t3 = t * t, t * t * t
    return np.stack((2 * t2 - t - t3, 2 - 5 * t2 + 3 * t3, t + 4 * t2 - 3 * t3, t3 - t2), axis=-1) / 2
