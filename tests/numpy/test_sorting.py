from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from wengert.engine.boxes import CONSTANT, concrete
from wengert.engine.core.errors import ConcreteError, WengertError
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.reverse_mode import grad

RNG = np.random.default_rng(15)
A = RNG.uniform(-2, 2, (3, 4))
C = RNG.uniform(-2, 2, (2, 3, 5))
V = RNG.uniform(-2, 2, 7)
KNOTS = np.array([-1.5, -0.4, 0.3, 1.1, 1.9])
HEIGHTS = RNG.uniform(-2, 2, 5)

CASES: dict[str, tuple[Any, ...]] = {
    "sort": (np.sort, A),
    "sort axis": (lambda x: np.sort(x, axis=0), A),
    "sort flat": (lambda x: np.sort(x, axis=None, kind="stable"), A),
    "sort method": (lambda x: _sorted_in_place(x * 1.0), A),
    "partition": (lambda x: np.sort(np.partition(x, 2)[:3]), V),
    "argpartition": (lambda x: x[np.argpartition(x, 3)[3]], V),
    "argsort": (lambda x: np.take_along_axis(x, np.argsort(x, 0), 0), A),
    "median": (np.median, V),
    "median even": (lambda x: np.median(x, axis=1), A),
    "median axes": (lambda x: np.median(x, axis=(0, 2), keepdims=True), C),
    "quantile": (lambda x: np.quantile(x, 0.3), A),
    "quantile several": (lambda x: np.quantile(x, [0.1, 0.5, 1.0], axis=1), A),
    "quantile keepdims": (lambda x: np.quantile(x, [0.2, 0.7], axis=(0, 2), keepdims=True), C),
    "quantile of q": (lambda x, q: np.quantile(x, q, axis=0), A, np.array([0.2, 0.7])),
    "quantile lower": (lambda x: np.quantile(x, 0.3, axis=1, method="lower"), A),
    "quantile higher": (lambda x: np.quantile(x, 0.3, method="higher"), A),
    "quantile nearest": (lambda x: np.quantile(x, 0.3, method="nearest"), A),
    "quantile midpoint": (lambda x: np.quantile(x, 0.3, method="midpoint"), A),
    "percentile": (lambda x: np.percentile(x, [10, 90], axis=0), A),
    "nanmedian": (lambda x: np.nanmedian(np.where(x > 1, np.nan, x)), A),
    "nanmedian axis": (lambda x: np.nanmedian(np.where(x > 0.5, np.nan, x), axis=1), C),
    "nanmedian axes": (lambda x: np.nanmedian(x, axis=(0, 2), keepdims=True), C),
    "nanquantile": (lambda x: np.nanquantile(np.where(x > 1, np.nan, x), 0.3), A),
    "nanquantile several": (
        lambda x: np.nanquantile(np.where(x > 1, np.nan, x), [0.1, 0.5, 1.0], axis=1),
        A,
    ),
    "nanquantile keepdims": (
        lambda x: np.nanquantile(np.where(x > 1, np.nan, x), [0.2, 0.7], axis=(0, 2), keepdims=True),
        C,
    ),
    "nanquantile of q": (lambda x, q: np.nanquantile(x, q, axis=0), A, np.array([0.2, 0.7])),
    **{
        f"nanquantile {method}": (
            lambda x, method=method: np.nanquantile(np.where(x > 1, np.nan, x), 0.3, axis=0, method=method),
            C,
        )
        for method in ("lower", "higher", "nearest", "midpoint")
    },
    "nanpercentile": (lambda x: np.nanpercentile(np.where(x > 1, np.nan, x), [10, 90], axis=0), A),
    "lexsort": (lambda x: x[0, np.lexsort((x[1], np.round(x[0])))], A),
    "lexsort array": (lambda x: np.take_along_axis(x[0], np.lexsort(np.round(x), 0), 0), C),
    "interp": (lambda x: np.interp(x, KNOTS, HEIGHTS), A),
    "interp knots and heights": (np.interp, A, KNOTS, HEIGHTS),
    "interp ends": (lambda x: np.interp(x, KNOTS, HEIGHTS, left=7.0, right=-7.0), A * 1.5),
    "interp outside": (lambda x, y: np.interp(x, KNOTS, y), A * 1.5, HEIGHTS),
    "interp period": (lambda x, y: np.interp(x, KNOTS, y, period=4.1), A * 4, HEIGHTS),
    "interp one knot": (lambda x, y: np.interp(x, np.array([0.1]), y), A, np.array([2.0])),
    "interp number": (lambda y: np.interp(0.5, KNOTS, y), HEIGHTS),
}


