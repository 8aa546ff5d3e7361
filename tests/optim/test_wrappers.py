"""Accumulated gradients and averaged parameters equal sums and means, in every mode."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import optim
from wengert.engine.core import tree

INNER = {
    "sgd": optim.sgd(0.1),
    "adam": optim.adam(0.05),
    "chain": optim.chain(optim.clip_by_norm(1.0), optim.adamw(optim.schedules.cosine(0.1, 4), decay=0.1)),
}


def assert_trees_close(actual, expected):
    for leaf, other in zip(tree.leaves(actual), tree.leaves(expected), strict=True):
        np.testing.assert_allclose(leaf, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", INNER)
def test_a_step_with_the_mean_of_several_gradients(name, compiled, rng):
    inner, count = INNER[name], 3
    optimiser = optim.accumulate(inner, count)
    update = wg.jit(optimiser.update) if compiled else optimiser.update
    start = {"w": rng.standard_normal((2, 3)), "b": [rng.standard_normal(3)]}
    parameters, expected = start, start
    state, other = optimiser.init(start), inner.init(start)
    for _ in range(4):
        parts = [tree.map_tree(lambda p: rng.standard_normal(p.shape), start) for _ in range(count)]
        for position, part in enumerate(parts):
            before = parameters
            parameters, state = update(part, state, parameters)
            if position < count - 1:
                assert_trees_close(parameters, before)
                assert_trees_close(state.inner, other)
        expected, other = inner.update(tree.map_tree(lambda *gs: sum(gs) / count, *parts), other, expected)
        assert_trees_close(parameters, expected)
        assert_trees_close(state.inner, other)
        assert_trees_close(state.total, tree.map_tree(np.zeros_like, start))


def test_accumulation_in_a_scan_and_in_batches(rng):
    optimiser = optim.accumulate(optim.momentum(0.1), 2)
    gradients, start = rng.standard_normal((6, 3)), rng.standard_normal(3)

    def train(p, gradients):
        def step(carry, g):
            return optimiser.update(g, carry[1], carry[0]), None

        return wg.scan(step, (p, optimiser.init(p)), gradients)[0][0]

    p, state = start, optimiser.init(start)
    for g in gradients:
        p, state = optimiser.update(g, state, p)
    for actual in (train(start, gradients), wg.jit(train)(start, gradients)):
        np.testing.assert_allclose(actual, p, rtol=1e-12)
    many = wg.vmap(train)(np.stack([start, 2 * start]), np.stack([gradients, -gradients]))
    np.testing.assert_allclose(many[0], p, rtol=1e-12)
    np.testing.assert_allclose(many[1], train(2 * start, -gradients), rtol=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", INNER)
def test_averaged_parameters(name, compiled, rng):
    inner = INNER[name]
    optimiser = optim.averaged(inner, 0.8)
    update = wg.jit(optimiser.update, donate=(1, 2)) if compiled else optimiser.update
    start = {"w": rng.standard_normal((2, 3)), "b": rng.standard_normal(3)}
    mean, expected, other = start, start, inner.init(start)
    parameters = tree.map_tree(np.array, start)
    state = optimiser.init(parameters)
    for _ in range(5):
        g = tree.map_tree(lambda p: rng.standard_normal(p.shape), start)
        parameters, state = update(g, state, parameters)
        expected, other = inner.update(g, other, expected)
        mean = tree.map_tree(lambda a, p: 0.8 * a + 0.2 * p, mean, expected)
        assert_trees_close(parameters, expected)
        assert_trees_close(state.average, mean)


def test_nested_wrappers(rng):
    """The mean counts the steps, not the calls."""
    optimiser = optim.accumulate(optim.averaged(optim.sgd(1.0), 0.5), 2)
    p = np.zeros(2)
    state = optimiser.init(p)
    for _ in range(4):
        p, state = wg.jit(optimiser.update)(np.ones(2), state, p)
    np.testing.assert_allclose(p, [-2.0, -2.0])
    np.testing.assert_allclose(state.inner.average, [-1.25, -1.25])
