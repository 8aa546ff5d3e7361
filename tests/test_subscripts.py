"""``x[index]`` and ``x[index] = value``: drawn indices and drawn programs against NumPy itself."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert as wg
from tests.draws import HypothesisDraw
from tests.modes import EAGER, assert_gradient, assert_same, in_batch, in_graph, on_tape
from wengert.errors import ConcreteError, DtypeError, IndexingError, ShapeError

Array = np.ndarray[Any, Any]


# -- indices ---------------------------------------------------------------------------------------------


def draw_slice(draw: HypothesisDraw, extent: int) -> slice:
    ends = [None, *range(-extent - 1, extent + 2)]
    return slice(draw.choice(ends), draw.choice(ends), draw.choice([None, 1, 2, -1, -2, 3]))


def draw_positions(draw: HypothesisDraw, extent: int) -> Any:
    shape = draw.choice([(), (2,), (1,), (3, 1), (2, 3), (0,)]) if extent else (0,)
    positions = draw.integers(shape, -extent, max(extent - 1, 0))
    kind = draw.choice(["array", "array", "list", "small", "scalar"])
    if kind == "list":
        return positions.tolist()
    if kind == "small":
        return positions.astype(np.int8)
    return np.int64(positions.flat[0]) if kind == "scalar" and positions.size else positions


def draw_mask(draw: HypothesisDraw, shape: tuple[int, ...]) -> Any:
    mask = draw.integers(shape, 0, 1) > 0
    return mask.tolist() if mask.ndim == 1 and mask.size and draw.choice([False, True]) else mask


def draw_entry(draw: HypothesisDraw, shape: tuple[int, ...], arrays: bool) -> tuple[Any, int]:
    """Draw an index for the leading axis (or axes) of what is left, and the number of axes that it takes."""
    kind = draw.choice(["slice", "int", *(["positions", "mask"] if arrays else [])])
    if kind == "int" and shape[0]:
        return draw.integer(-shape[0], shape[0] - 1), 1
    if kind == "positions":
        return draw_positions(draw, shape[0]), 1
    if kind == "mask":
        axes = draw.integer(1, len(shape))
        return draw_mask(draw, shape[:axes]), axes
    return draw_slice(draw, shape[0]), 1


def draw_index(draw: HypothesisDraw, shape: tuple[int, ...], arrays: bool = True) -> Any:
    """Draw an index that NumPy takes, but for masks and positions which may not broadcast together."""
    entries: list[Any] = []
    axis = 0
    while axis < len(shape) and draw.integer(0, 3):
        if draw.integer(0, 6) == 6:
            entries.append(None)
        entry, taken = draw_entry(draw, shape[axis:], arrays)
        entries.append(entry)
        axis += taken
    if draw.integer(0, 2) == 2:
        entries.insert(len(entries) if axis < len(shape) else draw.integer(0, len(entries)), Ellipsis)
    if draw.integer(0, 4) == 4:
        entries.append(None)
    return entries[0] if len(entries) == 1 and draw.choice([True, False]) else tuple(entries)


def refused(x: Array, index: Any) -> bool:
    try:
        x[index]
    except IndexError:
        return True
    return False


@settings(max_examples=300)
@given(data=st.data())
def test_index_takes_what_numpy_takes(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    x = draw.array(draw.shape())
    index = draw_index(draw, x.shape)
    if refused(x, index):
        with pytest.raises(IndexError):
            wg.vjp(lambda x: x[index], x)
        return
    expected = np.array(x[index])
    for run in (*EAGER, in_batch, in_graph):
        assert_same(run(lambda x: x[index], x), expected)

    _, pullback = wg.vjp(lambda x: x[index], x)
    cotangent = draw.rng.standard_normal(expected.shape)
    added = np.zeros(x.shape)
    np.add.at(added, index, cotangent)
    np.testing.assert_allclose(pullback(cotangent)[0], added, rtol=1e-14)


@settings(max_examples=200)
@given(data=st.data())
def test_write_puts_what_numpy_puts(data: st.DataObject) -> None:
    draw = HypothesisDraw(
        data, plain=True
    )  # of several writes to one element the last is that in memory order
    x = draw.array(draw.shape())
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
    ):  # NumPy lets values broadcast to less where a mask or an element is written
        return
    for run in (*EAGER, in_batch, in_graph):
        assert_same(run(write, x, value), expected)

    weights = draw.rng.standard_normal(x.shape)
    pulled_x, pulled_value = wg.vjp(write, x, value)[1](weights)
    kept = write(np.ones(x.shape), np.zeros(value.shape))
    np.testing.assert_array_equal(pulled_x, weights * kept)
    # Of several writes to one element the last stays: the numbers written say which that was.
    numbers = np.arange(1.0, value.size + 1).reshape(value.shape)
    written = write(np.zeros(x.shape), numbers)
    expected_value = [np.sum(weights[written == number]) for number in numbers.flat]
    np.testing.assert_allclose(np.ravel(pulled_value), expected_value, rtol=1e-12, atol=1e-14)


def test_traced_positions() -> None:
    x, positions = np.arange(12.0).reshape(3, 4), np.array([[2, 0], [1, -1]])

    def rows(positions: Any) -> Any:
        mine = wg.numpy.array(x)
        mine[positions[0], positions] += 10.0
        return mine[positions, 1], mine[:, positions[0]], mine

    found = wg.vmap(rows)(positions)
    for example in range(2):
        assert_same(tuple(part[example] for part in found), rows(positions[example]))


# -- programs that write ---------------------------------------------------------------------------------

#: A statement of a program: it reads and writes variables, by their number.
Statement = Callable[[list[Any]], None]
IN_PLACE = (operator.iadd, operator.isub, operator.imul, operator.itruediv)


class Program:
    """A drawn program: each statement is drawn for the shapes that the variables have by then."""

    def __init__(self, draw: HypothesisDraw, x: Array, count: int) -> None:
        self.draw = draw
        self.statements: list[Statement] = []
        shadow: list[Any] = [x.copy()]
        for _ in range(count):
            statement = self.statement(shadow)
            statement(shadow)
            self.statements.append(statement)
        self.weights = [draw.rng.standard_normal(np.shape(variable)) for variable in shadow]

    def __call__(self, x: Any) -> Any:
        variables = [x.copy()]
        for statement in self.statements:
            statement(variables)
        return sum((np.sum(w * variable) for w, variable in zip(self.weights, variables, strict=True)), 0.0)

    def statement(self, shadow: list[Any]) -> Statement:
        kinds = [self.bind, self.bind, self.write, self.write, self.add, self.whole, self.make, self.grow]
        return self.draw.choice(kinds)(shadow, self.draw.integer(0, len(shadow) - 1))

    def bind(self, shadow: list[Any], number: int) -> Statement:
        """``u = v[...]``, ``u = v``, ``u = v.T``: views and aliases."""
        kind = self.draw.choice(["index", "index", "alias", "transpose", "swap", "rows"])
        index = draw_index(self.draw, shadow[number].shape, arrays=False)
        if kind == "index" and np.ndim(shadow[number][index]):
            return lambda v: v.append(v[number][index])
        if kind == "transpose":
            return lambda v: v.append(v[number].T)
        if kind == "swap" and shadow[number].ndim > 1:
            return lambda v: v.append(np.swapaxes(v[number], 0, -1))
        if kind == "rows" and shadow[number].ndim > 1 and len(shadow[number]):
            return lambda v: v.append(list(v[number])[-1])
        return lambda v: v.append(v[number])

    def value(self, shadow: list[Any], shape: tuple[int, ...]) -> Callable[[list[Any]], Any]:
        """Draw something to write: a number, an element, or a variable of a fitting shape."""
        fitting = [i for i, other in enumerate(shadow) if fits(other.shape, shape)]
        number = self.draw.choice(fitting) if fitting else None
        constant = self.draw.choice([-1.5, 0.5, 2.0, 3])
        kind = self.draw.choice(["variable", "product", "constant", "plain"])
        if kind == "plain":
            plain = self.draw.rng.uniform(0.5, 2.0, shape)
            return lambda v: plain
        if number is None or kind == "constant":
            return lambda v: constant
        if kind == "product":
            return lambda v: v[number] * v[number] * 0.25 + constant
        return lambda v: v[number]

    def write(self, shadow: list[Any], number: int) -> Statement:
        """``v[i] = value``."""
        index = draw_index(self.draw, shadow[number].shape)
        if refused(shadow[number], index):
            index = ...
        value = self.value(shadow, np.shape(shadow[number][index]))

        def run(v: list[Any]) -> None:
            v[number][index] = value(v)

        return run

    def add(self, shadow: list[Any], number: int) -> Statement:
        """``v[i] += value``."""
        index = draw_index(self.draw, shadow[number].shape)
        if refused(shadow[number], index):
            index = ...
        value = self.value(shadow, np.shape(shadow[number][index]))
        combine = self.draw.choice([operator.iadd, operator.isub])

        def run(v: list[Any]) -> None:
            v[number][index] = combine(v[number][index], value(v))

        return run

    def whole(self, shadow: list[Any], number: int) -> Statement:
        """``v += value``."""
        combine = self.draw.choice(IN_PLACE)
        value = self.value(shadow, shadow[number].shape)
        if combine is operator.itruediv:
            value = lambda v: 2.0  # noqa: E731 (differences need a program without poles)

        def run(v: list[Any]) -> None:
            v[number] = combine(v[number], value(v))

        return run

    def make(self, shadow: list[Any], number: int) -> Statement:
        """``u = v.copy()``, ``u = 2 v + 1``: no views."""
        if self.draw.choice([True, False]):
            return lambda v: v.append(v[number].copy())
        return lambda v: v.append(0.5 * v[number] + 1)

    def grow(self, shadow: list[Any], number: int) -> Statement:
        """``u = zeros(...)``: an array of the program's own, which boxes may be written into."""
        shape = shadow[number].shape
        return lambda v: v.append(wg.numpy.zeros(shape))


def fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


@settings(max_examples=150)
@given(data=st.data())
def test_programs_that_write(data: st.DataObject) -> None:
    draw = HypothesisDraw(data, plain=True)
    shape = draw.choice([(3,), (2, 3), (4,), (2, 2), (1, 3), (2, 1, 2)])
    x = draw.array(shape, 0.5, 1.5)
    program = Program(draw, x, draw.integer(1, 7))
    expected = program(x)
    if not np.isfinite(expected) or abs(expected) > 1e4:
        return
    for run in (*EAGER, in_batch, in_graph):
        assert_same(np.asarray(run(program, x)), np.asarray(expected), rtol=1e-12)
    assert_gradient(program, x)


def test_writes_reach_every_alias() -> None:
    def function(x: Any) -> Any:
        y = x * 2.0
        alias, middle = y, y[1:3]
        middle *= 10.0
        last = middle[1:]
        last[0] = alias[0] * y[3]
        first = y[..., 0]
        first += 100.0
        alias += 1.0
        return y, alias, middle, last, first

    x = np.array([1.0, 2.0, 3.0, 4.0])
    for run in EAGER:
        assert_same(run(function, x), tuple(map(np.asarray, function(x))))


def test_rows_of_an_iteration_are_views() -> None:
    def function(x: Any) -> Any:
        y = x * 1.0
        for number, row in enumerate(y):
            row *= number
        return y

    x = np.ones((3, 2))
    assert_same(on_tape(function, x), np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))


