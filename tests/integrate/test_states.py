"""States of other forms: containers and arrays are the vectors of their numbers, bit for bit."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError
from wengert.integrate import odeint, solve_ivp


class Body(NamedTuple):
    """A state of two arrays."""

    place: Any
    speed: Any


@dataclasses.dataclass
class Sites:
    """A state with a container inside."""

    bodies: Any
    heat: Any


PLACE, SPEED, HEAT = np.array([[0.3, -0.2], [0.1, 0.7]]), np.array([[0.0, 0.5], [0.2, 0.1]]), 1.3
FLAT = np.concatenate([PLACE.ravel(), SPEED.ravel(), [HEAT]])
STATES: dict[str, Any] = {
    "dict": ({"a": PLACE, "b": SPEED, "c": HEAT}, lambda y: (y["a"], y["b"], y["c"])),
    "tuple": ((PLACE, SPEED, HEAT), lambda y: y),
    "list": ([PLACE, SPEED, HEAT], lambda y: y),
    "nested": (
        Sites(Body(PLACE, SPEED), [np.array(HEAT)]),
        lambda y: (y.bodies.place, y.bodies.speed, y.heat[0]),
    ),
}
ARRAYS = {"vector": FLAT, "matrix": PLACE, "number": 1.3, "rows": PLACE.tolist(), "none": np.zeros((0, 2))}


def slopes(place: Any, speed: Any, heat: Any, rate: Any) -> tuple[Any, Any, Any]:
    return speed, -rate * place - 0.1 * heat * speed, -heat + np.sum(speed**2)


def flat(t: Any, y: Any, rate: Any) -> Any:
    parts = slopes(np.reshape(y[:4], (2, 2)), np.reshape(y[4:8], (2, 2)), y[8], rate)
    return np.concatenate([np.reshape(part, (-1,)) for part in parts])


def solved(name: str, y0: Any, rate: Any, method: str, **given: Any) -> Any:
    structure, parts = (None, None) if name == "flat" else STATES[name]

    def fun(t: Any, y: Any, rate: Any) -> Any:
        leaves = slopes(*parts(y), rate)
        return wg.tree.unflatten(wg.tree.flatten(structure)[1], leaves)

    chosen = flat if name == "flat" else fun
    settings: dict[str, Any] = {"t_eval": [0.1, 0.4], "args": (rate,), "rtol": 1e-3, **given}
    settings |= {"steps": 5} if method == "RK4" else {"max_steps": 100}
    return solve_ivp(chosen, (0, 0.4), y0, method, **settings)


def joined(y: Any) -> Any:
    """Return the numbers of a state at several times as a matrix."""
    leaves = wg.tree.leaves(y)
    return np.concatenate([np.reshape(leaf, (-1, leaf.shape[-1])) for leaf in leaves])


# -- bit for bit -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Rodas5P", "Radau", "BDF", "RK4"])
@pytest.mark.parametrize(
    "name", ["dict", *(pytest.param(n, marks=pytest.mark.slow) for n in ("tuple", "list", "nested"))]
)
def test_a_container_is_the_vector_of_its_numbers(name: str, method: str) -> None:
    start, parts = STATES[name]
    mine, plain = (solved(n, y0, 1.7, method, dense_output=True) for n, y0 in ((name, start), ("flat", FLAT)))
    assert wg.tree.flatten(mine.y)[1] == wg.tree.flatten(start)[1]
    place, _, heat = parts(mine.y)
    assert (place.shape, heat.shape) == ((2, 2, 2), (2,))
    np.testing.assert_array_equal(joined(mine.y), plain.y)
    assert (mine.nfev, mine.t.tolist()) == (plain.nfev, plain.t.tolist())
    place, speed, heat = parts(mine.sol(0.27))
    np.testing.assert_array_equal(np.concatenate([place.ravel(), speed.ravel(), [heat]]), plain.sol(0.27))
    np.testing.assert_array_equal(
        joined(mine.sol(np.array([0.1, 0.2, 0.3]))), plain.sol(np.array([0.1, 0.2, 0.3]))
    )


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_any_shape(name: str) -> None:
    y0 = ARRAYS[name]
    shape = np.shape(y0)
    mine = solve_ivp(lambda t, y: -y * np.cos(t) + 0.1, (0, 1), y0, t_eval=[0.5, 1.0], dense_output=True)
    vector = np.ravel(y0)
    plain = solve_ivp(lambda t, y: -y * np.cos(t) + 0.1, (0, 1), vector, t_eval=[0.5, 1.0], dense_output=True)
    assert (mine.y.shape, np.shape(mine.sol(0.3))) == ((*shape, 2), shape)
    np.testing.assert_array_equal(mine.y.reshape(plain.y.shape), plain.y)
    np.testing.assert_array_equal(np.ravel(mine.sol(0.3)), plain.sol(0.3))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["RK45", "Radau", "BDF"])
@pytest.mark.parametrize("run", [lambda f: f, wg.jit], ids=["eager", "compiled"])
def test_derivatives_are_those_of_the_vector(run: Any, method: str) -> None:
    def loss(name: str) -> Any:
        return lambda y0, rate: np.sum(joined(solved(name, y0, rate, method).y) ** 2)

    of_state, of_rate = run(wg.grad(loss("nested"), argnums=(0, 1)))(STATES["nested"][0], 1.7)
    expected, rate = run(wg.grad(loss("flat"), argnums=(0, 1)))(FLAT, 1.7)
    found = np.concatenate([np.ravel(leaf) for leaf in wg.tree.leaves(of_state)])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(of_rate, rate, rtol=1e-12)
    _, forward = wg.jvp(lambda y0: loss("nested")(y0, 1.7), (STATES["nested"][0],), (of_state,))
    assert forward == pytest.approx(np.sum(expected**2), rel=1e-9)
    starts = wg.tree.map_tree(lambda leaf: np.stack([leaf, 2 * np.asarray(leaf)]), STATES["nested"][0])
    many = run(wg.vmap(lambda y0: solved("nested", y0, 1.7, method).y))(starts)
    leaves = wg.tree.leaves(many)
    for number in range(2):
        one = solved("flat", (1 + number) * FLAT, 1.7, method).y
        np.testing.assert_allclose(joined([leaf[number] for leaf in leaves]), one, rtol=1e-10)


def test_events_take_the_container() -> None:
    def crossing(t: Any, y: Any, rate: Any) -> Any:
        return y["b"][0, 0] + 0.1

    def plain(t: Any, y: Any, rate: Any) -> Any:
        return y[4] + 0.1

    mine = solved("dict", STATES["dict"][0], 1.7, "RK45", events=crossing)
    other = solved("flat", FLAT, 1.7, "RK45", events=plain)
    assert mine.t_events[0].tolist() == other.t_events[0].tolist() != []
    state = mine.y_events[0]
    assert (state["a"].shape, state["c"].shape) == ((1, 2, 2), (1,))
    np.testing.assert_array_equal(state["b"].ravel(), other.y_events[0][0, 4:8])


def test_settings_are_written_as_the_state_is() -> None:
    tolerances = {"a": np.full((2, 2), 1e-7), "b": 1e-3, "c": 1e-2}
    vector = np.concatenate([np.full(4, 1e-7), np.full(4, 1e-3), [1e-2]])
    mine = solved("dict", STATES["dict"][0], 1.7, "RK45", atol=tolerances)
    assert (
        mine.nfev
        == solved("flat", FLAT, 1.7, "RK45", atol=vector).nfev
        != solved("flat", FLAT, 1.7, "RK45").nfev
    )

    def jac(t: Any, y: Any, rate: Any) -> Any:
        vector = joined([leaf[..., None] for leaf in wg.tree.leaves(y)])[:, 0]
        return wg.jacfwd(flat, 1)(t, vector, rate)

    mine = solved("dict", wg.tree.map_tree(np.asarray, STATES["dict"][0]), 1.7, "Rodas5P", jac=jac)
    np.testing.assert_allclose(joined(mine.y), solved("flat", FLAT, 1.7, "Rodas5P").y, rtol=1e-12)


def test_odeint() -> None:
    fun = lambda y, t: {"q": y["p"], "p": -y["q"]}  # noqa: E731
    states = odeint(fun, {"q": PLACE, "p": SPEED}, [0.0, 0.5, 1.0])
    assert states["q"].shape == (3, 2, 2)
    np.testing.assert_allclose(states["q"][2], np.cos(1) * PLACE + np.sin(1) * SPEED, rtol=1e-6)
    assert odeint(lambda y, t: -y, PLACE, [0.0, 1.0]).shape == (2, 2, 2)


# -- what does not fit -----------------------------------------------------------------------------------

CASES: list[tuple[Any, Any, type[Exception], str]] = [
    ({"a": 1.0}, lambda t, y: (y["a"],), ArgumentError, ""),
    ({"a": 1.0}, lambda t, y: {"b": y["a"]}, ArgumentError, ""),
    ({"a": PLACE}, lambda t, y: {"a": y["a"][0]}, ShapeError, r"the shapes of y; got f64\[2\] for \(2, 2\)"),
    ({"a": PLACE}, lambda t, y: {"a": 0.0}, ShapeError, "the shapes of y"),
    (PLACE, lambda t, y: y[0], ShapeError, r"the shapes of y; got f64\[2\] for \(2, 2\)"),
    ({"a": 1.0}, lambda t, y: {"a": 1j * y["a"]}, DtypeError, "y0 must be complex where fun is"),
    ({"a": 1.0, "b": 1j}, lambda t, y: y, DtypeError, "y0 must be complex in all leaves or in none"),
    ({"a": 1.0, "b": "x"}, lambda t, y: y, DtypeError, "y0 must be numbers; got 'x'"),
    ((PLACE, np.array([np.nan])), lambda t, y: y, ArgumentError, "y0 must be finite"),
]


@pytest.mark.parametrize(("y0", "fun", "error", "words"), CASES)
def test_what_does_not_fit(y0: Any, fun: Any, error: type[Exception], words: str) -> None:
    for run in (lambda f: f, wg.jit):
        with pytest.raises(error, match=rf"^solve_ivp: .*{words}"):
            run(lambda: solve_ivp(fun, (0, 1), y0, t_eval=[1.0]).y)()


def test_tolerances_of_another_form() -> None:
    with pytest.raises(ArgumentError, match=r"^solve_ivp: "):
        solve_ivp(lambda t, y: y, (0, 1), {"a": 1.0}, atol={"b": 1.0})
