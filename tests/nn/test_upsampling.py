"""Upsampling against numbers of PyTorch, and by its properties."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert import nn
from wengert.engine.core.errors import ArgumentError, ShapeError
from wengert.testing import check_grads

CASES = {
    "upsample 1 nearest": (3, "nearest"),
    "upsample 2 nearest": ((2, 3), "nearest"),
    "upsample 1 linear": (3, "linear"),
    "upsample 2 linear": ((2, 3), "linear"),
    "upsample 3 linear": (2, "linear"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("transform", [lambda f: f, pytest.param(wg.jit, marks=pytest.mark.slow)])
def test_pytorchs_numbers(case, transform, numbers):
    def loss(x):
        y = nn.upsample(x, *CASES[case])
        return np.sum(np.sin(y)), y

    (_, y), gradient = transform(wg.value_and_grad(loss, has_aux=True))(numbers[f"{case}/x"])
    np.testing.assert_allclose(y, numbers[f"{case}/y"], atol=1e-14)
    np.testing.assert_allclose(gradient, numbers[f"{case}/x_gradient"], atol=1e-14)


@pytest.mark.parametrize("method", ["nearest", "linear"])
def test_means_and_constants_stay(method, rng):
    for _ in range(many(3)):
        rank = int(rng.integers(1, 4))
        shape, factors = tuple(rng.integers(1, 5, rank)), tuple(rng.integers(1, 4, rank))
        x = rng.standard_normal((2, 3, *shape)).astype("f4")
        y = nn.upsample(x, factors, method)
        assert y.shape == (2, 3, *np.multiply(shape, factors))
        assert y.dtype == np.float32
        np.testing.assert_allclose(y.mean(), x.mean(), rtol=1e-4, atol=1e-5)
        layer = (nn.Upsample1D, nn.Upsample2D, nn.Upsample3D)[rank - 1](factors, method)
        np.testing.assert_array_equal(layer(x), y)
        np.testing.assert_allclose(nn.upsample(np.ones_like(x), factors, method), 1)
        check_grads(lambda x, factors=factors: nn.upsample(x, factors, method), (x[:1, :1].astype("f8"),))


def test_invalid_arguments():
    with pytest.raises(ArgumentError, match="one of nearest, linear"):
        nn.upsample(np.ones((1, 1, 2)), 2, "cubic")
    with pytest.raises(ArgumentError, match="Upsample2D: the method"):
        nn.Upsample2D(2, "bilinear")
    with pytest.raises(ShapeError, match="factor must be 2 integers >= 1"):
        nn.Upsample2D((1, 2, 3))
    with pytest.raises(ShapeError, match="images must be"):
        nn.Upsample2D()(np.ones((1, 1, 2)))
