from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert.numpy as wnp
from wengert.engine.boxes import CONSTANT
from wengert.engine.core.errors import (
    ArgumentError,
    DtypeError,
    LostDerivativeError,
    ShapeError,
    WengertError,
)
from wengert.engine.transforms.forward_mode import jvp
from wengert.engine.transforms.reverse_mode import grad

RNG = np.random.default_rng(7)
A = RNG.uniform(-2, 2, (3, 4))
B = RNG.uniform(0.5, 2, (2, 3, 2))
HOLES = np.where(RNG.uniform(size=(3, 4)) < 0.3, np.nan, A)
AXES: list[Any] = [None, 0, 1, -1, (0, 1), (1, 0), ()]

REDUCTIONS = {
    "sum": np.sum,
    "prod": np.prod,
    "mean": np.mean,
    "max": np.max,
    "amax": np.amax,
    "min": np.min,
    "amin": np.amin,
    "var": np.var,
    "std": np.std,
    "ptp": np.ptp,
    "median": np.median,
}


# Over no axes the spread is at its kink, and NumPy's median raises an error.
OVER_NO_AXES = ("sum", "prod", "mean", "max", "min")


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    ("name", "axis"),
    [(name, axis) for name in REDUCTIONS for axis in AXES if axis != () or name in OVER_NO_AXES],
    ids=str,
)
def test_reductions(check: Any, name: str, axis: Any, keepdims: bool) -> None:
    function = REDUCTIONS[name]
    check(lambda x: function(x, axis=axis, keepdims=keepdims), A)


OPTIONS = {
    "sum initial": lambda x: np.sum(x, initial=3.0),
    "sum axis initial": lambda x: np.sum(x, 0, initial=3.0),
    "prod initial": lambda x: np.prod(x, 0, initial=2.0),
    "max initial": lambda x: np.max(x, 0, initial=0.3),
    "min initial": lambda x: np.min(x, initial=0.3),
    "sum of three axes": lambda x: np.sum(x.reshape(2, 2, 3), axis=(0, 2)),
    "mean ddof": lambda x: np.var(x, 0, ddof=1),
    "std ddof": lambda x: np.std(x, 1, ddof=1, keepdims=True),
    "var correction": lambda x: np.var(x, correction=1),
    "var mean": lambda x: np.var(x, 0, mean=np.mean(x, 0, keepdims=True)),
    "methods": lambda x: x.sum(0) + x.mean() + x.prod(axis=0) + x.var() + x.std() + x.max(0) - x.min(),
    "cumsum": np.cumsum,
    "cumsum axis": lambda x: np.cumsum(x, 0),
    "cumsum last": lambda x: np.cumsum(x, axis=-1),
    "cumprod": np.cumprod,
    "cumprod axis": lambda x: np.cumprod(x, 1),
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=0, include_initial=True),
    "cumulative_prod": lambda x: np.cumulative_prod(x, axis=1),
    "cumulative_prod initial": lambda x: np.cumulative_prod(x, axis=-1, include_initial=True),
    "add.reduce": np.add.reduce,
    "add.reduce axis": lambda x: np.add.reduce(x, axis=1, keepdims=True),
    "add.reduce all": lambda x: np.add.reduce(x, axis=None),
    "multiply.reduce": lambda x: np.multiply.reduce(x, axis=(0, 1)),
    "maximum.reduce": np.maximum.reduce,
    "minimum.reduce": lambda x: np.minimum.reduce(x, axis=-1),
    "add.accumulate": np.add.accumulate,
    "multiply.accumulate": lambda x: np.multiply.accumulate(x, axis=1),
    "maximum.accumulate": np.maximum.accumulate,
    "maximum.accumulate axis": lambda x: np.maximum.accumulate(x, axis=1),
    "minimum.accumulate": lambda x: np.minimum.accumulate(x.ravel()),
    "average": np.average,
    "average axis": lambda x: np.average(x, axis=1, keepdims=True),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options(check: Any, name: str) -> None:
    check(OPTIONS[name], A)


