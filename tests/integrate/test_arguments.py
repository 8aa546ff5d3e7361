"""Arguments of `solve_ivp`: those that SciPy accepts, and one error for those that do not fit, eager and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError
from wengert.integrate import solve_ivp

RUNS: list[Callable[[Any], Any]] = [lambda f: f, wg.jit]


def decay(t: Any, y: Any) -> Any:
    return -y


def solved(**given: Any) -> Any:
    settings: dict[str, Any] = {"fun": decay, "t_span": (0, 1), "y0": [1.0, 2.0], "t_eval": [1.0]}
    return solve_ivp(**{**settings, **given}).y


class Event:
    """An event with other attributes."""

    def __init__(self, value: Any = 0.5, **attributes: Any) -> None:
        self.value = value
        vars(self).update(attributes)

    def __call__(self, t: Any, y: Any) -> Any:
        return self.value


@pytest.mark.parametrize(
    "given",
    [
        {"y0": [1, 2]},
        {"y0": np.array([1, 2], np.float32)},
        {"y0": np.array([1, 2], np.float16)},
        {"fun": lambda t, y: -np.asarray(y, np.float32)},
        {"args": [1.0], "fun": lambda t, y, rate: -rate * y},
        {"args": np.ones(1), "fun": lambda t, y, rate: -rate * y},
        {"atol": [1e-6, 1e-6], "rtol": [1e-3, 1e-3]},
        {"y0": [1 + 0j, 2]},
    ],
)
@pytest.mark.parametrize("run", RUNS)
def test_what_scipy_accepts(given: dict[str, Any], run: Any) -> None:
    np.testing.assert_allclose(run(lambda: solved(**given))()[:, 0], np.exp(-1) * np.array([1, 2]), rtol=1e-3)


def test_special_cases_of_scipy() -> None:
    assert solved(y0=[]).shape == (0, 1)
    assert (solved(y0=1.0).shape, solved(y0=[[1.0, 2.0]]).shape) == ((1,), (1, 2, 1))
    assert solved(t_span=(0, 0), t_eval=[0.0]).tolist() == [[1], [2]]
    assert solved(fun=lambda t, y: -y[0], y0=[1.0]).shape == (1, 1)
    # SciPy raises the relative tolerance to that of rounding errors.
    np.testing.assert_allclose(solved(rtol=0.0, atol=0.0)[0, 0], np.exp(-1), rtol=1e-13)
    single = np.array([1, 2], np.float32)
    slope = wg.grad(lambda y0: np.sum(solved(y0=y0)))(single)
    assert slope.dtype == np.float32
    np.testing.assert_allclose(slope, np.exp(-1), rtol=1e-3)


CASES: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"fun": 3}, DtypeError, r"fun must be a function \(t, y, \*args\) -> dy/dt; got 3"),
    (
        {"fun": lambda t: t},
        DtypeError,
        r"fun must take 2 arguments: t, y, and 0 of args; got a function of \(t\)",
    ),
    ({"args": (1, 2)}, DtypeError, r"fun must take 4 arguments.* got a function of \(t, y\)"),
    ({"fun": lambda t, y: y[:1]}, ShapeError, r"the shape of y; got f64\[1\] for y of f64\[2\]"),
    ({"fun": lambda t, y: y[:, None]}, ShapeError, r"the shape of y; got f64\[2,1\]"),
    ({"fun": lambda t, y: y[0]}, ShapeError, r"the shape of y; got f64\[\]"),
    ({"fun": lambda t, y: 1j * y}, DtypeError, "y0 must be complex where fun is; got .*; write y0"),
    ({"fun": lambda t, y: None}, DtypeError, "the result of fun must be numbers; got None"),
    ({"fun": lambda t, y: y * np.nan}, ArgumentError, "finite numbers at the start"),
    ({"t_span": (0, 1, 2)}, ShapeError, r"a pair of times, \(t0, t1\); got \(0, 1, 2\)"),
    ({"t_span": 1.0}, ShapeError, "a pair of times"),
    ({"t_span": (0, np.inf)}, ArgumentError, "t1 of t_span must be finite; got inf"),
    ({"t_span": ("a", 1)}, DtypeError, "t0 of t_span must be numbers; got 'a'"),
    ({"t_span": ([0.0, 1.0], 1)}, ShapeError, r"t0 of t_span must be one number; got f64\[2\]"),
    ({"t_span": (0, 1j)}, DtypeError, "t1 of t_span must be real"),
    ({"y0": [np.nan, 1]}, ArgumentError, r"y0 must be finite; got \[nan"),
    ({"y0": [1, -np.inf]}, ArgumentError, "y0 must be finite"),
    ({"y0": None}, DtypeError, "y0 must be numbers; got None"),
    ({"y0": [[1], [1, 2]]}, DtypeError, "y0 must be numbers"),
    ({"method": "Euler"}, ArgumentError, "one of RK23, RK45.*; got 'Euler'"),
    ({"method": "LSODA"}, ArgumentError, "got 'LSODA'; for stiff problems use \"Rodas5P\""),
    ({"method": ["RK45"]}, ArgumentError, "the method must be one of"),
    ({"method": "RK4"}, ArgumentError, "steps=N"),
    ({"method": "RK4", "steps": 1.5}, DtypeError, "steps must be an integer above 0; got 1.5"),
    ({"method": "RK4", "steps": 0}, ArgumentError, "steps must be an integer above 0; got 0"),
    ({"method": "RK4", "steps": 5, "events": Event()}, ArgumentError, "controls its steps; got RK4"),
    ({"steps": 5}, ArgumentError, "steps is for RK4 and leapfrog; got RK45; use max_step"),
    ({"max_steps": 0}, ArgumentError, "max_steps must be an integer above 0; got 0"),
    ({"max_steps": "all"}, DtypeError, "max_steps must be an integer above 0; got 'all'"),
    ({"t_eval": 0.5}, ShapeError, r"t_eval must have one axis; got f64\[\]; write \[t\]"),
    ({"t_eval": [0.5, 2]}, ArgumentError, "t_eval must lie between 0.0 and 1.0; got 0.5 to 2.0"),
    ({"t_eval": [np.nan]}, ArgumentError, "t_eval must lie between"),
    ({"t_eval": [1, 0.5]}, ArgumentError, r"t_eval must be sorted from t0 to t1; got \[1"),
    ({"t_eval": [0, 1], "t_span": (1, 0)}, ArgumentError, "t_eval must be sorted from t0 to t1"),
    ({"t_eval": ["a"]}, DtypeError, "t_eval must be numbers"),
    ({"args": 2.0}, DtypeError, r"args must be a tuple; got 2.0; write args=\(value,\)"),
    ({"args": "a"}, DtypeError, "args must be a tuple; got 'a'"),
    ({"args": np.float64(2.0)}, DtypeError, "args must be a tuple"),
    ({"rtol": -1e-3}, ArgumentError, "rtol must be 0 or above; got -0.001"),
    ({"rtol": np.nan}, ArgumentError, "rtol must be 0 or above; got nan"),
    ({"atol": -1e-3}, ArgumentError, "atol must be 0 or above; got -0.001"),
    ({"atol": [1e-3] * 3}, ShapeError, r"one for each component of y; got f64\[3\] for y of f64\[2\]"),
    ({"atol": "tight"}, DtypeError, "atol must be numbers; got 'tight'"),
    ({"max_step": 0.0}, ArgumentError, "max_step must be above 0; got 0.0"),
    ({"max_step": np.nan}, ArgumentError, "max_step must be above 0; got nan"),
    ({"max_step": [1.0, 2.0]}, ShapeError, "max_step must be one number"),
    ({"first_step": -0.1}, ArgumentError, "first_step must be above 0; got -0.1"),
    ({"events": 3}, DtypeError, r"each event must be a function \(t, y, \*args\) -> number; got 3"),
    ({"events": [decay, "ground"]}, DtypeError, "each event must be a function .*; got 'ground'"),
    ({"events": decay}, ShapeError, r"an event must return one number; got f64\[2\]"),
    ({"events": Event(None)}, DtypeError, "the result of an event must be numbers; got None"),
    ({"events": Event(1j)}, DtypeError, "the result of an event must be real"),
    ({"events": lambda t: t}, DtypeError, "an event must take 2 arguments"),
    ({"events": Event(terminal=-1)}, ArgumentError, "terminal of an event must be True, False or .*; got -1"),
    ({"events": Event(terminal="yes")}, ArgumentError, "terminal of an event must be .*; got 'yes'"),
    ({"events": Event(direction="up")}, ArgumentError, "direction of an event must be 1 .*; got 'up'"),
]


@pytest.mark.parametrize(("given", "error", "words"), CASES, ids=[case[2] for case in CASES])
@pytest.mark.parametrize("run", RUNS, ids=["eager", "compiled"])
def test_what_does_not_fit(given: dict[str, Any], error: type[Exception], words: str, run: Any) -> None:
    with pytest.raises(error, match=rf"^solve_ivp: .*{words}.*\. \[test_arguments\.py:\d+\]$"):
        run(lambda: solved(**given))()


@pytest.mark.parametrize(
    ("name", "bad", "words"),
    [
        ("y0", np.array([1.0, np.nan]), "y0 must be finite"),
        ("t_span", (0.0, np.nan), "t1 of t_span must be finite"),
        ("rtol", -1e-3, "rtol must be 0 or above"),
        ("atol", np.array([1e-6, -1e-6]), "atol must be 0 or above"),
        ("first_step", 0.0, "first_step must be above 0"),
        ("max_step", -1.0, "max_step must be above 0"),
        ("t_eval", np.array([1.5]), "t_eval must lie between 0.0 and 1.0"),
        ("t_eval", np.array([0.8, 0.3]), "t_eval must be sorted"),
    ],
)
def test_values_that_only_a_call_knows(name: str, bad: Any, words: str) -> None:

    def call(value: Any) -> Any:
        return solved(**{name: value})

    compiled = wg.jit(call)
    good = {
        "y0": np.ones(2),
        "t_span": (0.0, 1.0),
        "atol": np.full(2, 1e-6),
        "t_eval": np.linspace(0.2, 0.9, np.size(bad)),
    }
    assert np.all(np.isfinite(compiled(good.get(name, 1e-3))))
    with pytest.raises(ValueError, match=rf"^solve_ivp: {words}.*\[test_arguments\.py:\d+\]$"):
        compiled(bad)
    twice = tuple(np.stack([x] * 2) for x in bad) if name == "t_span" else np.stack([bad] * 2)
    with pytest.raises(ValueError, match=f"solve_ivp: {words}"):
        wg.vmap(call)(twice)
