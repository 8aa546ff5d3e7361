"""Divisions by integers of Python's that only a run knows, against Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.transforms.staging import evaluate

DIVISIONS: list[Any] = [operator.truediv, operator.floordiv, operator.mod, divmod]


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a call, or the text of the exception."""
    try:
        with np.errstate(all="ignore"):
            return function(*arguments)
    except ZeroDivisionError as problem:
        return str(problem)


@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("dividend", [7, -7, 7.5])
def test_a_division_by_an_integer_raises_for_zero(division: Any, dividend: Any) -> None:
    def into(n: Any) -> Any:
        return division(dividend, n)

    def both(x: Any, n: Any) -> Any:
        return division(x, n)

    for n in (3, -2, 0):
        expected = outcome(into, n)
        assert outcome(wg.jit(into), n) == expected
        assert outcome(wg.jit(both), dividend, n) == expected


def count_quotient(x: Any) -> Any:
    total, count = 0.0, 0
    for v in x:
        if v > 0:
            total += v
            count += 1
    total /= count
    return total


def mean_of_list(x: Any) -> Any:
    items = []
    for v in x:
        if v > 0:
            items.append(v)
    return sum(items) / len(items)


def caught(x: Any) -> Any:
    count = 0
    for v in x:
        if v > 0:
            count += 1
    try:
        return 10 % count
    except ZeroDivisionError:
        return -1


@pytest.mark.slow
@pytest.mark.parametrize("function", [count_quotient, mean_of_list, caught])
def test_counts_of_nothing(function: Any) -> None:
    some: Any = np.array([1.0, -1.0, 4.0])
    none: Any = np.array([-1.0, -2.0, -3.0])
    for mode in (wg.jit, wg.vmap):
        for rows in ([some, none], [none], [some]):
            if mode is wg.vmap:
                found = outcome(wg.vmap(function), np.stack(rows))
                expected = outcome(lambda rows=rows: [*map(function, rows)])
            else:
                found, expected = outcome(wg.jit(function), rows[0]), outcome(function, rows[0])
            assert type(found) is str or not isinstance(expected, str)
            np.testing.assert_array_equal(found, expected)


def test_a_float_of_numpys_divided_by_a_count_is_numpys() -> None:
    def quotient(x: Any) -> Any:
        count = 0
        for v in x:
            if v > 0:
                count += 1
        return x.max() / count

    x = np.array([-1.0, -2.0])
    with np.errstate(divide="ignore"):
        assert wg.jit(quotient)(x) == quotient(x) == -np.inf
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            evaluate(wg.trace(quotient)(x), x)


def test_arrays_and_numpys_integers_keep_numpys_rules() -> None:
    x, n = np.array([7, -7]), np.array([0, 2])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(wg.jit(lambda x, n: x // n)(x, n), x // n)
        np.testing.assert_array_equal(wg.jit(lambda x, n: x // n)(x, 0), x // 0)
        np.testing.assert_array_equal(wg.jit(lambda x, n: x / n)(x, 0), x / 0)
        np.testing.assert_array_equal(wg.vmap(lambda n: 7 // n)(n), 7 // n)


@pytest.mark.slow
def test_gradients_of_quotients_by_counts() -> None:
    x = np.array([1.0, -1.0, 4.0])
    for function in (count_quotient, mean_of_list):
        np.testing.assert_allclose(wg.jit(wg.grad(function))(x), wg.grad(function)(x), rtol=1e-15)
        with pytest.raises(ZeroDivisionError):
            wg.jit(wg.grad(function))(-abs(x))


def test_a_counter_that_is_positive_is_not_checked() -> None:
    def means(x: Any) -> Any:
        mean = 0.0
        for i in range(len(x)):
            if x[i] > 0:
                mean += (x[i] - mean) / (i + 1)
        return mean

    assert "ZeroDivisionError" not in str(wg.trace(means)(np.ones(5)))
