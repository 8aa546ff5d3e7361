"""TensorFlow: a `tf.function` that loops over steps; images with channels last, sequences unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.shared import Shared
from harness.trainers.trainer import Trainer


def cnn(tf: Any, weights: Sequence[Any], images: Any) -> Any:
    """Return the CNN's logits for images (examples, height, width)."""
    w1, b1, w2, b2, w3, b3, w4, b4 = weights
    x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(images[..., None], w1, 1, "VALID") + b1), 2, 2, "VALID")
    x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, w2, 1, "VALID") + b2), 2, 2, "VALID")
    x = tf.reshape(tf.transpose(x, (0, 3, 1, 2)), (x.shape[0], -1))
    return tf.nn.relu(x @ w3 + b3) @ w4 + b4


def rnn(tf: Any, weights: Sequence[Any], images: Any) -> Any:
    """Return the tanh RNN's logits for images, row by row, unrolled."""
    w, u, b, v, c = weights
    h = tf.zeros((images.shape[0], u.shape[0]))
    for projected in _projected(tf, images, w, b):
        h = tf.tanh(projected + h @ u)
    return h @ v + c


def lstm(tf: Any, weights: Sequence[Any], images: Any) -> Any:
    """Return the LSTM's logits for images, row by row, unrolled."""
    w, u, b, v, c = weights
    h = cell = tf.zeros((images.shape[0], u.shape[0]))
    for projected in _projected(tf, images, w, b):
        i, f, g, o = tf.split(projected + h @ u, 4, axis=1)
        cell = tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(cell)
    return h @ v + c


def _projected(tf: Any, images: Any, w: Any, b: Any) -> list[Any]:
    """Return ``x_t w + b`` of each row, one product for all of them."""
    count, length, width = images.shape
    rows = tf.reshape(tf.transpose(images, (1, 0, 2)), (-1, width))
    return tf.unstack(tf.reshape(rows @ w + b, (length, count, -1)))


def autoencoder(tf: Any, weights: Sequence[Any], pixels: Any) -> Any:
    """Return the autoencoder's output for pixels (examples, height x width)."""
    w1, b1, w2, b2, w3 = weights
    return tf.sigmoid(tf.sigmoid(tf.sigmoid(pixels @ w1 + b1) @ w2 + b2) @ w3)


class TensorflowTrainer(Trainer):
    """A network in training."""

    def __init__(self, network: str, variant: str, threads: int, shared: Shared, steps: int) -> None:
        import tensorflow  # pyright: ignore[reportMissingImports, reportMissingModuleSource]

        self._tf: Any = tensorflow
        self._tf.config.threading.set_intra_op_parallelism_threads(threads)
        self._tf.config.threading.set_inter_op_parallelism_threads(threads)
        self._rate = shared.rate
        self._network, self.steps = network, steps
        self._images = self._tf.constant(shared.images)
        self._labels = self._tf.constant(shared.labels)
        self._run = self._tf.function(self._several)

    def restart(self, weights: Sequence[Any]) -> None:
        arrays = [np.transpose(w, (2, 3, 1, 0)) if w.ndim == 4 else w for w in weights]
        if not hasattr(self, "_weights"):
            self._weights = [self._tf.Variable(array) for array in arrays]
        for variable, array in zip(self._weights, arrays, strict=True):
            variable.assign(array)

    def _scores(self, images: Any) -> Any:
        if self._network == "cnn":
            return cnn(self._tf, self._weights, (images / 255 - 0.1307) / 0.3081)
        recurrent = {"rnn": rnn, "lstm": lstm}[self._network]
        return recurrent(self._tf, self._weights, images * (2 / 255))

    def _loss(self, index: Any) -> Any:
        tf = self._tf
        images = tf.cast(tf.gather(self._images, index), tf.float32)
        if self._network == "autoencoder":
            pixels = tf.reshape(images, (images.shape[0], -1)) / 255
            made = autoencoder(tf, self._weights, pixels)
            return tf.reduce_sum(tf.square(made - pixels)) / images.shape[0]
        labels, scores = tf.gather(self._labels, index), self._scores(images)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))

    def _several(self, index: Any) -> Any:
        tf, rate = self._tf, self._rate
        losses = tf.TensorArray(tf.float32, self.steps)
        for position in tf.range(self.steps):
            with tf.GradientTape() as tape:
                loss = self._loss(index[position])
            for variable, gradient in zip(self._weights, tape.gradient(loss, self._weights), strict=True):
                variable.assign_sub(rate * gradient)
            losses = losses.write(position, loss)
        return losses.stack()

    def call(self, index: Any) -> Any:
        return self._run(self._tf.constant(index))

    def weights(self) -> list[Any]:
        arrays = [variable.numpy() for variable in self._weights]
        return [np.transpose(array, (3, 2, 0, 1)) if array.ndim == 4 else array for array in arrays]
