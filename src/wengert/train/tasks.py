"""Tasks: a network, its preprocessing, its loss, and the settings it is trained with by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert import nn, optim
from wengert.data.texts import SYMBOLS
from wengert.engine.core.shapes import shape_of
from wengert.train.settings import OPTIONS, Descent, Settings, SettingsError, check_value, with_steps

# -- preprocessing and augmentation ----------------------------------------------------------------------


def scaled(images: Any) -> Any:
    """Return grey images as float32 in [0, 1]."""
    return images.astype(np.float32) * np.float32(1 / 255)


def standardised(images: Any) -> Any:
    """Return images standardised by MNIST's mean and standard deviation.

    Args:
        images: uint8 (examples, height, width).

    Returns:
        float32 (examples, 1, height, width).

    Example:
        >>> standardised(np.full((1, 28, 28), 255, np.uint8)).max().round(3)
        np.float32(2.821)
    """
    return (scaled(images)[:, np.newaxis] - np.float32(0.1307)) * np.float32(1 / 0.3081)


def as_rows(images: Any) -> Any:
    """Return images as sequences of rows, in [0, 2].

    Args:
        images: uint8 (examples, height, width).

    Returns:
        float32 (examples, rows, columns).

    Example:
        >>> float(as_rows(np.full((1, 28, 28), 255, np.uint8)).max())
        2.0
    """
    return images.astype(np.float32) * np.float32(2 / 255)


def as_vectors(images: Any) -> Any:
    """Return images as vectors, in [0, 1].

    Args:
        images: uint8 (examples, height, width).

    Returns:
        float32 (examples, height x width).

    Example:
        >>> as_vectors(np.zeros((2, 28, 28), np.uint8)).shape
        (2, 784)
    """
    return scaled(images).reshape(len(images), -1)


class Variation(NamedTuple):
    """A data augmentation, drawn anew for every example in every step.

    Example:
        >>> brighter = Variation(
        ...     lambda rng, examples: rng.random((examples, 1, 1)),
        ...     lambda images, numbers: np.minimum(images + 9 * numbers, 255).astype(np.uint8),
        ... )
        >>> brighter.apply(np.zeros((1, 1, 2), np.uint8), np.ones((1, 1, 1))).tolist()
        [[[9, 9]]]
    """

    draw: Callable[[np.random.Generator, int], Any]
    """``(generator, examples) -> numbers (examples, ...)`` for one step."""
    apply: Callable[[Any, Any], Any]
    """``(images, numbers) -> images``, uint8; it is compiled with the step."""


def shifts(most: int) -> Variation:
    """Return the variation that shifts each image by up to ``most`` pixels along both axes and fills in zeros.

    Args:
        most: the largest shift, in pixels.

    Returns:
        The variation, for `Task.vary`.

    Example:
        >>> move = shifts(1)
        >>> image = np.array([[[1, 2], [3, 4]]], np.uint8)
        >>> move.apply(image, np.array([[0, 2]])).tolist()
        [[[0, 0], [2, 0]]]
    """

    def draw(rng: np.random.Generator, examples: int) -> Any:
        return rng.integers(0, 2 * most + 1, (examples, 2))

    def apply(images: Any, corners: Any) -> Any:
        count, height, width = shape_of(images)
        padded = np.pad(images, ((0, 0), (most, most), (most, most)))
        rows = corners[:, :1] + np.arange(height)
        columns = corners[:, 1:] + np.arange(width)
        return padded[np.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]]

    return Variation(draw, apply)


def by_keys(function: Callable[[Any, Any], Any]) -> Variation:
    """Return the variation by a function of a random key and the images of a step, such as `wengert.data.augment`'s.

    Args:
        function: ``(key, images) -> images``; it is compiled with the step.

    Returns:
        The variation, for `Task.vary`.

    Example:
        >>> from wengert.data.augment import flip
        >>> mirror = by_keys(lambda key, images: flip(key, images, probability=1.0))
        >>> numbers = mirror.draw(np.random.default_rng(0), 1)
        >>> mirror.apply(np.array([[[1, 2]]], np.uint8), numbers).tolist()
        [[[2, 1]]]
    """

    def draw(rng: np.random.Generator, examples: int) -> Any:
        return rng.integers(0, 2**64, examples, np.uint64)

    return Variation(draw, lambda images, numbers: function(numbers[0], images))


# -- losses ----------------------------------------------------------------------------------------------


def classification_loss(model: Any, inputs: Any, labels: Any) -> tuple[Any, Any]:
    """Return the cross-entropy, and the number of correct labels.

    Args:
        model: a function of the inputs that returns logits (examples, classes).
        inputs: the inputs.
        labels: class numbers (examples,); or weights (examples, classes), which hold each example's weight at its
            class. Weights count in the score, too.

    Returns:
        The mean loss over the examples, and the number (or weight) of the correct ones.

    Example:
        >>> logits = np.array([[2.0, 0.0], [3.0, 0.0]])
        >>> loss, correct = classification_loss(lambda x: x, logits, np.array([0, 1]))
        >>> float(loss.round(3)), int(correct)
        (1.588, 1)
    """
    logits = model(inputs)
    loss, guesses = nn.softmax_cross_entropy(logits, labels), np.argmax(logits, axis=1)
    if len(shape := shape_of(labels)) == 2:
        return loss, np.sum(labels[np.arange(shape[0]), guesses])
    return loss, np.sum(guesses == labels)


def reconstruction_loss(model: Any, inputs: Any, labels: Any) -> tuple[Any, Any]:
    """Return the squared error of reconstructions.

    Args:
        model: a function of the inputs.
        inputs: pictures as vectors, (examples, ...).
        labels: not used.

    Returns:
        The mean over the pictures, and the sum.

    Example:
        >>> loss, total = reconstruction_loss(lambda x: x + 1, np.zeros((2, 3)), None)
        >>> float(loss), float(total)
        (3.0, 6.0)
    """
    total = nn.sum_squared_error(model(inputs), inputs)
    return total / shape_of(inputs)[0], total


def language_loss(model: Any, inputs: Any, labels: Any) -> tuple[Any, Any]:
    """Return the cross-entropy of the next symbols of a text.

    Args:
        model: a function of symbols (examples, steps) that returns logits (examples, steps, symbols).
        inputs: pieces of a text, integers (examples, steps + 1).
        labels: not used.

    Returns:
        The mean over the symbols but the first of each piece, and this times the number of pieces.

    Example:
        >>> loss, total = language_loss(lambda x: np.zeros((*x.shape, 4)), np.array([[3, 1, 2]]), None)
        >>> round(float(loss), 4), round(float(total), 4)
        (1.3863, 1.3863)
    """
    loss = nn.softmax_cross_entropy(model(inputs[:, :-1]), inputs[:, 1:])
    return loss, loss * shape_of(inputs)[0]


# -- networks --------------------------------------------------------------------------------------------


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
    plain draws make the accuracy depend on the seed: the recurrent matrix is orthogonal, and the input weights are
    scaled by a quarter.
    """
    small = nn.rescaled(nn.glorot_uniform, 0.25)
    layer = nn.RNN(28, 64, seed=rng, initialise=small, recurrent=nn.orthogonal)
    return nn.Chain(layer, nn.Dense(64, 10, seed=rng))


