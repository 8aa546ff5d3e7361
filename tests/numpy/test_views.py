"""Writes to the results of NumPy's functions: they reach the operand exactly where NumPy returns a view."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from tests.draws import many
from tests.modes import assert_same, in_batch, in_graph, on_duals, on_tape
from tests.numpy.calls import ONE
from wengert.engine.core.errors import ArgumentError, ShapeError, UnsupportedError

Array = np.ndarray[Any, Any]
windows: Any = np.lib.stride_tricks.sliding_window_view
einsum: Any = np.einsum
X = np.random.default_rng(27).uniform(0.5, 2.5, (6, 6))

# Calls of a square matrix in addition to `ONE`: other arguments, methods, and views for some arguments only.
MORE: dict[str, Callable[[Any], Any]] = {
    **{
        f"einsum {text}": lambda x, text=text: einsum(text, x)
        for text in ("ii->i", "ij->ji", "ij", "ji", "i...->...i", "...", "ij->i", "ij->", "...ij->...ji")
    },
    "einsum of lists": lambda x: einsum(x, [0, 0], [0]),
    "einsum optimize": lambda x: einsum("ij->ji", x, optimize=True),
    "einsum dtype": lambda x: einsum("ij->ji", x, dtype=np.float32),
    "einsum of four axes": lambda x: einsum("ijik->kij", np.reshape(x, (3, 3, 1, 1))[:, :, [0, 0, 0]]),
    "einsum of three axes": lambda x: einsum("iji->ji", x[:, None, :]),
    "einsum of two": lambda x: einsum("ij,->ij", x, 1.0),
    "atleast_1d of one": lambda x: np.atleast_1d(x[0]),
    "atleast_3d of one": lambda x: np.atleast_3d(x[0]),
    "atleast_2d of several": lambda x: np.atleast_2d(x, x[1], x[0, 0]),
    "array_split axis": lambda x: np.array_split(x, [1], axis=1),
    "diag of a matrix": lambda x: np.diag(x, 1),
    "diagonal offset": lambda x: np.diagonal(x, -1),
    "diff of order 0": lambda x: np.diff(x, n=0),
    "expand_dims axes": lambda x: np.expand_dims(x, (0, -1)),
    "flat": lambda x: x.flat[:],
    "flip axis": lambda x: np.flip(x, 0),
    "matrix_power 1": lambda x: np.linalg.matrix_power(x, 1),
    "matrix_power 2": lambda x: np.linalg.matrix_power(x, 2),
    "meshgrid copy": lambda x: np.meshgrid(x[0], x[1], sparse=True),
    "meshgrid views": lambda x: np.meshgrid(x[0], x[1], copy=False),
    "meshgrid sparse views": lambda x: np.meshgrid(x[0], x[1], copy=False, sparse=True),
    "nan_to_num": lambda x: np.nan_to_num(x, copy=False),
    "polyder of order 0": lambda x: np.polyder(x[0], 0),
    "polyint of order 0": lambda x: np.polyint(x[0], 0),
    "ravel F": lambda x: np.ravel(x, "F"),
    "reshape F": lambda x: np.reshape(x, (1, 9), order="F"),
    "reshape copy": lambda x: np.reshape(x, (9,), copy=True),
    "reshape of a line": lambda x: np.reshape(x[:, 1], (3, 1)),
    "reshape of a number": lambda x: np.reshape(np.sum(x), (1,)),
    "reshape of an element": lambda x: np.reshape(x[..., 0, 0], (1, 1)),
    "rot90 0": lambda x: np.rot90(x, 0),
    "rot90 2": lambda x: np.rot90(x, 2),
    "rot90 3": lambda x: np.rot90(x, 3),
    "sliding_window_view axis": lambda x: windows(x, 2, axis=1),
    "sliding_window_view of truths": lambda x: windows(x > 1, 2, axis=1),
    "split of columns": lambda x: np.split(x, 3, axis=1),
    "squeeze axis": lambda x: np.squeeze(x[:, :1], 1),
    "squeeze of an element": lambda x: np.squeeze(x[:1, :1]),
    "wengert.numpy.array": lambda x: wg.numpy.array(x),
    "wengert.numpy.array ndmin": lambda x: wg.numpy.array(x, copy=False, ndmin=3),
    "wengert.numpy.asarray": lambda x: wg.numpy.asarray(x),
    "method astype": lambda x: x.astype(float),
    "method astype copy": lambda x: x.astype(float, copy=False),
    "method conj": lambda x: x.conj(),
    "method copy": lambda x: x.copy(),
    "method diagonal": lambda x: x.diagonal(),
    "method flatten": lambda x: x.flatten(),
    "method imag": lambda x: x.imag,
    "method mT": lambda x: x.mT,
    "method ravel": lambda x: x.ravel(),
    "method real": lambda x: x.real,
    "method reshape": lambda x: x.reshape(9),
    "method reshape copy": lambda x: x.reshape(9, copy=True),
    "method squeeze": lambda x: x[:1].squeeze(),
    "method swapaxes": lambda x: x.swapaxes(0, 1),
    "method T": lambda x: x.T,
    "method transpose": lambda x: x.transpose(1, 0),
    "method view": lambda x: x.view(),
    "view of views": lambda x: einsum("ii->i", np.flip(np.atleast_3d(x.T)[..., 0], 1))[1:],
}
OF_INTEGERS = {"~", "invert", "bitwise_count", "packbits", "unpackbits", "unravel_index", "ravel_multi_index"}
CALLS = {name: call for name, call in ONE.items() if name not in OF_INTEGERS}
CALLS |= {f"{name} again" if name in ONE else name: call for name, call in MORE.items()}
#: Matrices of three rows and columns with different layouts in memory.
PLACES: dict[str, Callable[[Any], Any]] = {
    "rows": lambda y: y[:3, :3],
    "columns": lambda y: y[::2, 1::2].T,
    "falling": lambda y: y[3::-1, -1:-4:-1][1:],
    "in a row": lambda y: np.reshape(y, -1)[:9].reshape(3, 3),
    "a copy": lambda y: y[1:4, 2:5].copy(),
}


def may_be_written(part: Any) -> bool:
    """Report whether NumPy lets a program write to an array; NumPy only warns where elements share memory."""
    repeats = any(step == 0 and extent > 1 for step, extent in zip(part.strides, part.shape, strict=True))
    return part.flags.writeable and not repeats


def parts(actual: Any) -> Iterator[Any]:
    """Yield the writable arrays of floats in a result."""
    if isinstance(actual, list | tuple):
        for value in actual:
            yield from parts(value)
    elif np.shape(actual) and actual.dtype.kind == "f":
        yield actual


def writing(call: Callable[[Any], Any], place: Callable[[Any], Any], which: tuple[int, ...]) -> Any:
    """Return a program that writes through parts of a result and into the matrix, and reads all of them."""

    def program(x: Any) -> Any:
        y = x.copy()
        matrix = place(y)
        seen = list(parts(call(matrix)))
        for value in which:
            seen[value][...] = 2.0 * seen[value] + 1.0
        matrix[0] = 0.5 * matrix[1] - matrix[2]
        y[2] *= 3.0
        return y, matrix, *seen

    return program


class Found:
    """Return which parts of NumPy's result can be written to, and which are views."""

    def __init__(self, name: str, place: str) -> None:
        self.call, self.place = CALLS[name], PLACES[place]
        matrix = self.place(X.copy())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.parts = list(parts(self.call(matrix)))
            writeable = list(map(may_be_written, self.parts))
        self.writeable = tuple(number for number, may in enumerate(writeable) if may)
        self.read_only = [number for number, may in enumerate(writeable) if not may]
        self.are_views = bool(self.parts) and all(np.shares_memory(value, matrix) for value in self.parts)

    def program(self) -> Any:
        return writing(self.call, self.place, self.writeable)


