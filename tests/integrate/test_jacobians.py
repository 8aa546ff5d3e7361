"""Jacobians of stiff problems: given and derived, dense, banded and sparse; all take the same steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import CASES
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError
from wengert.integrate import jacobians, solve_ivp

sparse: Any = pytest.importorskip("scipy.sparse")
COUNT = 40
SETTINGS: dict[str, Any] = {
    "method": "Rodas5P",
    "t_eval": [0.01, 0.03],
    "rtol": 1e-3,
    "atol": 1e-5,
    "max_steps": 200,
}
START = np.sin(np.linspace(0.1, 3, COUNT))
SHUFFLED = np.random.default_rng(0).permutation(COUNT)


def heat(t: Any, y: Any, rate: Any = 1.0) -> Any:
    """Heat on a rod, with a source that is not linear: three elements in each row."""
    around = np.pad(y, 1)
    return 30 * rate * (around[2:] - 2 * y + around[:-2]) + y**2 * np.cos(t)


def shuffled(t: Any, y: Any, rate: Any = 1.0) -> Any:
    """The same with the points in another order."""
    back = np.argsort(SHUFFLED)
    return heat(t, y[back], rate)[SHUFFLED]


def far(t: Any, y: Any, rate: Any = 1.0) -> Any:
    """Points that react with points of random places."""
    return heat(t, y, rate) + 0.1 * y[SHUFFLED] * y[np.roll(SHUFFLED, 7)]


def dense(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Jacobian as a full matrix."""
    return lambda t, y, *args: wg.jacfwd(fun, 1)(t, y, *args)


def solved(fun: Any, y0: Any = START, rate: Any = 1.0, **given: Any) -> Any:
    return solve_ivp(fun, (0, 0.03), y0, args=(rate,), **{**SETTINGS, **given}).y


