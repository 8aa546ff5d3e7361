"""Layers are containers of arrays that every transform takes."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, ShapeError
from wengert.testing import check_grads


def float64(model):
    return tree.map_tree(lambda leaf: leaf.astype(np.float64), model)


def test_dense_is_affine(rng):
    layer = nn.Dense(3, 2, seed=0)
    x = rng.standard_normal((4, 3)).astype("f4")
    np.testing.assert_allclose(layer(x), x @ layer.weight + layer.bias, rtol=1e-6)
    assert nn.Dense(3, 2, seed=0, bias=False).bias is None
    assert layer(x).dtype == np.float32


def test_the_same_seed_gives_the_same_weights():
    same = [nn.Dense(3, 2, seed=5).weight for _ in range(2)]
    np.testing.assert_array_equal(*same)
    rng = np.random.default_rng(5)
    assert not np.array_equal(nn.Dense(3, 2, seed=rng).weight, nn.Dense(3, 2, seed=rng).weight)


@pytest.mark.parametrize(
    ("initialise", "variance"),
    [
        (nn.glorot_uniform, 2 / 1000),
        (nn.glorot_normal, 2 / 1000),
        (nn.he_uniform, 2 / 400),
        (nn.he_normal, 2 / 400),
        (nn.normal(0.1), 0.01),
        (nn.rescaled(nn.normal(0.1), 0.5), 0.0025),
        (nn.zeros, 0.0),
    ],
)
def test_initialisers_have_their_variance(initialise, variance):
    drawn = initialise(0, (400, 600), 400, 600)
    assert drawn.dtype == np.float32
    assert abs(drawn.mean()) < 1e-3
    assert np.isclose(drawn.var(), variance, rtol=0.02)
    np.testing.assert_array_equal(drawn, initialise(np.random.default_rng(0), (400, 600), 400, 600))


def test_orthogonal_matrices():
    u = nn.orthogonal(0, (50, 50), 50, 50)
    np.testing.assert_allclose(u @ u.T, np.eye(50), atol=1e-5)
    assert np.isclose(u.var(), 2 / 100, rtol=0.1)
    assert abs(np.mean([np.trace(nn.orthogonal(seed, (4, 4), 4, 4)) for seed in range(300)])) < 0.2, "uniform"
    with pytest.raises(ShapeError, match="square"):
        nn.orthogonal(0, (2, 3), 2, 3)


@pytest.mark.parametrize("seed", [None, -1, 1.5, "seed"])
def test_a_seed_is_an_integer_or_a_generator(seed):
    with pytest.raises(ArgumentError, match=r"explicit seed is needed; .*give an integer"):
        nn.Dense(3, 2, seed=seed)


def papers_cnn(seed=0):
    rng = np.random.default_rng(seed)
    return nn.Chain(
        nn.Conv2D(1, 2, 3, seed=rng),
        nn.relu,
        nn.MaxPool2D(2),
        nn.Flatten(),
        nn.Dense(18, 4, seed=rng),
        np.tanh,
    )


def test_a_gradient_is_a_model(rng):
    model, x = papers_cnn(), rng.standard_normal((3, 1, 8, 8)).astype("f4")
    value, gradient = wg.value_and_grad(lambda m: np.sum(m(x) ** 2))(model)
    assert isinstance(gradient, nn.Chain)
    assert gradient.layers[0].weight.shape == (2, 1, 3, 3)
    assert all(leaf.dtype == np.float32 for leaf in tree.leaves(gradient))
    moved = tree.map_tree(lambda p, g: p - 0.01 * g, model, gradient)
    assert np.sum(moved(x) ** 2) < value


def test_derivatives_of_a_chain(rng):
    x = rng.standard_normal((2, 1, 8, 8))
    check_grads(lambda m: np.sum(m(x)), (float64(papers_cnn()),), order=2)


def test_models_under_vmap(rng):
    models = [nn.Dense(3, 2, seed=seed) for seed in range(4)]
    stacked = tree.map_tree(lambda *leaves: np.stack(leaves), *models)
    x = rng.standard_normal((5, 3)).astype("f4")
    actual = wg.vmap(lambda model: model(x))(stacked)
    np.testing.assert_allclose(actual, np.stack([model(x) for model in models]), rtol=1e-6)


def test_average_pool_layer_and_slicing_a_chain():
    chain = nn.Chain(nn.AvgPool2D(2), nn.Flatten())
    assert chain(np.ones((1, 1, 4, 4))).tolist() == [[1, 1, 1, 1]]
    assert len(chain[:1]) == 1
    assert isinstance(chain[1], nn.Flatten)


def test_chains_in_chains(rng):
    inner = nn.Chain(nn.Dense(3, 4, seed=0), nn.relu)
    chain = nn.Chain(inner, nn.Dense(4, 2, seed=1), abs)
    x = rng.standard_normal((5, 3)).astype("f4")
    np.testing.assert_array_equal(chain(x), abs(chain[1](inner(x))))
    assert chain[0] is inner
    assert isinstance(chain[-1], nn.Lambda)
    assert len(chain[1:]) == 2
    np.testing.assert_array_equal(nn.Chain()(x), x)


def test_flatten_keeps_the_examples():
    assert nn.Flatten()(np.ones((0, 3, 4))).shape == (0, 12)
    assert nn.Flatten()(np.ones((2, 0, 4))).shape == (2, 0)
    assert nn.Flatten()(np.ones(5)).shape == (5, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Conv2D(3, 4, 3, seed=0, groups=2), "groups must divide"),
        (lambda: nn.Conv2D(3, 4, 3, seed=0, groups=0), "Conv2D: channels, filters and groups must be"),
        (lambda: nn.Conv2D(1, 4, (3, 0), seed=0), "Conv2D: size must be 2 integers >= 1"),
        (lambda: nn.Conv2D(1, 4, (3, 3, 3), seed=0), "Conv2D: size must be 2 integers >= 1"),
        (lambda: nn.Dense(0, 4, seed=0), "Dense: inputs and outputs must be"),
        (lambda: nn.Dense(4, 2.0, seed=0), "Dense: inputs and outputs must be"),
        (lambda: nn.RNN(4, -1, seed=0), "RNN: inputs and hidden must be"),
        (lambda: nn.Chain([nn.relu]), r"Chain\(\*layers\)"),
        (lambda: nn.Chain(nn.Flatten), r"Flatten\(\) for Flatten"),
        (lambda: nn.Chain(3), "layers and functions are needed; got 3"),
    ],
)
def test_invalid_layers(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("layer", "shape", "message"),
    [
        (nn.Dense(3, 2, seed=0), (5, 4), r"Dense: the input must be \(\.\.\., 3\); got f64\[5,4\]"),
        (nn.Dense(3, 2, seed=0), (), "Dense: the input"),
        (nn.RNN(3, 2, seed=0), (5, 3), r"RNN: the input must be \(examples, steps, 3\)"),
        (nn.RNN(3, 2, seed=0), (5, 7, 4), "RNN: the input"),
        (nn.Conv2D(3, 2, 3, seed=0), (5, 2, 8, 8), r"Conv2D: images must be \(examples, 3, height, width\)"),
        (nn.Conv3D(3, 2, 3, seed=0), (5, 3, 8, 8), r"Conv3D: images must be \(.*depth, height, width\)"),
        (nn.MaxPool2D(2), (8, 8), "MaxPool2D: images"),
        (nn.AvgPool2D(2), (8, 8), "AvgPool2D: images"),
        (nn.Flatten(), (), "Flatten: the input"),
    ],
)
def test_inputs_that_do_not_fit(layer, shape, message):
    x = np.zeros(shape)
    with pytest.raises(ShapeError, match=message):
        layer(x)
    with pytest.raises(ShapeError, match=message):
        wg.grad(lambda x: np.sum(layer(x)))(x)


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "elu", "sigmoid", "tanh", "silu", "gelu", "softplus"])
def test_activations(name, rng):
    activation = getattr(nn, name)
    check_grads(activation, (rng.uniform(-3, 3, 20),), order=2)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        large = np.array([-1e4, 1e4])
        assert np.all(np.isfinite(activation(large)))
        assert np.all(np.isfinite(wg.vmap(wg.grad(activation))(large)))
    assert activation(np.ones(2, "f4")).dtype == np.float32
    with np.errstate(invalid="ignore"):
        assert np.isnan(activation(np.array([np.nan]))).all(), "NaN must stay NaN"


def test_relu_at_zero():
    assert wg.grad(nn.relu)(0.0) == 0.0
    assert wg.jvp(nn.relu, (0.0,), (1.0,))[1] == 0.0
