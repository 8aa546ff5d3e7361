"""The continuous adjoint: derivatives of the flow in all arguments, second ones, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ArgumentError, LimitError, UnsupportedError
from wengert.integrate import solve_ivp

START, TIMES = np.array([1.0, 0.5]), np.array([0.0, 0.7, 1.5])
WEIGHTS = np.arange(1.0, 7.0).reshape(2, 3)


def swing(t: Any, y: Any, frequency: Any) -> Any:
    return [y[1], -(frequency**2) * np.sin(y[0]) + 0.1 * np.cos(t)]


def loss(frequency: Any, y0: Any, times: Any, adjoint: str = "continuous", **given: Any) -> Any:
    settings: dict[str, Any] = {"rtol": 1e-7, "atol": 1e-9, "max_steps": 200, **given}
    span = (0, 1.5) if "span" not in given else settings.pop("span")
    result = solve_ivp(swing, span, y0, t_eval=times, args=(frequency,), adjoint=adjoint, **settings)
    return np.sum(WEIGHTS * result.y**2)


def agree(mine: Any, other: Any, tolerance: float = 1e-5) -> None:
    for one, two in zip(wg.tree.leaves(mine), wg.tree.leaves(other), strict=True):
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Rodas5P"])
def test_it_is_the_derivative_of_the_steps(method: str) -> None:
    """With respect to a parameter, the start and the times; one of the times is the start."""
    point = 1.3, START, TIMES
    by_steps = wg.grad(lambda *p: loss(*p, "discrete", method=method), argnums=(0, 1, 2))(*point)
    agree(wg.grad(lambda *p: loss(*p, method=method), argnums=(0, 1, 2))(*point), by_steps)


@pytest.mark.parametrize("compiled", [False, True])
def test_compiled_and_of_many_examples(compiled: bool) -> None:
    slope = wg.grad(lambda *point: loss(*point, span=(0, 0.5), method="RK23", rtol=1e-4), argnums=(0, 1))
    starts, times = np.stack([START, 2 * START]), TIMES / 3
    if compiled:
        agree(wg.jit(slope)(1.3, START, times), slope(1.3, START, times), 1e-10)
        return
    expected = [slope(1.3, start, times) for start in starts]
    of_all = wg.vmap(slope, in_axes=(None, 0, None))(1.3, starts, times)
    agree(of_all, tuple(np.stack(parts) for parts in zip(*expected, strict=True)), 1e-10)


def test_backward_in_time_and_with_the_start() -> None:
    def of_start(start: Any, frequency: Any, adjoint: str = "continuous") -> Any:
        return loss(frequency, START, TIMES[::-1] - 0.1, adjoint, span=(start, -0.2))

    slopes = [
        wg.grad(lambda *p, name=name: of_start(*p, name), argnums=(0, 1))(1.5, 1.3)
        for name in ("continuous", "discrete")
    ]
    agree(*slopes)


def test_without_components_and_without_times() -> None:
    def final(y: Any, times: Any) -> Any:
        result = solve_ivp(lambda t, y: -y, (0, 1), y, t_eval=times, adjoint="continuous")
        return np.sum(result.y)

    assert wg.grad(final)(np.zeros(0), [1.0]).shape == (0,)
    np.testing.assert_array_equal(wg.grad(final)(START, []), np.zeros(2))


def test_second_derivatives() -> None:
    """Reverse over reverse, and the Hessian."""

    def briefly(w: Any, adjoint: str = "continuous") -> Any:
        return loss(w, START, TIMES / 3, adjoint, span=(0, 0.5))

    by_steps = wg.grad(wg.grad(lambda w: briefly(w, "discrete")))(1.3)
    agree(wg.grad(wg.grad(briefly))(1.3), by_steps)
    agree(wg.hessian(briefly)(1.3), by_steps)


def test_the_scale_of_the_loss_does_not_matter() -> None:
    small = wg.grad(lambda w: 1e-12 * loss(w, START, TIMES))(1.3)
    agree(1e12 * small, wg.grad(loss)(1.3, START, TIMES), 1e-10)


@pytest.mark.rest
def test_closed_over_values_and_a_stiff_problem() -> None:
    """The first component follows the second one at a rate that explicit methods could not follow."""
    table = {"rate": np.array([1e4, 0.7]), "count": 2}

    def final(rates: Any, adjoint: str) -> Any:
        def fun(t: Any, y: Any) -> Any:
            return np.stack([rates[0] * (np.cos(y[1]) - y[0]), -rates[1] * y[1]]) * (table["count"] / 2)

        settings: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-8, "max_steps": 300, "adjoint": adjoint}
        return solve_ivp(fun, (0, 1), [0.0, 1.0], "Rodas5P", [1.0], **settings).y[0, 0]

    by_steps, slope = (
        wg.jit(wg.grad(final), static_argnums=1)(table["rate"], name) for name in ("discrete", "continuous")
    )
    np.testing.assert_allclose(slope, by_steps, rtol=1e-3, atol=1e-10)


def test_what_it_refuses() -> None:
    with pytest.raises(UnsupportedError, match="solve_ivp with the continuous adjoint: forward mode"):
        wg.jvp(lambda w: loss(w, START, TIMES), (1.3,), (1.0,))
    with pytest.raises(ArgumentError, match=r"^solve_ivp: the continuous adjoint needs t_eval"):
        solve_ivp(swing, (0, 1), START, args=(1.0,), adjoint="continuous")
    with pytest.raises(
        ArgumentError, match=r"^solve_ivp: the continuous adjoint needs .* controls its steps"
    ):
        solve_ivp(swing, (0, 1), START, "RK4", [1.0], args=(1.0,), steps=5, adjoint="continuous")
    with pytest.raises(ArgumentError, match='adjoint must be "discrete" or "continuous"; got None'):
        loss(1.3, START, TIMES, None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UnsupportedError, match=r"^solve_ivp: the continuous adjoint needs a real state"):
        solve_ivp(lambda t, y: 1j * y, (0, 1), [1j], t_eval=[1.0], adjoint="continuous")
    with pytest.raises(LimitError, match=r"^solve_ivp: the step size must stay above"):
        solve_ivp(lambda t, y: y**2, (0, 2), [1.0], t_eval=[2.0], adjoint="continuous")
