"""State in, state out: dropout, batches, and chains of layers that have a state."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn, optim, random
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError

KEY = random.key(7)


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.9, 1.0])
def test_dropout_keeps_the_mean(rate):
    x = np.full((400, 500), 2.0, "f4")
    y = nn.dropout(x, rate, KEY)
    assert y.dtype == np.float32
    assert abs(np.mean(y == 0) - rate) < 0.005
    if rate < 1:
        np.testing.assert_allclose(y[y != 0], 2 / (1 - rate), rtol=1e-6)
        assert abs(np.mean(y) - 2) < 0.06
    np.testing.assert_array_equal(wg.jit(lambda x, key: nn.dropout(x, rate, key))(x, KEY), y)


def test_dropout_is_linear_with_the_same_elements(rng):
    x = rng.standard_normal((20, 30))
    kept = nn.dropout(np.ones_like(x), 0.4, KEY)
    np.testing.assert_allclose(nn.dropout(x, 0.4, KEY), kept * x)
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(nn.dropout(x, 0.4, KEY)))(x), kept)
    assert not np.array_equal(nn.dropout(np.ones_like(x), 0.4, random.key(8)), kept)
    both = wg.vmap(lambda key: nn.dropout(x, 0.4, key))(random.split(KEY, 2))
    assert not np.array_equal(*both)
    np.testing.assert_array_equal(both[1], nn.dropout(x, 0.4, random.split(KEY, 2)[1]))


def test_dropout_of_channels():
    y = nn.dropout(np.ones((8, 16, 3, 3)), 0.5, KEY, shared=(2, -1))
    assert 0.3 < np.mean(y == 0) < 0.7
    np.testing.assert_array_equal(y, np.broadcast_to(y[..., :1, :1], y.shape))


def test_infinite_elements_are_dropped():
    y = nn.dropout(np.full(100, np.inf), 0.5, KEY)
    assert set(y) == {0.0, np.inf}


def test_errors_of_dropout():
    with pytest.raises(ArgumentError, match=r"rate must lie in \[0, 1\]; got 1.5"):
        nn.Dropout(1.5)
    with pytest.raises(ArgumentError, match=r"training needs a key; .*nn.apply"):
        nn.apply(nn.Chain(nn.Dropout(0.5)), np.ones(3), None, training=True)


def network():
    rng = np.random.default_rng(0)
    inner = nn.Chain(nn.Dense(8, 8, seed=rng), nn.BatchNorm(8), np.tanh)
    return nn.Chain(nn.Dense(4, 8, seed=rng), inner, nn.Dropout(0.2), nn.Dense(8, 2, seed=rng))


def test_a_chain_has_the_states_of_its_layers(rng):
    model, x = network(), rng.standard_normal((6, 4)).astype("f4")
    state = nn.initial_state(model)
    assert [leaf is None for leaf in state] == [True, False, True, True]
    y, after = model.apply(x, state, training=True, key=KEY)
    assert y.shape == (6, 2)
    assert tree.flatten(after)[1] == tree.flatten(state)[1]
    assert not np.array_equal(after[1][1].mean, state[1][1].mean)
    again, kept = nn.apply(model, x, after)
    np.testing.assert_array_equal(model.apply(x, after)[0], again)
    assert all(leaf is other for leaf, other in zip(tree.leaves(kept), tree.leaves(after), strict=True))
    with pytest.raises(ArgumentError, match="running mean and variance are needed"):
        model(x)
    with pytest.raises(ArgumentError, match="state must be a tuple of 4"):
        model.apply(x, state[:2])


def test_plain_layers_need_no_state(rng):
    model, x = nn.Chain(nn.Dense(4, 3, seed=0), nn.relu, nn.Dropout(0.5)), rng.standard_normal((5, 4))
    assert nn.initial_state(model) is None
    y, state = nn.apply(model, x, None)
    assert state is None
    np.testing.assert_array_equal(model(x), y)
    np.testing.assert_array_equal(nn.apply(np.tanh, x, None)[0], np.tanh(x))


def test_each_layer_draws_its_own_numbers():
    model, x = nn.Chain(nn.Dropout(0.5), nn.Dropout(0.5)), np.ones(1000)
    y, _ = model.apply(x, training=True, key=KEY)
    assert abs(np.mean(y == 0) - 0.75) < 0.05
    np.testing.assert_array_equal(y, model.apply(x, training=True, key=KEY)[0])


def test_a_training_step_compiles(rng):
    """One compiled step takes weights, optimiser, statistics and key, and the loss falls."""
    model, x = network(), rng.standard_normal((32, 4)).astype("f4")
    labels = (x[:, 0] * x[:, 1] > 0).astype(int)
    optimiser = optim.adam(0.02)

    def loss(model, state, x, labels, key):
        logits, state = model.apply(x, state, training=True, key=key)
        return nn.softmax_cross_entropy(logits, labels), state

    def step(carry, x, labels):
        model, state, memory, key = carry
        key, now = random.split(key)
        (value, state), gradient = wg.value_and_grad(loss, has_aux=True)(model, state, x, labels, now)
        model, memory = optimiser.update(gradient, memory, model)
        return (model, state, memory, key), value

    start = (model, nn.initial_state(model), optimiser.init(model), KEY)
    fast, carry, slow = wg.jit(step), start, start
    losses = []
    for number in range(60):
        carry, value = fast(carry, x, labels)
        losses.append(value)
        if number < 3:
            slow, expected = step(slow, x, labels)
            np.testing.assert_allclose(value, expected, rtol=1e-4)
    assert losses[-1] < 0.6 * losses[0]


@dataclasses.dataclass
class Residual:
    """A user's layer that contains a layer with a state."""

    inner: Any

    def initial_state(self):
        return nn.initial_state(self.inner)

    def apply(self, x, state, *, training=False, key=None):
        y, state = nn.apply(self.inner, x, state, training=training, key=key)
        return x + y, state

    def __call__(self, x):
        return x + self.inner(x)


def test_a_users_layer(rng):
    model = nn.Chain(Residual(nn.BatchNorm(4)), nn.relu)
    state = nn.initial_state(model)
    assert isinstance(state[0], nn.BatchNormState)
    _, after = model.apply(rng.standard_normal((5, 4)), state, training=True)
    assert np.any(after[0].mean)
