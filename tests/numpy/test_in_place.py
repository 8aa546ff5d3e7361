from __future__ import annotations

import copy
import itertools
import math
from typing import Any

import numpy as np
import pytest

import wengert.numpy as wnp
from wengert.compiler.jit import jit
from wengert.engine.boxes import CONSTANT
from wengert.engine.core.errors import (
    ConcreteError,
    DtypeError,
    IndexingError,
    LostDerivativeError,
    ShapeError,
    UnsupportedError,
)
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.reverse_mode import grad

RNG = np.random.default_rng(20)
A = RNG.uniform(-2, 2, (3, 4))
V = RNG.uniform(-2, 2, 4)
C = RNG.uniform(-2, 2, (3, 3, 3))


def writing(write: Any) -> Any:
    """Return a function that writes to a copy and returns it."""

    def program(x: Any, *values: Any) -> Any:
        x = x * 1.0
        write(x, *values)
        return x

    return program


def _tall(x: Any) -> Any:
    return np.concatenate([x, x, x, x])[:, :2]


WRITES: dict[str, tuple[Any, ...]] = {
    "copyto": (lambda x, v: np.copyto(x, v), A, V),
    "copyto where": (lambda x, v: np.copyto(x, v, where=A > 0), A, V),
    "put": (lambda x, v: np.put(x, [0, 5, -1], v[:3]), A, V),
    "put repeated": (lambda x, v: np.put(x, [0, 5, 7, 9], v[:2]), A, V),
    "put wrap": (lambda x: np.put(x, [13, -14], [5.0, 6.0], mode="wrap"), A),
    "place": (lambda x, v: np.place(x, A > 0, v[:2]), A, V),
    "place nothing": (lambda x, v: np.place(x, A > 9, v), A, V),
    "putmask": (lambda x, v: np.putmask(x, A > 0, v), A, V),
    "put_along_axis": (lambda x, v: np.put_along_axis(x, np.array([[1, 0, 2, 1]]), v[None], axis=0), A, V),
    "put_along_axis number": (lambda x: np.put_along_axis(x, np.array([[1], [0], [3]]), 7.0, axis=1), A),
    "put_along_axis flat": (lambda x, v: np.put_along_axis(x, np.array([1, 5, 6, 2]), v, axis=None), A, V),
    "fill_diagonal": (lambda x: np.fill_diagonal(x, 2.0), A),
    "fill_diagonal box": (lambda x, v: np.fill_diagonal(x, v[:3]), A, V),
    "fill_diagonal cube": (lambda x, v: np.fill_diagonal(x, v[:3]), C, V),
    "add.at": (lambda x, v: np.add.at(x, ([0, 0, 2, 0], [1, 1, 3, 1]), v), A, V),
    "add.at rows": (lambda x, v: np.add.at(x, [0, 0, 2], v), A, V),
    "subtract.at": (lambda x, v: np.subtract.at(x, (slice(None), [1, 1]), v[:2]), A, V),
    "out of a ufunc": (lambda x, v: np.multiply(x, v, out=x), A, V),
    "in place": (lambda x, v: x.__iadd__(v).__imul__(2.0), A, V),
    "item": (lambda x, v: x.__setitem__((1, slice(None, None, 2)), v[:2]), A, V),
    "fill": (lambda x, v: x[1].fill(v[0]), A, V),
    "sort": (lambda x: x[0].sort(), A),
    "partition": (lambda x: x[0].partition(1), A),
    "put as a method": (lambda x: x.put([0, 5], x[1, :2] * 2.0), A),
    "argpartition": (lambda x: x[1].__setitem__(..., x[0][x[1].argpartition(2)]), A),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_into_a_box_are_numpys(check: Any, name: str) -> None:
    write, *arguments = WRITES[name]
    if name == "fill":
        arguments = [A, V]
        check(writing(lambda x, v: x[1].__setitem__(..., v[0])), *arguments, order=1)
    else:
        check(writing(write), *arguments, order=1)


POSITIONS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "rows": (lambda i: i, (4, 4)),
    "columns": (lambda i: (slice(None), i), (3, 4)),
    "columns of some rows": (lambda i: (slice(0, 2), i), (2, 4)),
    "elements": (lambda i: (i, i[::-1]), (4,)),
    "elements of a grid": (lambda i: (np.array([[0], [2]]), i), (4,)),
    "behind a new axis": (lambda i: (None, i), ()),
    "one": (lambda i: i[1], (4,)),
}


