"""Loops of many turns are loops of the program; what a program cannot compute as Python does stays unrolled."""
# ruff: noqa: B905 (the statements are what the tests are about)

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.ir.graph import Graph
from wengert.engine.transforms import turns

_X = np.array([0.3, 1.2, 0.7, 2.5, 0.4, 0.9, 1.1, 0.2, 0.6, 0.8, 1.3, 0.5])


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take some turns for many."""
    monkeypatch.setattr(turns, "MOST_TURNS", 8)
    monkeypatch.setattr(turns, "LEAST_EQUATIONS", 20)


def _is_loop(graph: Graph) -> bool:
    return any(line.primitive == "scan" for line in graph.equations)


# -- loops of the program --------------------------------------------------------------------------------


def steps(x: Any) -> Any:
    s, t, n = 0, 0.0, 3
    for i in range(12):
        t = t + 0.1
        n = n + 2
        s = s * 0.5 + x[i] * t + x[i - 1] * n
    return s, t, n, i  # pyright: ignore[reportPossiblyUnboundVariable]


def pairs(x: Any) -> Any:
    s = 0
    for i, (a, b) in enumerate(zip(x, x[::-1])):
        s += a * b * np.sin(a) + i
    return s


def single_precision(x: Any) -> Any:
    x = x.astype("f4")
    s = x[0]
    for i in range(12):
        s = s + x[i] * (i * 0.5) + x[2] * np.float32(2)
    return s


def exchanged(x: Any) -> Any:
    u, v = x.copy(), x * 2
    for _ in range(12):
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        u, v = v, u
    return u


class _State:
    def __init__(self) -> None:
        self.value = 1.0
        self.count = 0


def attributes(x: Any) -> Any:
    state = _State()
    for i in range(12):
        state.count += 1
        state.value = state.value * 0.5 + x[i] + np.sin(state.value)
    return state.value + state.count


def of_classes(x: Any) -> Any:
    s = x[0]
    for i in range(12):
        is_integer = isinstance(i, int)  # pyright: ignore[reportUnnecessaryIsInstance]
        s = s * 0.5 + (x[i] if is_integer else 7.0) + x[2] * (2.0 if type(i) is int else 3.0)
    return s


def rows_written(x: Any) -> Any:
    y = np.zeros((12, 2))
    for i in range(12):
        y[i, 0] = x[i] * np.sin(x[i - 1]) + y[i - 1, 0]
        y[i, 1] = y[i, 0] * 2 + i
    return np.sum(y, axis=0)


def grown(x: Any) -> Any:
    found = [x[0]]
    for i in range(1, 12):
        found.append(found[-1] * 0.5 + x[i] + np.sin(found[i - 1]))
    return np.sum(np.array(found))


LOOPS = [steps, pairs, single_precision, exchanged, attributes, of_classes, rows_written, grown]


def _check(program: Callable[..., Any], *arguments: Any) -> None:
    found, expected = wg.jit(program)(*arguments), program(*arguments)
    for one, other in zip(wg.tree.leaves(found), wg.tree.leaves(expected), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=1e-6 if np.asarray(other).dtype == np.float32 else 1e-12)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("program", LOOPS)
def test_loops_of_the_program_equal_python(program: Callable[..., Any]) -> None:
    assert _is_loop(wg.trace(program)(_X))
    _check(program, _X)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("program", [steps, pairs, exchanged, rows_written])
def test_derivatives_equal_eager_ones(program: Callable[..., Any]) -> None:
    def value(x: Any) -> Any:
        return np.sum(wg.tree.leaves(program(x))[0] ** 2)

    slope = wg.grad(value)
    np.testing.assert_allclose(wg.jit(slope)(_X), slope(_X), rtol=1e-11)


# -- what stays unrolled ---------------------------------------------------------------------------------


def large_integers(x: Any) -> Any:
    k, s = 1, 0.0
    for i in range(70):
        k = k * 3
        s = s + x[i % 3] / k + x[0] * 0.5
    return s


def integer_powers(x: Any) -> Any:
    s = x[0]
    for i in range(40):
        s = s + x[1] / 10**i + x[2] * 0.1
    return s


def integer_products(x: Any) -> Any:
    s = x[0]
    for i in range(10, 40):
        s = s * 0.5 + x[0] * (i * i * i * i * i * i * i * i * i * i * i * i) + np.sin(s)
    return s


def division_of_integers(x: Any) -> Any:
    s = x[0]
    for i in range(12):
        s = s * 0.5 + x[i] + x[2] * (1 / (i + 1))
    return s


def numpy_of_integers(x: Any) -> Any:
    x = x.astype("f4")
    s = x[0]
    for i in range(12):
        s = s + x[i] * np.sin(i) + x[2]
    return s


def factorials(x: Any) -> Any:
    s = 0.0
    for i in range(25):
        s = s + x[0] ** i / math.factorial(i) + x[1] * 0.1
    return s


def exponents(x: Any) -> Any:
    s = 0.0
    for i in range(12):
        s = s + x[i] ** i + x[1] * 0.1
    return s


def texts(x: Any) -> Any:
    s = x[0]
    for i in range(12):
        s = s * 0.5 + x[i] * {"3": 5.0}.get(str(i), 1.0) + x[2] * len(f"{i}")
    return s


def exits(x: Any) -> Any:
    s = x[0]
    for i in range(12):
        s = s * 0.5 + x[i] + np.sin(s)
        if i == 10:
            break
    return s


def swallowed(x: Any) -> Any:
    s = x[0]
    for i in range(12):
        try:
            s = s * 0.5 + x[i] + 1 / (i - 11) + np.sin(s)
        except ZeroDivisionError:
            s = s * 100
    return s


def called(x: Any) -> Any:
    def layer(x: Any, w: Any) -> Any:
        return np.tanh(x * w + 0.5)

    for w in [0.1 * n for n in range(20)]:
        x = layer(x, w)
    return np.sum(x)


UNROLLED = [
    large_integers,
    integer_powers,
    integer_products,
    division_of_integers,
    numpy_of_integers,
    factorials,
    exponents,
    texts,
    exits,
    swallowed,
    called,
]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("program", UNROLLED)
def test_other_loops_stay_unrolled_and_equal_python(program: Callable[..., Any]) -> None:
    assert not _is_loop(wg.trace(program)(_X))
    _check(program, _X)


@pytest.mark.usefixtures("few")
def test_an_exception_of_a_turn_is_python_s() -> None:
    def outside(x: Any) -> Any:
        s = x[0]
        for i in range(14):
            s = s * 0.5 + x[i] + np.sin(s)
        return s

    with pytest.raises(IndexError):
        wg.jit(outside)(_X)


def test_handlers_of_the_program_do_not_catch_the_end_of_a_run(few: None) -> None:
    def program(x: Any) -> Any:
        s = x[0]
        try:
            for i in range(12):
                s = s * 0.5 + x[i] + np.sin(s)
        except Exception:
            s = s * 100
        return s

    _check(program, _X)


# -- the number of turns ---------------------------------------------------------------------------------


def _walk(x: Any, n: int) -> Any:
    s = x[0]
    for _ in range(n):
        for k in range(3):
            s = s + 0.01 * (np.sin(s) - x[k] * s + x[k + 1] * np.cos(s) * 0.5)
    return s


def test_a_trace_visits_few_turns_however_many_there_are() -> None:
    graphs = [wg.trace(lambda x, n=n: _walk(x, n))(_X) for n in (1_000, 1_000_000)]
    assert all(len(graph.equations) < 200 for graph in graphs)
    found = wg.jit(lambda x: _walk(x, 1_000))(_X)
    np.testing.assert_allclose(found, _walk(_X, 1_000), rtol=1e-11)


def test_loops_of_few_operations_stay_as_they_are() -> None:
    assert not _is_loop(wg.trace(lambda x: _walk(x, 10))(_X))
