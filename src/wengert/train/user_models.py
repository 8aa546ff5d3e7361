"""Networks from a user's Python file: it is run, its imports are found, and its parts are checked before a run."""

from __future__ import annotations

import ast
import os
import traceback
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np

from wengert.data import Dataset
from wengert.engine.core.errors import ShapeError, WengertError
from wengert.engine.core.programs import ProgramError, UnreadableError, compiled, importing_from, run
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import children, leaves
from wengert.engine.ir.types import show
from wengert.engine.transforms.arguments import is_number
from wengert.optim import Optimiser
from wengert.train.loop import steps_of
from wengert.train.settings import Settings, SettingsError
from wengert.train.state import LayerState, ModelError, initial_layer_state, trained_model, training_loss
from wengert.train.tasks import Task, Variation

SETTINGS, SOURCE, MODULES = "settings.json", "model.py", "modules"
"""In a run's folder: the settings, the copy of the user's file, and the folder with copies of its local imports."""


def user_task(place: str, source: Path | None = None) -> Task:
    """Return the task that a Python file defines.

    The file is run. The name in it is a `Task`, or a function of a `numpy.random.Generator` that returns a model. A
    model from a function is trained to classify: it gets float32 images (examples, 1, height, width), standardised as
    MNIST, and returns logits (examples, classes); the loss is their cross-entropy, the optimiser Adam.

    ``source`` is a copy of the file to run instead; its imports are searched for in the folder `MODULES` beside it,
    then beside the original.
    """
    file, colon, name = place.rpartition(":")
    if not (colon and name.isidentifier() and file.endswith(".py")):
        raise SettingsError(f"model must be FILE.py:NAME; got {place!r}")
    folder = Path(file).parent
    path = source or Path(file)
    value = _names(path, [folder] if source is None else [source.parent / MODULES, folder]).get(name)
    if isinstance(value, Task):
        return value
    if not callable(value):
        problem = "must be a function or a Task" if value is not None else "is not defined"
        raise SettingsError(f"model: {name} {problem} in {file}")
    return Task(name, f"{name} of {os.path.basename(file)}", value)


def _names(path: Path, folders: Sequence[Path]) -> dict[str, Any]:
    try:
        code = compiled(path)
    except UnreadableError as problem:
        raise SettingsError(f"model: {problem}") from None
    except ProgramError as problem:
        raise ModelError(f"model: {problem}") from None
    with importing_from(folders), blaming(path):
        return vars(run(code))


@contextmanager
def blaming(path: Path | None) -> Generator[None, None, None]:
    """Turn an exception in a user's program into a `ModelError` with the program's line; None: change nothing."""
    try:
        yield
    except (WengertError, MemoryError):
        raise
    except (Exception, SystemExit) as problem:
        if path is None:
            raise
        frames = [
            frame for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == str(path)
        ]
        line = f":{frames[-1].lineno}" if frames else ""
        hint = _import_hint(problem, path)
        raise ModelError(f"model: {path}{line}: {type(problem).__name__}: {problem}{hint}") from None


def _import_hint(problem: BaseException, path: Path) -> str:
    """Return a remedy for a module that is not found, as the end of a sentence."""
    if not isinstance(problem, ModuleNotFoundError) or not problem.name:
        return ""
    file = f"{problem.name.replace('.', '/')}.py"
    is_copy = path.name == SOURCE and (path.parent / SETTINGS).exists()
    folder = path.parent / MODULES if is_copy else path.parent
    if (folder / file).exists():
        return "; import it at the top of the file, not in a function"
    if is_copy:
        return f"; install it, or put {file} into {folder}, from which the run's file imports"
    return f"; install it, or create {folder / file}"


# -- local imports ---------------------------------------------------------------------------------------


def local_imports(file: Path) -> dict[str, Path]:
    """Return the modules beside a file that it imports, directly or through one another, by relative path.

    Imports inside functions count. Imports by a computed name and files that are only read are not found.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "parts").mkdir()
        >>> for name, text in {"mine": "from parts import blocks", "parts/blocks": "import json"}.items():
        ...     _ = (folder / f"{name}.py").write_text(text)
        >>> list(local_imports(folder / "mine.py"))
        ['parts/blocks.py']
    """
    folder, modules = file.parent, dict[str, Path]()
    waiting: list[tuple[Path, tuple[str, ...]]] = [(file, ())]
    while waiting:
        for name in _imported(*waiting.pop()):
            for place, package in _candidates(name):
                key, path = place.as_posix(), folder / place
                if key not in modules and path.is_file() and path != file:
                    modules[key] = path
                    waiting.append((path, package))
    return dict(sorted(modules.items()))


