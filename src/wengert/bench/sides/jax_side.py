"""JAX: `jax.jit` of a step, or of a scan over steps, the weights donated; convolutions with channels last."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.bench.shared import Shared

_UNROLL = {"rnn": 28, "lstm": 1}
"""Steps of a sequence that a turn of the loop takes: what was fastest."""


class JaxSide:
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
        """Start from these weights."""
        self._weights = [self._np.array(weight) for weight in weights]

    def _convolved(self, x: Any, w: Any, b: Any) -> Any:
        """Return a convolution, relu and pooling: a maximum over axes, whose derivative is fast."""
        forms = ("NHWC", "OIHW", "NHWC")
        y = self._jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=forms)
        n, height, width, channels = y.shape
        y = self._jax.nn.relu(y + b)[:, : height // 2 * 2, : width // 2 * 2]
        return y.reshape(n, height // 2, 2, width // 2, 2, channels).max((2, 4))

    def _cnn(self, weights: Sequence[Any], images: Any) -> Any:
        w1, b1, w2, b2, w3, b3, w4, b4 = weights
        x = ((images / 255 - 0.1307) / 0.3081)[..., None]
        x = self._convolved(self._convolved(x, w1, b1), w2, b2).transpose(0, 3, 1, 2)
        return self._jax.nn.relu(x.reshape(len(x), -1) @ w3 + b3) @ w4 + b4

    def _recurrent(self, weights: Sequence[Any], images: Any) -> Any:
        (w, u, b, v, c), np_, jax = weights, self._np, self._jax

        def rnn(state: Any, projected: Any) -> tuple[Any, None]:
            return (np_.tanh(projected + state[0] @ u),), None

        def lstm(state: Any, projected: Any) -> tuple[Any, None]:
            h, cell = state
            i, f, g, o = np_.split(projected + h @ u, 4, axis=1)
            cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * np_.tanh(g)
            return (jax.nn.sigmoid(o) * np_.tanh(cell), cell), None

        zero = np_.zeros((len(images), len(u)))
        step, start = (rnn, (zero,)) if self._network == "rnn" else (lstm, (zero, zero))
        rows = np_.swapaxes(images * (2 / 255) @ w + b, 0, 1)
        last, _ = jax.lax.scan(step, start, rows, unroll=_UNROLL[self._network])
        return last[0] @ v + c

    def _autoencoder(self, weights: Sequence[Any], pixels: Any) -> Any:
        w1, b1, w2, b2, w3 = weights
        sigmoid = self._jax.nn.sigmoid
        return sigmoid(sigmoid(sigmoid(pixels @ w1 + b1) @ w2 + b2) @ w3)

    def _loss(self, weights: Sequence[Any], index: Any, images: Any, labels: Any) -> Any:
        chosen = images[index].astype(self._np.float32)
        if self._network == "autoencoder":
            pixels = chosen.reshape(len(chosen), -1) / 255
            return self._np.sum((self._autoencoder(weights, pixels) - pixels) ** 2) / len(pixels)
        network = self._cnn if self._network == "cnn" else self._recurrent
        scores = self._jax.nn.log_softmax(network(weights, chosen))
        return -self._np.mean(self._np.take_along_axis(scores, labels[index][:, None], 1))

    def _step(self, weights: Any, images: Any, labels: Any, index: Any) -> tuple[Any, Any]:
        loss, gradients = self._jax.value_and_grad(self._loss)(weights, index, images, labels)
        rate = self._rate
        return self._jax.tree.map(lambda p, g: p - rate * g, weights, gradients), loss

    def _scanned(self, weights: Any, images: Any, labels: Any, index: Any) -> tuple[Any, Any]:
        return self._jax.lax.scan(lambda w, rows: self._step(w, images, labels, rows), weights, index)

    def call(self, index: Any) -> Any:
        """Carry out some steps and return their losses, which may not be there yet."""
        rows = index.astype(np.int32)
        rows = rows if self.steps > 1 else rows[0]
        self._weights, losses = self._run(self._weights, self._images, self._labels, rows)
        return losses

    def wait(self) -> None:
        """Return when all is there."""
        self._jax.block_until_ready(self._weights)

    def weights(self) -> list[Any]:
        """Return the weights as they are now."""
        return list(map(np.asarray, self._weights))
