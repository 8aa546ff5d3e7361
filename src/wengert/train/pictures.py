"""Pictures of a run, drawn with matplotlib where it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wengert.train.loop import EpochResult
from wengert.train.tasks import Task


def available() -> bool:
    """Tell whether matplotlib is installed."""
    try:
        import matplotlib as _  # noqa: F401
    except ImportError:
        return False
    return True


def _figure(columns: int, rows: int, width: float, height: float) -> tuple[Any, Any]:
    # The object interface: no global state, no display, no backend of the user's disturbed.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False)


def learning_curve(path: Path, task: Task, history: Sequence[EpochResult]) -> None:
    """Draw loss and score by epoch."""
    figure, axes = _figure(2, 1, 9, 3.6)
    epochs = [result.epoch for result in history]
    columns = (
        ("loss", [r.train_loss for r in history], [r.test_loss for r in history]),
        (task.score, [r.train_score for r in history], [r.test_score for r in history]),
    )
    for axis, (title, trained, tested) in zip(axes[0], columns, strict=True):
        axis.plot(epochs, trained, marker="o", label="training")
        axis.plot(epochs, tested, marker="s", label="test")
        axis.set(title=title, xlabel="epoch", xticks=epochs)
        axis.grid(alpha=0.3)
        axis.legend()
    figure.suptitle(task.title)
    figure.savefig(path, dpi=120)


def reconstructions(path: Path, inputs: Any, outputs: Any) -> None:
    """Draw pictures (upper row) and what the autoencoder makes of them (lower row)."""
    figure, axes = _figure(len(inputs), 2, len(inputs), 2.2)
    for column, pair in enumerate(zip(inputs, outputs, strict=True)):
        for row, image in enumerate(pair):
            axes[row][column].imshow(np.clip(image, 0, 1), cmap="gray_r", vmin=0, vmax=1)
            axes[row][column].axis("off")
    figure.savefig(path, dpi=120)


def examples(path: Path, images: Any, predicted: Sequence[str], expected: Sequence[str]) -> None:
    """Draw pictures with what the network takes them for; mistakes in red."""
    figure, axes = _figure(8, 2, 9, 2.9)
    for axis, image, guess, truth in zip(axes.flat, images, predicted, expected, strict=False):
        axis.imshow(image, cmap="gray_r")
        axis.set_title(
            guess if guess == truth else f"{guess} for {truth}",
            color="black" if guess == truth else "red",
            fontsize=9,
        )
        axis.axis("off")
    figure.savefig(path, dpi=120)
