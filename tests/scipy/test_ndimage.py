"""`wengert.scipy.ndimage` against SciPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import HypothesisDraw, examples
from tests.scipy.checks import check, check_signatures, close
from wengert.engine.core.errors import WengertError
from wengert.scipy import ndimage

theirs = pytest.importorskip("scipy.ndimage")

RNG = np.random.default_rng(31)
X = RNG.uniform(-1, 1, (5, 6))
LINE = RNG.uniform(-1, 1, 8)
VOLUME = RNG.uniform(-1, 1, (3, 4, 4))
W = RNG.uniform(-1, 1, 3)
W2 = RNG.uniform(-1, 1, (3, 2))
POINTS = RNG.uniform(0.1, 3.9, (2, 7))
APART = RNG.permutation(30).reshape(5, 6) / 7.0
AROUND = RNG.uniform(-3.0, 8.0, (2, 4))
MATRIX = np.array([[0.9, 0.2], [-0.1, 1.1]])
MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap")

CALLS: dict[str, tuple[Any, ...]] = {
    "fourier_gaussian": (lambda m, x: m.fourier_gaussian(x, (0.7, 1.2)), X),
    "fourier_uniform": (lambda m, x: m.fourier_uniform(x, 2.0, n=6), X),
    "fourier_ellipsoid": (lambda m, x: m.fourier_ellipsoid(x, 2.0), X),
    "fourier_shift": (lambda m, x: m.fourier_shift(x, 1.5), X),
    "correlate1d": (lambda m, x, w: m.correlate1d(x, w, 0, origin=1), X, W),
    "convolve1d": (lambda m, x, w: m.convolve1d(x, w, mode="wrap"), X, W[:2]),
    "correlate": (lambda m, x, w: m.correlate(x, w, mode="mirror"), X, W2),
    "convolve": (lambda m, x, w: m.convolve(x, w, mode="constant", cval=0.5, origin=(1, 0)), X, W2),
    "uniform_filter": (lambda m, x: m.uniform_filter(x, (3, 2), mode="nearest"), X),
    "gaussian_filter": (lambda m, x: m.gaussian_filter(x, 0.7), X),
    "gaussian_filter sigma": (lambda m, x, s: m.gaussian_filter(x, s, radius=2), X, np.array([0.7, 0.9])),
    "gaussian_filter1d order": (lambda m, x: m.gaussian_filter1d(x, 0.8, order=3), LINE),
    "gaussian_laplace": (lambda m, x: m.gaussian_laplace(x, (0.6, 0.5)), X),
    "gaussian_gradient_magnitude": (lambda m, x: m.gaussian_gradient_magnitude(x, 0.6), X),
    "sobel": (lambda m, x: m.sobel(x, 0), X),
    "prewitt": (lambda m, x: m.prewitt(x, mode="nearest"), X),
    "laplace": (lambda m, x: m.laplace(x, mode="wrap"), VOLUME),
    "minimum_filter1d": (lambda m, x: m.minimum_filter1d(x, 3, 0, mode="wrap"), APART),
    "maximum_filter": (lambda m, x: m.maximum_filter(x, (2, 3)), APART),
    "minimum_filter": (lambda m, x: m.minimum_filter(x, footprint=[[0, 1], [1, 1]], mode="constant"), APART),
    "median_filter": (lambda m, x: m.median_filter(x, 3), APART),
    "percentile_filter": (lambda m, x: m.percentile_filter(x, 30, 3, axes=(1,)), APART),
    "map_coordinates": (lambda m, x, c: m.map_coordinates(x, c), X, POINTS),
    "map_coordinates linear": (lambda m, x, c: m.map_coordinates(x, c, order=1), X, POINTS),
    "map_coordinates nearest": (
        lambda m, x, c: m.map_coordinates(x, c, order=1, mode="nearest"),
        X,
        AROUND,
    ),
    "map_coordinates mirror": (lambda m, x, c: m.map_coordinates(x, c, mode="mirror"), X, AROUND),
    "map_coordinates volume": (
        lambda m, x, c: m.map_coordinates(x, c, order=2, mode="grid-wrap"),
        VOLUME,
        RNG.uniform(0.1, 1.9, (3, 2, 2)),
    ),
    "shift": (lambda m, x, d: m.shift(x, d, mode="grid-constant", cval=0.3), X, np.array([0.4, -1.3])),
    "zoom": (lambda m, x: m.zoom(x, 1.6), X),
    "affine_transform": (
        lambda m, x, a, b: m.affine_transform(x, a, b),
        X,
        MATRIX,
        np.array([0.313, -0.227]),
    ),
    "affine_transform diagonal": (lambda m, x, a: m.affine_transform(x, a, 0.317, order=1), X, MATRIX[:, 0]),
    "rotate": (lambda m, x, a: m.rotate(x, a, reshape=False, order=3), X, np.array(20.0)),
    "rotate volume": (lambda m, x: m.rotate(x, 33.0, axes=(0, 2), order=1), VOLUME),
    "spline_filter": (lambda m, x: m.spline_filter(x), X),
    "spline_filter1d": (lambda m, x: m.spline_filter1d(x, 5, 0), X),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions(name: str) -> None:
    call, *arguments = CALLS[name]

    def flat(*x: Any) -> Any:  # SciPy takes numbers and not arrays without axes for an angle
        return call(theirs, *(v if np.ndim(v) else float(v) for v in x))

    check(lambda *x: call(ndimage, *x), flat, *arguments)


@pytest.mark.parametrize("order", range(6))
@examples(25)
@given(data=st.data())
def test_interpolation_of_drawn_arrays_is_scipys(order: int, data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    mode = draw.choice(MODES)
    shape = tuple(draw.integer(1, 7) for _ in range(draw.integer(1, 3)))
    if order > 1 and mode in ("reflect", "grid-mirror", "nearest"):
        shape = (draw.integer(30, 34), *shape[1:2])[
            :1
        ]  # SciPy's coefficients are not exact for shorter lines
    x = draw.rng.standard_normal(shape) * draw.choice([1.0, 1.0 + 2.0j])
    options: dict[str, Any] = {"order": order, "mode": mode, "cval": draw.choice([0.0, 0.7])}
    options["prefilter"] = draw.choice([True, False])
    points = draw.rng.uniform(-9.0, 15.0, (len(shape), 6))
    edges = np.array([np.zeros(len(shape)), np.array(shape) - 1.0, np.full(len(shape), -0.5)]).T
    points = np.concatenate([points, edges], 1)
    close(
        ndimage.map_coordinates(x, points, **options),
        theirs.map_coordinates(x, points, **options),
        1e-11,
    )
    distance = list(draw.rng.uniform(-2.0, 2.0, len(shape)))
    close(ndimage.shift(x, distance, **options), theirs.shift(x, distance, **options), 1e-11)
    matrix = np.eye(len(shape)) + 0.2 * draw.rng.standard_normal((len(shape),) * 2)
    homogeneous = np.concatenate([matrix, np.full((len(shape), 1), 0.3)], 1)
    close(
        ndimage.affine_transform(x, homogeneous, **options),
        theirs.affine_transform(x, homogeneous, **options),
        1e-11,
    )
    factor, options["grid_mode"] = draw.choice([0.6, 1.0, 2.3]), draw.choice([False, not np.iscomplexobj(x)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of modes that go badly with grid_mode
        close(ndimage.zoom(x, factor, **options), theirs.zoom(x, factor, **options), 1e-11)


@examples(80)
@given(data=st.data())
def test_filters_of_drawn_arrays_are_scipys(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    shape = tuple(draw.integer(1, 6) for _ in range(draw.integer(1, 3)))
    x = draw.rng.standard_normal(shape) * 40
    x = x.astype(draw.choice([np.float64, np.float32, np.complex128, np.int64]))
    options: dict[str, Any] = {"mode": draw.choice(MODES), "cval": draw.choice([0.0, 2.0])}
    options["output"] = draw.choice([None, None, np.complex128]) if x.dtype.kind == "c" else None
    size = draw.integer(1, 5)
    origin = draw.integer(-(size // 2), (size - 1) // 2)
    weights = draw.rng.standard_normal(size) * draw.choice([1.0, 1.0, 1.0 + 2.0j])
    rtol = 1e-5 if x.dtype == np.float32 else 1e-11
    if weights.dtype.kind == "c" and x.dtype.kind != "c":
        options["output"] = np.complex128
    for name in ("correlate1d", "convolve1d"):
        call: Callable[[Any], Any] = lambda m: getattr(m, name)(x, weights, 0, origin=origin, **options)  # noqa: B023, E731
        close(call(ndimage), call(theirs), rtol)
    axes = draw.choice([None, (0,)])
    window = draw.rng.standard_normal((size,) * (len(shape) if axes is None else 1))
    if x.dtype.kind != "c":  # integers cut off what rounding adds
        options["output"] = np.float64 if x.dtype.kind == "i" else None
    for name in ("correlate", "convolve"):
        call = lambda m: getattr(m, name)(x, window, origin=origin, axes=axes, **options)  # noqa: B023, E731
        close(call(ndimage), call(theirs), rtol)
    orders = size % 4
    for call in (
        lambda m: m.uniform_filter(x, size, origin=origin, axes=axes, **options),
        lambda m: m.gaussian_filter(x, 0.7, orders, axes=axes, **options),
        lambda m: m.sobel(x, **options),
        lambda m: m.laplace(x, axes=axes, **options),
    ):
        close(call(ndimage), call(theirs), rtol)


@examples(60)
@given(data=st.data())
def test_ranks_of_drawn_arrays_are_scipys(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    shape = tuple(draw.integer(3, 6) for _ in range(draw.integer(1, 3)))
    x = (draw.rng.standard_normal(shape) * 40).astype(draw.choice([np.float64, np.float32, np.int64]))
    options: dict[str, Any] = {"mode": draw.choice(MODES), "cval": draw.choice([0.0, 2.0])}
    options["axes"] = draw.choice([None, (0,)])
    size = draw.integer(1, 3)
    options["origin"] = draw.integer(-(size // 2), (size - 1) // 2)
    marks = draw.rng.uniform(size=(size,) * (len(shape) if options["axes"] is None else 1)) < 0.6
    marks.flat[0] = True
    rank = draw.integer(0, int(marks.sum()) - 1)
    for call in (
        lambda m: m.minimum_filter(x, size, **options),
        lambda m: m.maximum_filter(x, footprint=marks, **options),
        lambda m: m.median_filter(x, size, **options),
        lambda m: m.rank_filter(x, rank, footprint=marks, **options),
        lambda m: m.percentile_filter(x, 40, size, **options),
    ):
        close(call(ndimage), call(theirs), 0)


@pytest.mark.parametrize("mode", MODES)
def test_splines_go_through_the_samples(mode: str) -> None:
    """Also in short lines of the mode "reflect", where the coefficients of SciPy's are not exact."""
    for order in range(2, 6):
        for count in (1, 2, 5, 200):
            x = RNG.standard_normal(count)
            found = ndimage.map_coordinates(x, np.arange(float(count))[None], order=order, mode=mode)
            np.testing.assert_allclose(found, x, atol=1e-14)


