"""Lists whose places or lengths only a run knows: compiled, programs compute what Python does, or are refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from tests.engine.transforms.random_lists import Lists, program_of
from wengert.errors import StagingError

_COUNT = many(160)
_X = np.array([0.3, -0.8, 0.5, 0.9, -0.4, 0.7])
ARGUMENTS = [(_X, 0.4, 6, 2), (_X, -0.7, 9, 4)]


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return wg.tree.leaves(function(*arguments))
    except StagingError:
        return None
    except Exception as problem:
        return type(problem), str(problem)


def assert_same(found: Any, expected: Any, source: str, atol: float = 1e-12) -> None:
    if isinstance(expected, tuple) or isinstance(found, tuple):
        # A turn that is traced may meet an exception behind the one that a run would raise.
        assert found[0] == expected[0], source
        return
    for one, other in zip(found, expected, strict=True):
        # Of numbers of several types, one of which only a run knows takes the widest.
        assert "bif".index(np.asarray(one).dtype.kind) >= "bif".index(np.asarray(other).dtype.kind), source
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=atol, err_msg=source)


@pytest.mark.parametrize("seed", range(_COUNT))
def test_random_programs_of_lists_are_pythons(seed: int) -> None:
    source = Lists(seed).source()
    program = program_of(source, f"lists {seed}")
    compiled = wg.jit(program)
    for arguments in ARGUMENTS:
        expected, found = outcome(program, *arguments), outcome(compiled, *arguments)
        if found is not None:
            assert_same(found, expected, source)


@pytest.mark.parametrize("seed", range(_COUNT // 4))
def test_gradients_of_random_programs_of_lists_are_the_eager_ones(seed: int) -> None:
    source = Lists(seed + 10_000).source()
    program = program_of(source, f"slopes of lists {seed}")

    def total(x: Any, a: Any, n: Any, k: Any) -> Any:
        parts = [np.sum(part) for part in wg.tree.leaves(program(x, a, n, k))]
        return sum(np.sin(part) for part in parts) + 0.0 * a

    slope = wg.grad(total, argnums=(0, 1))
    compiled = wg.jit(slope)
    for arguments in ARGUMENTS:
        expected, found = outcome(slope, *arguments), outcome(compiled, *arguments)
        if found is not None:
            assert_same(found, expected, source, 1e-9)


def test_few_random_programs_of_lists_are_refused() -> None:
    refused = 0
    for seed in range(8):
        program = program_of(Lists(seed + 20_000).source(), f"refused lists {seed}")
        refused += outcome(wg.trace(program), *ARGUMENTS[0]) is None
    assert refused < 5


# -- names, exceptions and lengths -----------------------------------------------------------------------


def shared_rows(x: float, n: int) -> Any:
    grid = [[0.0] * 3] * 2
    grid[n][1] = x
    return grid[0][1], grid[1][1]


def two_names(x: float, n: int) -> Any:
    a = [x, 2 * x, 3 * x]
    b = a
    a[n] = 7.0
    for i in range(10):
        b[(n + i) % 3] += 1.0
    return sum(a), a[0], b[n]


def another_name_reads(x: float, n: int) -> Any:
    one = [x]
    other = one
    for _ in range(10):
        one.append(other[-1] * 0.5)
    return len(other), other[n]


class _Holder:
    def __init__(self) -> None:
        self.items: list[Any] = []


def attribute(x: float, n: int) -> Any:
    holder = _Holder()
    for i in range(10):
        holder.items.append(x * i + n)
    return np.array(holder.items), holder.items[n]


def method_as_value(x: float, n: int) -> Any:
    found: list[Any] = []
    add = found.append
    for i in range(10):
        add(x * i + n)
    return np.array(found), found[n]


def grow(items: list[Any], factor: float) -> None:
    items.append(factor * items[-1])


def other_function(x: float, n: int) -> Any:
    items = [x]
    for _ in range(10):
        grow(items, 0.9)
    return np.array(items), items[n]


def caught(x: float, n: int) -> Any:
    items, total = [x, x], 0.0
    for i in range(10):
        try:
            total += items[n + i]
        except IndexError:
            total += 1.0
    return total


def array_changes_behind_append(x: float, n: int) -> Any:
    items: list[Any] = []
    s = np.zeros(2)
    for _ in range(10):
        s = s * 0.5
        items.append(s)
        s[0] += x
    return np.array(items), items[n]


def one_array_many_times(x: float, n: int) -> Any:
    items: list[Any] = []
    s = x * np.ones(2)
    for i in range(10):
        s += i
        items.append(s)
    return np.array(items), items[n]


def element_changes(x: float, n: int) -> Any:
    items = [x * np.ones(2)]
    for _ in range(10):
        last = items[-1]
        items.append(last * 0.5)
        last[0] += 1.0
    return np.array(items), items[n]


def emptied(x: float, n: int) -> Any:
    items = [x] * 4
    for i in range(10):
        if i < 2:
            items.pop()
    return len(items) + items[n]


def too_short(x: float, n: int) -> Any:
    items = [x]
    for i in range(10):
        items.append(items[i - n - 5])
    return items[-1]


def popped_too_often(x: float, n: int) -> Any:
    items, t = [x] * 4, 0.0
    for _ in range(10):
        t = t * n + items.pop()
    return t


def grows_before_a_nest(x: float, n: int) -> Any:
    items: list[Any] = []
    for i in range(6):
        for j in range(7):
            items.append(x * i + j * n)
        items.pop()
    return np.array(items), items[n], items[-3]


def in_both_branches(x: float, n: int) -> Any:
    items = [x]
    for _ in range(30):
        if items[-1] > 5:
            items.append(items[-1] - 4.0)
        else:
            items.append(items[-1] * 1.3)
    return sum(items), items[n]


_HELD = [
    *(shared_rows, two_names, another_name_reads, attribute, method_as_value, other_function, caught),
    *(array_changes_behind_append, one_array_many_times, element_changes, emptied, too_short),
    *(popped_too_often, grows_before_a_nest, in_both_branches),
]


@pytest.mark.parametrize("program", _HELD, ids=lambda program: program.__name__)
def test_names_and_exceptions_of_lists_are_pythons(program: Callable[..., Any]) -> None:
    compiled = wg.jit(program)
    for arguments in ((2.0, 1), (0.5, 0)):
        expected, found = outcome(program, *arguments), outcome(compiled, *arguments)
        assert found is not None
        if isinstance(expected, tuple):
            assert found == expected
        else:
            assert_same(found, expected, program.__name__)


def array_changes_behind_the_loop(x: float, n: int) -> Any:
    items: list[Any] = []
    s = x * np.ones(2)
    for _ in range(10):
        s = s * 0.5
        items.append(s)
    s[0] = 100.0
    return np.array(items), items[n]


def element_changes_behind_the_loop(x: float, n: int) -> Any:
    items: list[Any] = []
    s = x * np.ones(2)
    for _ in range(10):
        s = s * 0.5
        items.append(s)
    items[-1][0] = 100.0
    return np.array(items), s, items[n]


@pytest.mark.parametrize("program", [array_changes_behind_the_loop, element_changes_behind_the_loop])
def test_what_only_one_object_could_say_is_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(StagingError):
        wg.jit(program)(2.0, 1)


def test_a_long_loop_that_appends_is_a_loop_of_the_program() -> None:
    def steps(x: Any) -> Any:
        values, slopes = [1.0], [-x]
        for i in range(1, 2000):
            if i == 1:
                y = values[-1] + 0.01 * slopes[-1]
            else:
                y = values[-1] + 0.01 * (1.5 * slopes[-1] - 0.5 * slopes[i - 2])
            values.append(y)
            slopes.append(-x * y + 0.1 * y * y)
        return np.array(values), sum(slopes), len(values)

    assert len(wg.trace(steps)(2.0).equations) < 20
    for one, other in zip(wg.jit(steps)(2.0), steps(2.0), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_long_loop_with_functions_of_math_is_a_loop_of_the_program() -> None:
    def steps(x: Any) -> Any:
        s, t = 0.0, 1.0
        for i in range(2000):
            s = s + math.sin(x[i % 6] * t) * math.exp(-s)
            t = math.sqrt(1.0 + s * s * 0.1)
        return s

    assert len(wg.trace(steps)(_X).equations) < 4
    assert wg.jit(steps)(_X) == pytest.approx(steps(_X), rel=1e-9)
