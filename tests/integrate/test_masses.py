"""Mass matrices: regular ones, differential-algebraic equations of index 1, consistent values, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ArgumentError, DtypeError, LimitError, ShapeError, UnsupportedError
from wengert.integrate import odeint, solve_ivp
from wengert.integrate.masses import mass_of

METHODS = ["Radau", "BDF", "Rodas5P"]


def solved(fun: Any, span: Any, y0: Any, method: str, times: Any, **given: Any) -> Any:
    settings: dict[str, Any] = {"rtol": 1e-8, "atol": 1e-10, "max_steps": 2000, **given}
    return solve_ivp(fun, span, y0, method, times, **settings)


# -- against equations without a mass matrix -------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_regular_matrix(method: str) -> None:
    mass = np.array([[2.0, 1.0], [0.5, -1.0]])
    fun = lambda t, y: np.stack([np.cos(t) - y[0], y[0] - y[1] ** 2])  # noqa: E731
    start, times = np.array([0.3, 0.8]), [0.2, 0.5]
    mine = solved(fun, (0, 0.5), start, method, times, mass=mass, rtol=1e-6)
    plain = lambda t, y: np.linalg.solve(mass, fun(t, y))  # noqa: E731
    expected = solved(plain, (0, 0.5), start, "DOP853", times, rtol=1e-10)
    np.testing.assert_allclose(mine.y, expected.y, rtol=2e-5)


def robertson(t: Any, y: Any) -> Any:
    slow, fast = 0.04 * y[0], 1e4 * y[1] * y[2]
    return np.stack([fast - slow, slow - fast - 3e7 * y[1] ** 2, y[0] + y[1] + y[2] - 1])


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_robertson(method: str) -> None:
    """Hairer and Wanner's values; the sum is that of the algebraic equation, and a wrong start is mended."""
    times = np.array([0.4, 40.0, 4e3, 4e5])
    result = solved(robertson, (0, 4e5), [1.0, 0, 0.4], method, times, mass=[1, 1, 0], atol=1e-12)
    np.testing.assert_allclose(result.y[0], [9.8517e-1, 7.1583e-1, 1.8320e-1, 4.9383e-3], rtol=2e-4)
    np.testing.assert_allclose(result.y.sum(axis=0), 1, rtol=1e-11)


def pendulum(t: Any, y: Any, gravity: Any) -> Any:
    """The tension from the second derivative of the constraint: index 1."""
    tension = y[2] ** 2 + y[3] ** 2 - gravity * y[1] - y[4] * (y[0] ** 2 + y[1] ** 2)
    return np.stack([y[2], y[3], -y[4] * y[0], -y[4] * y[1] - gravity, tension])


def swinging(t: Any, y: Any, gravity: Any) -> Any:
    pull = (y[2] ** 2 + y[3] ** 2 - gravity * y[1]) / (y[0] ** 2 + y[1] ** 2)
    return np.stack([y[2], y[3], -pull * y[0], -pull * y[1] - gravity])


@pytest.mark.parametrize("method", METHODS)
def test_a_pendulum(method: str) -> None:
    start = np.array([0.6, -0.8, 0.4, 0.3])
    times, given = [0.0, 0.3], {"args": (9.81,), "rtol": 1e-6}
    mine = solved(pendulum, (0, 0.3), [*start, 0.0], method, times, mass=np.diag([1.0, 1, 1, 1, 0]), **given)
    expected = solved(swinging, (0, 0.3), start, "DOP853", times, args=(9.81,), rtol=1e-11)
    np.testing.assert_allclose(mine.y[:4], expected.y, rtol=1e-5, atol=1e-7)
    # The tension is consistent at the start, and the start that is given stays as it is.
    np.testing.assert_array_equal(mine.y[:4, 0], start)
    assert mine.y[4, 0] == pytest.approx(0.25 + 9.81 * 0.8, rel=1e-12)


