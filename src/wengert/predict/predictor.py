"""A trained network as a function of images."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wengert import nn
from wengert.core.errors import ArgumentError, ShapeError, message, split_location
from wengert.core.shapes import shape_of
from wengert.data import DataError
from wengert.data.batches import consecutive
from wengert.data.dataset import DIGITS, SIZE
from wengert.data.mnist import SOURCES
from wengert.train.checkpoints import checkpoints_in
from wengert.train.folder import CHECKPOINTS, SOURCE
from wengert.train.own import blaming
from wengert.train.runs import Run
from wengert.train.tensors import SUFFIX

_AT_ONCE = 500
"""Images: enough for full speed, few enough for the memory."""


@dataclass(frozen=True)
class Predictor:
    """What a trained network takes images for.

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
            folder: of the run; or a file of one of its checkpoints, for the model as it was then.
            trust: run the run's copy of a user's file even if this user has not trained with it: see `Run.open`.

        Raises:
            DataError: the folder holds no run, a damaged one, one without a model yet, or one that does not classify.
            UntrustedError: the copy of a user's file would be run, and is not trusted.
        """
        path, checkpoint = Path(folder), None
        if path.absolute().parent.name == CHECKPOINTS and path.is_file():
            path, checkpoint = path.absolute().parents[1], path.with_suffix(SUFFIX)
        run = Run.open(path, trust=trust)
        if not run.task.classifies:
            raise DataError(
                f"{run.path}: the {run.task.title} does not classify images: it has no labels to predict"
            )
        try:
            model = run.model(checkpoint)
        except FileNotFoundError as problem:
            name = os.path.basename(str(problem.filename))
            why = f": {_why_not(run)}" if checkpoint is None else ", which the checkpoint consists of"
            raise DataError(f"{run.path}: the run has no {name}{why}") from None
        data = run.settings.data
        return cls(run, model, SOURCES[data].classes if data in SOURCES else DIGITS)

    def probabilities(self, images: Any) -> np.ndarray[Any, Any]:
        """Return the probability of each class, softmax of the network's logits.

        Args:
            images: uint8 (examples, height, width), of the size that the network learned.

        Returns:
            float64 (examples, classes); rows have the sum 1.

        Raises:
            ArgumentError: these are no such images.
            DataError: the network returns something else than finite logits.
        """
        images = np.asarray(images)
        if images.dtype != np.uint8 or images.ndim != 3:
            requirement = "images must be uint8 (examples, height, width)"
            raise ArgumentError(message("probabilities", requirement, f"{images.dtype}{list(images.shape)}"))
        parts = [self._of_batch(images[part]) for part in consecutive(len(images), _AT_ONCE)]
        return np.concatenate([np.zeros((0, len(self.classes))), *parts])

    def _of_batch(self, images: Any) -> Any:
        own = self.run.settings.model is not None
        with blaming(self.run.path / SOURCE) if own else contextlib.nullcontext():
            try:
                logits = self.model(self.run.task.prepare(images))
            except ShapeError as problem:
                if images.shape[1:] == SIZE:
                    raise
                learned, came = ("x".join(map(str, size)) for size in (SIZE, images.shape[1:]))
                requirement = f"images must be {learned}, as the network learned them"
                why = split_location(str(problem))[0].removesuffix(".")
                raise ArgumentError(message("probabilities", requirement, came, why)) from None
        expected = (len(images), len(self.classes))
        if shape_of(logits) != expected or not np.all(np.isfinite(logits)):
            what = f"finite logits {expected}; got {shape_of(logits)}, or numbers that are not finite"
            raise DataError(f"{self.run.path}: the network must return {what}")
        return nn.softmax(np.asarray(logits, np.float64))

    def labels(self, images: Any) -> list[str]:
        """Return the name of the most probable class of each image; see `probabilities`."""
        return [self.classes[best] for best in np.argmax(self.probabilities(images), axis=1)]


def _why_not(run: Run) -> str:
    """Say why a run has no model, and what can be used instead."""
    problem = (run.summary or {}).get("problem")
    why = f"it diverged: {problem}" if problem else "it has not come to its end"
    for file in checkpoints_in(run.path / CHECKPOINTS):
        return f"{why}; the model of its newest checkpoint: wengert predict {file.with_suffix(SUFFIX)}"
    return f"{why}; it has no checkpoint"