def test_second_derivatives() -> None:
    wg.check_grads(lambda x, c: ndimage.map_coordinates(x, c), (X, POINTS), order=2)
    slopes = wg.hessian(lambda c: ndimage.map_coordinates(LINE, c[None, None])[0])
    np.testing.assert_allclose(slopes(3.0), slopes(3.0 + 1e-9), rtol=1e-7)
    wg.check_grads(lambda s: ndimage.gaussian_filter(LINE, s, radius=4), (0.8,), order=2)


def test_slopes_at_elements_and_edges_are_those_of_a_piece() -> None:
    x = np.array([0.0, 1.0, 4.0])

    def slope(point: float, mode: str) -> Any:
        return wg.grad(lambda c: ndimage.map_coordinates(x, c[None, None], order=1, mode=mode)[0])(point)

    assert slope(1.0, "constant") == 3.0
    assert slope(2.0, "constant") == 3.0
    assert slope(2.5, "constant") == 0.0
    assert slope(-1.0, "nearest") == 0.0
    assert slope(-0.5, "mirror") == -1.0


def test_points_that_are_not_finite_give_the_constant() -> None:
    points = np.array([[np.nan, np.inf, 1.0]])
    for mode in MODES:
        found = ndimage.map_coordinates(LINE, points, order=1, mode=mode, cval=7.0)
        np.testing.assert_array_equal(found, [7.0, 7.0, LINE[1]])
        derivative = wg.grad(lambda c: np.sum(ndimage.map_coordinates(LINE, c, order=3, mode=mode)))(points)  # noqa: B023
        assert np.isfinite(derivative).all()


