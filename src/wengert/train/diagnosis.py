"""Why a run diverged: the step, and the layer whose output or gradient was the first that is no finite number."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import numpy as np

from wengert import nn
from wengert.boxes import concrete
from wengert.core.errors import WengertError
from wengert.core.tree import children, flatten, is_namedtuple, leaves, map_tree, paths
from wengert.train.settings import Settings
from wengert.train.state import State
from wengert.train.stateful import training_loss
from wengert.train.steps import Advance, Steps
from wengert.transforms.reverse_mode import value_and_grad

_GROWN = 1e4
"""Times what the loss was at the first step, or 1 if that was less: no run comes back from there."""


class DivergedError(WengertError, ArithmeticError):
    """The loss became NaN or infinite, or grew out of all proportion."""


def is_finite(tree: Any) -> bool:
    """Tell whether all numbers of a tree are finite."""
    return all(bool(np.all(np.isfinite(leaf))) for leaf in leaves(tree))


def check_group(taking: Steps, settings: Settings, before: State, after: Advance, given: Any) -> None:
    """Raise `DivergedError` where some steps ended in a loss or in parameters that are no good.

    Args:
        taking: what took the steps.
        settings: of the run.
        before: the state before them.
        after: what they came to.
        given: the images, labels, indices and variations that they saw.
    """
    losses = np.asarray(after.losses, np.float64)
    first = float(losses[0]) if before.first_loss is None else before.first_loss
    grown = np.abs(losses) > _GROWN * max(abs(first), 1.0)
    wrong = ~np.isfinite(losses)
    if not (wrong.any() or grown.any()) and is_finite((after.model, after.memory)):
        return
    if wrong.any() or not grown.any():
        cause = _first_cause(taking, before, given)
        position = cause.step if cause else int(np.argmax(wrong)) if wrong.any() else len(losses) - 1
        bad = (
            f"the loss became {losses[wrong][0]}"
            if wrong.any()
            else "the parameters or the layers' state are no longer finite"
        )
        why = f" {cause.what}:" if cause else ""
    else:
        position = int(np.argmax(grown))
        bad, why = f"the loss grew to {losses[position]:.4g} from {first:.4g} at the first step", ""
    step, hint = before.step + position + 1, _hint(settings)
    if before.first_loss is None and position == 0 and (wrong[0] or why.startswith(" the gradient")):
        hint = _at_the_start(taking, before, given)
    raise DivergedError(f"{bad} in epoch {before.epoch}, step {step}:{why} {hint}")


def check_tested(loss: float, settings: Settings, epoch: int) -> None:
    """Raise `DivergedError` where the loss on the test images is no finite number."""
    if not np.isfinite(loss):
        raise DivergedError(
            f"the loss became {loss} on the test images after epoch {epoch}: {_hint(settings)}"
        )


def _hint(settings: Settings) -> str:
    return f"try a smaller learning rate than {settings.rate:g}"


def _at_the_start(taking: Steps, before: State, given: Any) -> str:
    """Say where to look when no step has been taken yet, so that no learning rate is to blame."""
    images, labels, index, numbers = given
    inputs, _ = taking.batch(images, labels, index[0], None if numbers is None else numbers[0])
    if not is_finite(inputs):
        return "the inputs are not finite: look at the images and at what prepares them"
    if (name := _first_bad(before.model)) is not None:
        return f"{name} is not finite from the start: look at how it is initialised"
    return "the inputs and the first parameters are finite: look at the network and the loss"


# -- the first number that is not finite -----------------------------------------------------------------


class _Cause(NamedTuple):
    step: int
    """Of the group, from 0."""
    what: str


def _first_cause(taking: Steps, before: State, given: Any) -> _Cause | None:
    """Take the steps once more by NumPy, layer by layer, up to the first number that is not finite."""
    images, labels, index, numbers = given
    eager = Steps(taking.task, taking.optimiser, compiled=False)
    model, memory, optimiser = before.model, before.memory, before.optimiser
    for step, batch in enumerate(index):
        varied = None if numbers is None else numbers[step]
        what = _cause_of_step(eager, model, memory, *eager.batch(images, labels, batch, varied))
        if what is None:
            after = eager.step(model, memory, optimiser, images, labels, batch, varied)
            model, memory, optimiser = after.model, after.memory, after.state
            if (name := _first_bad(model)) is not None:
                what = f"the update of {name} is not finite"
            elif memory is not None and (name := _first_bad(memory.state, "state")) is not None:
                what = f"the next {name} of the layers is not finite"
        if what is not None:
            return _Cause(step, what)
    return None  # rounding differs between the two ways to compute


def _cause_of_step(taking: Steps, model: Any, memory: Any, inputs: Any, labels: Any) -> str | None:
    """Say what of a step's outputs and gradients is not finite, the first in the order of computation."""
    outputs: list[tuple[str, Any]] = []
    loss, _ = training_loss(taking.task, _Watch(outputs).over(model), memory, inputs, labels)
    for name, output in outputs:
        if not is_finite(output):
            return f"the output of {name} is not finite"
    if not is_finite(loss):
        return "the loss of finite outputs is not finite"

    def shifted(model: Any, offsets: Any) -> Any:
        watched = _Watch([], iter(offsets)).over(model)
        return training_loss(taking.task, watched, memory, inputs, labels)[0]

    # The derivative by a number added to an output is the derivative by the output.
    offsets = [map_tree(np.zeros_like, output) for _, output in outputs]
    _, (gradient, cotangents) = value_and_grad(shifted, argnums=(0, 1))(model, offsets)
    for (name, _), cotangent in zip(reversed(outputs), reversed(cotangents), strict=True):
        if not is_finite(cotangent):
            return f"the gradient at the output of {name} is not finite"
    name = _first_bad(gradient)
    return None if name is None else f"the gradient of {name} is not finite"


