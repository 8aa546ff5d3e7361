"""Networks of the user's own, from a Python file."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from wengert import nn
from wengert.control.values import is_number
from wengert.data import Dataset
from wengert.errors import WengertError
from wengert.shapes import shape_of
from wengert.train.settings import SettingsError
from wengert.train.tasks import Task
from wengert.tree import children, leaves


class ModelError(WengertError, ValueError):
    """A network of the user's that cannot be made, or does not fit the data."""


def own_task(place: str, source: Path | None = None) -> Task:
    """Return the task that a Python file defines.

    The file is run. The name in it is a function of a `numpy.random.Generator` that returns a model, which is then
    trained to classify: it gets float32 images (examples, 1, height, width) in units of MNIST's deviation, and returns
    logits (examples, classes); the loss is their cross-entropy, the optimiser Adam. Or the name is a `Task`, which
    chooses all of this itself.

    Args:
        place: ``FILE.py:NAME``.
        source: a copy of the file that is run instead; modules beside the original are found all the same.

    Raises:
        SettingsError: there is no such file, or no such name in it.
        ModelError: the file fails as it runs.
    """
    file, colon, name = place.rpartition(":")
    if not (colon and name.isidentifier() and file.endswith(".py")):
        raise SettingsError(f"model must be FILE.py:FUNCTION; got {place!r}")
    found = _names(source or Path(file), Path(file).parent).get(name)
    if isinstance(found, Task):
        return found
    if not callable(found):
        what = "is no function and no Task" if found is not None else "is not there"
        raise SettingsError(f"model: {name} {what} in {file}")
    return Task(name, f"{name} of {os.path.basename(file)}", found)


def _names(path: Path, folder: Path) -> dict[str, Any]:
    """Run a file as a module of its own, beside which its neighbours are found, and return what it defines."""
    try:
        code = compile(path.read_text("utf-8"), str(path), "exec")
    except OSError as problem:
        raise SettingsError(f"model: {path} cannot be read: {problem.strerror or problem}") from None
    except (SyntaxError, ValueError) as problem:
        raise ModelError(f"model: {path} is no Python: {problem}") from None
    module = ModuleType(f"wengert_model_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look there for the meaning of annotations
    sys.path.insert(0, str(folder.resolve()))
    try:
        with blaming(path):
            exec(code, module.__dict__)
    finally:
        sys.path.remove(str(folder.resolve()))
    return vars(module)


@contextmanager
def blaming(path: Path) -> Generator[None, None, None]:
    """Turn what a user's program raises into one line with the line of the program."""
    try:
        yield
    except (WengertError, MemoryError):
        raise
    except (Exception, SystemExit) as problem:
        frames = [one for one in traceback.extract_tb(problem.__traceback__) if one.filename == str(path)]
        line = f":{frames[-1].lineno}" if frames else ""
        raise ModelError(f"model: {path}{line}: {type(problem).__name__}: {problem}") from None


def _keeps_more(value: Any) -> Any:
    """Return a layer that has a state or draws random numbers, which the loop does not provide; None without one."""
    if hasattr(value, "apply") and not isinstance(value, nn.Chain):
        return value
    found = map(_keeps_more, (children(value) or {}).values())
    return next((layer for layer in found if layer is not None), None)


def check_model(task: Task, name: str, file: Path, dataset: Dataset) -> None:
    """Raise `ModelError` where a network of the user's is no model, or does not fit the data.

    Args:
        task: of `own_task`.
        name: in the file.
        file: that was run.
        dataset: what is to be learned.
    """
    with blaming(file):
        model = task.build(np.random.default_rng(0))
        values = leaves(model)
        if not callable(model) or not values or not all(map(is_number, values)):
            requirement = "must return a model: a container of arrays that can be called"
            raise ModelError(f"model: {name} {requirement}; got {type(model).__name__}")
        if (layer := _keeps_more(model)) is not None:
            requirement = "must have layers that are functions of their input"
            hint = "train it in a loop of your own: see docs/networks.md"
            raise ModelError(f"model: {name} {requirement}; it has a {type(layer).__name__}: {hint}")
        inputs = task.prepare(dataset.test_images[:2])
        outputs = shape_of(model(inputs))
        if task.classifies and outputs != (2, len(dataset.classes)):
            requirement = f"must return logits (examples, {len(dataset.classes)})"
            raise ModelError(f"model: {name} {requirement}; for {shape_of(inputs)} it returned {outputs}")
        task.loss(model, inputs, dataset.test_labels[:2])
