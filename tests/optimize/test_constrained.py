"""Constrained minima: IPOPT, multipliers, derivatives by parameters, and ends that are no minima."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.benchmarks import benchmark
from tests.optional import Package
from wengert.engine.core.errors import ArgumentError, LimitError, MissingExtraError
from wengert.optimize import ipopt, searches

optimize: Any = Package("scipy.optimize")
Package("ipyopt")
minimize: Any = wg.optimize.minimize
START = np.array([0.5, 0.5, 0.5])
PARAMETERS = {"target": np.array([1.0, 0.8, -0.5]), "price": np.array([1.0, 2.0, 1.0])}


def portfolio(p: Any, budget: Any = 1.0, method: Any = None, **more: Any) -> Any:
    """Solve a problem whose budget and third bound are reached."""
    return minimize(
        lambda x: np.sum((x - p["target"]) ** 2) + 0.1 * x[0] * x[1],
        START,
        method=method,
        bounds=(0.0, None),
        constraints=[(lambda x: np.sum(x * p["price"]) - budget, None, 0.0)],
        **more,
    )


def differences(f: Any, x: Any, step: float = 1e-4) -> Any:
    basis = np.eye(len(x)) * step
    return np.stack([(f(x + d) - f(x - d)) / (2 * step) for d in basis], axis=-1)


@pytest.mark.parametrize(
    "method", [None, *(pytest.param(m, marks=pytest.mark.slow) for m in ("ipopt", "trust-constr"))]
)
def test_the_gradient_of_the_lagrangian_is_zero(method: Any) -> None:
    result = portfolio(PARAMETERS, method=method)
    v, z = result.multipliers.constraints[0], result.multipliers.bounds
    slope = wg.grad(lambda x: np.sum((x - PARAMETERS["target"]) ** 2) + 0.1 * x[0] * x[1])(result.x)
    np.testing.assert_allclose(slope + v * PARAMETERS["price"] + z, 0.0, atol=1e-3)
    assert v > 0.5
    assert z[2] < -1.0
    assert result.constr_violation < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("method", ["SLSQP", "ipopt", "trust-constr", "COBYLA"])
def test_the_multiplier_is_the_price_of_a_limit(method: str) -> None:
    def solve(low: float, high: float) -> Any:
        tight: dict[str, Any] = {
            "SLSQP": {"ftol": 1e-12},
            "trust-constr": {"gtol": 1e-9},
            "ipopt": {},
            "COBYLA": {"tol": 1e-9},
        }
        return minimize(
            lambda x: np.sum((x["a"] - 1.0) ** 2) + (x["b"] + 1.0) ** 4,
            {"a": np.zeros(2), "b": 0.3},
            method=method,
            bounds=({"a": -9.0, "b": low}, None),
            constraints=[(lambda x: {"sum": np.sum(x["a"])}, None, {"sum": high})],
            options=tight[method] if method != "COBYLA" else {"tol": 1e-9, "maxiter": 5000},
        )

    result, step = solve(0.25, 1.5), 1e-3
    by_high = (solve(0.25, 1.5 + step).fun - solve(0.25, 1.5 - step).fun) / (2 * step)
    by_low = (solve(0.25 + step, 1.5).fun - solve(0.25 - step, 1.5).fun) / (2 * step)
    np.testing.assert_allclose(result.multipliers.constraints[0]["sum"], -by_high, rtol=2e-2)
    np.testing.assert_allclose(result.multipliers.bounds["b"], -by_low, rtol=2e-2)


def test_derivatives_are_those_of_differences_in_both_modes() -> None:
    def goal(target: Any) -> Any:
        result = portfolio({**PARAMETERS, "target": target}, options={"ftol": 1e-15})
        multipliers = result.multipliers
        return (
            np.sum(np.sin(result.x)) + multipliers.constraints[0] + result.fun**2 + multipliers.bounds[2] ** 2
        )

    target = PARAMETERS["target"]
    slope = wg.grad(goal)(target)
    moved = (goal(target + 1e-4 * target) - goal(target - 1e-4 * target)) / 2e-4
    np.testing.assert_allclose(slope @ target, moved, rtol=1e-5)
    np.testing.assert_allclose(wg.jvp(goal, (target,), (target,))[1], slope @ target, rtol=1e-12)


@pytest.mark.slow
def test_derivatives_of_second_order_and_of_batches() -> None:
    def solve(price: Any) -> Any:
        return portfolio({**PARAMETERS, "price": price}, method="ipopt").x

    price = PARAMETERS["price"]
    prices = np.stack([price, price + 0.1, [1.0, 1.0, 3.0]])
    each = np.stack([solve(row) for row in prices])
    np.testing.assert_allclose(wg.vmap(solve)(prices), each, atol=1e-7)
    np.testing.assert_allclose(wg.jit(wg.vmap(solve))(prices), each, atol=1e-7)
    jacobians = wg.vmap(wg.jacobian(solve))(prices)
    np.testing.assert_allclose(jacobians[2], differences(solve, prices[2]), rtol=1e-5, atol=1e-6)
    second = wg.hessian(lambda price: portfolio({**PARAMETERS, "price": price}).fun)(price)
    first = wg.grad(lambda price: portfolio({**PARAMETERS, "price": price}).fun)
    np.testing.assert_allclose(second, differences(first, price), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_derivatives_of_many_variables_by_a_sparse_factor() -> None:
    size = 700
    wave = np.sin(np.arange(size) / 30)

    def solve(p: Any) -> Any:
        return minimize(
            lambda x: np.sum((x - p[0] * wave) ** 2) + p[1] * np.sum((x[1:] - x[:-1]) ** 2),
            np.zeros(size),
            bounds=(-0.5, None),
            constraints=[(lambda x: x[1:] + x[:-1] ** 2, None, 0.75)],
            method="ipopt",
        ).x

    p = np.array([1.0, 0.3])
    slope = wg.jvp(solve, (p,), (np.ones(2),))[1]
    low, high = wg.vmap(solve)(np.stack([p - 1e-5, p + 1e-5]))  # their last steps are Newton's
    moved = (high - low) / 2e-5
    np.testing.assert_allclose(slope, moved, rtol=1e-4, atol=1e-5)
    weights = np.cos(np.arange(size))
    back = wg.grad(lambda p: weights @ solve(p))(p)
    np.testing.assert_allclose(np.sum(back), weights @ slope, rtol=1e-9)


@pytest.mark.parametrize(
    ("target", "constraints", "reason"),
    [
        (0.0, [(lambda x: x[0], 0.0, None)], "multiplier of zero"),
        pytest.param(
            -1.0,
            [(lambda x: x[0], 0.0, None), (lambda x: 2.0 * x[0], 0.0, None)],
            "dependent",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_derivative_needs_a_regular_minimum(target: float, constraints: Any, reason: str) -> None:
    def solve(target: Any) -> Any:
        return minimize(lambda x: np.sum((x - target) ** 2), np.array([0.5, 0.5]), constraints=constraints).x

    np.testing.assert_allclose(wg.vmap(solve)(np.array([target])), [solve(target)], atol=1e-6)
    with pytest.raises(LimitError, match=reason):
        wg.grad(lambda target: np.sum(solve(target)))(target)


@pytest.mark.slow
def test_a_derivative_needs_a_curvature_and_a_minimum() -> None:
    def flat(p: Any) -> Any:
        return minimize(lambda x: (x[0] - p) ** 2 + 0.0 * x[1], START[:2], bounds=(-1.0, 1.0)).x[0]

    with pytest.raises(LimitError, match="curvature"):
        wg.grad(flat)(0.3)

    def infeasible(p: Any) -> Any:
        limits: Any = [(lambda x: x[0] - p, 1.0, None), (lambda x: x[0], None, 0.0)]
        return minimize(lambda x: x[0] ** 2, np.zeros(1), constraints=limits).x[0]

    with pytest.raises(LimitError, match="must end at a minimum"):
        wg.grad(infeasible)(1.0)


def test_ends_that_are_no_minima_have_no_success() -> None:
    for method, start in (("L-BFGS-B", [0.0, 0.0]), ("L-BFGS-B", [0.1, 0.0])):
        result = minimize(lambda x: -np.sum(x**2), start, bounds=[(-1, 1)] * 2, method=method)
        assert not result.success
        assert "falls on" in result.message


@pytest.mark.slow
def test_ipopt_says_why_there_is_no_minimum() -> None:
    saddle = minimize(lambda x: -np.sum(x**2), [0.0, 0.0], bounds=[(-1, 1)] * 2, method="ipopt")
    assert not saddle.success
    unbounded = minimize(
        lambda x: -np.sum(x), [0.1, 0.0], constraints=[(lambda x: x[0] - x[1], 0.0, 1.0)], method="ipopt"
    )
    assert not unbounded.success
    assert "unbounded" in unbounded.message
    limits: Any = [(lambda x: np.sum(x**2), None, 1.0), (lambda x: x[0], 3.0, None)]
    infeasible = minimize(lambda x: np.sum(x**2), [0.1, 0.0], constraints=limits, method="ipopt")
    assert not infeasible.success
    assert infeasible.constr_violation > 0.1
    with np.errstate(invalid="ignore"):
        wall = minimize(lambda x: np.sqrt(x[0] - 1.0) + x[1] ** 2, [2.0, 1.0], method="ipopt")
    assert not wall.success
    few = minimize(lambda x: np.sum((x - 1) ** 4), np.zeros(3), method="ipopt", options={"maxiter": 2})
    assert few.status == -1
    assert not few.success


@pytest.mark.slow
def test_what_ipopt_takes() -> None:
    p = benchmark("problems.hock_schittkowski").PROBLEMS[71]
    given: dict[str, Any] = {"method": "ipopt", "bounds": p.bounds, "constraints": p.constraints}
    cold, seen = minimize(p.fun, p.start, **given), list[Any]()
    warm = minimize(p.fun, cold.x, multipliers=cold.multipliers, **given)
    assert warm.success
    assert warm.nit < cold.nit
    scales = {"x_scaling": 0.5, "g_scaling": [1.0, np.array([0.1])], "obj_scaling": 10.0}
    scaled = minimize(p.fun, p.start, options=scales, callback=lambda x: seen.append(x), **given)
    np.testing.assert_allclose(scaled.x, cold.x, rtol=1e-6)
    np.testing.assert_allclose(scaled.multipliers.bounds, cold.multipliers.bounds, atol=1e-5)
    assert len(seen) == scaled.nit

    def stop(intermediate_result: Any) -> None:
        raise StopIteration

    assert minimize(p.fun, p.start, callback=stop, **given).status == 5
    mine = minimize(p.fun, p.start, jac=wg.grad(p.fun), **given)
    assert mine.nhev == 0
    np.testing.assert_allclose(mine.x, cold.x, rtol=1e-5)
    exact = minimize(p.fun, p.start, jac=wg.grad(p.fun), hess=wg.hessian(p.fun), **given)
    np.testing.assert_allclose(exact.x, cold.x, rtol=1e-6)


@pytest.mark.slow
def test_linear_constraints_and_dicts() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]])
    forms: list[Any] = [
        optimize.LinearConstraint(matrix, [0.0, 0.2], [0.5, np.inf]),
        optimize.LinearConstraint(sparse.csr_array(matrix), [0.0, 0.2], [0.5, np.inf]),
        (lambda x: matrix @ x, [0.0, 0.2], [0.5, np.inf]),
        [
            {"type": "ineq", "fun": lambda x: matrix[0] @ x},
            {"type": "ineq", "fun": lambda x: 0.5 - matrix[0] @ x, "jac": lambda x: -matrix[0]},
            {"type": "ineq", "fun": lambda x, low: matrix[1] @ x - low, "args": (0.2,)},
        ],
    ]
    results = [
        minimize(lambda x: np.sum((x - 1.0) ** 4 + x**2), START, constraints=form, method="ipopt")
        for form in forms
    ]
    for result in results:
        assert result.success
        np.testing.assert_allclose(result.x, results[0].x, atol=1e-5)


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(x: Any) -> Any:
        raise KeyError("mine")

    for given, text in (
        ({"options": {"max_itr": 3}}, "max_iter"),
        ({"options": {"max_iter": 3.5}}, "the option max_iter"),
        ({"constraints": optimize.LinearConstraint(np.eye(2), 0.0, 1.0)}, "3 columns"),
        ({"jac": "2-point"}, "must be None or a function"),
        ({"multipliers": 3.0}, "multipliers must be"),
    ):
        with pytest.raises(ArgumentError, match=text):
            minimize(lambda x: np.sum(x**2), START, method="ipopt", **given)
    with pytest.raises(ArgumentError, match="only the method ipopt"):
        minimize(lambda x: np.sum(x**2), START, multipliers=3.0)
    with pytest.raises(KeyError, match="mine"):
        minimize(failing, START, method="ipopt")
    monkeypatch.setattr(ipopt, "ipopt", lambda operation: (_ for _ in ()).throw(MissingExtraError("x")))
    assert not ipopt.has_ipopt()


@pytest.mark.slow
def test_many_variables_never_go_to_a_dense_method_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(method: Any = None) -> Any:
        size = 250
        limits: Any = [(lambda x: x[1:] + x[:-1], None, 1.0)]
        return minimize(lambda x: np.sum((x - 1.0) ** 2), np.zeros(size), constraints=limits, method=method)

    assert solve().nhev
    with pytest.warns(optimize.OptimizeWarning, match="cube of 250"):
        solve("SLSQP")
    monkeypatch.setattr(searches, "has_ipopt", lambda: False)
    assert "barrier_parameter" in solve()


@pytest.mark.slow
@pytest.mark.parametrize("number", benchmark("problems.hock_schittkowski").PROBLEMS)
def test_hock_schittkowski(number: int) -> None:
    p = benchmark("problems.hock_schittkowski").PROBLEMS[number]
    for method in ("ipopt", "SLSQP"):
        given: dict[str, Any] = {"bounds": p.bounds, "constraints": p.constraints, "method": method}
        result = minimize(p.fun, np.array(p.start, float), **given)
        if result.success or method == "ipopt":
            assert result.success, result.message
            np.testing.assert_allclose(result.fun, p.value, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("number", benchmark("problems.more_garbow_hillstrom").PROBLEMS)
def test_more_garbow_hillstrom(number: int) -> None:
    p = benchmark("problems.more_garbow_hillstrom").PROBLEMS[number]
    tight: dict[str, Any] = {"xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-12, "max_nfev": 20_000}
    result = wg.optimize.least_squares(p.residuals, np.array(p.start, float), method="lm", **tight)
    assert result.success, result.message
    assert min(abs(2 * result.cost - value) / max(value, 1e-4) for value in p.values) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("name", benchmark("problems.optimal_control").PROBLEMS)
def test_optimal_control(name: str) -> None:
    p = benchmark("problems.optimal_control").PROBLEMS[name]
    result = minimize(
        p.objective, p.start(), method="ipopt", bounds=p.bounds(),
        constraints=[(lambda x: np.stack(p.defects(x)), 0.0, 0.0)],
    )  # fmt: skip
    assert result.success, result.message
    if p.value is not None:
        np.testing.assert_allclose(result.fun, p.value, rtol=2e-5)


# -- ends of fits ---------------------------------------------------------------------------------------

DAYS, DEMAND = np.array([1.0, 2, 3, 5, 7, 10]), np.array([109.0, 149, 149, 191, 213, 224])
"""NIST's BoxBOD, with the certified parameters and standard errors."""
CERTIFIED = np.array([2.1380940889e02, 5.4723748542e-01]), np.array([1.2354515176e01, 1.0455993237e-01])


