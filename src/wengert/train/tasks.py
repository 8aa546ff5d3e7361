"""The papers' networks with the papers' settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert import nn, optim
from wengert.errors import ArgumentError, message
from wengert.shapes import shape_of


class Settings(NamedTuple):
    """The settings of a run: what is needed to make it again."""

    task: str
    data: str
    epochs: int
    batch_size: int
    rate: float
    seed: int


class Task(NamedTuple):
    """A network, its loss, and the settings it is trained with by default."""

    name: str
    title: str
    build: Callable[[np.random.Generator], Any]
    """Makes the model, its weights drawn from the generator."""
    prepare: Callable[[Any], Any]
    """Makes the model's input from grey images, uint8 (examples, height, width)."""
    loss: Callable[[Any, Any, Any], tuple[Any, Any]]
    """``(model, inputs, labels) -> (loss, score)``; the score is a sum over the examples."""
    classifies: bool
    """Whether the score counts the labels that were right; otherwise it is the loss."""
    optimiser: Callable[[float], optim.Optimiser]
    epochs: int
    batch_size: int
    rate: float

    def settings(self, data: str, **chosen: Any) -> Settings:
        """Return the settings of a run: those given, and the task's own."""
        own: dict[str, Any] = {
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "rate": self.rate,
            "seed": 0,
        }
        given = {name: value for name, value in chosen.items() if value is not None}
        settings = Settings(self.name, data, **(own | given))
        if settings.epochs < 1 or settings.batch_size < 1 or not 0 < settings.rate < math.inf:
            got = f"epochs={settings.epochs}, batch_size={settings.batch_size}, rate={settings.rate}"
            requirement = "epochs, batch size and learning rate must be positive and finite"
            raise ArgumentError(message("train", requirement, got))
        return settings


def scaled(images: Any) -> Any:
    """Return grey images as float32 in [0, 1]."""
    return images.astype(np.float32) * np.float32(1 / 255)


def standardised(images: Any) -> Any:
    """Return (examples, 1, height, width) with MNIST's mean taken away, in units of its deviation."""
    return (scaled(images)[:, np.newaxis] - np.float32(0.1307)) * np.float32(1 / 0.3081)


def as_rows(images: Any) -> Any:
    """Return (examples, rows, columns) in [0, 2]."""
    return images.astype(np.float32) * np.float32(2 / 255)


def as_vectors(images: Any) -> Any:
    """Return (examples, height x width)."""
    return scaled(images).reshape(len(images), -1)


def classification_loss(model: Any, inputs: Any, labels: Any) -> tuple[Any, Any]:
    """Return the cross-entropy, and how many labels were right."""
    logits = model(inputs)
    return nn.softmax_cross_entropy(logits, labels), np.sum(np.argmax(logits, axis=1) == labels)


def reconstruction_loss(model: Any, inputs: Any, labels: Any) -> tuple[Any, Any]:
    """Return the squared error summed over a picture, as the mean over pictures and as a sum."""
    total = nn.sum_squared_error(model(inputs), inputs)
    return total / shape_of(inputs)[0], total


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


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            "cnn",
            "CNN of seven layers",
            cnn,
            standardised,
            classification_loss,
            True,
            optim.sgd,
            5,
            100,
            0.01,
        ),
        Task(
            "rnn",
            "tanh RNN over rows",
            rnn,
            as_rows,
            classification_loss,
            True,
            optim.sgd,
            5,
            100,
            0.015,
        ),
        Task(
            "autoencoder",
            "sigmoid autoencoder 784-300-100-784",
            autoencoder,
            as_vectors,
            reconstruction_loss,
            False,
            optim.sgd,
            4,
            1,
            0.02,
        ),
        Task(
            "mlp",
            "perceptron 784-256-256-10",
            mlp,
            as_vectors,
            classification_loss,
            True,
            optim.adam,
            5,
            128,
            1e-3,
        ),
    )
}
