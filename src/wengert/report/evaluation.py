"""The model on the test images: the confusion matrix, the worst pictures, and reconstructions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from wengert.data import Dataset
from wengert.data.batches import consecutive
from wengert.engine.core.markup import Markup, element, scrollable
from wengert.report.markup import Section, note
from wengert.report.png import ink, picture
from wengert.train.runs import Run

_AT_ONCE = 500
_WORST, _PAIRS = 24, 12
_LONG = 3
"""Class names with more letters are written vertically above the columns."""


class Classified(NamedTuple):
    """The output of a classifier for each test image."""

    guesses: Any
    """The class of the largest logit, (examples,)."""
    losses: Any
    """The cross-entropy of each image, (examples,)."""
    probabilities: Any
    """Of the guessed class, (examples,)."""
    confusion: Any
    """The numbers of images by true class (row) and guessed class (column)."""


class Reconstructed(NamedTuple):
    """The output of an autoencoder for each test image."""

    inputs: Any
    outputs: Any
    """Like the inputs, from 0 to 1: (examples, height, width)."""
    losses: Any
    """The squared error of each image, (examples,)."""


def outputs_of(run: Run, model: Any, dataset: Dataset) -> Any:
    """Return a model's outputs for the test images, (examples, ...)."""
    images, prepare = dataset.test_images, run.task.prepare
    parts = consecutive(len(images), _AT_ONCE)
    return np.concatenate([np.asarray(model(prepare(images[part]))) for part in parts])


def classified(outputs: Any, dataset: Dataset) -> Classified | None:
    """Evaluate logits; return None if the outputs are not one logit for each class."""
    labels, count = dataset.test_labels.astype(int), len(dataset.classes)
    if outputs.shape != (len(labels), count):
        return None
    shifted = outputs.astype(float) - outputs.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    guesses, rows = np.argmax(outputs, axis=1), np.arange(len(labels))
    confusion = np.bincount(labels * count + guesses, minlength=count * count).reshape(count, count)
    return Classified(guesses, -logs[rows, labels], np.exp(logs[rows, guesses]), confusion)


def reconstructed(outputs: Any, dataset: Dataset) -> Reconstructed | None:
    """Evaluate reconstructions; return None if the outputs do not have the images' size."""
    images = dataset.test_images
    if outputs.size != images.size:
        return None
    inputs, pictures = images / 255.0, outputs.reshape(images.shape).astype(float)
    return Reconstructed(inputs, pictures, np.sum((inputs - pictures) ** 2, axis=(1, 2)))


def largest(losses: Any, count: int) -> list[int]:
    """Return the positions of the largest numbers, the largest first; NaN counts as the largest.

    Example:
        >>> largest(np.array([0.1, 3.0, 0.2]), 2)
        [1, 2]
    """
    order = np.argsort(-np.nan_to_num(losses, nan=np.inf), kind="stable")
    return order[:count].tolist()


# -- sections --------------------------------------------------------------------------------------------


def classification(results: Classified, dataset: Dataset) -> list[Section]:
    """Return the confusion matrix and the pictures with the largest loss."""
    wrong = int(np.sum(results.confusion) - np.trace(results.confusion))
    count = f"{wrong:,} of {len(dataset.test_labels):,} test images are classified incorrectly."
    figures = (_classified_picture(i, results, dataset) for i in largest(results.losses, _WORST))
    kind = "pictures named" if _are_long(dataset.classes) else "pictures"
    return [
        Section("confusion", "Confusion matrix", _matrix(results.confusion, dataset.classes), note(count)),
        Section(
            "worst",
            "Worst-classified pictures",
            element("div", *figures, class_=kind),
            note(
                "The test images with the largest cross-entropy: the predicted class, the true class, and the "
                "probability of the predicted class."
            ),
        ),
    ]


def _matrix(confusion: Any, classes: tuple[str, ...]) -> Markup:
    """Return the table of the numbers of images by true class (row) and predicted class (column).

    The shade of a correct cell is its share of the class. Mistakes have another colour; their shade is relative to the
    largest mistake.
    """
    totals = np.maximum(confusion.sum(axis=1), 1)
    mistakes = confusion - np.diag(np.diag(confusion))
    largest_mistake = max(int(mistakes.max()), 1)

    def cell(row: int, column: int) -> Markup:
        count = int(confusion[row, column])
        if row == column:
            return element("td", str(count), class_="right", style=f"--part: {count / totals[row]:.3f}")
        part = f"--part: {(count / largest_mistake) ** 0.5:.3f}" if count else None
        return element("td", str(count) if count else "·", class_="wrong" if count else "none", style=part)

    names = (element("th", element("span", name), scope="col") for name in classes)
    head = element("tr", element("td", class_="corner"), *names, element("th", "recall", scope="col"))
    rows = [
        element(
            "tr",
            element("th", name, scope="row"),
            *(cell(row, column) for column in range(len(classes))),
            element("td", f"{confusion[row, row] / totals[row]:.1%}", class_="recall"),
        )
        for row, name in enumerate(classes)
    ]
    whole = element(
        "table",
        element("caption", "Test images by true class (row) and predicted class (column)"),
        element("thead", head, class_="upright" if _are_long(classes) else None),
        element("tbody", *rows),
        class_="confusion",
        style=f"--classes: {len(classes)}",
    )
    return scrollable(whole, "Confusion matrix")


def _are_long(classes: tuple[str, ...]) -> bool:
    return max(map(len, classes)) > _LONG


def _classified_picture(position: int, results: Classified, dataset: Dataset) -> Markup:
    numbers = dataset.test_labels[position], results.guesses[position]
    truth, guess = (dataset.classes[int(number)] for number in numbers)
    probability = f"{results.probabilities[position]:.0%}"
    alt = f"Test image {position}: {truth}, classified as {guess} with probability {probability}"
    image = picture(ink(dataset.test_images[position] / 255), alt, "ink")
    verdict = element("b", guess, class_="bad" if guess != truth else "good")
    details = element("small", element("span", f"is {truth} "), element("span", probability))
    return element("figure", image, element("figcaption", verdict, details))


def reconstruction(results: Reconstructed, dataset: Dataset) -> list[Section]:
    """Return pictures above their reconstructions: the first ones, and those with the largest error."""
    return [
        Section(
            "reconstructions",
            "Reconstructions",
            _pairs(range(min(_PAIRS, len(results.losses))), results, dataset),
            note(
                "The first test images above, their reconstructions below, and the squared error of each. "
                f"The mean over all test images is {float(np.mean(results.losses)):.3g}."
            ),
        ),
        Section(
            "worst",
            "Worst-reconstructed pictures",
            _pairs(largest(results.losses, _PAIRS), results, dataset),
            note("The test images with the largest squared error."),
        ),
    ]


def _pairs(positions: Iterable[int], results: Reconstructed, dataset: Dataset) -> Markup:
    figures: list[Markup] = []
    for i in positions:
        name = dataset.classes[int(dataset.test_labels[i])]
        above = picture(ink(results.inputs[i]), f"Test image {i}: {name}", "ink")
        below = picture(ink(results.outputs[i]), f"Reconstruction of test image {i}", "ink")
        error = element("figcaption", element("small", f"{results.losses[i]:.1f}"))
        figures.append(element("figure", above, below, error))
    return element("div", *figures, class_="pictures")
