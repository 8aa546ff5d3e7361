"""Diagnosis of a run that diverged: the step, and the first layer whose output or gradient is not finite."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from wengert import nn
from wengert.engine.boxes import concrete
from wengert.engine.core.errors import WengertError
from wengert.engine.core.tree import children, flatten, is_namedtuple, leaves, map_tree, paths
from wengert.engine.transforms.reverse_mode import value_and_grad
from wengert.train.settings import Settings
from wengert.train.state import LayerState, State, training_loss
from wengert.train.steps import Carry, Steps

_GROWN = 1e4
"""A run has diverged if the loss exceeds that of the first step (or 1, if larger) by this factor."""


class DivergedError(WengertError, ArithmeticError):
    """The loss became NaN or infinite, or grew beyond all bounds."""


def is_finite(tree: Any) -> bool:
    """Return whether all numbers of a tree are finite."""
    return all(bool(np.all(np.isfinite(leaf))) for leaf in leaves(tree))


def check_group(
    steps: Steps, settings: Settings, before: State, after: Carry, losses: Any, inputs: tuple[Any, ...]
) -> None:
    """Raise `DivergedError` if the losses, the parameters or the layer state of some steps are not acceptable."""
    first = float(losses[0]) if before.first_loss is None else before.first_loss
    grown = np.abs(losses) > _GROWN * max(abs(first), 1.0)
    wrong = ~np.isfinite(losses)
    if not (wrong.any() or grown.any()) and is_finite((after.model, after.layer_state)):
        return
    reason = ""
    if wrong.any() or not grown.any():
        position = int(np.argmax(wrong)) if wrong.any() else len(losses) - 1
        if (cause := _first_cause(steps, before, inputs)) is not None:
            position, reason = cause
        bad = (
            f"the loss became {losses[wrong][0]}"
            if wrong.any()
            else "the parameters or the layers' state are no longer finite"
        )
    else:
        position = int(np.argmax(grown))
        bad = f"the loss grew to {losses[position]:.4g} from {first:.4g} at the first step"
    step, hint = before.step + position + 1, _hint(settings)
    if before.first_loss is None and position == 0 and (wrong[0] or reason.startswith("the gradient")):
        hint = _hint_at_start(steps, before, *inputs)
    raise DivergedError(f"{bad} in epoch {before.epoch}, step {step}:{reason and f' {reason}:'} {hint}")


def check_tested(loss: float, settings: Settings, epoch: int) -> None:
    """Raise `DivergedError` if the loss on the held-out data is not finite."""
    if not np.isfinite(loss):
        where = f"on the held-out data after epoch {epoch}"
        raise DivergedError(f"the loss became {loss} {where}: {_hint(settings)}")


def _hint(settings: Settings) -> str:
    return f"try a smaller learning rate{f' than {settings.rate:g}' if settings.rate else ''}"


def _hint_at_start(steps: Steps, before: State, images: Any, labels: Any, index: Any, variation: Any) -> str:
    """Return a hint for the first step, before any learning rate has had an effect."""
    inputs, _ = steps.batch(images, labels, index[0], None if variation is None else variation[0])
    if not is_finite(inputs):
        return "the inputs are not finite: check the data and their preparation"
    if (name := _first_bad(before.model)) is not None:
        return f"{name} is not finite from the start: check its initialisation"
    return "the inputs and the initial parameters are finite: check the network and the loss"


# -- the first number that is not finite -----------------------------------------------------------------


def _first_cause(steps: Steps, before: State, inputs: tuple[Any, ...]) -> tuple[int, str] | None:
    """Repeat the steps in NumPy, layer by layer, and return the first bad step (from 0) and its cause."""
    images, labels, index, variation = inputs
    eager = Steps(steps.task, steps.optimiser, compiled=False)
    carry = Carry(before.model, before.layer_state, before.optimiser)
    for step, row in enumerate(index):
        varied = None if variation is None else variation[step]
        batch = eager.batch(images, labels, row, varied)
        cause = _cause_in_step(eager, carry.model, carry.layer_state, *batch)
        if cause is None:
            carry, _ = eager.step(carry, images, labels, row, varied)
            state = carry.layer_state
            if (name := _first_bad(carry.model)) is not None:
                cause = f"the update of {name} is not finite"
            elif state is not None and (name := _first_bad(state.state, "state")) is not None:
                cause = f"the next {name} of the layers is not finite"
        if cause is not None:
            return step, cause
    return None  # compiled code and NumPy round differently


def _cause_in_step(
    steps: Steps, model: Any, layer_state: LayerState | None, inputs: Any, labels: Any
) -> str | None:
    """Name the first output or gradient of a step that is not finite, in the order of computation."""
    outputs: list[tuple[str, Any]] = []
    loss, _ = training_loss(steps.task, _Watch(outputs).over(model), layer_state, inputs, labels)
    for name, output in outputs:
        if not is_finite(output):
            return f"the output of {name} is not finite"
    if not is_finite(loss):
        return "the loss of finite outputs is not finite"

    def shifted(model: Any, offsets: Any) -> Any:
        watched = _Watch([], iter(offsets)).over(model)
        return training_loss(steps.task, watched, layer_state, inputs, labels)[0]

    # The derivative by an offset of an output is the derivative by the output.
    offsets = [map_tree(np.zeros_like, output) for _, output in outputs]
    _, (gradient, cotangents) = value_and_grad(shifted, argnums=(0, 1))(model, offsets)
    for (name, _), cotangent in zip(reversed(outputs), reversed(cotangents), strict=True):
        if not is_finite(cotangent):
            return f"the gradient at the output of {name} is not finite"
    name = _first_bad(gradient)
    return None if name is None else f"the gradient of {name} is not finite"


def _first_bad(tree: Any, root: str = "model") -> str | None:
    values, structure = flatten(tree)
    named = zip(paths(structure, root), values, strict=True)
    return next((name for name, value in named if not is_finite(value)), None)


class _Watch:
    """Records the outputs of a model's layers, and can add an offset to each."""

    def __init__(self, outputs: list[tuple[str, Any]], offsets: Iterator[Any] | None = None) -> None:
        self.outputs, self.offsets = outputs, offsets

    def over(self, value: Any, name: str = "model") -> Any:
        """Return a copy of a model whose layers are watched."""
        parts = children(value)
        if parts is None:
            return value
        if isinstance(value, (list, tuple, dict)):
            watched = {key: self.over(part, f"{name}[{key!r}]") for key, part in parts.items()}
            return _like(value, watched)
        layer = copy.copy(value)
        for field, part in parts.items():
            object.__setattr__(layer, field, self.over(part, f"{name}.{field}"))
        if isinstance(value, nn.Chain) or not (hasattr(value, "apply") or callable(value)):
            return layer
        return (_StatefulLayer if hasattr(value, "apply") else _Layer)(layer, name, self)

    def record(self, name: str, output: Any) -> Any:
        """Record a layer's output, and return it with its offset; inside a compiled loop it has no number yet."""
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
    def __init__(self, layer: Any, name: str, watch: _Watch) -> None:
        self._layer, self._watch = layer, watch
        kind: Any = layer.function if isinstance(layer, nn.Lambda) else cast("type[Any]", type(layer))
        self._name = f"{name} ({getattr(kind, '__name__', repr(kind))})"

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        return self._watch.record(self._name, self._layer(*inputs, **named))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._layer, name)


class _StatefulLayer(_Layer):
    """Wraps a layer that `nn.apply` applies with its state."""

    def apply(self, x: Any, state: Any, **options: Any) -> tuple[Any, Any]:
        output, state = self._layer.apply(x, state, **options)
        return self._watch.record(self._name, output), state
