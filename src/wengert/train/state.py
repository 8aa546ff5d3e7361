"""Where a run is: everything that the rest of it depends on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.train.settings import Settings
from wengert.train.stateful import Memory, Trained, first_memory, trained, without_state
from wengert.train.tasks import Task


class Mean(NamedTuple):
    """A running mean."""

    total: float = 0.0
    examples: int = 0

    def plus(self, total: float, examples: int) -> Mean:
        """Count a sum over some examples."""
        return Mean(self.total + total, self.examples + examples)

    @property
    def value(self) -> float:
        """The mean so far; NaN of nothing."""
        return self.total / self.examples if self.examples else float("nan")


class EpochResult(NamedTuple):
    """What an epoch came to."""

    epoch: int
    train_loss: float
    train_score: float
    test_loss: float
    test_score: float
    seconds: float
    """Of training, evaluation not counted."""
    examples_per_second: float


class State(NamedTuple):
    """Where a run is between two steps. Its arrays are never written into."""

    model: Any
    optimiser: Any
    """The optimiser's state."""
    random: dict[str, Any]
    """The state of the random generator as the epoch began, from which its order is drawn."""
    epoch: int = 1
    """The epoch in progress, from 1."""
    step: int = 0
    """Steps of it that are done."""
    loss: Mean = Mean()
    score: Mean = Mean()
    """Over the epoch's examples so far."""
    seconds: float = 0.0
    """That the epoch's training took so far."""
    first_loss: float | None = None
    """Of the run's first step."""
    history: tuple[EpochResult, ...] = ()
    best: Any = None
    """The model of the best epoch, if the run is to end with that one."""
    memory: Memory | None = None
    """Of the model's layers, where these are more than functions of their input."""

    @property
    def trained(self) -> Any:
        """The model as a function of its input alone."""
        return trained(self.model, self.memory)

    def at_rest(self) -> State:
        """Return the state from which another epoch begins: with the model that the run ended with."""
        state = self._replace(step=0, loss=Mean(), score=Mean(), seconds=0.0, best=None)
        if self.best is None or not self.history:
            return state
        memory = self.memory
        if memory is not None and isinstance(self.best, Trained):
            memory = memory._replace(state=self.best.state)
        return state._replace(model=without_state(self.best), memory=memory)


def begin(task: Task, settings: Settings, steps: int) -> State:
    """Return the state from which a run starts; ``steps`` is how many it will take in all."""
    rng = np.random.default_rng(settings.seed)
    model = task.build(rng)
    memory = first_memory(model, rng)
    best = trained(model, memory) if settings.keep == "best" else None
    optimiser = task.descent(settings)(settings.rate, steps)
    random = dict(rng.bit_generator.state)
    return State(model, optimiser.init(model), random, best=best, memory=memory)


def best_epoch(history: tuple[EpochResult, ...] | list[EpochResult], classifies: bool) -> int:
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
    """Tell whether nothing is left to do: all epochs are done, or the last ones brought nothing better."""
    done = len(state.history)
    waited = done - best_epoch(state.history, task.classifies)
    return done >= settings.epochs or (settings.patience is not None and waited >= settings.patience > 0)