def test_the_callers_array_stays_as_it_is() -> None:
    def function(x: Any) -> Any:
        x[0] = 7.0
        x += 1.0
        return np.sum(x * x)

    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(wg.grad(function)(x), [0.0, 6.0])
    np.testing.assert_array_equal(x, [1.0, 2.0])


def test_float32_arrays_keep_their_dtype_when_written() -> None:
    def function(x: Any) -> Any:
        y = x.astype(np.float32)
        y[0] = x[1]
        y += x
        return y

    x = np.array([1.0, 2.0])
    assert_same(on_tape(function, x), np.array([3.0, 4.0], np.float32))


# -- errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "says"),
    [
        (5, "index of axis 0 must lie in [-3, 3); got 5"),
        (-4, "got -4"),
        ((slice(None), 2), "index of axis 1 must lie in [-2, 2); got 2"),
        (np.array([0, 3]), "index of axis 0 must lie in [-3, 3); got 3"),
        ((0, 0, 0), "2 axes can be indexed; got 3 indices"),
        (1.0, "must be an integer, a slice, an integer array or a mask; got float"),
        ("a", "got str"),
        (np.array([1.0]), "index arrays must hold integers; got float64"),
        ((..., 0, ...), "one ellipsis only"),
        (True, "a single truth value is no index"),
        (np.array([True, False]), "a mask must have the shape (3,)"),
        ((0, np.array([True, False, True])), "a mask must have the shape (2,)"),
        ((..., np.ones((3, 3), bool)), "a mask must have the shape (3, 2)"),
    ],
)
def test_wrong_indices(index: Any, says: str) -> None:
    with pytest.raises(IndexingError) as caught:
        wg.grad(lambda x: np.sum(x[index]))(np.ones((3, 2)))
    assert says in str(caught.value)
    assert "test_subscripts.py:" in str(caught.value)


@pytest.mark.parametrize(
    ("write", "error", "says"),
    [
        (lambda y: y.__setitem__(5, 1.0), IndexingError, "index of axis 0 must lie in [-3, 3); got 5"),
        (lambda y: y.__setitem__(0, [1.0, 2.0]), ShapeError, "the value must broadcast to ()"),
        (lambda y: y.__iadd__(np.ones((2, 3))), ShapeError, "the result must keep the shape (3,)"),
        (lambda y: y.__setitem__(slice(2), y), ShapeError, "the value must broadcast to (2,)"),
    ],
)
def test_wrong_writes(write: Callable[[Any], Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error) as caught:
        wg.grad(lambda x: (write(x * 1.0), 0.0)[1])(np.ones(3))
    assert says in str(caught.value)
    assert "test_subscripts.py:" in str(caught.value)


def test_a_derivative_is_not_written_into_integers() -> None:
    def function(x: Any) -> Any:
        counts = wg.numpy.zeros(3, dtype=int)
        counts[0] = x[0]
        return np.sum(counts * x)

    with pytest.raises(DtypeError, match="needs a floating array"):
        wg.grad(function)(np.ones(3))


def test_masks_need_values() -> None:
    with pytest.raises(ConcreteError, match=r"np\.where"):
        wg.vmap(lambda x: x[x > 0])(np.ones((2, 3)))
