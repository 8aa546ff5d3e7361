"""PNG plots of a run, drawn with matplotlib if it is installed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.train.loop import EpochResult
from wengert.train.tasks import Task

NO_PLOTS = "none: they need matplotlib (pip install 'wengert[plot]')"


def available() -> bool:
    """Return whether matplotlib is installed."""
    try:
        import matplotlib as _  # noqa: F401
    except ImportError:
        return False
    return True


def new_figure(rows: int, columns: int, width: float, height: float) -> tuple[Any, Any]:
    """Return an empty figure and its axes, (rows, columns); width and height are in inches."""
    # Figure without pyplot: no global state, no display, and the user's backend stays as it is.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False)


def png(figure: Any) -> bytes:
    """Return a figure as a PNG file."""
    content = io.BytesIO()
    figure.savefig(content, dpi=120)
    return content.getvalue()


def learning_curve(task: Task, history: Sequence[EpochResult]) -> bytes:
    """Plot the loss and, for a classifier, the accuracy over the epochs."""
    columns = [("loss", [r.train_loss for r in history], [r.test_loss for r in history])]
    if task.classifies:
        columns.append(("accuracy", [r.train_score for r in history], [r.test_score for r in history]))
    figure, axes = new_figure(1, len(columns), 4.5 * len(columns), 3.6)
    epochs = [result.epoch for result in history]
    for axis, (title, trained, tested) in zip(axes[0], columns, strict=True):
        axis.plot(epochs, trained, marker="o", label="training")
        axis.plot(epochs, tested, marker="s", label="test")
        axis.set(title=title, xlabel="epoch", xlim=(0.5, len(epochs) + 0.5))
        axis.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        axis.grid(alpha=0.3)
        axis.legend()
    figure.suptitle(task.title)
    return png(figure)


def reconstructions(inputs: Any, outputs: Any) -> bytes:
    """Draw pictures (upper row) and an autoencoder's reconstructions (lower row), with values in [0, 1]."""
    figure, axes = new_figure(2, len(inputs), len(inputs), 2.2)
    for row, images in zip(axes, (inputs, outputs), strict=True):
        for axis, image in zip(row, images, strict=True):
            axis.imshow(image, cmap="gray_r", vmin=0, vmax=1)
            axis.axis("off")
    return png(figure)


def examples(images: Any, predicted: Sequence[str], expected: Sequence[str]) -> bytes:
    """Draw pictures with their predicted labels; mistakes are red."""
    rows = -(-len(images) // 8)
    figure, axes = new_figure(rows, 8, 9, 1.45 * rows)
    flat: Any = np.ravel(axes)
    for axis in flat:
        axis.axis("off")
    for axis, image, guess, truth in zip(flat, images, predicted, expected, strict=False):
        axis.imshow(image, cmap="gray_r", vmin=0, vmax=255)
        text, color = (guess, "black") if guess == truth else (f"{guess} for {truth}", "red")
        axis.set_title(text, color=color, fontsize=9)
    return png(figure)
