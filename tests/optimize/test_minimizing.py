"""`wengert.optimize.minimize`: SciPy's results, with fewer evaluations, over containers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.optimize.problems import HS, INPUTS, NETWORK, TARGETS, Network, network_error, rosenbrock
from wengert.engine.core.errors import ArgumentError
from wengert.optimize import constraints, searches

optimize = pytest.importorskip("scipy.optimize")

METHODS = [
    *(
        "Nelder-Mead",
        "Powell",
        "CG",
        "BFGS",
        "Newton-CG",
        "L-BFGS-B",
        "TNC",
        "COBYLA",
        "SLSQP",
        "trust-constr",
    ),
    *("dogleg", "trust-ncg", "trust-krylov", "trust-exact"),
]
FREE = {"Nelder-Mead", "Powell", "COBYLA"}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_scipys(method: str) -> None:
    x0 = np.array([-1.2, 1.0])
    options = {"maxiter": 400} if method == "COBYLA" else {}
    result = wg.optimize.minimize(rosenbrock, x0, method=method, options=options)
    assert isinstance(result, optimize.OptimizeResult)
    if method == "COBYLA":  # it creeps along the valley, without derivatives
        assert result.fun < rosenbrock(x0) / 10
        return
    np.testing.assert_allclose(result.x, np.ones(2), rtol=1e-3)
    assert result.success
    if method not in FREE | {"Newton-CG", "dogleg", "trust-ncg", "trust-krylov", "trust-exact"}:
        theirs = optimize.minimize(rosenbrock, x0, method=method)
        np.testing.assert_allclose(result.x, theirs.x, rtol=1e-3)
        assert result.nfev < theirs.nfev


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "Newton-CG", "trust-constr", "Nelder-Mead"])
def test_containers_come_back(method: str) -> None:
    options = (
        {"maxiter": 4000, "maxfev": 8000, "xatol": 1e-6, "fatol": 1e-10} if method == "Nelder-Mead" else {}
    )
    result = wg.optimize.minimize(network_error, NETWORK, (INPUTS, TARGETS), method=method, options=options)
    assert isinstance(result.x, Network)
    assert type(result.x.scale) is float
    assert result.x.weights["in"].shape == (2, 2)
    slope = wg.grad(network_error)(result.x, INPUTS, TARGETS)
    assert max(np.max(np.abs(leaf)) for leaf in wg.tree.leaves(slope)) < 1e-3
    if method == "BFGS":
        assert isinstance(result.jac, Network)
        np.testing.assert_allclose(result.jac.weights["out"], slope.weights["out"], atol=1e-12)


@pytest.mark.parametrize("number", HS)
def test_the_default_method_takes_bounds_and_constraints(number: int) -> None:
    given = HS[number]
    result = wg.optimize.minimize(given.fun, given.x0, bounds=given.bounds, constraints=given.constraints)
    assert result.success
    assert result.fun == pytest.approx(given.value, rel=1e-5, abs=1e-6)


def test_more_variables_than_the_hessian_is_a_matrix_for(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 20
    for module in (constraints, searches):
        monkeypatch.setattr(module, "MOST_DENSE", size - 1)
    result = wg.optimize.minimize(
        lambda x: np.sum((x - 1.0) ** 4),
        np.zeros(size),
        method="trust-constr",
        constraints=[(lambda x: x[1:] * x[:-1], None, 0.5)],
        options={"maxiter": 60},
    )
    assert np.max(result.x[1:] * result.x[:-1]) < 0.5 + 1e-4
    assert result.optimality < 1e-2


def test_derivatives_of_the_users_own() -> None:
    asked: list[str] = []

    def jac(x: Any, a: float) -> Any:
        asked.append("jac")
        return wg.grad(f)(x, a)

    def hess(x: Any, a: float) -> Any:
        asked.append("hess")
        return wg.hessian(f)(x, a)

    def hessp(x: Any, p: Any, a: float) -> Any:
        asked.append("hessp")
        return wg.hvp(f)(x, a, p)

    def f(x: Any, a: float) -> Any:
        return np.sum((x - a) ** 4 + (x - a) ** 2)

    x0 = np.zeros(3)
    for given in ({"jac": jac}, {"hess": hess}, {"hessp": hessp}, {"hess": optimize.BFGS()}):
        asked.clear()
        method = "trust-constr" if "hess" in given else "Newton-CG"
        result = wg.optimize.minimize(f, x0, 2.0, method, **given)
        np.testing.assert_allclose(result.x, 2.0, atol=1e-3)
        assert set(asked) == {name for name, value in given.items() if callable(value)}
    result = wg.optimize.minimize(lambda x, a: (f(x, a), wg.grad(f)(x, a)), x0, 2.0, jac=True)
    np.testing.assert_allclose(result.x, 2.0, atol=1e-3)
    result = wg.optimize.minimize(f, x0, 2.0, jac="2-point")
    np.testing.assert_allclose(result.x, 2.0, atol=1e-3)


def test_a_method_of_the_users_own_gets_all_derivatives() -> None:
    def newton(fun: Any, x0: Any, jac: Any, hess: Any, hessp: Any, **options: Any) -> Any:
        x = x0
        for _ in range(20):
            x = x - np.linalg.solve(hess(x), jac(x))
        np.testing.assert_allclose(hessp(x, x), hess(x) @ x)
        return optimize.OptimizeResult(x=x, fun=fun(x), success=True)

    result = wg.optimize.minimize(lambda p: np.sum(np.cosh(p["a"] - 1.0)), {"a": np.zeros(2)}, method=newton)
    np.testing.assert_allclose(result.x["a"], 1.0, rtol=1e-12)


@pytest.mark.parametrize("method", ["BFGS", "trust-constr", "SLSQP"])
def test_callbacks_get_containers(method: str) -> None:
    seen: list[Any] = []

    def at_point(x: Any, *state: Any) -> None:
        seen.append(x["a"])

    def valley(x: Any) -> Any:
        return (x["a"] - 1.0) ** 2 + 100.0 * (x["b"] - x["a"] ** 2) ** 2

    wg.optimize.minimize(valley, {"a": -1.2, "b": 1.0}, method=method, callback=at_point)
    assert len(seen) > 1
    assert all(type(a) is float for a in seen)
    if method == "SLSQP":
        return  # early versions call it with the point alone

    def at_result(intermediate_result: Any) -> None:
        assert intermediate_result.x["a"] < 1.0
        raise StopIteration

    stopped = wg.optimize.minimize(valley, {"a": -1.2, "b": 1.0}, method=method, callback=at_result)
    assert not stopped.success


def test_no_convergence_is_in_the_result() -> None:
    result = wg.optimize.minimize(rosenbrock, np.full(5, -1.0), options={"maxiter": 2})
    assert not result.success
    assert "iterations" in result.message


def test_errors_name_the_users_line() -> None:
    with pytest.raises(ArgumentError, match=r"^minimize: .*NaN at the start.* \[test_minimizing.py:\d+"):
        wg.optimize.minimize(lambda x: np.sum(x) * np.nan, np.ones(2), method="Nelder-Mead")
    with pytest.raises(ArgumentError, match=r"^minimize: .*scalar.* \[test_minimizing.py:\d+"):
        wg.optimize.minimize(lambda x: x, np.ones(2))
    with pytest.raises(ValueError, match="Unknown solver"):
        wg.optimize.minimize(rosenbrock, np.ones(2), method="steepest")


def test_a_gradient_of_the_users_own_that_does_not_fit() -> None:
    with pytest.raises(ArgumentError, match=r"the gradient must have the shape \(2,\); got f64\[3\]"):
        wg.optimize.minimize(np.sum, np.ones(2), jac=lambda x: np.ones(3))
