"""Initial value problems: orders of convergence, known solutions, SciPy's steps, derivatives and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import DoubtfulResultWarning, LimitError, ShapeError, UnsupportedError
from wengert.integrate import solve_ivp, tableaux

ADAPTIVE = ["RK23", "RK45", "Tsit5", "DOP853", "Rodas5P"]
FIXED = ["RK4", "leapfrog"]
Function = Callable[..., Any]


def oscillator(t: Any, y: Any, frequency: Any = 1.0) -> Any:
    """A pendulum, with its energy as a conserved quantity."""
    return [y[1], -(frequency**2) * np.sin(y[0])]


def van_der_pol(t: Any, y: Any, stiffness: Any) -> Any:
    return [y[1], stiffness * (1 - y[0] ** 2) * y[1] - y[0]]


def forced(t: Any, y: Any) -> Any:
    """A problem that depends on the time, whose solution is ``sin t`` and ``cos t + exp(-t)``."""
    return [np.cos(t), -y[1] + np.cos(t) - np.sin(t)]


def forced_solution(t: Any) -> Any:
    return np.array([np.sin(t), np.cos(t) + np.exp(-t)])


# -- orders ----------------------------------------------------------------------------------------------


def _controlled_error(method: str, tolerance: float, t_eval: Any) -> tuple[float, int]:
    result = solve_ivp(forced, (0, 4), [0.0, 2.0], method, t_eval, rtol=tolerance, atol=tolerance)
    return np.abs(result.y - forced_solution(t_eval)).max(), result.nfev


def _step_error(method: str, size: float) -> float:
    """Return the error of one step of a size."""
    end = np.array([0.3 + size])
    steps: dict[str, Any] = {"rtol": 1e9, "atol": 1e9, "first_step": size}
    if method in FIXED:
        steps = {"steps": 1}
    result = solve_ivp(lambda t, y: y * np.cos(t) + t, (0.3, 0.3 + size), [1.0], method, end, **steps)
    exact = solve_ivp(
        lambda t, y: y * np.cos(t) + t, (0.3, 0.3 + size), [1.0], "DOP853", end, rtol=1e-14, atol=1e-15
    )
    return abs(result.y[0, 0] - exact.y[0, 0])


@pytest.mark.parametrize(
    ("method", "order"), [("RK23", 3), ("RK45", 5), ("Tsit5", 5), ("Rodas5P", 5), ("RK4", 4)]
)
def test_the_error_of_a_step_has_the_order_of_the_method_and_one_more(method: str, order: int) -> None:
    sizes = [0.4, 0.2, 0.1] if order > 3 else [0.1, 0.05, 0.025]
    errors = np.array([_step_error(method, size) for size in sizes])
    orders = np.log2(errors[:-1] / errors[1:])
    assert orders[-1] == pytest.approx(order + 1, abs=0.5)


def test_the_order_of_dop853() -> None:
    def error(size: float) -> float:
        fast = lambda t, y: [40 * y[1], -40 * y[0]]  # noqa: E731
        result = solve_ivp(fast, (0, size), [1.0, 0.0], "DOP853", [size], rtol=1e9, atol=1e9, first_step=size)
        return np.abs(result.y[:, 0] - [np.cos(40 * size), -np.sin(40 * size)]).max()

    assert np.log2(error(0.05) / error(0.025)) == pytest.approx(9, abs=0.6)


@pytest.mark.parametrize(("method", "order"), [("RK4", 4), ("leapfrog", 2)])
def test_steps_of_one_size_converge(method: str, order: int) -> None:
    reference = solve_ivp(oscillator, (0, 5), [1.0, 0.0], "DOP853", [5.0], rtol=1e-13, atol=1e-13).y
    errors = np.array(
        [
            np.abs(solve_ivp(oscillator, (0, 5), [1.0, 0.0], method, [5.0], steps=steps).y - reference).max()
            for steps in (40, 80, 160)
        ]
    )
    assert np.log2(errors[:-1] / errors[1:])[-1] == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize(
    ("method", "order"), [("RK23", 3), ("RK45", 4), ("Tsit5", 4), ("DOP853", 7), ("Rodas5P", 4), ("RK4", 3)]
)
def test_interpolation_within_a_step_has_its_order(method: str, order: int) -> None:
    """Hairer, Norsett and Wanner, section II.6: the error of a continuous extension of order p is of order p + 1."""

    def error(size: float) -> float:
        options: dict[str, Any] = {"rtol": 1e9, "atol": 1e9, "first_step": size}
        options = {"steps": 1} if method in FIXED else options
        times = size * np.array([0.15, 0.4, 0.7])
        turn = lambda t, y: [8 * y[1], -8 * y[0]]  # noqa: E731
        result = solve_ivp(turn, (0, size), [1.0, 0.0], method, times, **options)
        return np.abs(result.y - [np.cos(8 * times), -np.sin(8 * times)]).max()

    size = 0.2 if order > 5 else 0.05
    assert np.log2(error(size) / error(size / 2)) >= order + 1 - 0.4


@pytest.mark.parametrize("name", ["RK23", "RK45", "TSIT5", "DOP853", "RK4"])
def test_tableaux_are_consistent(name: str) -> None:
    tableau: tableaux.Tableau = getattr(tableaux, name)
    for node, weights in zip(tableau.nodes, tableau.stages, strict=True):
        assert sum(weights.values()) == pytest.approx(node, abs=1e-14)
    weights = tableau.stages[tableau.count - 1]
    for power in range(tableau.order):
        moment = sum(weight * tableau.nodes[stage] ** power for stage, weight in weights.items())
        assert moment == pytest.approx(1 / (power + 1), abs=1e-14)
    for stage, row in enumerate(tableau.dense):
        assert row.sum() == pytest.approx(weights.get(stage, 0.0), abs=1e-12)
    for errors in tableau.errors:
        assert sum(errors.values()) == pytest.approx(0, abs=1e-14)


# -- known solutions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("backward", [False, True])
def test_the_error_follows_the_tolerance(method: str, backward: bool) -> None:
    times = np.linspace(0, 4, 23)
    results: list[float] = []
    for tolerance in (1e-4, 1e-7):
        if backward:
            result = solve_ivp(
                lambda t, y: [-y[0] * t],
                (4, 0),
                [np.exp(-8.0)],
                method,
                times[::-1],
                rtol=tolerance,
                atol=1e-12,
            )
            results.append(np.abs(result.y[0] - np.exp(-(times[::-1] ** 2) / 2)).max())
        else:
            results.append(_controlled_error(method, tolerance, times)[0])
        assert results[-1] < 300 * tolerance
    assert results[1] < results[0] / 30


def kepler(t: Any, y: Any) -> Any:
    cube = (y[0] ** 2 + y[1] ** 2) ** 1.5
    return np.stack([y[2], y[3], -y[0] / cube, -y[1] / cube])


def test_kepler() -> None:
    """After a revolution a planet is where it was; the leapfrog keeps the energy over hundreds of them."""
    eccentricity = 0.6
    start = np.array([1 - eccentricity, 0, 0, np.sqrt((1 + eccentricity) / (1 - eccentricity))])
    result = solve_ivp(kepler, (0, 2 * np.pi), start, "DOP853", [2 * np.pi], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(result.y[:, 0], start, atol=1e-8)

    def energy(y: Any) -> Any:
        return (y[2] ** 2 + y[3] ** 2) / 2 - 1 / np.hypot(y[0], y[1])

    revolutions = 40
    orbit = wg.jit(
        lambda start: (
            solve_ivp(
                kepler,
                (0, revolutions * 2 * np.pi),
                start,
                "leapfrog",
                np.linspace(0, revolutions * 2 * np.pi, 200),
                steps=revolutions * 800,
            ).y
        )
    )
    energies = energy(orbit(start))
    assert np.abs(energies[100:] - energies[0]).max() < 1.5 * np.abs(energies[:100] - energies[0]).max()
    assert np.abs(energies - energies[0]).max() < 1e-3


def robertson(t: Any, y: Any) -> Any:
    slow, fast = 0.04 * y[0], 1e4 * y[1] * y[2]
    destroyed = 3e7 * y[1] ** 2
    return [-slow + fast, slow - fast - destroyed, destroyed]


def test_robertson() -> None:
    """Reaction rates over nine orders of magnitude; the values are of Hairer and Wanner, "Solving ODEs II" (1996)."""
    times = np.array([0.4, 40.0, 4e3, 4e5])
    result = solve_ivp(robertson, (0, 4e5), [1.0, 0, 0], "Rodas5P", times, rtol=1e-7, atol=1e-12)
    expected = [9.8517e-1, 7.1583e-1, 1.8320e-1, 4.9383e-3]
    np.testing.assert_allclose(result.y[0], expected, rtol=2e-4)
    np.testing.assert_allclose(result.y.sum(0), 1, rtol=1e-9)
    assert result.njev < 400


@pytest.mark.rest
def test_a_stiff_oscillator() -> None:
    """Van der Pol's oscillator with a large parameter: its period is (3 - 2 log 2) mu + 7.014 mu**(-1/3) + ..."""
    stiffness = 100.0
    settings: dict[str, Any] = {"args": (stiffness,), "rtol": 1e-6, "atol": 1e-8}
    stiff = solve_ivp(van_der_pol, (0, 400), [2.0, 0.0], "Rodas5P", **settings)
    y = stiff.y[0]
    first, second = stiff.t[1:][(y[:-1] < 0) & (y[1:] >= 0)][:2]
    assert second - first == pytest.approx(
        (3 - 2 * np.log(2)) * stiffness + 7.014 * stiffness ** (-1 / 3), rel=5e-3
    )
    # The step size of an explicit method follows stability.
    explicit = solve_ivp(van_der_pol, (0, 40), [2.0, 0.0], "RK45", **settings)
    assert len(stiff.t) < len(explicit.t)


