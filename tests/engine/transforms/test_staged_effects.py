"""Conditions and generator expressions that change something, or may raise an exception: as often as Python."""
# ruff: noqa: B007, SIM300 (the statements are what the tests are about)

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([0.3, -1.2, 0.7, 2.5])


def condition_counts(x):
    calls, turns = 0, 0

    def positive(v):
        nonlocal calls
        calls += 1
        return v > 0

    while positive(x[0] - 0.1 * turns) and turns < 9:
        turns += 1
    return calls, turns


def joined_condition_counts(x):
    calls, turns = 0, 0

    def positive(v):
        nonlocal calls
        calls += 1
        return v > 0

    while turns < 2 and ((positive(-x[0]) and x[1] > 5) or positive(x[3])):
        turns += 1
    else:
        turns = -turns
    return calls, turns


def condition_writes(x):
    y, turns = np.zeros(3), 0

    def small():
        y[0] += x[0]
        return y[0] < 2

    while small():
        turns += 1
        y[1] += y[0]
    return y, turns


def condition_changes_a_list(x):
    held, turns = [0.0, x[0]], 0

    def small():
        held[0] = held[0] + 0.5 * x[0]
        return held[0] < 2

    while small():
        turns += 1
        if turns > 5:
            break
        held = [held[1], held[0]]
    return held[0], turns


def condition_raises(x):
    def is_less(v):
        if v > 2:
            raise ValueError("too large")
        return v < 10 * x[0]

    k = 0.0
    while is_less(k):
        k += 1
    return k + x[0]


def condition_reads_behind_the_end(x):
    k = 0
    while x[k] < 5 * abs(x[0]):
        k += 1
    return k + x[0]


def condition_in_a_loop(x):
    calls, s = 0, 0.0

    def goes_on(v):
        nonlocal calls
        calls += 1
        return v < x[3]

    for i in range(6):
        k = 0
        while goes_on(k * abs(x[1])) and k < i:
            k += 1
            s = s + k * x[0]
    return calls, s


def turn_that_always_raises(x):
    s, k = 0.0, 0
    while not s < x[0]:
        for i in range(k % 3, k % 6):
            s += 1
        s = s + i
    return s + x[0]


def any_ends_early(x):
    calls = 0

    def positive(v):
        nonlocal calls
        calls += 1
        return v > 0.5

    found = any(positive(v) for v in x)
    fails = all(positive(v) for v in x)
    return calls, 1 if found else 0, 1 if fails else 0


def any_raises(x):
    def positive(v):
        if v > 2:
            raise ValueError("too large")
        return v > 0.5

    return 1.0 if any(positive(v) for v in x) else x[0]


def sum_of_some(x):
    return sum(v * v for v in x if v > 0) + sum(2 * i for i, v in enumerate(x) if 0 < v if v < 2)


def quantifiers_with_conditions(x):
    s = x[0]
    if any(v > w + 2 for k, v in enumerate(x) for w in x[:k] if w < 0):
        s = s + 1
    for k in range(4):
        if all(x[k] >= v for v in x[:k] if v > 0):
            s = s + x[k]
    return s


PROGRAMS = [
    condition_counts,
    joined_condition_counts,
    condition_writes,
    condition_changes_a_list,
    condition_raises,
    condition_reads_behind_the_end,
    condition_in_a_loop,
    turn_that_always_raises,
    any_ends_early,
    any_raises,
    sum_of_some,
    quantifiers_with_conditions,
]


def _outcome(function: Callable[..., Any], x: Any) -> Any:
    try:
        return function(x)
    except IndexError:
        return "IndexError"
    except (ValueError, ArithmeticError, UnboundLocalError) as problem:
        return f"{type(problem).__name__}: {problem}"


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("factor", [1.0, 0.1, -1.0])
def test_effects_are_pythons(program: Callable[..., Any], factor: float) -> None:
    if program is condition_writes or program is condition_changes_a_list:
        factor = abs(factor)  # they end
    expected, found = _outcome(program, factor * X), _outcome(wg.jit(program), factor * X)
    if isinstance(expected, str):
        assert found == expected
        return
    parts = zip(expected, found, strict=True) if isinstance(expected, tuple) else [(expected, found)]
    for one, other in parts:
        np.testing.assert_allclose(other, one, rtol=1e-12)


@pytest.mark.parametrize(
    "program", [condition_in_a_loop, condition_writes, sum_of_some, quantifiers_with_conditions]
)
def test_derivatives_of_effects_equal_eager_ones(program: Callable[..., Any]) -> None:
    def total(x: Any) -> Any:
        found = program(x)
        return sum((np.sum(part) for part in found), 0.0) if isinstance(found, tuple) else found

    np.testing.assert_allclose(wg.jit(wg.grad(total))(X), wg.grad(total)(X), rtol=1e-12)


def guarded(x, n):
    if n >= len(x):
        raise ValueError(f"{n} is too large")
    return x[n]


