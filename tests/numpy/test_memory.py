"""The memory of results: arrays inside transforms are copies, views, rows and columns where NumPy's are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from copy import copy as copied
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from tests.modes import on_duals, on_tape
from tests.numpy.calls import TWO
from tests.numpy.memory_programs import LAYOUTS, Program
from tests.numpy.scipy_memory import CALLS as SCIPYS
from tests.numpy.scipy_memory import OF_NUMBERS, linalg
from tests.numpy.test_views import CALLS
from wengert.engine.array.scipys_memory import _positions  # pyright: ignore[reportPrivateUsage]
from wengert.engine.boxes import Box
from wengert.engine.core.errors import UnsupportedError
from wengert.engine.memory import memory_of, strides_of

Array = np.ndarray[Any, Any]
Call = Callable[[Any], Any]
SHAPES = ((3, 4), (2, 3, 4), (3, 3), (6,), (1, 4))


def close(actual: Any, expected: Any) -> None:
    for value, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-9, atol=1e-12)


# -- random programs -------------------------------------------------------------------------------------


def assert_numpys(seed: int) -> Program:
    """Compare all arrays of a random program, and their derivatives, with NumPy's."""
    program = Program(seed, SHAPES[seed % len(SHAPES)])
    expected = program(program.input())
    for run in (on_tape, on_duals):
        close(run(program, program.input()), expected)
    step = np.cos(np.arange(program.x.size)).reshape(program.x.shape)
    slopes = [after - before for after, before in zip(program(program.input(step)), expected, strict=True)]
    close(wg.jvp(program, (program.input(),), (step,))[1], slopes)
    weights = [np.sin(np.arange(value.size) + 1.0).reshape(value.shape) for value in expected]
    (gradient,) = wg.vjp(program, program.input())[1](tuple(weights))
    wanted = sum(np.vdot(value, slope) for value, slope in zip(weights, slopes, strict=True))
    assert np.vdot(gradient, step) == pytest.approx(wanted, abs=1e-9), program.text
    examples = seed % (program.x.ndim + 1)
    batch = np.moveaxis(np.stack([program.x, program.x + step]), 0, examples)
    lay = LAYOUTS[program.layout]
    each = [program(np.moveaxis(lay(batch), examples, 0)[number]) for number in (0, 1)]
    close(
        wg.vmap(program, in_axes=examples)(lay(batch)), [np.stack(pair) for pair in zip(*each, strict=True)]
    )
    return program


def assert_numpys_compiled(seed: int) -> None:
    program = Program(seed, SHAPES[seed % len(SHAPES)])
    close(wg.jit(program)(program.input()), program(program.input()))

    def loss(x: Any) -> Any:
        return sum(np.sum(np.sin(value)) for value in program(x))

    compiled = wg.jit(wg.grad(loss))(program.input())
    np.testing.assert_allclose(compiled, wg.grad(loss)(program.input()), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("start", [pytest.param(0, marks=pytest.mark.exhaustive), *range(25, 250, 25)])
def test_random_programs_of_views_and_copies_are_numpys(start: int) -> None:
    programs = [assert_numpys(seed) for seed in range(start, start + 25)]
    assert sum(program.views for program in programs) > 12
    assert sum(program.copies for program in programs) > 6


@pytest.mark.parametrize("seed", range(250, 270))
def test_random_programs_of_views_and_copies_are_numpys_compiled(seed: int) -> None:
    assert_numpys_compiled(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 3000, 100))
def test_many_random_programs_of_views_and_copies_are_numpys(start: int) -> None:
    for seed in range(start, start + 100):
        assert_numpys(seed)
    for seed in range(start, start + 10):
        assert_numpys_compiled(seed)


# -- every function, on every memory -----------------------------------------------------------------------


