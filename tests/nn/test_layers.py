"""Layers are containers of arrays that every transform takes."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import nn, tree
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
    ],
)
def test_initialisers_have_their_variance(initialise, variance):
    drawn = initialise(0, (400, 600), 400, 600)
    assert drawn.dtype == np.float32
    assert abs(drawn.mean()) < 1e-3
    assert np.isclose(drawn.var(), variance, rtol=0.02)


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


def test_rnn_is_its_recurrence(rng):
    layer = float64(nn.RNN(3, 4, seed=0))
    x = rng.standard_normal((2, 5, 3))
    h = np.zeros((2, 4))
    states = []
    for t in range(5):
        h = np.tanh(x[:, t] @ layer.input_weight + h @ layer.hidden_weight + layer.bias)
        states.append(h)
    np.testing.assert_allclose(layer(x), h)
    layer.sequence = True
    np.testing.assert_allclose(layer(x), np.stack(states, 1))
    check_grads(lambda m, x: np.sum(np.sin(m(x))), (layer, x), order=2)


def test_models_under_vmap(rng):
    models = [nn.Dense(3, 2, seed=seed) for seed in range(4)]
    stacked = tree.map_tree(lambda *leaves: np.stack(leaves), *models)
    x = rng.standard_normal((5, 3)).astype("f4")
    found = wg.vmap(lambda model: model(x))(stacked)
    np.testing.assert_allclose(found, np.stack([model(x) for model in models]), rtol=1e-6)


def test_average_pool_layer_and_slicing_a_chain():
    chain = nn.Chain(nn.AvgPool2D(2), nn.Flatten())
    assert chain(np.ones((1, 1, 4, 4))).tolist() == [[1, 1, 1, 1]]
    assert len(chain[:1]) == 1
    assert isinstance(chain[1], nn.Flatten)


def test_groups_must_divide():
    with pytest.raises(ValueError, match="groups must divide"):
        nn.Conv2D(3, 4, 3, seed=0, groups=2)


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "elu", "sigmoid", "tanh", "silu", "gelu", "softplus"])
def test_activations(name, rng):
    activation = getattr(nn, name)
    check_grads(activation, (rng.uniform(-3, 3, 20),), order=2)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        large = np.array([-1e4, 1e4])
        assert np.all(np.isfinite(activation(large)))
        assert np.all(np.isfinite(wg.vmap(wg.grad(activation))(large)))
    assert activation(np.ones(2, "f4")).dtype == np.float32


def test_relu_at_zero():
    assert wg.grad(nn.relu)(0.0) == 0.0
    assert wg.jvp(nn.relu, (0.0,), (1.0,))[1] == 0.0