def _sorted_in_place(x: Any) -> Any:
    x.sort(axis=0)
    return x


@pytest.mark.parametrize("name", CASES)
def test_order(check: Any, name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments)


INTEGERS = {
    "argsort": lambda x: np.argsort(x, kind="stable"),
    "argsort flat": lambda x: np.argsort(x, axis=None, kind="stable"),
    "searchsorted": lambda x: np.searchsorted(KNOTS, x),
    "searchsorted right": lambda x: np.searchsorted(KNOTS, x, side="right"),
    "searchsorted in a box": lambda x: np.searchsorted(np.sort(x.ravel()), 0.3),
    "digitize": lambda x: np.digitize(x, KNOTS),
    "digitize right": lambda x: np.digitize(x, KNOTS, right=True),
    "digitize falling": lambda x: np.digitize(x, KNOTS[::-1]),
    "digitize falling right": lambda x: np.digitize(x, KNOTS[::-1], right=True),
    "isin": lambda x: np.isin(x, [KNOTS[0], A[0, 0]]),
    "isin invert": lambda x: np.isin(x, A[:, 1], invert=True),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_positions(values: Any, name: str) -> None:
    values(INTEGERS[name], np.concatenate([A.ravel(), KNOTS]))


def test_searchsorted_is_batched() -> None:
    rows = np.sort(C.reshape(6, 5), axis=1)
    actual = vmap(lambda row: np.searchsorted(row, 0.3))(rows)
    np.testing.assert_array_equal(actual, [np.searchsorted(row, 0.3) for row in rows])


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8))
def test_sort_and_unique_agree_with_numpy(numbers: list[int]) -> None:
    array = np.array(numbers, dtype=float)
    box = CONSTANT.constant(array)
    np.testing.assert_array_equal(concrete(np.sort(box)), np.sort(array))
    actual = np.unique(box, return_index=True, return_inverse=True, return_counts=True)
    for item, other in zip(actual, np.unique(array, True, True, True), strict=True):
        np.testing.assert_array_equal(concrete(item), other)


def test_unique_of_rows_and_its_derivative() -> None:
    rows = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0]])
    np.testing.assert_array_equal(
        concrete(np.unique(CONSTANT.constant(rows), axis=0)), np.unique(rows, axis=0)
    )
    np.testing.assert_array_equal(
        grad(lambda x: np.sum(np.unique(x) ** 2))(np.array([3.0, 1.0, 3.0])), [6.0, 2.0, 0.0]
    )
    with pytest.raises(ConcreteError, match="unique"):
        vmap(np.unique)(rows)


def test_lexsort() -> None:
    first, last = np.array([1.0, 0.0, 1.0]), np.array([2.0, 2.0, 1.0])
    actual = np.lexsort((CONSTANT.constant(first), CONSTANT.constant(last)))
    np.testing.assert_array_equal(actual, np.lexsort((first, last)))


@pytest.mark.parametrize("function", [np.median, lambda x: np.quantile(x, 0.4)])
def test_nan_spreads(values: Any, function: Any) -> None:
    values(function, np.array([1.0, np.nan, 2.0]))


def test_interp_takes_the_segment_to_the_right_of_a_knot() -> None:
    def value(x: Any) -> Any:
        return np.interp(x, [0.0, 1.0, 2.0], [0.0, 1.0, 5.0])

    assert [grad(value)(x) for x in (-0.5, 0.0, 0.5, 1.0, 2.0, 2.5)] == [0.0, 1.0, 1.0, 4.0, 4.0, 0.0]


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=5), st.floats(-4, 4))
def test_interp_agrees_with_numpy_at_jumps(knots: list[int], x: float) -> None:
    xp = np.sort(np.array(knots, dtype=float))
    fp = np.arange(len(knots), dtype=float)
    if len(set(knots)) == len(knots) or x not in knots:
        actual = np.interp(CONSTANT.constant(np.array(x)), xp, fp)
        np.testing.assert_allclose(concrete(actual), np.interp(x, xp, fp), rtol=1e-12, atol=1e-12)


ENDLESS = [-np.inf, -1.0, 0.0, 1.0, np.inf]


