"""Where a model is wrong: the confusion matrix, the pictures with the largest loss, reconstructions."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.data import Dataset
from wengert.report.elements import Markup, element
from wengert.report.findings import Classified, Reconstructed, largest
from wengert.report.page import Section, note
from wengert.report.png import ink, picture

_WORST, _PAIRS = 24, 12
_LONG = 3
"""Names of classes with more letters stand upright over their columns."""


def classification(found: Classified, dataset: Dataset) -> list[Section]:
    """Write the confusion matrix and the pictures with the largest loss."""
    wrong = int(np.sum(found.confusion) - np.trace(found.confusion))
    total = len(dataset.test_labels)
    told = f"{wrong:,} of {total:,} test images are taken for another class than their own."
    worst = largest(found.losses, _WORST)
    figures = (_judged(position, found, dataset) for position in worst)
    kind = "pictures named" if _are_long(dataset.classes) else "pictures"
    return [
        Section("confusion", "Confusion matrix", _matrix(found.confusion, dataset.classes), note(told)),
        Section(
            "worst",
            "Worst-classified pictures",
            element("div", *figures, class_=kind),
            note(
                "The test images with the largest cross-entropy: what they are taken for, what they are, and with what "
                "probability the model says so."
            ),
        ),
    ]


def _matrix(confusion: Any, classes: tuple[str, ...]) -> Markup:
    """Write how many images of a class (row) are taken for another (column).

    The shade of what is right is its part of the class. What is wrong is in another colour, its shade by the largest
    mistake.
    """
    totals = np.maximum(confusion.sum(axis=1), 1)
    mistakes = confusion - np.diag(np.diag(confusion))
    largest_mistake = max(int(mistakes.max()), 1)
    upright = "upright" if _are_long(classes) else None

    def cell(row: int, column: int) -> Markup:
        count = int(confusion[row, column])
        if row == column:
            return element("td", str(count), class_="right", style=f"--part: {count / totals[row]:.3f}")
        part = f"--part: {(count / largest_mistake) ** 0.5:.3f}" if count else None
        return element("td", str(count) if count else "·", class_="wrong" if count else "none", style=part)

    names = (element("th", element("span", name), scope="col") for name in classes)
    head = element(
        "tr",
        element("td", class_="corner"),
        *names,
        element("th", "recall", scope="col"),
    )
    rows = [
        element(
            "tr",
            element("th", name, scope="row"),
            *(cell(row, column) for column in range(len(classes))),
            element("td", f"{confusion[row, row] / totals[row]:.1%}", class_="recall"),
        )
        for row, name in enumerate(classes)
    ]
    caption = element("caption", "Test images by what they are (row) and what they are taken for (column)")
    whole = element(
        "table",
        caption,
        element("thead", head, class_=upright),
        element("tbody", *rows),
        class_="confusion",
        style=f"--classes: {len(classes)}",
    )
    return element("div", whole, class_="wide", tabindex="0", role="region", aria_label="Confusion matrix")


def _are_long(classes: tuple[str, ...]) -> bool:
    return max(map(len, classes)) > _LONG


def _judged(position: int, found: Classified, dataset: Dataset) -> Markup:
    truth, guess = (dataset.classes[int(one[position])] for one in (dataset.test_labels, found.guesses))
    sure = f"{found.probabilities[position]:.0%}"
    alt = f"Test image {position}: {truth}, taken for {guess} with probability {sure}"
    drawn = picture(ink(dataset.test_images[position] / 255), alt, "ink")
    verdict = element("b", guess, class_="bad" if guess != truth else "good")
    told = element("small", element("span", f"is {truth} "), element("span", sure))
    return element("figure", drawn, element("figcaption", verdict, told))


def reconstruction(found: Reconstructed, dataset: Dataset) -> list[Section]:
    """Draw pictures above what the model makes of them: the first, and those with the largest error."""
    mean = float(np.mean(found.losses))
    return [
        Section(
            "reconstructions",
            "Reconstructions",
            _pairs(range(min(_PAIRS, len(found.losses))), found, dataset),
            note(
                "The first test images above, what the model makes of them below, and the squared error of each: "
                f"its mean over all test images is {mean:.3g}."
            ),
        ),
        Section(
            "worst",
            "Worst-reconstructed pictures",
            _pairs(largest(found.losses, _PAIRS), found, dataset),
            note("The test images with the largest squared error."),
        ),
    ]


def _pairs(positions: Any, found: Reconstructed, dataset: Dataset) -> Markup:
    figures = (
        element(
            "figure",
            picture(
                ink(found.inputs[i]), f"Test image {i}: {dataset.classes[int(dataset.test_labels[i])]}", "ink"
            ),
            picture(ink(found.outputs[i]), f"Reconstruction of test image {i}", "ink"),
            element("figcaption", element("small", f"{found.losses[i]:.1f}")),
        )
        for i in positions
    )
    return element("div", *figures, class_="pictures")
