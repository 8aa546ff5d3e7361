"""PyTorch: eager, with channels last, and `torch.compile`; fused gradient descent; `nn.RNN` and `nn.LSTM`.

The variant ``reference`` computes in double precision, and is not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.shared import Shared
from harness.trainers.trainer import Trainer

_HEADS, _OF_BLOCK = 4, 14
"""The heads of the transformer, and the number of its arrays for each block."""


def cnn(torch: Any, weights: Sequence[Any], images: Any, memory_format: Any) -> Any:
    """Return the CNN's logits for images (examples, height, width)."""
    functional = torch.nn.functional
    w1, b1, w2, b2, w3, b3, w4, b4 = weights
    x = images[:, None].contiguous(memory_format=memory_format)
    x = functional.max_pool2d(functional.relu(functional.conv2d(x, w1, b1)), 2)
    x = functional.max_pool2d(functional.relu(functional.conv2d(x, w2, b2)), 2)
    return torch.addmm(b4, functional.relu(torch.addmm(b3, x.flatten(1), w3)), w4)


def rnn_cells(torch: Any, weights: Sequence[Any], images: Any) -> Any:
    """Return the tanh RNN's logits for images, row by row, as a loop over cells."""
    w, u, b, v, c = weights
    h = images.new_zeros(len(images), len(u))
    for projected in (images.transpose(0, 1) @ w + b).unbind():
        h = torch.tanh(torch.addmm(projected, h, u))
    return torch.addmm(c, h, v)


def lstm_cells(torch: Any, weights: Sequence[Any], images: Any) -> Any:
    """Return the LSTM's logits for images, row by row, as a loop over cells."""
    w, u, b, v, c = weights
    h = cell = images.new_zeros(len(images), len(u))
    for projected in (images.transpose(0, 1) @ w + b).unbind():
        i, f, g, o = torch.addmm(projected, h, u).chunk(4, 1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(cell)
    return torch.addmm(c, h, v)


def autoencoder(torch: Any, weights: Sequence[Any], pixels: Any) -> Any:
    """Return the autoencoder's output for pixels (examples, height x width)."""
    w1, b1, w2, b2, w3 = weights
    first = torch.sigmoid(torch.addmm(b1, pixels, w1))
    return torch.sigmoid(torch.sigmoid(torch.addmm(b2, first, w2)) @ w3)


def rotated(torch: Any, x: Any) -> Any:
    """Return (examples, heads, steps, size) with rotary positions."""
    half = x.shape[-1] // 2
    steps, turns = torch.arange(x.shape[-2], dtype=torch.float64), torch.arange(half, dtype=torch.float64)
    angles = steps[:, None] * 10_000.0 ** (-turns / half)
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], -1)


def gpt(torch: Any, weights: Sequence[Any], symbols: Any) -> Any:
    """Return the transformer's logits for symbols (examples, steps)."""
    functional, (embedding, *parts, norm, head) = torch.nn.functional, weights
    x, size = embedding[symbols], embedding.shape[1]
    for start in range(0, len(parts), _OF_BLOCK):
        before, wq, bq, wk, bk, wv, bv, wo, bo, after, w1, b1, w2, b2 = parts[start : start + _OF_BLOCK]
        y = functional.rms_norm(x, (size,), before, 1e-5)
        q, k, v = (
            (y @ w + b).unflatten(-1, (_HEADS, -1)).transpose(1, 2) for w, b in ((wq, bq), (wk, bk), (wv, bv))
        )
        q, k = rotated(torch, q), rotated(torch, k)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + y.transpose(1, 2).flatten(2) @ wo + bo
        y = functional.rms_norm(x, (size,), after, 1e-5)
        x = x + functional.gelu(y @ w1 + b1) @ w2 + b2
    return functional.rms_norm(x, (size,), norm, 1e-5) @ head


