"""Wengert: NumPy functions, compiled by `wg.jit`; eager, a call each, as the check of the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from workloads import TRAININGS, Training, initial_weights, load_data, workload

import wengert as wg
from runners.runner import Runner, batches, repeat
from wengert import nn, optim


def cnn(parameters: Any, x: Any) -> Any:
    w1, b1, w2, b2, w3, b3, w4, b4 = parameters
    x = nn.max_pool(nn.relu(nn.convolve(x[:, None], w1) + b1[:, None, None]), 2)
    x = nn.max_pool(nn.relu(nn.convolve(x, w2) + b2[:, None, None]), 2)
    return nn.relu(x.reshape(len(x), -1) @ w3 + b3) @ w4 + b4


def rnn(parameters: Any, x: Any) -> Any:
    w, u, b, v, c = parameters

    def step(h: Any, projected: Any) -> tuple[Any, None]:
        return np.tanh(projected + h @ u), None

    h, _ = wg.scan(step, np.zeros((len(x), 64), np.float32), np.swapaxes(x @ w + b, 0, 1))
    return h @ v + c


def lstm(parameters: Any, x: Any) -> Any:
    w, u, b, v, c = parameters

    def step(state: Any, projected: Any) -> tuple[Any, None]:
        h, cell = state
        i, f, g, o = np.split(projected + h @ u, 4, axis=1)
        cell = nn.sigmoid(f) * cell + nn.sigmoid(i) * np.tanh(g)
        return (nn.sigmoid(o) * np.tanh(cell), cell), None

    zero = np.zeros((len(x), 64), np.float32)
    (h, _), _ = wg.scan(step, (zero, zero), np.swapaxes(x @ w + b, 0, 1))
    return h @ v + c


def mlp(parameters: Any, x: Any) -> Any:
    w1, b1, w2, b2, w3, b3 = parameters
    x = nn.relu(x.reshape(len(x), -1) @ w1 + b1)
    return nn.relu(x @ w2 + b2) @ w3 + b3


def autoencoder(parameters: Any, x: Any) -> Any:
    w1, b1, w2, b2, w3 = parameters
    return nn.sigmoid(nn.sigmoid(nn.sigmoid(x @ w1 + b1) @ w2 + b2) @ w3)


def classification(network: Callable[..., Any]) -> Callable[..., Any]:
    return lambda parameters, x, labels: nn.softmax_cross_entropy(network(parameters, x), labels)


def reconstruction(parameters: Any, x: Any, labels: Any) -> Any:
    x = x.reshape(len(x), -1)
    return nn.sum_squared_error(autoencoder(parameters, x), x) / len(x)


LOSSES: dict[str, Callable[..., Any]] = {
    **{network.__name__: classification(network) for network in (cnn, rnn, lstm, mlp)},
    "autoencoder-1": reconstruction,
    "autoencoder-100": reconstruction,
}


def training_step(name: str) -> tuple[Callable[..., Any], Callable[[], Any]]:
    """Return ``step(carry, images, labels, index) -> (carry, loss)`` and a function that returns the first carry."""
    training = TRAININGS[name]
    optimiser = getattr(optim, training.optimiser)(training.rate)
    differentiate = wg.value_and_grad(LOSSES[name])

    def step(carry: Any, images: Any, labels: Any, index: Any) -> tuple[Any, Any]:
        parameters, state = carry
        loss, gradients = differentiate(parameters, scaled(training, images[index]), labels[index])
        return optimiser.update(gradients, state, parameters), loss

    def first() -> Any:
        weights = initial_weights(name)
        return weights, optimiser.init(weights)

    return step, first


def scaled(training: Training, images: Any) -> Any:
    x = images.astype(np.float32) * np.float32(training.scale)
    return (x - np.float32(training.shift)) * np.float32(training.stretch) if training.shift else x


def several_steps(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that scans a step over the rows of ``index``."""

    def steps(carry: Any, images: Any, labels: Any, index: Any) -> tuple[Any, Any]:
        carry, losses = wg.scan(lambda carry, row: step(carry, images, labels, row), carry, index)
        return carry, losses[-1]

    return steps


def train(name: str, variant: str, folder: Path) -> Runner:
    training, data = TRAININGS[name], load_data(folder)
    step, first = training_step(name)
    carry = first()
    chunk = training.chunk if variant == "scan" else 1
    if variant == "scan":
        step = several_steps(step)
    if variant != "eager":
        step = wg.jit(step, donate=(0,))
    rows = batches(training, data, chunk)

    def advance(steps: int) -> Any:
        nonlocal carry
        for _ in range(steps // chunk):
            carry, loss = step(carry, data.images, data.labels, next(rows))
        return loss

    def restart() -> None:
        nonlocal carry
        carry = first()

    return Runner(advance, training.chunk, restart)


def chain(x: Any) -> Any:
    return np.sum(np.exp(-x * x) * np.sin(x) + np.sqrt(1 + x * x))


def loss(x: Any, y: Any) -> Any:
    return np.mean((np.tanh(x) - y) ** 2)


def logarithm(x1: Any, x2: Any) -> Any:
    return np.log(x1) + x1 * x2 - np.sin(x2)


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def gaussians(a: Any, x: Any) -> Any:
    factor = np.linalg.cholesky(a @ a.mT + np.eye(3))
    z = np.linalg.solve(factor, x[..., None])
    return 0.5 * np.sum(z**2) + np.sum(np.log(np.diagonal(factor, axis1=-2, axis2=-1)))


def kalman(noise: Any, y: Any, moves: Any, seen: Any) -> Any:
    def turn(carry: Any, y: Any) -> Any:
        mean, spread = carry
        mean, spread = moves @ mean, moves @ spread @ moves.T + noise[0] * np.eye(4)
        error, innovation = y - seen @ mean, seen @ spread @ seen.T + noise[1] * np.eye(2)
        gain = np.linalg.solve(innovation, seen @ spread).T
        score = error @ np.linalg.solve(innovation, error) + np.linalg.slogdet(innovation)[1]
        return (mean + gain @ error, spread - gain @ seen @ spread), score

    return 0.5 * np.sum(wg.scan(turn, (np.zeros(4), np.eye(4)), y)[1])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "matmul": np.matmul,
    "chain": chain,
    "loss": wg.value_and_grad(loss),
    "gradient-ln": wg.grad(logarithm, argnums=(0, 1)),
    "gradient-rosenbrock": wg.grad(rosenbrock),
    "hessian-rosenbrock": wg.hessian(rosenbrock),
    "hvp-rosenbrock": wg.hvp(rosenbrock),
    "gaussians": wg.value_and_grad(gaussians),
    "kalman": wg.value_and_grad(kalman),
}


def prepare(name: str, variant: str, threads: int, folder: Path) -> Runner:
    if hasattr(wg, "set_threads"):
        wg.set_threads(threads)
    if name in TRAININGS:
        return train(name, variant, folder)
    function = FUNCTIONS["matmul" if name.startswith("matmul") else name]
    return repeat(
        function if variant == "eager" else wg.jit(function), workload(name).arguments, lambda value: value
    )
