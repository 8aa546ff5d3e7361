"""What all libraries share: data, order and first weights, as files in a folder. NumPy only, for lean processes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_MOST_STEPS = 100
"""In one call, where a library takes several."""


class Shared(NamedTuple):
    """What every library gets."""

    images: Any
    """uint8 (examples, 28, 28)."""
    labels: Any
    """int64 (examples,)."""
    order: Any
    """int64 (epochs, steps, batch): which examples each step sees."""
    rate: float
    """Of gradient descent."""
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
    """Write what is shared into a folder."""
    save_arrays(folder, "data", shared[:4])
    save_arrays(folder, "weights", shared.weights)


def load(folder: Path) -> Shared:
    """Return what `save` wrote."""
    images, labels, order, rate = load_arrays(folder, "data")
    return Shared(images, labels, order, float(rate), load_arrays(folder, "weights"))


def steps_of_call(steps: int) -> int:
    """Return how many steps one call takes, a divisor of those of an epoch, so that one program does.

    Example:
        >>> steps_of_call(600), steps_of_call(97), steps_of_call(202)
        (100, 97, 2)
    """
    return next(count for count in range(min(steps, _MOST_STEPS), 0, -1) if steps % count == 0)
