"""The inputs that all libraries share, as files in a folder: data, order and first weights. It needs only NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_MAX_STEPS = 100
"""In one call, where a library takes several."""


class Shared(NamedTuple):
    """The inputs of every library."""

    images: Any
    """uint8 (examples, 28, 28)."""
    labels: Any
    """int64 (examples,)."""
    order: Any
    """int64 (epochs, steps, batch): the examples of each step."""
    rate: float
    """The rate of gradient descent."""
    weights: list[Any]
    """The first weights, float32: dense (inputs, outputs), filters (outputs, inputs, height, width)."""


def save_arrays(folder: Path, name: str, arrays: Sequence[Any]) -> None:
    """Write arrays to a file."""
    np.savez(folder / f"{name}.npz", *arrays)


def load_arrays(folder: Path, name: str) -> list[Any]:
    """Return the arrays of a file."""
    with np.load(folder / f"{name}.npz") as file:
        return [file[key] for key in file]


def save(folder: Path, shared: Shared) -> None:
    """Write the inputs into a folder."""
    save_arrays(folder, "data", shared[:4])
    save_arrays(folder, "weights", shared.weights)


def load(folder: Path) -> Shared:
    """Read the inputs from a folder."""
    images, labels, order, rate = load_arrays(folder, "data")
    return Shared(images, labels, order, float(rate), load_arrays(folder, "weights"))


def steps_of_call(steps: int) -> int:
    """Return the number of steps in a call: a divisor of those of an epoch, so that one program suffices.

    Example:
        >>> steps_of_call(600), steps_of_call(97), steps_of_call(202)
        (100, 97, 2)
    """
    return next(count for count in range(min(steps, _MAX_STEPS), 0, -1) if steps % count == 0)
