from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from wengert.engine.core.errors import ArgumentError, DtypeError
from wengert.engine.kernels import special
from wengert.engine.kernels.special import digamma, erf, erfc, erfinv, expit, lgamma, polygamma
from wengert.engine.kernels.tables import DIGAMMA_SERIES, LGAMMA_SERIES, table

mp: Any = pytest.importorskip("mpmath")

Array = np.ndarray[Any, Any]

UNARY = (erf, erfc, erfinv, expit, lgamma, digamma)
FUNCTIONS = (*UNARY, lambda x: polygamma(1, x), lambda x: polygamma(2, x))
by_name = pytest.mark.parametrize("function", UNARY, ids=lambda function: function.__name__)
inf, nan = math.inf, math.nan


def exact_erfinv(y: Any) -> Any:
    """Solve ln erfc x = ln (1 - |y|), from a start that decides only how soon."""
    x = mp.sqrt(-mp.log((1 - y) * (1 + y)))
    for _ in range(30):
        tail = mp.erfc(x)
        x += mp.log(tail / (1 - abs(y))) * tail * mp.exp(x * x) * mp.sqrt(mp.pi) / 2
    return x * mp.sign(y)


EXACT: dict[Callable[..., Any], Callable[[Any], Any]] = {
    erf: mp.erf,
    erfc: mp.erfc,
    erfinv: exact_erfinv,
    expit: lambda x: 1 / (1 + mp.exp(-x)),
    lgamma: lambda x: mp.re(mp.loggamma(x)),
    digamma: mp.digamma,
}


def errors(
    function: Callable[[Array], Array], exact: Callable[[Any], Any], points: Array
) -> tuple[Array, Array]:
    """Return the absolute errors, and the size of an ulp of each exact value."""
    with mp.workdps(40):
        truth = [exact(mp.mpf(float(x))) for x in points]
        absolute = [abs(mp.mpf(float(y)) - z) for y, z in zip(function(points), truth, strict=True)]
        return np.array(absolute, float), np.spacing(np.abs(np.array(truth, float)))


def uniform(low: float, high: float) -> Callable[[np.random.Generator], Array]:
    return lambda rng: rng.uniform(low, high, 300)


def logarithmic(low: float, high: float, sign: float = 1.0) -> Callable[[np.random.Generator], Array]:
    return lambda rng: sign * np.exp(rng.uniform(np.log(low), np.log(high), 300))


def around(centre: float, reach: float = 0.1) -> Callable[[np.random.Generator], Array]:
    """Draw from all distances to a point."""
    return lambda rng: centre + logarithmic(1e-15, reach)(rng) * rng.choice([-1, 1], 300)


def near_poles(lowest: int) -> Callable[[np.random.Generator], Array]:
    def draw(rng: np.random.Generator) -> Array:
        points = rng.integers(lowest, 1, 300) + logarithmic(1e-15, 0.1)(rng) * rng.choice([-1, 1], 300)
        return points[points != np.rint(points)]

    return draw


