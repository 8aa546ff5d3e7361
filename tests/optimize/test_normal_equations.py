"""`least_squares` with "lm" and a sparse Jacobian: minima of SciPy's losses, whatever the loss and the rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ArgumentError
from wengert.optimize import normal_equations

optimize = pytest.importorskip("scipy.optimize")


def chain(x: Any) -> Any:
    """Return the residuals of Rosenbrock's function with pairs of neighbours."""
    return np.concatenate([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]])


def tridiagonal(x: Any) -> Any:
    """Return Broyden's tridiagonal function."""
    y = (3 - 2 * x) * x + 1
    y[1:] -= x[:-1]
    y[:-1] -= 2 * x[1:]
    return y


def data(size: int, seed: int) -> tuple[Any, Any, Any]:
    """Return the knots left of samples, the shares of the next knots, and a curve with outliers."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.0, size - 1.0, 4 * size)
    y = np.sin(t) + 0.05 * rng.standard_normal(t.size)
    y[::17] += 3.0
    return t.astype(int), t % 1, y


def spline(x: Any, left: Any, share: Any, y: Any) -> Any:
    """Return the residuals of a piecewise linear curve, bent by the square of its values."""
    return (1 - share) * x[left] + share * x[left + 1] + 0.1 * x[left] ** 2 - y


@pytest.mark.parametrize("loss", ["linear", "huber", "soft_l1", "cauchy", "arctan"])
def test_the_gradient_of_scipys_loss_is_zero_at_the_end(loss: str) -> None:
    size = 200
    given: Any = {"args": data(size, 0), "loss": loss, "f_scale": 0.3}
    mine = wg.optimize.least_squares(spline, np.zeros(size), method="lm", ftol=1e-12, **given)
    theirs = optimize.least_squares(spline, mine.x, max_nfev=1, **given)  # SciPy's view of this point
    assert mine.success
    assert mine.jac.nnz <= 8 * size
    assert mine.optimality < 1e-4
    assert theirs.optimality < 1e-3
    np.testing.assert_allclose(mine.cost, theirs.cost, rtol=1e-12)
    assert set(theirs) <= set(mine)


def test_a_function_that_the_user_defines_is_a_loss() -> None:
    size = 200
    given: Any = {"args": data(size, 1), "method": "lm"}

    def cauchy(z: Any) -> Any:
        return np.array([np.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2])  # as SciPy takes it

    named, own = (
        wg.optimize.least_squares(spline, np.zeros(size), loss=loss, **given) for loss in ("cauchy", cauchy)
    )
    np.testing.assert_array_equal(named.x, own.x)


@pytest.mark.parametrize("x_scale", ["jac", 1.0, "array"])
def test_steps_are_few_from_far_away(x_scale: Any) -> None:
    scale = np.linspace(0.5, 2.0, 300) if x_scale == "array" else x_scale
    found = wg.optimize.least_squares(tridiagonal, np.full(300, -1.0), method="lm", x_scale=scale, gtol=1e-10)
    assert np.max(np.abs(found.fun)) < 1e-9
    assert found.nfev < 20
    assert found.status == 1


def test_containers_and_a_matrix_of_deficient_rank() -> None:
    """Only differences of ``a`` are seen, and ``unused`` not at all."""

    def residuals(p: Any) -> Any:
        return {"steps": np.diff(p["a"]) - 1.0, "b": p["b"] ** 2 - 4.0}

    start = {"a": np.zeros(300), "b": np.ones(20), "unused": 5.0}
    found = wg.optimize.least_squares(residuals, start, method="lm", ftol=None, xtol=None, gtol=1e-11)
    np.testing.assert_allclose(np.diff(found.x["a"]), 1.0, atol=1e-7)
    np.testing.assert_allclose(found.x["b"], 2.0, atol=1e-7)
    assert found.x["unused"] == 5.0
    assert found.success


def test_the_users_own_sparse_jacobian(capsys: pytest.CaptureFixture[str]) -> None:
    from scipy.sparse import diags_array

    found = wg.optimize.least_squares(
        lambda x: x**2 - 2.0, np.ones(5), lambda x: diags_array(2 * x), method="lm", sparse=True, verbose=2
    )
    np.testing.assert_allclose(found.x, np.sqrt(2.0), rtol=1e-7)
    assert "evaluations, final cost" in capsys.readouterr().out


def test_a_limit_of_evaluations_and_values_that_are_not_finite() -> None:
    few = wg.optimize.least_squares(chain, np.full(300, -0.5), method="lm", max_nfev=3)
    assert (few.status, few.nfev, few.success) == (0, 3, False)
    found = wg.optimize.least_squares(
        lambda x: np.log(x), np.full(300, 40.0), method="lm"
    )  # steps leave x > 0
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)


def test_what_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ArgumentError, match=r'"lm" with a sparse Jacobian must have no bounds.*got bounds, tr_solver'
    ):
        wg.optimize.least_squares(
            chain, np.ones(300), method="lm", sparse=True, bounds=(0.0, None), tr_solver="lsmr"
        )
    with pytest.raises(ValueError, match=r"(does not|doesn't) support bounds"):  # SciPy's own
        wg.optimize.least_squares(chain, np.ones(300), method="lm", bounds=(0.0, None))
    with pytest.raises(ArgumentError, match=r"loss must be a function, or one of linear, huber.*got 'l1'"):
        wg.optimize.least_squares(chain, np.ones(300), method="lm", loss="l1")
    monkeypatch.setattr(normal_equations, "_MOST_PRODUCTS", 100)
    with pytest.raises(ArgumentError, match=r'add up to at most 100; got 1,495; use method="trf"'):
        wg.optimize.least_squares(chain, np.ones(300), method="lm")


def test_small_problems_stay_with_minpack() -> None:
    found = wg.optimize.least_squares(chain, np.full(5, -0.5), method="lm")
    assert isinstance(found.jac, np.ndarray)
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)
