"""Optimisers follow their equations, keep dtypes, and are functions of arrays that transforms take."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import optim

OPTIMISERS = {"sgd": optim.sgd(0.1), "momentum": optim.momentum(0.05, 0.8), "adam": optim.adam(0.05)}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_parabola_is_descended(name):
    optimiser = OPTIMISERS[name]
    parameters = {"a": np.array([1.0, -2.0], "f4"), "b": (np.float64(0.5),)}
    state = optimiser.init(parameters)
    gradient = wg.grad(lambda p: np.sum(p["a"] ** 2) + p["b"][0] ** 2)
    for _ in range(200):
        parameters, state = optimiser.update(gradient(parameters), state, parameters)
    assert np.all(np.abs(parameters["a"]) < 1e-2)
    assert parameters["a"].dtype == np.float32


def test_momentum_step_by_step(rng):
    p, v = 1.0, 0.0
    parameters, state = 1.0, OPTIMISERS["momentum"].init(1.0)
    for g in rng.standard_normal(5):
        v = 0.8 * v + g
        p -= 0.05 * v
        parameters, state = OPTIMISERS["momentum"].update(g, state, parameters)
        assert np.isclose(parameters, p)


def test_adam_step_by_step(rng):
    p, m, s = 1.0, 0.0, 0.0
    parameters, state = 1.0, OPTIMISERS["adam"].init(1.0)
    for t, g in enumerate(rng.standard_normal(5), 1):
        m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g * g
        p -= 0.05 * (m / (1 - 0.9**t)) / (np.sqrt(s / (1 - 0.999**t)) + 1e-8)
        parameters, state = OPTIMISERS["adam"].update(g, state, parameters)
        assert np.isclose(parameters, p, rtol=1e-7)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_an_update_is_differentiable(name):
    """The derivative of training with respect to the first parameters, through the updates."""
    optimiser = OPTIMISERS[name]

    def trained(p):
        state = optimiser.init(p)
        for _ in range(3):
            p, state = optimiser.update(2 * p, state, p)
        return np.sum(p**2)

    p, h = np.array([1.0, 2.0]), 1e-6
    differences = [(trained(p + h * e) - trained(p - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(wg.grad(trained)(p), differences, rtol=1e-5)