def _imported(path: Path, package: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the dotted names that a file imports; ``from x import y`` may import a module ``x.y``."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return  # running the file reports the problem
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = tuple(package[: len(package) - node.level + 1]) if node.level else ()
            start += tuple(node.module.split(".")) if node.module else ()
            yield start
            yield from ((*start, alias.name) for alias in node.names)


def _candidates(name: tuple[str, ...]) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield the files that importing a name may run, with their packages."""
    for count in range(1, len(name) + 1):
        if name[0] != "wengert" and all(part.isidentifier() for part in name[:count]):
            part = Path(*name[:count])
            yield part.with_suffix(".py"), name[: count - 1]
            yield part / "__init__.py", name[:count]


# -- checks ----------------------------------------------------------------------------------------------


def is_model(value: Any) -> bool:
    """Return whether a value is a container of arrays that can be called.

    Example:
        >>> from wengert import nn
        >>> is_model(nn.Dense(2, 1, seed=0)), is_model(lambda rng: nn.Dense(2, 1, seed=rng)), is_model([1.0])
        (True, False, False)
    """
    values = leaves(value)
    return bool(values) and all(map(is_number, values)) and (callable(value) or hasattr(value, "apply"))


def model_hint(value: Any) -> str:
    """Return a remedy for a value that is not a model, as the end of a sentence; empty if there is none."""
    kind = cast("type[Any]", type(value))
    is_object = callable(value) and hasattr(value, "__dict__") and kind.__module__ != "builtins"
    if children(value) is None and is_object:
        return f"; make {kind.__name__} a dataclass (@dataclass), so that its arrays are found"
    return ""


def check_model(task: Task, name: str, file: Path, dataset: Dataset, settings: Settings) -> None:
    """Raise `ModelError` if a user's network is not a model, or does not fit the data."""
    _check_parts(task, name)
    with blaming(file):
        rng = np.random.default_rng(0)
        model = task.build(rng)
        if not is_model(model):
            requirement = "must return a model: a container of arrays that can be called"
            raise ModelError(f"model: {name} {requirement}; got {type(model).__name__}{model_hint(model)}")
        layer_state = initial_layer_state(model, rng)
        inputs, trained = task.prepare(dataset.test_images[:2]), trained_model(model, layer_state)
        try:
            outputs = shape_of(trained(inputs))
        except ShapeError as problem:
            raise ModelError(f"model: {name} does not accept its inputs, {show(inputs)}: {problem}") from None
        if task.classifies and outputs != (2, len(dataset.classes)):
            requirement = f"must return logits (examples, {len(dataset.classes)})"
            raise ModelError(f"model: {name} {requirement}; for {shape_of(inputs)} it returned {outputs}")
        _check_loss(name, task.loss(trained, inputs, dataset.test_labels[:2]))
        _check_variation(task, name, dataset.train_images[:2])
        _check_optimiser(task, name, settings, settings.epochs * steps_of(settings, dataset), model)
        _check_smallest(task, model, layer_state, dataset, settings.batch_size)


def _check_parts(task: Task, name: str) -> None:
    if is_model(task.build):
        kind = type(task.build).__name__
        hint = f"put lambda rng: before it, and draw the weights from rng: {kind}(..., seed=rng)"
        raise _wrong(
            name, "network", "must be a function of a generator that returns a model", "a model", hint
        )
    for part, value, form, hint in (
        ("network", task.build, "rng -> model", ""),
        ("prepare", task.prepare, "images -> inputs", ""),
        ("loss", task.loss, "(model, inputs, labels) -> (loss, score)", ""),
        (
            "optimiser",
            task.optimiser,
            "(rate, steps) -> Optimiser",
            "for example lambda rate, steps: optim.adam(rate)",
        ),
    ):
        if not callable(value):
            raise _wrong(name, part, f"must be a function, {form}", _described(value), hint)
    vary: Any = task.vary
    if vary is not None and not (
        isinstance(vary, Variation) and callable(vary.draw) and callable(vary.apply)
    ):
        requirement = "must be a Variation of two functions, draw and apply"
        raise _wrong(name, "vary", requirement, _described(vary))


def _check_optimiser(task: Task, name: str, settings: Settings, steps: int, model: Any) -> None:
    optimiser: Any = task.descent(settings)(settings.rate, steps)
    if not isinstance(optimiser, Optimiser):
        hint = "does it return a value?" if optimiser is None else "optim.chain makes one from transforms"
        raise _wrong(name, "optimiser", "must return an Optimiser", _described(optimiser), hint)
    optimiser.init(model)


def _check_variation(task: Task, name: str, images: Any) -> None:
    if task.vary is None:
        return
    count = len(images)
    numbers = np.asarray(task.vary.draw(np.random.default_rng(0), count))
    if numbers.dtype == object or shape_of(numbers)[:1] != (count,):
        requirement = f"must draw numbers (examples, ...), here ({count}, ...)"
        raise _wrong(name, "vary", requirement, _described(numbers))
    varied = task.vary.apply(images, numbers)
    if not is_number(varied) or shape_of(varied)[:1] != (count,):
        requirement = f"must return as many images as it gets, here {count}"
        raise _wrong(name, "vary", requirement, _described(varied))


def _check_loss(name: str, value: Any) -> None:
    pair = cast("Sequence[Any]", value) if isinstance(value, (tuple, list)) else ()
    if len(pair) != 2 or any(not is_number(part) or shape_of(part) for part in pair):
        requirement = "must return two numbers, (loss, score)"
        raise _wrong(name, "loss", requirement, _described(value), "the score is a sum over the examples")


def _check_smallest(
    task: Task, model: Any, layer_state: LayerState | None, dataset: Dataset, batch_size: int
) -> None:
    """Raise `ModelError` if the last batch of an epoch has one example, and the layers do not accept one."""
    total = len(dataset.train_images)
    smallest = total % batch_size or batch_size
    inputs, labels = task.prepare(dataset.train_images[: min(2, smallest)]), dataset.train_labels
    try:
        training_loss(task, model, layer_state, inputs, labels[: len(inputs)])
    except ShapeError as problem:
        if layer_state is None or smallest > 1:
            raise
        hint = f"choose another batch-size than {batch_size} for {total:,} images"
        raise ModelError(f"model: the last batch of an epoch has one image: {problem}: {hint}") from None


def _wrong(name: str, part: str, requirement: str, got: str, hint: str = "") -> ModelError:
    return ModelError(f"model: the {part} of {name} {requirement}; got {got}{hint and '; '}{hint}")


def _described(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, (tuple, list)) and not hasattr(cast("Any", value), "_fields"):
        return f"({', '.join(map(_described, cast('Sequence[Any]', value)))})"
    kind = cast("type[Any]", type(value)).__name__
    return f"{kind} {shape_of(value)}" if is_number(value) and shape_of(value) else kind
