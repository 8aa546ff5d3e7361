"""Networks of the user's own, from a Python file."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from wengert.core.errors import ShapeError, WengertError
from wengert.core.shapes import shape_of
from wengert.data import Dataset
from wengert.ir.types import show
from wengert.train.checks import (
    advice_on,
    check_loss,
    check_optimiser,
    check_parts,
    check_variation,
    is_model,
)
from wengert.train.folder import MODULES, SETTINGS, SOURCE
from wengert.train.loop import steps_of
from wengert.train.settings import Settings, SettingsError
from wengert.train.stateful import Memory, ModelError, first_memory, trained, training_loss
from wengert.train.tasks import Task

_FOUND: set[str] = set()
"""The modules that the file run last found beside it: the next one may mean others by these names."""


def own_task(place: str, source: Path | None = None) -> Task:
    """Return the task that a Python file defines.

    The file is run. The name in it is a function of a `numpy.random.Generator` that returns a model, which is then
    trained to classify: it gets float32 images (examples, 1, height, width) in units of MNIST's deviation, and returns
    logits (examples, classes); the loss is their cross-entropy, the optimiser Adam. Or the name is a `Task`, which
    chooses all of this itself.

    Args:
        place: ``FILE.py:NAME``.
        source: a copy of the file that is run instead. What it imports is looked for in the folder `MODULES` beside
            the copy, then beside the original.

    Raises:
        SettingsError: there is no such file, or no such name in it.
        ModelError: the file fails as it runs.
    """
    file, colon, name = place.rpartition(":")
    if not (colon and name.isidentifier() and file.endswith(".py")):
        raise SettingsError(f"model must be FILE.py:FUNCTION; got {place!r}")
    folder = Path(file).parent
    path = source or Path(file)
    found = _names(path, [folder] if source is None else [source.parent / MODULES, folder]).get(name)
    if isinstance(found, Task):
        return found
    if not callable(found):
        what = "is no function and no Task" if found is not None else "is not there"
        raise SettingsError(f"model: {name} {what} in {file}")
    return Task(name, f"{name} of {os.path.basename(file)}", found)


def _names(path: Path, folders: Sequence[Path]) -> dict[str, Any]:
    """Run a file as a module of its own that finds others in some folders, and return what it defines."""
    try:
        code = compile(path.read_text("utf-8"), str(path), "exec")
    except OSError as problem:
        raise SettingsError(f"model: {path} cannot be read: {problem.strerror or problem}") from None
    except (SyntaxError, ValueError) as problem:
        raise ModelError(f"model: {path} is no Python: {problem}") from None
    module = ModuleType(f"wengert_model_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look there for the meaning of annotations
    with _beside(folders), blaming(path):
        exec(code, module.__dict__)
    return vars(module)


@contextmanager
def _beside(folders: Sequence[Path]) -> Generator[None, None, None]:
    """Let imports find what is in some folders, as it is now; what another file found elsewhere is forgotten."""
    for name in _FOUND:
        sys.modules.pop(name, None)
    _FOUND.clear()
    places = [str(folder.resolve()) for folder in folders]
    known, writes = set(sys.modules), sys.dont_write_bytecode
    sys.path[:0] = places
    sys.dont_write_bytecode = True  # a run's folder holds what the run wrote
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.dont_write_bytecode = writes
        for place in places:
            sys.path.remove(place)
        for name in sys.modules.keys() - known:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if any(file.startswith(place + os.sep) for place in places):
                _FOUND.add(name)


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
        hint = _how_to_find(problem, path)
        raise ModelError(f"model: {path}{line}: {type(problem).__name__}: {problem}{hint}") from None


def _how_to_find(problem: BaseException, path: Path) -> str:
    """Say what to do about a module that is not found, as the end of a sentence."""
    if not isinstance(problem, ModuleNotFoundError) or not problem.name:
        return ""
    file = f"{problem.name.replace('.', '/')}.py"
    if path.name == SOURCE and (path.parent / SETTINGS).exists():
        kept = path.parent / MODULES
        if (kept / file).exists():
            return "; import it at the top of the file, not in a function"
        return f"; install it, or put {file} into {kept}, where the run's file looks for it"
    if (path.parent / file).exists():
        return "; import it at the top of the file, not in a function"
    return f"; it is not installed, and there is no {path.parent / file}"


def check_model(task: Task, name: str, file: Path, dataset: Dataset, settings: Settings) -> None:
    """Raise `ModelError` where a network of the user's is no model, or does not fit the data.

    Args:
        task: of `own_task`.
        name: in the file.
        file: that was run.
        dataset: what is to be learned.
        settings: of the run.
    """
    check_parts(task, name)
    with blaming(file):
        rng = np.random.default_rng(0)
        model = task.build(rng)
        if not is_model(model):
            requirement = "must return a model: a container of arrays that can be called"
            raise ModelError(f"model: {name} {requirement}; got {type(model).__name__}{advice_on(model)}")
        memory = first_memory(model, rng)
        inputs = task.prepare(dataset.test_images[:2])
        try:
            outputs = shape_of(trained(model, memory)(inputs))
        except ShapeError as problem:
            raise ModelError(f"model: {name} does not take its inputs, {show(inputs)}: {problem}") from None
        if task.classifies and outputs != (2, len(dataset.classes)):
            requirement = f"must return logits (examples, {len(dataset.classes)})"
            raise ModelError(f"model: {name} {requirement}; for {shape_of(inputs)} it returned {outputs}")
        check_loss(name, task.loss(trained(model, memory), inputs, dataset.test_labels[:2]))
        check_variation(task, name, dataset.train_images[:2])
        check_optimiser(task, name, settings, settings.epochs * steps_of(settings, dataset), model)
        _check_smallest(task, model, memory, dataset, settings.batch_size)


def _check_smallest(task: Task, model: Any, memory: Memory | None, dataset: Dataset, batch_size: int) -> None:
    """Raise `ModelError` where layers refuse a batch of one example, and an epoch has such a batch."""
    total = len(dataset.train_images)
    smallest = total % batch_size or batch_size
    inputs, labels = task.prepare(dataset.train_images[: min(2, smallest)]), dataset.train_labels
    try:
        training_loss(task, model, memory, inputs, labels[: len(inputs)])
    except ShapeError as problem:
        if memory is None or smallest > 1:
            raise
        hint = f"choose another batch-size than {batch_size} for {total:,} images"
        raise ModelError(f"model: the last batch of an epoch has one image: {problem}: {hint}") from None