def test_results_go_to_the_output() -> None:
    target = np.zeros(X.shape, np.float32)
    assert ndimage.gaussian_filter(X, 1.0, output=target) is target
    close(target, theirs.gaussian_filter(X, 1.0, output=np.float32), 1e-6)
    integers = (X * 100).astype(np.int8)
    for order in (0, 1, 3):
        close(ndimage.shift(integers, 0.3, order=order), theirs.shift(integers, 0.3, order=order), 0)

    def written(x: Any) -> Any:
        buffer = wg.numpy.zeros(x.shape)
        ndimage.sobel(x, output=buffer)
        return buffer

    close(wg.jit(written)(X), theirs.sobel(X), 1e-12)


def test_complex_arrays() -> None:
    z = X * (1 + 0.3j)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns where it makes the output complex
        for call in (lambda m: m.spline_filter(z), lambda m: m.shift(z, 0.3, output=np.float32)):
            close(call(ndimage), call(theirs), 1e-6)
    wg.check_grads(lambda z: ndimage.map_coordinates(z, POINTS), (z,), order=1)


def test_large_arrays_are_filtered_by_a_correlation() -> None:
    x = RNG.standard_normal((2, 300))
    close(ndimage.spline_filter1d(x, mode="grid-wrap"), theirs.spline_filter1d(x, mode="grid-wrap"), 1e-13)