def close(actual: Any, expected: Any) -> None:
    for value, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_writes_through_results_are_numpys(name: str) -> None:
    for place in PLACES:
        actual = Found(name, place)
        if actual.parts:
            close(on_tape(actual.program(), X), actual.program()(X))
        for number in actual.read_only:
            refused = writing(actual.call, actual.place, (number,))
            with pytest.raises(ValueError, match="read-only"):
                on_tape(refused, X)


def views(place: str) -> dict[str, Found]:
    """Return a call that returns only views, and so is linear in the array."""
    actual = {name: Found(name, place) for name in CALLS}
    chosen = {name: value for name, value in actual.items() if value.are_views and value.writeable}
    assert len(chosen) > 40
    return chosen


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", PLACES)
def test_derivatives_of_writes_through_views_are_numpys(place: str) -> None:
    direction = np.random.default_rng(1).standard_normal(X.shape)
    for name, actual in views(place).items():
        program = actual.program()
        before, after = program(X), program(X + direction)
        slopes = [value - other for value, other in zip(after, before, strict=True)]
        close(wg.jvp(program, (X,), (direction,))[1], slopes)
        weights = [np.cos(np.arange(value.size)).reshape(value.shape) for value in before]
        (gradient,) = wg.vjp(program, X)[1](tuple(weights))
        expected = sum(np.vdot(value, slope) for value, slope in zip(weights, slopes, strict=True))
        assert np.vdot(gradient, direction) == pytest.approx(expected), name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(8))
