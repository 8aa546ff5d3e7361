"""JAX: `jax.jit` with donation; several steps in one `lax.scan`; recurrent networks scanned or unrolled."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness.trainers import jax_trainer as networks
from workloads import ADAM, TRAININGS, Training, initial_weights, load_data, workload

from runners.runner import Runner, batches, repeat

if len(os.sched_getaffinity(0)) == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular


def mlp(parameters: Any, x: Any) -> Any:
    w1, b1, w2, b2, w3, b3 = parameters
    x = jax.nn.relu(x.reshape(len(x), -1) @ w1 + b1)
    return jax.nn.relu(x @ w2 + b2) @ w3 + b3


def classification(network: Callable[..., Any]) -> Callable[..., Any]:
    def loss(parameters: Any, x: Any, labels: Any) -> Any:
        scores = jax.nn.log_softmax(network(parameters, x))
        return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], 1))

    return loss


def reconstruction(parameters: Any, x: Any, labels: Any) -> Any:
    x = x.reshape(len(x), -1)
    return jnp.sum((networks.autoencoder(jax, parameters, x) - x) ** 2) / len(x)


def loss_of(name: str, variant: str) -> Callable[..., Any]:
    unroll = 28 if "unrolled" in variant else 1
    if name == "cnn":
        return classification(partial(networks.cnn, jax, layout="NHWC" if "NHWC" in variant else "NCHW"))
    if name in ("rnn", "lstm"):
        recurrent = {"rnn": networks.rnn, "lstm": networks.lstm}[name]
        return classification(partial(recurrent, jax, unroll=unroll))
    return classification(mlp) if name == "mlp" else reconstruction


def update(training: Training, gradients: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
    tree, rate = jax.tree.map, training.rate
    if training.optimiser == "sgd":
        return tree(lambda p, g: p - rate * g, parameters, gradients), state
    (beta1, beta2, epsilon), (count, mean, square) = ADAM, state
    count = count + 1
    mean = tree(lambda m, g: beta1 * m + (1 - beta1) * g, mean, gradients)
    square = tree(lambda s, g: beta2 * s + (1 - beta2) * g * g, square, gradients)
    scale, root = rate / (1 - beta1**count), jnp.sqrt(1 - beta2**count)
    moved = tree(lambda p, m, s: p - scale * m / (jnp.sqrt(s) / root + epsilon), parameters, mean, square)
    return moved, (count, mean, square)


def training_step(name: str, variant: str) -> tuple[Callable[..., Any], Callable[[], Any]]:
    """Return ``step(carry, images, labels, index) -> (carry, loss)`` and a function that returns the first carry."""
    training, differentiate = TRAININGS[name], jax.value_and_grad(loss_of(name, variant))

    def step(carry: Any, images: Any, labels: Any, index: Any) -> tuple[Any, Any]:
        parameters, state = carry
        x = images[index].astype(jnp.float32) * training.scale
        x = (x - training.shift) * training.stretch if training.shift else x
        loss, gradients = differentiate(parameters, x, labels[index])
        return update(training, gradients, state, parameters), loss

    def first() -> Any:
        weights = list(map(jnp.array, initial_weights(name)))
        if training.optimiser == "sgd":
            return weights, ()
        means, squares = ([jnp.zeros_like(weight) for weight in weights] for _ in range(2))
        return weights, (jnp.zeros((), jnp.int32), means, squares)

    return step, first


def train(name: str, variant: str, folder: Path) -> Runner:
    training, data = TRAININGS[name], load_data(folder)
    single, first = training_step(name, variant)
    carry = first()
    chunk = training.chunk if "steps" in variant else 1

    def several(carry: Any, images: Any, labels: Any, index: Any) -> tuple[Any, Any]:
        carry, losses = lax.scan(lambda carry, row: single(carry, images, labels, row), carry, index)
        return carry, losses[-1]

    step = jax.jit(single if chunk == 1 else several, donate_argnums=0)
    images, labels = jnp.asarray(data.images), jnp.asarray(data.labels, jnp.int32)
    rows = batches(training, data._replace(order=data.order.astype(np.int32)), chunk)

    def advance(steps: int) -> Any:
        nonlocal carry
        for _ in range(steps // chunk):
            carry, loss = step(carry, images, labels, next(rows))
        jax.block_until_ready(carry)
        return float(loss)

    def restart() -> None:
        nonlocal carry
        carry = jax.block_until_ready(first())

    return Runner(advance, training.chunk, restart)


def chain(x: Any) -> Any:
    return jnp.sum(jnp.exp(-x * x) * jnp.sin(x) + jnp.sqrt(1 + x * x))


def loss(x: Any, y: Any) -> Any:
    return jnp.mean((jnp.tanh(x) - y) ** 2)


def logarithm(x1: Any, x2: Any) -> Any:
    return jnp.log(x1) + x1 * x2 - jnp.sin(x2)


def rosenbrock(x: Any) -> Any:
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def hvp(x: Any, v: Any) -> Any:
    return jax.jvp(jax.grad(rosenbrock), (x,), (v,))[1]


def gaussians(a: Any, x: Any) -> Any:
    factor = jnp.linalg.cholesky(a @ a.mT + jnp.eye(3))
    z = solve_triangular(factor, x[..., None], lower=True)
    return 0.5 * jnp.sum(z**2) + jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)))


def kalman(noise: Any, y: Any, moves: Any, seen: Any) -> Any:
    def turn(carry: Any, y: Any) -> Any:
        mean, spread = carry
        mean, spread = moves @ mean, moves @ spread @ moves.T + noise[0] * jnp.eye(4)
        error, innovation = y - seen @ mean, seen @ spread @ seen.T + noise[1] * jnp.eye(2)
        gain = jnp.linalg.solve(innovation, seen @ spread).T
        score = error @ jnp.linalg.solve(innovation, error) + jnp.linalg.slogdet(innovation)[1]
        return (mean + gain @ error, spread - gain @ seen @ spread), score

    return 0.5 * jnp.sum(lax.scan(turn, (jnp.zeros(4), jnp.eye(4)), y)[1])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "matmul": jnp.matmul,
    "chain": chain,
    "loss": jax.value_and_grad(loss),
    "gradient-ln": jax.grad(logarithm, argnums=(0, 1)),
    "gradient-rosenbrock": jax.grad(rosenbrock),
    "hessian-rosenbrock": jax.hessian(rosenbrock),
    "hvp-rosenbrock": hvp,
    "gaussians": jax.value_and_grad(gaussians),
    "kalman": jax.value_and_grad(kalman),
}


def prepare(name: str, variant: str, threads: int, folder: Path) -> Runner:
    if name in TRAININGS:
        return train(name, variant, folder)
    jax.config.update("jax_enable_x64", True)
    function = jax.jit(FUNCTIONS["matmul" if name.startswith("matmul") else name])
    arguments = workload(name).arguments
    if variant != "jit floats":  # otherwise Python's own numbers go in, as they do for the others
        arguments = tuple(map(jnp.asarray, arguments))
    return repeat(function, arguments, lambda value: jax.tree.map(np.asarray, jax.block_until_ready(value)))
