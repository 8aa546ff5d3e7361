"""``x[index]`` and ``x[index] = value``: drawn indices against NumPy itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import HypothesisDraw, draw_index, examples, refused
from tests.modes import EAGER, assert_same, in_batch, in_graph
from wengert.engine.core.errors import ConcreteError, IndexingError

Array = np.ndarray[Any, Any]


@examples(300)
@given(data=st.data())
def test_index_takes_what_numpy_takes(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    x = draw.array(draw.shape(0, 4))
    index = draw_index(draw, x.shape)
    if refused(x, index):
        with pytest.raises(IndexError):
            wg.vjp(lambda x: x[index], x)
        return
    assert_takes(x, index)


def assert_takes(x: Array, index: Any) -> None:
    expected = np.array(x[index])
    for run in (*EAGER, in_batch, in_graph):
        assert_same(run(lambda x: x[index], x), expected)
    _, pullback = wg.vjp(lambda x: x[index], x)
    cotangent = np.arange(1.0, expected.size + 1).reshape(expected.shape)
    added = np.zeros(x.shape)
    np.add.at(added, index, cotangent)
    np.testing.assert_array_equal(pullback(cotangent)[0], added)


FEW = np.array([1, 0, 1])


@pytest.mark.parametrize(
    "index",
    [
        np.s_[:, FEW, :, FEW],
        np.s_[:, FEW, FEW],
        np.s_[:, 0, :, FEW],
        np.s_[:, FEW, :, 0],
        np.s_[:, 0, FEW],
        np.s_[:, FEW, None, FEW],
        np.s_[:, FEW, 0, ..., None],
        np.s_[:, FEW, ..., FEW],
        np.s_[:, :, FEW, ..., FEW],
        np.s_[FEW, ..., FEW[:, None]],
        np.s_[..., FEW, None, ::-1],
        np.s_[:, :, np.array([True, False, True, False]), FEW[:2]],
    ],
)
def test_axes_of_arrays_come_first_when_something_stands_between_them(index: Any) -> None:
    assert_takes(np.arange(120.0).reshape(2, 3, 4, 5), index)


@examples(200)
@given(data=st.data())
def test_write_puts_what_numpy_puts(data: st.DataObject) -> None:
    draw = HypothesisDraw(
        data, plain=True
    )  # the last of several writes to one element is the last in memory order
    x = draw.array(draw.shape(0, 4))
    index = draw_index(draw, x.shape)
    if refused(x, index):
        return
    shape = np.shape(x[index])
    value = draw.array(draw.choice([shape, shape[1:], (1, *shape) if shape else (), (1,) * len(shape), ()]))

    def write(x: Any, value: Any) -> Any:
        written = x.copy()
        written[index] = value
        return written

    try:
        expected = write(x, value)
    except (
        TypeError,
        ValueError,
    ):  # NumPy drops axes of one when a mask or an element is written
        return
    for run in (*EAGER, in_batch, in_graph):
        assert_same(run(write, x, value), expected)

    weights = draw.rng.standard_normal(x.shape)
    pulled_x, pulled_value = wg.vjp(write, x, value)[1](weights)
    kept = write(np.ones(x.shape), np.zeros(value.shape))
    np.testing.assert_array_equal(pulled_x, weights * kept)
    # The last of several writes to one element stays; the written numbers identify it.
    numbers = np.arange(1.0, value.size + 1).reshape(value.shape)
    written = write(np.zeros(x.shape), numbers)
    expected_value = [np.sum(weights[written == number]) for number in numbers.flat]
    np.testing.assert_allclose(np.ravel(pulled_value), expected_value, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "arrange", [np.asarray, np.asfortranarray, lambda x: x[::-1, ::-1].copy()[::-1, ::-1]]
)
def test_the_last_write_in_row_major_order_wins_whatever_the_strides(
    arrange: Callable[[Array], Array],
) -> None:
    rows = arrange(np.array([[1, 0], [1, 1], [0, 1]]))
    values = arrange(np.arange(1.0, 7.0).reshape(3, 2))

    def write(values: Any) -> Any:
        written = wg.numpy.zeros(2)
        written[rows] = values
        return written

    for run in (*EAGER, in_batch, in_graph):
        np.testing.assert_array_equal(run(write, values), [5.0, 6.0])
    (pulled,) = wg.vjp(write, values)[1](np.array([10.0, 1.0]))
    np.testing.assert_array_equal(pulled, [[0.0, 0.0], [0.0, 0.0], [10.0, 1.0]])


def test_traced_positions() -> None:
    x, positions = np.arange(12.0).reshape(3, 4), np.array([[2, 0], [1, -1]])

    def rows(positions: Any) -> Any:
        mine = wg.numpy.array(x)
        mine[positions[0], positions] += 10.0
        return wg.numpy.take(x, positions), mine[positions, 1], mine[:, positions[0]], mine

    actual = wg.vmap(rows)(positions)
    for example in range(2):
        assert_same(tuple(part[example] for part in actual), rows(positions[example]))


@pytest.mark.parametrize("columns", [False, True])
def test_sums_of_many_cotangents_at_indices(columns: bool) -> None:
    """Above some hundred elements positions in one axis replace the indices of several axes."""
    rng = np.random.default_rng(5)
    x, weights = rng.standard_normal((40, 50)), rng.standard_normal((60, 50))
    rows: Any = rng.integers(-40, 40, (60, 1) if columns else 60)
    index = (rows, np.arange(50)[None, ::-1] - 50) if columns else rows
    expected = np.zeros_like(x)
    np.add.at(expected, index, weights)
    for y in (x, np.asfortranarray(x)):
        twice = wg.grad(lambda z: np.sum(z[index] * weights) + np.sum(z[index] * weights))
        np.testing.assert_allclose(twice(y), 2 * expected, rtol=1e-12, atol=1e-12)


# -- errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "says"),
    [
        (5, "index 5 is out of bounds for axis 0 with size 3"),
        (-4, "index -4 is out of bounds"),
        ((slice(None), 2), "index 2 is out of bounds for axis 1 with size 2"),
        (np.array([0, 3]), "index 3 is out of bounds for axis 0 with size 3"),
        ((0, 0, 0), "an array of 2 axes takes no more indices; got 3 indices"),
        (1.0, "must be an integer, a slice, an integer array or a mask; got float"),
        ("a", "got str"),
        (np.array([1.0]), "index arrays must hold integers; got float64"),
        ((..., 0, ...), "one ellipsis only"),
        (np.array([True, False]), "a mask must have the shape (3,)"),
        ((0, np.array([True, False, True])), "a mask must have the shape (2,)"),
        ((..., np.ones((3, 3), bool)), "a mask must have the shape (3, 2)"),
    ],
)
def test_wrong_indices(index: Any, says: str) -> None:
    with pytest.raises(IndexingError) as caught:
        wg.grad(lambda x: np.sum(x[index]))(np.ones((3, 2)))
    assert says in str(caught.value)
    assert "test_indexing.py:" in str(caught.value)


@pytest.mark.usefixtures("without_substitutes")
def test_plain_arrays_take_no_traced_positions() -> None:
    with pytest.raises(ConcreteError, match=r"wengert\.numpy\.take\(x, i\)"):
        wg.vmap(lambda i: np.arange(3.0)[i])(np.array([0, 2]))


def test_masks_need_values() -> None:
    with pytest.raises(ConcreteError, match=r"np\.where"):
        wg.vmap(lambda x: x[x > 0])(np.ones((2, 3)))


# -- single truth values ---------------------------------------------------------------------------------

TRUTHS: list[Any] = [
    True,
    False,
    np.True_,
    np.array(False),
    (True, [0, 1]),
    (0, True),
    (slice(None), True, 1),
    (None, True),
]
TRUTHS += [
    (True, ..., 0),
    (True, True),
    (..., False),
    ([True, False, True], True),
    (np.True_, slice(None), None),
]


@pytest.mark.parametrize("index", TRUTHS, ids=str)
def test_single_truth_values(index: Any) -> None:
    x = np.arange(12.0).reshape(3, 4)

    def read(x: Any) -> Any:
        return x[index]

    def written(x: Any) -> Any:
        y = 2 * x
        y[index] = 7.0
        return y

    for function in (read, written):
        expected = function(x)
        for actual in (wg.vjp(function, x)[0], wg.jit(function)(x), wg.vmap(function)(x[None])[0]):
            np.testing.assert_array_equal(actual, expected)
            assert actual.shape == expected.shape
    np.testing.assert_array_equal(
        wg.grad(lambda x: np.sum(written(x)))(x), 2.0 * (written(np.full_like(x, 3.0)) == 6.0)
    )


def test_a_number_under_a_truth_value() -> None:
    assert wg.grad(lambda x: np.sum(x[True] * 3.0))(2.0) == 3.0
    assert wg.grad(lambda x: np.sum(x[False] * 3.0) + x)(2.0) == 1.0
