"""What layers have beside their arrays: a state that training moves, and the key of their random numbers."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from wengert import nn, random
from wengert.core.errors import WengertError
from wengert.core.tree import children
from wengert.train.tasks import Task


class ModelError(WengertError, ValueError):
    """A network of the user's that cannot be made, or does not fit the data."""


class Memory(NamedTuple):
    """What the layers of a model are given in the next step, beside their arrays."""

    state: Any
    """Of `nn.initial_state`, or the step before."""
    key: Any
    """From which the step's random numbers are drawn, and the key after it."""


@dataclasses.dataclass
class Trained:
    """A model whose layers have a state, as a function of its input alone: `nn.apply` outside of training.

    Its layers are found as the model's own: ``trained.layers``.

    Args:
        model: the model.
        state: the state of its layers.

    Example:
        >>> import numpy as np
        >>> from wengert import nn
        >>> model = nn.Chain(nn.BatchNorm(2))
        >>> trained = Trained(model, nn.initial_state(model))
        >>> trained(np.array([[1.0, 2.0]])).round(3).tolist(), len(trained.layers)
        ([[1.0, 2.0]], 1)
    """

    model: Any
    state: Any

    def __call__(self, x: Any) -> Any:
        """Return what the model makes of its input."""
        return nn.apply(self.model, x, self.state)[0]

    def __getattr__(self, name: str) -> Any:
        return _of_model(self, "model", name)


class _InTraining:
    """A model in one step of training, as a function of its input: each call moves the state, and has its own key."""

    def __init__(self, model: Any, memory: Memory) -> None:
        self.model_, self.state_, self.key_, self.calls_ = model, memory.state, memory.key, 0

    def __call__(self, x: Any) -> Any:
        key = random.fold_in(self.key_, self.calls_)
        self.calls_ += 1
        y, self.state_ = nn.apply(self.model_, x, self.state_, training=True, key=key)
        return y

    def __getattr__(self, name: str) -> Any:
        return _of_model(self, "model_", name)


_OWN = ("apply", "initial_state")
"""What makes a layer one with a state: these have it already, and are called."""


def _of_model(wrapper: Any, field: str, name: str) -> Any:
    """Return an attribute of the model that a wrapper stands for."""
    if name.startswith("__") or name in _OWN or field not in vars(wrapper):
        raise AttributeError(f"{type(wrapper).__name__!r} object has no attribute {name!r}", name=name)
    return getattr(vars(wrapper)[field], name)


def has_memory(model: Any) -> bool:
    """Tell whether a layer of a model has a state, draws random numbers or does another thing in training.

    Example:
        >>> [has_memory(nn.Chain(layer)) for layer in (np.tanh, nn.Dropout(0.5), nn.BatchNorm(3))]
        [False, True, True]
    """
    return (hasattr(model, "apply") and not isinstance(model, nn.Chain)) or any(
        map(has_memory, _parts(model))
    )


def out_of_reach(value: Any) -> tuple[Any, Any] | None:
    """Return a layer with a memory and what holds it without passing the memory on; None where there is none.

    Example:
        >>> layer, holder = out_of_reach([nn.Dropout(0.5)])
        >>> layer.rate, type(holder)
        (0.5, <class 'list'>)
    """
    if hasattr(value, "apply") and not isinstance(value, nn.Chain):
        return None  # it passes on what it should
    if not isinstance(value, nn.Chain):
        for part in _parts(value):
            if has_memory(part):
                return part, value
    layers = value.layers if isinstance(value, nn.Chain) else _parts(value)
    return next(filter(None, map(out_of_reach, layers)), None)


def _parts(value: Any) -> list[Any]:
    return list((children(value) or {}).values())


def first_memory(model: Any, rng: np.random.Generator) -> Memory | None:
    """Return the memory with which training begins; None where the layers are functions of their input.

    Raises:
        ModelError: training cannot reach a layer with a memory.
    """
    if (found := out_of_reach(model)) is not None:
        layer, holder = (type(one).__name__ for one in found)
        hint = f"put it into an nn.Chain, or give {holder} the methods apply and initial_state"
        raise ModelError(f"model: a {holder} hides its {layer} from training: {hint}")
    if not has_memory(model):
        return None
    return Memory(nn.initial_state(model), rng.integers(2**64 - 1, dtype=np.uint64, endpoint=True))


def trained(model: Any, memory: Memory | None) -> Any:
    """Return a model as a function of its input, as it is after training: itself, where it has no state."""
    if memory is None or (memory.state is None and callable(model)):
        return model
    return Trained(model, memory.state)


def without_state(model: Any) -> Any:
    """Return the model whose arrays are the parameters."""
    return model.model if isinstance(model, Trained) else model


def training_loss(
    task: Task, model: Any, memory: Memory | None, inputs: Any, labels: Any
) -> tuple[Any, tuple[Any, Memory | None]]:
    """Return the loss of a step of training, the score, and the memory for the next step."""
    if memory is None:
        loss, score = task.loss(model, inputs, labels)
        return loss, (score, None)
    now, later = random.fold_in(memory.key, 0), random.fold_in(memory.key, 1)
    applied = _InTraining(model, Memory(memory.state, now))
    loss, score = task.loss(applied, inputs, labels)
    return loss, (score, Memory(applied.state_, later))