def lstm(rng: np.random.Generator) -> nn.Chain:
    """Return an LSTM over the rows of an image, hidden 64, with a dense layer on its last state."""
    return nn.Chain(nn.LSTM(28, 64, seed=rng), nn.Dense(64, 10, seed=rng))


def gru(rng: np.random.Generator) -> nn.Chain:
    """Return a GRU over the rows of an image, hidden 64, with a dense layer on its last state."""
    return nn.Chain(nn.GRU(28, 64, seed=rng), nn.Dense(64, 10, seed=rng))


def autoencoder(rng: np.random.Generator) -> nn.Chain:
    """Return the blog's sigmoid autoencoder 784-300-100-784; weights of deviation 0.1, no bias in the last layer."""
    normal = nn.normal(0.1)
    return nn.Chain(
        nn.Dense(784, 300, seed=rng, initialise=normal),
        nn.sigmoid,
        nn.Dense(300, 100, seed=rng, initialise=normal),
        nn.sigmoid,
        nn.Dense(100, 784, seed=rng, initialise=normal, bias=False),
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


def gpt(rng: np.random.Generator) -> nn.Transformer:
    """Return a language model of bytes: two blocks of width 64 with four heads."""
    return nn.Transformer(SYMBOLS, 64, heads=4, layers=2, seed=rng)


def _unchanged(pieces: Any) -> Any:
    return pieces


# -- tasks -----------------------------------------------------------------------------------------------


class Task(NamedTuple):
    """A network, its loss, and the settings it is trained with by default.

    Args:
        name: a key of `TASKS`, for ``wengert train``.
        title: a short description, for reports.
        epochs: the default number of epochs.
        batch_size: the default number of examples per step.
        rate: the default peak learning rate.
        recipe: the name of this set of settings.

    Example:
        >>> from wengert import nn
        >>> softmax = Task(
        ...     "softmax", "softmax regression", lambda rng: nn.Dense(784, 10, seed=rng), as_vectors
        ... )
        >>> softmax.settings("digits", epochs=2).epochs
        2
    """

    name: str
    title: str
    build: Callable[[np.random.Generator], Any]
    """Makes the model and draws its weights from the generator."""
    prepare: Callable[[Any], Any] = standardised
    """Makes the model's input from grey images, uint8 (examples, height, width)."""
    loss: Callable[[Any, Any, Any], tuple[Any, Any]] = classification_loss
    """``(model, inputs, labels) -> (loss, score)``; the score is a sum over the examples. The model is a function of
    the inputs, in training and in evaluation; the state and the random keys of its layers are passed for it."""
    classifies: bool = True
    """Whether the score counts correct labels; otherwise it is the loss."""
    optimiser: Callable[[float, int], optim.Optimiser] = Descent()
    """``(learning rate, steps of the whole run) -> optimiser``: a `Descent` or a function; it may omit the steps."""
    epochs: int = 5
    batch_size: int = 100
    rate: float = 1e-3
    recipe: str = "paper"
    vary: Variation | None = None
    """The augmentation of the training images."""
    data: str = "digits"
    """The data by default; ``"text"`` for a network that learns texts, uint8 (examples, steps + 1), and no images."""

    def settings(self, data: str, **chosen: Any) -> Settings:
        """Return the settings of a run.

        Args:
            data: the name of the images.
            chosen: values by the field names of `Settings`; None and missing ones are the task's own.

        Raises:
            SettingsError: a value is out of its range.
        """
        names = "epochs", "batch_size", "rate", "recipe"
        own: dict[str, Any] = {name: getattr(self, name) for name in names} | {"seed": 0}
        changed = {name: value for name, value in chosen.items() if value is not None}
        settings = Settings(self.name, data, **(own | changed))
        for option in OPTIONS.values():
            value = getattr(settings, option.field)
            if value is not None:
                check_value(option.name, value)
        if settings.batch_size % settings.micro_batches:
            got = f"{settings.micro_batches} and {settings.batch_size}"
            raise SettingsError(f"micro-batches must divide batch-size; got {got}")
        self.descent(settings)
        return settings

    def descent(self, settings: Settings) -> Callable[[float, int], optim.Optimiser]:
        """Return ``optimiser`` as changed by the settings.

        Raises:
            SettingsError: the task makes its own optimiser, and the settings choose a schedule or clipping without
                choosing an optimiser.
        """
        names = "optimiser", "schedule", "clip"
        changed = {name: value for name in names if (value := getattr(settings, name)) is not None}
        if not changed:
            return with_steps(self.optimiser)
        if isinstance(self.optimiser, Descent):
            return self.optimiser._replace(**changed)
        if "optimiser" not in changed:
            requirement = "choose an optimiser, too: the Task makes its own"
            raise SettingsError(f"{' and '.join(changed)}: {requirement}")
        return Descent(**changed)


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task("cnn", "CNN of seven layers", cnn, optimiser=Descent("sgd"), rate=0.01),
        Task("rnn", "tanh RNN over rows", rnn, as_rows, optimiser=Descent("sgd"), rate=0.015),
        Task("lstm", "LSTM over rows", lstm, as_rows, rate=2e-3),
        Task("gru", "GRU over rows", gru, as_rows, rate=2e-3),
        Task(
            "autoencoder",
            "sigmoid autoencoder 784-300-100-784",
            autoencoder,
            as_vectors,
            reconstruction_loss,
            classifies=False,
            optimiser=Descent("sgd"),
            epochs=4,
            batch_size=1,
            rate=0.02,
        ),
        Task("mlp", "perceptron 784-256-256-10", mlp, as_vectors, batch_size=128),
        Task(
            "gpt",
            "transformer over the bytes of a text",
            gpt,
            _unchanged,
            language_loss,
            classifies=False,
            optimiser=Descent("adamw", "warm-up-cosine", clip=1.0),
            epochs=10,
            batch_size=32,
            rate=5e-3,
            data="text",
        ),
    )
}
"""The networks by name; those of the papers (cnn, rnn, autoencoder) with the papers' settings."""

RECIPES: dict[tuple[str, str], Task] = {
    ("cnn", "fast"): TASKS["cnn"]._replace(
        optimiser=Descent("adam", "warm-up-cosine"), rate=4e-3, recipe="fast"
    ),
}
"""Other ways to train them, by network and recipe."""


def task_named(name: str, recipe: str = "paper") -> Task:
    """Return the task of a network and a recipe.

    Args:
        name: of the network.
        recipe: paper, or a recipe in `RECIPES`.

    Returns:
        The task.

    Raises:
        SettingsError: the network or the recipe does not exist.

    Example:
        >>> task_named("mlp").title
        'perceptron 784-256-256-10'
    """
    if name not in TASKS:
        raise SettingsError(f"network must be one of {', '.join(TASKS)}; got {name!r}")
    if recipe == "paper":
        return TASKS[name]
    if (name, recipe) not in RECIPES:
        recipes = ", ".join(["paper", *(variant for network, variant in RECIPES if network == name)])
        raise SettingsError(f"recipe must be one of {recipes} for {name}; got {recipe!r}")
    return RECIPES[name, recipe]
