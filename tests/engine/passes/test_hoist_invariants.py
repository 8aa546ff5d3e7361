"""What no turn of a loop changes is computed before it, once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

A = np.random.default_rng(0).normal(size=(12, 12)) + 12 * np.eye(12)
X = np.random.default_rng(1).normal(size=12)


def solved(a: Any, x: Any) -> Any:
    return wg.fori_loop(0, 60, lambda _, x: np.linalg.solve(a, x) + np.sin(x), x)


def multiplied(a: Any, x: Any) -> Any:
    def turn(x: Any, row: Any) -> Any:
        square = a @ a.T @ np.diag(np.arange(12.0))  # the constant of the body moves, too
        return np.tanh(square @ x / 900 + row), x.sum() * np.sum(a)

    return wg.scan(turn, x, a)


def nested(a: Any, x: Any) -> Any:
    def outer(k: Any, x: Any) -> Any:
        moved = a + 0.01 * k * np.eye(12)  # changes with the outer turn, not with the inner one
        return wg.fori_loop(0, 4, lambda _, x: np.linalg.solve(moved, x) + np.linalg.det(a) * 1e-15, x)

    return wg.fori_loop(0, 3, outer, x)


def staged(a: Any, x: Any) -> Any:
    total = 0.0
    for _ in range(50):
        if x[0] > 0:
            x = np.linalg.solve(a, x)
        x = np.linalg.inv(a) @ x - 0.1
        total = total + x.sum() + np.abs(a).max()
    return total


def refined(a: Any, x: Any) -> Any:
    def going(state: Any) -> Any:
        return (state[1] > 1e-9) & (state[2] < 40)

    def turn(state: Any) -> Any:
        y, _, number = state
        change = np.linalg.solve(a, x - a @ y - 0.1 * np.sin(y))
        return y + change, np.sum(np.abs(change)), number + 1

    return wg.while_loop(going, turn, (0.0 * x, 1.0, 0))[0]


PROGRAMS = [solved, multiplied, nested, staged]


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_gradients(program: Any) -> None:
    def total(a: Any, x: Any) -> Any:
        return sum(np.sum(np.sin(leaf)) for leaf in wg.tree.leaves(program(a, x)))

    for x in (X, -X):
        np.testing.assert_allclose(wg.jit(total)(A, x), total(A, x), rtol=1e-11)
        expected = wg.grad(total, argnums=(0, 1))(A, x)
        for found, gradient in zip(wg.jit(wg.grad(total, argnums=(0, 1)))(A, x), expected, strict=True):
            np.testing.assert_allclose(found, gradient, rtol=1e-9, atol=1e-13)


def test_a_loop_that_may_take_no_turn_keeps_what_may_raise() -> None:
    @wg.jit
    def program(a: Any, x: Any, n: int) -> Any:
        return wg.fori_loop(0, n, lambda _, x: np.linalg.solve(a, x), x)

    np.testing.assert_array_equal(program(np.zeros((3, 3)), np.ones(3), 0), np.ones(3))
    with pytest.raises(np.linalg.LinAlgError):
        program(np.zeros((3, 3)), np.ones(3), 1)


@pytest.mark.parametrize("begin", [1.0, 0.0])
def test_a_loop_with_a_condition_factorises_once_where_it_surely_begins(begin: float) -> None:
    """Else the matrix, which may be singular, is not read."""

    @wg.jit
    def program(a: Any, x: Any, error: Any) -> Any:
        turn = lambda state: (np.linalg.solve(a, state[0]), 0.5 * state[1], state[2] + 1)  # noqa: E731
        going = lambda state: (state[1] > 0.1) & (state[2] < 9)  # noqa: E731
        return wg.while_loop(going, turn, (x, begin if error is None else error, 0))[0]

    a, x = (A, X) if begin else (0 * A, X)
    expected = (
        np.linalg.solve(a, np.linalg.solve(a, np.linalg.solve(a, np.linalg.solve(a, x)))) if begin else x
    )
    for error in (None, begin):
        np.testing.assert_allclose(program(a, x, error), expected, rtol=1e-12)
        stages = dict(program.stages(a, x, error))
        before, after = (stages[n].partition(" while[")[0] for n in ("share_factors", "hoist_invariants"))
        assert (before != after) == (begin > 0 and error is None)


def test_an_iteration_with_one_matrix() -> None:
    expected = refined(A, X)
    np.testing.assert_allclose(A @ expected + 0.1 * np.sin(expected), X, atol=1e-8)
    np.testing.assert_allclose(wg.jit(refined)(A, X), expected, rtol=1e-11)
    slope = wg.jvp(lambda a: refined(a, X), (A,), (np.sin(A),))[1]
    np.testing.assert_allclose(
        wg.jit(lambda a: wg.jvp(lambda a: refined(a, X), (a,), (np.sin(a),))[1])(A), slope, rtol=1e-9
    )
    batch = np.stack([A, 2 * A + np.eye(12)])
    each = [refined(a, X) for a in batch]
    np.testing.assert_allclose(wg.jit(wg.vmap(refined, in_axes=(0, None)))(batch, X), each, rtol=1e-11)


@pytest.mark.parametrize("rows", [40, 150])
def test_a_matrix_is_factorised_once(rows: int) -> None:
    def total(a: Any, x: Any) -> Any:
        return wg.fori_loop(0, 60, lambda _, x: np.linalg.solve(a, x) + np.sin(x), x).sum()

    matrix = np.random.default_rng(0).normal(size=(rows, rows)) + rows * np.eye(rows)
    stages = dict(wg.jit(total).stages(matrix, np.ones(rows)))
    before, after = (stages[name].partition(" scan[")[0] for name in ("share_factors", "hoist_invariants"))
    assert before.count("\n") + 1 < after.count("\n")
    np.testing.assert_allclose(wg.jit(total)(matrix, np.ones(rows)), total(matrix, np.ones(rows)))
