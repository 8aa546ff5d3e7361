"""Compiled fits between bounds: projected L-BFGS and Levenberg's and Marquardt's method, alone and by the thousand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.optional import Package
from wengert.engine.core.errors import ArgumentError, LimitError

optimize: Any = Package("scipy.optimize")
T = np.linspace(0.0, 3.0, 20)
START = np.array([1.0, 1.0, 0.1])
BOX = np.array([0.0, 0.1, 0.0]), np.array([2.5, 2.5, 1.0])
TIGHT: dict[str, Any] = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}


def residuals(p: Any, y: Any) -> Any:
    return p[0] * np.exp(-p[1] * T) + p[2] - y


def half(p: Any, y: Any) -> Any:
    return 0.5 * np.sum(residuals(p, y) ** 2)


def by_squares(y: Any, **options: Any) -> Any:
    return wg.optimize.levenberg_marquardt(residuals, START, (y,), bounds=BOX, **options)


def by_descent(y: Any, **options: Any) -> Any:
    return wg.optimize.lbfgs(half, START, (y,), bounds=BOX, gtol=1e-10, ftol=1e-16, **options)


METHODS: list[Any] = [by_squares, by_descent]


def drawn(count: int) -> Any:
    """Return data whose best parameters lie within and beyond the bounds."""
    rng = np.random.default_rng(count)
    true = rng.uniform([0.5, 0.2, -0.3], [3.0, 3.0, 0.5], (count, 3))
    return np.stack([residuals(p, 0.0) for p in true]) + 0.02 * rng.normal(size=(count, len(T)))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_batches_end_where_scipy_does(method: Any) -> None:
    data = drawn(60)
    found = wg.jit(wg.vmap(method))(data)
    assert np.isin(found.status, [0, 2]).all()
    theirs = np.stack(
        [optimize.least_squares(residuals, START, args=(y,), bounds=BOX, **TIGHT).x for y in data]
    )
    np.testing.assert_allclose(found.x, theirs, atol=1e-6)
    assert np.sum((found.x == BOX[0]) | (found.x == BOX[1])) > 10
    alone = method(data[0])
    np.testing.assert_allclose(alone.x, found.x[0], atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_derivatives_are_those_of_differences(method: Any) -> None:
    held, step = 0, 1e-4
    solve = wg.jit(wg.vmap(lambda y: method(y).x))
    slopes = wg.jit(wg.jacobian(lambda y: method(y).x))

    def along(y: Any) -> Any:
        return wg.jvp(lambda y: method(y).x, (y,), (y,))[1]

    for y in drawn(6):
        ends = solve(y + step * np.concatenate([np.eye(len(T)), -np.eye(len(T))]))
        held += np.sum((ends[0] == BOX[0]) | (ends[0] == BOX[1]))
        moved = (ends[: len(T)] - ends[len(T) :]).T / (2 * step)
        slope = slopes(y)
        np.testing.assert_allclose(slope, moved, atol=2e-4)
        np.testing.assert_allclose(wg.jit(along)(y), slope @ y, rtol=1e-6, atol=1e-9)
    assert held


def test_a_corner_and_a_quadratic() -> None:
    target = np.array([2.0, -3.0, 0.25])
    found = wg.optimize.lbfgs(lambda x: np.sum((x - target) ** 2), np.zeros(3), bounds=(-1.0, 1.0))
    np.testing.assert_allclose(found.x, [1.0, -1.0, 0.25], atol=1e-7)
    assert found.converged
    with pytest.raises(ArgumentError, match="bounds must be a pair"):
        wg.optimize.lbfgs(lambda x: np.sum(x**2), np.zeros(3), bounds=3.0)
    with pytest.raises(ArgumentError, match="must not exceed"):
        wg.optimize.levenberg_marquardt(lambda x: x, np.zeros(2), bounds=(1.0, 0.0))


@pytest.mark.slow
def test_drawn_quadratics_have_the_conditions_of_a_minimum() -> None:
    rng = np.random.default_rng(3)
    for size in (2, 5, 9):
        root, target = rng.normal(size=(size, size)), 2 * rng.normal(size=size)

        def square(x: Any, root: Any, target: Any) -> Any:
            return root @ (x - target)

        for found in (
            wg.optimize.levenberg_marquardt(square, np.zeros(size), (root, target), bounds=(-1.0, 1.0)),
            wg.optimize.lbfgs(
                lambda x, r, t: 0.5 * np.sum(square(x, r, t) ** 2), np.zeros(size), (root, target), bounds=(-1.0, 1.0),
                gtol=1e-9, ftol=1e-17,
            ),
        ):  # fmt: skip
            slope = root.T @ root @ (found.x - target)
            inside = np.abs(found.x) < 1.0
            assert found.status in (0, 2)
            np.testing.assert_allclose(slope[inside], 0.0, atol=1e-5 * np.max(np.abs(root)) ** 2)
            assert np.all(slope[found.x == 1.0] <= 0.0)
            assert np.all(slope[found.x == -1.0] >= 0.0)


@pytest.mark.slow
def test_ends_that_are_no_minima_have_not_converged() -> None:
    saddle = wg.optimize.lbfgs(lambda x: x[0] ** 2 - x[1] ** 2, np.array([0.5, 0.0]), bounds=(-1.0, 1.0))
    assert not saddle.converged
    tail = wg.optimize.levenberg_marquardt(lambda x: np.exp(-x) + 1.0, np.array([50.0]), bounds=(0.0, 1e3))
    assert not tail.converged
    few = by_squares(drawn(1)[0], maxiter=1)
    assert few.status == 1
    with pytest.raises(ArgumentError, match="finite at the start"), np.errstate(all="ignore"):
        wg.optimize.levenberg_marquardt(lambda x: np.log(x), np.array([-1.0]))

    def kink(target: Any) -> Any:
        return wg.optimize.lbfgs(lambda x: np.sum((x - target) ** 2), np.ones(1), bounds=(0.0, 2.0)).x[0]

    np.testing.assert_allclose(wg.grad(kink)(-1.0), 0.0)
    np.testing.assert_allclose(wg.grad(kink)(0.5), 1.0)
    with pytest.raises(LimitError, match=r"kink|not converged"):
        wg.grad(kink)(0.0)
