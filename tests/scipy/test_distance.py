"""`wengert.scipy.spatial.distance` against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import HypothesisDraw, examples
from tests.scipy.checks import check, close
from wengert.engine.core.errors import WengertError
from wengert.scipy.spatial import distance, distance_matrix

theirs = pytest.importorskip("scipy.spatial.distance")

RNG = np.random.default_rng(31)
A, B = RNG.uniform(0.1, 1, (4, 3)), RNG.uniform(0.1, 1, (5, 3))
W = np.array([0.5, 1.0, 2.0])
V = np.array([0.5, 1.0, 2.0])
VI = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])

#: Metrics and their options.
METRICS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation")),
    *((name, {}) for name in ("canberra", "braycurtis", "jensenshannon", "seuclidean", "mahalanobis")),
    *((name, {"w": W}) for name in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "canberra")),
    *((name, {"w": W}) for name in ("cosine", "braycurtis", "correlation")),
    ("minkowski", {}),
    ("minkowski", {"p": 3}),
    ("minkowski", {"p": 1.5, "w": W}),
    ("minkowski", {"p": np.inf}),
    ("seuclidean", {"V": V}),
    ("mahalanobis", {"VI": VI}),
]


def named(metric: tuple[str, dict[str, Any]]) -> str:
    return " ".join([metric[0], *metric[1]])


@pytest.mark.parametrize("metric", METRICS, ids=named)
def test_distances_of_matrices(metric: tuple[str, dict[str, Any]]) -> None:
    name, options = metric
    check(
        lambda a, b: distance.cdist(a, b, name, **options),
        lambda a, b: theirs.cdist(a, b, name, **options),
        A,
        B,
        rtol=1e-11,
    )
    check(
        lambda a: distance.pdist(a, name, **options),
        lambda a: theirs.pdist(a, name, **options),
        B,
        rtol=1e-11,
        compiled=False,
        batched=False,
    )


@pytest.mark.parametrize("name", distance.__all__)
def test_distances_of_vectors(name: str) -> None:
    if name in ("cdist", "pdist", "squareform"):
        return
    more = {"seuclidean": (V,), "mahalanobis": (VI,), "minkowski": (3,)}.get(name, ())
    own, other = getattr(distance, name), getattr(theirs, name)
    followed = [x for x in more if isinstance(x, np.ndarray)]
    if not followed and more:
        check(lambda u, v: own(u, v, *more), lambda u, v: other(u, v, *more), A[0], B[0], order=2)
    else:
        check(own, other, A[0], B[0], *followed, order=2)


@pytest.mark.parametrize("name", ["euclidean", "minkowski", "seuclidean", "mahalanobis", "jensenshannon"])
def test_derivative_at_distance_zero_is_zero(name: str) -> None:
    more = {"seuclidean": (V,), "mahalanobis": (VI,), "minkowski": (3,)}.get(name, ())
    own = getattr(distance, name)
    for derivative in (wg.grad(own, (0, 1)), wg.jit(wg.grad(own, (0, 1)))):
        for one in derivative(A[0], A[0], *more):
            np.testing.assert_array_equal(one, 0)
    total = wg.grad(
        lambda x: np.sum(distance.cdist(x, x, name, **({"VI": VI} if name == "mahalanobis" else {})))
    )
    assert np.isfinite(total(A)).all()


def test_the_order_has_a_derivative() -> None:
    check(distance.minkowski, theirs.minkowski, A[0], B[0], np.array(2.7), order=2)


def test_equal_directions_have_the_second_derivative() -> None:
    """The cosine is clipped after rounding, and its derivative is not."""
    second = wg.hessian(lambda u: distance.cosine(u, A[0]))(A[0])
    unit = A[0] / np.linalg.norm(A[0])
    expected = (np.eye(3) - np.outer(unit, unit)) / (A[0] @ A[0])
    np.testing.assert_allclose(second, expected, atol=1e-12)


@examples(60)
@given(data=st.data())
def test_drawn_matrices(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    columns = draw.integer(1, 4)
    a, b = (draw.array((draw.integer(1, 4), columns)) for _ in range(2))
    name = draw.choice(
        ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "canberra", "cosine"]
    )
    single = draw.choice([np.float32, np.float64])
    a, b = a.astype(single), b.astype(single)
    close(distance.cdist(a, b, name), theirs.cdist(a, b, name), 1e-9)
    close(distance.pdist(a, name), theirs.pdist(a, name), 1e-9)


@examples(30)
@given(data=st.data())
def test_square_forms_are_scipys(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    rows = draw.integer(1, 5)
    vector = draw.array((rows * (rows - 1) // 2,)).astype(draw.choice([np.float32, np.float64, np.int64]))
    matrix = distance.squareform(vector)
    close(matrix, theirs.squareform(vector), 0)
    close(distance.squareform(matrix), theirs.squareform(matrix), 0)


def test_square_forms_have_derivatives() -> None:
    check(distance.squareform, theirs.squareform, RNG.uniform(0, 1, 6), order=2)
    check(lambda x: distance.squareform(x, checks=False), None, RNG.uniform(0, 1, (3, 3)), order=2)


def test_other_ways_to_name_a_metric() -> None:
    expected = theirs.cdist(A, B, "cityblock")
    for metric in (
        "manhattan",
        "CityBlock",
        distance.cityblock,
        theirs.cityblock,
        lambda u, v: np.sum(np.abs(u - v)),
    ):
        np.testing.assert_allclose(distance.cdist(A, B, metric), expected, rtol=1e-14)
    np.testing.assert_allclose(distance_matrix(A, B, 1), expected, rtol=1e-14)
    out = np.empty((4, 5))
    assert distance.cdist(A, B, out=out) is out
    np.testing.assert_allclose(out, theirs.cdist(A, B), rtol=1e-14)


def test_errors_name_the_operation() -> None:
    for call, text in [
        (lambda: distance.cdist(A, B[:, :2]), "cdist: XA and XB must have as many columns"),
        (lambda: distance.cdist(A[0], B), "cdist: XA must be a matrix"),
        (lambda: distance.cdist(A, B, "jaccard"), "cdist: the metric must be one of"),
        (lambda: distance.pdist(A, "euclidean", p=3), "pdist: euclidean takes w"),
        (lambda: distance.pdist(A, "minkowski", p=0), "minkowski: p must be greater than 0"),
        (lambda: distance.pdist(A, w=-W), "distance: weights must not be negative"),
        (lambda: distance.euclidean(A[0], B[0, :2]), "euclidean: two vectors of one length"),
        (lambda: distance.squareform(np.ones(4)), "squareform: the length must be"),
        (lambda: distance.squareform(A), "squareform: a square matrix"),
        (lambda: distance.squareform(A[:3]), "squareform: the matrix must be symmetric"),
        (lambda: distance.squareform(np.ones(3), "tovector"), "squareform: a vector or a matrix"),
    ]:
        with pytest.raises(WengertError, match=text):
            call()


@pytest.mark.parametrize("scale", [1e-250, 1e-150, 1e180, 1e300])
def test_lengths_whose_squares_are_out_of_range(scale):
    """SciPy's cosine is wrong there, and its `euclidean` is not."""
    u, v = A[0], A[1]
    for function in (lambda f: f, wg.jit):
        euclidean = function(wg.value_and_grad(distance.euclidean))(scale * u, scale * v)
        np.testing.assert_allclose(euclidean[0], theirs.euclidean(scale * u, scale * v), rtol=1e-12)
        np.testing.assert_allclose(euclidean[1], wg.grad(distance.euclidean)(u, v), rtol=1e-12)
        for metric in (distance.cosine, distance.correlation):
            value, slope = function(wg.value_and_grad(metric))(scale * u, v)
            near, near_slope = wg.value_and_grad(metric)(u, v)
            np.testing.assert_allclose(value, near, rtol=1e-12)
            np.testing.assert_allclose(scale * slope, near_slope, rtol=1e-10, atol=1e-14)