def saturation(x: Any, b1: Any, b2: Any) -> Any:
    return b1 * (1 - np.exp(-b2 * x))


@pytest.mark.parametrize("start", [[1.0, 1.0], [100.0, 0.75]])
def test_fits_have_the_certified_digits(start: Any) -> None:
    popt, pcov = wg.optimize.curve_fit(saturation, DAYS, DEMAND, start)
    np.testing.assert_allclose(popt, CERTIFIED[0], rtol=1e-9)
    np.testing.assert_allclose(np.sqrt(np.diag(pcov)), CERTIFIED[1], rtol=1e-8)


@pytest.mark.slow
def test_weighted_fits_end_where_scipys_tight_ones_do() -> None:
    errors = np.linspace(1.0, 3.0, 6)
    for sigma in (errors, np.diag(errors**2) + 0.2):
        for bounds in ((-np.inf, np.inf), ([0.0, 0.0], [200.0, 5.0])):
            given: dict[str, Any] = {"sigma": sigma, "absolute_sigma": True, "bounds": bounds}
            popt, pcov = wg.optimize.curve_fit(saturation, DAYS, DEMAND, [100.0, 0.7], **given)
            tight: dict[str, Any] = {
                "ftol": 1e-15,
                "xtol": 1e-15,
                "gtol": 1e-15,
                "x_scale": "jac",
                "method": "trf",
            }
            theirs = optimize.curve_fit(saturation, DAYS, DEMAND, [100.0, 0.7], **given, **tight)
            np.testing.assert_allclose(popt, theirs[0], rtol=1e-6)
            np.testing.assert_allclose(pcov, theirs[1], rtol=1e-4)


@pytest.mark.slow
def test_a_fit_that_ends_on_a_flat_tail_warns() -> None:
    from wengert.errors import DoubtfulResultWarning

    with pytest.warns(DoubtfulResultWarning, match="no minimum is near"):
        wg.optimize.curve_fit(saturation, DAYS, DEMAND, [1.0, 1.0], method="lm")