def _first_bad(tree: Any, root: str = "model") -> str | None:
    """Return the name of the first leaf that is not finite."""
    values, structure = flatten(tree)
    named = zip(paths(structure, root), values, strict=True)
    return next((name for name, value in named if not is_finite(value)), None)


class _Watch:
    """Notes the outputs of a model's layers as they are computed, and may add something to them."""

    def __init__(self, outputs: list[tuple[str, Any]], offsets: Iterator[Any] | None = None) -> None:
        self.outputs, self.offsets = outputs, offsets

    def over(self, value: Any, name: str = "model") -> Any:
        """Return a model like ``value`` whose layers are watched."""
        parts = children(value)
        if parts is None:
            return value
        if isinstance(value, (list, tuple, dict)):
            watched = {key: self.over(part, f"{name}[{key!r}]") for key, part in parts.items()}
            return _like(value, watched)
        layer = copy.copy(value)
        for field, part in parts.items():
            object.__setattr__(layer, field, self.over(part, f"{name}.{field}"))
        if hasattr(value, "apply") and not isinstance(value, nn.Chain):
            return _Stateful(layer, name, self)
        return layer if isinstance(value, nn.Chain) or not callable(value) else _Layer(layer, name, self)

    def note(self, name: str, output: Any) -> Any:
        """Note what a layer computed; what it computes inside a loop of the program has no number yet."""
        if any(concrete(leaf) is None for leaf in leaves(output)):
            return output
        self.outputs.append((name, output))
        if self.offsets is None:
            return output
        return map_tree(lambda leaf, offset: leaf + offset, output, next(self.offsets))


def _like(container: Any, parts: dict[Any, Any]) -> Any:
    kind = cast("type[Any]", type(container))
    if issubclass(kind, dict):
        return parts
    return kind(*parts.values()) if is_namedtuple(kind) else kind(parts.values())


class _Layer:
    """Stands for a layer, and tells what it computes."""

    def __init__(self, layer: Any, name: str, watch: _Watch) -> None:
        self._layer, self._watch = layer, watch
        what: Any = layer.function if isinstance(layer, nn.Lambda) else cast("type[Any]", type(layer))
        self._name = f"{name} ({getattr(what, '__name__', repr(what))})"

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        return self._watch.note(self._name, self._layer(*inputs, **named))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._layer, name)


class _Stateful(_Layer):
    """Stands for a layer that is applied."""

    def apply(self, x: Any, state: Any, **how: Any) -> tuple[Any, Any]:
        output, state = self._layer.apply(x, state, **how)
        return self._watch.note(self._name, output), state
