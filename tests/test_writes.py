"""In-place writes: drawn programs against NumPy itself, through views and aliases."""

from __future__ import annotations

import operator
import tracemalloc
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import HypothesisDraw, draw_index, examples, refused
from tests.modes import EAGER, assert_gradient, assert_same, in_batch, in_graph, on_tape
from wengert.engine.array import indexing
from wengert.engine.core.errors import DtypeError, IndexingError, ShapeError
from wengert.engine.ops.shape import place
from wengert.engine.transforms import tape

Array = np.ndarray[Any, Any]

#: A statement of a program: it reads and writes variables, by their number.
Statement = Callable[[list[Any]], None]
IN_PLACE = (operator.iadd, operator.isub, operator.imul, operator.itruediv)


class Program:
    """A drawn program: each statement is drawn for the current shapes of the variables."""

    def __init__(self, draw: HypothesisDraw, x: Array, count: int) -> None:
        self.draw = draw
        self.statements: list[Statement] = []
        self.integers: list[int] = []
        """Entries of indices."""
        self.given: Any = self.integers
        shadow: list[Any] = [x.copy()]
        for _ in range(count):
            statement = self.statement(shadow)
            statement(shadow)
            self.statements.append(statement)
        self.weights = [draw.rng.standard_normal(np.shape(variable)) for variable in shadow]

    def __call__(self, x: Any, integers: Any = None) -> Any:
        self.given = self.integers if integers is None else integers
        variables = [x.copy()]
        for statement in self.statements:
            statement(variables)
        return sum((np.sum(w * variable) for w, variable in zip(self.weights, variables, strict=True)), 0.0)

    def statement(self, shadow: list[Any]) -> Statement:
        kinds = [self.bind, self.bind, self.write, self.write, self.add, self.whole, self.make, self.grow]
        return self.draw.choice(kinds)(shadow, self.draw.integer(0, len(shadow) - 1))

    def at(self, index: Any) -> Callable[[], Any]:
        """Return a function that gives an index, with the integers of the program if it has some."""
        entries: list[Callable[[], Any]] = []
        for entry in index if isinstance(index, tuple) else (index,):
            if type(entry) is int:
                number = len(self.integers)
                self.integers.append(entry)
                entries.append(lambda number=number: self.given[number])
            else:
                entries.append(lambda entry=entry: entry)
        if isinstance(index, tuple):
            return lambda: tuple(entry() for entry in entries)
        return entries[0]

    def bind(self, shadow: list[Any], number: int) -> Statement:
        """``u = v[...]``, ``u = v``, ``u = v.T``: views and aliases."""
        kind = self.draw.choice(
            ["index", "index", "alias", "transpose", "swap", "rows", "einsum", "diagonal"]
        )
        index = draw_index(self.draw, shadow[number].shape, arrays=False)
        if kind == "index" and np.ndim(shadow[number][index]):
            here = self.at(index)
            return lambda v: v.append(v[number][here()])
        if kind == "transpose":
            return lambda v: v.append(v[number].T)
        if kind == "swap" and shadow[number].ndim > 1:
            return lambda v: v.append(np.swapaxes(v[number], 0, -1))
        if kind == "einsum" and shadow[number].ndim > 1:
            return lambda v: v.append(np.einsum("i...j->j...i", v[number]))
        if (
            kind == "diagonal"
            and shadow[number].ndim > 1
            and shadow[number].shape[0] == shadow[number].shape[-1]
        ):
            return lambda v: v.append(np.einsum("i...i->...i", v[number]))
        if kind == "rows" and shadow[number].ndim > 1 and len(shadow[number]):
            return lambda v: v.append(list(v[number])[-1])
        return lambda v: v.append(v[number])

    def value(self, shadow: list[Any], shape: tuple[int, ...]) -> Callable[[list[Any]], Any]:
        """Draw a value to write: a number, an element, or a variable of a fitting shape."""
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
        value, here = self.value(shadow, np.shape(shadow[number][index])), self.at(index)

        def run(v: list[Any]) -> None:
            v[number][here()] = value(v)

        return run

    def add(self, shadow: list[Any], number: int) -> Statement:
        """``v[i] += value``."""
        index = draw_index(self.draw, shadow[number].shape)
        if refused(shadow[number], index):
            index = ...
        value, here = self.value(shadow, np.shape(shadow[number][index])), self.at(index)
        combine = self.draw.choice([operator.iadd, operator.isub])

        def run(v: list[Any]) -> None:
            place = here()
            v[number][place] = combine(v[number][place], value(v))

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
        """``u = v.copy()``, ``u = 2 v + 1``: new arrays."""
        if self.draw.choice([True, False]):
            return lambda v: v.append(v[number].copy())
        return lambda v: v.append(0.5 * v[number] + 1)

    def grow(self, shadow: list[Any], number: int) -> Statement:
        """``u = zeros(...)``: an array of the program, which boxes may be written into."""
        shape = shadow[number].shape
        return lambda v: v.append(wg.numpy.zeros(shape))


def fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


@examples(150)
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
    integers = np.array(program.integers, dtype=np.int64)
    for run in (in_batch, in_graph):
        assert_same(np.asarray(run(program, x, integers)), np.asarray(expected), rtol=1e-12)
        if integers.size:
            actual = run(wg.grad(program), x, integers)
            np.testing.assert_allclose(actual, wg.grad(program)(x), rtol=1e-9, atol=1e-9)


@given(data=st.data())
def test_programs_that_write_where_the_list_keeps_nothing(data: st.DataObject) -> None:
    """Every array counts as large here, so the list releases it, and writes happen in place."""
    draw = HypothesisDraw(data, plain=True)
    x = draw.array(draw.choice([(3,), (2, 3), (2, 1, 2)]), 0.5, 1.5)
    program = Program(draw, x, draw.integer(1, 7))
    expected = program(x)
    if not np.isfinite(expected) or abs(expected) > 1e4:
        return
    with mock.patch.object(tape, "_LARGE", 0):
        for run in EAGER:
            assert_same(np.asarray(run(program, x)), np.asarray(expected), rtol=1e-12)
        assert_gradient(program, x)


LONG = 1 << 18
"""The number of elements of an array whose copies would show."""


def recurrence(x: Any, steps: int) -> Any:
    y = np.zeros(LONG)
    y[0] = x
    for i in range(1, steps):
        y[i] = 0.9 * y[i - 1] + np.sin(x)
    return np.sum(y)