AVERAGES = {
    "weights": (lambda x, w: np.average(x, weights=w), A, A * A + 0.1),
    "weights of an axis": (lambda x, w: np.average(x, axis=0, weights=w), A, np.array([0.2, 0.5, 1.0])),
    "weights of axes": (
        lambda x, w: np.average(x, axis=(0, 2), weights=w),
        B,
        np.array([[0.2, 0.5], [1.0, 0.3]]),
    ),
    "returned": (lambda x, w: np.average(x, axis=1, weights=w, returned=True), A, A * A + 0.1),
    "keepdims": (lambda x, w: np.average(x, axis=1, weights=w, keepdims=True), A, A * A + 0.1),
}


@pytest.mark.parametrize("name", AVERAGES)
def test_weighted_averages(check: Any, name: str) -> None:
    function, *arguments = AVERAGES[name]
    check(function, *arguments)


NAN_OUT = {
    "nansum": np.nansum,
    "nanprod": np.nanprod,
    "nanmean": np.nanmean,
    "nanmax": np.nanmax,
    "nanmin": np.nanmin,
    "nanvar": np.nanvar,
    "nanstd": np.nanstd,
}


@pytest.mark.parametrize("axis", [None, 0, 1], ids=str)
@pytest.mark.parametrize("name", NAN_OUT)
def test_nan_is_left_out(check: Any, name: str, axis: Any) -> None:
    function = NAN_OUT[name]
    holes = np.isnan(HOLES)
    check(lambda x: function(np.where(holes, np.nan, x), axis=axis, keepdims=True), A)


def test_nan_running(check: Any) -> None:
    holes = np.isnan(HOLES)
    check(lambda x: np.nancumsum(np.where(holes, np.nan, x), 0), A)
    check(lambda x: np.nancumprod(np.where(holes, np.nan, x), 1), A)


def test_nan_positions(values: Any) -> None:
    values(lambda x: np.nanargmax(x, 0), HOLES)
    values(np.nanargmin, HOLES)


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": -1}, {"keepdims": True}], ids=str)
@pytest.mark.parametrize(
    "numbers",
    [
        [NAN, NAN],
        [[NAN, 1.0], [NAN, NAN]],
        [1.0, NAN],
        [-INF, NAN],
        [NAN, INF],
        [3, 1],
        [True, False],
        NAN,
        [],
    ],
    ids=str,
)
@pytest.mark.parametrize("function", [np.nanargmax, np.nanargmin])
def test_where_all_is_nan_nothing_has_a_position(
    agrees: Any, function: Any, numbers: Any, options: Any
) -> None:
    agrees(lambda x: function(x, **options), numbers)


TRUTHS = {
    "any": lambda x: np.any(x > 1, axis=0),
    "all": lambda x: np.all(x > -1.5, axis=1, keepdims=True),
    "any of floats": lambda x: np.any(x),
    "count_nonzero": lambda x: np.count_nonzero(x > 0, axis=0),
    "count_nonzero all": np.count_nonzero,
    "argmax": np.argmax,
    "argmax axis": lambda x: np.argmax(x, axis=1, keepdims=True),
    "argmin": lambda x: np.argmin(x, 0),
    "argmax keepdims": lambda x: np.argmax(x, keepdims=True),
    "logical_and.reduce": lambda x: np.logical_and.reduce(x > -1, axis=0),
    "logical_or.reduce": lambda x: np.logical_or.reduce(x > 1),
    "logical_or.accumulate": lambda x: np.logical_or.accumulate(x > 1),
    "logical_and.accumulate": lambda x: np.logical_and.accumulate(x > -1, axis=1),
    "logical_and.accumulate of floats": np.logical_and.accumulate,
}


@pytest.mark.parametrize("name", TRUTHS)
def test_truth_and_positions(values: Any, name: str) -> None:
    values(TRUTHS[name], A)


DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64"]
EVERY = [
    "sum",
    "prod",
    "mean",
    "max",
    "min",
    "var",
    "std",
    "cumsum",
    "cumprod",
    "any",
    "argmax",
    "nansum",
    "nanmean",
    "median",
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", EVERY)
def test_dtypes_are_those_of_numpy(values: Any, name: str, dtype: str) -> None:
    array = np.array([[1, 2, 0], [3, 1, 1]]).astype(dtype)
    function = getattr(np, name)
    rtol = 2e-3 if dtype == "float16" else 1e-6
    values(function, array, rtol=rtol)
    values(lambda x: function(x, axis=0), array, rtol=rtol)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "cumsum", "var"])