def test_writes_through_views_are_numpys_in_batches_and_compiled(first: int) -> None:
    programs = [actual.program() for actual in [*views("columns").values()][first::8]]

    def every(x: Any) -> Any:
        return [program(x) for program in programs]

    def loss(x: Any) -> Any:
        return sum(np.sum(np.sin(part)) for parts in every(x) for part in parts)

    expected = every(X)
    compiled, gradient = wg.jit(lambda x: (every(x), wg.grad(loss)(x)))(X)
    for found in (*(run(every, X) for run in (on_duals, in_batch, in_graph)), compiled):
        for value, other in zip(found, expected, strict=True):
            close(value, other)
    np.testing.assert_allclose(gradient, wg.grad(loss)(X), rtol=1e-9)


def test_jacobians_of_writes_through_einsum() -> None:
    def f(y: Any) -> Any:
        y = y.copy()
        np.einsum("ii->i", y)[...] = 0.0
        np.einsum("ij->ji", y)[0] *= 2.0
        return y

    expected = np.diag([0.0, 1.0, 2.0, 0.0])
    x = np.arange(4.0).reshape(2, 2)
    for jacobian in (wg.jacobian, wg.jacfwd, lambda f: wg.jit(wg.jacobian(f))):
        np.testing.assert_array_equal(jacobian(f)(x).reshape(4, 4), expected)


def test_what_is_no_view_says_so() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for call, error in (
        (lambda x: np.reshape(x.T, 6, copy=False), ArgumentError),
        (lambda x: x.T.reshape(6, copy=False), ArgumentError),
        (lambda x: np.einsum("ii->i", x), ShapeError),
        (lambda x: x.view(np.int64), UnsupportedError),
        (lambda x: windows(x, 2, axis=0, writeable=True), ArgumentError),
    ):
        with pytest.raises(error, match=r"\[test_views\.py:"):
            on_tape(call, x)
    assert_same(on_tape(lambda x: np.reshape(x, 6, copy=False), x), x.reshape(6))


def test_a_number_has_no_views() -> None:
    def f(x: Any) -> Any:
        total = np.sum(x)
        for view in (np.reshape(total, 1), np.atleast_1d(total), total[None], total[...]):
            view[...] = 7.0
        return total * x[0]

    x = np.array([1.0, 2.0])
    for run in (on_tape, on_duals, in_batch, in_graph):
        assert_same(run(f, x), np.float64(3.0))


# -- views of views --------------------------------------------------------------------------------------


CHAINS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1],
    "reshaped": lambda x: np.reshape(x.T, x.shape),
    "raveled": lambda x: np.reshape(np.ravel(x), x.shape),
    "with another axis": lambda x: x[:, None][:, 0],
    "repeated": lambda x: np.broadcast_to(x, x.shape),
}


def chain(view: Callable[[Any], Any], count: int) -> Any:
    def loss(x: Any) -> Any:
        for _ in range(count):
            x = view(x)
        return np.sum(x)

    return loss


