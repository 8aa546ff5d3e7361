"""Integers that count turns are no state of compiled loops, and give Python's values wherever they are used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

_X = np.linspace(-1, 2, 7)


def _indices(x: Any) -> Any:
    def turn(carry: Any, _: Any) -> Any:
        k, s = carry
        return (k + 2, s + x[k - 1] * x[6 - k] + 3 * k), (k * 2 - 1, s, -k)

    return wg.scan(turn, (1, 0.0), length=3)


def _backward(x: Any) -> Any:
    def turn(carry: Any, row: Any) -> Any:
        k, s = carry
        return (k - 1, s * 0.5 + row * x[k]), (k, row)

    return wg.scan(turn, (6, 0.0), x, reverse=True)


def _nested(x: Any) -> Any:
    def inner(carry: Any, _: Any) -> Any:
        i, j, s = carry
        return (i, j + i, s + x[(i + j) % 7]), i + j

    def outer(carry: Any, _: Any) -> Any:
        i, s = carry
        (_, j, s), rows = wg.scan(inner, (i, 0, s), length=4)
        return (i + 1, s), (j, rows)

    return wg.scan(outer, (0, 0.0), length=5)


def _one_turn(x: Any) -> Any:
    return wg.scan(lambda carry, _: ((carry[0] + 5, carry[1] * x[carry[0]]), carry[0]), (3, 2.0), length=1)


def _no_turn(x: Any) -> Any:
    return wg.scan(lambda carry, _: ((carry[0] + 5, carry[1] * x), carry[0]), (3, x), length=0)


def _large(x: Any) -> Any:
    """The numbers wrap as NumPy's do."""
    big = np.int64(2**62)
    return wg.scan(lambda k, _: (k + big, k * 3), np.int64(7), length=6), x[0]


def _outside(x: Any) -> Any:
    return wg.scan(lambda carry, _: ((carry[0] + 3, carry[1] + x[carry[0]]), None), (0, 0.0), length=4)


PROGRAMS = [_indices, _backward, _nested, _one_turn, _no_turn, _large]


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_are_those_of_eager_mode(program: Any) -> None:
    with np.errstate(over="ignore"):
        found, expected = wg.jit(program)(_X), program(_X)
    for one, other in zip(wg.tree.leaves(found), wg.tree.leaves(expected), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize("program", [_indices, _backward, _nested])
def test_derivatives_are_those_of_eager_mode(program: Any) -> None:
    def value(x: Any) -> Any:
        carry, _ = program(x)
        return carry[-1] ** 2

    np.testing.assert_allclose(wg.jit(wg.grad(value))(_X), wg.grad(value)(_X), rtol=1e-12)


def test_indices_beyond_the_array_raise() -> None:
    with pytest.raises(IndexError):
        wg.jit(_outside)(_X)
