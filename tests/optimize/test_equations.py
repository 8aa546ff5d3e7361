"""`root` and `root_scalar`: SciPy's solvers of equations, with exact derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ArgumentError

optimize = pytest.importorskip("scipy.optimize")


def broyden(x: Any) -> Any:
    """Return Broyden's tridiagonal function (Moré, Garbow and Hillstrom, 1981, number 30)."""
    padded = np.concatenate([[0.0], x, [0.0]])
    return (3 - 2 * x) * x - padded[:-2] - 2 * padded[2:] + 1


@pytest.mark.parametrize("method", ["hybr", "lm", "anderson", "krylov", "df-sane"])
def test_every_kind_of_method(method: str) -> None:
    x0 = np.full(10, -1.0)
    mine, theirs = (solve(broyden, x0, method=method) for solve in (wg.optimize.root, optimize.root))
    assert mine.success
    np.testing.assert_allclose(broyden(mine.x), 0.0, atol=1e-5)
    np.testing.assert_allclose(mine.x, theirs.x, atol=1e-4)
    if method in ("hybr", "lm"):
        assert mine.nfev < theirs.nfev


def test_equations_between_the_parts_of_a_container() -> None:
    def balance(state: Any, total: float) -> Any:
        a, b = state["acid"], state["base"]
        return {"mass": np.sum(a) + b - total, "law": a**2 - np.array([1.0, 4.0]) * b}

    result = wg.optimize.root(balance, {"acid": np.ones(2), "base": 1.0}, args=(4.0,))
    assert result.success
    assert type(result.x["base"]) is float
    np.testing.assert_allclose(result.x["acid"], [1.0, 2.0])


def test_jacobians_of_the_users_own() -> None:
    x0 = np.full(4, -1.0)
    jac = wg.jacobian(broyden)
    for given in ({"jac": jac}, {"fun": lambda x: (broyden(x), jac(x)), "jac": True}, {"jac": False}):
        result = wg.optimize.root(**{"fun": broyden, "x0": x0, **given})
        np.testing.assert_allclose(broyden(result.x), 0.0, atol=1e-7)


def test_systems_that_are_not_square_or_begin_nowhere() -> None:
    with pytest.raises(
        ArgumentError, match=r"^root: .*as many equations as variables, 3; got 2; use wg.optimize.least"
    ):
        wg.optimize.root(lambda x: x[:2], np.ones(3))
    with pytest.raises(
        ArgumentError, match=r"^root: the values must be finite at the start; got inf in value 1 of 2"
    ):
        wg.optimize.root(lambda x: x * np.array([1.0, np.inf]), np.ones(2))
    missed = wg.optimize.root(lambda x: x**2 + 1.0, np.ones(2))
    assert not missed.success
    assert missed.message


@pytest.mark.parametrize(
    "options",
    [{"x0": 2.0}, {"x0": 2.0, "method": "halley"}, {"x0": 2, "method": "newton"}, {"bracket": (0.0, 3.0)},
     {"x0": 1.0, "x1": 2.0}, {"x0": 2.0, "fprime": lambda x, a: 3 * x**2, "method": "newton"}],
)  # fmt: skip
def test_roots_of_one_equation(options: Any) -> None:
    result = wg.optimize.root_scalar(lambda x, a: x**3 - a, args=(5.0,), **options)
    assert result.converged
    assert result.root == pytest.approx(5.0 ** (1 / 3), rel=1e-10)


def test_halley_needs_fewer_steps_than_newton() -> None:
    counts = {
        method: wg.optimize.root_scalar(lambda x: np.exp(x) - 50.0, x0=10.0, method=method).iterations
        for method in ("newton", "halley")
    }
    assert counts["halley"] < counts["newton"]
