"""`match` statements over values that only a run knows equal Python's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg


class Kinds:
    A = 1


def guarded_cases(x, n):
    match n:
        case 0:
            r = x[0]
        case 1 | 2 | 3:
            r = x[1]
        case k if k > 5 and x[0] > 0:
            r = x[2] * k
        case _:
            r = x[3]
    return r


def state_machine(x, n):
    state, out = n % 2, 0.0
    for v in x:
        match state:
            case 0 if v > 0:
                state = 1
            case 1:
                if v < 0:
                    state = 2
                    continue
                out += v
            case 2:
                break
            case _:
                out -= 1
        out += 10
    return out + state


def returning_cases(x, n):
    s = (1 if x[0] > 0 else 0) + (2 if x[1] > 0 else 0)
    match s:
        case 0:
            return -1.0
        case 3:
            return x[3]
    return x[2] + n


def capture_and_dotted_value(x, n):
    k = 5
    match n % 3:
        case k if x[0] > 0.4:
            return k * 1.0
        case Kinds.A:
            return x[1]
    return k + x[0]


def parts_of_a_tuple(x, n):
    match (x[0], n):
        case (a, b):
            return a * b if a > 0 else b * 1.0


def cases_in_a_loop(x, n):
    for i in range(n):
        match i:
            case 3 if x[1] > 0:
                return i + x[0]
            case j:
                last = j
    return last + x[1]


def no_case_fits(x, n):
    match n:
        case 0:
            r = 1.0
        case 3:
            r = x[0]
    return r + 1


PROGRAMS = [
    guarded_cases,
    state_machine,
    returning_cases,
    capture_and_dotted_value,
    parts_of_a_tuple,
    cases_in_a_loop,
    no_case_fits,
]
X = [np.array([0.3, -1.2, 0.7, 2.5]), np.array([-0.4, 1.6, 2.2, 0.1]), np.array([0.5, 0.4, 0.3, 0.2])]


def _outcome(function: Callable[..., Any], *given: Any) -> Any:
    try:
        return function(*given)
    except UnboundLocalError as problem:
        return str(problem)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("n", [0, 3, 7])
def test_match_statements_are_pythons(program: Callable[..., Any], n: int) -> None:
    compiled, slope = wg.jit(program), wg.jit(wg.grad(program))
    for x in X:
        expected, found = _outcome(program, x, n), _outcome(compiled, x, n)
        if isinstance(expected, str):
            assert found == expected
            continue
        assert found == pytest.approx(expected)
        np.testing.assert_allclose(slope(x, n), wg.grad(program)(x, n))
