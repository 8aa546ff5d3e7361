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


def _figure(width: float, height: float, layout: Any) -> Any:
    """Return an empty figure; width and height are in inches."""
    # Figure without pyplot: no global state, no display, and the user's backend stays as it is.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def new_figure(rows: int, columns: int, width: float, height: float) -> tuple[Any, Any]:
    """Return an empty figure and its axes, (rows, columns); width and height are in inches."""
    figure = _figure(width, height, "constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


#: Pixels of the pictures between two of them, and for a title.
_GAP, _TITLE = 4, 7


def _pictures(images: Any, columns: int, width: float, most: float, title: int = 0) -> tuple[Any, Any, Any]:
    """Draw grey pictures in rows, on one pair of axes: a pair for each takes ten times as long.

    Args:
        images: of shape (count, height, width).
        columns: the number of pictures in a row.
        width: of the figure, in inches.
        most: the value that is black.
        title: pixels above each picture.

    Returns:
        The figure, its axes, and the left upper corner of each picture, in pixels.
    """
    count, high, wide = np.shape(images)
    rows = -(-count // columns)
    canvas = np.zeros((rows * (title + high + _GAP), columns * (wide + _GAP)))
    corners = [
        (
            number % columns * (wide + _GAP) + _GAP // 2,
            number // columns * (title + high + _GAP) + title + _GAP // 2,
        )
        for number in range(count)
    ]
    for image, (x, y) in zip(images, corners, strict=True):
        canvas[y : y + high, x : x + wide] = image
    figure = _figure(width, width * canvas.shape[0] / canvas.shape[1], None)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.axis("off")
    axes.imshow(canvas, cmap="gray_r", vmin=0, vmax=most, aspect="auto")
    return figure, axes, corners


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
    return png(_pictures(np.concatenate([inputs, outputs]), len(inputs), len(inputs), 1.0)[0])


def examples(images: Any, predicted: Sequence[str], expected: Sequence[str]) -> bytes:
    """Draw pictures below their predicted labels; mistakes are red, and name the true label, too."""
    figure, axes, corners = _pictures(images, 8, 9.0, 255.0, _TITLE)
    legend = "above each picture: the prediction; in red: mistakes, chosen first, with the true label"
    share = 0.25 / (figure.get_figheight() + 0.25)
    figure.set_figheight(figure.get_figheight() + 0.25)
    axes.set_position((0, 0, 1, 1 - share))
    figure.text(0.5, 1 - share / 2, legend, fontsize=9, ha="center", va="center")
    middle = np.shape(images)[2] / 2
    for (x, y), guess, truth in zip(corners, predicted, expected, strict=False):
        text, color = (guess, "black") if guess == truth else (f"{guess}, true {truth}", "red")
        axes.text(x + middle, y - 1, text, color=color, fontsize=9, ha="center", va="bottom")
    return png(figure)
