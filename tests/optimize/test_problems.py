"""`wengert.optimize.problem`: what SciPy's solvers get, over containers, from few passes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import examples
from tests.optimize.problems import (
    HS,
    INPUTS,
    NETWORK,
    TARGETS,
    network_error,
    rosenbrock,
)
from wengert.engine.core.errors import ArgumentError, DtypeError

optimize = pytest.importorskip("scipy.optimize")
FIXED = (INPUTS, TARGETS)


def differences(f: Any, x: Any, step: float = 1e-6) -> Any:
    """Return central differences of a function of a vector, along the last axis."""
    basis = np.eye(len(x)) * step
    return np.stack([(f(x + d) - f(x - d)) / (2 * step) for d in basis], axis=-1)


def test_the_derivatives_are_those_of_the_vector() -> None:
    found = wg.optimize.problem(network_error, NETWORK, args=FIXED)
    assert found.x0.dtype == np.float64
    assert found.x0.shape == (7,)
    rng = np.random.default_rng(0)
    for _ in range(3):
        x, p = found.x0 + rng.normal(size=7), rng.normal(size=7)
        assert found.fun(x) == pytest.approx(network_error(found.unflatten(x), *FIXED), rel=1e-14)
        assert found.value(x) == pytest.approx(found.fun(x), rel=1e-15)
        np.testing.assert_allclose(found.jac(x), differences(found.fun, x), atol=1e-8)
        hessian = found.hess(x)
        np.testing.assert_allclose(hessian, differences(found.jac, x), atol=1e-8)
        np.testing.assert_allclose(found.hessp(x, p), hessian @ p, rtol=1e-11, atol=1e-13)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=4), st.randoms())
@examples(30)
def test_a_container_survives_the_vector(shapes: list[tuple[int, int]], random: Any) -> None:
    kinds: list[Any] = [float, np.float64, np.float32, lambda x: np.array(x, np.float32)]
    leaves = [random.choice(kinds)(random.random()) for _ in shapes]
    container = {"a": leaves, "b": [np.full(shape, random.random()) for shape in shapes], "c": None}
    found = wg.optimize.problem(lambda x: 0.0, container)
    back = found.unflatten(found.x0)
    old, structure = wg.tree.flatten(container)
    new, other = wg.tree.flatten(back)
    assert structure == other
    for one, two in zip(old, new, strict=True):
        assert type(one) is type(two)
        np.testing.assert_array_equal(one, two)
        assert np.asarray(one).dtype == np.asarray(two).dtype
    np.testing.assert_array_equal(found.flatten(back), found.x0)


def test_lists_of_numbers_are_arrays_and_integers_are_floats() -> None:
    assert isinstance(wg.optimize.problem(rosenbrock, [1, 2]).unflatten(np.ones(2)), np.ndarray)
    assert wg.optimize.problem(np.sum, ((1, 2), (3, 4))).unflatten(np.ones(4)).shape == (2, 2)
    whole = wg.optimize.problem(lambda p: p["n"] ** 2, {"n": np.array([3])})
    assert whole.unflatten(np.array([0.5]))["n"].tolist() == [0.5]


def test_value_and_gradient_cost_one_pass() -> None:
    calls = []

    def counted(x: Any) -> Any:
        if x[0] > -9:  # the value is known: every pass runs the function
            calls.append(1)
        return rosenbrock(x)

    found = wg.optimize.problem(counted, [-1.2, 1.0])
    x = found.x0.copy()
    value, gradient = found.fun(x), found.jac(x)
    assert len(calls) == 1
    x += 1.0  # solvers move their point in place
    assert found.fun(x) == rosenbrock(x)
    assert len(calls) == 2
    gradient[:] = 0.0  # and may overwrite a gradient
    np.testing.assert_allclose(found.jac(x), wg.grad(rosenbrock)(x), rtol=1e-15)
    assert value == rosenbrock(found.x0)


def test_a_function_of_known_numbers_runs_as_it_is() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        while total < 3.0:  # on a value
            total = total + np.sum(x**2)
        return total

    x = np.array([1.0, 0.5])
    found = wg.optimize.problem(f, x)
    np.testing.assert_allclose(found.jac(x), wg.grad(f)(x))
    np.testing.assert_allclose(found.hess(x), 6 * np.eye(2))


def test_a_function_that_the_user_compiled_is_compiled_once() -> None:
    traces = []

    @wg.jit
    def f(x: Any, scale: Any, power: int) -> Any:
        traces.append(1)
        return np.sum((x - scale) ** power)

    for scale in (1.0, 2.0, 3.0):
        found = wg.optimize.problem(f, np.zeros(3), args=(scale, 2))
        assert found.fun(found.x0) == 3 * scale**2
    assert len(traces) == 1
    assert wg.optimize.problem(f, np.zeros(3), args=(1.0, 4)).fun(np.zeros(3) + 2) == 3.0


# -- constraints and bounds ------------------------------------------------------------------------------


@pytest.mark.parametrize("number", HS)
@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_problems_of_hock_and_schittkowski(number: int, method: str) -> None:
    given = HS[number]
    found = wg.optimize.problem(given.fun, given.x0, given.constraints, given.bounds)
    result = optimize.minimize(
        found.fun,
        found.x0,
        jac=found.jac,
        hess=found.hess if method == "trust-constr" else None,
        bounds=found.bounds,
        constraints=found.constraints_for(method),
        method=method,
    )
    assert result.fun == pytest.approx(given.value, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("size", [4, 150])
def test_derivatives_of_constraints(size: int) -> None:
    def g(x: Any) -> Any:
        return {"a": x["u"][1:] * np.sin(x["u"][:-1]), "b": np.sum(x["u"] ** 2) * x["v"]}

    rng = np.random.default_rng(1)
    start = {"u": rng.normal(size=size - 1), "v": 0.5}
    found = wg.optimize.problem(lambda x: np.sum(x["u"]), start, [(g, -1.0, {"a": None, "b": 2.0})])
    (constraint,) = found.constraints
    x, v, p = found.x0, rng.normal(size=size - 1), rng.normal(size=size)
    np.testing.assert_array_equal(constraint.lb, -np.ones(size - 1))
    np.testing.assert_array_equal(constraint.ub, [*[np.inf] * (size - 2), 2.0])
    np.testing.assert_allclose(constraint.jac(x), differences(constraint.fun, x), atol=1e-8)
    hessian = differences(lambda x: v @ constraint.jac(x), x)
    np.testing.assert_allclose(constraint.hess(x, v) @ p, hessian @ p, atol=1e-7)


def squares(x: Any) -> Any:
    return x[0] ** 2 + x[1] ** 2


FORMS: dict[str, Any] = {
    "bounds": (squares, None, 2.0),
    "a list": [(squares, None, 2.0)],
    "a dict": {"type": "ineq", "fun": lambda x: 2.0 - squares(x)},
    "a dict with a slope": {
        "type": "ineq",
        "fun": lambda x, limit: limit - squares(x),
        "args": (2.0,),
        "jac": lambda x, limit: -2 * x,
    },
    "an object": optimize.NonlinearConstraint(squares, -np.inf, 2.0),
    "an object with derivatives": optimize.NonlinearConstraint(
        squares, -np.inf, 2.0, jac=lambda x: 2 * x, hess=lambda x, v: 2 * v[0] * np.eye(2)
    ),
    "two": [(squares, None, 2.0), optimize.LinearConstraint([[1.0, -1.0]], 0.0, 0.0)],
}


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_constraints(form: str, method: str) -> None:
    result = wg.optimize.minimize(lambda x: x[0] + x[1], [1.0, 1.0], constraints=FORMS[form], method=method)
    np.testing.assert_allclose(result.x, [-1.0, -1.0], atol=1e-3)


def test_all_forms_of_bounds() -> None:
    def bounds_of(x0: Any, bounds: Any) -> Any:
        found = wg.optimize.problem(lambda x: 0.0, x0, bounds=bounds).bounds
        return found.lb.tolist(), found.ub.tolist()

    inf, x, p = np.inf, np.zeros(2), {"a": np.zeros(2), "b": 0.0}
    assert bounds_of(x, [(0, None), (None, 1)]) == ([0.0, -inf], [inf, 1.0])
    assert bounds_of(x, ((0, 1), (2, 3))) == ([0.0, 2.0], [1.0, 3.0])
    assert bounds_of(x, np.array([[0, 1], [2, 3]])) == ([0.0, 2.0], [1.0, 3.0])
    assert bounds_of(x, (0, None)) == ([0.0, 0.0], [inf, inf])
    assert bounds_of(x, (np.array([0, 1]), np.array([2, 3]))) == ([0.0, 1.0], [2.0, 3.0])
    assert bounds_of(x, (0.0, np.array([2, 3]))) == ([0.0, 0.0], [2.0, 3.0])
    assert bounds_of(np.zeros(3), ([0, 1, 2], [3, 4, 5])) == ([0.0, 1.0, 2.0], [3.0, 4.0, 5.0])
    assert bounds_of(np.zeros(3), (None, np.array([3, 4, 5]))) == ([-inf] * 3, [3.0, 4.0, 5.0])
    assert bounds_of(x, optimize.Bounds(0.0, [1.0, 2.0])) == ([0.0, 0.0], [1.0, 2.0])
    assert bounds_of(p, ({"a": 0.0, "b": None}, None)) == ([0.0, 0.0, -inf], [inf] * 3)
    assert bounds_of(p, (-1.0, {"a": [1.0, 2.0], "b": 3.0})) == ([-1.0] * 3, [1.0, 2.0, 3.0])
    assert bounds_of(p, optimize.Bounds([0.0, 1.0, 2.0], 9.0)) == ([0.0, 1.0, 2.0], [9.0] * 3)
    assert bounds_of(2.0, (0.0, None)) == ([0.0], [inf])


# -- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: wg.optimize.problem(lambda x: x, np.ones(3)).fun(np.ones(3)), ArgumentError, "scalar.*f64"),
        (
            lambda: wg.optimize.problem(lambda x: (x[0], x[1]), np.ones(2)).fun(np.ones(2)),
            ArgumentError,
            "objective must return one number",
        ),
        (lambda: wg.optimize.problem(np.sum, {}), ArgumentError, "at least one element"),
        (lambda: wg.optimize.problem(np.sum, "start"), DtypeError, "real numbers.*str in x0"),
        (lambda: wg.optimize.problem(np.sum, {"z": 1j}), DtypeError, r"x0\['z'\].*real and the imaginary"),
        (lambda: wg.optimize.problem(1.0, np.ones(2)), DtypeError, "a function is needed; got float"),
        (
            lambda: wg.optimize.problem(np.sum, np.ones(2), bounds=[0.0, 1.0]),
            ArgumentError,
            r"bounds must be 2 pairs \(lower, upper\), .*; got 0.0 at place 0",
        ),
        (
            lambda: wg.optimize.problem(np.sum, np.ones(3), bounds=[(0, 1)]),
            ArgumentError,
            "3 pairs.*got 1 entries",
        ),
        (
            lambda: wg.optimize.problem(np.sum, np.ones(2), bounds=[(2, 1), (0, 1)]),
            ArgumentError,
            r"2 and 1 for x0\[0\]",
        ),
        (
            lambda: wg.optimize.problem(np.sum, {"a": np.ones(2)}, bounds=({"a": np.ones(3)}, None)),
            ArgumentError,
            r"lower bounds\['a'\] must broadcast",
        ),
        (
            lambda: wg.optimize.problem(np.sum, {"a": np.ones(2)}, bounds=({"b": 1.0}, None)),
            ArgumentError,
            "lower bounds must have the containers of x0",
        ),
        (
            lambda: wg.optimize.problem(np.sum, np.ones(2), [(np.sum, 2.0, 1.0)]),
            ArgumentError,
            "lower limit must not exceed",
        ),
        (lambda: wg.optimize.problem(np.sum, np.ones(2), [np.sum]), ArgumentError, "a constraint must be"),
        (lambda: wg.optimize.problem(np.sum, np.ones(2), {"type": "less"}), ArgumentError, "'eq'.*'ineq'"),
        (lambda: wg.optimize.problem(np.sum, np.ones(2), np.sum), ArgumentError, "a constraint must be"),
        (
            lambda: wg.optimize.problem(np.sum, np.ones(2), [(lambda x: "x", 0.0, 1.0)]),
            DtypeError,
            "the constraint must be real numbers.*got str",
        ),
        (
            lambda: wg.optimize.problem(lambda x: 1j * np.sum(x), np.ones(2)).fun(np.ones(2)),
            DtypeError,
            "must return real values; got c128",
        ),
        (
            lambda: wg.optimize.problem(np.sum, np.ones(2)).fun(np.ones(3)),
            ArgumentError,
            "a vector of 2 elements",
        ),
        (
            lambda: wg.optimize.problem(np.sum, {"a": np.ones(2)}).unflatten(np.ones(3)),
            ArgumentError,
            "a vector of 2 elements",
        ),
        (
            lambda: wg.optimize.problem(np.sum, {"a": np.ones(2)}).flatten({"a": np.ones(3)}),
            ArgumentError,
            r"values\['a'\] must have the shape \(2,\)",
        ),
    ],
)
def test_errors_say_what_is_wrong(make: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=rf"problem: .*{text}.*\[test_problems.py:\d+"):
        make()


def test_a_start_that_is_not_a_number() -> None:
    with np.errstate(all="ignore"):
        nan = wg.optimize.problem(lambda x: np.sum(np.log(x["w"])), {"w": np.array([1.0, -1.0])})
        for run in (nan.fun, nan.value):
            with pytest.raises(ArgumentError, match="problem: the objective must not be NaN at the start"):
                run(nan.x0)
            nan._has_begun = False
        slope = wg.optimize.problem(
            lambda x: np.sum(np.where(x > 0, x, 0.0) + np.sqrt(x - 1.0) * x * 0.0), np.ones(2)
        )
        assert np.isfinite(slope.fun(np.ones(2)))


def test_without_scipy_the_error_says_so() -> None:
    script = (
        "import sys; sys.modules['scipy'] = None\n"
        "import wengert as wg\n"
        "try:\n    wg.optimize.minimize(lambda x: x, 1.0)\n"
        "except ImportError as problem:\n    print(problem)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert "minimize: SciPy is needed; pip install scipy" in run.stdout


def test_functions_may_build_arrays_by_numpy() -> None:
    made = wg.optimize.problem(
        lambda x: np.sum(np.array([x["a"], x["a"] * x["b"]]) ** 2), {"a": 2.0, "b": 3.0}
    )
    assert made.fun(made.x0) == 40.0
    np.testing.assert_allclose(made.jac(made.x0), [40.0, 24.0])
    np.testing.assert_allclose(made.hess(made.x0), [[20.0, 24.0], [24.0, 8.0]])
