"""Errors of types and known numbers in a branch or a loop: only a run that comes there raises them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many


def lengths_differ(x):
    if x[0] > 0:
        return (x + np.zeros(5)).sum()
    return (x * x).sum()


def inner_dimensions_differ(x):
    total = 0.0
    for value in x:
        if value > 2:
            total = total + x @ np.ones(5)
        total = total + value * value
    return total


def no_square_matrix(x):
    while x[0] > 0:
        x = np.linalg.inv(x)
    return (x * x).sum()


def complex_element(x):
    if x[0] > 2:
        x[1] = 1j
    return (x * x).sum()


def index_out_of_range(x):
    if x[0] > 2:
        return x[9]
    return (x * x).sum()


def axis_out_of_range(x):
    return x.sum(axis=1) if x[0] > 2 else (x * x).sum()


def outcome(function: Callable[..., Any], x: np.ndarray) -> Any:
    try:
        return np.asarray(function(x.copy())).tolist()
    except (ValueError, TypeError, IndexError) as problem:
        return next(kind for kind in (ValueError, TypeError, IndexError) if isinstance(problem, kind))


@pytest.mark.parametrize("factor", [-1.0, 3.0])
@pytest.mark.parametrize(
    "program",
    [
        lengths_differ,
        inner_dimensions_differ,
        no_square_matrix,
        complex_element,
        index_out_of_range,
        axis_out_of_range,
    ],
)
def test_a_branch_that_is_not_taken_raises_nothing(program: Callable[..., Any], factor: float) -> None:
    x = factor * np.ones(4)
    expected = outcome(program, x)
    assert isinstance(expected, type) == (factor > 0)
    assert outcome(wg.jit(program), x) == expected
    gradient = expected if factor > 0 else (2 * x).tolist()
    assert outcome(wg.jit(wg.grad(program)), x) == gradient
    batched = expected if factor > 0 else [expected, expected]
    assert outcome(wg.vmap(program), np.stack([x, x])) == batched


def damped(x):
    for _ in range(60):
        if x[0] > 1.0:
            x = x / 2.0
        x = np.sin(x) + 0.1 * np.cos(x)
    return (x * x).sum()


def scanned(x):
    def turn(carry, _):
        carry = np.sin(carry)
        return carry, carry * 2.0

    last, rows = wg.scan(turn, x, None, length=60)
    return (rows * last).sum()


@pytest.mark.parametrize("program", [damped, scanned])
@pytest.mark.parametrize(
    "transform", [lambda f: f, wg.grad, wg.value_and_grad], ids=["value", "grad", "both"]
)
def test_each_operation_of_a_loop_keeps_its_line(
    program: Callable[..., Any], transform: Callable[..., Any]
) -> None:
    first = program.__code__.co_firstlineno
    text, count = inspect.getsource(program), 0
    for location, operations in wg.jit(transform(program)).report(np.ones(3)).lines.items():
        line = text.splitlines()[int(location.rpartition(":")[2]) - first] if ":" in location else ""
        assert operations == 0 or any(sign in line for sign in "*/>") or "sin" in line, location
        count += operations > 0
    assert count >= 3


def branches_in_branches(x):
    if x > 5:
        return np.sin(x)
    elif x > 3:
        if x > 4:
            raise ValueError(f"{x} is large")
        elif x > 3.5:
            raise KeyError("middle")
        else:
            raise RuntimeError("low")
    elif x > 2:
        raise TypeError("two")
    else:
        raise IndexError("small")


def behind_another(x):
    if x > 4:
        raise RuntimeError("first")
    if x > 1:
        if x > 2.5:
            raise ValueError("large")
        else:
            raise KeyError("small")
    return x * 2


def in_a_loop(x):
    total = np.zeros(2)
    for k in range(8):
        total[1] = x * k
        if total[1] > 9:
            total[0] = 1.0
            if x > 3:
                raise ValueError(f"turn {k}")
            else:
                raise KeyError(f"turn {k}")
    return total.sum()


def in_a_function(x):
    if x < 3:
        always(x)
    return x * 3


def always(x):
    if x > 2:
        raise ValueError("large")
    else:
        raise KeyError("small")


@pytest.mark.parametrize("program", [branches_in_branches, behind_another, in_a_loop, in_a_function, always])
def test_branches_may_both_raise(program: Callable[..., Any]) -> None:
    def told(run: Callable[..., Any], x: float) -> str:
        try:
            return f"{run(x):.12g}"
        except Exception as problem:
            return repr(problem)

    for transform in (lambda f: f, wg.grad):
        compiled = wg.jit(transform(program))
        for x in np.random.default_rng(0).uniform(0.5, 6.0, many(30)):
            assert told(compiled, x) == told(transform(program), x)
