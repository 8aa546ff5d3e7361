"""What a trained model makes of the test images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.dtypes import is_float
from wengert.core.tree import flatten, paths
from wengert.data import Dataset
from wengert.data.batches import consecutive
from wengert.train.runs import Run

_AT_ONCE = 500


class Classified(NamedTuple):
    """What a classifier says of each test image."""

    guesses: Any
    """The class of the largest logit, (examples,)."""
    losses: Any
    """The cross-entropy of each image, (examples,)."""
    probabilities: Any
    """Of the class guessed, (examples,)."""
    confusion: Any
    """How many images of a class (row) are taken for another (column)."""


class Reconstructed(NamedTuple):
    """What an autoencoder makes of each test image."""

    inputs: Any
    outputs: Any
    """Like the inputs, from 0 to 1: (examples, height, width)."""
    losses: Any
    """The squared error of each image, (examples,)."""


def outputs_of(run: Run, model: Any, dataset: Dataset) -> Any:
    """Return what a model returns for the test images, (examples, ...)."""
    images, prepare = dataset.test_images, run.task.prepare
    parts = consecutive(len(images), _AT_ONCE)
    return np.concatenate([np.asarray(model(prepare(images[part]))) for part in parts])


def classified(outputs: Any, dataset: Dataset) -> Classified | None:
    """Return what logits say; None where the outputs are no logits, one for each class."""
    labels, count = dataset.test_labels.astype(int), len(dataset.classes)
    if outputs.shape != (len(labels), count):
        return None
    shifted = outputs.astype(float) - outputs.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    guesses, rows = np.argmax(outputs, axis=1), np.arange(len(labels))
    confusion = np.bincount(labels * count + guesses, minlength=count * count).reshape(count, count)
    return Classified(guesses, -logs[rows, labels], np.exp(logs[rows, guesses]), confusion)


def reconstructed(outputs: Any, dataset: Dataset) -> Reconstructed | None:
    """Return what outputs show; None where they are no pictures of the inputs' size."""
    images = dataset.test_images
    if outputs.size != images.size:
        return None
    inputs, drawn = images / 255.0, outputs.reshape(images.shape).astype(float)
    return Reconstructed(inputs, drawn, np.sum((inputs - drawn) ** 2, axis=(1, 2)))


def largest(losses: Any, count: int) -> Sequence[int]:
    """Return the positions of the largest numbers, the largest first; NaN counts as the largest of all.

    Example:
        >>> largest(np.array([0.1, 3.0, 0.2]), 2)
        [1, 2]
    """
    order = np.argsort(-np.nan_to_num(losses, nan=np.inf), kind="stable")
    return order[:count].tolist()


class Weights(NamedTuple):
    """The weights through which a model sees its input."""

    place: str
    """Such as ``.layers[0].weight``."""
    pictures: list[Any]
    """A convolution has one for each filter (of its first channel), a layer that is given whole images one for each
    unit; any other matrix is a picture itself."""


def first_weights(model: Any, height: int, width: int) -> Weights | None:
    """Return the first matrix or filters of a model, for images of a size; None where it has none.

    Example:
        >>> from wengert import nn
        >>> found = first_weights(nn.Chain(nn.Dense(784, 3, seed=0), nn.relu), 28, 28)
        >>> found.place, len(found.pictures), found.pictures[0].shape
        ('.layers[0].weight', 3, (28, 28))
    """
    values, structure = flatten(model)
    for place, value in zip(paths(structure, ""), values, strict=True):
        weight = np.asarray(value)
        if not is_float(weight.dtype) or weight.ndim < 2 or not weight.size:
            continue
        if weight.ndim == 2 and len(weight) == height * width:
            return Weights(place, list(weight.T.reshape(-1, height, width)))
        if weight.ndim == 2:
            return Weights(place, [weight])
        if weight.ndim == 4:
            return Weights(place, list(weight[:, 0]))
    return None
