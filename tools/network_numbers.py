"""Compute the results of small networks in PyTorch and Keras, for tests/nn (needs torch 2.13 and keras 3).

    python tools/network_numbers.py tests/nn/numbers.npz

The normal tests read the file and import neither.
"""

from __future__ import annotations

import json
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
    """Store arrays under the name of a case."""
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


CONVOLUTIONS: list[tuple[int, list[int], dict[str, Any]]] = [
    (1, [2, 4, 9], {"size": 3, "stride": 2, "padding": 1, "groups": 2}),
    (1, [2, 4, 8], {"size": 4, "padding": "same", "dilation": 2}),
    (2, [2, 2, 6, 7], {"size": [3, 2], "stride": [1, 2], "padding": [0, 1], "dilation": [2, 1]}),
    (2, [1, 4, 5, 6], {"size": [2, 3], "padding": "same", "groups": 4}),
    (3, [1, 2, 4, 5, 4], {"size": [2, 3, 1], "stride": [2, 1, 1], "padding": [1, 0, 1]}),
]
TRANSPOSED: list[tuple[int, list[int], dict[str, Any]]] = [
    (1, [2, 4, 5], {"size": 3, "stride": 3, "padding": 1, "groups": 2, "output_padding": 2}),
    (2, [2, 2, 3, 4], {"size": [3, 2], "stride": [2, 1], "padding": [1, 0], "dilation": [1, 2]}),
    (2, [1, 4, 3, 3], {"size": 2, "stride": 2, "output_padding": 1, "groups": 4}),
    (3, [1, 2, 2, 3, 2], {"size": [2, 3, 1], "stride": [2, 1, 2], "output_padding": [1, 0, 1]}),
]
POOLS: list[tuple[str, list[int], dict[str, Any]]] = [
    ("AvgPool1d", [2, 3, 9], {"size": 3, "stride": 2, "padding": 1}),
    ("AvgPool2d", [2, 3, 7, 6], {"size": [3, 2], "stride": [2, 1], "padding": [1, 1], "count_border": False}),
    ("AvgPool3d", [1, 2, 4, 5, 4], {"size": [2, 3, 2]}),
    ("MaxPool1d", [2, 3, 9], {"size": 3, "stride": 2, "padding": 1}),
    ("MaxPool2d", [2, 3, 7, 6], {"size": [3, 2], "stride": [2, 1]}),
    ("MaxPool3d", [1, 2, 4, 5, 4], {"size": 2}),
    ("AdaptiveAvgPool1d", [2, 3, 7], {"size": 3}),
    ("AdaptiveAvgPool2d", [2, 3, 6, 5], {"size": [3, 2]}),
    ("AdaptiveAvgPool3d", [1, 2, 4, 5, 3], {"size": [3, 2, 4]}),
    ("AdaptiveMaxPool1d", [2, 3, 7], {"size": 3}),
    ("AdaptiveMaxPool2d", [2, 3, 6, 5], {"size": [3, 2]}),
    ("AdaptiveMaxPool3d", [1, 2, 4, 5, 3], {"size": [3, 2, 4]}),
]


def layer(case: str, kind: str, shape: list[int], settings: dict[str, Any], *counts: int) -> None:
    """Run a layer on a drawn input; the loss is sum sin(y)."""
    size = "output_size" if kind.startswith("Adaptive") else "kernel_size"
    given = {"size": size, "count_border": "count_include_pad"}
    options = {
        given.get(name, name): tuple(value) if isinstance(value, list) else value
        for name, value in settings.items()
    }
    module, x = getattr(torch.nn, kind)(*counts, **options), draw(*shape)
    y = module(x)
    torch.sin(y).sum().backward()
    keep_gradients(case, x=x, **dict(module.named_parameters()))
    keep(case, y=y, kind=kind, settings=json.dumps(settings))


def convolutions() -> None:
    """Run the layers of filters, from as many channels as there are to twice as many, and the pools."""
    for number, (rank, shape, settings) in enumerate(CONVOLUTIONS):
        layer(f"convolution {number}", f"Conv{rank}d", shape, settings, shape[1], 2 * shape[1])
    for number, (rank, shape, settings) in enumerate(TRANSPOSED):
        layer(f"transposed {number}", f"ConvTranspose{rank}d", shape, settings, shape[1], 2 * shape[1])
    for number, (kind, shape, settings) in enumerate(POOLS):
        layer(f"pool {number}", kind, shape, settings)


def normalisation() -> None:
    """Run layers that normalise, with drawn weights; the loss is sum sin(y)."""
    cases: list[tuple[str, Any, list[int]]] = [
        ("layer norm", torch.nn.LayerNorm([3, 4]), [5, 3, 4]),
        ("group norm", torch.nn.GroupNorm(2, 4), [3, 4, 2, 3]),
        ("batch norm 0", torch.nn.BatchNorm1d(3), [6, 3]),
        ("batch norm 1", torch.nn.BatchNorm2d(3, momentum=0.3), [2, 3, 3, 2]),
    ]
    for case, module, shape in cases:
        for parameter in module.parameters():
            parameter.data = torch.randn(*parameter.shape)
        x = draw(*shape)
        y = module(x)
        torch.sin(y).sum().backward()
        keep_gradients(case, x=x, **dict(module.named_parameters()))
        keep(case, y=y)
        if case.startswith("batch"):
            module.eval()
            keep(case, later=module(x), mean=module.running_mean, variance=module.running_var)


