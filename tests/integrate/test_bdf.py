"""BDF: polynomials of each order, SciPy's method, its order, dense output, events, and what it has taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.integrate.test_radau import linear
from tests.integrate.test_stiff_set import PROBLEMS, network
from wengert.integrate import solve_ivp
from wengert.integrate.bdf import BDF
from wengert.integrate.jacobians import equations_of
from wengert.integrate.steps import System

integrate: Any = pytest.importorskip("scipy.integrate")


# -- one step --------------------------------------------------------------------------------------------


def differences(values: Any) -> Any:
    """Return backward differences of 1, 2, ... values, the newest of which is the first."""
    rows = list[Any]()
    while len(values) > 1:
        values = values[:-1] - values[1:]
        rows.append(values[0])
    return np.stack(rows)


class Drawn:
    """A polynomial of a degree that attracts, the differences of its values at a distance, and another distance."""

    def __init__(self, seed: int, degree: int) -> None:
        random = np.random.default_rng(seed)
        self.shape = random.standard_normal((degree + 1, 2)) / (np.arange(degree + 1) + 1)[:, None]
        self.direction, self.t = random.choice([-1.0, 1.0]), random.uniform(-1, 1)
        self.before, self.h = self.direction * random.uniform(0.02, 0.2, 2)
        self.degree = degree

    def exact(self, t: Any) -> Any:
        return np.stack([t**power for power in range(self.degree + 1)], axis=-1) @ self.shape

    def rate(self, t: Any) -> Any:
        slopes = [power * t ** max(power - 1, 0) for power in range(self.degree + 1)]
        return np.stack(slopes, axis=-1) @ self.shape

    def fun(self, t: Any, y: Any) -> Any:
        return self.rate(t) - 50 * self.direction * (y - self.exact(t))

    def past(self, t: Any, h: float) -> Any:
        return differences(self.exact(t - h * np.arange(8.0)))

    def step(self, h: Any) -> Any:
        start = self.exact(self.t)
        system = System(self.fun, equations_of("solve_ivp", self.fun, self.t, start, None, None, ()))
        memory: dict[str, Any] = {"differences": self.past(self.t, self.before), "h": self.before}
        memory |= {"order": np.int64(self.degree), "elements": system.equations.elements(self.t, start)}
        return BDF.step(system, self.t, start, memory, h, True)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 100), marks=pytest.mark.slow)])
def test_a_step_follows_polynomials_of_its_order(order: int, seeds: range) -> None:
    """Also from differences at another distance, backward in time, within the step, and with the derivative."""
    for seed in seeds:
        drawn = Drawn(seed, order)
        t, h, tried = drawn.t, drawn.h, drawn.step(drawn.h)
        assert tried.is_solved
        np.testing.assert_allclose(tried.y, drawn.exact(t + h), rtol=1e-11, atol=1e-11)
        x = np.linspace(0, 1, 5)
        within = drawn.exact(t) + np.stack([x**power for power in range(1, 6)], axis=-1) @ tried.powers.T
        np.testing.assert_allclose(within, drawn.exact(t + x * h), rtol=1e-11, atol=1e-11)
        found, expected = tried.memory["differences"], drawn.past(t + h, h)
        np.testing.assert_allclose(found[:order], expected[:order], atol=1e-11)
        slope = wg.jvp(lambda h, drawn=drawn: drawn.step(h).y, (h,), (1.0,))[1]
        np.testing.assert_allclose(slope, drawn.rate(t + h), rtol=1e-9, atol=1e-9)


# -- SciPy's method --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
def test_drawn_stiff_systems_are_scipys(seed: int) -> None:
    """The first steps are SciPy's, the ends agree, and there are as many calls, Jacobians and steps."""
    matrix, fun, start = linear(seed, 3 + seed % 3)
    settings: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-7}
    mine = solve_ivp(fun, (0, 0.5), start, "BDF", **settings)
    theirs = integrate.solve_ivp(fun, (0, 0.5), start, "BDF", jac=matrix, **settings)
    np.testing.assert_allclose(mine.t[:5], theirs.t[:5], rtol=1e-6)
    np.testing.assert_allclose(mine.y[:, :5], theirs.y[:, :5], rtol=1e-7, atol=1e-9)
    exact = integrate.solve_ivp(fun, (0, 0.5), start, "Radau", [0.5], jac=matrix, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(mine.y[:, -1], exact.y[:, 0], rtol=1e-3, atol=1e-4)
    assert mine.nfev < 1.2 * theirs.nfev + 10
    assert mine.njev <= 1.2 * theirs.njev + 3
    assert len(mine.t) < 1.2 * len(theirs.t) + 5


@pytest.mark.parametrize("seed", [4, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 24))])
def test_networks_of_reactions_take_scipys_calls(seed: int) -> None:
    """Rates over 13 orders: the ends agree to the tolerance, and there are at most 1.2 of SciPy's calls."""
    fun, start = network(seed)
    settings: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-9}
    mine = solve_ivp(fun, (0, 1.0), start, "BDF", max_steps=3000, **settings)
    theirs = integrate.solve_ivp(fun, (0, 1.0), start, "BDF", **settings)
    assert mine.status == theirs.status == 0
    assert mine.nfev < 1.2 * theirs.nfev
    np.testing.assert_allclose(mine.y[:, -1], theirs.y[:, -1], rtol=1e-3, atol=1e-5)