def structure(fun: Any) -> Any:
    pattern = jacobians._detected(fun, 0.0, START)  # pyright: ignore[reportPrivateUsage]
    return jacobians.Structure.of(pattern)


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few diagonals be many."""
    monkeypatch.setattr(jacobians, "_WIDEST_BAND", 8)
    monkeypatch.setattr(jacobians, "_DENSE_SHARE", 0.5)


def test_what_the_equations_look_like() -> None:
    assert structure(heat).order is None
    assert (structure(heat).lower, structure(heat).upper) == (1, 1)
    assert structure(shuffled).order is not None
    assert (structure(shuffled).lower, structure(shuffled).upper) == (1, 1)
    assert not structure(far).is_banded


@pytest.mark.parametrize("fun", [heat, shuffled, far])
def test_sparse_equations_are_the_dense_ones(fun: Any) -> None:
    expected = solved(fun, jac=dense(fun))
    np.testing.assert_allclose(solved(fun), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("fun", [shuffled, far])
def test_derivatives_of_sparse_equations(fun: Any) -> None:
    def loss(y0: Any, rate: Any, **given: Any) -> Any:
        return np.sum(solved(fun, y0, rate, **given) ** 2)

    point, directions = (START, 1.0), (np.cos(5 * START), 1.0)
    _, expected = wg.jvp(lambda y0, rate: loss(y0, rate, jac=dense(fun)), point, directions)
    _, forward = wg.jvp(loss, point, directions)
    slopes = wg.jit(wg.grad(loss, argnums=(0, 1)))(*point)
    np.testing.assert_allclose(forward, expected, rtol=1e-8)
    np.testing.assert_allclose(slopes[0] @ directions[0] + slopes[1], expected, rtol=1e-8)


def test_examples_have_equations_of_their_own() -> None:
    rates = np.array([0.5, 2.0])
    states = wg.vmap(lambda rate: solved(shuffled, START, rate))(rates)
    for rate, state in zip(rates, states, strict=True):
        np.testing.assert_allclose(state, solved(shuffled, START, rate), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("run", [lambda f: f, wg.jit])
def test_slopes_of_examples_whose_numbers_of_steps_differ(run: Any) -> None:
    def swing(t: Any, y: Any, rate: Any) -> Any:
        return np.stack([y[1], -rate * y[0] - 0.1 * y[1] ** 3])

    slope = wg.grad(lambda rate: np.sum(solved(swing, np.array([1.0, 2.0]), rate)))
    rates = np.array([1.3, 5e4])
    np.testing.assert_allclose(run(wg.vmap(slope))(rates), [slope(rate) for rate in rates], rtol=1e-9)


def linear(t: Any, y: Any, rate: Any = 1.0) -> Any:
    around = np.pad(y, 1)
    return 30 * (around[2:] - 2 * y + around[:-2])


@pytest.mark.parametrize("form", ["array", "function", "csr", "pattern", "full"])
def test_jacobians_that_are_given(form: str) -> None:
    matrix = sparse.diags_array([30.0, -60.0, 30.0], offsets=[-1, 0, 1], shape=(COUNT, COUNT))
    given: dict[str, dict[str, Any]] = {
        "array": {"jac": matrix.toarray()},
        "function": {"jac": lambda t, y, rate: matrix.toarray() * rate},
        "csr": {"jac": matrix.tocsr()},
        "pattern": {"jac_sparsity": matrix},
        "full": {"jac_sparsity": matrix.toarray() != 0},
    }
    np.testing.assert_allclose(solved(linear, **given[form]), solved(linear), rtol=1e-9, atol=1e-12)


def test_a_matrix_on_a_larger_pattern() -> None:
    rng = np.random.default_rng(CASES)
    for _ in range(20):
        matrix, other = (sparse.csr_array(rng.normal(size=(6, 6)) * (rng.random((6, 6)) < 0.3)) for _ in "ab")
        wide = abs(matrix) + abs(other) + sparse.eye_array(6)
        pattern = jacobians._pattern_of("solve_ivp", wide, 6)
        pattern.data = jacobians._on_pattern(pattern, matrix)
        np.testing.assert_array_equal(pattern.toarray(), matrix.toarray())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["Radau", "BDF", "Rodas5P"])
@pytest.mark.parametrize("form", [sparse.csr_array, np.array])
def test_constant_jacobians_have_the_slopes_of_derived_ones(method: str, form: Any) -> None:
    matrix = np.array([[0.0, 1.0, 0.0], [-1.0, -20.0, 5.0], [0.0, 2.0, 0.0]])

    def end(jac: Any, mass: Any, rate: float = 1.0) -> Any:
        settings: dict[str, Any] = {"t_eval": [0.2], "jac": jac, "mass": mass, "rtol": 1e-7}
        return solve_ivp(lambda t, y: rate * (matrix @ y), (0, 0.2), [1.0, 2.0, 3.0], method, **settings).y

    for mass in (None, np.array([1.0, 2.0, 3.0])):
        np.testing.assert_allclose(end(form(matrix), mass), end(None, mass), rtol=1e-9)
        slopes = [
            wg.jvp(lambda rate, jac=jac, mass=mass: end(jac, mass, rate), (1.0,), (1.0,))[1]
            for jac in (form(matrix), None)
        ]
        np.testing.assert_allclose(*slopes, rtol=1e-6)


def reached(fun: Any, start: Any, method: str) -> Any:
    return solve_ivp(fun, (0, 0.1), start, method, [0.1], rtol=1e-2).y


COMPLEX_START = np.array([1 + 1j, 0.3])


def test_complex_functions_that_are_not_holomorphic() -> None:
    with pytest.raises(ArgumentError, match="fun must be holomorphic in a complex y"):
        reached(lambda t, y: 1j * y - np.abs(y) ** 2 * y, np.zeros(2, complex), "Radau")
    with pytest.raises(ArgumentError, match="fun must be holomorphic in a complex y"):
        wg.grad(lambda a: np.sum(np.abs(reached(lambda t, y: -np.conj(y), a * COMPLEX_START, "Rodas5P"))))(
            1.0
        )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["Radau", "BDF", "Rodas5P"])
def test_which_complex_functions_are_holomorphic(method: str) -> None:
    smooth = lambda t, y: 1j * y[::-1] * y + np.exp(y)  # noqa: E731
    assert np.isfinite(reached(smooth, COMPLEX_START, method)).all()
    assert np.isfinite(wg.jit(lambda y: reached(smooth, y, method))(COMPLEX_START)).all()
    for fun in (lambda t, y: 1j * y - np.abs(y) ** 2 * y, lambda t, y: np.real(y) + y):
        end = lambda y, fun=fun: reached(fun, y, method)  # noqa: E731
        for run in (end, wg.jit(end)):
            with pytest.raises(wg.WengertError, match="fun must be holomorphic in a complex y"):
                run(COMPLEX_START)


def test_functions_that_ask_for_values_have_dense_jacobians() -> None:
    asking = lambda t, y, rate: heat(t, y, rate) if y[0] < 100 else y  # noqa: E731
    np.testing.assert_allclose(solved(asking), solved(heat), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"jac": np.eye(3)}, ShapeError, r"jac must have the shape \(40, 40\); got f64\[3,3\]"),
        ({"jac": lambda t, y, rate: y}, ShapeError, r"jac must have the shape \(40, 40\); got f64\[40\]"),
        ({"jac": lambda t, y: y}, DtypeError, r"jac must take 3 arguments.* got a function of \(t, y\)"),
        (
            {"jac": lambda t, y, rate: sparse.eye_array(COUNT)},
            DtypeError,
            "jac must return an array; .*jac_sparsity",
        ),
        ({"jac": "exact"}, DtypeError, "jac must be numbers; got 'exact'"),
        (
            {"jac_sparsity": np.eye(3)},
            ShapeError,
            r"jac_sparsity must have the shape \(40, 40\); got \(3, 3\)",
        ),
        ({"jac_sparsity": "banded"}, DtypeError, "jac_sparsity must be numbers; got 'banded'"),
    ],
)
def test_what_does_not_fit(given: dict[str, Any], error: type[Exception], words: str) -> None:
    for run in (lambda f: f, wg.jit):
        with pytest.raises(error, match=f"^solve_ivp: .*{words}"):
            run(lambda: solved(heat, **given))()
