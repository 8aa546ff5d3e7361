"""The networks that `wengert train` knows: the papers' and three more."""

from __future__ import annotations

import numpy as np

from wengert import nn


def cnn(rng: np.random.Generator) -> nn.Chain:
    """Return the papers' CNN of seven layers: 3x3x6, pool, 3x3x16, pool, flatten, 84, 10."""
    return nn.Chain(
        nn.Conv2D(1, 6, 3, seed=rng),
        nn.relu,
        nn.MaxPool2D(2),
        nn.Conv2D(6, 16, 3, seed=rng),
        nn.relu,
        nn.MaxPool2D(2),
        nn.Flatten(),
        nn.Dense(400, 84, seed=rng, initialise=nn.he_uniform),
        nn.relu,
        nn.Dense(84, 10, seed=rng),
    )


def rnn(rng: np.random.Generator) -> nn.Chain:
    """Return the paper's tanh RNN over the rows of an image, hidden 64.

    The weights have Glorot's variance. Two choices keep tanh out of saturation at the paper's learning rate, where
    plain draws leave the accuracy to luck: the recurrent matrix is orthogonal, and the input weights start at a
    quarter.
    """
    small = nn.rescaled(nn.glorot_uniform, 0.25)
    layer = nn.RNN(28, 64, seed=rng, initialise=small, recurrent=nn.orthogonal)
    return nn.Chain(layer, nn.Dense(64, 10, seed=rng))


def lstm(rng: np.random.Generator) -> nn.Chain:
    """Return an LSTM over the rows of an image, hidden 64, and a layer that reads its last state."""
    return nn.Chain(nn.LSTM(28, 64, seed=rng), nn.Dense(64, 10, seed=rng))


def gru(rng: np.random.Generator) -> nn.Chain:
    """Return a GRU over the rows of an image, hidden 64, and a layer that reads its last state."""
    return nn.Chain(nn.GRU(28, 64, seed=rng), nn.Dense(64, 10, seed=rng))


def autoencoder(rng: np.random.Generator) -> nn.Chain:
    """Return the blog's sigmoid autoencoder 784-300-100-784, weights of deviation 0.1, no bias on the last layer."""
    drawn = nn.normal(0.1)
    return nn.Chain(
        nn.Dense(784, 300, seed=rng, initialise=drawn),
        nn.sigmoid,
        nn.Dense(300, 100, seed=rng, initialise=drawn),
        nn.sigmoid,
        nn.Dense(100, 784, seed=rng, initialise=drawn, bias=False),
        nn.sigmoid,
    )


def mlp(rng: np.random.Generator) -> nn.Chain:
    """Return a multilayer perceptron 784-256-256-10."""
    return nn.Chain(
        nn.Dense(784, 256, seed=rng, initialise=nn.he_uniform),
        nn.relu,
        nn.Dense(256, 256, seed=rng, initialise=nn.he_uniform),
        nn.relu,
        nn.Dense(256, 10, seed=rng),
    )
