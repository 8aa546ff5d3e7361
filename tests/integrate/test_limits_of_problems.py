"""Initial value problems at their limits: no time to pass, complex states, Jacobians that are no numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.sparse

import wengert as wg
from wengert.engine.core.errors import ArgumentError

solve_ivp = wg.integrate.solve_ivp
FIRST = np.array([1.0, 2.0])


def rhs(t: Any, y: Any) -> Any:
    return np.stack([-2.0 * y[0] + t, y[0] * y[1] + 1.0])


def end(method: str, adjoint: str = "discrete", count: int = 1) -> Callable[[Any, Any], Any]:
    def state(start: Any, stop: Any) -> Any:
        times = np.stack([stop] * count)
        found = solve_ivp(rhs, (start, stop), FIRST, method, t_eval=times, adjoint=adjoint)
        return found.y[:, -1]

    return state


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    ("method", "adjoint"), [("RK45", "discrete"), ("RK45", "continuous"), ("Rodas5P", "discrete")]
)
def test_a_solution_over_no_time_is_the_start_and_moves_with_both_times(
    method: str, adjoint: str, count: int, compiled: bool
) -> None:
    state, slope = end(method, adjoint, count), rhs(0.5, FIRST)

    def state_and_slopes(start: Any, stop: Any) -> Any:
        value, pullback = wg.vjp(state, start, stop)
        return value, wg.vmap(pullback)(np.eye(2))

    value, slopes = (wg.jit(state_and_slopes) if compiled else state_and_slopes)(0.5, 0.5)
    np.testing.assert_array_equal(value, FIRST)
    np.testing.assert_allclose(slopes, (-slope, slope))
    examples = wg.vmap(lambda stop: state(0.5, stop))(np.array([0.5, 0.75]))
    np.testing.assert_allclose(examples, [FIRST, state(0.5, 0.75)], rtol=1e-12)


def test_the_times_of_a_solution_over_no_time_are_scipys() -> None:
    found, scipys = solve_ivp(rhs, (0.5, 0.5), FIRST), scipy.integrate.solve_ivp(rhs, (0.5, 0.5), FIRST)
    np.testing.assert_array_equal(found.t, scipys.t)
    np.testing.assert_array_equal(found.y, scipys.y)
    slopes = wg.jacrev(lambda stop: solve_ivp(rhs, (0.5, stop), FIRST).y[:, -1])(0.5)
    np.testing.assert_allclose(slopes, rhs(0.5, FIRST))


RATES = np.array([-30.0 + 20.0j, -1.0 + 5.0j, 1.0j])


GIVEN: dict[str, Callable[[Any], dict[str, Any]]] = {
    "nothing": lambda scale: {},
    "a Jacobian": lambda scale: {"jac": scale * np.diag(RATES)},
    "a pattern": lambda scale: {"jac_sparsity": np.eye(3)},
}


@pytest.mark.parametrize("given", GIVEN)
def test_a_stiff_complex_problem_has_a_holomorphic_jacobian(given: str) -> None:
    def last(scale: Any) -> Any:
        options = {"t_eval": [1.0], "rtol": 1e-8, "atol": 1e-10} | GIVEN[given](scale)
        return solve_ivp(lambda t, y: scale * RATES * y, (0, 1), np.ones(3) + 0j, "Rodas5P", **options).y[
            :, 0
        ]

    np.testing.assert_allclose(last(1.0), np.exp(RATES), atol=1e-7)
    slopes = wg.derivative(lambda scale: np.real(last(scale)))(1.0)
    np.testing.assert_allclose(slopes, np.real(RATES * np.exp(RATES)), atol=1e-6)


@pytest.mark.parametrize(
    "jac",
    [
        np.diag([np.nan, 1.0]),
        scipy.sparse.csr_array(np.diag([np.inf, 1.0])),
        lambda t, y: np.diag([np.nan, 1.0]),
    ],
)
def test_a_jacobian_that_is_no_number_makes_no_steps(jac: Any) -> None:
    with pytest.raises(
        ArgumentError, match=r"jac must be finite; got 1 elements that are not.*\[test_limits"
    ):
        solve_ivp(lambda t, y: -y, (0, 1), FIRST, "Rodas5P", jac=jac)