def attention() -> None:
    """Run attention of 4 heads with a mask, from a sequence to itself and to another; the loss is sum sin(y)."""
    for case, extents in (("self attention", None), ("cross attention", (3, 7))):
        options = {"kdim": extents[0], "vdim": extents[1]} if extents else {}
        module = torch.nn.MultiheadAttention(8, 4, batch_first=True, **options)
        for parameter in module.parameters():
            parameter.data = torch.randn(*parameter.shape)
        x = draw(2, 5, 8)
        keys, values = (draw(2, 4, width) for width in extents) if extents else (x, x)
        allowed = torch.rand(2, 5, keys.shape[1]) < 0.7
        allowed[:, :, 0] = True
        mask = ~allowed.repeat_interleave(4, dim=0)
        y, _ = module(x, keys, values, attn_mask=mask, need_weights=False)
        torch.sin(y).sum().backward()
        keep_gradients(case, x=x, **({"keys": keys, "values": values} if extents else {}))
        keep_gradients(case, **dict(module.named_parameters()))
        keep(case, y=y, allowed=allowed)


def losses() -> None:
    """Compute losses with class weights, labels that are left out, smoothing and lengths, and their gradients."""
    torch.manual_seed(1)
    functional = torch.nn.functional
    logits, labels, weights = draw(3, 4, 5), torch.randint(0, 5, (3, 4)), torch.rand(5)
    labels[0, 1] = labels[2, 3] = -100
    loss = functional.cross_entropy(logits.permute(0, 2, 1), labels, weight=weights, label_smoothing=0.2)
    loss.backward()
    keep_gradients("softmax cross entropy", logits=logits)
    keep("softmax cross entropy", labels=labels, weights=weights, loss=loss)
    logits, labels, weights = draw(3, 4), torch.rand(3, 4), torch.rand(4)
    loss = functional.binary_cross_entropy_with_logits(logits, labels, pos_weight=weights)
    loss.backward()
    keep_gradients("sigmoid cross entropy", logits=logits)
    keep("sigmoid cross entropy", labels=labels, weights=weights, loss=loss)
    x, y = draw(3, 4), torch.randn(3, 4)
    loss = functional.huber_loss(x, y, delta=0.7)
    loss.backward()
    keep_gradients("huber", x=x)
    keep("huber", y=y, loss=loss)
    logits, targets = draw(3, 4), torch.softmax(torch.randn(3, 4), 1)
    loss = functional.kl_div(torch.log_softmax(logits, 1), targets, reduction="batchmean")
    loss.backward()
    keep_gradients("kl", logits=logits)
    keep("kl", targets=targets, loss=loss)
    logits, labels = draw(4, 9, 5), torch.tensor([[1, 1, 2, 4], [3, 0, 0, 0], [2, 3, 2, 0], [0, 0, 0, 0]])
    times, counts = torch.tensor([9, 4, 6, 3]), torch.tensor([4, 1, 3, 0])
    log_p = torch.log_softmax(logits, 2).transpose(0, 1)
    loss = functional.ctc_loss(log_p, labels, times, counts, reduction="none")
    loss.mean().backward()
    keep_gradients("ctc", logits=logits)
    keep("ctc", labels=labels, times=times, counts=counts, losses=loss)


def modern() -> None:
    """Run upsampling and the normalisation by the mean square; the loss is sum sin(y)."""
    torch.manual_seed(2)
    for case, shape, factor, mode in (
        ("upsample 1 nearest", (2, 3, 5), 3, "nearest"),
        ("upsample 2 nearest", (2, 3, 4, 5), (2, 3), "nearest"),
        ("upsample 1 linear", (2, 3, 5), 3, "linear"),
        ("upsample 2 linear", (2, 3, 4, 5), (2, 3), "bilinear"),
        ("upsample 3 linear", (1, 2, 3, 2, 3), 2, "trilinear"),
    ):
        x = draw(*shape)
        y = torch.nn.functional.interpolate(x, scale_factor=factor, mode=mode)
        torch.sin(y).sum().backward()
        keep_gradients(case, x=x)
        keep(case, y=y)
    module, x = torch.nn.RMSNorm(6, eps=1e-5), draw(3, 6)
    module.weight.data = torch.randn(6)
    y = module(x)
    torch.sin(y).sum().backward()
    keep_gradients("rms norm", x=x, weight=module.weight)
    keep("rms norm", y=y)


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
    convolutions()
    normalisation()
    attention()
    losses()
    modern()
    np.savez_compressed(path, **NUMBERS)


if __name__ == "__main__":
    main(*sys.argv[1:])
