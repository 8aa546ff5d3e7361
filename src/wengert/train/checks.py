"""What the parts of a task of the user's must be: each is tried before the run, and an error names the part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from wengert.control.values import is_number
from wengert.core.shapes import shape_of
from wengert.core.tree import children, leaves
from wengert.optim import Optimiser
from wengert.train.images import Variation
from wengert.train.settings import Settings
from wengert.train.stateful import ModelError
from wengert.train.tasks import Task


def is_model(value: Any) -> bool:
    """Tell whether a value is a container of arrays that can be called.

    Example:
        >>> from wengert import nn
        >>> is_model(nn.Dense(2, 1, seed=0)), is_model(lambda rng: nn.Dense(2, 1, seed=rng)), is_model([1.0])
        (True, False, False)
    """
    values = leaves(value)
    return bool(values) and all(map(is_number, values)) and (callable(value) or hasattr(value, "apply"))


def advice_on(value: Any) -> str:
    """Return what to do about a value that is no model, as the end of a sentence; empty where nothing is known."""
    kind = cast("type[Any]", type(value))
    if (
        children(value) is None
        and callable(value)
        and hasattr(value, "__dict__")
        and kind.__module__ != "builtins"
    ):
        return f"; make {kind.__name__} a dataclass (@dataclass), so that its arrays are found"
    return ""


def check_parts(task: Task, name: str) -> None:
    """Raise `ModelError` where a part of a task is no function, or not what its name says.

    Args:
        task: of `own_task`.
        name: in the user's file.
    """
    if is_model(task.build):
        kind = type(task.build).__name__
        hint = f"put lambda rng: before it, and draw the weights from rng: {kind}(..., seed=rng)"
        raise _wrong(
            name, "network", "must be a function of a generator that returns a model", "a model", hint
        )
    for part, value, form in (
        ("network", task.build, "rng -> model"),
        ("prepare", task.prepare, "images -> inputs"),
        ("loss", task.loss, "(model, inputs, labels) -> (loss, score)"),
    ):
        if not callable(value):
            raise _wrong(name, part, f"must be a function, {form}", _shown(value))
    if not callable(task.optimiser):
        got, hint = _shown(task.optimiser), "write lambda rate, steps: optim.adam(rate), say"
        raise _wrong(name, "optimiser", "must be a function, (rate, steps) -> Optimiser", got, hint)
    vary: Any = task.vary
    if vary is not None and not (
        isinstance(vary, Variation) and callable(vary.draw) and callable(vary.apply)
    ):
        requirement = "must be a Variation of two functions, draw and apply"
        raise _wrong(name, "vary", requirement, _shown(vary))


def check_optimiser(task: Task, name: str, settings: Settings, steps: int, model: Any) -> None:
    """Raise `ModelError` where what a task makes for a run of some steps is no optimiser."""
    made: Any = task.descent(settings)(settings.rate, steps)
    if not isinstance(made, Optimiser):
        hint = "optim.chain makes one of transforms" if made is not None else "is there a return in it?"
        raise _wrong(name, "optimiser", "must return an Optimiser", _shown(made), hint)
    made.init(model)


def check_variation(task: Task, name: str, images: Any) -> None:
    """Raise `ModelError` where a task's variation makes other than so many images of some."""
    if task.vary is None:
        return
    count = len(images)
    drawn = np.asarray(task.vary.draw(np.random.default_rng(0), count))
    if drawn.dtype == object or shape_of(drawn)[:1] != (count,):
        requirement = f"must draw numbers (examples, ...), here ({count}, ...)"
        raise _wrong(name, "vary", requirement, _shown(drawn))
    varied = task.vary.apply(images, drawn)
    if not is_number(varied) or shape_of(varied)[:1] != (count,):
        raise _wrong(name, "vary", f"must return so many images as it gets, here {count}", _shown(varied))


def check_loss(name: str, found: Any) -> None:
    """Raise `ModelError` where what a task's loss returned is no loss and score."""
    pair = cast("Sequence[Any]", found) if isinstance(found, (tuple, list)) else ()
    if len(pair) != 2 or any(not is_number(value) or shape_of(value) for value in pair):
        requirement = "must return two numbers, (loss, score)"
        raise _wrong(name, "loss", requirement, _shown(found), "the score is a sum over the examples")


def _wrong(name: str, part: str, requirement: str, got: str, hint: str = "") -> ModelError:
    return ModelError(f"model: the {part} of {name} {requirement}; got {got}{hint and '; '}{hint}")


def _shown(value: Any) -> str:
    """Describe a value in a few words."""
    if value is None:
        return "None"
    if isinstance(value, (tuple, list)) and not hasattr(cast("Any", value), "_fields"):
        parts = ", ".join(map(_shown, cast("Sequence[Any]", value)))
        return f"({parts})"
    kind = cast("type[Any]", type(value)).__name__
    return f"{kind} {shape_of(value)}" if is_number(value) and shape_of(value) else kind