@examples(25)
@given(
    st.lists(st.sampled_from(ENDLESS), min_size=1, max_size=4),
    st.lists(st.sampled_from([*ENDLESS, np.nan]), min_size=4, max_size=4),
    st.sampled_from([{}, {"left": -7.0, "right": 8.0}]),
)
def test_interp_agrees_with_numpy_at_infinities(
    agrees: Any, knots: list[float], heights: list[float], ends: Any
) -> None:
    x = np.array([*ENDLESS, -0.5, 0.5, 1.5, np.nan])
    agrees(lambda x, xp, fp: np.interp(x, xp, fp, **ends), x, np.sort(knots), heights[: len(knots)])


def test_an_infinite_height_is_felt_beside_it_only() -> None:
    fp = np.array([1.0, np.inf, 2.0, 5.0, 4.0])
    slopes = grad(lambda x: np.sum(np.interp(x, np.arange(5.0), fp)))(np.array([2.5, 3.0, 4.0]))
    np.testing.assert_array_equal(slopes, [3.0, -1.0, -1.0])
    weights = grad(lambda fp: np.interp(2.25, np.arange(5.0), fp))(fp)
    np.testing.assert_array_equal(weights, [0.0, 0.0, 0.75, 0.25, 0.0])


@pytest.mark.parametrize("period", [0, 0.0, -2.0, 3.0])
def test_interp_needs_a_period_that_is_not_zero(agrees: Any, period: float) -> None:
    agrees(lambda x: np.interp(x, [0.0, 1.0, 1.5], [1.0, 3.0, 2.0], period=period), V)


def test_dtypes(values: Any) -> None:
    for dtype in ("bool", "int32", "float32"):
        array = np.array([[2, 0, 1], [1, 1, 0]]).astype(dtype)
        values(lambda x: (np.sort(x), np.argsort(x, kind="stable"), np.sort(x, axis=None)), array)
    values(
        lambda x: (np.median(x), np.quantile(x, 0.25), np.percentile(x, 30)),
        np.array([1, 4, 2], np.float32),
        rtol=1e-6,
    )
    values(lambda x: (np.median(x), np.quantile(x, 0.25)), np.array([1, 4, 2]))


def test_errors_name_the_operation() -> None:
    box = CONSTANT.constant(V)
    for call, text in [
        (lambda: np.sort(box, order="name"), "sort: order= is for structured arrays"),
        (lambda: np.quantile(box, 1.5), r"quantile: probabilities must lie in \[0, 1\]"),
        (lambda: np.quantile(box, 0.5, method="best"), "quantile: method must be one of linear"),
        (lambda: np.quantile(box, 0.5, weights=np.abs(V)), 'quantile: weights need method="inverted_cdf"'),
        (lambda: np.quantile(CONSTANT.constant(np.zeros(0)), 0.5), "quantile: the axes must not be empty"),
        (lambda: np.interp(box, [0.0, 1.0], [1.0]), "interp: xp and fp must be sequences of one length"),
    ]:
        with pytest.raises(WengertError, match=text):
            call()


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("table", [[0.0, 1.0], [0.0, 0.0, np.nan], [-np.inf, np.inf], []])
@pytest.mark.parametrize("transform", [wg.jit, wg.vmap])
def test_nan_comes_last_in_a_table(transform: Any, table: list[float], side: Any) -> None:
    sorted_, v = np.array(table), np.array([-1.0, 0.0, 0.5, np.inf, -np.inf, np.nan])
    actual = transform(lambda v: np.searchsorted(sorted_, v, side))(v)
    np.testing.assert_array_equal(actual, np.searchsorted(sorted_, v, side))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("bins", [[2.0, 1.0, 0.0, -1.0], [-1.0, 0.0, 1.0, 2.0], [1.0]])
def test_bins_that_only_a_call_knows_may_fall(bins: Any, right: bool) -> None:
    x, edges = np.array([0.5, 1.5, -0.5, 2.5, 0.0, 1.0, 2.0]), np.array(bins)
    actual = wg.jit(lambda x, bins: np.digitize(x, bins, right))(x, edges)
    np.testing.assert_array_equal(actual, np.digitize(x, edges, right))


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": -1}, {"keepdims": True}], ids=str)
@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [np.median, np.nanmedian, lambda x, **at: np.nanquantile(x, 0.3, **at)])
def test_the_middle_of_nothing_is_no_number(
    agrees: Any, function: Any, dtype: str, shape: Any, options: Any
) -> None:
    agrees(lambda x: function(x, **options), np.zeros(shape, dtype))


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("keys", [[3.0, 1.0, 2.0], [[3.0, 1.0, 2.0], [1.0, 1.0, 0.0]], 1.0], ids=str)
def test_keys_of_one_sequence(agrees: Any, keys: Any, axis: int) -> None:
    if np.ndim(keys):
        agrees(lambda x: np.lexsort(x, axis), keys)
    agrees(lambda x: np.lexsort((x, x), axis), keys)
    agrees(lambda x: np.lexsort((x, x[None])), keys)