class TorchTrainer(Trainer):
    """A network in training, a step a call."""

    steps = 1

    def __init__(self, network: str, variant: str, threads: int, shared: Shared, steps: int) -> None:
        import torch  # pyright: ignore[reportMissingImports]

        self._torch: Any = torch
        self._torch.set_num_threads(threads)
        self._float = self._torch.float64 if variant == "reference" else self._torch.float32
        self._rate = shared.rate
        self._network, self._variant = network, variant
        self._images = self._torch.from_numpy(shared.images)
        self._labels = self._torch.from_numpy(shared.labels)
        self._module: Any = None
        self._forward: Callable[..., Any] = self._loss
        if variant == "compile":
            self._forward = self._torch.compile(self._loss, dynamic=False)

    @property
    def _memory(self) -> Any:
        return (
            self._torch.channels_last if self._variant == "channels_last" else self._torch.contiguous_format
        )

    def restart(self, weights: Sequence[Any]) -> None:
        """Start from these weights; compiled code keeps its references to the parameters."""
        if not hasattr(self, "_weights"):
            self._make(weights)
        with self._torch.no_grad():
            for parameter, weight in zip(self._arranged(), weights, strict=True):
                parameter.copy_(self._torch.from_numpy(np.asarray(weight)))

    def _make(self, weights: Sequence[Any]) -> None:
        """Make the parameters and the optimiser."""
        torch = self._torch
        shapes = [weight.shape for weight in weights]
        self._weights = [torch.zeros(shape, dtype=self._float) for shape in shapes]
        for number, weight in enumerate(self._weights):
            if weight.ndim == 4:
                self._weights[number] = weight.contiguous(memory_format=self._memory)
            self._weights[number].requires_grad_()
        updated = self._weights
        if self._network in ("rnn", "lstm") and self._variant == "eager":
            kind = {"rnn": torch.nn.RNN, "lstm": torch.nn.LSTM}[self._network]
            self._module = kind(shapes[0][0], shapes[1][0])
            torch.nn.init.zeros_(self._module.bias_hh_l0).requires_grad_(False)
            own = [p for p in self._module.parameters() if p.requires_grad]
            updated = [*own, *self._weights[3:]]
        self._optimiser = torch.optim.SGD(updated, self._rate, fused=True)

    def _arranged(self) -> list[Any]:
        """Return the parameters as views of the shapes that all libraries share."""
        if self._module is None:
            return self._weights
        module = self._module
        return [module.weight_ih_l0.T, module.weight_hh_l0.T, module.bias_ih_l0, *self._weights[3:]]

    def _scores(self, images: Any) -> Any:
        if self._network == "cnn":
            return cnn(self._torch, self._weights, (images / 255 - 0.1307) / 0.3081, self._memory)
        rows = images * (2 / 255)
        if self._module is not None:
            outputs, _ = self._module(rows.transpose(0, 1))
            return self._torch.addmm(self._weights[4], outputs[-1], self._weights[3])
        cells = {"rnn": rnn_cells, "lstm": lstm_cells}[self._network]
        return cells(self._torch, self._weights, rows)

    def _loss(self, index: Any) -> Any:
        if self._network == "gpt":
            pieces = self._images[index].long()
            logits = gpt(self._torch, self._weights, pieces[:, :-1])
            return self._torch.nn.functional.cross_entropy(logits.flatten(0, 1), pieces[:, 1:].flatten())
        images = self._images[index].to(self._float)
        if self._network == "autoencoder":
            pixels = images.flatten(1) / 255
            return (autoencoder(self._torch, self._weights, pixels) - pixels).square().sum() / len(pixels)
        return self._torch.nn.functional.cross_entropy(self._scores(images), self._labels[index])

    def call(self, index: Any) -> Any:
        self._optimiser.zero_grad(set_to_none=True)
        loss = self._forward(self._torch.from_numpy(index[0]))
        loss.backward()
        self._optimiser.step()
        return loss.detach().reshape(1)

    def weights(self) -> list[Any]:
        return [parameter.detach().contiguous().numpy() for parameter in self._arranged()]
