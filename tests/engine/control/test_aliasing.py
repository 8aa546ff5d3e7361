"""Loops and branches carry and return arrays of their own, for known and unknown values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.arange(4.0)


def reversed_view(x: Any) -> Any:
    def turn(_: Any, carry: Any) -> Any:
        a, b = carry
        b[0] = 9.0
        return a, a[::-1]

    a, b = wg.fori_loop(0, 3, turn, (x, x))
    b[1] = 77.0
    return a, b


def twice_the_same(x: Any) -> Any:
    def turn(carry: Any, _: None) -> Any:
        a, b = carry
        a[0] += 1.0
        return (b, b), a

    return wg.scan(turn, (x, x * 2), None, 3)


def in_a_while(x: Any) -> Any:
    def turn(carry: Any) -> Any:
        n, a, b = carry
        b[0] += a[1]
        return n + 1, b.T, b

    return wg.while_loop(lambda carry: carry[0] < 3, turn, (0, x, x + 1))


def of_a_branch(x: Any) -> Any:
    same = wg.cond(x[0] < 1.0, lambda y: y, lambda y: -y, x)
    part = wg.cond(x[0] < 1.0, lambda y: (y[1:], x), lambda y: (-y[1:], x), x)
    same[0], part[0][0], part[1][3] = 5.0, 6.0, 7.0
    return x, same, part


PROGRAMS = (reversed_view, twice_the_same, in_a_while, of_a_branch)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_write_into_one_reaches_no_other(program: Callable[..., Any]) -> None:
    expected = wg.tree.leaves(wg.jit(program)(X))
    ways = {"known": program(X.copy()), "followed": wg.jvp(program, (X,), (X,))[0]}
    for actual in ways.values():
        for item, other in zip(wg.tree.leaves(actual), expected, strict=True):
            np.testing.assert_array_equal(item, other)


def followed(rule: Any) -> Any:
    """Return the identity with a rule."""
    if isinstance(rule, wg.custom_vjp):
        rule.defvjp(lambda x: (x, None), lambda _, cotangent: (cotangent,))
    else:
        rule.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    return rule


IDENTITIES: dict[str, Callable[[Any], Any]] = {
    "checkpoint": wg.checkpoint(lambda x: x),
    "checkpoint of a view": wg.checkpoint(lambda x: x[::-1]),
    "custom_vjp": followed(wg.custom_vjp(lambda x: x)),
    "custom_jvp": followed(wg.custom_jvp(lambda x: x)),
    "stop_gradient": wg.stop_gradient,
    "vmap": wg.vmap(lambda row: row),
    "vmap of a view": wg.vmap(lambda row: row[None]),
    "jit": wg.jit(lambda x: x),
    "jvp": lambda x: wg.jvp(lambda y: y, (x,), (x,))[0],
    "vjp": lambda x: wg.vjp(lambda y: y, x)[0],
    "tangent of jvp": lambda x: wg.jvp(lambda y: y, (x,), (x,))[1],
    "cotangent of vjp": lambda x: wg.vjp(lambda y: y, x)[1](x)[0],
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_results_of_transformed_functions_are_arrays_of_their_own(name: str) -> None:
    def program(x: Any) -> Any:
        y = x * 1.0
        result = IDENTITIES[name](y)
        result += 1.0
        return y, result

    for run in (
        lambda x: program(x),
        lambda x: wg.vjp(program, x)[0],
        lambda x: wg.jvp(program, (x,), (x,))[0],
        lambda x: [leaf[0] for leaf in wg.vmap(program)(x[None])],
        wg.jit(program),
    ):
        y, result = run(X)
        np.testing.assert_array_equal(y, X)
        np.testing.assert_array_equal(np.sort(np.ravel(result)), X + 1.0)
