"""Fusion of long programs: what Python's loops leave behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import check
from tests.engine.nest.interpreting import Interpreter
from wengert.compiler.passes import fuse, fuse_consumers
from wengert.engine.core.dtypes import FLOAT64
from wengert.engine.machine import costs
from wengert.engine.nest.expression import Apply, Buffer, Expression, Load, Rewriter
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.nest import Loop, Nest, Program, Store


def path(x: Any, steps: int) -> Any:
    """Return a recurrence, stacked at its end."""
    found = []
    for _ in range(steps):
        x = 0.9 * x + 1.0
        found.append(x)
    return np.stack(found)


def orbit(p: Any, steps: int) -> Any:
    """Return a sum along the path of two populations, by the method of Runge and Kutta."""

    def slope(y: Any) -> Any:
        return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

    y, total = np.stack([p[0] * 0 + 10.0, p[0] * 0 + 5.0]), 0.0
    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + 0.01 * k1)
        k3 = slope(y + 0.01 * k2)
        y = y + 0.02 / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + 0.02 * k3))
        total = total + np.sum(y**2)
    return total


def written(x: Any) -> Any:
    """Return a recurrence, written element by element."""
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


def rolled(u: Any, steps: int) -> Any:
    for _ in range(steps):
        u = u + 0.1 * (np.roll(u, 1, 0) + np.roll(u, -1, 0) - 2 * u)
    return u


def basis(x: Any, n: int) -> Any:
    """Return many functions of the same numbers, in one array: their derivatives all go into one sum."""
    return np.stack([np.sin(x * k) * np.exp(-x / (k + 1)) for k in range(n)])


LONG: dict[str, tuple[Callable[..., Any], Any]] = {
    "stacked": (lambda x: path(x, 600), 1.0),
    "stacked rows": (lambda x: path(x, 300), np.arange(3.0)),
    "derivative of an error": (wg.grad(lambda x: np.mean((path(x[0], 300) - 7.0) ** 2)), np.ones(1)),
    "pieces": (lambda x: np.concatenate(np.split(x, 500)), np.arange(1000.0)),
    "windows": (lambda x: np.concatenate([x[i : i + 2] for i in range(300)]), np.arange(302.0)),
    "written": (written, np.arange(300.0)),
    "basis": (wg.grad(lambda x: np.sum(basis(x, 60) ** 2)), np.linspace(0.1, 1.0, 4)),
    "rolled": (lambda u: rolled(u, 30), np.arange(12.0).reshape(4, 3)),
}


@pytest.mark.parametrize("name", LONG)
def test_long_programs_are_compiled(name: str) -> None:
    check(*LONG[name], ulp=200)


def test_a_list_of_many_numbers_is_an_argument() -> None:
    check(lambda w, y: w - y, np.ones(400), [1.0] * 400)


PROGRAMS: dict[str, Callable[[int], tuple[Callable[[Any], Any], Any]]] = {
    "orbit": lambda n: (wg.value_and_grad(lambda p: orbit(p, n)), np.array([1.0, 0.1, 0.05, 0.8])),
    "error": lambda n: (wg.grad(lambda x: np.mean((path(x, 10 * n) - 7.0) ** 2)), 1.0),
    "written": lambda n: (wg.value_and_grad(lambda x: np.sum(written(x) ** 2)), np.arange(10.0 * n)),
    "basis": lambda n: (wg.grad(lambda x: np.sum(basis(x, 8 * n) ** 2)), np.ones(5)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_work_grows_with_the_length_of_a_program(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the steps take about twice the nodes rebuilt and pairs of nests looked at."""
    counted = 0

    def counting(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            nonlocal counted
            counted += 1
            return function(*arguments)

        return wrapped

    monkeypatch.setattr(Rewriter, "_rebuild", counting(Rewriter._rebuild))
    monkeypatch.setattr(fuse_consumers, "merged_nests", counting(fuse_consumers.merged_nests))
    monkeypatch.setattr(fuse, "_element", counting(fuse._element))
    work: list[int] = []
    for length in (4, 8):
        counted = 0
        function, argument = PROGRAMS[name](length)
        wg.jit(function).nests(argument)
        work.append(counted)
    assert work[1] < 2.6 * work[0]


def test_a_diagonal_is_no_column() -> None:
    """One dimension cannot be renamed to two dimensions of another nest."""
    x, made, last = Buffer(FLOAT64, (3,)), Buffer(FLOAT64, (3, 3)), Buffer(FLOAT64, (3,))
    turn, i, k = Dim(3), Dim(3), Dim(3)
    column = Nest((i,), (Store(made, (Index.of(i), Index.of(turn)), Load(x, (Index.of(i),))),))
    value: Expression = Load(made, (Index.of(k), Index.of(k)))
    for _ in range(5):
        value = Apply("add", (value, Load(x, (Index.of(k),))), FLOAT64)
    diagonal = Nest((k,), (Store(last, (Index.of(k),), value),))
    program = Program((x,), (), (last, made), (Loop(turn, False, (column, diagonal)),))
    for found, expected in zip(
        Interpreter(fuse.fuse(program))(np.arange(3.0)), Interpreter(program)(np.arange(3.0)), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_nothing_is_done_for_no_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of values that are each used twice must not double at each link."""
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, rerolled_turns=1000))

    def function(x: Any) -> Any:
        y = x
        for _ in range(60):
            x, y = np.sin(x) * np.cos(y) + y, np.sin(y) - np.cos(x) * x
        return x, np.sum(y)

    compiled = wg.jit(function)
    assert len(compiled.report(np.ones((3, 0))).nests) == 1
    check(function, np.ones((3, 0)), compiled=compiled)


@pytest.mark.parametrize(("rows", "kept"), [(100, True), (1000, False)])
def test_what_leaves_the_caches_is_computed_again(rows: int, kept: bool) -> None:
    """A pass over an array of megabytes costs more than some operations on each element."""

    def centred_twice(x: Any, w: Any) -> Any:
        y = (x - np.mean(x, -1, keepdims=True)) * w * x + x
        return y - np.mean(y, -1, keepdims=True)

    x, w = np.random.default_rng(5).normal(size=(2, rows, 1200)).astype(np.float32)
    compiled = wg.jit(centred_twice)
    assert (compiled.report(x, w[0]).arena >= x.nbytes) is kept
    np.testing.assert_allclose(compiled(x, w[0]), centred_twice(x, w[0]), rtol=1e-4, atol=1e-4)


def _eliminated(a: Any, corner: bool) -> Any:
    r = a.copy()
    for k in range(len(a)):
        v = r[k:, k].copy()
        v /= np.sqrt(v @ v) + 1.0
        if corner:
            r[k:, k:] -= 2.0 * np.outer(v, v @ r[k:, k:])
        else:
            r[k:, : k + 1] += np.outer(v, v @ r[k:, : k + 1])
    return r


@pytest.mark.parametrize("corner", [True, False])
def test_conditions_on_positions_stand_where_loops_leave_them_out(corner: bool) -> None:
    def function(a: Any) -> Any:
        if np.sum(a) < -1e300:
            raise ValueError("so large")
        return _eliminated(a, corner)

    a = np.random.default_rng(3).normal(size=(12, 12))
    compiled = wg.jit(function)
    check(function, a, ulp=2000, scale=1.0, compiled=compiled)
    assert ">= (" in str(compiled.nests(a))
    assert not any("] = ((" in line for line in str(compiled.nests(a)).splitlines()), "no mask is stored"