ORDERS = ("C", "F", "A", "K")
X = np.random.default_rng(3).uniform(0.5, 2.5, (3, 3, 4, 5))
#: Calls of an array of four axes in addition to those of a matrix, by the name of the function.
DEEP: dict[str, Call] = {
    **{f"copy {o}": lambda x, o=o: np.copy(x, order=o) for o in ORDERS},
    **{f"method copy {o}": lambda x, o=o: x.copy(order=o) for o in ORDERS},
    **{f"ravel {o}": lambda x, o=o: np.ravel(x, order=o) for o in ORDERS},
    **{f"flatten {o}": lambda x, o=o: x.flatten(order=o) for o in ORDERS},
    **{
        f"reshape {o} {s}": lambda x, o=o, s=s: np.reshape(x, s, order=o)
        for o in "CFA"
        for s in (-1, (9, -1), (3, -1), (1, -1, 1), (3, 3, -1), (3, 1, -1, 3))
    },
    **{
        f"astype {o} {t} {c}": lambda x, o=o, t=t, c=c: x.astype(t, order=o, copy=c)
        for o in ORDERS
        for t in (np.float32, np.float64)
        for c in (True, False)
    },
    **{
        f"{f.__name__} {o} {s}": lambda x, f=f, o=o, s=s: f(x, order=o, shape=s)
        for f in (np.zeros_like, np.ones_like, np.empty_like)
        for o in ORDERS
        for s in (None, (2, 3, 4, 5), (2, 3))
    },
    **{f"full_like {o}": lambda x, o=o: np.full_like(x, x[0, 0, 0, 0], order=o) for o in ORDERS},
    **{f"asarray {o}": lambda x, o=o: wnp.asarray(x, order=o) for o in (None, *ORDERS)},
    **{
        f"array {o} {c} {n} {t}": lambda x, o=o, c=c, n=n, t=t: wnp.array(x, t, copy=c, order=o, ndmin=n)
        for o in ORDERS
        for c in (True, None)
        for n in (0, 5)
        for t in (None, np.float32)
    },
    "ascontiguousarray": lambda x: wnp.ascontiguousarray(x),
    "asfortranarray": lambda x: wnp.asfortranarray(x),
    **{f"require {r}": lambda x, r=r: wnp.require(x, requirements=r) for r in ("C", "F", "W", ["F", "W"], [])},
    **{
        f"x[{name}]": lambda x, i=i: x[i]
        for name, i in {
            "i": np.s_[[0, 1]],
            ":, i": np.s_[:, [0, 1]],
            "..., i": np.s_[..., [0, 1]],
            ":, i, i": np.s_[:, [0, 1], [0, 1]],
            ":, i, :, i": np.s_[:, [0, 1], :, [0, 1]],
            ":, ii": np.s_[:, np.array([[0, 1, 0], [1, 0, 1]])],
            "ii in columns": np.s_[:, np.array([[0, 1, 0], [1, 0, 1]]).T],
            "all in columns": (np.array([[0, 1, 0], [1, 0, 1]]).T,) * 4,
            "mask": np.array([True, False, True]),
            "masks": np.eye(3) > 0,
            "0, :, i": np.s_[0, :, [0, 1]],
            ":, None, i": np.s_[:, None, [0, 1]],
            "i, ::2, ::-1": np.s_[[0, 1], ::2, ::-1],
            "a number": np.array(1),
            "ix_": np.ix_([0, 1], [0, 1, 0], [1, 0]),
            "none": np.s_[:, np.zeros(0, int)],
        }.items()
    },
    **{
        f"{f.__name__} {axis} {keep}": lambda x, f=f, axis=axis, keep=keep: f(x, axis=axis, keepdims=keep)
        for f in (np.sum, np.max, np.mean, np.var, np.median, np.any, np.nansum, np.nanmedian, np.argmax)
        for axis in range(4)
        for keep in (False, True)
    },
    **{
        f"{f.__name__} {axis}": lambda x, f=f, axis=axis: f(x, axis=axis)
        for f in (np.cumsum, np.sort, np.diff, np.flip, np.gradient, np.unwrap, np.fft.fft, np.fft.rfft)
        for axis in range(4)
    },
    **{
        f"{name} {axis}": lambda x, f=f, axis=axis: f(x, axis)
        for name, f in {
            "roll": lambda x, axis: np.roll(x, 1, axis),
            "repeat": lambda x, axis: np.repeat(x, 2, axis),
            "take": lambda x, axis: np.take(x, [0, 1], axis),
            "delete": lambda x, axis: np.delete(x, 1, axis),
            "delete positions": lambda x, axis: np.delete(x, [0, 1], axis),
            "delete a mask": lambda x, axis: np.delete(x, np.arange(x.shape[axis]) == 1, axis),
            "delete one of a list": lambda x, axis: np.delete(x, [1], axis),
            "delete a slice": lambda x, axis: np.delete(x, np.s_[::2], axis),
            "insert positions": lambda x, axis: np.insert(x, [0, 1], 0.0, axis),
            "repeat by counts": lambda x, axis: np.repeat(x, np.arange(x.shape[axis]), axis),
            "insert": lambda x, axis: np.insert(x, 1, 0.0, axis),
            "stack": lambda x, axis: np.stack([x, x], axis),
            "concatenate": lambda x, axis: np.concatenate([x, x], axis),
            "nanquantile": lambda x, axis: np.nanquantile(x, [0.2, 0.5], axis),
            "average": lambda x, axis: np.average(x, axis, weights=np.arange(1.0, x.shape[axis] + 1)),
            "apply_along_axis": lambda x, axis: np.apply_along_axis(np.sort, axis, x),
            "reduceat": lambda x, axis: np.add.reduceat(x, [0, 1], axis),
            "linspace": lambda x, axis: np.linspace(x, x + 1, 3, axis=axis),
        }.items()
        for axis in range(4)
    },
    **{
        f"einsum {text} {o}": lambda x, text=text, o=o: np.einsum(text, x, x, order=o)
        for text in ("abcd,abcd->dcba", "abcd,abcd->bda", "abcd,abce->ed")
        for o in ORDERS
    },
    "einsum of three": lambda x: np.einsum("abcd,ab,ac->cd", x, x[..., 0, 0], x[:, 0, :, 0]),
    "einsum optimize": lambda x: np.einsum("ab,bc,cd->da", x[0, 0], x[0, 0].T, x[0, 0], optimize=True),
    "tile": lambda x: np.tile(x, 2),
    "tile once": lambda x: np.tile(x, 1),
    "tile once, more axes": lambda x: np.tile(x, (1,) * 5),
    "copy.copy": lambda x: copied(x),
    "copy.deepcopy": lambda x: deepcopy(x),
    "vectorize": lambda x: wnp.vectorize(lambda number: 2.0 * number)(x[:2, :2, :2, :2]),
    "vectorize of two": lambda x: wnp.vectorize(lambda a, b: a + b)(x[0, 0, :2, :2], x[0, 0, :2, 0]),
    "pad": lambda x: np.pad(x, 1),
    "block": lambda x: np.block([[x, x], [x, x]]),
    "select": lambda x: np.select([x > 1, x > 2], [x, -x]),
    "where": lambda x: np.where(x[0] > 1, x, x[:, :1]),
    "matmul": lambda x: x @ np.swapaxes(x, -1, -2),
    "inv": lambda x: np.linalg.inv(x @ np.swapaxes(x, -1, -2) + 3 * np.eye(x.shape[2])),
    "svd": lambda x: np.linalg.svd(x),
    "tensordot": lambda x: np.tensordot(np.ones((2, x.shape[1])), x, ([1], [1])),
    "outer": lambda x: np.add.outer(x[0, 0], x[0, 0]),
    "plus columns": lambda x: x + np.ones(x.shape, order="F"),
    "plus a part": lambda x: x[0, 0] + x[0, 0, :, 0][:, None],
    "comparison": lambda x: x > 1,
    "integers": lambda x: x.astype(int),
    "comparison of a copy": lambda x: x.T.copy() > 1,
    "real": lambda x: (x + 1j * x).real,
    "real in a row": lambda x: np.ravel((x + 1j * x).real),
}  # fmt: skip
#: More memory of arrays of four axes.
PLACES: dict[str, Call] = {
    "rows": lambda y: y.copy(),
    "columns": lambda y: y.copy("F"),
    "permuted": lambda y: (y.transpose(*np.array([2, 0, 3, 1])) * 1.0).transpose(1, 3, 0, 2),
    "one axis": lambda y: np.ravel(y).transpose(*np.array([0])),
    "transposed": lambda y: y.T[:3, :3],
    "sliced": lambda y: y[:, ::2, ::-1, 1:3],
    "moved": lambda y: np.moveaxis(y, 1, -1)[:, :, :3] * 2,
    "another axis first": lambda y: np.moveaxis(y, 2, 0),
    "repeated": lambda y: np.broadcast_to(y[:, :1], (3, 3, 4, 5)),
}
#: And of square matrices.
MATRICES: dict[str, Call] = {
    "rows": lambda y: y[0, 0, :3, :3].copy(),
    "columns": lambda y: np.copy(y[0, 0, :3, :3], order="F"),
    "a multiple of the transpose": lambda y: 2 * y[0, 0, :3, :3].T,
    "transposed": lambda y: y[0, 0, :3, :3].T,
    "with gaps": lambda y: y[0, 0, :3, :3],
    "reversed": lambda y: y[0, 0, 2::-1, 2::-1],
    "repeated": lambda y: np.broadcast_to(y[0, 0, 0, :3], (3, 3)),
}