def amplifier(t: Any, y: Any) -> Any:
    """Two transistors (Rentrop; Test Set for IVP Solvers, release 2.4), 8 voltages and 5 capacitors."""
    current = lambda u: 1e-6 * (np.exp(u / 0.026) - 1)  # noqa: E731
    r, first, second = 1 / 9000, current(y[1] - y[2]), current(y[4] - y[5])
    return np.stack([
        (y[0] - 0.1 * np.sin(200 * np.pi * t)) / 1000,
        -6 * r + 2 * r * y[1] + 0.01 * first,
        r * y[2] - first,
        -6 * r + r * y[3] + 0.99 * first,
        -6 * r + 2 * r * y[4] + 0.01 * second,
        r * y[5] - second,
        -6 * r + r * y[6] + 0.99 * second,
        r * y[7],
    ])  # fmt: skip


def capacitors() -> Any:
    """Return a matrix of rank 5 without a row of zeros."""
    mass = np.diag([-1.0, -1, -2, -3, -3, -4, -5, -5])
    for row, value in ((0, 1), (3, 3), (6, 5)):
        mass[row, row + 1] = mass[row + 1, row] = value
    return 1e-6 * mass


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_transistor_amplifier(method: str) -> None:
    start = np.array([0, 3.0, 3, 6, 3, 3, 6, 0])
    settings: dict[str, Any] = {"mass": capacitors(), "atol": 1e-8, "max_steps": 20_000}
    end = wg.jit(lambda start: solved(amplifier, (0, 0.2), start, method, [0.2], **settings).y[:, 0])
    expected = [
        -0.5562145012262709e-2,
        0.3006522471903042e1,
        0.2849958788608128e1,
        0.2926422536206241e1,
        0.2704617865010554e1,
        0.2761837778393145e1,
        0.4770927631616772e1,
        0.1236995868091548e1,
    ]
    np.testing.assert_allclose(end(start), expected, rtol=1e-8, atol=1e-9)


# -- drawn systems ---------------------------------------------------------------------------------------


