"""The class of data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

SIZE = (28, 28)
"""Height and width of the images of the sets that a run can train on."""
DIGITS = tuple("0123456789")
"""The classes of handwritten digits."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Labelled grey images, split into a training and a test set.

    Attributes:
        train_images: uint8, shape (n, height, width), 0 for the background to 255.
        train_labels: uint8, shape (n,), indices into ``classes``.
        test_images: Like ``train_images``.
        test_labels: Like ``train_labels``.
        name: The name of the set.
        classes: The name of each class.

    Example:
        >>> from wengert.data import digit_set
        >>> digit_set(train=20, test=10)
        <Dataset digits: 20 to train, 10 to test, 28x28, 10 classes>
    """

    train_images: Array
    train_labels: Array
    test_images: Array
    test_labels: Array
    name: str
    classes: tuple[str, ...]

    def __repr__(self) -> str:
        train, *extents = self.train_images.shape
        sizes = f"{train} to train, {len(self.test_images)} to test, {'x'.join(map(str, extents))}"
        return f"<Dataset {self.name}: {sizes}, {len(self.classes)} classes>"
