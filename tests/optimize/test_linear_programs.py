"""SciPy's linear programs in followed programs: drawn ones against SciPy and differences, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert.engine.core.errors import LimitError

optimize: Any = pytest.importorskip("scipy.optimize")


@pytest.mark.parametrize("seed", range(many(6)))
def test_regular_vertices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, b, c = rng.uniform(0.1, 1, (4, 3)), rng.uniform(1, 2, 4), -rng.uniform(0.5, 1, 3)
    E, e = rng.uniform(0.2, 1, (1, 3)), np.array([0.5])
    ends = [(0, None), (None, 2.0), (-0.1, 1)]

    def with_equations(c: Any, A: Any, b: Any, E: Any, e: Any) -> Any:
        found = optimize.linprog(c, A_ub=A, b_ub=b, A_eq=E, b_eq=e, bounds=ends)
        return np.concatenate([found.x, found.slack, found.con, [found.fun]])

    def above_zero(c: Any, A: Any, b: Any) -> Any:
        return optimize.linprog(c, A, b).x

    def with_whole_numbers(c: Any, A: Any, b: Any) -> Any:
        rows = optimize.LinearConstraint(A, -np.inf, b)
        found = optimize.milp(c, integrality=[1, 0, 0], bounds=optimize.Bounds(0, 3.5), constraints=rows)
        return np.concatenate([found.x, [found.fun]])

    def between(low: Any, high: Any) -> Any:
        return optimize.linprog(c, A, b, bounds=[(low, high), (0, 1), (0, None)]).x

    programs: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (with_equations, (c, A, b, E, e)),
        (above_zero, (c, A, b)),
        (with_whole_numbers, (c, A, b)),
        (between, (-0.3, 0.2)),
    ]
    for program, given in programs:
        np.testing.assert_allclose(wg.vjp(program, *given)[0], program(*given), atol=1e-7)
        wg.check_grads(program, given, order=1, atol=1e-5, rtol=1e-4)
        total = wg.grad(lambda *given, program=program: np.sum(program(*given) ** 2))
        slope = total(*given)
        np.testing.assert_allclose(wg.jit(total)(*given), slope, rtol=1e-9, atol=1e-12)
        batched = wg.vmap(total)(*(np.stack([x, x]) for x in given))
        np.testing.assert_allclose(batched[0], slope, rtol=1e-9, atol=1e-12)
    curvature = wg.hessian(lambda b: np.sum(above_zero(c, A, b) ** 2))(b)
    rows = wg.jacobian(lambda b: above_zero(c, A, b))(b)
    np.testing.assert_allclose(curvature, 2 * rows.T @ rows, atol=1e-9)


@pytest.mark.parametrize(
    "program",
    [
        lambda s: optimize.linprog(s * np.ones(2), -np.ones((1, 2)), [-1.0]).x[0],  # several solutions
        lambda s: optimize.linprog([1.0, 1.0], [[1.0, 0.0]], [-s]).x[0],  # none
        lambda s: optimize.linprog([-s, -1.0]).x[0],  # without bound
        lambda s: optimize.linprog([-1.0, -1.0], [[1.0, 0], [0, 1], [1, 1]], [s, 1, 2]).x[0],  # degenerate
    ],
)
def test_other_solutions_are_refused(program: Callable[[Any], Any]) -> None:
    for transform in (wg.grad, wg.jit):
        with pytest.raises(
            LimitError, match=r"scipy\.optimize\.linprog: a solution must exist, and be the only one"
        ):
            transform(program)(1.0)