class Drawn:
    """A system of x and z in disguise: mixed equations, and mixed unknowns, so that no row or column is zero."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.differential, algebraic = int(random.integers(1, 4)), int(random.integers(1, 3))
        count = self.differential + algebraic
        self.parts = 0.7 * random.standard_normal((count, count))
        self.parts[self.differential :, self.differential :] += 3 * np.eye(algebraic)
        self.left, self.right = (
            np.linalg.qr(random.standard_normal((count, count)))[0] * random.uniform(0.3, 3, count)
            for _ in range(2)
        )
        selected = np.diag(np.arange(count) < self.differential).astype(float)
        self.mass = self.left @ selected @ np.linalg.inv(self.right)
        self.start = random.standard_normal(self.differential)

    def slopes(self, t: Any, state: Any, rate: Any) -> Any:
        return rate * self.parts @ state + np.sin(t + np.arange(len(self.parts)))

    def rest(self, t: Any, x: Any, rate: Any) -> Any:
        """Return z with the algebraic equations, which are linear."""
        known = self.slopes(t, np.concatenate([x, np.zeros(len(self.parts) - self.differential)]), rate)
        matrix = rate * self.parts[self.differential :, self.differential :]
        return np.linalg.solve(matrix, -known[self.differential :])

    def disguised(self, rate: Any, x: Any, t: Any, method: str, rtol: float) -> Any:
        """Return x at the end; the algebraic part of the start is left at zero."""
        fun = lambda t, y: self.left @ self.slopes(t, np.linalg.solve(self.right, y), rate)  # noqa: E731
        start = self.right[:, : self.differential] @ x
        y = solved(fun, (t, 0.4), start, method, [0.4], mass=self.mass, rtol=rtol, atol=rtol).y[:, 0]
        return np.linalg.solve(self.right, y)

    def plain(self, rate: Any, x: Any, t: Any) -> Any:
        def fun(t: Any, x: Any) -> Any:
            return self.slopes(t, np.concatenate([x, self.rest(t, x, rate)]), rate)[: self.differential]

        x = solved(fun, (t, 0.4), x, "DOP853", [0.4], rtol=1e-11, atol=1e-12).y[:, 0]
        return np.concatenate([x, self.rest(0.4, x, rate)])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 25))])
def test_drawn_systems_are_ordinary_ones(seed: int, method: str) -> None:
    drawn = Drawn(seed)
    found = drawn.disguised(1.1, drawn.start, 0.0, method, 1e-5)
    np.testing.assert_allclose(found, drawn.plain(1.1, drawn.start, 0.0), rtol=1e-3, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_derivatives_of_drawn_systems(seed: int, method: str) -> None:
    """By a rate, the differential part and t0: those of the ordinary system, in both modes and compiled."""
    drawn = Drawn(seed)
    mine = lambda rate, x, t: drawn.disguised(rate, x, t, method, 1e-9)  # noqa: E731
    expected = wg.jit(wg.jacobian(drawn.plain, argnums=(0, 1, 2)))(1.1, drawn.start, 0.1)
    for derivative in (wg.jacrev, wg.jacfwd):
        found = wg.jit(derivative(mine, argnums=(0, 1, 2)))(1.1, drawn.start, 0.1)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    loss = lambda f: lambda rate: np.sum(f(rate, drawn.start, 0.1) ** 2)  # noqa: E731
    curvature, exact = (wg.jit(wg.hessian(loss(f)))(1.1) for f in (mine, drawn.plain))
    assert curvature == pytest.approx(exact, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_both_modes_are_adjoint(method: str) -> None:
    def end(gravity: Any, y0: Any, stop: Any) -> Any:
        times = np.stack([0.5 * stop, 1.0 * stop])
        given: dict[str, Any] = {"args": (gravity,), "mass": [1, 1, 1, 1, 0], "rtol": 1e-3, "atol": 1e-3}
        return solved(pendulum, (0, stop), y0, method, times, **given).y

    point, directions = (9.81, np.array([0.6, -0.8, 0.4, 0.3, 7.0]), 0.05), (1.0, np.arange(1.0, 6), 0.3)
    _, pushed = wg.jvp(end, point, directions)
    weights = np.sin(np.arange(10.0)).reshape(5, 2)
    pulled = wg.vjp(end, *point)[1](weights)
    total = sum(np.sum(one * two) for one, two in zip(pulled, directions, strict=True))
    assert total == pytest.approx(np.sum(weights * pushed), rel=1e-9)
    assert abs(pulled[1][4]) < 1e-9  # nothing depends on the tension that is given


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_many_examples(method: str) -> None:
    def end(y0: Any) -> Any:
        given: dict[str, Any] = {"args": (9.81,), "mass": [1, 1, 1, 1, 0], "rtol": 1e-5}
        return solved(pendulum, (0, 0.3), y0, method, [0.3], **given).y[:, 0]

    starts = np.array([[0.6, -0.8, 0.4, 0.3, 7.0], [1.0, 0, 0, 2.0, 0], [0.0, -1, 3.0, 0, 1.0]])
    found = wg.jit(wg.vmap(lambda y0: (end(y0), wg.jacrev(end)(y0))))(starts)
    for number, start in enumerate(starts):
        np.testing.assert_allclose(found[0][number], end(start), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found[1][number], wg.jacfwd(end)(start), rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_rod_with_algebraic_points(method: str) -> None:
    """Heat with points without capacity: sparse equations are the dense ones."""
    pytest.importorskip("scipy.sparse")
    mass = np.where(np.arange(40) % 3 == 1, 0.0, 1.0)

    def rod(t: Any, y: Any) -> Any:
        around = np.pad(y, 1)
        return 30 * (around[2:] - 2 * y + around[:-2]) + np.cos(t) - y**3

    start = np.sin(np.linspace(0.1, 3, 40))
    dense = lambda t, y: wg.jacfwd(rod, 1)(t, y)  # noqa: E731
    found, expected = (
        solved(rod, (0, 0.05), start, method, [0.0, 0.05], mass=mass, jac=jac, rtol=1e-5).y
        for jac in (None, dense)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(rod(0.0, found[:, 0])[mass == 0], 0, atol=1e-12)


# -- other forms -----------------------------------------------------------------------------------------


def test_containers_and_odeint() -> None:
    fun = lambda t, y: {"x": -y["x"] + y["z"], "z": y["z"] ** 3 + y["z"] - y["x"][0]}  # noqa: E731
    y0 = {"x": np.array([1.0, 2.0]), "z": 0.0}
    mine = solved(fun, (0, 0.2), y0, "Rodas5P", [0.2], mass={"x": 1, "z": 0}, atol={"x": 1e-9, "z": 1e-9})
    flat = lambda t, y: np.stack([-y[0] + y[2], -y[1] + y[2], y[2] ** 3 + y[2] - y[0]])  # noqa: E731
    expected = solved(flat, (0, 0.2), [1.0, 2, 0], "Rodas5P", [0.2], mass=[1, 1, 0], atol=1e-9).y
    np.testing.assert_array_equal(mine.y["x"], expected[:2])
    np.testing.assert_array_equal(mine.y["z"], expected[2])
    states = odeint(fun, y0, [0.0, 0.2], mass={"x": 1, "z": 0}, tfirst=True)
    np.testing.assert_allclose(states["x"][1], expected[:2, 0], rtol=1e-6)


def test_a_complex_system() -> None:
    fun = lambda t, y: np.stack([1j * y[0] + y[1], y[1] ** 2 - y[0]])  # noqa: E731
    mine = solved(fun, (0, 0.3), [1.0 + 0j, 0.9], "Radau", [0.3], mass=[1, 0])
    plain = lambda t, y: 1j * y + np.sqrt(y)  # noqa: E731
    exact = solved(plain, (0, 0.3), [1.0 + 0j], "DOP853", [0.3]).y
    np.testing.assert_allclose(mine.y[0], exact[0], rtol=1e-7)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_rank_does_not_depend_on_units(scale: float) -> None:
    units = np.diag([1.0, scale, 1 / scale])
    assert mass_of("solve_ivp", units, np.zeros(3)).left is None
    singular = np.array([[1.0, 2, 0], [2, 4, 0], [0, 0, 1]])
    mass = mass_of("solve_ivp", units @ singular, np.zeros(3))
    assert mass.is_algebraic.tolist() == [False, False, True]
    np.testing.assert_allclose(mass.left @ units @ singular, mass.matrix, atol=1e-12)


# -- what has no solution --------------------------------------------------------------------------------

INDEX, VALUES = "the equations must have index 1", "must find consistent initial values"
REFUSED: dict[str, tuple[Any, Any, Any, str]] = {
    "index 3": (
        lambda t, y: [y[2], y[3], -y[4] * y[0], -y[4] * y[1] - 1, y[0] ** 2 + y[1] ** 2 - 1],
        [1, 1, 1, 1, 0],
        [1.0, 0, 0, 0, 0],
        INDEX,
    ),
    "index 2": (
        lambda t, y: [y[2], y[3], -y[4] * y[0], -y[4] * y[1] - 1, y[0] * y[2] + y[1] * y[3]],
        [1, 1, 1, 1, 0],
        [1.0, 0, 0, 0, 0],
        INDEX,
    ),
    "an equation too few": (lambda t, y: [-y[0], 0.0 * y[1]], [1, 0], [1.0, 2.0], INDEX),
    "no root": (lambda t, y: [-y[0], y[1] ** 2 + y[0]], [1, 0], [1.0, 0.5], VALUES),
    "flat": (lambda t, y: [-y[0], np.exp(-y[1])], [1, 0], [1.0, 0.5], VALUES),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", REFUSED)
def test_no_system_of_a_higher_index_is_solved(name: str, method: str) -> None:
    fun, mass, start, words = REFUSED[name]
    with pytest.raises(ArgumentError, match=rf"^solve_ivp: .*{words}.*\[test_masses.py:\d+\]$"):
        solved(fun, (0, 1), start, method, [1.0], mass=mass)


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_compiled_functions_refuse_it_too(name: str) -> None:
    fun, mass, start, words = REFUSED[name]
    compiled = wg.jit(lambda y0: solved(fun, (0, 1), y0, "Rodas5P", [1.0], mass=mass).y)
    with pytest.raises(ValueError, match=f"^solve_ivp: .*{words}|^solve: Singular matrix"):
        compiled(np.array(start))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_solution_that_ends(method: str) -> None:
    """At t = 2/3 the root of the algebraic equation vanishes: no step passes it."""
    fold = lambda t, y: np.stack([-1.5 + 0 * y[0], y[0] - y[1] ** 2])  # noqa: E731
    result = solved(fold, (0, 1), [1.0, 0.9], method, [0.3, 1.0], mass=[1, 0], rtol=1e-4, atol=1e-6)
    assert (result.status, result.t.tolist()) == (-1, [0.3])


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(30))
def test_drawn_pencils_are_solved_or_refused(seed: int, method: str) -> None:
    """``M y' = A y + b`` with nilpotent parts, in disguise: index 2 and 3 raise, as does a pencil that is singular."""
    random = np.random.default_rng(seed)
    index = int(random.integers(2, 4))
    block = np.diag(np.ones(index - 1), 1)
    first = np.block([[np.eye(2), np.zeros((2, index))], [np.zeros((index, 2)), block]])
    second = np.block(
        [[random.standard_normal((2, 2)), np.zeros((2, index))], [np.zeros((index, 2)), np.eye(index)]]
    )
    left, right = (random.standard_normal((2 + index, 2 + index)) for _ in range(2))
    if seed % 3 == 0:
        second[-1] = 0.0
    fun = lambda t, y: left @ second @ right @ y + np.sin(t)  # noqa: E731
    with pytest.raises((ArgumentError, LimitError)):
        solved(fun, (0, 1), random.standard_normal(2 + index), method, [1.0], mass=left @ first @ right)