def calls_of(function: Callable[[Array], Any]) -> int:
    """Count the function calls within a call."""
    count = 0

    def count_one(*event: Any) -> None:
        nonlocal count
        count += 1

    x = np.ones((4, 4))
    function(x)
    sys.setprofile(count_one)
    try:
        function(x)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", CHAINS)
def test_views_of_views_take_work_by_their_number(name: str) -> None:
    few, many = (calls_of(wg.grad(chain(CHAINS[name], count))) for count in (20, 160))
    assert many < 9 * few


def test_a_long_chain_of_views_is_read_and_written() -> None:
    length = 2 * sys.getrecursionlimit()

    def f(x: Any) -> Any:
        y = x.copy()
        view = y
        for _ in range(length):
            view = view[::-1]
        y[0] = 5.0
        before = view.copy()
        view[1] = 7.0 * x[0]
        return y, before

    assert_same(on_tape(f, np.array([1.0, 2.0])), (np.array([5.0, 7.0]), np.array([5.0, 2.0])))


def test_the_real_part_is_the_array_itself() -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        y.real = 3.0 * y
        np.real(y)[0] = 1.0
        return y

    for run in (on_tape, on_duals, in_batch, in_graph):
        assert_same(run(f, np.array([2.0, 5.0])), np.array([1.0, 15.0]))


# New arrays without axes, other names of them, and writes: `CREATED[i](x)`, `NAMED[j](s)`, `WRITTEN[k](t, x)`.
CREATED: tuple[Callable[[Any], Any], ...] = (
    lambda x: wnp.zeros(()),
    lambda x: wnp.array(2.0),
    lambda x: wnp.full((), x[0]),
    lambda x: wnp.array(x[0]),
    lambda x: wnp.asarray(x[1]),
    lambda x: wnp.array(x[0]).copy(),
    lambda x: wnp.copy(wnp.array(x[0])),
    lambda x: wnp.zeros_like(x[0, ...]),
    lambda x: wnp.full_like(x[0], x[1]),
)
NAMED: tuple[Callable[[Any], Any], ...] = (
    lambda s: s,
    lambda s: s[...],
    lambda s: s[None],
    lambda s: s.T,
    lambda s: s.reshape(-1),
    lambda s: s.reshape(1, 1)[0, ...].squeeze(),
    lambda s: np.atleast_2d(s),
    lambda s: s.view(),
    lambda s: np.expand_dims(s, 0),
)


def add(t: Any, x: Any) -> None:
    t += x[0]


def put(t: Any, x: Any) -> None:
    t[...] = 3.0 * x[1]


def multiply(t: Any, x: Any) -> None:
    np.multiply(t, x[2], out=t)


def add_many(t: Any, x: Any) -> None:
    for value in x:
        t -= value


WRITTEN = (add, put, multiply, add_many)


def test_new_arrays_without_axes_are_written_by_each_of_their_names(rng: np.random.Generator) -> None:
    def f(x: Any, create: Any, name: Any, first: Any, second: Any, third: Any) -> Any:
        s = create(x)
        first(s, x)
        t = name(s)
        second(t, x)
        third(s, x)
        return s, t, s + 1.0

    x = np.array([0.7, -1.3, 2.1])
    for _ in range(many(20)):
        drawn = [
            choices[rng.integers(len(choices))] for choices in (CREATED, NAMED, WRITTEN, WRITTEN, WRITTEN)
        ]
        expected = f(x, *drawn)
        for run in (on_tape, on_duals, in_batch, in_graph):
            actual = run(lambda x, drawn=drawn: f(x, *drawn), x)
            for value, other in zip(actual, expected, strict=True):
                np.testing.assert_allclose(value, other, rtol=1e-14, atol=1e-14)


def test_numbers_are_not_written() -> None:
    def f(x: Any) -> Any:
        s = np.sum(x)
        t = s
        t += 1.0
        u = wnp.array(s)
        u += x[0]
        return s, t, u

    for run in (on_tape, on_duals, in_batch, in_graph):
        assert_same(run(f, np.array([1.0, 2.0])), (np.float64(3.0), np.float64(4.0), np.float64(4.0)))
