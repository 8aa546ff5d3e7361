"""Events of initial value problems: SciPy's crossings, and the derivatives of their times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ArgumentError, UnsupportedError
from wengert.integrate import solve_ivp


def fall(t: Any, y: Any, gravity: Any = 9.81) -> Any:
    return [y[1], -gravity]


def hit(t: Any, y: Any, gravity: Any = 9.81) -> Any:
    return y[0]


hit.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
hit.direction = -1  # pyright: ignore[reportFunctionMemberAccess]


def apex(t: Any, y: Any, gravity: Any = 9.81) -> Any:
    return y[1]


def oscillator(t: Any, y: Any) -> Any:
    return [y[1], -y[0]]


def zero(direction: float = 0, terminal: Any = False) -> Any:
    def crossing(t: Any, y: Any) -> Any:
        return y[0] - 0.1 * np.sin(3 * t)

    crossing.direction, crossing.terminal = direction, terminal  # pyright: ignore[reportFunctionMemberAccess]
    return crossing


@pytest.mark.parametrize("terminal", [False, True, 3])
@pytest.mark.parametrize("direction", [0, 1, -1])
@pytest.mark.parametrize("span", [(0, 20), (20, 0)])
def test_the_crossings_are_scipys(span: Any, direction: int, terminal: Any) -> None:
    integrate = pytest.importorskip("scipy.integrate")
    if terminal == 3:
        pytest.importorskip("scipy", minversion="1.14")
    events = [zero(direction, terminal), lambda t, y: y[1]]
    settings: dict[str, Any] = {"events": events, "rtol": 1e-6, "atol": 1e-9}
    mine = solve_ivp(oscillator, span, [1.0, 0.3], **settings)
    theirs = integrate.solve_ivp(oscillator, span, [1.0, 0.3], **settings)
    assert (mine.status, mine.message, mine.success) == (theirs.status, theirs.message, theirs.success)
    np.testing.assert_allclose(mine.t, theirs.t, rtol=1e-6)
    np.testing.assert_allclose(mine.y, theirs.y, rtol=1e-5, atol=1e-7)
    for names in ("t_events", "y_events"):
        for one, other in zip(getattr(mine, names), getattr(theirs, names), strict=True):
            np.testing.assert_allclose(one, np.reshape(other, np.shape(one)), rtol=1e-6, atol=1e-7)


def test_results_end_with_the_integration() -> None:
    result = solve_ivp(fall, (0, 10), [1.0, 5.0], events=hit, t_eval=np.linspace(0, 10, 21))
    np.testing.assert_allclose(result.t, [0, 0.5, 1.0])
    assert result.status == 1


def landing(speed: Any, gravity: Any) -> Any:
    start = np.stack([1.0, speed])
    settings: dict[str, Any] = {"t_eval": [0.5], "max_steps": 100, "rtol": 1e-8}
    return solve_ivp(fall, (0, 10), start, events=[hit], args=(gravity,), **settings).t_events[0][0]


def landing_exact(speed: Any, gravity: Any) -> Any:
    return (speed + np.sqrt(speed**2 + 2 * gravity)) / gravity


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("run", [lambda f: f, wg.jit], ids=["eager", "compiled"])
def test_derivatives_of_the_time_of_an_event(run: Any, order: int) -> None:
    point = 5.0, 9.81
    if order == 1:
        value, slopes = run(wg.value_and_grad(landing, argnums=(0, 1)))(*point)
        np.testing.assert_allclose(value, landing_exact(*point), rtol=1e-12)
        np.testing.assert_allclose(slopes, wg.grad(landing_exact, argnums=(0, 1))(*point), rtol=1e-9)
    else:
        curvature = run(wg.grad(wg.grad(landing)))(*point)
        np.testing.assert_allclose(curvature, wg.grad(wg.grad(landing_exact))(*point), rtol=1e-9)


def test_examples_without_an_event() -> None:
    speeds = np.array([1.0, 5.0, 200.0])
    times = wg.jit(wg.vmap(landing, in_axes=(0, None)))(speeds, 9.81)
    np.testing.assert_allclose(times[:2], landing_exact(speeds[:2], 9.81), rtol=1e-10)
    assert np.isnan(times[2])


def test_a_compiled_result_has_no_states_behind_its_end() -> None:
    times = np.array([0.5, 1.0, 2.0])

    def solved(speed: Any) -> Any:
        result = solve_ivp(fall, (0, 10), np.stack([1.0, speed]), events=hit, t_eval=times, max_steps=100)
        return result.y[0], result.status

    heights, status = wg.jit(solved)(5.0)
    assert status == 1
    np.testing.assert_allclose(
        heights, np.where(times < 1.19, 1 + 5 * times - 9.81 / 2 * times**2, np.nan), atol=1e-8
    )


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"solve_ivp: .*end the integration.*terminal = True"):
        wg.jit(lambda y: solve_ivp(fall, (0, 1), y, events=apex, t_eval=[1.0]).y)(np.ones(2))
    with pytest.raises(ArgumentError, match="events need a method that controls its steps"):
        solve_ivp(fall, (0, 1), [1.0, 0.0], "RK4", events=apex, steps=10)
