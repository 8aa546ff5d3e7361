"""The derivatives of `curve_fit` by what its data depend on, against differences of fits, for drawn models and data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import CASES
from wengert.errors import ArgumentError, LimitError

pytest.importorskip("scipy")

FEW, MANY = 2, 60
MODELS: dict[str, tuple[Callable[..., Any], int]] = {
    "decay": (lambda t, a, k: a * np.exp(-k * t), 2),
    "line": (lambda t, a, b: a + b * t, 2),
    "bell": (lambda t, a, m, s: a * np.exp(-((t - m) ** 2) / (1 + s * s)), 3),
    "saturation": (lambda t, a, k: a * t / (k * k + t), 2),
    "wave": (lambda t, a, b, c: a + b * np.sin(t) + c * np.cos(2 * t), 3),
}
TIGHT = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}
#: A fit by numbers that move everything about it a little.
BY = ("ydata", "xdata", "sigma", "model", "all")


class Drawn:
    """A fit as a function of two numbers."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.name = str(rng.choice(list(MODELS)))
        self.model, self.count = MODELS[self.name]
        self.size = int(rng.integers(self.count + 1, 12))
        self.t = np.sort(rng.uniform(0.2, 3.0, self.size))
        self.truth = rng.uniform(0.6, 1.6, self.count)
        self.noise = 0.02 * rng.standard_normal(self.size)
        self.by, self.kind = str(rng.choice(BY)), int(rng.integers(3))
        self.is_container, self.absolute = bool(rng.random() < 0.3), bool(rng.random() < 0.5)
        self.method = str(rng.choice(["lm", "trf"]))
        self.waves = rng.standard_normal((3, self.size))
        spread = rng.uniform(0.5, 1.5, self.size)
        self.sigma = [None, spread, np.diag(spread) + 0.1][self.kind]

    def __call__(self, v: Any) -> Any:
        """Return the parameters and the covariance matrix as one vector."""
        move = {name: v[0] if self.by in (name, "all") else 0.0 for name in BY}
        t = self.t + 0.1 * move["xdata"] * self.waves[0]
        y = self.model(self.t, *self.truth) + self.noise + move["ydata"] * self.waves[1]
        sigma = self.sigma
        if sigma is not None:
            sigma = sigma * (1 + 0.1 * move["sigma"] * (self.waves[2] if self.kind == 1 else 1.0))
        shift = 0.1 * move["model"] * v[1]
        start: Any = self.truth * 1.1

        def model(t: Any, *p: Any) -> Any:
            values = [p[0][name] for name in sorted(p[0])] if self.is_container else p
            return self.model(t, *values) + shift * t * t

        if self.is_container:
            start = {f"p{n}": value for n, value in enumerate(start)}
        given = {"sigma": sigma, "absolute_sigma": self.absolute, "method": self.method}
        popt, pcov = wg.optimize.curve_fit(model, t, y, start, **given, **TIGHT)
        popt = np.stack([popt[name] for name in sorted(popt)]) if self.is_container else popt
        return np.concatenate([popt, np.ravel(pcov)])


def differences(program: Any, v: Any, d: Any, h: float) -> Any:
    far_left, left, right, far_right = (program(v + k * h * d) for k in (-2, -1, 1, 2))
    return (8 * (right - left) - (far_right - far_left)) / (12 * h)


def check(seed: int) -> None:
    program, h = Drawn(seed), 1e-4
    text = f"{seed}: {program.name} by {program.by}, sigma {program.kind}, {program.method}"
    rng = np.random.default_rng(seed)
    v, d = rng.uniform(-0.1, 0.1, 2), rng.uniform(-1, 1, 2)
    here, (value, moved) = program(v), wg.jvp(program, (v,), (d,))
    size = np.max(np.abs(here)) + np.max(np.abs(moved))
    np.testing.assert_allclose(value, here, 1e-6, 1e-7 * size, err_msg=text)
    slopes = [differences(program, v, d, step) for step in (1e-3, 4e-4, 1e-4)]  # SciPy may end a little early
    slope = min(slopes, key=lambda slope: np.max(np.abs(slope - moved)))
    np.testing.assert_allclose(moved, slope, 1e-5, 1e-5 * size, err_msg=text)
    np.testing.assert_allclose(wg.jacrev(program)(v) @ d, moved, 1e-6, 1e-7 * size, err_msg=text)
    bend = wg.jvp(lambda v: wg.jvp(program, (v,), (d,))[1], (v,), (d,))[1]
    sides = [wg.jvp(program, (v + k * h * d,), (d,))[1] for k in (-1, 1)]
    expected = (sides[1] - sides[0]) / (2 * h)
    np.testing.assert_allclose(bend, expected, 1e-4, 1e-4 * (size + np.max(np.abs(bend))), err_msg=text)


@pytest.mark.parametrize("seed", range(FEW * (CASES - 1), FEW * CASES))
def test_fits_move_with_their_data(seed: int) -> None:
    check(seed)


@pytest.mark.slow
def test_many_fits_move_with_their_data() -> None:
    for seed in range(1000, 1000 + MANY):
        check(seed)


T = np.linspace(0.0, 2.0, 8)
Y = 2.0 * np.exp(-0.7 * T)


def fitted(y: Any, **options: Any) -> Any:
    return wg.optimize.curve_fit(MODELS["decay"][0], T, y, [1.0, 1.0], **options)[0]


def test_the_start_has_no_influence() -> None:
    slope = wg.jacobian(lambda p: wg.optimize.curve_fit(MODELS["decay"][0], T, Y, p)[0])(np.ones(2))
    np.testing.assert_array_equal(slope, np.zeros((2, 2)))


@pytest.mark.slow
def test_a_fit_in_a_compiled_program_or_a_batch_is_the_same() -> None:
    noisy = np.stack([Y, Y + 0.01 * np.sin(9 * T)])
    for bounds in (None, (0.0, 1.8)):
        each = np.stack([fitted(y, bounds=bounds) for y in noisy])
        np.testing.assert_allclose(wg.vmap(lambda y, b=bounds: fitted(y, bounds=b))(noisy), each, rtol=1e-7)
        np.testing.assert_allclose(
            wg.jit(lambda y, b=bounds: fitted(y, bounds=b))(noisy[1]), each[1], rtol=1e-7
        )
    slope = wg.jit(wg.grad(lambda y: fitted(y)[0]))(noisy[1])
    np.testing.assert_allclose(slope, wg.grad(lambda y: fitted(y)[0])(noisy[1]), rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"full_output": True}, "popt and pcov"),
        ({"nan_policy": "omit"}, "NaN"),
        ({"bounds": (0, 9), "p0": None}, "give p0"),
    ],
)
def test_what_has_no_derivative_is_refused(options: dict[str, Any], says: str) -> None:
    given = {"p0": [1.0, 1.0], **options}
    with pytest.raises(ArgumentError, match=f"^curve_fit: .*{says}"):
        wg.jacobian(lambda y: wg.optimize.curve_fit(MODELS["decay"][0], T, y, **given)[0])(Y)


def test_a_fit_at_a_bound_has_no_derivative_and_one_inside_has() -> None:
    np.testing.assert_allclose(
        wg.jacobian(lambda y: fitted(y, bounds=(0.0, 9.0)))(Y), wg.jacobian(fitted)(Y), 1e-5, 1e-6
    )
    with pytest.raises(LimitError, match="curve_fit"):
        wg.jacobian(lambda y: fitted(y, bounds=(0.0, 1.5)))(Y)
