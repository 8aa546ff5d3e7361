"""Every pass on nests leaves what a program computes as it was."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.engine.nest.interpreting import Interpreter
from wengert import nn
from wengert.compiler.llvm.host import named
from wengert.compiler.pipeline import LOWERED, PASSES, stages
from wengert.compiler.unit import Options, Unit
from wengert.engine.core import tree
from wengert.engine.ir.types import type_of
from wengert.engine.machine import costs
from wengert.engine.nest.nest import Program
from wengert.engine.nest.printer import text
from wengert.engine.transforms.staging import stage

RNG = np.random.default_rng(0)
#: A processor with caches so small that a small program outgrows them.
TINY = named("avx2")._replace(level1=256, level2=512)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the passes for large programs change small ones."""
    model = replace(
        costs.COSTS,
        blocked_sum_terms=2,
        blocked_nests=2,
        blocked_loop_work=50,
        bordered_sum_work=50,
        bordered_copy_work=1,
        bordered_terms_share=0.2,
        split_reduction_work=50,
        long_sum_terms=20,
        partial_sum_terms=8,
        streamed_map_elements=20,
        split_extent=8,
        split_piece_extent=2,
    )
    monkeypatch.setattr(costs, "COSTS", model)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape)


def network(params: Any, x: Any, labels: Any) -> Any:
    hidden = nn.max_pool(nn.relu(nn.convolve(x, params["filters"], padding=1)), 2).reshape(len(x), -1)
    logits = hidden @ params["weight"] + params["bias"]
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - shifted[np.arange(len(x)), labels])


def network_step(params: Any, x: Any, labels: Any) -> Any:
    value, gradient = wg.value_and_grad(network)(params, x, labels)
    return {name: params[name] - 0.1 * gradient[name] for name in params}, value


def recurrent(w: Any, xs: Any) -> Any:
    def cell(h: Any, x: Any) -> Any:
        h = np.tanh(x @ w[:2] + h @ w[2:])
        return h, h[:, ::-1]

    last, stack = wg.scan(cell, np.zeros((xs.shape[1], 3)), xs)
    return np.sum(last**2) + np.sum(stack * np.arange(3.0))


def shapes(x: Any, y: Any) -> Any:
    z = np.concatenate([np.pad(x, ((0, 1), (2, 0))), y[::-1]], axis=0)
    return np.roll(z, 1, 0).reshape(2, -1).T[::2], np.cumsum(z, 0)[1:, ::2], np.sort(z, axis=0)


def loops(x: Any) -> Any:
    y = wg.while_loop(lambda c: np.sum(c) < 50, lambda c: c * 1.5 + np.flip(c), np.abs(x))
    z = wg.cond(y[0] > y[1], lambda a: np.cumsum(a), lambda a: a - x, y)
    return wg.fori_loop(0, 3, lambda i, c: wg.fori_loop(0, 2, lambda j, d: d * 0.5 + y[i] + j, c) + x, z)


def writes(x: Any, i: Any) -> Any:
    z = x * 2
    z[1:3] += x[:2]
    z[i] = x[0]
    return z, z[i][::-1], wg.grad(lambda x: np.sum(x[i] ** 2))(x)


def path(x: Any) -> Any:
    def turn(i: Any, y: Any) -> Any:
        y[i + 1] = np.sin(y[i]) * x[i]
        return y

    return np.sum(wg.fori_loop(0, len(x) - 1, turn, x * 1.0) ** 2)


def columns(x: Any) -> Any:
    """Parts of columns that turns change, with elements of other columns and of their own."""

    def turn(k: Any, y: Any) -> Any:
        y, below = y.copy(), np.arange(20) >= k
        y[:, k] = np.where(below, y[:, k] - y[:, 0] * y[k, k], y[:, k])
        y[k] = np.where(below, y[k] * 0.5 + 0.1, y[k])
        return y

    return wg.fori_loop(1, 4, turn, np.outer(x, x))


def differences(x: Any) -> Any:
    return wg.value_and_grad(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))(x)


def neighbours(x: Any) -> Any:
    for _ in range(4):
        x = np.tanh(np.exp(-x * x) + np.concatenate([x[3:], np.zeros(3)]))
    return x


def first_turn(x: Any) -> Any:
    def turn(x: Any, i: Any) -> Any:
        return wg.cond(i > 0, np.sin, lambda x: 2.0 * x, x), None

    return wg.scan(turn, x, np.arange(5))[0]


def rows_written(x: Any) -> Any:
    c = np.zeros_like(x * np.ones((12, 12)))
    for i in range(12):
        c[i, i:] = x[i] * x[i:]
    return c


def elements(x: Any) -> Any:
    """Turns that are independent, with a branch, and turns inside turns that read what others have written."""

    def turn(i: Any, y: Any) -> Any:
        y = y.copy()
        y[i] = wg.cond(x[i] > 0.1, lambda: x[i] * x[i - 1], lambda: 2.0 * x[i])
        return y

    def again(_: Any, y: Any) -> Any:
        def following(j: Any, y: Any) -> Any:
            y = y.copy()
            y[j] = np.sin(y[j - 1] * x[j]) + y[j]
            return y

        return wg.fori_loop(1, 6, following, y)

    return np.sum(wg.fori_loop(0, 3, again, wg.fori_loop(0, 6, turn, np.zeros(6))))