CASES: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"mass": np.eye(3)}, ShapeError, r"mass must have the shape \(2, 2\), or \(2,\).* got f64\[3,3\]"),
    ({"mass": "diagonal"}, DtypeError, "mass must be numbers; got 'diagonal'"),
    ({"mass": [1.0, 1j]}, DtypeError, "mass must be real where y0 is"),
    ({"mass": [1.0, np.nan]}, ArgumentError, "mass must be finite"),
    ({"method": "RK45"}, ArgumentError, "a mass matrix needs an implicit method; got RK45"),
    ({"adjoint": "continuous"}, UnsupportedError, "the continuous adjoint takes no mass matrix"),
]


@pytest.mark.parametrize(("given", "error", "words"), CASES, ids=[case[2] for case in CASES])
def test_what_does_not_fit(given: dict[str, Any], error: type[Exception], words: str) -> None:
    settings: dict[str, Any] = {"method": "Radau", "mass": [1.0, 0.0], **given}
    with pytest.raises(error, match=f"^solve_ivp: {words}"):
        solve_ivp(lambda t, y: -y, (0, 1), [1.0, 0.0], t_eval=[1.0], **settings)


def test_a_mass_that_only_a_call_knows() -> None:
    end: Callable[[Any], Any] = lambda m: solve_ivp(  # noqa: E731
        lambda t, y: -y, (0, 1), [1.0], "Radau", [1.0], mass=[m]
    ).y[0, 0]
    for run in (wg.jit(end), wg.grad(end), lambda m: wg.vmap(end)(np.stack([m]))):
        with pytest.raises(UnsupportedError, match=r"^solve_ivp: mass must be constant"):
            run(2.0)