def guarded_writes(x, n):
    y = np.zeros(3)
    if x[0] < 0:
        raise ArithmeticError("negative")
    y[n] = x[1]
    return np.sum(y * x[:3])


@pytest.mark.parametrize("program", [guarded, guarded_writes])
@pytest.mark.parametrize("n", [1, 3, 7])
@pytest.mark.parametrize("factor", [1.0, -1.0])
def test_a_call_raises_the_first_exception(program: Callable[..., Any], n: int, factor: float) -> None:
    for function in (program, wg.grad(program)):
        expected = _outcome(partial(function, n=n), factor * X)
        found = _outcome(partial(wg.jit(function), n=n), factor * X)
        if isinstance(expected, str):
            assert found == expected
        else:
            np.testing.assert_allclose(found, expected)


class Model:
    def __init__(self, x):
        self.y = x.copy()
        self.held = [1.0, 2.0]


def list_or_another(x):
    state = {"l": [1.0, x[1]]}
    if x[0] > 0:
        state["l"][0] += x[0]
    else:
        state["l"] = state["l"][::-1]
    return state["l"][0], state["l"][1]


def array_or_another(x):
    state = {"y": x.copy(), "o": {"l": [x[0]]}}
    if x[0] > 0:
        state["y"][1:][0] += 1
        state["o"]["l"][0] *= 2
    elif x[1] > 0:
        state["y"], state["o"] = state["y"][::-1] * 1, {"l": [5.0]}
    else:
        state["y"][2] = 0.0
    return state["y"], state["o"]["l"][0]


def attributes(x):
    model = Model(x)
    for v in x:
        if v > 0.5:
            model.held[1] += v
        else:
            model.held = [model.held[1], model.held[0]]
    if x[0] > 0:
        model.y[0] += 1
    else:
        model.y = model.y * 2
    return model.y, model.held[0], model.held[1]


def view_or_another(x):
    state = {"y": x.copy()}
    state["v"] = state["y"][1:]
    if x[0] > 0:
        state["y"][1] += 1
    else:
        state["v"] = x[:3] * 2
    return state["y"], state["v"]


def tuple_or_another(x):
    state = {"t": ([1.0, 2.0], x[0])}
    if x[0] > 0:
        state["t"][0][0] = x[1]
    else:
        state["t"] = ([x[2], 3.0], x[1])
    return state["t"][0][0], state["t"][0][1], state["t"][1]


@pytest.mark.parametrize(
    "program", [list_or_another, array_or_another, attributes, view_or_another, tuple_or_another]
)
@pytest.mark.parametrize("factor", [1.0, -1.0])
def test_one_branch_changes_what_the_other_replaces(program: Callable[..., Any], factor: float) -> None:
    parts = zip(program(factor * X), wg.jit(program)(factor * X), strict=True)
    for expected, found in parts:
        np.testing.assert_allclose(found, expected)


def with_a_default(x, n):
    try:
        found = x[n]
    except IndexError:
        found = -1.0
    return found


def inverse_or_zero(matrix):
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return 0.0 * matrix


def test_an_example_catches_its_own_error() -> None:
    xs, ns = np.stack([X, 2 * X]), np.array([7, 1])
    np.testing.assert_array_equal(wg.vmap(with_a_default)(xs, ns), [-1.0, 2 * X[1]])
    np.testing.assert_array_equal(wg.vmap(wg.grad(with_a_default))(xs, ns), [[0, 0, 0, 0], [0, 1, 0, 0]])
    nested = wg.vmap(wg.vmap(with_a_default))(np.stack([xs, xs]), np.array([[7, 1], [2, 3]]))
    np.testing.assert_array_equal(nested, [[-1.0, 2 * X[1]], [X[2], 2 * X[3]]])
    matrices = np.stack([2.0 * np.eye(2), np.zeros((2, 2))])
    np.testing.assert_array_equal(wg.vmap(inverse_or_zero)(matrices), [0.5 * np.eye(2), np.zeros((2, 2))])
    with pytest.raises(IndexError, match="out of bounds"):
        wg.vmap(lambda x, n: x[n])(xs, ns)


def refusing(x):
    if x[0] > 0:
        raise ValueError("positive")
    return x


_EMPTY = {"an empty array": lambda x: refusing(x)[:0], "two": lambda x: (refusing(x)[:0], np.zeros((0, 3)))}


@pytest.mark.parametrize("program", [*_EMPTY.values()], ids=[*_EMPTY])
def test_a_program_whose_results_have_no_elements_loses_no_exception(program: Callable[..., Any]) -> None:
    with pytest.raises(wg.errors.StagingError, match="returns no number"):
        wg.jit(program)(X)
    with pytest.raises(ValueError, match="positive"):
        wg.jit(lambda x: (program(x), x))(np.abs(X))
    assert wg.jit(wg.vmap(lambda x: refusing(x)[0]))(np.zeros((0, 2))).shape == (0,)
