"""Interpolation of values at scattered points: SciPy finds the neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ops.comparison import where
from wengert.engine.ops.indexing import gather
from wengert.engine.ops.shape import reshape
from wengert.numpy.registry import rank_of
from wengert.scipy.interpolate.piecewise import inexact
from wengert.scipy.registry import doubles
from wengert.scipy.spatial.trees import KDTree


def _points(x: Any, width: int) -> Any:
    """Return points with their coordinates along the last axis."""
    if isinstance(x, tuple):
        parts = [doubles(part) for part in x]  # pyright: ignore[reportUnknownVariableType]
        shape = np.broadcast_shapes(*map(shape_of, parts))
        return np.stack([np.broadcast_to(part, shape) for part in parts], -1)
    x = doubles(x)
    return x if rank_of(x) > 1 else reshape(x, shape=(size(shape_of(x)) // width, width))


@substitutes("scipy.interpolate.NearestNDInterpolator")
class NearestNDInterpolator:
    """The value of the nearest point; values have derivatives, and those in the points are 0.

    Example:
        >>> nearest = NearestNDInterpolator(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([2.0, 3.0]))
        >>> print(nearest(0.2, 0.1))
        2.0
    """

    def __init__(self, x: Any, y: Any, rescale: bool = False, tree_options: Any = None) -> None:
        points, self.values = _points(x, 1), inexact(y)
        self.offset: Any = np.mean(points, 0) if rescale else 0.0
        self.scale: Any = np.max(points, 0) - np.min(points, 0) if rescale else 1.0
        self.scale = np.where(self.scale > 0, self.scale, 1.0) if rescale else self.scale
        self.tree = KDTree((points - self.offset) / self.scale, **(tree_options or {}))

    @classmethod
    def of_scipys(cls, theirs: Any) -> Any:
        """Return the interpolant of an object of SciPy's."""
        made = object.__new__(cls)
        made.values, made.tree = theirs.values, KDTree.of_scipys(theirs.tree)
        made.offset, made.scale = (0.0, 1.0) if theirs.scale is None else (theirs.offset, theirs.scale)
        return made

    def __call__(self, *args: Any, **query_options: Any) -> Any:
        """Return the values at points, given as arrays of coordinates or along a last axis."""
        width = shape_of(self.tree.data)[1]
        given: Any = args if len(args) > 1 else next(iter(args))
        points = _points(given, width)
        distances, numbers = self.tree.query((points - self.offset) / self.scale, **query_options)
        count = shape_of(self.values)[0]
        found = gather(self.values, np.minimum(numbers, count - 1))
        further = (1,) * (rank_of(self.values) - 1)
        return where(reshape(np.isfinite(distances), shape=(*shape_of(distances), *further)), found, np.nan)