ERRORS: dict[str, tuple[Callable[[], Any], str]] = {
    "mode": (lambda: ndimage.sobel(X, mode="odd"), "sobel: mode must be one of reflect"),
    "order": (lambda: ndimage.map_coordinates(X, POINTS, order=6), "map_coordinates: order must be 0 to 5"),
    "points": (lambda: ndimage.map_coordinates(X, POINTS[:1]), "map_coordinates: a row of coordinates"),
    "complex": (lambda: ndimage.map_coordinates(X, POINTS * 1j), "map_coordinates: the coordinates must be"),
    "weights": (lambda: ndimage.correlate1d(X, W2), "correlate1d: the weights must be a vector"),
    "rank": (lambda: ndimage.convolve(X, W), "convolve: the weights must have 2 axes"),
    "origin": (lambda: ndimage.correlate1d(X, W, origin=2), "correlate1d: origin must leave the centre"),
    "size": (lambda: ndimage.uniform_filter1d(X, 0), "uniform_filter1d: size must be at least 1"),
    "footprint": (lambda: ndimage.median_filter(X, footprint=[1, 1]), "median_filter: a footprint of 2 axes"),
    "neighbours": (lambda: ndimage.rank_filter(X, 9, 3), "rank_filter: there are 9 neighbours; got rank 9"),
    "nothing": (lambda: ndimage.maximum_filter(X), "maximum_filter: size or footprint is needed"),
    "order of": (lambda: ndimage.minimum_filter(X * 1j, 3), "minimum_filter: complex numbers have no order"),
    "per axis": (lambda: ndimage.gaussian_filter(X, (1, 2, 3)), "gaussian_filter: sigma must be one value"),
    "matrix": (lambda: ndimage.affine_transform(X, np.eye(4)), "affine_transform: a matrix of 2 rows"),
    "axes": (lambda: ndimage.rotate(X, 10, axes=(0, 0)), "rotate: two different axes"),
    "output": (lambda: ndimage.sobel(X, output=np.zeros(3)), "sobel: output must have the shape"),
    "dtype": (lambda: ndimage.shift(X * 1j, 1, output="float64"), "shift: the result is complex"),
    "unknown": (
        lambda: wg.jit(lambda s: ndimage.gaussian_filter(X, s))(1.0),
        "gaussian_filter1d: sigma, where radius is not given, must be known",
    ),
    "angle": (lambda: wg.jit(lambda a: ndimage.rotate(X, a))(1.0), "rotate: the angle, for reshape=True"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_the_operation(name: str) -> None:
    call, text = ERRORS[name]
    with pytest.raises(WengertError, match=text):
        call()


@pytest.mark.parametrize("name", ndimage.__all__)
def test_signatures_are_scipys(name: str) -> None:
    check_signatures(getattr(ndimage, name), getattr(theirs, name))