@pytest.mark.parametrize("ufunc", [np.add, np.subtract])
@pytest.mark.parametrize("name", POSITIONS)
def test_positions_may_be_followed(ufunc: Any, name: str) -> None:
    """Additions at traced and repeated positions give NumPy's sums."""
    index, shape = POSITIONS[name]
    v, i = RNG.uniform(-2, 2, shape), np.array([0, 2, 0, -1])

    def written(x: Any, v: Any, i: Any) -> Any:
        x = x * 1.0
        ufunc.at(x, index(i), v)
        return x

    expected = written(A, v, i)
    np.testing.assert_allclose(jit(written)(A, v, i), expected, rtol=1e-14)
    twice = [np.stack([entry, entry]) for entry in (A, v, i)]
    np.testing.assert_allclose(vmap(written)(*twice)[1], expected, rtol=1e-14)
    gradient = grad(lambda x, v, i: np.sum(np.sin(written(x, v, i))), argnums=(0, 1))
    slope = np.zeros(shape) + np.cos(expected)[index(i)] * (1 if ufunc is np.add else -1)
    while slope.ndim > len(shape):  # the value was broadcast
        slope = slope.sum(axis=0)
    for run in (gradient, jit(gradient)):
        along_x, along_v = run(A, v, i)
        np.testing.assert_allclose(along_x, np.cos(expected), rtol=1e-12)
        np.testing.assert_allclose(along_v, slope, rtol=1e-12)


def test_adding_at_a_mask_that_is_followed() -> None:
    @jit
    def written(x: Any) -> Any:
        y = x * 1.0
        np.add.at(y, x > 0, 2.0)
        return y

    np.testing.assert_array_equal(written(A), np.where(A > 0, A + 2, A))


def test_positions_that_are_followed_need_what_numpy_needs() -> None:
    @jit
    def written(x: Any, i: Any) -> Any:
        y = x.copy()
        np.add.at(y[1], i, 1.5)  # through a view
        return y

    with pytest.raises(
        IndexingError, match=r"index 7 is out of bounds for axis 0 with size 4\. \[test_in_place"
    ):
        written(A, np.array([0, 7]))
    with pytest.raises(DtypeError, match="the result must fit int64"):
        written(A.astype(int), np.array([0, 1]))


@pytest.mark.parametrize("values", [7.0, [7.0, 8.0], [[7.0, 8.0]]], ids=str)
@pytest.mark.parametrize("indices", [[1, 4], [-1, 0], [[1, 4]], [7, 0]], ids=str)
@pytest.mark.parametrize("axis", [None, 1])
def test_what_is_put_along_an_axis_is_what_numpy_puts(
    agrees: Any, axis: Any, indices: Any, values: Any
) -> None:
    matrix, indices = np.arange(6.0).reshape(2, 3), np.array(indices)
    agrees(writing(lambda x: np.put_along_axis(x, indices, np.array(values), axis)), matrix)
    agrees(writing(lambda x, v: np.put_along_axis(x, indices, v, axis)), matrix, values)


@pytest.mark.parametrize("axis", [None, 0])
def test_what_boxes_of_integers_put_into_a_plain_array(axis: Any) -> None:
    indices = np.array([1, 4, -2]) if axis is None else np.array([[1, 0, -1]])
    actual, expected = np.zeros((2, 3)), np.zeros((2, 3))
    np.put_along_axis(actual, CONSTANT.constant(indices), CONSTANT.constant(np.array([7, 8, 9])), axis)
    np.put_along_axis(expected, indices, np.array([7, 8, 9]), axis)
    np.testing.assert_array_equal(actual, expected)


def test_fill_diagonal_of_a_tall_matrix(check: Any) -> None:
    for wrap in (False, True):
        check(writing(lambda x, wrap=wrap: np.fill_diagonal(x, 3.0, wrap=wrap)), _tall(A), order=1)


LOST = {
    "setitem": lambda box: np.zeros(3).__setitem__(0, box[0]),
    "setitem slice": lambda box: np.zeros((3, 4)).__setitem__(slice(None), box),
    "copyto": lambda box: np.copyto(np.zeros((3, 4)), box),
    "put": lambda box: np.put(np.zeros(4), [0], box[0]),
    "place": lambda box: np.place(np.zeros(4), np.ones(4, bool), box[0]),
    "putmask": lambda box: np.putmask(np.zeros(4), np.ones(4, bool), box[0]),
    "put_along_axis": lambda box: np.put_along_axis(np.zeros(4), np.array([0]), box[0, :1], 0),
    "fill_diagonal": lambda box: np.fill_diagonal(np.zeros((3, 3)), box[0, :3]),
    "add.at": lambda box: np.add.at(np.zeros(4), [0], box[0, 0]),
    "in-place operator": lambda box: np.zeros((3, 4)).__iadd__(box),
    "out": lambda box: np.add(box, 1.0, out=np.zeros((3, 4))),
    "out of a reduction": lambda box: np.sum(box, out=np.zeros(())),
    "out of a product": lambda box: np.dot(box, box.T, out=np.zeros((3, 3))),
    "float": lambda box: float(box[0, 0]),
    "complex": lambda box: complex(box[0, 0]),
    "math.sin": lambda box: math.sin(box[0, 0]),
    "asarray": lambda box: np.asarray(box),
    "ascontiguousarray": lambda box: np.ascontiguousarray(box),
    "array": lambda box: np.array(box),
    "array of a list": lambda box: np.array([box[0, 0], 1.0]),
    "mean of a list": lambda box: np.mean([box[0, 0], 1.0]),
    "sin of a list": lambda box: np.sin([box[0, 0], 1.0]),
    "item": lambda box: box.item(),
    "tolist": lambda box: box.tolist(),
    "index": lambda box: [1, 2, 3][box[0, 0]],
    "vectorize": lambda box: np.vectorize(lambda x: x + 1)(box),
}


