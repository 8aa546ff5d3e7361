"""Roots, fixed points and minima: known derivatives, every mode, solvers of SciPy, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ArgumentError, DtypeError, LimitError, MatrixError, ShapeError

LINEAR = ("direct", "gmres")


def cube_root(a: Any, linear: str = "direct") -> Any:
    return wg.implicit.root(lambda x: x**3 - a, 1.0, linear=linear)


def pair(p: Any, linear: str = "direct") -> Any:
    """Return a number of the solution of two equations that close over ``p``."""

    def f(x: Any) -> Any:
        return {"u": x["u"] ** 3 + p * x["v"] - 1, "v": np.sin(x["u"]) - x["v"] * p}

    solution = wg.implicit.root(f, {"u": 1.0, "v": 0.5}, linear=linear)
    return solution["u"] * solution["v"]


def settled(p: Any, linear: str = "direct") -> Any:
    W = np.array([[0.2, -0.4], [0.3, 0.1]])
    x = wg.implicit.fixed_point(lambda x: np.tanh(p * (W @ x) + np.arange(2.0)), np.zeros(2), linear=linear)
    return np.sum(x**2)


DATA = np.random.default_rng(0).standard_normal((12, 1))
LABELS = np.where(DATA @ np.array([1.0]) > 0.1, 1.0, -1.0)


def fitted(p: Any, linear: str = "direct") -> Any:
    """Return a number of the weights of a logistic regression by its penalty."""

    def loss(w: Any) -> Any:
        scores = LABELS * (DATA @ w["w"] + w["b"])
        return np.sum(np.logaddexp(0, -scores)) + p * (np.sum(w["w"] ** 2) + w["b"] ** 2)

    weights = wg.implicit.minimum(loss, {"w": np.zeros(1), "b": 0.0}, linear=linear)
    return np.sum(weights["w"] ** 2)


def differences(function: Callable[[float], Any], t: float, step: float = 1e-3) -> tuple[float, float]:
    """Return the first two derivatives by differences of fourth order."""
    values = [float(function(t + k * step)) for k in (-2, -1, 0, 1, 2)]
    first = np.dot([1, -8, 0, 8, -1], values) / (12 * step)
    second = np.dot([-1, 16, -30, 16, -1], values) / (12 * step**2)
    return float(first), float(second)


@pytest.mark.parametrize("linear", LINEAR)
@pytest.mark.parametrize("function", [pair, settled, fitted])
def test_every_mode(function: Any, linear: str) -> None:
    def f(t: Any) -> Any:
        return function(t, linear)

    points = np.array([0.8, 1.3])
    first, second = differences(function, points[0])  # the same numbers, sooner
    slopes = [wg.grad(f)(t) for t in points]
    close = {"rtol": 1e-6, "atol": 1e-8}
    np.testing.assert_allclose(slopes[0], first, **close)
    np.testing.assert_allclose(wg.derivative(f)(points[0]), first, **close)
    np.testing.assert_allclose(wg.vmap(wg.grad(f))(points), slopes, **close)
    loose = {"rtol": 1e-5, "atol": 1e-7}
    np.testing.assert_allclose(wg.grad(wg.grad(f))(points[0]), second, **loose)
    np.testing.assert_allclose(wg.jvp(wg.grad(f), (points[0],), (1.0,))[1], second, **loose)
    np.testing.assert_allclose(wg.derivative(f, order=2)(points[0]), second, **loose)


@pytest.mark.parametrize("linear", LINEAR)
@pytest.mark.parametrize("function", [pair, settled, fitted])
def test_compiled_derivatives(function: Any, linear: str) -> None:
    def f(t: Any) -> Any:
        return function(t, linear)

    points = np.array([0.8, 1.3])
    slopes = [wg.grad(f)(t) for t in points]
    np.testing.assert_allclose(wg.jit(wg.vmap(wg.grad(f)))(points), slopes, rtol=1e-6, atol=1e-8)


def test_known_derivatives() -> None:
    for order in range(1, 5):
        exact = wg.derivative(np.cbrt, order=order)(8.0)
        np.testing.assert_allclose(wg.derivative(cube_root, order=order)(8.0), exact, rtol=1e-9)
    np.testing.assert_allclose(
        wg.grad(wg.grad(wg.grad(cube_root)))(8.0), wg.derivative(np.cbrt, order=3)(8.0)
    )


@pytest.mark.parametrize("linear", LINEAR)
def test_compiled_second_derivatives(linear: str) -> None:
    compiled = wg.jit(wg.derivative(lambda a: cube_root(a, linear), order=2))
    np.testing.assert_allclose(compiled(8.0), wg.derivative(np.cbrt, order=2)(8.0), rtol=1e-9)


def test_arguments_and_starts() -> None:
    def f(x: Any, a: Any, scale: int) -> Any:
        return x**3 - scale * a["a"]

    solve = lambda a: wg.implicit.root(f, np.ones(2), args=({"a": a}, 2))  # noqa: E731
    a = np.array([4.0, 0.5])
    np.testing.assert_allclose(solve(a), np.cbrt(2 * a))
    np.testing.assert_allclose(wg.jacobian(solve)(a), np.diag(2 / 3 * (2 * a) ** (-2 / 3)), rtol=1e-9)
    assert wg.grad(lambda x0: wg.implicit.root(lambda x: x**3 - 8.0, x0))(1.0) == 0.0
    assert wg.implicit.root(lambda x: x - np.float32(2), np.float32(1)).dtype == np.float32


def test_python_that_asks_for_values() -> None:
    """The function may branch on numbers if it takes its parameters as arguments."""

    def f(x: Any, a: Any) -> Any:
        return x * x - a if x > 0 else x - 1.0

    solve = lambda a: wg.implicit.root(f, 1.0, args=(a,))  # noqa: E731
    np.testing.assert_allclose(wg.grad(solve)(4.0), 0.25, rtol=1e-9)


@pytest.mark.parametrize("solver", ["iteration", "newton"])
def test_solvers_of_fixed_points(solver: str) -> None:
    dottie = lambda a: wg.implicit.fixed_point(lambda x: np.cos(a * x), 1.0, solver=solver)  # noqa: E731
    np.testing.assert_allclose(dottie(1.0), 0.7390851332151607, rtol=1e-9)
    np.testing.assert_allclose(wg.grad(dottie)(1.0), differences(dottie, 1.0)[0], rtol=1e-6)


def test_solvers_of_scipy() -> None:
    optimize = pytest.importorskip("scipy.optimize")

    def by_scipy(p: Any) -> Any:
        def f(x: Any) -> Any:
            return np.stack([x[0] ** 3 + p * x[1] - 1, np.sin(x[0]) - x[1] * p])

        x = wg.implicit.root(f, np.array([1.0, 0.5]), solver=lambda f, x: optimize.root(f, x, tol=1e-13).x)
        return x[0] * x[1]

    np.testing.assert_allclose(wg.grad(by_scipy)(1.3), wg.grad(pair)(1.3), rtol=1e-8)

    def least(p: Any) -> Any:
        def rosenbrock(x: Any) -> Any:
            return (p - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

        return wg.implicit.minimum(
            rosenbrock, np.array([-1.2, 1.0]), solver=lambda f, x: optimize.minimize(f, x, tol=1e-9).x
        )

    np.testing.assert_allclose(wg.jacobian(least)(2.0), [1.0, 4.0], rtol=1e-3)


def test_newton_leaves_the_valley_of_rosenbrock() -> None:
    def rosenbrock(x: Any) -> Any:
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    np.testing.assert_allclose(wg.implicit.minimum(rosenbrock, np.array([-1.2, 1.0, 1.5])), 1.0, rtol=1e-8)


def test_steps_are_halved_where_newton_overshoots() -> None:
    np.testing.assert_allclose(wg.implicit.root(np.arctan, 3.0), 0.0, atol=1e-9)


def test_errors() -> None:
    with pytest.raises(LimitError, match="root: the iteration must converge in maxiter=100"):
        wg.implicit.root(lambda x: x**2 + 1.0, 0.7)
    with pytest.raises(LimitError, match="must converge"):
        wg.jit(lambda a: wg.implicit.root(lambda x: x**2 + a, 0.7))(1.0)
    with pytest.raises(LimitError, match="fixed_point"):
        wg.implicit.fixed_point(lambda x: 2 * x + 1, 1.0)
    with pytest.raises(LimitError, match="minimum"):
        wg.implicit.minimum(lambda x: np.sum(x), np.ones(2))
    with pytest.raises(MatrixError):
        wg.grad(lambda a: wg.implicit.root(lambda x: (x - a) ** 3, 1.0))(1.0)
    with pytest.raises(ShapeError, match="the shapes of x0"):
        wg.implicit.root(lambda x: x[:1], np.ones(2))
    with pytest.raises(ArgumentError, match="args must be a tuple"):
        wg.implicit.root(np.add, 1.0, args=2.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="linear must be one of"):
        wg.implicit.root(np.sin, 1.0, linear="lu")
    with pytest.raises(ArgumentError, match="newton"):
        wg.implicit.minimum(np.sin, 1.0, solver="bfgs")
    with pytest.raises(ArgumentError, match="a function is needed"):
        wg.implicit.root(3.0, 1.0)  # pyright: ignore[reportArgumentType]


def test_arrays_of_integers_become_floating_point() -> None:
    start = np.array([1, 1])
    np.testing.assert_allclose(wg.implicit.root(lambda x: x * x - 2.0, start), np.sqrt(2.0))
    np.testing.assert_allclose(wg.implicit.minimum(lambda x: np.sum((x - 0.5) ** 2), start), 0.5)
    np.testing.assert_allclose(wg.implicit.fixed_point(lambda x: x / 2 + 1, start), 2.0, rtol=1e-9)


def test_solvers_of_the_user_inside_jit_and_vmap() -> None:
    def nearest(a: Any) -> Any:
        def distance(x: Any) -> Any:
            return np.sum((x - a) ** 2) + np.sum(x**4)

        def solver(f: Any, x: Any) -> Any:
            return wg.fori_loop(0, 80, lambda i, x: x - 0.08 * wg.grad(f)(x), x)

        return wg.implicit.minimum(distance, np.zeros(2), solver=solver)[0]

    points = np.array([0.5, 2.0])
    slopes = [differences(nearest, t)[0] for t in points]
    np.testing.assert_allclose(wg.jit(wg.vmap(wg.grad(nearest)))(points), slopes, rtol=1e-6)


def test_results_of_functions_and_solvers_that_do_not_fit() -> None:
    with pytest.raises(ShapeError, match=r"^root: the function must return values of the shapes of x0"):
        wg.implicit.root(lambda x: None, np.zeros(2))
    with pytest.raises(
        ShapeError, match=r"^root: the solver must return as many numbers as x0 has, 2; got 3"
    ):
        wg.implicit.root(lambda x: x, np.zeros(2), solver=lambda f, x: np.zeros(3))
    with pytest.raises(ArgumentError, match=r"^minimum: .* floating-point scalar; got f64\[2\]"):
        wg.implicit.minimum(lambda x: x, np.zeros(2))
    with pytest.raises(DtypeError, match=r"^minimum: the function must return real values"):
        wg.implicit.minimum(lambda x: np.sum(x) * 1j, np.zeros(2))