@pytest.mark.parametrize("transform", [wg.grad, wg.derivative])
def test_a_write_takes_the_same_memory_for_any_size(transform: Any) -> None:
    """A copy for each write would need 2 MiB each, forward and backward."""
    transform(lambda x: recurrence(x, 3))(0.5)
    tracemalloc.start()
    transform(lambda x: recurrence(x, 200))(0.5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * 8 * LONG


@pytest.mark.parametrize("transform", [wg.grad, wg.derivative])
def test_no_array_is_made_where_a_write_is_in_place(transform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[int] = []
    monkeypatch.setattr(
        indexing, "place", lambda x, y, index: (copies.append(1), place(x, y, index=index))[1]
    )
    expected = transform(lambda x: recurrence(x, 5))(0.5)
    few = len(copies)
    transform(lambda x: recurrence(x, 50))(0.5)
    assert len(copies) == 2 * few
    assert expected == pytest.approx((recurrence(0.5 + 1e-6, 5) - recurrence(0.5 - 1e-6, 5)) / 2e-6, rel=1e-6)


def kept_by_a_view(x: Any) -> Any:
    y = x * np.ones(LONG)
    view = y[1:3]
    y[1] = x * x
    return y[1] + view[0] * view[1]


def kept_by_a_copy(x: Any) -> Any:
    y = x * np.ones(LONG)
    before = y.copy()
    y[1] = x * x
    before[2] = x**3
    return y[1] + before[1] + before[2] + y[2]


def kept_by_the_list(x: Any) -> Any:
    y = x * np.ones(LONG)
    z = np.sin(y)
    squares = y * y
    y[1] = x**3
    z[2] = x
    return np.sum(squares[:3]) + y[1] * z[1] + z[2]


def kept_by_a_closure(x: Any) -> Any:
    y = x * np.ones(LONG)
    alias = y
    y[0] = x * x

    def read() -> Any:
        return alias[0]

    y[0] = y[0] * x
    return read() + y[0]


def written_in_slices(x: Any) -> Any:
    y = np.zeros((LONG // 64, 64))
    y[0] = x
    y[1, 2:5] = [x, x * x, 1.0]
    y[:, 0] = y[1, 3] * np.arange(LONG // 64)
    y[2] += y[1]
    y[2, ::-1][:3] = x**3
    return np.sum(y[:4] ** 2)


def written_over(x: Any) -> Any:
    y = x * np.ones(LONG)
    y[3] = x**2
    total = np.sum(y)
    y[3] = 5.0
    y[4] = y[3] * x
    return total + np.sum(y) + y[4]


@pytest.mark.parametrize(
    "program",
    [kept_by_a_view, kept_by_a_copy, kept_by_the_list, kept_by_a_closure, written_in_slices, written_over],
)
def test_large_arrays_keep_what_other_values_need(program: Callable[[Any], Any]) -> None:
    x, step = 0.7, 1e-5
    slope = (program(x + step) - program(x - step)) / (2 * step)
    for derivative in (wg.grad, wg.derivative, wg.jacrev, wg.jacfwd):
        assert derivative(program)(x) == pytest.approx(slope, rel=1e-7)
    curvature = (wg.grad(program)(x + step) - wg.grad(program)(x - step)) / (2 * step)
    for second in (wg.grad(wg.grad(program)), wg.derivative(wg.grad(program)), wg.hessian(program)):
        assert second(x) == pytest.approx(curvature, rel=1e-4)


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


def raised(y: Any, k: Any) -> Any:
    """Change a row through a view, an element of a row, and a row that is read before and after."""
    y = y.copy()
    row = y[k]
    row *= 10
    y[k, 1:][0] = 7
    before, y[k] = y[k].copy(), y[k] - 1
    y[..., k][0] += row[1] + before[0]
    return y, row


@pytest.mark.parametrize("k", [0, 1, -1])
def test_an_integer_that_is_not_known_takes_a_view(k: int) -> None:
    x = np.arange(6.0).reshape(3, 2)
    expected = raised(x, k)
    for run in (in_batch, in_graph):
        assert_same(run(lambda x, k: raised(x, k), x, np.int64(k)), expected)
    turns = wg.fori_loop(0, 2, lambda i, y: raised(y, i)[0], x)
    assert_same(wg.jit(lambda x: wg.fori_loop(0, 2, lambda i, y: raised(y, i)[0], x))(x), turns)
    assert_same(raised(raised(x, 0)[0], 1)[0], turns)


@pytest.mark.parametrize(
    "read",
    [
        lambda view, x: wg.checkpoint(lambda a: a * view)(x),
        lambda view, x: wg.vmap(lambda r: wg.cond(r > 0, lambda a: a * view, lambda a: a + view, r))(x),
        lambda view, x: wg.vmap(lambda r: wg.fori_loop(0, 2, lambda i, c: c + view, r * view))(x),
    ],
)
def test_a_view_of_what_was_written_is_read_first_in_a_function_that_is_recorded(
    read: Callable[..., Any],
) -> None:
    def function(x: Any) -> Any:
        base = x * 1.0
        view = np.flip(base)
        base *= 0.5
        inside = read(view, x)
        return view * 2, inside

    x = np.array([1.0, -2.0, 3.0])
    for run in (*EAGER, in_batch, in_graph, lambda f, x: wg.jit(f)(x)):
        assert_same(run(function, x), function(x), rtol=1e-15)


def test_an_index_that_changes_leaves_a_view_where_it_was() -> None:
    def function(x: Any, k: Any) -> Any:
        x, k = x.copy(), k.copy()
        place = k[..., 0]
        row = x[place]
        k[0] = 1
        row += 5.0
        x[place] = row
        return x

    x, k = np.zeros((2, 2)), np.array([0])
    expected = np.array([[5.0, 5.0], [5.0, 5.0]])
    np.testing.assert_array_equal(in_graph(function, x, k), expected)


def test_a_row_that_was_added_to_is_written_once() -> None:
    def function(x: Any, k: Any) -> Any:
        x = x.copy()
        x[k] += 1.0
        x[0] += 1.0
        return x

    graph = str(wg.jit(function).graph(np.zeros((3, 2)), 1))
    assert graph.count("scatter") + graph.count("place") == 2


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
    ("write", "error", "says"),
    [
        (lambda y: y.__setitem__(5, 1.0), IndexingError, "index 5 is out of bounds for axis 0 with size 3"),
        (lambda y: y.__setitem__(0, [1.0, 2.0]), ShapeError, "the value must broadcast to ()"),
        (lambda y: y.__iadd__(np.ones((2, 3))), ShapeError, "the result must keep the shape (3,)"),
        (lambda y: y.__setitem__(slice(2), y), ShapeError, "the value must broadcast to (2,)"),
    ],
)
def test_wrong_writes(write: Callable[[Any], Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error) as caught:
        wg.grad(lambda x: (write(x * 1.0), 0.0)[1])(np.ones(3))
    assert says in str(caught.value)
    assert "test_writes.py:" in str(caught.value)


def test_a_derivative_is_not_written_into_integers() -> None:
    def function(x: Any) -> Any:
        counts = wg.numpy.zeros(3, dtype=int)
        counts[0] = x[0]
        return np.sum(counts * x)

    with pytest.raises(DtypeError, match="needs a floating array"):
        wg.grad(function)(np.ones(3))
