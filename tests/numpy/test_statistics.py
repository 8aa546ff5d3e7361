from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.boxes import CONSTANT
from wengert.engine.core.errors import ConcreteError, ShapeError, WengertError
from wengert.engine.transforms.batching import vmap

RNG = np.random.default_rng(17)
A = RNG.uniform(-2, 2, (3, 6))
B = RNG.uniform(-2, 2, (2, 6))
V = RNG.uniform(-2, 2, 6)
COUNTS = np.array([1, 2, 1, 0, 3, 1])
WEIGHTS = RNG.uniform(0.2, 1, 6)

CASES: dict[str, tuple[Any, ...]] = {
    "cov": (np.cov, A),
    "cov vector": (np.cov, V),
    "cov two": (lambda x, y: np.cov(x, y), A, B),
    "cov columns": (lambda x: np.cov(x, rowvar=False), A),
    "cov bias": (lambda x: np.cov(x, bias=True), A),
    "cov ddof": (lambda x: np.cov(x, ddof=0), A),
    "cov counts": (lambda x: np.cov(x, fweights=COUNTS), A),
    "cov weights": (lambda x, w: np.cov(x, aweights=w), A, WEIGHTS),
    "cov both weights": (lambda x, w: np.cov(x, fweights=COUNTS, aweights=w), A, WEIGHTS),
    "corrcoef": (np.corrcoef, A),
    "corrcoef two": (lambda x, y: np.corrcoef(x, y)[0, 1], V, V**2),
    "corrcoef columns": (lambda x: np.corrcoef(x, rowvar=False)[0, 1], A),
    "bincount": (lambda w: np.bincount(np.array([0, 2, 2, 1, 5, 0]), w), WEIGHTS),
    "bincount minlength": (
        lambda w: np.bincount(np.array([0, 2, 2, 1, 1, 0]), weights=w, minlength=5),
        WEIGHTS,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_statistics(check: Any, name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments)


def test_counts_need_concrete_values() -> None:
    np.testing.assert_array_equal(np.bincount(CONSTANT.constant(COUNTS)), np.bincount(COUNTS))
    with pytest.raises(ConcreteError, match="bincount"):
        vmap(np.bincount)(COUNTS[None])


def test_errors_name_the_operation() -> None:
    box = CONSTANT.constant(V)
    for call, text in [
        (lambda: np.average(box, weights=V[:2]), "average: weights must have the shape"),
        (lambda: np.cov(CONSTANT.constant(np.zeros((2, 2, 2)))), "cov: at most two axes"),
        (
            lambda: np.bincount(COUNTS, CONSTANT.constant(V[:2])),
            "bincount: integers and weights must be sequences",
        ),
        (lambda: np.bincount(COUNTS - 1, box), "bincount: numbers must not be negative; got -1"),
        (lambda: np.bincount(box), "bincount: integers are required; got f64"),
    ]:
        with pytest.raises(WengertError, match=text):
            call()


def test_dtypes(values: Any) -> None:
    values(np.cov, np.arange(6).reshape(2, 3))
    values(np.corrcoef, np.array([[1, 2, 4], [2, 2, 3]]))


def test_weights_of_several_axes_are_in_the_order_of_the_axes() -> None:
    x, weights = np.arange(24.0).reshape(2, 3, 4) ** 2, np.arange(12.0).reshape(4, 3)
    actual = wg.jit(lambda x: np.average(x, axis=(2, 1), weights=weights))(x)
    np.testing.assert_allclose(actual, np.average(x, axis=(2, 1), weights=weights))


COVARIANCES: list[dict[str, Any]] = [
    *({"ddof": ddof} for ddof in (1, 3, 5, 1.5)),
    {"rowvar": False},
    {"fweights": COUNTS[:3]},
    {"fweights": [1, -2, 1]},
    {"fweights": [1.5, 2, 1]},
    {"aweights": [1.0, -2.0, 1.0]},
    {"aweights": [0.0, 0.0, 0.0]},
    {"aweights": [1.0, 2.0, 1.0], "ddof": 4},
    {"aweights": [1.0, 2.0, 1.0], "fweights": [1, 2, 1], "dtype": "float32"},
]


@pytest.mark.parametrize("options", COVARIANCES, ids=str)
def test_covariances_of_few_observations(agrees: Any, options: Any) -> None:
    matrix, rtol = np.array([[1.0, 2.0, 4.0], [3.0, 1.0, 0.0]]), 1e-6 if "dtype" in options else 1e-12
    agrees(lambda x: np.cov(x, **options), matrix, rtol=rtol)
    agrees(lambda x: np.cov(x[:1], **options), matrix, rtol=rtol)
    agrees(lambda x: np.cov(x[0], **options), matrix, rtol=rtol)
    agrees(lambda x: np.cov(x, x[:1], **options), matrix, rtol=rtol)


@pytest.mark.parametrize("options", [{}, {"ddof": 0}, {"rowvar": False}], ids=str)
def test_covariances_of_no_observations(agrees: Any, options: Any) -> None:
    agrees(lambda x: np.cov(x, **options), np.zeros((3, 0)))
    agrees(lambda x: np.corrcoef(x[:1], rowvar=False), A[:2, :3])


@pytest.mark.parametrize("name", ["fweights", "aweights"])
@pytest.mark.parametrize("weights", [[1, 2], [[1, 2, 1]]], ids=str)
def test_weights_of_observations_are_one_an_observation(name: str, weights: Any) -> None:
    with pytest.raises(ShapeError, match=f"cov: {name} must be 3 numbers, one an observation; got i64"):
        wg.jit(lambda x: np.cov(x, **{name: np.array(weights)}))(A[:, :3])


@pytest.mark.parametrize("ddof", [0, 0.5, 1, 1.5, 2, 3])
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("function", [np.var, np.std, np.nanvar, np.nanstd])
def test_spread_without_degrees_of_freedom(agrees: Any, function: Any, axis: Any, ddof: float) -> None:
    whole = np.array([[1.0, 2.0, 4.0], [3.0, 1.0, 0.0]])
    holes = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, 2.5]])
    agrees(lambda x: function(x, axis=axis, ddof=ddof), whole)
    agrees(lambda x: function(x, axis=axis, ddof=ddof), holes)
    agrees(lambda x: function(x, axis=axis, ddof=ddof), whole.astype(int))


