"""TensorFlow: the training step as a `tf.function`, also compiled by XLA, also several steps in one call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import tensorflow as tf
from harness.trainers import tensorflow_trainer as networks
from workloads import ADAM, TRAININGS, initial_weights, load_data

from runners.runner import Runner, batches


def mlp(parameters: Any, x: Any) -> Any:
    w1, b1, w2, b2, w3, b3 = parameters
    x = tf.nn.relu(tf.reshape(x, (-1, 784)) @ w1 + b1)
    return tf.nn.relu(x @ w2 + b2) @ w3 + b3


def classification(network: Callable[..., Any]) -> Callable[..., Any]:
    def loss(parameters: Any, x: Any, labels: Any) -> Any:
        entropies = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, network(parameters, x))
        return tf.reduce_mean(entropies)

    return loss


def reconstruction(parameters: Any, x: Any, labels: Any) -> Any:
    x = tf.reshape(x, (-1, 784))
    return tf.reduce_sum(tf.square(networks.autoencoder(tf, parameters, x) - x)) / x.shape[0]


LOSSES: dict[str, Callable[..., Any]] = {
    **{
        network.__name__: classification(partial(network, tf))
        for network in (networks.cnn, networks.rnn, networks.lstm)
    },
    "mlp": classification(mlp),
    "autoencoder-1": reconstruction,
    "autoencoder-100": reconstruction,
}


def updater(name: str, variables: list[Any]) -> tuple[Callable[[Any], None], list[Any]]:
    """Return ``update(gradients)`` and the variables of the optimiser, which start at zero."""
    training = TRAININGS[name]

    def sgd(gradients: Any) -> None:
        for variable, gradient in zip(variables, gradients, strict=True):
            variable.assign_sub(training.rate * gradient)

    if training.optimiser == "sgd":
        return sgd, []
    beta1, beta2, epsilon = ADAM
    means, squares = ([tf.Variable(tf.zeros_like(v)) for v in variables] for _ in range(2))
    count = tf.Variable(0.0)

    def adam(gradients: Any) -> None:
        t = count.assign_add(1.0)
        scale, root = training.rate / (1 - beta1**t), tf.sqrt(1 - beta2**t)
        for p, m, s, g in zip(variables, means, squares, gradients, strict=True):
            mean = m.assign(beta1 * m + (1 - beta1) * g)
            square = s.assign(beta2 * s + (1 - beta2) * g * g)
            p.assign_sub(scale * mean / (tf.sqrt(square) / root + epsilon))

    return adam, [*means, *squares, count]


def prepare(name: str, variant: str, threads: int, folder: Path) -> Runner:
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    training, data = TRAININGS[name], load_data(folder)
    arrays = [array.transpose(2, 3, 1, 0) if array.ndim == 4 else array for array in initial_weights(name)]
    variables = [tf.Variable(array) for array in arrays]
    (update, state), loss_of = updater(name, variables), LOSSES[name]
    images, labels = tf.constant(data.images), tf.constant(data.labels)

    def single(index: Any) -> Any:
        x = tf.cast(tf.gather(images, index), tf.float32) * training.scale
        x = (x - training.shift) * training.stretch if training.shift else x
        with tf.GradientTape() as tape:
            loss = loss_of(variables, x, tf.gather(labels, index))
        update(tape.gradient(loss, variables))
        return loss

    def several(index: Any) -> Any:
        loss = tf.constant(0.0)
        for position in tf.range(training.chunk):
            loss = single(index[position])
        return loss

    chunk = training.chunk if "steps" in variant else 1
    step = tf.function(single if chunk == 1 else several, jit_compile="XLA" in variant)
    rows = batches(training, data, chunk)

    def advance(steps: int) -> Any:
        for _ in range(steps // chunk):
            loss = step(tf.constant(next(rows)))
        return float(loss)

    def restart() -> None:
        for variable, array in zip(variables, arrays, strict=True):
            variable.assign(array)
        for variable in state:
            variable.assign(tf.zeros_like(variable))

    return Runner(advance, training.chunk, restart)
