"""The ten digits as people write them: strokes through control points, in several styles.

A digit is one unit high; x runs to the right and y down. A stroke is a Catmull-Rom spline through its points
(E. Catmull, R. Rom, "A class of local interpolating splines", 1974), closed where it ends at its first point.
Equal coordinates within a glyph are one control point, so strokes that meet still meet when points are moved; two
strokes that share an end make a corner.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
Point: TypeAlias = tuple[float, float]
Stroke: TypeAlias = list[Point]

#: For each digit, its styles: how many of a hundred writers use it, and its strokes.
STYLES: list[list[tuple[int, list[Stroke]]]] = [
    [  # 0: closed; open at the top
        (60, [[(0.32, 0.0), (0.06, 0.23), (0.05, 0.75), (0.28, 1.0), (0.54, 0.77), (0.55, 0.25), (0.32, 0.0)]]),
        (40, [[(0.42, 0.05), (0.15, 0.12), (0.01, 0.55), (0.18, 0.96), (0.46, 0.90), (0.59, 0.45), (0.47, 0.08), (0.26, 0.01)]]),
    ],
    [  # 1: a bar; with a flag; with a flag and a base
        (55, [[(0.0, 0.0), (0.0, 0.5), (0.0, 1.0)]]),
        (30, [[(0.0, 0.28), (0.12, 0.15), (0.19, 0.0)], [(0.19, 0.0), (0.19, 0.5), (0.19, 1.0)]]),
        (15, [[(0.04, 0.24), (0.24, 0.0)], [(0.24, 0.0), (0.24, 0.5), (0.24, 1.0)], [(0.0, 1.0), (0.24, 1.0), (0.48, 1.0)]]),
    ],
    [  # 2: a flat base; a loop at the base
        (55, [[(0.02, 0.24), (0.12, 0.06), (0.32, 0.0), (0.52, 0.12), (0.51, 0.36), (0.30, 0.66), (0.0, 0.98)], [(0.0, 0.98), (0.30, 0.95), (0.62, 0.97)]]),
        (45, [[(0.06, 0.20), (0.18, 0.04), (0.38, 0.0), (0.52, 0.14), (0.48, 0.40), (0.30, 0.70), (0.10, 0.94), (0.0, 0.90), (0.06, 0.78), (0.24, 0.84), (0.44, 0.96), (0.66, 0.92)]]),
    ],
    [  # 3: round; with a flat top
        (80, [[(0.04, 0.12), (0.26, 0.0), (0.50, 0.10), (0.46, 0.34), (0.20, 0.46)], [(0.20, 0.46), (0.48, 0.54), (0.56, 0.78), (0.34, 0.99), (0.0, 0.92)]]),
        (20, [[(0.04, 0.02), (0.28, 0.01), (0.52, 0.0)], [(0.52, 0.0), (0.22, 0.38)], [(0.22, 0.38), (0.48, 0.46), (0.56, 0.72), (0.36, 0.97), (0.0, 0.92)]]),
    ],
    [  # 4: open; closed at the top
        (70, [[(0.10, 0.0), (0.02, 0.28), (0.0, 0.50)], [(0.0, 0.50), (0.28, 0.56), (0.60, 0.48)], [(0.52, 0.02), (0.47, 0.50), (0.44, 1.0)]]),
        (30, [[(0.44, 0.0), (0.24, 0.32), (0.0, 0.64)], [(0.0, 0.64), (0.30, 0.65), (0.64, 0.62)], [(0.44, 0.0), (0.43, 0.50), (0.40, 1.0)]]),
    ],
    [  # 5: a bar on top; in one stroke
        (70, [[(0.12, 0.02), (0.10, 0.22), (0.06, 0.42)], [(0.06, 0.42), (0.26, 0.36), (0.50, 0.52), (0.50, 0.82), (0.26, 1.0), (0.0, 0.92)], [(0.12, 0.02), (0.32, 0.02), (0.56, 0.0)]]),
        (30, [[(0.56, 0.0), (0.34, 0.02), (0.14, 0.06), (0.08, 0.28), (0.20, 0.44), (0.42, 0.56), (0.48, 0.80), (0.28, 1.0), (0.0, 0.94)]]),
    ],
    [  # 6: a curved stem; a straight one
        (65, [[(0.46, 0.0), (0.20, 0.20), (0.03, 0.56), (0.08, 0.90), (0.30, 1.0), (0.51, 0.84), (0.48, 0.60), (0.28, 0.52), (0.08, 0.68)]]),
        (35, [[(0.26, 0.0), (0.10, 0.34), (0.0, 0.70), (0.12, 0.97), (0.38, 0.96), (0.50, 0.76), (0.38, 0.58), (0.16, 0.62), (0.04, 0.80)]]),
    ],
    [  # 7: plain; with a bar; with a hook
        (60, [[(0.0, 0.05), (0.28, 0.04), (0.56, 0.0)], [(0.56, 0.0), (0.38, 0.36), (0.25, 0.68), (0.18, 1.0)]]),
        (20, [[(0.0, 0.04), (0.28, 0.03), (0.58, 0.0)], [(0.58, 0.0), (0.40, 0.36), (0.27, 0.68), (0.18, 1.0)], [(0.12, 0.52), (0.32, 0.50), (0.54, 0.46)]]),
        (20, [[(0.0, 0.22), (0.04, 0.06)], [(0.04, 0.06), (0.24, 0.08), (0.56, 0.02)], [(0.56, 0.02), (0.42, 0.34), (0.34, 0.66), (0.32, 1.0)]]),
    ],
    [  # 8: in one stroke; of two circles
        (75, [[(0.48, 0.10), (0.28, 0.0), (0.08, 0.12), (0.12, 0.34), (0.30, 0.48), (0.48, 0.66), (0.46, 0.90), (0.26, 1.0), (0.06, 0.88), (0.08, 0.66), (0.28, 0.46), (0.46, 0.28), (0.48, 0.10)]]),
        (25, [[(0.28, 0.46), (0.08, 0.36), (0.09, 0.10), (0.28, 0.0), (0.47, 0.10), (0.48, 0.36), (0.28, 0.46)], [(0.28, 0.46), (0.04, 0.60), (0.04, 0.88), (0.28, 1.0), (0.52, 0.88), (0.52, 0.60), (0.28, 0.46)]]),
    ],
    [  # 9: a straight stem; a curved tail
        (65, [[(0.50, 0.12), (0.28, 0.0), (0.05, 0.16), (0.06, 0.40), (0.26, 0.48), (0.45, 0.34), (0.50, 0.12)], [(0.50, 0.12), (0.48, 0.40), (0.44, 0.70), (0.40, 1.0)]]),
        (35, [[(0.50, 0.10), (0.26, 0.0), (0.04, 0.18), (0.10, 0.44), (0.32, 0.44), (0.50, 0.10)], [(0.50, 0.10), (0.52, 0.44), (0.46, 0.80), (0.26, 0.99), (0.04, 0.92)]]),
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
    writers = [[share for share, _ in styles] for styles in STYLES]
    first = np.cumsum([0] + [len(shares) for shares in writers])
    style = np.array([np.repeat(np.arange(len(shares)) + start, shares) for shares, start in zip(writers, first)])
    built = [_build(strokes, dots) for styles in STYLES for _, strokes in styles]
    most = max(len(point) for point, _, _ in built)
    return Glyphs(
        style=style,
        point=np.stack([np.pad(point, ((0, most - len(point)), (0, 0))) for point, _, _ in built]),
        index=np.stack([index for _, index, _ in built]),
        weight=np.stack([weight for _, _, weight in built]),
    )


def _build(strokes: list[Stroke], dots: int) -> tuple[Array, Array, Array]:
    """Return the control points of one glyph, and the indices and weights of its dots."""
    points = list(dict.fromkeys(point for stroke in strokes for point in stroke))
    spans = [span for stroke in strokes for span in _spans([points.index(point) for point in stroke])]
    point = np.array(points)
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
    return list(zip(line, line[1:], line[2:], line[3:]))


def _catmull_rom(t: Array) -> Array:
    """Return the weights of the four control points at the place ``t`` in [0, 1] of a span."""
    t2, t3 = t * t, t * t * t
    return np.stack((2 * t2 - t - t3, 2 - 5 * t2 + 3 * t3, t + 4 * t2 - 3 * t3, t3 - t2), axis=-1) / 2
