"""Starts, tolerances and options that have no meaning raise an error that names them, before the solver runs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ArgumentError, UncompiledWarning

START = np.full(20, 0.3)
TABLE = np.array([1.0, 2.0, 3.0])
FIT = wg.jit(lambda x: np.concatenate([x[:1] - 1.0, x[1:] - x[:-1] ** 2]))
BOWL = wg.jit(lambda x: np.sum((x - 1.0) ** 2))


def compiled_solver(name: str) -> Any:
    return {"lbfgs": wg.optimize.lbfgs, "newton_cg": wg.optimize.newton_cg}[name]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"x_scale": -1.0}, "x_scale"),
        ({"x_scale": np.append(np.ones(19), 0.0)}, "x_scale"),
        ({"x_scale": np.nan}, "x_scale"),
        ({"x_scale": "jca"}, "x_scale"),
        ({"f_scale": -1.0, "loss": "huber"}, "f_scale"),
        ({"f_scale": 0.0, "loss": "huber"}, "f_scale"),
        ({"max_nfev": 0}, "max_nfev"),
        ({"max_nfev": 2.5}, "max_nfev"),
        ({"ftol": -1.0}, "ftol"),
        ({"xtol": "small"}, "xtol"),
        ({"gtol": np.nan}, "gtol"),
        ({"ftol": None, "xtol": 0.0, "gtol": None}, "ftol, xtol and gtol"),
        ({"loss": lambda z: z}, "loss"),
        ({"verbose": 5}, "verbose"),
    ],
)
def test_sparse_normal_equations_check_their_settings(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(ArgumentError, match=rf"least_squares: .*{named} must.*\[test_bad_arguments"):
        wg.optimize.least_squares(FIT, START, method="lm", sparse=True, **settings)


@pytest.mark.parametrize("sparse", [True, False])
def test_a_sum_of_squares_that_overflows_ends_no_fit(sparse: bool) -> None:
    method = "lm" if sparse else "trf"
    with pytest.raises(
        ArgumentError, match=r"sum of squares must be finite at the start; got a value of 7e\+199"
    ):
        wg.optimize.least_squares(lambda x: 1e200 * (x - 1.0), START, method=method, sparse=sparse)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_start_is_finite(bad: float) -> None:
    start = {"a": np.ones(2), "b": np.array([1.0, bad])}
    for solve in (
        lambda: wg.optimize.least_squares(lambda p: p["b"], start),
        lambda: wg.optimize.minimize(lambda p: np.sum(p["b"] ** 2), start),
        lambda: wg.optimize.root(lambda p: p, start),
        lambda: wg.optimize.curve_fit(lambda t, p: p["b"], np.ones(2), np.ones(2), start),
    ):
        with pytest.raises(ArgumentError, match=rf"0 must be finite; got {bad} in .0\['b'\]\[1\]"):
            solve()


@pytest.mark.parametrize("name", ["lbfgs", "newton_cg"])
@pytest.mark.parametrize(
    "settings",
    [{"gtol": -1.0}, {"gtol": np.nan}, {"gtol": None}, {"ftol": -1.0}, {"ftol": np.ones(2)}, {"maxls": 0}],
)
def test_compiled_solvers_check_their_limits(name: str, settings: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=f"{name}: {next(iter(settings))} must"):
        compiled_solver(name)(BOWL, np.zeros(3), **settings)


def test_a_tolerance_that_only_the_program_knows_passes() -> None:
    found = wg.vmap(lambda gtol: wg.optimize.lbfgs(BOWL, np.zeros(3), gtol=gtol).converged)(
        np.array([1e-3, 1e-6])
    )
    assert np.all(found)


@pytest.mark.parametrize("options", [{"tol": np.nan}, {"options": {"gtol": np.nan}}, {"options": 3}])
def test_a_tolerance_that_is_no_number_does_not_succeed(options: dict[str, Any]) -> None:
    named = (
        next(iter(options["options"])) if isinstance(options.get("options"), dict) else next(iter(options))
    )
    with pytest.raises(ArgumentError, match=f"minimize: {named} must"):
        wg.optimize.minimize(BOWL, np.zeros(3), **options)
    with pytest.raises(ArgumentError, match=f"root: {named} must"):
        wg.optimize.root(lambda x: x - 1.0, np.zeros(3), **options)


def test_errors_of_one_unknown_and_of_names() -> None:
    with pytest.raises(ArgumentError, match="x0 must be one real number; got f64"):
        wg.optimize.root_scalar(lambda x: x**2 - 2.0, x0=np.ones(2))
    with pytest.raises(ArgumentError, match="method must be a name"):
        wg.optimize.root(lambda x: x - 1.0, np.zeros(3), method=None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="callback must be a function"):
        wg.optimize.minimize(BOWL, np.zeros(3), callback=3)  # pyright: ignore[reportArgumentType]


def test_a_function_that_cannot_be_compiled_says_why_once() -> None:
    def weighed(x: Any) -> Any:
        return TABLE.__getitem__(np.argmax(x)) * np.sum((x - 1.0) ** 2)

    with pytest.warns(UncompiledWarning, match=r"runs uncompiled.*\[test_bad_arguments") as caught:
        found = wg.optimize.minimize(weighed, np.zeros(3))
    np.testing.assert_allclose(found.x, 1.0, atol=1e-6)
    assert len({str(warning.message) for warning in caught}) == 1


def test_a_branch_on_numbers_is_meant() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = wg.optimize.minimize(lambda x: np.sum((x - 1.0) ** 2) if x[0] > -5 else 0.0, np.zeros(3))
    np.testing.assert_allclose(found.x, 1.0, atol=1e-6)
