"""Scalars of loops: which ones lie on the stack, and that LLVM finds registers for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.graphs import compile_graph
from wengert.compiler.schedule.registers import loop_scalars
from wengert.engine.core import tree
from wengert.engine.machine import costs

NUMBERS = np.linspace(0.1, 4, 40)


def roots(numbers: Any) -> Any:
    """Newton's method in a loop over numbers."""

    def root(total: Any, a: Any) -> Any:
        x = wg.while_loop(lambda x: np.abs(x * x - a) > 1e-12, lambda x: 0.5 * (x + a / x), a + 1.0)
        return total + x, x

    return wg.scan(root, numbers[0] * 0, numbers)


def collatz(numbers: Any) -> Any:
    def steps(n: Any) -> Any:
        def turn(state: Any) -> Any:
            m, count = state
            return np.where(m % 2 == 0, m // 2, 3 * m + 1), count + 1

        return wg.while_loop(lambda state: state[0] != 1, turn, (n, n * 0))[1]

    return wg.scan(
        lambda most, n: (np.maximum(most, steps(n)), None), 0, np.arange(1, 30) + numbers[0].astype(int)
    )[0]


def branching(numbers: Any) -> Any:
    def turn(i: Any, state: Any) -> Any:
        a, b = state
        a, b = wg.cond(a > b, lambda a, b: (a - b, b), lambda a, b: (b, a * 0.5), a, b)
        return a + numbers[i], b

    return wg.fori_loop(0, 40, turn, (numbers[0], numbers[1]))


def by_reference(numbers: Any) -> Any:
    """Carry a scalar that NumPy's function of a matrix reads."""

    def turn(i: Any, total: Any) -> Any:
        return total + np.linalg.eigvalsh(np.outer(numbers[:4], numbers[:4]) * total + numbers[i])[-1]

    return wg.fori_loop(0, 3, turn, 1.0)


PROGRAMS = [roots, collatz, branching, by_reference, wg.grad(lambda x: sum(branching(x)))]


def module_of(function: Callable[..., Any]) -> Any:
    return compile_graph(wg.jit(function).graph(NUMBERS)).module


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("most", [64, 1, 0])
def test_any_number_of_scalars_may_lie_on_the_stack(
    function: Callable[[Any], Any], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, loop_scalars=most))
    module = module_of(function)
    assert len(module.memory.scalars) <= most
    assert not set(module.memory.scalars) & set(module.memory.places)
    expected, actual = function(NUMBERS), wg.jit(function)(NUMBERS)
    for x, y in zip(tree.leaves(expected), tree.leaves(actual), strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-13)


def test_results_and_operands_of_numpy_lie_elsewhere() -> None:
    for function in PROGRAMS:
        program = module_of(function).program
        assert not set(loop_scalars(program)) & program.outside()
    assert len(loop_scalars(module_of(roots).program)) == 3  # the total, the root, and whether it goes on


def test_the_loop_calls_no_nest() -> None:
    text = wg.jit(roots).assembly(NUMBERS)
    main = text[re.search(r"^main:", text, re.MULTILINE).start() :]  # pyright: ignore[reportOptionalMemberAccess]
    division = main.index("div")
    assert "nest" not in main[division - 400 : division + 400]