CALLS = [pytest.param(name, marks=[pytest.mark.slow] * (name in ("OREGO", "Pleiades"))) for name in PROBLEMS]


@pytest.mark.parametrize("name", [name for name in CALLS if name.values != ("ring modulator",)])
def test_the_stiff_set(name: str) -> None:
    """Published digits to what SciPy's BDF reaches, with at most 1.1 of its calls, compiled."""
    problem = PROBLEMS[name]
    start, span = np.array(problem.start, float), (0, problem.end)
    settings: dict[str, Any] = {"rtol": 1e3 * problem.rtol, "atol": 1e3 * problem.atol}
    theirs = integrate.solve_ivp(problem.fun, span, start, "BDF", [problem.end], **settings)

    def end(start: Any) -> Any:
        found = solve_ivp(problem.fun, span, start, "BDF", [problem.end], max_steps=10_000, **settings)
        return found.y[:, 0], found.nfev, found.njev

    y, calls, jacobians = wg.jit(end)(start)
    exact = np.array(problem.expected)
    errors = [np.max(np.abs(found[: len(exact)] / exact - 1)) for found in (y, theirs.y[:, 0])]
    assert errors[0] < 2 * errors[1]
    assert calls < 1.1 * theirs.nfev
    assert jacobians <= 1.1 * theirs.njev + 2


# -- accuracy --------------------------------------------------------------------------------------------


def swing(t: Any, y: Any) -> Any:
    return np.stack([y[1], -np.sin(y[0])])


def reference(times: Any) -> Any:
    return solve_ivp(swing, (0, 3), [1.0, 0.2], "DOP853", times, rtol=1e-13, atol=1e-13).y


def test_the_error_falls_with_the_tolerance() -> None:
    """At the end and within steps, where the steps are few enough to be of a high order."""
    times, errors, calls = np.linspace(0, 3, 31), list[float](), list[int]()
    for tolerance in (1e-4, 1e-6, 1e-8, 1e-10):
        found = solve_ivp(swing, (0, 3), [1.0, 0.2], "BDF", times, rtol=tolerance, atol=tolerance)
        errors.append(np.abs(found.y - reference(times)).max() / tolerance)
        calls.append(found.nfev)
    assert max(errors) < 100
    assert calls[3] < 8 * calls[0]  # order 1 takes a thousand times as many, order 3 thirty times


def test_events_and_dense_output() -> None:
    """A crossing is found on the polynomial of the step, forward and backward in time, with its derivative."""

    def crossing(speed: Any, end: float) -> Any:
        settings: dict[str, Any] = {
            "events": lambda t, y: y[0],
            "rtol": 1e-9,
            "atol": 1e-9,
            "dense_output": True,
        }
        found = solve_ivp(
            lambda t, y: speed * np.stack([y[1], -y[0]]), (0, end), [1.0, 0.0], "BDF", **settings
        )
        return found.t_events[0][0], found.sol(0.5 * end)

    for end in (2.0, -2.0):
        (time, middle), (slope, _) = wg.jvp(lambda speed, end=end: crossing(speed, end), (1.3,), (1.0,))
        assert time == pytest.approx(np.sign(end) * np.pi / 2.6, rel=1e-7)
        assert slope == pytest.approx(-np.sign(end) * np.pi / 2.6 / 1.3, rel=1e-6)
        np.testing.assert_allclose(middle, [np.cos(0.65 * end), -np.sin(0.65 * end)], rtol=1e-6)


def test_the_adjoint_equation_counts_what_it_takes() -> None:
    """The continuous adjoint reports the calls and Jacobians of the same steps."""
    settings: dict[str, Any] = {"t_eval": [1.0, 2.0], "rtol": 1e-6}
    for method in ("BDF", "Radau", "Rodas5P", "DOP853"):
        counts = [
            (found.nfev, found.njev, found.nlu)
            for adjoint in ("discrete", "continuous")
            for found in [solve_ivp(swing, (0, 2), [1.0, 0.2], method, adjoint=adjoint, **settings)]
        ]
        assert counts[0] == counts[1]


def test_a_size_that_is_bounded() -> None:
    found = solve_ivp(swing, (0, 3), [1.0, 0.2], "BDF", max_step=0.1, rtol=1e-3)
    assert np.diff(found.t).max() < 0.1 + 1e-12
    assert len(found.t) < 45
