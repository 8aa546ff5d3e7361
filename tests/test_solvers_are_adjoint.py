"""``v . (J u) = (J^T v) . u`` for every solver: both modes have one derivative, which forward mode pushes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import integrate, random

scipy_sparse = pytest.importorskip("scipy.sparse")

P = np.array([0.7, 1.3, 0.4])
MATRIX = np.array([[4.0, -1.0, 0.5], [0.3, 5.0, -1.0], [0.2, 1.0, 6.0]])
SYMMETRIC = MATRIX @ MATRIX.T

Solver = Callable[[Any], Any]
SOLVERS: dict[str, Solver] = {}


def solver(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function of parameters, which takes each of the names first, if there are any."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            SOLVERS[f"{function.__name__} {name}"] = functools.partial(function, name)
        if not names:
            SOLVERS[function.__name__] = function
        return function

    return register


# -- equations -------------------------------------------------------------------------------------------


@solver("direct", "cg", "gmres", "bicgstab")
def linear_solve(method: str, p: Any) -> Any:
    return wg.linear_solve(SYMMETRIC + np.outer(p, p), np.sin(p), solver=method, tol=1e-13)


@solver()
def sparse_solve(p: Any) -> Any:
    matrix = scipy_sparse.csr_array(MATRIX)
    return wg.sparse.solve(matrix, np.cos(p), data=matrix.data * (1 + np.sum(p) * np.arange(9)))


@solver("direct", "gmres")
def root(linear: str, p: Any) -> Any:
    return wg.implicit.root(lambda x: x**3 + MATRIX @ x - p, np.zeros(3), linear=linear, tol=1e-13)


@solver()
def fixed_point(p: Any) -> Any:
    return wg.implicit.fixed_point(lambda x: 0.3 * np.tanh(MATRIX @ x / 5 + p), np.zeros(3), tol=1e-13)


@solver()
def minimum(p: Any) -> Any:
    return wg.implicit.minimum(lambda x: np.sum((x - p) ** 4 + x @ SYMMETRIC @ x), np.zeros(3), tol=1e-12)


@solver("lbfgs", "newton_cg")
def descent(method: str, p: Any) -> Any:
    solve = getattr(wg.optimize, method)
    return solve(lambda x: np.sum((x - p) ** 4) + x @ SYMMETRIC @ x / 2, np.zeros(3), gtol=1e-11, ftol=0.0).x


# -- integrals and differential equations ----------------------------------------------------------------


@solver()
def quad(p: Any) -> Any:
    return integrate.quad(lambda x: np.exp(-p * x) * np.sin(x + p), 0.0, p[0])[0]


@solver()
def cubature(p: Any) -> Any:
    return integrate.cubature(lambda x: np.exp(-np.sum(x * p[:2], axis=1)), np.zeros(2), p[1:]).estimate


def pendulum(t: Any, y: Any, p: Any, friction: Any) -> Any:
    return np.stack([y[1], -p[0] * np.sin(y[0]) - friction * y[1]])


@solver("RK23", "RK45", "DOP853", "Tsit5", "Rodas5P", "RK4", "leapfrog")
def solve_ivp(method: str, p: Any) -> Any:
    settings: Any = {"steps": 40} if method in ("RK4", "leapfrog") else {"rtol": 1e-5, "atol": 1e-7}
    friction = 0.0 if method == "leapfrog" else p[2]

    def fun(t: Any, y: Any) -> Any:
        return pendulum(t, y, p, friction)

    start = np.stack([p[1], 0.0 * p[1]])
    return integrate.solve_ivp(fun, (0.0, 1.0), start, method, np.linspace(0.1, 1.0, 3), **settings).y


@solver()
def event(p: Any) -> Any:
    def height(t: Any, y: Any) -> Any:
        return y[0]

    def fun(t: Any, y: Any) -> Any:
        return pendulum(t, y, 3.0 * p, 3.0 * p[2])

    start = np.stack([p[1], 0.0 * p[1]])
    found = integrate.solve_ivp(fun, (0.0, 9.0), start, "DOP853", events=[height], rtol=1e-9, atol=1e-9)
    return found.t_events[0][0]


@solver("euler_maruyama", "milstein")
def solve_sde(method: str, p: Any) -> Any:
    def drift(t: Any, y: Any) -> Any:
        return -p * y

    def diffusion(t: Any, y: Any) -> Any:
        return 0.3 * np.sin(y) + 0.1 * p

    span, start, key = (0.0, 1.0), np.ones(3), random.key(1)
    return integrate.solve_sde(drift, diffusion, span, start, key, steps=20, method=method).y


@solver()
def solve_dde(p: Any) -> Any:
    return integrate.solve_dde(
        lambda t, y, late, p: -p * late[0], (0.0, 1.0), lambda t: np.cos(t * p), [0.3], steps=20, args=(p,)
    ).y


# -- loops -----------------------------------------------------------------------------------------------


@solver("most", "max_bytes")
def while_loop(limit: str, p: Any) -> Any:
    options: Any = {limit: 40 if limit == "most" else 2000}

    def step(state: Any) -> Any:
        return state[0] + 1, np.sin(state[1]) + 0.1 * MATRIX @ p

    return wg.while_loop(lambda state: state[0] < 9, step, (0, p), **options)[1]


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.costly
def test_the_modes_are_adjoint(name: str) -> None:
    solve = SOLVERS[name]
    rng = np.random.default_rng(0)
    u = rng.normal(size=3)
    value, pushed = wg.jvp(solve, (P,), (u,))
    v = rng.normal(size=np.shape(value))
    reached, pull = wg.vjp(solve, P)
    np.testing.assert_allclose(reached, value, rtol=1e-9)
    (pulled,) = pull(v)
    np.testing.assert_allclose(np.sum(v * pushed), np.sum(pulled * u), rtol=2e-7, atol=1e-12)
    assert np.abs(pushed).max() > 1e-4
    step = 1e-5
    difference = (np.asarray(solve(P + step * u)) - np.asarray(solve(P - step * u))) / (2 * step)
    np.testing.assert_allclose(pushed, difference, rtol=2e-3, atol=2e-4)