@pytest.mark.parametrize(
    ("function", "draw", "ulps"),
    [
        (erf, uniform(-1.2, 1.2), 2),
        (erf, uniform(-7, 7), 2),
        (erf, logarithmic(1e-308, 1), 2),
        (erfc, uniform(-7, 0.6), 4),
        (erfc, uniform(0.4, 3), 4),
        (erfc, uniform(3, 26.5), 4),
        (erfc, uniform(26.5, 27.3), 4),
        (erfinv, uniform(-1, 1), 4),
        (erfinv, logarithmic(1e-15, 0.1, -1), 4),
        (erfinv, lambda rng: 1 - logarithmic(1.2e-16, 0.01)(rng), 4),
        (expit, uniform(-40, 40), 4),
        (expit, uniform(-745, 0), 4),
        (expit, logarithmic(1e-300, 1e4), 4),
        (lgamma, uniform(0, 3), 4),
        (lgamma, uniform(2, 20), 4),
        (lgamma, logarithmic(1e-308, 1), 4),
        (lgamma, logarithmic(10, 1e305), 4),
        (lgamma, around(1.0), 4),
        (lgamma, around(2.0), 4),
        (lgamma, uniform(-1, 0), 4),
        (lgamma, uniform(-200, -24), 4),
        (lgamma, logarithmic(25, 1e10, -1), 4),
        (digamma, uniform(0, 3), 6),
        (digamma, uniform(2, 20), 6),
        (digamma, logarithmic(1e-300, 1), 6),
        (digamma, logarithmic(10, 1e305), 6),
        (digamma, around(table("DIGAMMA_ROOT")[0]), 6),
        (digamma, logarithmic(1e-300, 0.1, -1), 6),
        (digamma, near_poles(-40), 6),
    ],
)
def test_within_a_few_ulp(function: Any, draw: Any, ulps: float, rng: np.random.Generator) -> None:
    absolute, ulp = errors(function, EXACT[function], draw(rng))
    assert np.max(absolute / ulp) <= ulps


@pytest.mark.parametrize(
    ("function", "draw"),
    [
        (lgamma, uniform(-3, -2)),
        (lgamma, uniform(-25, 0)),
        (lgamma, near_poles(-25)),
        (lgamma, around(-2.4570247382208006)),
        (lgamma, around(-2.7476826467274127)),
        (digamma, uniform(-1, 0)),
        (digamma, uniform(-30, 0)),
        (digamma, around(-0.504083008264455)),
        (digamma, around(-10.702, 1e-3)),
    ],
)
def test_absolute_accuracy_near_zeros_left_of_0(function: Any, draw: Any, rng: np.random.Generator) -> None:
    absolute, ulp = errors(function, EXACT[function], draw(rng))
    assert np.max(np.minimum(absolute / 1e-15, absolute / (8 * ulp))) <= 1


def test_digamma_far_left(rng: np.random.Generator) -> None:
    points = logarithmic(30, 1e10, -1)(rng)
    absolute, ulp = errors(digamma, mp.digamma, points)
    assert np.all(absolute <= np.maximum(6 * ulp, 2 * np.spacing(np.log(-points))))


def exact_polygamma(n: int) -> Callable[[Any], Any]:
    """Return the function by recurrence and Hurwitz's zeta, whose digits are absolute ones."""

    def exact(x: Any) -> Any:
        with mp.workdps(400):
            steps = max(0, int(mp.ceil(-x)) + 1)
            left = mp.fsum((x + k) ** -(n + 1) for k in range(steps))
            return (-1) ** (n + 1) * mp.factorial(n) * (left + mp.zeta(n + 1, x + steps))

    return exact


@pytest.mark.parametrize("n", [1, 2, 3, 6, 25, 100, 150])
@pytest.mark.parametrize(("low", "high"), [(1e-2, 2.0), (2.0, 60.0), (60.0, 1000.0)])
def test_polygamma_relative_accuracy(n: int, low: float, high: float, rng: np.random.Generator) -> None:
    points = logarithmic(low, high)(rng)[:10]
    absolute, _ = errors(lambda x: polygamma(n, x), exact_polygamma(n), points)
    assert np.all(absolute <= 1e-13 * np.abs(polygamma(n, points)))


@pytest.mark.parametrize("n", [1, 2, 3, 20, 60])
def test_polygamma_left_of_0(n: int, rng: np.random.Generator) -> None:
    points = np.concatenate([rng.uniform(-30, 0, 10), 0.1 - np.arange(1.0, 10.0)])
    absolute, _ = errors(lambda x: polygamma(n, x), exact_polygamma(n), points)
    largest_term = math.factorial(n) / np.abs(points - np.rint(points)) ** (n + 1.0)
    assert np.all(absolute <= 1e-13 * largest_term)