#: Wengert's own functions, whose results in a plain call are arrays.
OWN: dict[str, Call] = {
    "jit": lambda x: wg.jit(lambda y: 2 * y)(x),
    "jit of a transpose": lambda x: wg.jit(lambda y: (2 * y).T)(x),
    "jit of columns": lambda x: wg.jit(lambda y: np.copy(y, order="F"))(x),
    "vmap": lambda x: wg.vmap(lambda y: 2 * y)(x),
    "vmap along columns": lambda x: wg.vmap(lambda y: 2 * y, in_axes=1, out_axes=1)(x),
    "grad": lambda x: wg.grad(lambda y: np.sum(y**2))(x),
    "scan": lambda x: wg.scan(lambda c, row: (c + row, c * row), x[0], x)[1],
    "cond": lambda x: wg.cond(True, lambda y: 2 * y, lambda y: y, x),
    "fori_loop": lambda x: wg.fori_loop(0, 3, lambda i, c: c * 2, x),
    "checkpoint": lambda x: wg.checkpoint(lambda y: np.copy(y, order="F"))(x),
}


def arrays(result: Any) -> Iterator[Any]:
    if isinstance(result, list | tuple):
        for value in result:
            yield from arrays(value)
    elif np.ndim(result):
        yield result


def memory(value: Any) -> Any:
    """Return the strides of the axes, which are the same where all copies and views are."""
    lying = memory_of(value)
    return (
        [step for n, step in zip(lying.shape, strides_of(lying), strict=True) if n > 1] if lying.size else []
    )


