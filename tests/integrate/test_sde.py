"""Stochastic differential equations: strong orders, moments, derivatives of paths, and errors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import random
from wengert.engine.core.errors import ArgumentError, ShapeError
from wengert.integrate import solve_sde

KEY = random.key(3)
RATE, SPREAD = 0.5, 0.8


def stock(key: Any, steps: int, method: str, rate: Any = RATE, spread: Any = SPREAD, **settings: Any) -> Any:
    """Geometric Brownian motion, whose solution depends on the noise in closed form."""
    drift, diffusion = lambda t, y: rate * y, lambda t, y: spread * y
    span = 0.0, settings.pop("end", 1.0)
    return solve_sde(drift, diffusion, span, [1.0], key, steps=steps, method=method, **settings)


def stock_form(w: Any, t: Any, rate: Any = RATE, spread: Any = SPREAD) -> Any:
    return np.exp((rate - spread**2 / 2) * t + spread * w)


@functools.cache
def strong_error(method: str, steps: int) -> float:
    """Return the mean distance of the end of a path from that of the solution with the same noise."""

    def distance(key: Any) -> Any:
        result = stock(key, steps, method)
        return np.abs(result.y[0, -1] - stock_form(result.w[0, -1], 1.0))

    return float(np.mean(wg.jit(wg.vmap(distance))(random.split(KEY, 2000))))


@pytest.mark.parametrize(("method", "order"), [("euler_maruyama", 0.5), ("milstein", 1.0)])
def test_methods_have_their_strong_order(method: str, order: float) -> None:
    measured = np.log(strong_error(method, 16) / strong_error(method, 256)) / np.log(16)
    assert abs(measured - order) < 0.1


def test_milstein_is_euler_and_maruyama_where_the_diffusion_is_constant() -> None:
    results = [
        solve_sde(
            lambda t, y: -y, lambda t, y: 0.3 + t + 0 * y, (0, 1), [1.0, 2.0], KEY, steps=9, method=method
        ).y
        for method in ("euler_maruyama", "milstein")
    ]
    np.testing.assert_array_equal(*results)


def test_general_noise_contains_diagonal_noise() -> None:
    def path(diffusion: Any) -> Any:
        return solve_sde(lambda t, y: -y, diffusion, (0, 1), [1.0, 2.0], KEY, steps=9)

    diagonal = path(lambda t, y: 0.5 * y)
    general = path(lambda t, y: np.diag(0.5 * y))
    np.testing.assert_allclose(general.y, diagonal.y, rtol=1e-15)
    np.testing.assert_array_equal(general.w, diagonal.w)


def test_noises_are_shared_among_components() -> None:
    result = solve_sde(lambda t, y: 0 * y, lambda t, y: np.ones((3, 1)), (0, 1), np.zeros(3), KEY, steps=9)
    np.testing.assert_allclose(result.y, np.broadcast_to(result.w, (3, 10)))


def test_the_variance_of_the_stationary_process_is_the_known_one() -> None:
    def end(key: Any) -> Any:
        return solve_sde(lambda t, y: -2 * y, lambda t, y: 0.6 + 0 * y, (0, 3), [0.0], key, steps=150).y[
            0, -1
        ]

    ends = wg.jit(wg.vmap(end))(random.split(KEY, 4000))
    assert np.var(ends) == pytest.approx(0.6**2 / 4, rel=0.08)


@pytest.mark.parametrize("method", ["euler_maruyama", "milstein"])
def test_results_stand_at_the_times_of_t_eval(method: str) -> None:
    times = np.array([0.9, 0.0, 0.33, 1.0])
    result = stock(KEY, 400, method, t_eval=times)
    np.testing.assert_array_equal(result.t, times)
    assert result.y[0, 1] == 1
    np.testing.assert_allclose(result.y[0], stock_form(result.w[0], times), rtol=0.1)
    compiled = wg.jit(lambda times: stock(KEY, 400, method, t_eval=times).y)(times)
    np.testing.assert_allclose(compiled, result.y, rtol=1e-12)


@pytest.mark.parametrize("mode", ["reverse", "forward", "compiled", "second"])
@pytest.mark.parametrize("method", ["euler_maruyama", "milstein"])
def test_the_derivatives_are_those_of_the_path(method: str, mode: str) -> None:
    def end(parameters: Any) -> Any:
        rate, spread, stop = parameters
        return stock(KEY, 20, method, rate, spread, end=stop).y[0, -1]

    point, h = np.array([0.5, 0.8, 1.3]), 1e-6
    if mode == "second":
        second = wg.jacfwd(lambda p: wg.grad(end)(p))(point)
        np.testing.assert_allclose(wg.hessian(end)(point), second, rtol=1e-10)
        return
    derivative = {"reverse": wg.grad, "forward": wg.jacfwd, "compiled": lambda f: wg.jit(wg.grad(f))}[mode]
    expected = [(end(point + h * unit) - end(point - h * unit)) / (2 * h) for unit in np.eye(3)]
    np.testing.assert_allclose(derivative(end)(point), expected, rtol=1e-7)


def test_steps_of_no_length_have_no_derivative() -> None:
    end = lambda stop: stock(KEY, 10, "euler_maruyama", end=stop, t_eval=[0.0, 0.55]).y[0, 1]  # noqa: E731
    assert np.isfinite(wg.grad(end)(1.0))
    assert wg.grad(end)(1.0) == pytest.approx((end(1 + 1e-6) - end(1 - 1e-6)) / 2e-6, rel=1e-6)


def test_keys_are_paths_that_can_be_repeated() -> None:
    keys = random.split(KEY, 5)
    paths = wg.vmap(lambda key: stock(key, 10, "milstein").y)(keys)
    assert len(set(paths[:, 0, -1])) == 5
    np.testing.assert_allclose(stock(keys[3], 10, "milstein").y, paths[3], rtol=1e-14)


def test_errors_name_the_requirement() -> None:
    drift, diagonal = lambda t, y: -y, lambda t, y: y
    with pytest.raises(ArgumentError, match="one of euler_maruyama, milstein"):
        solve_sde(drift, diagonal, (0, 1), [1.0], KEY, steps=3, method="heun")
    with pytest.raises(ArgumentError, match="diagonal"):
        solve_sde(drift, lambda t, y: np.ones((1, 2)), (0, 1), [1.0], KEY, steps=3, method="milstein")
    with pytest.raises(ArgumentError, match="at least one step"):
        solve_sde(drift, diagonal, (0, 1), [1.0], KEY, steps=0)
    with pytest.raises(ArgumentError, match="rise"):
        solve_sde(drift, diagonal, (1, 0), [1.0], KEY, steps=3)
    with pytest.raises(ArgumentError, match="t_eval must lie"):
        solve_sde(drift, diagonal, (0, 1), [1.0], KEY, steps=3, t_eval=[2.0])
    with pytest.raises(ShapeError, match="y0 must have one axis"):
        solve_sde(drift, diagonal, (0, 1), 1.0, KEY, steps=3)
    with pytest.raises(ShapeError, match="diffusion must return"):
        solve_sde(drift, lambda t, y: np.ones(3), (0, 1), [1.0], KEY, steps=3)
    with pytest.raises(ShapeError, match="drift must return"):
        solve_sde(lambda t, y: np.ones(3), diagonal, (0, 1), [1.0], KEY, steps=3)