def test_dtype_argument(values: Any, name: str) -> None:
    values(lambda x: getattr(np, name)(x, dtype=np.float32), A, rtol=1e-6)


def test_scalars_and_empty_arrays(values: Any) -> None:
    values(np.sum, np.array(2.0))
    values(lambda x: np.max(x, axis=None), np.array(2.0))
    values(lambda x: np.add.reduce(x), np.array(2.0))
    values(lambda x: np.sum(x, axis=0), np.zeros((0, 3)))
    values(np.prod, np.zeros((0,)))
    values(lambda x: np.max(x, axis=0, initial=-1.0), np.zeros((0, 3)))


@pytest.mark.parametrize("axis", [None, 0, 2])
@pytest.mark.parametrize("function", [np.cumulative_sum, np.cumulative_prod])
def test_running_sums_along_one_axis(agrees: Any, function: Any, axis: Any) -> None:
    agrees(lambda x: function(x, axis=axis), A)


@pytest.mark.parametrize("numbers", [[-0.0, 1.0], [-0.0, -0.0], [0.0, -0.0], [1.0, -1.0, -0.0]], ids=str)
@pytest.mark.parametrize(
    "function", [np.sum, np.prod, np.cumsum, np.cumprod, np.nancumsum, np.add.accumulate]
)
def test_zeros_keep_their_signs(agrees: Any, function: Any, numbers: Any) -> None:
    agrees(function, numbers)
    agrees(lambda x: function(x[::-1]), numbers)
    agrees(lambda x: function(x, axis=0), np.transpose([numbers, numbers]))


def test_ties_share_the_derivative() -> None:
    np.testing.assert_array_equal(grad(np.max)(np.array([1.0, 3.0, 3.0])), [0, 0.5, 0.5])
    np.testing.assert_array_equal(grad(np.nanmin)(np.array([1.0, 1.0, np.nan])), [0.5, 0.5, 0])


@pytest.mark.parametrize("function", [np.std, lambda x: np.std(x, ddof=1), np.nanstd, np.var])
def test_spread_of_a_constant_has_derivative_zero(function: Any) -> None:
    x = np.full(4, 0.1)
    assert grad(function)(x).tolist() == [0.0] * 4
    assert jvp(function, (x,), (np.array([1.0, -2.0, 0.0, 3.0]),))[1] == 0.0
    assert np.isfinite(jvp(grad(function), (x,), (np.array([1.0, -2.0, 0.0, 3.0]),))[1]).all()


def test_product_is_exact_at_zeros() -> None:
    np.testing.assert_array_equal(grad(np.prod)(np.array([2.0, 0.0, 3.0])), [0.0, 6.0, 0.0])
    np.testing.assert_array_equal(grad(np.prod)(np.array([0.0, 0.0, 3.0])), [0.0, 0.0, 0.0])
    running = lambda x: np.sum(np.cumprod(x))  # noqa: E731
    np.testing.assert_array_equal(grad(running)(np.array([2.0, 0.0, 3.0])), [1.0, 8.0, 0.0])


def test_what_cannot_work_says_so() -> None:
    box = CONSTANT.constant(A)
    with pytest.raises(LostDerivativeError, match="out= would lose"):
        np.sum(box, out=np.zeros(()))
    for function in (np.max, np.nanmin):
        with pytest.raises(
            ArgumentError, match=rf"{function.__name__}: with where= there must be an initial"
        ):
            function(box, where=A > 0)
    with pytest.raises(DtypeError, match="where=: truth values are required"):
        np.mean(box, where=A)
    with pytest.raises(ShapeError, match="where=: the condition must fit"):
        np.sum(box, where=np.ones((2, *A.shape), bool))
    with pytest.raises(WengertError, match=r"axis must lie in \[-2, 2\)") as caught:
        np.sum(box, axis=2)
    assert isinstance(caught.value, IndexError)
    with pytest.raises(ShapeError, match="once only"):
        np.sum(box, axis=(0, 0))
    with pytest.raises(ShapeError, match="must not be empty"):
        np.max(CONSTANT.constant(np.zeros(0)))
    with pytest.raises(WengertError):
        np.cumulative_sum(box)
    assert wnp.sum.__wrapped__ is np.sum


