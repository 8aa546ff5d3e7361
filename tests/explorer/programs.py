"""Programs that the tests explore."""

from __future__ import annotations

import numpy as np

import wengert as wg
from examples.explorer.programs import kalman, newton, product, report
from wengert import nn, tree


def loss(params, x, y):
    hidden = np.tanh(x @ params["w"] + params["b"])
    return np.mean((hidden - y) ** 2)


def scanned(x, rates):
    def step(state, rate):
        state = state + 0.1 * rate * np.sin(state)
        return state, state

    last, states = wg.scan(step, x, rates)
    return last * np.sum(states)


def gaussian(x, scale):
    cov = np.exp(-((x[:, None] - x[None, :]) ** 2)) + scale * np.eye(3)
    return x @ np.linalg.solve(cov, x) + np.linalg.slogdet(cov)[1]


def chosen(x, y):
    return np.maximum(x, y) * np.where(x > 0, x, -2 * x) + abs(y)


def not_a_number(x):
    inside = np.sqrt(x - 3)
    return inside * 2 + x


def root_of_zero(x):
    return np.sqrt(x * 0.0) * x


def eigenvalue(x):
    return np.linalg.eigvalsh(np.array([[1.0, 0.5], [0.5, 2.0]]) * x)[1] * x


RNG = np.random.default_rng(0)


def network(seed):
    """Return a small convolutional network in float64."""
    rng = np.random.default_rng(seed)
    layers = (nn.Conv2D(1, 3, 3, seed=rng), nn.relu, nn.MaxPool2D(2), nn.Flatten(), nn.Dense(12, 4, seed=rng))
    return tree.map_tree(lambda leaf: leaf.astype(np.float64), nn.Chain(*layers))


def cnn(model, images):
    return nn.softmax_cross_entropy(model(images), np.array([3, 1]))


def checkpointed(x):
    return wg.checkpoint(lambda x: np.sin(np.exp(x)))(x) * x


def unchanged(x):
    return x


#: A function, its arguments, and other arguments of the same structure.
CASES = {
    "product": (product, (2.0, 3.0, 4.0), (-1.5, 0.25, 7.0)),
    "report": (report, (2.0, 5.0), (0.3, -4.0)),
    "newton": (newton, (2.0,), (2.05,)),
    "loss": (
        loss,
        ({"w": RNG.normal(size=(3, 2)), "b": np.zeros(2)}, RNG.normal(size=(4, 3)), np.ones((4, 2))),
        ({"w": RNG.normal(size=(3, 2)), "b": np.ones(2)}, RNG.normal(size=(4, 3)), np.zeros((4, 2))),
    ),
    "kalman": (kalman, (0.1, 1.0, np.arange(3.0)), (0.3, 0.5, RNG.normal(size=3))),
    "scanned": (scanned, (0.5, np.arange(4.0)), (1.5, RNG.normal(size=4))),
    "gaussian": (gaussian, (np.array([0.1, 0.7, 2.0]), 0.5), (np.array([-1.0, 0.2, 0.4]), 0.9)),
    "cnn": (
        cnn,
        (network(0), RNG.normal(size=(2, 1, 6, 6))),
        (network(1), RNG.normal(size=(2, 1, 6, 6))),
    ),
    "checkpointed": (checkpointed, (0.5,), (1.25,)),
    "unchanged": (unchanged, (0.5,), (1.25,)),
    "chosen": (chosen, (2.0, 1.0), (-1.0, 3.0)),
}
