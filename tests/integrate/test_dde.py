"""Delay differential equations: solutions by steps, order, derivatives, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ArgumentError, LimitError, ShapeError
from wengert.integrate import solve_dde


def delayed_decay(delay: Any, steps: int, t_eval: Any, rate: Any = 1.0) -> Any:
    """``y' = -rate y(t - delay)``, ``y = 1`` up to 0: a polynomial of higher degree in each interval of the delay."""
    return solve_dde(
        lambda t, y, late: -rate * late[0], (0, 2), lambda t: [1.0], [delay], steps=steps, t_eval=t_eval
    ).y[0]


def polynomials(t: Any, delay: Any = 0.5) -> Any:
    """Return the solution by the method of steps."""
    powers = [np.maximum(t - (n - 1) * delay, 0) ** n * (-1) ** n for n in range(1, 5)]
    return 1 + powers[0] + powers[1] / 2 + powers[2] / 6 + powers[3] / 24


def growth(rate: Any, delay: Any, steps: int) -> Any:
    """Return the logistic equation with a delay (Hutchinson, 1948) at its end."""
    return solve_dde(
        lambda t, y, late, rate: rate * y * (1 - late[0]),
        (0, 6),
        lambda t: np.stack([0.5 + 0.1 * t]),
        [delay],
        steps=steps,
        args=(rate,),
    ).y[0, -1]


def test_the_solution_is_that_of_the_method_of_steps() -> None:
    times = np.array([1.7, 0.0, 0.3, 0.5, 1.99, 2.0])
    np.testing.assert_allclose(delayed_decay(0.5, 40, times), polynomials(times), atol=2e-8)
    np.testing.assert_allclose(delayed_decay(0.5, 40, None), polynomials(np.linspace(0, 2, 41)), atol=2e-8)


def test_the_order_is_four() -> None:
    exact = growth(1.4, 1.0, 480)
    errors = np.array([abs(growth(1.4, 1.0, steps) - exact) for steps in (30, 60)])
    assert 3.7 < np.log2(errors[0] / errors[1]) < 4.5


def test_delays_have_rows() -> None:
    result = solve_dde(
        lambda t, y, late: np.stack([late[0, 1], -late[1, 0]]),
        (0, 1),
        lambda t: [t, 2 * t],
        [0.5, 0.25],
        steps=20,
    )
    first = lambda t: (t - 0.5) ** 2 - 0.25  # noqa: E731
    assert result.y[0, 10] == pytest.approx(first(0.5))
    assert result.y[1, 5] == pytest.approx(-((0.25 - 0.25) ** 2) / 2 + 0.25**2 / 2)


@pytest.mark.parametrize("transform", [lambda f: f, wg.jit])
def test_derivatives_of_parameters_are_exact(transform: Any) -> None:
    h = 1e-6
    expected = (growth(1.4 + h, 1.0, 30) - growth(1.4 - h, 1.0, 30)) / (2 * h)

    def slopes(rate: Any) -> Any:
        end = lambda rate: growth(rate, 1.0, 30)  # noqa: E731
        return wg.grad(end)(rate), wg.jvp(end, (rate,), (1.0,))[1]

    assert transform(slopes)(1.4) == pytest.approx((expected, expected), rel=1e-7)


def test_derivatives_of_delays_converge() -> None:
    def error(steps: int) -> Any:
        slope = wg.grad(lambda delay: delayed_decay(delay, steps, [1.9])[0])(0.5)
        return abs(slope - wg.grad(lambda delay: polynomials(np.float64(1.9), delay))(0.5))

    coarse, fine = error(20), error(40)
    assert coarse < 1e-3
    assert fine < 0.3 * coarse


def test_examples_have_delays_of_their_own() -> None:
    delays = np.array([0.5, 0.7, 1.0])
    ends = wg.jit(wg.vmap(lambda delay: growth(1.4, delay, 30)))(delays)
    np.testing.assert_allclose(ends, [growth(1.4, delay, 30) for delay in delays], rtol=1e-12)


def test_errors_name_the_requirement() -> None:
    with pytest.raises(ArgumentError, match="at least as long as a step"):
        delayed_decay(0.01, 40, None)
    with pytest.raises(LimitError, match="at least as long as a step"):
        wg.jit(lambda delay: delayed_decay(delay, 40, None))(0.01)
    with pytest.raises(ArgumentError, match="t_eval must lie"):
        delayed_decay(0.5, 40, [3.0])
    with pytest.raises(ArgumentError, match="there must be a delay"):
        solve_dde(lambda t, y, late: y, (0, 1), lambda t: [1.0], [], steps=3)
    with pytest.raises(ShapeError, match="history must return a state"):
        solve_dde(lambda t, y, late: y, (0, 1), lambda t: [1.0] * (1 + (t < -0.2)), [0.5], steps=3)
    with pytest.raises(ShapeError, match="fun must return the shape of y"):
        solve_dde(lambda t, y, late: [1.0, 2.0], (0, 1), lambda t: [1.0], [0.5], steps=3)