def test_lorenz() -> None:
    """Methods of different orders agree until errors have grown; the equations keep the symmetry of x and y."""

    def lorenz(t: Any, y: Any) -> Any:
        return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]

    def solved(y0: Any, method: str) -> Any:
        settings: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-11, "max_steps": 10_000}
        return solve_ivp(lorenz, (0, 5), y0, method, [1.0, 5.0], **settings).y

    start, mirror = np.array([1.0, 2.0, 20.0]), np.array([-1.0, -1.0, 1.0])
    states = wg.jit(lambda y0: [solved(y0, method) for method in ("Tsit5", "DOP853")])
    by_fifth, by_eighth = states(start)
    np.testing.assert_allclose(by_fifth, by_eighth, rtol=1e-6)
    np.testing.assert_array_equal(states(start * mirror)[1], by_eighth * mirror[:, None])


# -- SciPy -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
def test_the_steps_are_scipys(method: str) -> None:
    integrate = pytest.importorskip("scipy.integrate")
    settings: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-8, "args": (3.0,)}
    for options in ({}, {"max_step": 0.1}, {"first_step": 1e-3}):
        mine = solve_ivp(van_der_pol, (0, 6), [2.0, 0.0], method, **settings, **options)
        theirs = integrate.solve_ivp(van_der_pol, (0, 6), [2.0, 0.0], method, **settings, **options)
        np.testing.assert_allclose(mine.t, theirs.t, rtol=1e-6)
        np.testing.assert_allclose(mine.y, theirs.y, rtol=1e-5, atol=1e-9)
        assert (mine.nfev, mine.status, mine.success, mine.message) == (
            theirs.nfev,
            theirs.status,
            theirs.success,
            theirs.message,
        )
    times = np.linspace(0, 6, 31)
    mine = solve_ivp(van_der_pol, (0, 6), [2.0, 0.0], method, times, dense_output=True, **settings)
    theirs = integrate.solve_ivp(
        van_der_pol, (0, 6), [2.0, 0.0], method, t_eval=times, dense_output=True, **settings
    )
    np.testing.assert_allclose(mine.y, theirs.y, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(mine.sol(1.234), theirs.sol(1.234), rtol=1e-7)
    np.testing.assert_allclose(mine.sol(times[:5]), theirs.sol(times[:5]), rtol=1e-7, atol=1e-12)


# -- transforms ------------------------------------------------------------------------------------------

SETTINGS: dict[str, dict[str, Any]] = {
    **{name: {"rtol": 1e-9, "atol": 1e-11, "max_steps": 4000} for name in ADAPTIVE},
    **{name: {"steps": 150} for name in FIXED},
}
TIMES = np.array([0.5, 1.3, 2.0])


@pytest.mark.parametrize("method", [*ADAPTIVE, *FIXED])
def test_derivatives_are_those_of_the_flow(method: str) -> None:
    """Of the linear problem ``y' = -rate y + t`` with respect to the rate, the start, and the times."""

    def solved(rate: Any, y0: Any, times: Any) -> Any:
        rhs = lambda t, y: np.stack([y[1], -(rate**2) * y[0]])  # noqa: E731
        return solve_ivp(rhs, (0, 2), y0, method, times, **SETTINGS[method]).y

    def exact(rate: Any, y0: Any, times: Any) -> Any:
        sine, cosine = np.sin(rate * times), np.cos(rate * times)
        return np.stack([y0[0] * cosine + y0[1] * sine / rate, y0[1] * cosine - rate * y0[0] * sine])

    settings: dict[str, Any] = (
        {"rtol": 2e-3, "atol": 2e-3} if method in FIXED else {"rtol": 1e-5, "atol": 1e-6}
    )
    point = 1.3, np.array([1.0, 0.5]), TIMES
    jacobian = wg.jacobian(solved, argnums=(0, 1, 2))(*point)
    for mine, true in zip(jacobian, wg.jacobian(exact, argnums=(0, 1, 2))(*point), strict=True):
        np.testing.assert_allclose(mine, true, **settings)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Rodas5P", "leapfrog"])
def test_compiled_is_eager(method: str) -> None:
    settings = {**SETTINGS[method]} | ({} if method in FIXED else {"rtol": 1e-6, "max_steps": 300})

    def solved(frequency: Any, y0: Any) -> Any:
        return solve_ivp(oscillator, (0, 2), y0, method, TIMES, args=(frequency,), **settings).y

    def loss(frequency: Any, y0: Any) -> Any:
        return np.sum(solved(frequency, y0) ** 2)

    point = 1.3, np.array([1.0, 0.5])
    everything = lambda *point: (solved(*point), wg.grad(loss, argnums=(0, 1))(*point))  # noqa: E731
    expected, actual = everything(*point), wg.jit(everything)(*point)
    for one, other in zip(wg.tree.leaves(actual), wg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)


@pytest.mark.parametrize("method", ["RK23", "DOP853", "Rodas5P", "leapfrog"])
def test_the_end_alone_is_the_end_of_an_interpolated_step(method: str) -> None:
    """Steps to the end are not interpolated; the state there and its derivatives are those of all times."""
    settings = {"steps": 50} if method in FIXED else {"rtol": 1e-4, "atol": 1e-6, "max_steps": 100}

    def solved(frequency: Any, y0: Any, times: Any) -> Any:
        return solve_ivp(oscillator, (0, 2), y0, method, times, args=(frequency,), **settings)

    def at_end(*point: Any) -> Any:
        return solved(*point, [2.0, 2.0]).y[:, 1]

    def interpolated(*point: Any) -> Any:
        return solved(*point, TIMES).y[:, -1]

    point = 1.3, np.array([1.0, 0.5])

    def both(derivative: Callable[[Function], Function]) -> Function:
        return lambda *point: [derivative(f)(*point) for f in (interpolated, at_end)]

    plain, jacobian = both(lambda f: f), both(lambda f: wg.jacobian(f, argnums=(0, 1)))
    for found in (plain, jacobian, wg.jit(plain)):
        expected, actual = found(*point)
        for one, other in zip(wg.tree.leaves(actual), wg.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11)
    if method == "DOP853":
        assert solved(*point, [2.0]).nfev < solved(*point, TIMES).nfev


@pytest.mark.parametrize("run", [lambda f: f, wg.jit], ids=["eager", "compiled"])
def test_the_gradient_of_the_ends_is_the_right_hand_side(run: Any) -> None:
    def final(start: Any, stop: Any) -> Any:
        return solve_ivp(oscillator, (start, stop), [1.0, 0.2], t_eval=np.reshape(stop, (1,)), rtol=1e-9).y[
            0, 0
        ]

    slope = solve_ivp(oscillator, (0.0, 2.0), [1.0, 0.2], t_eval=[2.0], rtol=1e-9).y[1, 0]
    before, after = run(wg.grad(final, argnums=(0, 1)))(0.0, 2.0)
    np.testing.assert_allclose(after, slope, rtol=1e-5)
    np.testing.assert_allclose(before, -slope, rtol=1e-5)


@pytest.mark.parametrize("run", [lambda f: f, wg.jit], ids=["eager", "compiled"])
def test_each_example_has_steps_of_its_own(run: Any) -> None:
    starts = np.array([[1.0, 0.0], [0.01, 0.0], [2.9, 0.3], [0.0, 0.0]])
    frequencies = np.array([1.0, 8.0, 3.0, 1.0])

    def solved(frequency: Any, y0: Any) -> Any:
        result = solve_ivp(oscillator, (0, 2), y0, "Tsit5", TIMES, args=(frequency,), max_steps=500)
        return result.y, result.nfev

    def loss(frequency: Any, y0: Any) -> Any:
        states, calls = solved(frequency, y0)
        return np.sum(states**2), (states, calls)

    with_slope = wg.value_and_grad(loss, has_aux=True)
    each = [with_slope(*pair) for pair in zip(frequencies, starts, strict=True)]
    (_, (states, calls)), gradients = run(wg.vmap(with_slope))(frequencies, starts)
    np.testing.assert_allclose(states, [y for (_, (y, _)), _ in each], rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(calls, [count for (_, (_, count)), _ in each])
    np.testing.assert_allclose(gradients, [slope for _, slope in each], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("run", [lambda f: f, wg.jit], ids=["eager", "compiled"])
def test_second_derivatives(run: Any) -> None:
    def final(frequency: Any) -> Any:
        settings: dict[str, Any] = {"t_eval": [1.0], "rtol": 1e-8, "max_steps": 200}
        return solve_ivp(oscillator, (0, 1), [1.0, 0.0], args=(frequency,), **settings).y[0, 0]

    step = 1e-4
    slope = wg.grad(final)
    expected = (slope(1.2 + step) - slope(1.2 - step)) / (2 * step)
    found = run(wg.grad(slope))(1.2)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    if run is wg.jit:
        np.testing.assert_allclose(found, wg.grad(slope)(1.2), rtol=1e-9)


# -- errors ----------------------------------------------------------------------------------------------


def test_a_singular_solution() -> None:
    """The solution of ``y' = y**2`` ends at t = 1: SciPy's status and message, and an error where no value is known."""
    result = solve_ivp(lambda t, y: y**2, (0, 2), [1.0], t_eval=np.linspace(0, 2, 5))
    assert (result.status, result.success) == (-1, False)
    assert "step size" in result.message
    np.testing.assert_allclose(result.y[0], [1, 2], rtol=1e-2)
    result = solve_ivp(lambda t, y: y**2, (0, 2), [1.0], t_eval=[2.0])
    assert (result.status, result.t.shape, result.y.shape) == (-1, (0,), (1, 0))
    with pytest.raises(LimitError, match="solve_ivp: the step size must stay above"):
        wg.jit(lambda y0: solve_ivp(lambda t, y: y**2, (0, 2), y0, t_eval=[2.0]).y)(np.array([1.0]))


@pytest.mark.parametrize(
    "run", [lambda f: f, wg.jit, lambda f: wg.jit(wg.jacrev(f))], ids=["eager", "compiled", "derivative"]
)
def test_too_many_steps(run: Any) -> None:
    with pytest.raises(LimitError, match="=20 turns"):
        run(lambda y0: solve_ivp(oscillator, (0, 50), y0, t_eval=[50.0], max_steps=20).y)(np.array([1.0, 0]))


def test_what_the_leapfrog_and_a_traced_graph_refuse() -> None:
    with pytest.raises(ShapeError, match=r"^solve_ivp: .*as many momenta as positions"):
        solve_ivp(lambda t, y: y, (0, 1), [1.0], "leapfrog", steps=3)
    with pytest.raises(UnsupportedError, match=r"^solve_ivp: .*give t_eval"):
        wg.jit(lambda y0: solve_ivp(oscillator, (0, 1), y0).y)(np.ones(2))


@pytest.mark.parametrize(
    ("method", "end", "fun"),
    [
        ("RK45", "a step failed", lambda t, y: y**2),
        ("Rodas5P", "a step failed", lambda t, y: y**2),
        ("DOP853", "an event", lambda t, y: -y),
        ("Rodas5P", "an event", lambda t, y: -y),
    ],
)
def test_derivatives_of_a_run_that_ended_early_warn(method: str, end: str, fun: Any) -> None:
    """Of the states; the values, and the time of an event, which is exact, come without a word."""

    def crossed(t: Any, y: Any) -> Any:
        return y[0] - 0.5

    vars(crossed)["terminal"] = True
    events = crossed if end == "an event" else None

    def solved(y0: Any, t_eval: Any = (0.2, 1.9)) -> Any:
        return solve_ivp(fun, (0, 2), np.reshape(y0, (1,)), method, t_eval, events=events)

    def total(y0: Any) -> Any:
        return np.sum(solved(y0).y)

    assert solved(1.0).status in (-1, 1)
    for derivative in (wg.grad(total), lambda y0: wg.jvp(total, (y0,), (1.0,))):
        with pytest.warns(DoubtfulResultWarning, match=r"ended before t1 \(status -?1.*\[test_ivp.py:\d+\]"):
            derivative(1.0)
    if events:
        time = wg.grad(lambda y0: solved(y0, None).t_events[0][0])(1.0)  # the event is at log(2 y0)
        assert time == pytest.approx(1.0, rel=1e-2)
        assert np.isnan(wg.jit(lambda y0: solved(y0).y)(1.0)[0, 1])
    else:
        with pytest.raises(LimitError, match="the step size must stay above"):
            wg.jit(wg.grad(total) if method == "RK45" else total)(1.0)
    assert wg.grad(lambda y0: solve_ivp(fun, (0, 0.5), y0 * np.ones(1), method, [0.2, 0.5]).y[0, 1])(1.0) > 0
