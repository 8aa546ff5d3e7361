"""Trees of points: SciPy finds the neighbours, Wengert has the distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.errors import ShapeError, UnsupportedError, message
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import less, where
from wengert.engine.ops.indexing import gather
from wengert.engine.ops.shape import reshape
from wengert.numpy.registry import is_box, rank_of
from wengert.scipy.registry import doubles
from wengert.scipy.spatial.distance import cdist


@substitutes("scipy.spatial.KDTree", "scipy.spatial.cKDTree")
class KDTree:
    """A tree of points, whose distances from others have derivatives in both.

    Where the points are not known, as in `wg.jit`, all distances are computed and sorted.

    Args:
        boxsize: the period, which must be None where points are followed.

    Raises:
        ShapeError: the points do not form a matrix.
        UnsupportedError: a method other than `query` is called of followed points, or a period is given.

    Example:
        >>> KDTree(np.array([[0.0, 0.0], [3.0, 4.0]])).query(np.array([0.0, 1.0]))
        (array(1.), array(0))
    """

    def __init__(
        self,
        data: Any,
        leafsize: int = 10,
        compact_nodes: bool = True,
        copy_data: bool = False,
        balanced_tree: bool = True,
        boxsize: Any = None,
    ) -> None:
        self.data, self._boxsize = doubles(data), boxsize
        if rank_of(self.data) != 2:
            raise ShapeError(message("KDTree", "a row for each point is required", show(self.data)))
        self._options = leafsize, compact_nodes, copy_data, balanced_tree, boxsize
        self._made: Any = None

    @classmethod
    def of_scipys(cls, theirs: Any) -> Any:
        """Return the tree of one of SciPy's."""
        made = cls(np.asarray(theirs.data))
        made._made, made._boxsize = theirs, theirs.boxsize
        return made

    def _tree(self) -> Any:
        """Return SciPy's tree of the points, or None where they are not known."""
        from scipy import spatial

        known = concrete(self.data)
        if self._made is None and known is not None:
            self._made = spatial.KDTree(known, *self._options)
        return self._made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or is_box(self.data):
            hint = "call query, or compute distances by cdist"
            raise UnsupportedError(message(f"KDTree.{name}", "this is not followed", show(self.data), hint))
        found = getattr(self._tree(), name)
        if not callable(found):
            return found

        def call(*args: Any, **options: Any) -> Any:
            return found(*(x._tree() if isinstance(x, KDTree) else x for x in args), **options)

        return call

    def query(
        self,
        x: Any,
        k: Any = 1,
        eps: Any = 0.0,
        p: Any = 2.0,
        distance_upper_bound: Any = np.inf,
        workers: int = 1,
    ) -> tuple[Any, Any]:
        """Return distances of the nearest neighbours of points, in order, and their numbers."""
        if self._boxsize is not None and (is_box(self.data) or is_box(x)):
            hint = "compute periodic distances by NumPy's functions"
            raise UnsupportedError(message("KDTree.query", "boxsize is not followed", hint=hint))
        if self._boxsize is not None:
            return self._tree().query(x, k, eps, p, distance_upper_bound, workers)
        x, (count, width) = doubles(x), shape_of(self.data)
        if not rank_of(x) or shape_of(x)[-1] != width:
            raise ShapeError(message("KDTree.query", f"points of {width} coordinates are required", show(x)))
        ranks = np.arange(k) if isinstance(k, (int, np.integer)) else np.asarray(k) - 1
        most, shape = int(np.max(ranks)) + 1, shape_of(x)[:-1]
        rows = reshape(x, shape=(size(shape), width))
        tree, known = self._tree(), concrete(rows)
        if tree is not None and known is not None:
            numbers = tree.query(known, np.arange(1, most + 1), eps, p, workers=workers)[1]
        else:
            metric = {"metric": "chebyshev"} if np.isinf(p) else {"metric": "minkowski", "p": p}
            order = np.argsort(cdist(rows, self.data, **metric), 1)[:, :most]
            missing = np.full((size(shape), max(most - count, 0)), count)
            numbers = np.concatenate([order, missing], 1)
        numbers = numbers[:, ranks]
        near = gather(self.data, np.minimum(numbers, count - 1))
        distances = np.linalg.norm(rows[:, None] - near, p, -1)
        is_near = np.logical_and(less(distances, distance_upper_bound), numbers < count)
        distances, numbers = where(is_near, distances, np.inf), where(is_near, numbers, count)
        kept = shape if isinstance(k, (int, np.integer)) and k == 1 else (*shape, len(ranks))
        return reshape(distances, shape=kept), reshape(numbers, shape=kept)