@pytest.mark.parametrize("shape", [(2,) * 13, (8, 8, 8, 8, 2), (2, 4096), (4096, 2), (5000,)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_largest_elements_along_short_and_long_axes(shape: tuple[int, ...], axis: Any) -> None:
    x = np.random.default_rng(0).permutation(float(np.prod(shape)) - np.arange(np.prod(shape))).reshape(shape)
    gradient = grad(lambda x: np.sum(np.max(x, axis=axis)))(x)
    np.testing.assert_array_equal(gradient, x == np.max(x, axis=axis, keepdims=True))


ASSOCIATIVE = [
    np.add,
    np.multiply,
    np.maximum,
    np.minimum,
    np.fmax,
    np.fmin,
    np.hypot,
    np.logaddexp,
    np.logaddexp2,
]
OF_BITS = [np.bitwise_and, np.bitwise_or, np.bitwise_xor]
OF_TRUTHS = [np.logical_and, np.logical_or, np.logical_xor]


@pytest.mark.parametrize("ufunc", ASSOCIATIVE, ids=lambda ufunc: ufunc.__name__)
def test_ufuncs_combine_numbers_in_any_order(check: Any, ufunc: Any) -> None:
    tall = np.concatenate([A, A[::-1] + 0.1])[:5]
    check(lambda x: ufunc.reduce(x), tall)
    check(lambda x: ufunc.accumulate(x, axis=1), tall)
    check(lambda x: ufunc.reduceat(x, [0, 3, 1, 1]), tall)


def small_numbers(dtype: str) -> tuple[Any, float]:
    """Return an array, and a tolerance: NumPy's logarithms of truth values and bytes are float16."""
    array = np.array([[1, 3, 2, 0], [2, 1, 7, 1], [0, 2, 2, 1]]).astype(dtype)
    return array, 5e-3 if dtype in ("bool", "int8") else 1e-5


@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": None}, {"keepdims": True}], ids=str)
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32", "float64"])
@pytest.mark.parametrize("ufunc", [*ASSOCIATIVE, *OF_BITS, *OF_TRUTHS], ids=lambda ufunc: ufunc.__name__)
def test_reductions_by_ufuncs(agrees: Any, ufunc: Any, dtype: str, options: Any) -> None:
    if ufunc in OF_BITS and "float" in dtype:
        return
    array, rtol = small_numbers(dtype)
    agrees(lambda x: ufunc.reduce(x, **options), array, rtol=rtol)
    agrees(lambda x: ufunc.reduce(x, initial=array.dtype.type(1), **options), array, rtol=rtol)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32", "float64"])
@pytest.mark.parametrize("ufunc", [*ASSOCIATIVE, *OF_BITS, *OF_TRUTHS], ids=lambda ufunc: ufunc.__name__)
def test_running_and_piecewise_reductions_by_ufuncs(agrees: Any, ufunc: Any, dtype: str) -> None:
    if ufunc in OF_BITS and "float" in dtype:
        return
    array, rtol = small_numbers(dtype)
    agrees(lambda x: ufunc.reduce(x[:0], axis=0), array, rtol=rtol)
    agrees(lambda x: ufunc.accumulate(x, axis=1), array, rtol=rtol)
    agrees(ufunc.accumulate, array[0, 0])
    agrees(lambda x: ufunc.reduceat(x, [0, 3, 1, 1], axis=-1), array, rtol=rtol)
    agrees(lambda x: ufunc.reduceat(x, [0, 4], axis=1), array, rtol=rtol)


@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.fmax, np.hypot], ids=lambda ufunc: ufunc.__name__)
def test_dtype_of_a_reduction(agrees: Any, ufunc: Any) -> None:
    agrees(lambda x: ufunc.reduce(x, dtype=np.float32), np.array([1.0, 3.0, 2.5]), rtol=1e-6)
    agrees(lambda x: ufunc.accumulate(x, dtype=np.float32), np.array([1.0, 3.0, 2.5]), rtol=1e-6)
