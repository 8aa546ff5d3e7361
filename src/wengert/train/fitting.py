"""`fit`: the training loop for any loss over any container of arrays."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wengert import optim
from wengert._version import versions
from wengert.data import DataError, Dataset
from wengert.engine.core.dtypes import NDARRAY
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.markup import in_notebook, short_table
from wengert.engine.core.progress import Bar
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import flatten, leaves, map_tree, paths
from wengert.engine.transforms.arguments import is_number
from wengert.parallel.identity import digest
from wengert.train.agreement import checksum
from wengert.train.checkpoint_files import Checkpoints
from wengert.train.loop import BarReporter, Progress, Reporter, steps_of, train
from wengert.train.reporters import EpochLines
from wengert.train.settings import OPTIONS, Settings, SettingsError, check_value
from wengert.train.state import (
    EpochResult,
    State,
    Trained,
    begin,
    best_epoch,
    outside_training,
    without_state,
)
from wengert.train.tasks import Task

_OWN = ("epoch", "loss", "seconds")
"""The columns of a history that are not metrics."""
_DIGESTS = ("loss", "optimiser", "model")
"""What a checkpoint holds as a digest; of the model the layers and their settings."""


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Fitted:
    """The result of `fit`; it prints as a table of the epochs.

    Example:
        >>> x = np.arange(6.0)
        >>> fitted = fit(np.zeros(1), lambda w, x: np.sum((x * w - 2 * x) ** 2), x, optim.sgd(0.01), epochs=2)
        >>> len(fitted.history), fitted.model.round(1)
        (2, array([2.]))
    """

    model: Any
    """The model of the last epoch, or of the best one; a `Trained` if its layers have a state."""
    history: list[dict[str, float]]
    """For each epoch ``epoch``, ``loss`` and the metrics, these with ``validation_`` before them, and ``seconds``."""
    best: int
    """The epoch of the lowest loss on the validation data, or on the data themselves; 0 before the first."""
    interrupted: bool
    """Whether Ctrl-C ended the training, or a reporter."""
    state: State
    """The training can be continued from it."""

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        heads = list(self.history[0]) if self.history else list(_OWN)
        rows = [[f"{row[head]:.4g}" for head in heads] for row in self.history]
        return [head.replace("_", " ") for head in heads], rows

    def __str__(self) -> str:
        heads, rows = self._cells()
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = [
            "  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)) for row in (heads, *rows)
        ]
        end = f"best epoch {self.best}{', interrupted' if self.interrupted else ''}"
        return "\n".join([*lines, end])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        heads, rows = self._cells()
        return in_notebook(short_table(f"Training, best epoch {self.best}", heads, rows, texts=0))


def fit(
    model: Any,
    loss: Callable[..., Any],
    data: Any,
    optimiser: optim.Optimiser | None = None,
    *,
    epochs: int = 1,
    batch_size: int = 32,
    validation: Any = None,
    metrics: Mapping[str, Callable[..., Any]] | None = None,
    patience: int | None = None,
    keep: str | None = None,
    seed: int = 0,
    checkpoints: str | os.PathLike[str] | None = None,
    save_every: float = 30.0,
    verbose: bool = False,
    reporter: Reporter | None = None,
    compiled: bool = True,
) -> Fitted:
    """Minimise the mean of a loss over batches of some data.

    The loop is that of `train`: several steps, from the choice of the examples to the update, are one call of native
    code. The same arguments give the same bits on the same number of threads. Layers with a state or with random
    numbers need nothing: in training ``model(x)`` is `nn.apply` with a new key, and afterwards a call of `Trained`.

    Args:
        model: a container of arrays; it is not modified.
        loss: ``loss(model, batch)``, the mean over a batch; for a tuple of data ``loss(model, *batch)``.
        data: an array, or a container of arrays (examples, ...), of which a batch holds some examples.
        optimiser: from `wengert.optim`; ``adam(1e-3)`` by default.
        epochs: the number of passes over the data, those before an interruption included.
        batch_size: examples of a step; the last batch of an epoch may have fewer.
        validation: data of the same form, which are not learned; their loss and metrics are computed after each epoch,
            as means over batches of at most 1000.
        metrics: functions like ``loss`` by name, means over a batch; they see the model as it is after training.
        patience: stop after this number of epochs in which the validation loss (without validation data, the loss) was
            not the lowest so far.
        keep: ``"last"`` returns the last model, ``"best"`` that of the epoch of the lowest such loss; by default the
            best with ``patience``.
        seed: of the order of the examples and of the layers' random numbers.
        checkpoints: a folder, where checkpoints are saved after each epoch, after an interruption, and every
            ``save_every`` seconds. If it holds some, the training continues from the newest with the same bits as
            without an interruption.
        save_every: the least number of seconds between checkpoints within an epoch.
        verbose: print a line for each epoch. Otherwise a bar is shown in a terminal or a notebook.
        reporter: is called after some steps and after each epoch, and may end the training by `KeyboardInterrupt`.
        compiled: compile the steps; otherwise NumPy runs each operation, which is faster for few tiny steps.

    Returns:
        The model and the history; after Ctrl-C those of the last step.

    Raises:
        ShapeError: the arrays hold different numbers of examples, or none; or the loss or a metric is not a number.
        ArgumentError: an argument is out of its range.
        SettingsError: the checkpoints are those of a run with other settings, another loss or optimiser, or other names
            of metrics.
        DataError: the checkpoints are those of another model or of other data, or all are damaged.
        DivergedError: the loss became NaN or infinite, or grew beyond all bounds.

    Example:
        >>> from wengert import nn
        >>> rng = np.random.default_rng(0)
        >>> x = rng.standard_normal((200, 2), dtype="f4")
        >>> data = {"x": x, "label": (x[:, 0] > x[:, 1]).astype(int)}
        >>> model = nn.Dense(2, 2, seed=0)
        >>> loss = lambda model, batch: nn.softmax_cross_entropy(model(batch["x"]), batch["label"])
        >>> right = lambda model, batch: nn.accuracy(model(batch["x"]), batch["label"])
        >>> fitted = fit(model, loss, data, optim.adam(0.05), epochs=8, metrics={"accuracy": right})
        >>> fitted.history[-1]["accuracy"] > 0.97
        True
    """
    metrics = dict(metrics or {})
    optimiser = optimiser or optim.adam(1e-3)
    task = _task(model, loss, data, optimiser, metrics)
    numbers = {"epochs": epochs, "batch_size": batch_size, "seed": seed, "save_every": save_every}
    settings = _settings(keep, patience, compiled, **numbers)
    data, validation = _checked("data", data, None), _checked("validation", validation, data)
    tested: Any = () if validation is None else validation
    labels: Any = ()
    dataset = Dataset(data, labels, tested, labels, "arrays", ())
    steps = steps_of(settings, dataset)
    start = begin(task, settings, epochs * steps)
    if isinstance(model, Trained) and start.layer_state is not None:
        start = start._replace(layer_state=start.layer_state._replace(state=model.state))
        start = start._replace(best=start.trained if settings.keep == "best" else None)
    saved = None
    if checkpoints is not None:
        decisive = loss, optimiser, flatten(without_state(model))[1]
        parts = dict(zip(_DIGESTS, map(digest, decisive), strict=True)) | {"metrics": list(metrics)}
        saved = Checkpoints(Path(checkpoints), task, settings, steps, checksum(dataset), **parts)
        start = _resumed(saved, settings, start)
    lines = EpochLines(epochs, verbose, validation is not None)
    with lines, Bar("fit", epochs * steps, wanted=False if verbose else None) as bar:
        shown = lines if verbose else BarReporter(bar)
        followers = _Followers([shown, *([reporter] if reporter else [])], saved, save_every)
        outcome = train(task, settings, dataset, followers, compiled=compiled, state=start)
    if saved is not None and outcome.interrupted:
        saved.save(outcome.state)
    history = [lines.described(result) for result in outcome.history]
    best = best_epoch(outcome.history, classifies=False)
    return Fitted(outcome.model, history, best, outcome.interrupted, outcome.state)


# -- arguments -------------------------------------------------------------------------------------------


def _settings(keep: str | None, patience: int | None, compiled: bool, **numbers: Any) -> Settings:
    keep = keep or ("last" if patience is None else "best")
    if keep not in ("last", "best"):
        raise ArgumentError(message("fit", 'keep must be "last" or "best"', repr(keep)))
    for name, number in (numbers | ({} if patience is None else {"patience": patience})).items():
        check_value(name.replace("_", "-"), number)
    return Settings("fit", "arrays", rate=0.0, patience=patience, keep=keep, eager=not compiled, **numbers)


def _checked(name: str, data: Any, other: Any) -> Any:
    """Return data as NumPy arrays of the same number of examples; ``other`` has the same structure."""
    if name == "validation" and data is None:
        return None
    columns, structure = flatten(data)
    for place, column in zip(paths(structure, name), columns, strict=True):
        if not is_number(column) or not shape_of(column):
            hint = "give arrays: np.asarray(numbers)" if isinstance(column, (int, float)) else ""
            raise DtypeError(message("fit", f"{place} must be an array (examples, ...)", repr(column), hint))
    counts = {len(column) for column in columns}
    if len(counts) != 1 or not min(counts):
        got = ", ".join(f"{p} {shape_of(c)}" for p, c in zip(paths(structure, name), columns, strict=True))
        raise ShapeError(
            message("fit", f"{name} must be arrays of the same number of examples", got or "none")
        )
    if other is not None and flatten(other)[1] != structure:
        raise ArgumentError(message("fit", "validation must have the structure of data", type(data).__name__))
    return map_tree(np.asarray, data)


def _task(
    model: Any,
    loss: Callable[..., Any],
    data: Any,
    optimiser: Any,
    metrics: Mapping[str, Callable[..., Any]],
) -> Task:
    """Return the loss, with the metrics as its score, as a task."""
    for name in metrics:
        if name in _OWN or name.startswith("validation_"):
            raise ArgumentError(message("fit", "a metric needs another name", repr(name)))
    if not isinstance(optimiser, optim.Optimiser):
        requirement, hint = "the optimiser must be an Optimiser", "for example optim.adam(1e-3)"
        raise ArgumentError(message("fit", requirement, type(optimiser).__name__, hint))
    spread = type(data) is tuple

    def measured(model: Any, batch: Any, labels: Any) -> tuple[Any, dict[str, Any]]:
        arguments, count = batch if spread else (batch,), shape_of(leaves(batch)[0])[0]
        outside = outside_training(model)
        value = _scalar("loss", loss(model, *arguments))
        return value, {
            name: _scalar(name, metric(outside, *arguments)) * count for name, metric in metrics.items()
        }

    parameters = without_state(model)
    return Task(
        "fit", "fit", lambda rng: parameters, _same, measured, classifies=False, optimiser=lambda rate, steps: optimiser
    )  # fmt: skip


def _same(batch: Any) -> Any:
    return batch


def _scalar(name: str, value: Any) -> Any:
    if not is_number(value) or shape_of(value):
        got = f"an array {shape_of(value)}" if isinstance(value, NDARRAY) or is_number(value) else repr(value)
        raise ShapeError(message("fit", f"{name} must return a number, the mean over the batch", got))
    return value


# -- checkpoints and reports -----------------------------------------------------------------------------


def _resumed(saved: Checkpoints, settings: Settings, start: State) -> State:
    """Return the newest saved state, or the start if there is none."""
    before = saved.content()
    fixed = {option.field: getattr(settings, option.field) for option in OPTIONS.values() if option.fixed}
    then = before.get("settings", {}) | before.get("parts", {})
    is_comparable = before.get("versions") == versions()  # other versions may have other code and digests
    fixed |= {name: part for name, part in saved.parts.items() if is_comparable or name not in _DIGESTS}
    others = [
        f"another {name}" if name in _DIGESTS else f"{name} {then[name]!r} in place of {now!r}"
        for name, now in fixed.items()
        if then.get(name, now) != now
    ]
    if others:
        found = f"fit: the checkpoints of {saved.folder} were saved with {', '.join(others)}"
        raise SettingsError(f"{found}: choose another folder")
    state, _ = saved.newest(start)
    if state is None and saved.folder.exists() and any(saved.folder.iterdir()):
        raise DataError(f"fit: {saved.folder} is not empty, and holds no checkpoints: choose another folder")
    if state is None:
        with contextlib.suppress(FileExistsError):
            saved.folder.mkdir(parents=True)
    return state or start


class _Followers:
    """Reporters in order, and checkpoints after each epoch and when it is time."""

    def __init__(self, reporters: Sequence[Reporter], saved: Checkpoints | None, pause: float) -> None:
        self._reporters, self._saved, self._pause, self._last = reporters, saved, pause, time.monotonic()

    def on_steps(self, progress: Progress, state: State) -> None:
        """Report some steps to all, and save a checkpoint if it is time."""
        for reporter in self._reporters:
            reporter.on_steps(progress, state)
        if time.monotonic() - self._last >= self._pause:
            self._save(state)

    def on_epoch(self, result: EpochResult, state: State) -> None:
        """Report an epoch to all, and save a checkpoint."""
        for reporter in self._reporters:
            reporter.on_epoch(result, state)
        self._save(state)

    def _save(self, state: State) -> None:
        if self._saved is not None:
            self._saved.save(state)
        self._last = time.monotonic()
