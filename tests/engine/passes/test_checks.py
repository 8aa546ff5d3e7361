"""Checks of what may raise an exception: each condition is checked once, and not where bounds show that it holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from wengert.engine.passes.checks import drop_checks
from wengert.engine.transforms.math_functions import of_math

CERTAIN: dict[str, Callable[[Any], Any]] = {
    "sum of squares": lambda x: math.sqrt(x * x + 2.0 * x**2),
    "positive": lambda x: math.log(1.0 + x * x) + math.acosh(3.0 + abs(x)),
    "bell": lambda x: math.exp(-x * x) + math.exp(-0.5 * (x / 3.0) ** 2) + math.exp(-(x * x) / 2.0),
    "exponential": lambda x: math.log1p(math.exp(-abs(x))),
    "bounded": lambda x: math.acos(0.25 * math.tanh(x) + 0.2 * np.sin(x)),
}
UNCERTAIN: dict[str, Callable[[Any], Any]] = {
    "difference": lambda x: math.sqrt(x * x - 1.0),
    "underflow": lambda x: math.log(math.exp(-abs(x))),
    "zero": lambda x: math.log(x * x),
    "edge": lambda x: math.acosh(1.0 + x * x * 0.0),
    "infinity": lambda x: math.sin(x * x),
    "cube": lambda x: math.sqrt(abs(x) * x),
}


def checks(function: Callable[..., Any], *arguments: Any) -> int:
    return str(drop_checks(wg.trace(function)(*arguments))).count("require_valid")


@pytest.mark.parametrize("name", CERTAIN)
def test_no_check_of_what_holds(name: str) -> None:
    assert checks(CERTAIN[name], 2.0) == 0
    assert checks(wg.vmap(CERTAIN[name]), np.ones(3)) == 0


@pytest.mark.parametrize("name", UNCERTAIN)
def test_a_check_of_what_may_not_hold(name: str) -> None:
    assert checks(UNCERTAIN[name], 2.0) == 1


@pytest.mark.parametrize("function", [math.sqrt, math.log, math.exp, lambda x: math.atanh(x) ** 2])
def test_derivatives_check_once(function: Any) -> None:
    for transform in (wg.grad, wg.value_and_grad, lambda f: wg.grad(wg.grad(f)), wg.derivative):
        assert checks(transform(lambda x: function(x) * function(2.0 * x)), 0.3) == 2


def test_a_part_of_a_program_keeps_what_an_output_depends_on() -> None:
    def turn(carry: Any, x: Any) -> Any:
        root = math.sqrt(x)
        return carry + root, root * 2.0

    def program(x: Any) -> Any:
        return wg.scan(turn, 0.0, x)

    compiled = wg.jit(lambda x: program(x)[1]), wg.jit(lambda x: program(x)[0]), wg.jit(program)
    for function in compiled:
        function(np.ones(3))
        with pytest.raises(ValueError, match="math domain error"):
            function(-np.ones(3))


_OPERATIONS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x * x,
    lambda x, y: -x * x,
    lambda x, y: -y,
    lambda x, y: abs(x),
    lambda x, y: x / (1.0 + y * y),
    lambda x, y: np.maximum(x, 0.5 * y),
    lambda x, y: np.exp(-y * y),
    lambda x, y: np.tanh(x),
    lambda x, y: 1.5 - x,
)
_ENDS = (math.sqrt, math.log, math.exp, math.acos, math.acosh, math.log1p, math.atanh)


@given(
    st.lists(
        st.tuples(st.sampled_from(range(len(_OPERATIONS))), st.integers(0, 9), st.integers(0, 9)), max_size=6
    ),
    st.sampled_from(_ENDS),
    st.lists(st.floats(allow_nan=True), min_size=2, max_size=2),
)
def test_no_check_is_dropped_that_fails(steps: list[tuple[int, int, int]], end: Any, at: list[float]) -> None:
    def program(x: Any, y: Any) -> Any:
        values = [x, y]
        for number, first, second in steps:
            values.append(_OPERATIONS[number](values[first % len(values)], values[second % len(values)]))
        return values[-1]

    def whole(x: Any, y: Any) -> Any:
        return end(program(x, y))

    with np.errstate(all="ignore"):
        graph = drop_checks(wg.trace(whole)(1.0, 1.0))
        if "require_valid" not in str(graph):
            end(float(program(*map(np.float64, at))))
            assert of_math(end) is not None
