"""Compute what PyTorch and Keras give for small networks, for tests/nn (needs torch 2.13 and keras 3).

    python tools/network_numbers.py tests/nn/numbers.npz

The normal tests read the file and import neither.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import tensorflow as tf
import torch

NUMBERS: dict[str, Any] = {}


def keep(case: str, **arrays: Any) -> None:
    """Keep arrays under the name of a case."""
    for name, array in arrays.items():
        NUMBERS[f"{case}/{name}"] = array.detach().numpy() if isinstance(array, torch.Tensor) else array


def keep_gradients(case: str, **tensors: torch.Tensor) -> None:
    """Keep tensors and their gradients."""
    for name, tensor in tensors.items():
        keep(case, **{name: tensor, f"{name}_gradient": tensor.grad})


def draw(*shape: int) -> torch.Tensor:
    """Draw normal numbers whose gradient is kept."""
    return torch.randn(*shape, requires_grad=True)


def recurrent(case: str, kind: str, layers: int, bidirectional: bool, lengths: list[int] | None) -> None:
    """Run 3 sequences of 5 steps from drawn states; the loss is sum sin(y) + sum cos(h) + 2 sum cos(c)."""
    module = getattr(torch.nn, kind)(3, 4, num_layers=layers, bidirectional=bidirectional, batch_first=True)
    x, count = draw(3, 5, 3), layers * (2 if bidirectional else 1)
    states = [draw(count, 3, 4) for _ in range(2 if kind == "LSTM" else 1)]
    given = tuple(states) if kind == "LSTM" else states[0]
    packed = x
    if lengths is not None:
        sizes = torch.tensor(lengths)
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, sizes, batch_first=True, enforce_sorted=False)
    y, last = module(packed, given)
    if lengths is not None:
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=5)
    ends = last if kind == "LSTM" else (last,)
    loss = torch.sin(y).sum() + sum((n + 1) * torch.cos(end).sum() for n, end in enumerate(ends))
    loss.backward()
    keep_gradients(case, x=x, **{f"start{n}": state for n, state in enumerate(states)})
    keep(case, y=y, **{f"end{n}": end for n, end in enumerate(ends)})
    for number in range(count):
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            layer, backward = divmod(number, 2) if bidirectional else (number, 0)
            parameter = getattr(module, f"{name}_l{layer}{'_reverse' * backward}")
            keep_gradients(case, **{f"{name}{number}": parameter})


def keras_gru(case: str) -> None:
    """Run Keras' unit whose reset gate acts before the product; the loss is sum sin(y)."""
    layer = keras.layers.GRU(4, reset_after=False, return_sequences=True, dtype="float64")
    x = tf.Variable(np.random.default_rng(0).standard_normal((3, 5, 3)))
    layer.build(x.shape)
    layer.set_weights([np.random.default_rng(1).standard_normal(weight.shape) for weight in layer.weights])
    with tf.GradientTape() as tape:
        y = layer(x)
        loss = tf.reduce_sum(tf.sin(y))
    gradients = tape.gradient(loss, [x, *layer.trainable_weights])
    names = ("x", "kernel", "recurrent_kernel", "bias")
    for name, value, gradient in zip(names, [x, *layer.trainable_weights], gradients, strict=True):
        keep(case, **{name: np.asarray(value), f"{name}_gradient": np.asarray(gradient)})
    keep(case, y=y.numpy())


def main(path: str) -> None:
    """Compute all cases and write them to a file."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    recurrent("rnn", "RNN", 1, False, None)
    recurrent("lstm", "LSTM", 1, False, None)
    recurrent("gru", "GRU", 1, False, None)
    recurrent("rnn both ways", "RNN", 1, True, [1, 4, 5])
    recurrent("lstm deep", "LSTM", 2, True, [5, 2, 3])
    recurrent("gru deep", "GRU", 2, True, [3, 5, 1])
    keras_gru("keras gru")
    np.savez_compressed(path, **NUMBERS)


if __name__ == "__main__":
    main(*sys.argv[1:])
