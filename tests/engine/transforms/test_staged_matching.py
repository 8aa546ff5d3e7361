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


def values_in_a_tuple(x, n):
    match (n > 2, x[0]):
        case (True, v):
            return v * 2
        case (False, w):
            return w * 3


def values_in_sequences_in_a_loop(x, n):
    r = 0.0
    for part in (("add", x[0]), ("mul", x[1]), ("flip", n > 0), ("less",)):
        match part:
            case ("add" | "plus", v):
                r = r + v
            case ("mul", v) if n > 3:
                r = r * v + 1
            case ("mul", v):
                r = r - v
            case ("flip", True):
                r = -r
            case ("less",):
                r = r - 0.5
            case _:
                r = r * 10
    return r


def names_stay_where_values_differ(x, n):
    y = 7.0
    match (n, x[1]):
        case (0, y):
            r = y
        case {"z": 1}:
            r = 3.0
        case _:
            r = y * 2
    return r * x[0]


class Point:
    __match_args__ = ("u", "v")

    def __init__(self, u, v):
        self.u, self.v = u, v


def attributes(x, n):
    match Point(n > 2, x[0]):
        case Point(True, v):
            return v
        case Point(u=False, v=w):
            return w * 5


def values_in_a_dictionary(x, n):
    match {"k": n > 2, "v": x, "q": 3}:
        case {"k": True, "v": v, **rest}:
            return v[0] + rest["q"]
        case {"k": False, "v": [first, *_]}:
            return first * x[1]
    return 0.0


def nested_parts(x, n):
    match [n > 2, [x[0], (1, x[1])]]:
        case [True, [u, (1 | 2, w)]] if u > 0:
            return u * w
        case [_, [u, (1, w)]] as whole:
            return u - w + len(whole)


def one_truth(x, n):
    match n > 2:
        case True:
            return x[0]
        case False:
            return 2 * x[1]
    return 3 * x[2]


def truths_by_is(x, n):
    large = n > 2
    if large is True:
        r = x[0]
    elif large is False:
        r = 2 * x[1]
    else:
        r = 3 * x[2]
    return r if (n < 5) is not False else -r


PROGRAMS = [
    guarded_cases,
    values_in_a_tuple,
    values_in_sequences_in_a_loop,
    names_stay_where_values_differ,
    attributes,
    values_in_a_dictionary,
    nested_parts,
    one_truth,
    truths_by_is,
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
