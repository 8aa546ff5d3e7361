"""Tasks: a network, its loss, and the settings it is trained with by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert import nn, optim
from wengert.core.shapes import shape_of
from wengert.train import networks
from wengert.train.images import Variation, as_rows, as_vectors, standardised
from wengert.train.optimisers import Descent, with_steps
from wengert.train.settings import OPTIONS, Settings, SettingsError, check_value


def classification_loss(model: Any, inputs: Any, labels: Any) -> tuple[Any, Any]:
    """Return the cross-entropy, and how many labels were right.

    Labels are numbers (examples,); or (examples, classes), the weight of an example in the place of its class, by which
    what was right counts, too.

    Args:
        model: a function of the inputs.
        inputs: (examples, ...), what ``model`` takes.
        labels: (examples,) or (examples, classes).

    Returns:
        The mean of the loss over the examples, and the sum of the examples that were right.

    Example:
        >>> logits = np.array([[2.0, 0.0], [3.0, 0.0]])
        >>> loss, right = classification_loss(lambda x: x, logits, np.array([0, 1]))
        >>> float(loss.round(3)), int(right)
        (1.588, 1)
    """
    logits = model(inputs)
    loss, guesses = nn.softmax_cross_entropy(logits, labels), np.argmax(logits, axis=1)
    if len(shape := shape_of(labels)) == 2:
        return loss, np.sum(labels[np.arange(shape[0]), guesses])
    return loss, np.sum(guesses == labels)


def reconstruction_loss(model: Any, inputs: Any, labels: Any) -> tuple[Any, Any]:
    """Return the squared error summed over a picture, as the mean over pictures and as a sum.

    Args:
        model: a function of the inputs.
        inputs: (examples, ...), pictures as vectors.
        labels: not used.

    Returns:
        The mean over the examples, and the sum.

    Example:
        >>> loss, total = reconstruction_loss(lambda x: x + 1, np.zeros((2, 3)), None)
        >>> float(loss), float(total)
        (3.0, 6.0)
    """
    total = nn.sum_squared_error(model(inputs), inputs)
    return total / shape_of(inputs)[0], total


class Task(NamedTuple):
    """A network, its loss, and the settings it is trained with by default.

    Args:
        name: a key of `TASKS`, by which ``wengert train`` knows it.
        title: the network in a few words, for reports.
        epochs: the number of epochs by default.
        batch_size: the number of examples of a step by default.
        rate: the largest learning rate by default.
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
    """Makes the model, its weights drawn from the generator."""
    prepare: Callable[[Any], Any] = standardised
    """Makes the model's input from grey images, uint8 (examples, height, width)."""
    loss: Callable[[Any, Any, Any], tuple[Any, Any]] = classification_loss
    """``(model, inputs, labels) -> (loss, score)``; the score is a sum over the examples. The model is a function of
    the inputs, in training and in evaluation: the state and the random numbers of its layers go by behind it."""
    classifies: bool = True
    """Whether the score counts the labels that were right; otherwise it is the loss."""
    optimiser: Callable[[float, int], optim.Optimiser] = Descent()
    """``(learning rate, steps of the whole run) -> optimiser``: a `Descent`, or a function, of the rate alone, too."""
    epochs: int = 5
    batch_size: int = 100
    rate: float = 1e-3
    recipe: str = "paper"
    vary: Variation | None = None
    """How images are varied in training."""

    def settings(self, data: str, **chosen: Any) -> Settings:
        """Return the settings of a run: those given by the names of `Settings`, and the task's own.

        Raises:
            SettingsError: a value that a setting cannot have.
        """
        own: dict[str, Any] = {
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "rate": self.rate,
            "seed": 0,
            "recipe": self.recipe,
        }
        given = {name: value for name, value in chosen.items() if value is not None}
        settings = Settings(self.name, data, **(own | given))
        for option in OPTIONS.values():
            value = getattr(settings, option.field)
            if value is not None:
                check_value(option.name, value)
        self.descent(settings)
        return settings

    def descent(self, settings: Settings) -> Callable[[float, int], optim.Optimiser]:
        """Return ``optimiser``, with what the settings say instead.

        Raises:
            SettingsError: the task makes its optimiser itself, and the settings choose no other one for its schedule or
                clipping.
        """
        names = "optimiser", "schedule", "clip"
        given = {name: value for name in names if (value := getattr(settings, name)) is not None}
        if not given:
            return with_steps(self.optimiser)
        if isinstance(self.optimiser, Descent):
            return self.optimiser._replace(**given)
        if "optimiser" not in given:
            requirement = "choose optimiser, too: the Task makes its own"
            raise SettingsError(f"{' and '.join(given)}: {requirement}")
        return Descent(**given)


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task("cnn", "CNN of seven layers", networks.cnn, optimiser=Descent("sgd"), rate=0.01),
        Task("rnn", "tanh RNN over rows", networks.rnn, as_rows, optimiser=Descent("sgd"), rate=0.015),
        Task("lstm", "LSTM over rows", networks.lstm, as_rows, rate=2e-3),
        Task("gru", "GRU over rows", networks.gru, as_rows, rate=2e-3),
        Task(
            "autoencoder",
            "sigmoid autoencoder 784-300-100-784",
            networks.autoencoder,
            as_vectors,
            reconstruction_loss,
            classifies=False,
            optimiser=Descent("sgd"),
            epochs=4,
            batch_size=1,
            rate=0.02,
        ),
        Task("mlp", "perceptron 784-256-256-10", networks.mlp, as_vectors, batch_size=128),
    )
}
"""The networks by name, those of the papers (cnn, rnn, autoencoder) with the papers' settings."""

RECIPES: dict[tuple[str, str], Task] = {
    ("cnn", "fast"): TASKS["cnn"]._replace(
        optimiser=Descent("adam", "warm-up-cosine"), rate=4e-3, recipe="fast"
    ),
}
"""Other ways to train them, by network and recipe."""


def task_named(name: str, recipe: str = "paper") -> Task:
    """Return a task by the name of its network and its recipe.

    Args:
        name: the name of the network, a key of `TASKS`.
        recipe: ``"paper"``, or another set of settings for the network.

    Returns:
        The task.

    Raises:
        SettingsError: there is no such network or recipe.

    Example:
        >>> task_named("mlp").title
        'perceptron 784-256-256-10'
    """
    if name not in TASKS:
        raise SettingsError(f"network must be one of {', '.join(TASKS)}; got {name!r}")
    if recipe == "paper":
        return TASKS[name]
    if (name, recipe) not in RECIPES:
        known = ", ".join(["paper", *(other for network, other in RECIPES if network == name)])
        raise SettingsError(f"recipe must be one of {known} for {name}; got {recipe!r}")
    return RECIPES[name, recipe]
