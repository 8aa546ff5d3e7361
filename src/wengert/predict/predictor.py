"""A trained network as a function of images."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wengert import nn
from wengert.data import DataError
from wengert.data.batches import consecutive
from wengert.data.dataset import DIGITS, SIZE
from wengert.data.mnist import SOURCES
from wengert.engine.core.errors import ArgumentError, ShapeError, message, split_location
from wengert.engine.core.shapes import shape_of
from wengert.train.checkpoint_files import checkpoints_in
from wengert.train.runs import CHECKPOINTS, Run
from wengert.train.storage import SUFFIX
from wengert.train.user_models import SOURCE, blaming

_AT_ONCE = 500
"""Images per batch: enough for full speed, few enough to fit into memory."""


@dataclass(frozen=True)
class Predictor:
    """A trained network that classifies images.

    Example:
        >>> import tempfile
        >>> from wengert.data import digit_set, digits
        >>> from wengert.train import TASKS, Outcome, Run, RunFolder
        >>> from wengert.train.state import begin
        >>> task = TASKS["mlp"]
        >>> settings = task.settings("digits")
        >>> folder = RunFolder(os.path.join(tempfile.mkdtemp(), "run"), settings)
        >>> state = begin(task, settings, 1)
        >>> folder.finish(Outcome(state.model, [], False, state))
        >>> predictor = Predictor.open(folder.path)
        >>> predictor.probabilities(digits(3)[0]).shape
        (3, 10)
    """

    run: Run
    model: Any
    classes: tuple[str, ...]

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, trust: bool = False) -> Predictor:
        """Return the predictor of a run.

        Args:
            folder: of the run; or a file of a checkpoint, for the model at that time.
            trust: as in `Run.open`.

        Returns:
            The predictor.

        Raises:
            DataError: the run does not exist, is damaged, has no model yet, or does not classify.
            UntrustedError: the copy of a user's file is not trusted.
        """
        run, checkpoint = located(folder, trust=trust)
        if not run.task.classifies:
            raise DataError(f"{run.path}: the {run.task.title} does not classify images, so it has no labels")
        model, data = loaded(run, checkpoint), run.settings.data
        return cls(run, model, SOURCES[data].classes if data in SOURCES else DIGITS)

    def probabilities(self, images: Any) -> np.ndarray[Any, Any]:
        """Return the probability of each class: the softmax of the network's logits.

        Args:
            images: uint8 (examples, height, width), of the network's input size.

        Returns:
            float64 (examples, classes); each row sums to 1.

        Raises:
            ArgumentError: the images have another dtype or shape.
            DataError: the network does not return finite logits.
        """
        images = np.asarray(images)
        if images.dtype != np.uint8 or images.ndim != 3:
            requirement = "images must be uint8 (examples, height, width)"
            raise ArgumentError(message("probabilities", requirement, f"{images.dtype}{list(images.shape)}"))
        parts = [self._of_batch(images[part]) for part in consecutive(len(images), _AT_ONCE)]
        return np.concatenate([np.zeros((0, len(self.classes))), *parts])

    def _of_batch(self, images: Any) -> Any:
        with blaming(None if self.run.settings.model is None else self.run.path / SOURCE):
            try:
                logits = self.model(self.run.task.prepare(images))
            except ShapeError as problem:
                if images.shape[1:] == SIZE:
                    raise
                learned, actual = ("x".join(map(str, size)) for size in (SIZE, images.shape[1:]))
                requirement = f"images must be {learned}, the network's input size"
                reason = split_location(str(problem))[0].removesuffix(".")
                raise ArgumentError(message("probabilities", requirement, actual, reason)) from None
        expected = (len(images), len(self.classes))
        if shape_of(logits) != expected or not np.all(np.isfinite(logits)):
            got = f"{shape_of(logits)}, or numbers that are not finite"
            raise DataError(f"{self.run.path}: the network must return finite logits {expected}; got {got}")
        return nn.softmax(np.asarray(logits, np.float64))

    def labels(self, images: Any) -> list[str]:
        """Return the name of the most probable class of each image.

        Args:
            images: as in `probabilities`.

        Returns:
            One label for each image.
        """
        return [self.classes[best] for best in np.argmax(self.probabilities(images), axis=1)]


def located(folder: str | os.PathLike[str], *, trust: bool) -> tuple[Run, Path | None]:
    """Return the run of a folder, or of a file of a checkpoint and that file; see `Predictor.open`."""
    path, checkpoint = Path(folder), None
    if path.absolute().parent.name == CHECKPOINTS and path.is_file():
        path, checkpoint = path.absolute().parents[1], path.with_suffix(SUFFIX)
    return Run.open(path, trust=trust), checkpoint


def loaded(run: Run, checkpoint: Path | None) -> Any:
    """Return the model of a run, of its end or of a checkpoint; `DataError` if there is none."""
    try:
        return run.model(checkpoint)
    except FileNotFoundError as problem:
        name = os.path.basename(str(problem.filename))
        reason = f": {_why_no_model(run)}" if checkpoint is None else ", which is part of the checkpoint"
        raise DataError(f"{run.path}: the run has no {name}{reason}") from None


def _why_no_model(run: Run) -> str:
    problem = (run.summary or {}).get("problem")
    reason = f"it diverged: {problem}" if problem else "it has not finished"
    for file in checkpoints_in(run.path / CHECKPOINTS):
        return f"{reason}; use its newest checkpoint: wengert predict {file.with_suffix(SUFFIX)}"
    return f"{reason}; it has no checkpoint"
