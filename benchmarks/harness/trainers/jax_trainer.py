"""JAX: `jax.jit` of a step, or of a scan over steps, the weights donated; convolutions with channels last."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.shared import Shared
from harness.trainers.trainer import Trainer

_UNROLL = {"rnn": 28, "lstm": 1}
"""Steps of a sequence in one iteration of the loop: the fastest number."""


def cnn(jax: Any, weights: Sequence[Any], images: Any, layout: str = "NHWC") -> Any:
    """Return the CNN's logits for images (examples, height, width), with channels last or NCHW."""
    w1, b1, w2, b2, w3, b3, w4, b4 = weights
    last = layout == "NHWC"

    def convolved(x: Any, w: Any, b: Any) -> Any:
        y = jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=(layout, "OIHW", layout))
        return jax.nn.relu(y + (b if last else b[:, None, None]))

    def pooled(x: Any) -> Any:
        """Pool by a maximum over axes, whose derivative is fast; the derivative of reduce_window is a scatter."""
        n, *sizes = x.shape
        if last:
            height, width, channels = sizes
            x = x[:, : height // 2 * 2, : width // 2 * 2]
            return x.reshape(n, height // 2, 2, width // 2, 2, channels).max((2, 4))
        channels, height, width = sizes
        x = x[:, :, : height // 2 * 2, : width // 2 * 2]
        return x.reshape(n, channels, height // 2, 2, width // 2, 2).max((3, 5))

    x = pooled(convolved(images[..., None] if last else images[:, None], w1, b1))
    x = pooled(convolved(x, w2, b2))
    x = x.transpose(0, 3, 1, 2) if last else x
    return jax.nn.relu(x.reshape(len(x), -1) @ w3 + b3) @ w4 + b4


def rnn(jax: Any, weights: Sequence[Any], images: Any, unroll: int) -> Any:
    """Return the tanh RNN's logits for images, row by row."""
    w, u, b, v, c = weights

    def step(h: Any, projected: Any) -> tuple[Any, None]:
        return jax.numpy.tanh(projected + h @ u), None

    rows = jax.numpy.swapaxes(images @ w + b, 0, 1)
    h, _ = jax.lax.scan(step, jax.numpy.zeros((len(images), len(u))), rows, unroll=unroll)
    return h @ v + c


def lstm(jax: Any, weights: Sequence[Any], images: Any, unroll: int) -> Any:
    """Return the LSTM's logits for images, row by row."""
    w, u, b, v, c = weights

    def step(state: Any, projected: Any) -> tuple[Any, None]:
        h, cell = state
        i, f, g, o = jax.numpy.split(projected + h @ u, 4, axis=1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jax.numpy.tanh(g)
        return (jax.nn.sigmoid(o) * jax.numpy.tanh(cell), cell), None

    zero = jax.numpy.zeros((len(images), len(u)))
    rows = jax.numpy.swapaxes(images @ w + b, 0, 1)
    (h, _), _ = jax.lax.scan(step, (zero, zero), rows, unroll=unroll)
    return h @ v + c


def autoencoder(jax: Any, weights: Sequence[Any], pixels: Any) -> Any:
    """Return the autoencoder's output for pixels (examples, height x width)."""
    w1, b1, w2, b2, w3 = weights
    sigmoid = jax.nn.sigmoid
    return sigmoid(sigmoid(sigmoid(pixels @ w1 + b1) @ w2 + b2) @ w3)


class JaxTrainer(Trainer):
    """A network in training."""

    def __init__(self, network: str, variant: str, threads: int, shared: Shared, steps: int) -> None:
        if threads == 1:
            os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
        import jax  # pyright: ignore[reportMissingImports]

        self._jax: Any = jax
        self._np: Any = self._jax.numpy
        self._rate = shared.rate
        self._network = network
        self.steps = steps if variant == "scan" else 1
        self._images = self._np.asarray(shared.images)
        self._labels = self._np.asarray(shared.labels, self._np.int32)
        run = self._scanned if variant == "scan" else self._step
        self._run = self._jax.jit(run, donate_argnums=0)

    def restart(self, weights: Sequence[Any]) -> None:
        self._weights = [self._np.array(weight) for weight in weights]

    def _scores(self, weights: Sequence[Any], images: Any) -> Any:
        if self._network == "cnn":
            return cnn(self._jax, weights, (images / 255 - 0.1307) / 0.3081)
        recurrent = {"rnn": rnn, "lstm": lstm}[self._network]
        return recurrent(self._jax, weights, images * (2 / 255), _UNROLL[self._network])

    def _loss(self, weights: Sequence[Any], index: Any, images: Any, labels: Any) -> Any:
        chosen = images[index].astype(self._np.float32)
        if self._network == "autoencoder":
            pixels = chosen.reshape(len(chosen), -1) / 255
            return self._np.sum((autoencoder(self._jax, weights, pixels) - pixels) ** 2) / len(pixels)
        scores = self._jax.nn.log_softmax(self._scores(weights, chosen))
        return -self._np.mean(self._np.take_along_axis(scores, labels[index][:, None], 1))

    def _step(self, weights: Any, images: Any, labels: Any, index: Any) -> tuple[Any, Any]:
        loss, gradients = self._jax.value_and_grad(self._loss)(weights, index, images, labels)
        rate = self._rate
        return self._jax.tree.map(lambda p, g: p - rate * g, weights, gradients), loss

    def _scanned(self, weights: Any, images: Any, labels: Any, index: Any) -> tuple[Any, Any]:
        return self._jax.lax.scan(lambda w, rows: self._step(w, images, labels, rows), weights, index)

    def call(self, index: Any) -> Any:
        rows = index.astype(np.int32)
        rows = rows if self.steps > 1 else rows[0]
        self._weights, losses = self._run(self._weights, self._images, self._labels, rows)
        return losses

    def wait(self) -> None:
        self._jax.block_until_ready(self._weights)

    def weights(self) -> list[Any]:
        return list(map(np.asarray, self._weights))