def assert_memory(run: Any, name: str, call: Call, places: dict[str, Call]) -> None:
    """Compare the memory of each result, and whether it is a view, with NumPy's."""
    cases: list[tuple[str, Call, Any, list[Any]]] = []
    for lying, place in places.items():
        given = place(X.copy())
        with contextlib.suppress(ValueError, TypeError, IndexError, np.linalg.LinAlgError):
            cases.append((lying, place, given, list(arrays(call(given)))))

    def program(x: Any) -> Any:
        for lying, place, given, expected in cases:
            matrix = place(x.copy())
            for actual, value in zip(arrays(call(matrix)), expected, strict=True):
                if actual.shape == value.shape:
                    assert memory(actual) == memory(value), (name, lying)
                if isinstance(actual, Box):
                    assert np.shares_memory(actual, matrix) == np.shares_memory(value, given), (name, lying)
        return np.sum(x)

    run(program, X)


def _in_batch(function: Call, x: Any) -> None:
    wg.vmap(function)(np.stack([x, x]))


def _traced(function: Call, x: Any) -> None:
    wg.trace(function)(x)


OTHER = np.array([[1.0, 2.0, 3.0]] * 3, order="F")
TABLES: tuple[tuple[dict[str, Call], dict[str, Call]], ...] = (
    (DEEP, PLACES),
    (CALLS, MATRICES),
    ({name: lambda x, call=call: call(x, OTHER) for name, call in TWO.items()}, MATRICES),
    (SCIPYS, MATRICES),
    (OWN, MATRICES),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("run", [on_tape, _in_batch, _traced])
def test_every_result_lies_in_memory_as_numpys(run: Any, part: int) -> None:
    for calls, places in TABLES:
        for name in list(calls)[part::10]:
            if name in OF_NUMBERS and run is not on_tape:
                continue
            assert_memory(run, name, calls[name], places)


# -- what is stated ------------------------------------------------------------------------------------------


def test_copies_in_an_order_are_copies() -> None:
    x = np.arange(12.0).reshape(3, 4)

    def program(x: Any) -> Any:
        y = x * 1.0
        for copy in (
            wnp.ascontiguousarray(y.T),
            wnp.asfortranarray(y),
            wnp.asarray(y, order="F"),
            wnp.array(y, order="F").reshape(-1),
            (2.0 * y.T).ravel(),
            np.copy(y.T).reshape(-1),
        ):
            copy[0] = 7.0
        return y

    for run in (on_tape, on_duals, lambda function, x: wg.jit(function)(x)):
        np.testing.assert_array_equal(run(program, x), x)


def test_a_compiled_function_distinguishes_the_memory_of_its_arguments() -> None:
    def f(x: Any) -> Any:
        y = np.copy(x)
        y.reshape(-1)[0] = 7.0
        return y

    compiled, x = wg.jit(f), np.arange(12.0).reshape(3, 4)
    for given in (x, np.asfortranarray(x), x, x[::-1], np.asfortranarray(x)[:, ::2], x.copy("F"), x):
        np.testing.assert_array_equal(compiled(given), f(given))


def test_flags_are_numpys() -> None:
    def f(x: Any) -> Any:
        seen.extend((y.flags.c_contiguous, y.flags.f_contiguous) for y in (x, x.T, x[1:], x[:, 1:], 2 * x.T))
        return np.sum(x)

    seen: list[Any] = []
    for run in (f, wg.grad(f)):
        run(np.ones((3, 4)))
    assert seen[:5] == seen[5:]


def test_the_owner_of_memory_is_not_known() -> None:
    with pytest.raises(UnsupportedError, match=r"owns its memory is not known.*\[test_memory\.py:"):
        wg.grad(lambda x: np.sum(wnp.require(x, requirements="O")))(np.ones(2))


@pytest.mark.parametrize("shape", [(), (1,), (5,), (1, 1), (3, 1), (1, 3), (4, 3), (2, 3, 3), (0,), (0, 2)])
def test_stand_ins_for_integers_are_positions(shape: tuple[int, ...]) -> None:
    """LAPACK exchanges the rows that they name, and writes beyond an array where there is no such row."""
    positions = _positions(shape)
    assert positions.shape == shape
    assert np.all((positions >= 0) & (positions < max(1, min(shape, default=1))))


@pytest.mark.parametrize("seed", range(24))
def test_the_derivative_of_an_exponential_lies_as_its_numbers_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, scale = int(rng.integers(2, 9)), 10.0 ** rng.uniform(-2, 2)
    a, e = (np.array(rng.standard_normal((size, size)), order=str(rng.choice(["C", "F"]))) for _ in range(2))
    a *= scale / np.linalg.norm(a, 1)
    options = {"method": rng.choice([None, "SPS", "blockEnlarge"]), "compute_expm": bool(rng.random() < 0.5)}

    def flat(a: Any, e: Any) -> Any:
        found: Any = linalg.expm_frechet(a, e, **options)
        return [np.ravel(x, order="K") for x in (found if isinstance(found, tuple) else (found,))]

    for found in (wg.vjp(flat, a, e)[0], wg.jvp(flat, (a, e), (e, a))[0]):
        for one, expected in zip(found, flat(a, e), strict=True):
            np.testing.assert_allclose(one, expected, 1e-9, 1e-9 * np.max(np.abs(expected)))
