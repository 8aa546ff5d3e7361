"""Optimisers follow their equations, keep dtypes, and are functions of arrays that transforms take."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import optim, tree
from wengert.errors import ArgumentError, ShapeError
from wengert.testing import check_grads

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


@pytest.mark.parametrize("name", OPTIMISERS)
def test_an_update_is_a_pure_function(name, rng):
    """It keeps containers and dtypes, changes none of its arguments, and gives the same again."""
    optimiser = OPTIMISERS[name]
    parameters = {"w": rng.standard_normal((3, 2)).astype("f4"), "b": [1.5, None], "v": np.zeros(0)}
    gradients = tree.map_tree(lambda p: p + 1, parameters)
    state = optimiser.update(gradients, optimiser.init(parameters), parameters)[1]
    before = [np.array(leaf) for leaf in tree.leaves((gradients, state, parameters))]
    first, second = (optimiser.update(gradients, state, parameters) for _ in range(2))
    for kept, leaf in zip(before, tree.leaves((gradients, state, parameters)), strict=True):
        np.testing.assert_array_equal(kept, leaf)
    for one, other in zip(tree.leaves(first), tree.leaves(second), strict=True):
        np.testing.assert_array_equal(one, other)
    assert tree.flatten(first[0])[1] == tree.flatten(parameters)[1]
    assert tree.flatten(first[1])[1] == tree.flatten(state)[1]
    assert first[0]["w"].dtype == np.float32
    assert np.shares_memory(first[0]["w"], parameters["w"]) is False


@pytest.mark.parametrize("name", OPTIMISERS)
def test_many_runs_at_once(name, rng):
    """Vmap over parameters and state is a loop over them."""
    optimiser, starts = OPTIMISERS[name], rng.standard_normal((4, 3))

    def train(p):
        state = optimiser.init(p)
        for _ in range(3):
            p, state = optimiser.update(np.sin(p), state, p)
        return p

    np.testing.assert_allclose(wg.vmap(train)(starts), np.stack([train(p) for p in starts]), rtol=1e-12)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_what_does_not_belong_together(name):
    optimiser, parameters = OPTIMISERS[name], {"a": np.ones(3)}
    state = optimiser.init(parameters)
    with pytest.raises(ArgumentError, match="structure"):
        optimiser.update({"b": np.ones(3)}, state, parameters)
    for shape in ((), (1,), (3, 1), (4,)):  # none of which NumPy's broadcasting may stretch
        with pytest.raises(ShapeError, match="shapes of the parameters"):
            optimiser.update({"a": np.ones(shape)}, state, parameters)


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


def test_the_derivative_with_respect_to_the_rate():
    def trained(rate):
        optimiser, p = optim.momentum(rate, 0.5), np.array([1.0, -2.0])
        state = optimiser.init(p)
        for _ in range(4):
            p, state = optimiser.update(p**3, state, p)
        return np.sum(p**2)

    check_grads(trained, (0.05,), order=2)
