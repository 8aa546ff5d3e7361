"""The state of a run between two steps, and the state of layers such as `nn.BatchNorm` and `nn.Dropout`."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert import nn, random
from wengert.engine.core.errors import WengertError
from wengert.engine.core.tree import children, map_tree
from wengert.train.settings import Settings
from wengert.train.tasks import Task


class ModelError(WengertError, ValueError):
    """A user's network that cannot be built or does not fit the data."""


# -- layers with a state ---------------------------------------------------------------------------------


class LayerState(NamedTuple):
    """The input of a model's layers in the next step, apart from their arrays."""

    state: Any
    """From `nn.initial_state` or the previous step."""
    key: Any
    """The random key of the step; the next key is derived from it."""


@dataclasses.dataclass
class Trained:
    """A model whose layers have a state, as a function of its input alone: `nn.apply` outside of training.

    Attributes are those of the model, for example ``trained.layers``.

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
        """Return the model's output."""
        return nn.apply(self.model, x, self.state)[0]

    def __str__(self) -> str:
        return str(self.model)

    def __getattr__(self, name: str) -> Any:
        return _model_attribute(self, "model", name)


class _InTraining:
    """A model in one training step, as a function of its input: each call updates the state and has its own key."""

    def __init__(self, model: Any, layer_state: LayerState) -> None:
        self.model_, self.state_, self.key_, self.calls_ = model, layer_state.state, layer_state.key, 0

    def __call__(self, x: Any) -> Any:
        key = random.fold_in(self.key_, self.calls_)
        self.calls_ += 1
        y, self.state_ = nn.apply(self.model_, x, self.state_, training=True, key=key)
        return y

    def __getattr__(self, name: str) -> Any:
        return _model_attribute(self, "model_", name)


def _model_attribute(wrapper: Any, field: str, name: str) -> Any:
    # With the methods of a stateful layer, nn.apply would not call the wrapper.
    if name.startswith("__") or name in ("apply", "initial_state") or field not in vars(wrapper):
        raise AttributeError(f"{type(wrapper).__name__!r} object has no attribute {name!r}", name=name)
    return getattr(vars(wrapper)[field], name)


def _is_stateful_layer(value: Any) -> bool:
    return hasattr(value, "apply") and not isinstance(value, nn.Chain)


def _parts(value: Any) -> list[Any]:
    return list((children(value) or {}).values())


def is_stateful(model: Any) -> bool:
    """Return whether a layer of a model has a state, draws random numbers, or acts differently in training.

    Example:
        >>> [is_stateful(nn.Chain(layer)) for layer in (np.tanh, nn.Dropout(0.5), nn.BatchNorm(3))]
        [False, True, True]
    """
    return _is_stateful_layer(model) or any(map(is_stateful, _parts(model)))


def unreachable_layer(value: Any) -> tuple[Any, Any] | None:
    """Return a stateful layer and a container that does not pass its state on; None if all layers are reachable.

    Example:
        >>> layer, holder = unreachable_layer([nn.Dropout(0.5)])
        >>> layer.rate, type(holder)
        (0.5, <class 'list'>)
    """
    if _is_stateful_layer(value):
        return None  # the layer itself passes the state on
    if isinstance(value, nn.Chain):
        return next(filter(None, map(unreachable_layer, value.layers)), None)
    for part in _parts(value):
        if is_stateful(part):
            return part, value
    return next(filter(None, map(unreachable_layer, _parts(value))), None)


def initial_layer_state(model: Any, rng: np.random.Generator) -> LayerState | None:
    """Return the layer state before the first step; None if the layers are functions of their input.

    `ModelError` if training cannot reach a stateful layer.
    """
    if (pair := unreachable_layer(model)) is not None:
        layer, holder = (type(value).__name__ for value in pair)
        hint = f"put it into an nn.Chain, or give {holder} the methods apply and initial_state"
        raise ModelError(f"model: a {holder} hides its {layer} from training: {hint}")
    if not is_stateful(model):
        return None
    return LayerState(nn.initial_state(model), rng.integers(2**64 - 1, dtype=np.uint64, endpoint=True))


def trained_model(model: Any, layer_state: LayerState | None) -> Any:
    """Return a model as a function of its input outside of training: itself if it has no state."""
    if layer_state is None or (layer_state.state is None and callable(model)):
        return model
    return Trained(model, layer_state.state)


def outside_training(model: Any) -> Any:
    """Return the model of a training step as a function of its input alone, with the state before the step."""
    return Trained(model.model_, model.state_) if isinstance(model, _InTraining) else model


