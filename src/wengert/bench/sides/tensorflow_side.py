"""TensorFlow: a `tf.function` that loops over steps; images with channels last, sequences unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.bench.shared import Shared


class TensorflowSide:
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
        """Start from these weights."""
        arrays = [np.transpose(w, (2, 3, 1, 0)) if w.ndim == 4 else w for w in weights]
        if not hasattr(self, "_weights"):
            self._weights = [self._tf.Variable(array) for array in arrays]
        for variable, array in zip(self._weights, arrays, strict=True):
            variable.assign(array)

    def _cnn(self, images: Any) -> Any:
        tf = self._tf
        w1, b1, w2, b2, w3, b3, w4, b4 = self._weights
        x = ((images / 255 - 0.1307) / 0.3081)[..., None]
        x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, w1, 1, "VALID") + b1), 2, 2, "VALID")
        x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, w2, 1, "VALID") + b2), 2, 2, "VALID")
        x = tf.reshape(tf.transpose(x, (0, 3, 1, 2)), (x.shape[0], -1))
        return tf.nn.relu(x @ w3 + b3) @ w4 + b4

    def _recurrent(self, images: Any) -> Any:
        tf = self._tf
        w, u, b, v, c = self._weights
        count, length, width = images.shape
        rows = tf.reshape(tf.transpose(images * (2 / 255), (1, 0, 2)), (-1, width))
        h = cell = tf.zeros((count, u.shape[0]))
        for projected in tf.unstack(tf.reshape(rows @ w + b, (length, count, -1))):
            if self._network == "rnn":
                h = tf.tanh(projected + h @ u)
            else:
                i, f, g, o = tf.split(projected + h @ u, 4, axis=1)
                cell = tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(g)
                h = tf.sigmoid(o) * tf.tanh(cell)
        return h @ v + c

    def _loss(self, index: Any) -> Any:
        tf = self._tf
        images = tf.cast(tf.gather(self._images, index), tf.float32)
        if self._network == "autoencoder":
            w1, b1, w2, b2, w3 = self._weights
            pixels = tf.reshape(images, (images.shape[0], -1)) / 255
            hidden = tf.sigmoid(tf.sigmoid(pixels @ w1 + b1) @ w2 + b2)
            return tf.reduce_sum(tf.square(tf.sigmoid(hidden @ w3) - pixels)) / images.shape[0]
        scores = self._cnn(images) if self._network == "cnn" else self._recurrent(images)
        labels = tf.gather(self._labels, index)
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
        """Carry out some steps and return their losses."""
        return self._run(self._tf.constant(index))

    def wait(self) -> None:
        """Return: on a processor a call has done all when it returns."""

    def weights(self) -> list[Any]:
        """Return the weights as they are now."""
        arrays = [variable.numpy() for variable in self._weights]
        return [np.transpose(array, (3, 2, 0, 1)) if array.ndim == 4 else array for array in arrays]