def few_of_each_row(x: Any) -> Any:
    def turn(number: Any, total: Any) -> Any:
        row = x[number]
        return wg.fori_loop(0, 3, lambda place, s: s + row[(2 * place + number) % 6] * s, total)

    return wg.fori_loop(0, 4, turn, 0.1)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[int, int]]] = {
    "network": (
        network_step,
        (
            {"filters": normal(2, 1, 3, 3), "weight": normal(8, 3), "bias": normal(3)},
            normal(20, 1, 4, 4),
            RNG.integers(0, 3, 20),
        ),
        {0: 0, 1: 1, 2: 2},
    ),
    "sharpened": (
        wg.grad(lambda x, filters: np.sum(nn.convolve(x, filters, padding=1) ** 2)),
        (normal(2, 2, 5, 5), normal(3, 2, 3, 3)),
        {},
    ),
    "recurrent": (wg.value_and_grad(recurrent), (normal(5, 3), normal(4, 8, 2)), {}),
    "shapes": (shapes, (normal(3, 4), normal(4, 6)), {}),
    "loops": (loops, (normal(5),), {0: 0}),
    "writes": (writes, (normal(6, 2), np.array([3, -1, 0])), {}),
    "written in turns": (wg.grad(path), (normal(6, 2),), {}),
    "elements": (wg.grad(elements), (normal(6),), {}),
    "columns": (columns, (normal(20),), {}),
    "differences": (differences, (normal(30),), {}),
    "neighbours": (neighbours, (normal(40),), {}),
    "products of all before": (wg.grad(lambda x: np.sum(np.cumprod(x) ** 2)), (normal(31),), {}),
    "cropped": (
        wg.grad(lambda w, x: np.sum(np.tanh((x @ w)[2:-1]) ** 2)),
        (normal(4, 3), normal(9, 4)),
        {},
    ),
    "checked": (
        wg.grad(lambda a, b: np.sum(np.linalg.solve(a, b))),
        (normal(40, 40) + 9.0 * np.eye(40), normal(40, 1)),
        {},
    ),
    "exchanged": (lambda a, b: (b[::-1] + 1, a - b), (normal(5), normal(5)), {0: 0, 1: 1}),
    "a loss and its gradient": (
        wg.value_and_grad(lambda x, y: np.mean((np.tanh(x) - y) ** 2), argnums=(0, 1)),
        (normal(9, 7), normal(9, 7)),
        {},
    ),
    "sums and a map in place": (
        lambda x, y: (x * y, np.sum(x) + np.sum(np.exp(x)), np.sum(x * x, axis=1)),
        (normal(5, 23), normal(5, 23)),
        {0: 0},
    ),
    "layers of relu": (
        wg.grad(lambda x, w: np.sum(np.sin(np.where(x @ w > 0, x @ w, 0.0) @ w) ** 2), argnums=(0, 1)),
        (normal(6, 5), normal(5, 5)),
        {},
    ),
    "a first turn": (first_turn, (normal(3),), {}),
    "few of each row": (wg.grad(few_of_each_row), (normal(4, 6),), {}),
    "rows written": (rows_written, (normal(12),), {}),
    "moments": (lambda x: ((x - x.mean(0)) / x.std(0), np.argmax(x, 1), x.max()), (normal(8, 3),), {}),
}


@functools.cache
def passed(name: str) -> tuple[list[Any], list[tuple[str, Program]]]:
    """Return the leaves of a program's arguments, and the nests after each pass on nests."""
    function, arguments, places = PROGRAMS[name]
    leaves, structure = tree.flatten(arguments)

    def flat(*values: Any) -> list[Any]:
        return tree.leaves(function(*tree.unflatten(structure, values)))

    graph = stage(flat, tuple(map(type_of, leaves)))[0]
    units = stages(Unit(graph, places, TINY, Options()), LOWERED)
    return leaves, [(name, unit.program) for name, unit in units if unit.nests is not None]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_stay_as_they_are(name: str) -> None:
    leaves, programs = passed(name)
    function, arguments, _ = PROGRAMS[name]
    expected = tree.leaves(function(*tree.map_tree(np.array, arguments)))
    carried_out = ""
    for step, program in programs:
        if text(program) == carried_out:
            continue
        carried_out = text(program)
        for result, other in zip(Interpreter(program)(*leaves), expected, strict=True):
            np.testing.assert_allclose(result, other, rtol=1e-9, atol=1e-12, err_msg=f"after {step}")


@pytest.mark.usefixtures("small")
def test_every_pass_changes_a_program() -> None:
    active: set[str] = set()
    for name in PROGRAMS:
        programs = passed(name)[1]
        active |= {step for (_, before), (step, after) in pairwise(programs) if text(before) != text(after)}
    names = [step.name for step in PASSES]
    on_nests = names[names.index("lower") + 1 : names.index(LOWERED) + 1]
    assert active == set(on_nests) - {"value_checks"}