def without_state(model: Any) -> Any:
    """Return the model whose arrays are the parameters."""
    return model.model if isinstance(model, Trained) else model


def training_loss(
    task: Task, model: Any, layer_state: LayerState | None, inputs: Any, labels: Any
) -> tuple[Any, tuple[Any, LayerState | None]]:
    """Return the loss of a training step, the score, and the next layer state."""
    if layer_state is None:
        loss, score = task.loss(model, inputs, labels)
        return loss, (score, None)
    now, later = random.fold_in(layer_state.key, 0), random.fold_in(layer_state.key, 1)
    applied = _InTraining(model, LayerState(layer_state.state, now))
    loss, score = task.loss(applied, inputs, labels)
    return loss, (score, LayerState(applied.state_, later))


# -- the run ---------------------------------------------------------------------------------------------


class Mean(NamedTuple):
    """A running mean."""

    total: Any = 0.0
    """A number, or numbers by name."""
    examples: int = 0

    def plus(self, total: Any, examples: int) -> Mean:
        """Add a sum over some examples."""
        both = map_tree(operator.add, self.total, total) if self.examples else total
        return Mean(both, self.examples + examples)

    @property
    def value(self) -> Any:
        """The mean; NaN before the first example."""
        if not self.examples:
            return float("nan")
        return map_tree(lambda total: total / self.examples, self.total)


class EpochResult(NamedTuple):
    """The results of an epoch."""

    epoch: int
    train_loss: float
    train_score: Any
    """A number; for `fit` the metrics by name."""
    test_loss: float
    test_score: Any
    seconds: float
    """Of training, without evaluation."""
    examples_per_second: float


class State(NamedTuple):
    """The state of a run between two steps. Its arrays are never modified."""

    model: Any
    optimiser: Any
    """The optimiser's state."""
    random: dict[str, Any]
    """The state of the random generator at the start of the epoch; the order of the examples is drawn from it."""
    epoch: int = 1
    """The epoch in progress, from 1."""
    step: int = 0
    """Steps of the epoch that are done."""
    loss: Mean = Mean()
    """Over the examples of the epoch so far, as the score."""
    score: Mean = Mean()
    seconds: float = 0.0
    """Training time of the epoch so far."""
    first_loss: float | None = None
    """The loss of the run's first step."""
    history: tuple[EpochResult, ...] = ()
    best: Any = None
    """The model of the best epoch, if the run ends with that model."""
    layer_state: LayerState | None = None
    """None if all layers are functions of their input."""

    @property
    def trained(self) -> Any:
        """The model as a function of its input alone."""
        return trained_model(self.model, self.layer_state)

    def next_epoch(self) -> State:
        """Return this state at the start of an epoch."""
        return self._replace(step=0, loss=Mean(), score=Mean(), seconds=0.0)

    def at_rest(self) -> State:
        """Return the state from which another epoch begins, with the model that the run ended with."""
        state = self.next_epoch()._replace(best=None)
        if self.best is None or not self.history:
            return state
        layer_state = self.layer_state
        if layer_state is not None and isinstance(self.best, Trained):
            layer_state = layer_state._replace(state=self.best.state)
        return state._replace(model=without_state(self.best), layer_state=layer_state)


def begin(task: Task, settings: Settings, steps: int) -> State:
    """Return the initial state of a run of ``steps`` steps."""
    rng = np.random.default_rng(settings.seed)
    model = task.build(rng)
    layer_state = initial_layer_state(model, rng)
    best = trained_model(model, layer_state) if settings.keep == "best" else None
    optimiser = task.descent(settings)(settings.rate, steps)
    random = dict(rng.bit_generator.state)
    return State(model, optimiser.init(model), random, best=best, layer_state=layer_state)


def best_epoch(history: Sequence[EpochResult], classifies: bool) -> int:
    """Return the number of the best epoch, the earliest of equals: by test score of a classifier, else by test loss.

    Example:
        >>> results = [EpochResult(n, 1, 0, loss, 0, 1, 1) for n, loss in ((1, 0.5), (2, 0.3), (3, 0.4))]
        >>> best_epoch(results, classifies=False)
        2
    """

    def merit(result: EpochResult) -> float:
        return result.test_score if classifies else -result.test_loss

    return max(history, key=merit).epoch if history else 0


def is_over(state: State, task: Task, settings: Settings) -> bool:
    """Return whether a run has done all its epochs, or has run out of patience."""
    done = len(state.history)
    waited = done - best_epoch(state.history, task.classifies)
    return done >= settings.epochs or (settings.patience is not None and waited >= settings.patience > 0)