@pytest.mark.parametrize("n", [2, 40, 150])
def test_polygamma_halfway_between_poles(n: int) -> None:
    """Test where the terms cancel in pairs and the rest is many orders smaller."""
    points = np.array([-0.5, -1.5, -2.5, -20.5])
    absolute, _ = errors(lambda x: polygamma(n, x), exact_polygamma(n), points)
    assert np.all(absolute <= 1e-13 * np.abs(polygamma(n, points)))


def test_polygamma_of_order_0_is_digamma(rng: np.random.Generator) -> None:
    points = rng.uniform(-5, 5, 100)
    np.testing.assert_array_equal(polygamma(0, points), digamma(points))


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (erf, [0.0, -0.0, inf, -inf, nan, 1e308, 5e-324], [0.0, -0.0, 1.0, -1.0, nan, 1.0, 5e-324]),
        (erfc, [0.0, -0.0, inf, -inf, nan, 1e308, 30.0], [1.0, 1.0, 0.0, 2.0, nan, 0.0, 0.0]),
        (erfinv, [0.0, -0.0, 1.0, -1.0, nan, 1.5, -inf], [0.0, -0.0, inf, -inf, nan, nan, nan]),
        (expit, [0.0, -0.0, inf, -inf, nan, 1e4, -1e4], [0.5, 0.5, 1.0, 0.0, nan, 1.0, 0.0]),
        (lgamma, [0.0, -0.0, -1.0, -30.0, -1e300, inf, -inf, nan], [inf] * 7 + [nan]),
        (lgamma, [1.0, 2.0, 1e308, 5e-324], [0.0, 0.0, inf, 744.4400719213812]),
        (digamma, [0.0, -0.0, inf, nan], [-inf, inf, inf, nan]),
        (digamma, [-1.0, -30.0, -1e300, -inf], [nan] * 4),
    ],
)
def test_special_values(function: Any, x: list[float], expected: list[float]) -> None:
    result = function(np.array(x))
    np.testing.assert_array_equal(result, expected)
    numbers = ~np.isnan(result)
    np.testing.assert_array_equal(np.signbit(result)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("n", range(5))
def test_polygamma_has_the_special_values_of_scipy(n: int) -> None:
    scipy = pytest.importorskip("scipy.special")
    points = np.array([0.0, -0.0, -1.0, -7.0, -1e20, inf, -inf, nan, 1e-310, 1e300])
    np.testing.assert_allclose(polygamma(n, points), scipy.polygamma(n, points), rtol=1e-13)


@by_name
def test_float32_is_rounded_once(function: Any, rng: np.random.Generator) -> None:
    points = rng.uniform(-0.99, 0.99, 300).astype(np.float32)
    if function is not erfinv:
        points *= np.float32(20)
    result = function(points)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, function(points.astype(np.float64)).astype(np.float32))
    absolute, _ = errors(function, EXACT[function], points)
    assert np.all(absolute <= 0.5001 * np.spacing(np.abs(result)).astype(np.float64))


@by_name
@pytest.mark.parametrize(
    ("given_dtype", "expected"),
    [
        (np.float16, np.float16),
        (np.float32, np.float32),
        (">f8", np.float64),
        (np.int8, np.float64),
        (np.int64, np.float64),
        (np.uint16, np.float64),
        (np.bool_, np.float64),
    ],
)
def test_floats_keep_their_dtype(function: Any, given_dtype: Any, expected: Any) -> None:
    for shape in ((3,), (0,), ()):
        result = function(np.ones(shape, given_dtype))
        assert result.dtype == expected
        assert result.shape == shape


@by_name
def test_scalars_give_numpy_scalars(function: Any) -> None:
    for x in (0.5, np.float64(0.5), np.array(0.5), 1, True):
        assert type(function(x)) is np.float64
    assert type(function(np.float32(0.5))) is np.float32
    assert isinstance(function([0.5]), np.ndarray)


arrays = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    elements=st.one_of(st.floats(), st.floats(-40, 40), st.integers(-30, 30).map(float)),
)


