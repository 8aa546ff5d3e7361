"""A printed model is a table of its layers that fits a screen."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tests.nn.layers import LAYERS
from wengert import nn
from wengert.engine.core import tree


@dataclasses.dataclass
class Pair:
    parts: Any

    def __call__(self, x: Any) -> Any:
        return self.parts["b"](self.parts["a"](x))


def test_layers_arrays_settings_and_parameters() -> None:
    inner = Pair({"a": nn.Dense(2, 3, seed=0), "b": nn.MaxPool2D(2, padding=1)})
    assert str(nn.Chain(inner, nn.relu, nn.Conv2D(1, 6, 5, seed=0, padding="same"))).splitlines() == [
        "layer                      arrays                            settings           parameters",
        "──────────────────────────────────────────────────────────────────────────────────────────",
        "Chain                                                                                  165",
        "  layers[0]: Pair                                                                        9",
        "    parts['a']: Dense      weight f32[2,3], bias f32[3]                                  9",
        "    parts['b']: MaxPool2D                                    size 2, padding 1",
        "  layers[1]: relu",
        "  layers[2]: Conv2D        weight f32[6,1,5,5], bias f32[6]  padding same              156",
        "──────────────────────────────────────────────────────────────────────────────────────────",
        "165 parameters, 660 bytes",
    ]


@pytest.mark.parametrize("name", LAYERS)
def test_each_layer_prints_its_parameters(name: str) -> None:
    layer = LAYERS[name][0]
    count = sum(np.size(leaf) for leaf in tree.leaves(layer))
    assert f"\n{count:,} parameters, {4 * count:,} bytes" in str(nn.Chain(layer))


def test_a_large_model_fits_a_screen() -> None:
    text = str(nn.Transformer(7, 8, 2, 12, seed=0))
    assert len(text.splitlines()) <= 40
    assert "blocks[11]: TransformerBlock" in text
    assert text.endswith("108 inner layers")
