"""Fifteen steps of each optimiser against torch, with plain calls, compiled ones in float32, and inside a scan.

torch.npz holds the results of the optimisers and schedules of torch 2.13 in float64 for the first values and gradients
below (tools/optimiser_numbers.py); each row has the parameters after one step.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert import optim
from wengert.engine.core import tree
from wengert.optim import schedules

with np.load(Path(__file__).with_name("torch.npz")) as file:
    TORCH = dict(file)

STEPS = 15
FIRST = {"w": np.array([[0.5, -1.2, 2.0], [1.5, 0.3, -0.7]]), "b": np.array([0.1, -0.4])}


def gradients(t):
    i, j = np.arange(6.0).reshape(2, 3), np.arange(2.0)
    return {"w": np.cos(1.3 * t + i) * (1 + 0.1 * t), "b": np.sin(0.7 * t + 2 * j)}


def decayed(decay, optimiser):
    """Weight decay as a part of the gradient, as in the other optimisers of torch."""
    return optim.chain(optim.add_decayed_weights(decay), optimiser)


def matrix(parameter):
    return np.ndim(parameter) == 2


OPTIMISERS = {
    "sgd": optim.sgd(0.1),
    "sgd_decay": decayed(0.05, optim.sgd(0.1)),
    "momentum": optim.momentum(0.05, 0.8),
    "momentum_decay": decayed(0.1, optim.momentum(0.05)),
    "nesterov": optim.nesterov(0.05),
    "nesterov_decay": decayed(0.1, optim.nesterov(0.05, 0.7)),
    "adagrad": optim.adagrad(0.1),
    "adagrad_initial": decayed(0.05, optim.adagrad(0.2, 1e-3, 0.5)),
    "rmsprop": optim.rmsprop(0.01),
    "rmsprop_centred": optim.rmsprop(0.02, 0.9, 1e-6, centred=True),
    "rmsprop_momentum": optim.rmsprop(0.02, 0.9, momentum=0.8),
    "rmsprop_all": decayed(0.1, optim.rmsprop(0.02, 0.8, 1e-4, True, 0.5)),
    "adam": optim.adam(0.05),
    "adam_settings": decayed(0.1, optim.adam(0.1, 0.8, 0.95, 1e-3)),
    "adam_amsgrad": optim.adam(0.05, 0.7, 0.8, amsgrad=True),
    "adamw": optim.adamw(0.05, decay=0.1),
    "adamw_settings": optim.adamw(0.1, 0.8, 0.95, 1e-3, decay=0.2),
    "adamw_amsgrad": optim.adamw(0.05, 0.7, 0.8, decay=0.3, amsgrad=True),
    "adamw_mask": optim.adamw(0.05, decay=0.1, mask=matrix),
    "clip_norm": optim.chain(optim.clip_by_norm(1.5), optim.sgd(0.1)),
    "clip_value": optim.chain(optim.clip_by_value(0.3), optim.adam(0.1)),
    "adam_cosine": optim.adam(schedules.cosine(0.1, STEPS, 1e-3)),
    "momentum_step": optim.momentum(schedules.step_decay(0.1, 4, 0.5)),
    "adamw_one_cycle": optim.adamw(schedules.one_cycle(0.1, STEPS + 1), decay=0.1),
}


def row(parameters):
    return np.concatenate([np.ravel(parameters["w"]), parameters["b"]])


def stepwise(optimiser, update, dtype):
    parameters = tree.map_tree(lambda p: p.astype(dtype), FIRST)
    state, rows = optimiser.init(parameters), []
    for t in range(STEPS):
        given = tree.map_tree(lambda g: g.astype(dtype), gradients(t))
        parameters, state = update(given, state, parameters)
        rows.append(row(parameters))
    return np.stack(rows)


def scanned(optimiser):
    def train(parameters):
        def step(carry, t):
            parameters, state = optimiser.update(gradients(t), carry[1], carry[0])
            return (parameters, state), row(parameters)

        return wg.scan(step, (parameters, optimiser.init(parameters)), np.arange(STEPS))[1]

    return train


# torch adds 1e-6 to the norm before it divides by it.
CLOSE = {"clip_norm": 1e-5}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_steps_of_torch(name):
    optimiser, expected, rtol = OPTIMISERS[name], TORCH[name], CLOSE.get(name, 1e-9)
    assert len(expected) == STEPS
    for actual in (
        stepwise(optimiser, optimiser.update, np.float64),
        scanned(optimiser)(FIRST),
        wg.jit(scanned(optimiser))(FIRST),
    ):
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=1e-11)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_steps_of_torch_in_float32(name):
    optimiser = OPTIMISERS[name]
    for update in (optimiser.update, wg.jit(optimiser.update)):
        actual = stepwise(optimiser, update, np.float32)
        assert actual.dtype == np.float32
        np.testing.assert_allclose(actual, TORCH[name], rtol=2e-4, atol=2e-5)


RATES = {
    "constant": schedules.constant(0.1),
    "step_decay": schedules.step_decay(0.1, 4, 0.3),
    "exponential": schedules.exponential(0.1, 0.9),
    "cosine": schedules.cosine(0.1, 11, 0.01),
    "linear": schedules.linear(0.025, 0.1, 5),
    "piecewise": schedules.piecewise([0.1, 0.01, 0.001], [3, 8]),
    "one_cycle": schedules.one_cycle(0.1, 12, 0.4, 10, 100),
    "join": schedules.join([schedules.linear(0.01, 0.1, 4), schedules.exponential(0.1, 0.8)], [4]),
    "warm_up_cosine": schedules.warm_up_cosine(0.1, 4, 12, 0.01, 0.002),
}


@pytest.mark.parametrize("name", RATES)
def test_rates_of_torch(name):
    rate, expected = RATES[name], TORCH[f"rate_{name}"]
    compiled = wg.jit(lambda t: rate(t) * 1.0)

    @wg.jit
    def scanned(steps):
        return wg.scan(lambda carry, t: (carry, rate(t) * 1.0), 0.0, steps)[1]

    for steps in (
        [rate(t) for t in range(12)],
        [rate(np.int64(t)) for t in range(12)],
        [compiled(np.int64(t)) for t in range(12)],
        wg.vmap(lambda t: rate(t) * np.float64(1))(np.arange(12)) if name != "constant" else expected,
        scanned(np.arange(12)),
    ):
        np.testing.assert_allclose(steps, expected, rtol=1e-12)