@given(arrays, st.integers(-2, 2).filter(bool), st.sampled_from(FUNCTIONS))
def test_layout_and_neighbours_do_not_matter(values: Array, step: int, function: Any) -> None:
    strided = values.T[..., ::step] if values.ndim else values
    before = strided.copy()
    result = function(strided)
    assert result.shape == strided.shape
    one_by_one = np.array([function(x) for x in strided.flat]).reshape(strided.shape)
    np.testing.assert_allclose(result, one_by_one, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(strided, before)


@by_name
def test_long_arrays(function: Any, rng: np.random.Generator) -> None:
    points = rng.uniform(-1, 1, 50_001)
    pieces = [function(piece) for piece in np.array_split(points, 7)]
    np.testing.assert_allclose(function(points), np.concatenate(pieces), rtol=1e-13, atol=1e-14)


@given(st.floats(allow_nan=False), st.sampled_from(FUNCTIONS))
def test_nothing_warns_or_raises(x: float, function: Any) -> None:
    with np.errstate(all="raise"):
        function(np.array([x, 1.0]))
        with np.errstate(over="ignore"):
            narrow = np.float32(x)
        function(narrow)


@given(st.floats(-1e3, 1e3))
def test_symmetries(x: float) -> None:
    assert erf(-x) == -erf(x)
    assert erfc(-x) + erfc(x) == pytest.approx(2, rel=1e-15)
    assert expit(-x) + expit(x) == pytest.approx(1, rel=1e-15)


@given(st.floats(-1, 1, exclude_min=True, exclude_max=True))
def test_erfinv_inverts_erf(y: float) -> None:
    assert erf(erfinv(y)) == pytest.approx(y, rel=4e-16)


@given(st.floats(0.01, 1e6))
def test_recurrences(x: float) -> None:
    after = x + 1
    before = after - 1  # what is exactly one less
    assert lgamma(after) == pytest.approx(lgamma(before) + math.log(before), rel=1e-14, abs=1e-14)
    assert digamma(after) == pytest.approx(digamma(before) + 1 / before, rel=1e-13, abs=1e-13)
    assert polygamma(2, after) == pytest.approx(polygamma(2, before) + 2 / before**3, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", special.__all__)
@pytest.mark.parametrize(
    "x", [1j, "one", None, np.array([1.0, "a"], object)], ids=["complex", "text", "none", "object"]
)
def test_no_number_is_refused(name: str, x: Any) -> None:
    function = getattr(special, name)
    with pytest.raises(DtypeError, match=f"^{name}: real numbers or booleans are required"):
        function(3, x) if name == "polygamma" else function(x)


@pytest.mark.parametrize("n", [-1, 151, 1.5, "2", None])
def test_an_order_that_polygamma_lacks(n: Any) -> None:
    with pytest.raises(ArgumentError, match="polygamma: the order must be an integer from 0 to 150; got"):
        polygamma(n, 1.0)


def test_an_order_may_be_a_numpy_integer() -> None:
    assert polygamma(np.int64(1), 1.0) == polygamma(1, 1.0)


@pytest.mark.parametrize(("name", "bits"), [("ERF", 24), ("ERF", 53), ("COTANGENT", 36), ("LGAMMA_TAIL", 53)])
def test_tables_are_what_the_tool_prints(name: str, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "tools")
    with mp.workdps(50):
        tool = importlib.import_module("elementary_coefficients")
        assert tuple(tool.fit(*tool.polynomials()[name][:4], bits, None)) == table(name, bits)
        assert tuple(tool.split(tool.DIGAMMA_ROOT, 53)) == table("DIGAMMA_ROOT")


def test_the_series_have_the_numbers_of_bernoulli() -> None:
    with mp.workdps(50):
        numbers = [(n, mp.bernoulli(n) / n) for n in range(2, 16, 2)]
        assert tuple(float(number / (n - 1)) for n, number in numbers) == LGAMMA_SERIES
        assert tuple(float(number) for _, number in numbers) == DIGAMMA_SERIES
