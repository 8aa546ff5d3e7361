"""Optimisers and schedules by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import NamedTuple

from wengert import optim
from wengert.core.errors import ArgumentError, message
from wengert.optim import schedules

OPTIMISERS: dict[str, Callable[..., optim.Optimiser]] = {
    "sgd": optim.sgd,
    "momentum": optim.momentum,
    "nesterov": optim.nesterov,
    "adagrad": optim.adagrad,
    "rmsprop": optim.rmsprop,
    "adam": optim.adam,
    "adamw": optim.adamw,
    "lion": optim.lion,
}
"""Functions of the rate, a number or a schedule, by name."""


def _warm_up_cosine(rate: float, steps: int) -> schedules.Schedule:
    """Return a rise along a line for a tenth of the run, then a fall along half a cosine to 0."""
    rise = max(steps // 10, 1)
    return schedules.warm_up_cosine(rate, rise, max(steps, rise + 1), start=rate / 25)


SCHEDULES: dict[str, Callable[[float, int], float | schedules.Schedule]] = {
    "constant": lambda rate, steps: rate,
    "linear": lambda rate, steps: schedules.linear(rate, 0.0, steps),
    "cosine": schedules.cosine,
    "warm-up-cosine": _warm_up_cosine,
    "one-cycle": lambda rate, steps: schedules.one_cycle(rate, max(steps, 4)),
}
"""``(largest rate, steps of the whole run) -> rate``, by name."""


def with_steps(make: Callable[..., optim.Optimiser]) -> Callable[[float, int], optim.Optimiser]:
    """Return a function of the rate and the steps of a run, also where one of the rate alone is given.

    Example:
        >>> import numpy as np
        >>> parameters = np.ones(2)
        >>> [
        ...     with_steps(make)(0.5, 100).update(parameters, (), parameters)[0][0]
        ...     for make in (optim.sgd, lambda rate, steps: optim.sgd(rate / steps))
        ... ]
        [np.float64(0.5), np.float64(0.995)]
    """
    try:
        parameters = list(inspect.signature(make).parameters.values())
    except (TypeError, ValueError):  # what is written in C does not tell
        return make
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    takes_more = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    second = positional[1] if len(positional) > 1 else None
    # The second parameter of optim.adam, say, has another meaning and a default.
    if takes_more or (second is not None and (second.default is second.empty or second.name == "steps")):
        return make
    return lambda rate, steps: make(rate)


class Descent(NamedTuple):
    """How parameters are changed: an optimiser and the schedule of its rate, both by name.

    It is what `Task.optimiser` may be, and what the options of ``wengert train`` choose.

    Args:
        optimiser: its name.
        schedule: the name of its schedule.
        clip: the largest norm of all gradients together; larger ones are scaled down to it. None: no limit.

    Raises:
        ArgumentError: when called: there is no such optimiser or schedule.

    Example:
        >>> import numpy as np
        >>> optimiser = Descent("momentum", "cosine", clip=1.0)(0.1, 100)
        >>> parameters, _ = optimiser.update(np.array([30.0, 40.0]), optimiser.init(np.zeros(2)), np.zeros(2))
        >>> parameters.round(3)
        array([-0.06, -0.08])
    """

    optimiser: str = "adam"
    schedule: str = "constant"
    clip: float | None = None
    """The largest norm of all gradients together; larger ones are scaled down to it."""

    def __call__(self, rate: float, steps: int) -> optim.Optimiser:
        """Return the optimiser for a run of some steps, ``rate`` being its largest rate."""
        for what, name, known in (
            ("optimiser", self.optimiser, OPTIMISERS),
            ("schedule", self.schedule, SCHEDULES),
        ):
            if name not in known:
                raise ArgumentError(
                    message("Descent", f"the {what} must be one of {', '.join(known)}", repr(name))
                )
        made = OPTIMISERS[self.optimiser](SCHEDULES[self.schedule](rate, steps))
        return made if self.clip is None else optim.chain(optim.clip_by_norm(self.clip), made)
