"""``v . (J u) = (J^T v) . u`` for every solver: both modes have one derivative, which forward mode pushes."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import integrate, random
from wengert.scipy import linalg

scipy_sparse = pytest.importorskip("scipy.sparse")

P = np.array([0.7, 1.3, 0.4])
MATRIX = np.array([[4.0, -1.0, 0.5], [0.3, 5.0, -1.0], [0.2, 1.0, 6.0]])
SYMMETRIC = MATRIX @ MATRIX.T

Program = Callable[..., Any]
SOLVERS: dict[str, Program] = {}
COVERED: list[Program] = []
#: The public functions beside the solvers, and the solvers that follow no derivative.
OTHERS = {
    **dict.fromkeys(("root", "root_scalar", "least_squares"), "an error names the solvers of wg.implicit"),
    **dict.fromkeys(("low_level_callable", "problem"), "makes what solvers call"),
}


def solver(*functions: Program, methods: Sequence[str] = ()) -> Callable[[Program], Program]:
    """Register a program for public functions.

    It takes one of the functions if there are several, one of the methods if there are any, and parameters.
    """

    def register(program: Program) -> Program:
        COVERED.extend(functions)
        one = len(functions) == 1
        for function, method in itertools.product(functions, methods or (None,)):
            name = program.__name__ if one else function.__name__
            arguments = [*([] if one else [function]), *([method] if method else [])]
            SOLVERS[f"{name} {method or ''}".strip()] = functools.partial(program, *arguments)
        return program

    return register


# -- equations -------------------------------------------------------------------------------------------


@solver(wg.linear_solve, methods=("direct", "cg", "gmres", "bicgstab"))
def linear_solve(method: str, p: Any) -> Any:
    return wg.linear_solve(SYMMETRIC + np.outer(p, p), np.sin(p), solver=method, tol=1e-13)


@solver(wg.sparse.solve)
def sparse_solve(p: Any) -> Any:
    matrix = scipy_sparse.csr_array(MATRIX)
    return wg.sparse.solve(matrix, np.cos(p), data=matrix.data * (1 + np.sum(p) * np.arange(9)))


@solver(wg.implicit.root, methods=("direct", "gmres"))
def root(linear: str, p: Any) -> Any:
    return wg.implicit.root(lambda x: x**3 + MATRIX @ x - p, np.zeros(3), linear=linear, tol=1e-13)


@solver(wg.implicit.fixed_point)
def fixed_point(p: Any) -> Any:
    return wg.implicit.fixed_point(lambda x: 0.3 * np.tanh(MATRIX @ x / 5 + p), np.zeros(3), tol=1e-13)


@solver(wg.implicit.minimum)
def minimum(p: Any) -> Any:
    return wg.implicit.minimum(lambda x: np.sum((x - p) ** 4 + x @ SYMMETRIC @ x), np.zeros(3), tol=1e-12)


@solver(wg.optimize.lbfgs, wg.optimize.newton_cg)
def descent(solve: Program, p: Any) -> Any:
    return solve(lambda x: np.sum((x - p) ** 4) + x @ SYMMETRIC @ x / 2, np.zeros(3), gtol=1e-11, ftol=0.0).x


@solver(wg.optimize.minimize)
def between_bounds(p: Any) -> Any:
    found = wg.optimize.minimize(
        lambda x: np.sum((x - p) ** 4) + x @ SYMMETRIC @ x / 2,
        np.zeros(3),
        bounds=[(-9.0, 9.0)] * 3,
        tol=1e-12,
    )
    return found.x


@solver(wg.optimize.levenberg_marquardt)
def squares(p: Any) -> Any:
    return wg.optimize.levenberg_marquardt(
        lambda x: np.concatenate([x + 0.1 * x**3 - p, np.sin(x) - 0.3]), np.zeros(3)
    ).x


@solver(wg.optimize.curve_fit)
def curve_fit(p: Any) -> Any:
    t = np.linspace(0.2, 2.0, 6)
    data = np.exp(-t) + 0.1 * np.sin(np.stack([t, 2 * t, 3 * t]).T @ p)
    tight: Any = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}
    return wg.optimize.curve_fit(lambda t, a, k: a * np.exp(-k * t), t, data, [1.0, 1.0], **tight)[0]


LINEAR: dict[str, Callable[[Any, Any], Any]] = {
    "solve": linalg.solve,
    "solve_triangular": linalg.solve_triangular,
    "solve_banded": lambda a, b: linalg.solve_banded((1, 1), a, b),
    "solveh_banded": lambda a, b: linalg.solveh_banded(np.stack([a[0] / 9, a[1] ** 2 + 3.0]), b),
    "cho_solve": lambda a, b: linalg.cho_solve(linalg.cho_factor(a @ a.T), b),
    "cho_solve_banded": lambda a, b: linalg.cho_solve_banded(
        (linalg.cholesky_banded(np.stack([a[0] / 9, a[1] ** 2 + 3.0])), False), b
    ),
    "lu_solve": lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b),
    "lstsq": lambda a, b: linalg.lstsq(a[:, :2], b)[0],
    "solve_circulant": lambda a, b: linalg.solve_circulant(a[:, 0], b),
    "solve_toeplitz": lambda a, b: linalg.solve_toeplitz((a[:, 0], a[0]), b),
    "solve_sylvester": lambda a, b: linalg.solve_sylvester(a, a.T + 1.0, np.outer(b, b)),
    "solve_continuous_lyapunov": lambda a, b: linalg.solve_continuous_lyapunov(a, np.outer(b, b)),
    "solve_discrete_lyapunov": lambda a, b: linalg.solve_discrete_lyapunov(a / 9, np.outer(b, b)),
    "solve_continuous_are": lambda a, b: linalg.solve_continuous_are(
        a, b[:, None], np.eye(len(b)), np.eye(1)
    ),
    "solve_discrete_are": lambda a, b: linalg.solve_discrete_are(
        a / 9, b[:, None], np.eye(len(b)), np.eye(1)
    ),
}


@solver(*[getattr(linalg, name) for name in LINEAR])
def linear(solve: Program, p: Any) -> Any:
    return LINEAR[solve.__name__](MATRIX + np.outer(p, np.sin(p)), np.cos(p))


# -- integrals and differential equations ----------------------------------------------------------------


@solver(integrate.quad)
def quad(p: Any) -> Any:
    return integrate.quad(lambda x: np.exp(-p * x) * np.sin(x + p), 0.0, p[0])[0]


@solver(integrate.cubature)
def cubature(p: Any) -> Any:
    return integrate.cubature(lambda x: np.exp(-np.sum(x * p[:2], axis=1)), np.zeros(2), p[1:]).estimate


@solver(integrate.fixed_quad)
def fixed_quad(p: Any) -> Any:
    return integrate.fixed_quad(lambda x: np.exp(-p[0] * x), 0.0, p[1])[0]


@solver(
    integrate.trapezoid,
    integrate.simpson,
    integrate.romb,
    integrate.cumulative_trapezoid,
    integrate.cumulative_simpson,
)
def samples(integral: Program, p: Any) -> Any:
    return integral(np.sin(np.concatenate([p, p[:2] ** 2])), dx=0.3)


def pendulum(t: Any, y: Any, p: Any, friction: Any) -> Any:
    return np.stack([y[1], -p[0] * np.sin(y[0]) - friction * y[1]])


@solver(
    integrate.solve_ivp,
    methods=("RK23", "RK45", "DOP853", "Tsit5", "Rodas5P", "Radau", "BDF", "RK4", "leapfrog"),
)
def solve_ivp(method: str, p: Any) -> Any:
    settings: Any = {"steps": 40} if method in ("RK4", "leapfrog") else {"rtol": 1e-5, "atol": 1e-7}
    friction = 0.0 if method == "leapfrog" else p[2]

    def fun(t: Any, y: Any) -> Any:
        return pendulum(t, y, p, friction)

    start = np.stack([p[1], 0.0 * p[1]])
    return integrate.solve_ivp(fun, (0.0, 1.0), start, method, np.linspace(0.1, 1.0, 3), **settings).y


@solver(integrate.odeint)
def odeint(p: Any) -> Any:
    def fun(y: Any, t: Any, friction: Any) -> Any:
        return pendulum(t, y, p, friction)

    return integrate.odeint(fun, np.stack([p[1], 0.0 * p[1]]), np.linspace(0.0, 1.0, 3), args=(p[2],))


@solver(integrate.solve_ivp)
def event(p: Any) -> Any:
    def height(t: Any, y: Any) -> Any:
        return y[0]

    def fun(t: Any, y: Any) -> Any:
        return pendulum(t, y, 3.0 * p, 3.0 * p[2])

    start = np.stack([p[1], 0.0 * p[1]])
    found = integrate.solve_ivp(fun, (0.0, 9.0), start, "DOP853", events=[height], rtol=1e-9, atol=1e-9)
    return found.t_events[0][0]


@solver(integrate.solve_sde, methods=("euler_maruyama", "milstein"))
def solve_sde(method: str, p: Any) -> Any:
    def drift(t: Any, y: Any) -> Any:
        return -p * y

    def diffusion(t: Any, y: Any) -> Any:
        return 0.3 * np.sin(y) + 0.1 * p

    span, start, key = (0.0, 1.0), np.ones(3), random.key(1)
    return integrate.solve_sde(drift, diffusion, span, start, key, steps=20, method=method).y


@solver(integrate.solve_dde)
def solve_dde(p: Any) -> Any:
    return integrate.solve_dde(
        lambda t, y, late, p: -p * late[0], (0.0, 1.0), lambda t: np.cos(t * p), [0.3], steps=20, args=(p,)
    ).y


# -- loops -----------------------------------------------------------------------------------------------


@solver(wg.while_loop, methods=("most", "max_bytes"))
def while_loop(limit: str, p: Any) -> Any:
    options: Any = {limit: 40 if limit == "most" else 2000}

    def step(state: Any) -> Any:
        return state[0] + 1, np.sin(state[1]) + 0.1 * MATRIX @ p

    return wg.while_loop(lambda state: state[0] < 9, step, (0, p), **options)[1]


# -- the test --------------------------------------------------------------------------------------------


def test_every_public_solver_is_here() -> None:
    """The other functions of the modules of solvers, and the solvers that follow no derivative, are listed."""
    public = [
        getattr(module, name)
        for module in (wg.implicit, wg.optimize, integrate, linalg)
        for name in module.__all__
        if module is not linalg or "solve" in name or "lstsq" in name
    ]
    public += [wg.linear_solve, wg.sparse.solve, wg.while_loop]
    missing = {f.__name__ for f in public if inspect.isfunction(f) and f not in COVERED}
    assert missing == set(OTHERS)


@pytest.mark.parametrize("name", SOLVERS)
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