@pytest.mark.parametrize("name", LOST)
@pytest.mark.usefixtures("without_substitutes")
def test_nothing_loses_a_derivative_silently(name: str) -> None:
    def f(x: Any) -> Any:
        LOST[name](x)
        return np.sum(x)

    for transform in (grad(f), lambda x: vmap(f)(x[None])):
        with pytest.raises(LostDerivativeError) as caught:
            transform(A)
        assert isinstance(caught.value, TypeError)
        assert "; " in str(caught.value), "the message says what to write"
        assert "test_in_place.py" in str(caught.value)


UNSUPPORTED = {
    "frompyfunc": np.frompyfunc(abs, 1, 1),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_has_no_derivative_here_says_so(name: str) -> None:
    with pytest.raises(UnsupportedError, match=r"; .*\[test_in_place.py"):
        UNSUPPORTED[name](CONSTANT.constant(A.copy()))


def test_a_copy_is_a_copy() -> None:
    def f(x: Any) -> Any:
        for entry in (x.copy(), copy.copy(x), copy.deepcopy(x), wnp.array(x), np.copy(x), x.flatten()):
            entry[...] = 0.0
        return np.sum(x)

    np.testing.assert_array_equal(grad(f)(V), np.ones(4))


def test_writes_need_what_numpy_needs() -> None:
    box = CONSTANT.constant(V.copy())
    with pytest.raises(ShapeError, match="fill_diagonal"):
        np.fill_diagonal(box, 1.0)
    with pytest.raises(ConcreteError, match=r"np\.place"):
        vmap(lambda x: np.place(x, x > 0, [1.0, 2.0]))(A)


LARGEST = {"uint8": 200, "int32": 2**31 - 1, "bool": True, "float32": 2**24 - 1}


@pytest.mark.parametrize("ufunc", [np.add, np.subtract])
@pytest.mark.parametrize(
    ("narrow", "wide"), [("uint8", "int64"), ("int32", "int64"), ("bool", "int64"), ("float32", "float64")]
)
def test_narrow_values_add_up_to_more_than_they_can_hold(ufunc: Any, narrow: str, wide: str) -> None:
    def written(x: Any, v: Any) -> Any:
        x = x.copy()
        ufunc.at(x, np.array([0, 0, 0]), v)
        return x

    values = np.full(3, LARGEST[narrow], narrow)
    for given in (values, values[0]):
        expected = written(np.zeros(2, wide), given)
        actual = jit(written)(np.zeros(2, wide), given)
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual, expected)


def copied(write: Any) -> Any:
    """Return a function that writes to a copy of the same dtype and returns it."""

    def program(x: Any, *values: Any) -> Any:
        x = x.copy()
        write(x, *values)
        return x

    return program


FLAT = [0, -1, 7, [0, 2], slice(1, 4), ..., (slice(0, 2),), (np.array([1, 2]),), np.array([[0, 1], [2, 3]])]


@pytest.mark.parametrize("index", [*FLAT, np.array(2), range(1, 4), range(3, 0, -2), []], ids=str)
@pytest.mark.parametrize("value", [7.0, [7.0, 8.0], np.arange(1.0, 8.0), [[7.0, 8.0]], []], ids=str)
def test_values_are_repeated_where_they_are_written_one_after_another(
    agrees: Any, index: Any, value: Any
) -> None:
    matrix = np.arange(6.0).reshape(2, 3)
    agrees(copied(lambda x: x.flat.__setitem__(index, value)), matrix)
    agrees(copied(lambda x, v: x.flat.__setitem__(index, v)), matrix, value)
    if isinstance(index, np.ndarray):
        agrees(copied(lambda x, i: x.flat.__setitem__(i, value)), matrix, index)


# NumPy subtracts from uint64 through float64, which is not exact.
INTO = [(np.add, "uint64"), *itertools.product((np.add, np.subtract), ("uint8", "int8", "int64", "float32"))]
ADDED = [1, 300, -1, True, np.int64(3), [1, 300], np.int8([1, -2]), np.uint8([200, 100]), [True, True]]


@pytest.mark.parametrize("value", ADDED, ids=str)
@pytest.mark.parametrize(("ufunc", "dtype"), INTO)
def test_integers_added_where_an_index_points_wrap_around(
    agrees: Any, ufunc: Any, dtype: str, value: Any
) -> None:
    start, value = np.ones(3, dtype), value if np.ndim(value) == 0 else np.array(value)
    agrees(copied(lambda x: ufunc.at(x, [0, 0], value)), start)
    agrees(copied(lambda x: ufunc.at(x, slice(0, 2), value)), start)
    if np.ndim(value):
        agrees(copied(lambda x, v: ufunc.at(x, np.array([0, 0]), v)), start, value)
