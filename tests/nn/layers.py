"""Each layer of `nn`, with the shape of an input: what all layers have in common is tested over this table."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from wengert import nn

VECTORS, SEQUENCES, ROW, IMAGES, VOLUMES = (4, 6), (2, 5, 4), (2, 4, 9), (2, 4, 8, 6), (1, 2, 4, 5, 4)
SYMBOLS = 7


@dataclasses.dataclass
class Step:
    """A step of a recurrent cell, from a state that is a part of the input."""

    cell: Any

    def __call__(self, x: Any) -> Any:
        return self.cell(x, (x[:, : self.cell.hidden],) * self.cell.parts)[0]


#: One layer or more of each class, whose name is the first word.
LAYERS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "Dense": (nn.Dense(6, 3, seed=0), VECTORS),
    "Dense without bias": (nn.Dense(6, 3, seed=0, bias=False), VECTORS),
    "Embedding": (nn.Embedding(SYMBOLS, 3, seed=0), (2, 4)),
    "Embedding padded": (nn.Embedding(SYMBOLS, 3, seed=0, padding=0), (2, 4)),
    "Flatten": (nn.Flatten(), IMAGES),
    "Lambda": (nn.Lambda(np.sinh), VECTORS),
    "Chain": (nn.Chain(nn.Conv2D(4, 3, 3, seed=0), nn.relu, nn.MaxPool2D(2), nn.Flatten()), IMAGES),
    "Conv1D": (nn.Conv1D(4, 6, 3, seed=0, stride=2, padding=1, groups=2), ROW),
    "Conv2D": (nn.Conv2D(4, 3, 3, seed=0), IMAGES),
    "Conv2D strided": (nn.Conv2D(4, 6, (3, 2), seed=0, stride=(2, 1), padding=1, dilation=(1, 2)), IMAGES),
    "Conv2D depthwise": (nn.Conv2D(4, 8, 3, seed=0, padding="same", groups=4), IMAGES),
    "Conv2D of patches": (nn.Conv2D(4, 5, 2, seed=0, stride=2), IMAGES),
    "Conv3D": (nn.Conv3D(2, 3, 2, seed=0), VOLUMES),
    "ConvTranspose1D": (nn.ConvTranspose1D(4, 6, 3, seed=0, stride=2, groups=2), ROW),
    "ConvTranspose2D": (nn.ConvTranspose2D(4, 3, 3, seed=0, stride=2, padding=1, output_padding=1), IMAGES),
    "ConvTranspose3D": (nn.ConvTranspose3D(2, 3, 2, seed=0, dilation=2), VOLUMES),
    "MaxPool1D": (nn.MaxPool1D(3, stride=2), ROW),
    "MaxPool2D": (nn.MaxPool2D(2), IMAGES),
    "MaxPool2D padded": (nn.MaxPool2D(3, stride=2, padding=1), IMAGES),
    "MaxPool3D": (nn.MaxPool3D(2), VOLUMES),
    "AvgPool1D": (nn.AvgPool1D(3), ROW),
    "AvgPool2D": (nn.AvgPool2D(3, stride=2, padding=1), IMAGES),
    "AvgPool3D": (nn.AvgPool3D(2, stride=1), VOLUMES),
    "AdaptiveMaxPool1D": (nn.AdaptiveMaxPool1D(4), ROW),
    "AdaptiveMaxPool2D": (nn.AdaptiveMaxPool2D((4, 3)), IMAGES),
    "AdaptiveMaxPool3D": (nn.AdaptiveMaxPool3D(2), VOLUMES),
    "AdaptiveAvgPool1D": (nn.AdaptiveAvgPool1D(4), ROW),
    "AdaptiveAvgPool2D": (nn.AdaptiveAvgPool2D(1), IMAGES),
    "AdaptiveAvgPool3D": (nn.AdaptiveAvgPool3D(3), VOLUMES),
    "LayerNorm": (nn.LayerNorm(6), VECTORS),
    "RMSNorm": (nn.RMSNorm(6), VECTORS),
    "GroupNorm": (nn.GroupNorm(2, 4), IMAGES),
    "BatchNorm": (nn.BatchNorm(4), IMAGES),
    "Upsample1D": (nn.Upsample1D(3, "linear"), ROW),
    "Upsample2D": (nn.Upsample2D((1, 2)), IMAGES),
    "Upsample2D linear": (nn.Upsample2D((2, 3), "linear"), IMAGES),
    "Upsample3D": (nn.Upsample3D(2), VOLUMES),
    "Dropout": (nn.Dropout(0.4), VECTORS),
    "RNN": (nn.RNN(4, 3, seed=0), SEQUENCES),
    "LSTM": (nn.LSTM(4, 3, seed=0, layers=2, sequence=True, bidirectional=True), SEQUENCES),
    "GRU": (nn.GRU(4, 3, seed=0, layers=2), SEQUENCES),
    "GRU in parts": (nn.GRU(4, 3, seed=0, truncate=2, checkpoint=3), SEQUENCES),
    "RNNCell": (Step(nn.RNNCell(6, 3, seed=0)), VECTORS),
    "LSTMCell": (Step(nn.LSTMCell(6, 3, seed=0)), VECTORS),
    "GRUCell": (Step(nn.GRUCell(6, 3, seed=0)), VECTORS),
    "MultiHeadAttention": (nn.MultiHeadAttention(4, 2, seed=0), SEQUENCES),
    "MultiHeadAttention causal": (nn.MultiHeadAttention(4, 2, seed=0, causal=True), SEQUENCES),
    "MultiHeadAttention rotary": (nn.MultiHeadAttention(4, 2, seed=0, rotary=100.0), SEQUENCES),
    "TransformerBlock": (nn.TransformerBlock(4, 2, seed=0), SEQUENCES),
    "TransformerBlock in training": (
        nn.TransformerBlock(4, 2, seed=0, dropout=0.2, causal=False, norm=nn.LayerNorm, bias=False),
        SEQUENCES,
    ),
    "Transformer": (nn.Transformer(SYMBOLS, 4, 2, 2, seed=0, dropout=0.2), (2, 4)),
}
OF_SYMBOLS = ("Embedding", "Transformer")


def input_of(name: str, seed: int = 0) -> Any:
    """Draw an input: numbers, or symbols."""
    shape, draw = LAYERS[name][1], np.random.default_rng(seed)
    return draw.integers(0, SYMBOLS, shape) if name.split()[0] in OF_SYMBOLS else draw.normal(size=shape)