@pytest.mark.parametrize(
    "weights", [[0.0, 0.0], [1.0, -1.0], [0, 0], [1.0, 2.0], [[0.0, 0.0], [1.0, 0.0]]], ids=str
)
def test_weights_that_sum_to_zero_are_refused(weights: Any) -> None:
    x, weights = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array(weights)

    def averages(x: Any) -> Any:
        return np.average(x, axis=-1, weights=weights)

    if np.all(weights.sum(axis=-1)):
        np.testing.assert_array_equal(wg.jit(averages)(x), averages(x))
        return
    for run in (wg.jacobian(averages), wg.jit(averages)):
        with pytest.raises(ZeroDivisionError, match="average: weights must not sum to zero; got"):
            run(x)
    traced = wg.jit(lambda x, weights: np.average(x, axis=-1, weights=weights))
    assert not np.isfinite(traced(x, weights)).all()  # values that only a call knows raise no error


@pytest.mark.parametrize("dtype", ["bool", "int64", "float16", "float32", "float64"])
def test_weights_are_added_in_double_precision(agrees: Any, dtype: str) -> None:
    weights = np.array([0.1, 0.2, 0.3]).astype(dtype)
    agrees(lambda w: np.bincount(np.array([0, 1, 1]), w), weights)
    agrees(lambda w: np.bincount(np.array([True, False, True]), w, minlength=3), weights)


@pytest.mark.parametrize("minlength", [3, 4, -1])
@pytest.mark.parametrize(
    "numbers", [[0, 1, 1], [True, False], [], [0, -1], [[1, 2]], np.uint8([2, 0]), np.uint64([1])], ids=str
)
def test_numbers_that_only_a_call_knows_are_counted_below_minlength(
    agrees: Any, numbers: Any, minlength: int
) -> None:
    numbers = np.array(numbers, None if len(numbers) else int)
    agrees(lambda x: np.bincount(x, minlength=minlength), numbers)
    if numbers.size:  # NumPy's sums of no numbers are integers
        agrees(lambda x, w: np.bincount(x, w / 2, minlength=minlength), numbers, np.ones(numbers.shape))


def test_numbers_that_only_a_call_knows_lie_below_minlength() -> None:
    x = np.array([0, 3])
    with pytest.raises(ConcreteError, match=r"bincount: .*; give minlength="):
        wg.jit(np.bincount)(x)
    with pytest.raises(ValueError, match=r"bincount: numbers must lie in \[0, 3\)"):
        wg.jit(lambda x: np.bincount(x, minlength=3))(x)
    actual = wg.vmap(lambda x: np.bincount(x, minlength=4))(np.array([[0, 3], [1, 3]]))
    np.testing.assert_array_equal(actual, [[1, 0, 0, 1], [0, 1, 0, 1]])
