"""Layers of filters against numbers of PyTorch."""

from __future__ import annotations

import json

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.engine.core.errors import ArgumentError, ShapeError

CASES = [*(f"convolution {number}" for number in range(5)), *(f"transposed {number}" for number in range(4))]


@pytest.mark.parametrize("case", CASES)
def test_pytorchs_numbers(case, numbers):
    of = lambda name: numbers[f"{case}/{name}"]  # noqa: E731
    x, channels = of("x"), of("x").shape[1]
    make = getattr(nn, f"{str(of('kind'))[:-1]}D")
    layer = make(channels, 2 * channels, seed=0, **json.loads(str(of("settings"))))
    assert layer.weight.shape == of("weight").shape
    layer.weight, layer.bias = of("weight"), of("bias")
    np.testing.assert_allclose(layer(x), of("y"), atol=1e-12)
    differentiate = wg.grad(lambda layer, x: np.sum(np.sin(layer(x))), argnums=(0, 1))
    for run in (differentiate, wg.jit(differentiate)):
        of_layer, of_x = run(layer, x)
        np.testing.assert_allclose(of_x, of("x_gradient"), atol=1e-12)
        np.testing.assert_allclose(of_layer.weight, of("weight_gradient"), atol=1e-12)
        np.testing.assert_allclose(of_layer.bias, of("bias_gradient"), atol=1e-12)


def test_same_padding_keeps_or_divides_and_multiplies():
    x = np.ones((1, 3, 9, 6), "f4")
    assert nn.Conv2D(3, 4, (3, 4), padding="same", seed=0)(x).shape == (1, 4, 9, 6)
    assert nn.Conv2D(3, 4, 3, stride=2, padding="same", seed=0)(x).shape == (1, 4, 5, 3)
    for size in (1, 2, 3, 5):
        assert nn.ConvTranspose2D(3, 4, size, stride=2, padding="same", seed=0)(x).shape == (1, 4, 18, 12)


def test_the_number_of_channels_must_be_that_of_the_layer():
    x = np.ones((2, 3, 9, 6), "f4")
    for layer in (nn.Conv2D(4, 2, 3, groups=2, seed=0), nn.ConvTranspose2D(4, 2, 3, groups=2, seed=0)):
        message = (
            rf"^{type(layer).__name__}: images must be \(examples, 4, height, width\); got f32\[2,3,9,6\]"
        )
        with pytest.raises(ShapeError, match=message):
            layer(x)


def test_groups_must_divide():
    with pytest.raises(ArgumentError, match="ConvTranspose1D: groups must divide"):
        nn.ConvTranspose1D(4, 3, 2, groups=2, seed=0)
    assert nn.Conv3D(2, 4, 1, groups=2, bias=False, seed=0).bias is None
