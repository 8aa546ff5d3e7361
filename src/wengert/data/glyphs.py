"""The ten digits as people write them: strokes through control points, in several styles.

A digit is one unit high; x runs to the right and y down. A stroke is a Catmull-Rom spline through its points
(E. Catmull, R. Rom, "A class of local interpolating splines", 1974), closed where it ends at its first point.
Equal coordinates within a glyph are one control point, so strokes that meet still meet when points are moved;
two strokes that share an end make a corner.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

#: For each digit, its styles: how many of a hundred writers use it, and its strokes in percent of the height.
STYLES: list[list[tuple[int, str]]] = [
    [  # 0: closed; open at the top
        (60, "32,0 6,23 5,75 28,100 54,77 55,25 32,0"),
        (40, "42,5 15,12 1,55 18,96 46,90 59,45 47,8 26,1"),
    ],
    [  # 1: a bar; with a flag; with a flag and a base
        (55, "0,0 0,50 0,100"),
        (30, "0,28 12,15 19,0 | 19,0 19,50 19,100"),
        (15, "4,24 24,0 | 24,0 24,50 24,100 | 0,100 24,100 48,100"),
    ],
    [  # 2: a flat base; a loop at the base
        (55, "2,24 12,6 32,0 52,12 51,36 30,66 0,98 | 0,98 30,95 62,97"),
        (45, "6,20 18,4 38,0 52,14 48,40 30,70 10,94 0,90 6,78 24,84 44,96 66,92"),
    ],
    [  # 3: round; with a flat top
        (80, "4,12 26,0 50,10 46,34 20,46 | 20,46 48,54 56,78 34,99 0,92"),
        (20, "4,2 28,1 52,0 | 52,0 22,38 | 22,38 48,46 56,72 36,97 0,92"),
    ],
    [  # 4: open; closed at the top
        (70, "10,0 2,28 0,50 | 0,50 28,56 60,48 | 52,2 47,50 44,100"),
        (30, "44,0 24,32 0,64 | 0,64 30,65 64,62 | 44,0 43,50 40,100"),
    ],
    [  # 5: a bar on top; in one stroke
        (70, "12,2 10,22 6,42 | 6,42 26,36 50,52 50,82 26,100 0,92 | 12,2 32,2 56,0"),
        (30, "56,0 34,2 14,6 8,28 20,44 42,56 48,80 28,100 0,94"),
    ],
    [  # 6: a curved stem; a straight one
        (65, "46,0 20,20 3,56 8,90 30,100 51,84 48,60 28,52 8,68"),
        (35, "26,0 10,34 0,70 12,97 38,96 50,76 38,58 16,62 4,80"),
    ],
    [  # 7: plain; with a bar; with a hook
        (60, "0,5 28,4 56,0 | 56,0 38,36 25,68 18,100"),
        (20, "0,4 28,3 58,0 | 58,0 40,36 27,68 18,100 | 12,52 32,50 54,46"),
        (20, "0,22 4,6 | 4,6 24,8 56,2 | 56,2 42,34 34,66 32,100"),
    ],
    [  # 8: in one stroke; of two circles
        (75, "48,10 28,0 8,12 12,34 30,48 48,66 46,90 26,100 6,88 8,66 28,46 46,28 48,10"),
        (25, "28,46 8,36 9,10 28,0 47,10 48,36 28,46 | 28,46 4,60 4,88 28,100 52,88 52,60 28,46"),
    ],
    [  # 9: a straight stem; a curved tail
        (65, "50,12 28,0 5,16 6,40 26,48 45,34 50,12 | 50,12 48,40 44,70 40,100"),
        (35, "50,10 26,0 4,18 10,44 32,44 50,10 | 50,10 52,44 46,80 26,99 4,92"),
    ],
]  # fmt: skip


@dataclass(frozen=True)
class Glyphs:
    """Hold every style of every digit as arrays, padded to the same number of control points.

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


@cache
def glyphs(dots: int) -> Glyphs:
    """Return all glyphs, each drawn with the given number of dots."""
    shares = [share for styles in STYLES for share, _ in styles]
    built = [_build(strokes, dots) for styles in STYLES for _, strokes in styles]
    most = max(len(point) for point, _, _ in built)
    return Glyphs(
        style=np.repeat(np.arange(len(shares)), shares).reshape(len(STYLES), 100),
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
    """Return the four control points of each span; at an open end the last point counts twice."""
    closed = stroke[0] == stroke[-1]
    before, after = (stroke[-2], stroke[1]) if closed else (stroke[0], stroke[-1])
    line = [before, *stroke, after]
    return list(zip(line[:-3], line[1:-2], line[2:-1], line[3:], strict=True))


def _catmull_rom(t: Array) -> Array:
    """Return the weights of the four control points at the place ``t`` in [0, 1] of a span."""
    t2, t3 = t * t, t * t * t
    return np.stack((2 * t2 - t - t3, 2 - 5 * t2 + 3 * t3, t + 4 * t2 - 3 * t3, t3 - t2), axis=-1) / 2
