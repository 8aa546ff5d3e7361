"""`wengert.scipy.spatial.KDTree` and nearest values against SciPy's, and filters by functions of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from tests.scipy.checks import check, check_signatures, close
from wengert.engine.core.errors import ShapeError, UnsupportedError

pytest.importorskip("scipy")

from scipy import interpolate, ndimage, spatial


def points(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(7, 2)), rng.normal(size=(3, 2))


@pytest.mark.parametrize("seed", range(many(3)))
@pytest.mark.parametrize("k", [1, 3, [2, 4], 8])
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, np.inf])
def test_distances_of_neighbours_are_scipys(k: Any, p: float, seed: int) -> None:
    data, x = points(seed)

    def query(data: Any, x: Any) -> Any:
        return spatial.KDTree(data).query(x, k, p=p)

    def distances(data: Any, x: Any) -> Any:
        found = query(data, x)[0]
        return np.where(np.isfinite(found), found, 0.0)

    close(wg.vjp(distances, data, x)[0], distances(data, x), 1e-12)
    close(wg.jit(query)(data, x), query(data, x), 1e-12)
    wg.check_grads(distances, (data, x), order=2)
    if not seed:
        check(distances, None, data, x, order=0, rtol=1e-12)


def test_trees_made_outside_and_their_other_methods() -> None:
    data, x = points(0)
    for tree in (spatial.KDTree(data), spatial.cKDTree(data, 3)):
        wg.check_grads(lambda x, tree=tree: tree.query(x, 2, distance_upper_bound=5.0)[0], (x,))
        close(wg.jit(lambda x, tree=tree: tree.query(x, 2, distance_upper_bound=0.5))(x),
              tree.query(x, 2, distance_upper_bound=0.5), 1e-12)  # fmt: skip

        def near(x: Any, tree: Any = tree) -> Any:
            pairs = tree.query_ball_tree(spatial.KDTree(data[:3]), 1.0)
            return tree.query(x)[0] * len(pairs) * tree.n * isinstance(tree, spatial.KDTree)

        close(
            wg.vjp(near, x)[0], near(x) if isinstance(tree, spatial.KDTree) else tree.query(x)[0] * 49, 1e-12
        )
    with pytest.raises(UnsupportedError, match=r"KDTree.query_pairs: this is not followed"):
        wg.grad(lambda d: len(spatial.KDTree(d).query_pairs(1.0)) * np.sum(d))(data)
    inside, periodic = np.abs(data) % 1.0, spatial.KDTree(np.abs(data) % 1.0, boxsize=1.0)
    for call in (
        lambda x: periodic.query(x)[0],
        lambda x: spatial.KDTree(np.append(x, x, 0), boxsize=1.0).query(x)[0],
    ):
        with pytest.raises(UnsupportedError, match="boxsize is not followed"):
            wg.vjp(call, inside)
    np.testing.assert_array_equal(wg.vjp(lambda x: x[0, 0] + periodic.query(inside + 0.9)[0], x)[0],
                                  x[0, 0] + periodic.query(inside + 0.9)[0])  # fmt: skip
    with pytest.raises(ShapeError, match="points of 2 coordinates"):
        wg.vjp(lambda x: spatial.KDTree(data).query(np.append(x, x))[0], x)
    with pytest.raises(ShapeError, match="a row for each point"):
        wg.vjp(lambda d: spatial.KDTree(d[0]).query(d)[0], data)


NEAREST: dict[str, Callable[[Any, Any], Any]] = {
    "points": lambda y, x: interpolate.NearestNDInterpolator(points(0)[0], y)(x),
    "coordinates": lambda y, x: interpolate.NearestNDInterpolator(points(0)[0], y)(x[0, 0], x[:, 1]),
    "scaled": lambda y, x: interpolate.NearestNDInterpolator(points(0)[0] * [1, 9], y, rescale=True)(x * [1, 9]),
    "bounded": lambda y, x: interpolate.NearestNDInterpolator(points(0)[0], y)(x, distance_upper_bound=9.0),
    "of vectors": lambda y, x: interpolate.NearestNDInterpolator(points(0)[0], np.stack([y, y**2], 1))(x),
    "a number": lambda y, x: interpolate.NearestNDInterpolator(points(0)[0], y)(x[0, 0], x[0, 1]),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAREST)
def test_nearest_values_are_scipys(name: str) -> None:
    program, y, x = NEAREST[name], np.arange(7.0) ** 1.5, points(1)[1]
    check(program, None, y, x, rtol=1e-12)
    made = interpolate.NearestNDInterpolator(points(0)[0], y, rescale=True)
    close(wg.jit(lambda x: made(x))(x), made(x), 1e-12)


IMAGE = np.random.default_rng(5).normal(size=(4, 5))
FOOTPRINT = np.array([[1, 0, 1], [0, 1, 1]], bool)
FILTERS: dict[str, Callable[[Any], Any]] = {
    "mean": lambda x: ndimage.generic_filter(x, np.mean, 3),
    "a function": lambda x: ndimage.generic_filter(x, lambda w: w[0] * w[-1] + w.sum() ** 2, (2, 3), mode="mirror"),
    "a footprint": lambda x: ndimage.generic_filter(
        x, lambda w, n, s: s * w.sum() ** n, footprint=FOOTPRINT, mode="constant", cval=0.4,
        extra_arguments=(2,), extra_keywords={"s": 0.5},
    ),
    "an origin": lambda x: ndimage.generic_filter(x, np.max, 3, origin=(1, -1), mode="nearest"),
    "a transformation": lambda x: ndimage.geometric_transform(x, lambda at: (at[0] - 0.3, 0.5 * at[1] + 0.1)),
    "a shape": lambda x: ndimage.geometric_transform(
        x, lambda at, n: (at[0] / n, at[0] * 0.2 + 1.0), (3,), order=1, mode="nearest", extra_arguments=(2.0,)
    ),
    "a followed map": lambda x: ndimage.geometric_transform(
        IMAGE, lambda at: (at[0] + 0.1 * np.tanh(x[0, 0]), at[1] * 0.9 + 0.03), mode="mirror"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILTERS)
def test_filters_by_functions_are_scipys(name: str) -> None:
    if "transformation" not in name and not hasattr(ndimage, "vectorized_filter"):
        pytest.skip("not in this version of SciPy")
    check(FILTERS[name], None, IMAGE, rtol=1e-10)


def test_signatures_are_scipys() -> None:
    check_signatures(wg.scipy.spatial.KDTree.query, spatial.KDTree.query)