@pytest.mark.parametrize("side", ["left", "right", "l", "LEFT", "middle"])
def test_searchsorted_knows_two_sides(agrees: Any, side: Any) -> None:
    agrees(lambda table, v: np.searchsorted(table, v, side), KNOTS, A)


@pytest.mark.parametrize("sorter", [[0], [4, 3, 2, 1, 0]], ids=str)
def test_searchsorted_needs_a_place_for_each_element(agrees: Any, sorter: Any) -> None:
    agrees(lambda table, v: np.searchsorted(table, v, sorter=np.array(sorter)), KNOTS[::-1], V)
    agrees(lambda table, v: np.searchsorted(table[None], v), KNOTS, V)


@pytest.mark.parametrize("kth", [0, -7, 6, 7, -8, [1, 9], (2, -1)], ids=str)
@pytest.mark.parametrize("function", [np.partition, np.argpartition])
def test_the_k_th_element_is_one_that_there_is(agrees: Any, function: Any, kth: Any) -> None:
    agrees(lambda x: np.sort(function(x, kth)), V)  # the order of the others is not specified


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)], ids=str)
@pytest.mark.parametrize("function", [np.partition, np.argpartition])
def test_any_element_of_nothing_is_in_its_place(agrees: Any, function: Any, shape: Any) -> None:
    for kth in (0, 5, [1, -4]):
        agrees(lambda x, kth=kth: function(x, kth), np.zeros(shape))


@pytest.mark.parametrize(
    "bins", [[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], ids=str
)
def test_bins_rise_or_fall(agrees: Any, bins: Any) -> None:
    agrees(lambda x: np.digitize(x, bins), V)


@pytest.mark.parametrize("dtypes", ["dd", "ff", "fd", "qq", "qd", "Qq", "bh"], ids=str)
@pytest.mark.parametrize("count", [63, 64, 65, 66, 127, 128, 129, 1000])
@pytest.mark.parametrize("side", ["left", "right"])
def test_places_in_tables_of_any_length(count: int, dtypes: str, side: Any) -> None:
    rng = np.random.default_rng(count)
    of_table, of_values = map(np.dtype, dtypes)
    spread = rng.choice([2, 30, 10**6])
    drawn = spread * np.abs(rng.normal(size=count + 25))  # small spreads have many ties
    table = np.sort(drawn[:count].astype(of_table))
    values = np.concatenate([table[:5].astype(of_values), drawn[count:].astype(of_values)])
    if of_table.kind == "f":
        table[-2:] = np.inf, np.nan
        table[0] = -np.inf
    if of_values.kind == "f":
        values[-3:] = np.nan, np.inf, -np.inf
    values = values.reshape(5, 6)
    tables, shuffled = np.stack([table, np.maximum(table, values[0, 0])]), rng.permutation(table)

    def places(table: Any, values: Any) -> Any:
        return np.searchsorted(table, values, side)

    @wg.jit
    def compiled(table: Any, tables: Any, shuffled: Any, values: Any) -> Any:
        of_tables = wg.vmap(places, (0, None))(tables, values)
        return places(table, values), of_tables, np.isin(values, shuffled)

    expected = places(table, values)
    found, of_tables, are_in = compiled(table, tables, shuffled, values)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(wg.vmap(lambda v: places(table, v))(values), expected)
    np.testing.assert_array_equal(of_tables, [places(row, values) for row in tables])
    np.testing.assert_array_equal(are_in, np.isin(values, shuffled))


@pytest.mark.parametrize("falls", [False, True])
def test_long_tables_are_interpolated_and_counted(agrees: Any, falls: bool) -> None:
    rng = np.random.default_rng(3)
    knots, heights, x = np.sort(rng.normal(size=200)), rng.normal(size=200), 2 * rng.normal(size=(20, 30))
    edges = knots[::-1].copy() if falls else knots
    agrees(np.digitize, x, edges)
    agrees(lambda x, heights: np.interp(x, knots, heights), x, heights)
    agrees(lambda x, knots, heights: np.interp(x, knots, heights), x, knots, heights)
    agrees(lambda x: np.histogram(x, knots)[0], x)
