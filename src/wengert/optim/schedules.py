"""Schedules: functions from the number of steps taken to the rate of an optimiser.

The first step has the number 0. A schedule also takes a traced number, so that it can be a part of a compiled step.

Example:
    >>> rate = join([linear(0.0, 1.0, 4), constant(1.0), exponential(1.0, 0.5)], [4, 6])
    >>> print([float(rate(step)) for step in range(9)])
    [0.0, 0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 0.5, 0.25]
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.engine.core.docstrings import documented
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.ops.comparison import where

__all__ = [
    "Schedule", "constant", "cosine", "exponential", "join", "linear", "one_cycle", "piecewise", "step_decay",
    "warm_up_cosine",
]  # fmt: skip
__dir__ = __all__.copy

#: ``number of steps taken -> rate``
Schedule: TypeAlias = Callable[[Any], Any]

_TERMS = {
    "value": "the first value.",
    "start": "the first value.",
    "end": "the value at and after step ``steps``.",
    "peak": "the largest value.",
    "steps": "the number of steps from the first to the last value.",
    "every": "the number of steps in which the value changes by the factor.",
    "factor": "the ratio of values that are ``every`` steps apart.",
    "warm_up": "the number of steps of the rise.",
    "rise": "the fraction of the steps in which the rate rises.",
    "start_divisor": "the ratio of the peak and the first value.",
    "end_divisor": "the ratio of the first and the last value.",
    "values": "the values in order.",
    "schedules": "the schedules in order.",
    "boundaries": "the steps at which the second part begins, the third, and so on.",
}
_schedule = functools.partial(
    documented,
    _TERMS,
    Returns="A schedule.",
    Raises="ArgumentError: a number of steps is less than 1, or the boundaries do not fit the parts or do not rise.",
)


def _check_at_least_one(operation: str, name: str, value: float) -> None:
    if not value >= 1:
        raise ArgumentError(message(operation, f"{name} must be at least 1", str(value)))


def _passed(step: Any, steps: float) -> Any:
    """Return the fraction of some steps that has passed, at most 1."""
    return np.minimum(step / steps, 1.0)


def _by_cosine(start: Any, end: Any, fraction: Any) -> Any:
    return end + (start - end) * (1 + np.cos(np.pi * fraction)) / 2


@documented({"value": "the value."}, Returns="A schedule.")
def constant(value: float) -> Schedule:
    """Return the schedule with one value.

    Example:
        >>> constant(0.1)(7)
        0.1
    """
    return lambda step: value


@_schedule()
def linear(start: float, end: float, steps: int) -> Schedule:
    """Return ``start + (end - start) min(1, t / steps)``: a warm-up, or a decay.

    Example:
        >>> float(linear(0.0, 1.0, 10)(3))
        0.3
    """
    _check_at_least_one("linear", "steps", steps)
    return lambda step: start + (end - start) * _passed(step, steps)


@_schedule()
def step_decay(value: float, every: int, factor: float = 0.1) -> Schedule:
    """Return ``value factor^floor(t / every)``.

    Example:
        >>> rate = step_decay(1.0, every=10, factor=0.5)
        >>> float(rate(9)), float(rate(10)), float(rate(20))
        (1.0, 0.5, 0.25)
    """
    _check_at_least_one("step_decay", "every", every)
    return lambda step: value * float(factor) ** (step // every)


@_schedule()
def exponential(value: float, factor: float, every: float = 1) -> Schedule:
    """Return ``value factor^(t / every)``.

    Example:
        >>> float(exponential(1.0, 0.5)(3))
        0.125
    """
    _check_at_least_one("exponential", "every", every)
    return lambda step: value * float(factor) ** (step / every)


@_schedule()
def cosine(value: float, steps: int, end: float = 0.0) -> Schedule:
    """Return half a cosine from ``value`` to ``end`` (Loshchilov and Hutter, 2017, without restarts).

    ``end + (value - end) (1 + cos(pi t / steps)) / 2``, and ``end`` after that.

    Example:
        >>> float(cosine(1.0, 10, end=0.5)(5)), float(cosine(1.0, 10, end=0.5)(99))
        (0.75, 0.5)
    """
    _check_at_least_one("cosine", "steps", steps)
    return lambda step: _by_cosine(value, end, _passed(step, steps))


@_schedule()
def warm_up_cosine(peak: float, warm_up: int, steps: int, start: float = 0.0, end: float = 0.0) -> Schedule:
    """Return a linear rise, then a fall along half a cosine.

    Example:
        >>> rate = warm_up_cosine(1.0, warm_up=4, steps=8)
        >>> [round(float(rate(step)), 3) for step in (0, 2, 4, 6, 8)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    _check_at_least_one("warm_up_cosine", "warm_up", warm_up)
    _check_at_least_one("warm_up_cosine", "steps - warm_up", steps - warm_up)
    return join([linear(start, peak, warm_up), cosine(peak, steps - warm_up, end)], [warm_up])


@_schedule()
def one_cycle(
    peak: float, steps: int, rise: float = 0.3, start_divisor: float = 25.0, end_divisor: float = 1e4
) -> Schedule:
    """Return a rise and a fall, each along half a cosine (Smith and Topin, 2019).

    From ``peak / start_divisor`` to ``peak`` and down to ``peak / (start_divisor end_divisor)`` at the last step,
    number ``steps - 1``.

    Example:
        >>> rate = one_cycle(1.0, 10, rise=0.5)
        >>> [round(float(rate(step)), 3) for step in (0, 4, 9)]
        [0.04, 1.0, 0.0]
    """
    top = rise * steps - 1
    if not 0 < top < steps - 1:
        requirement = "the peak must lie after the first and before the last step"
        raise ArgumentError(message("one_cycle", requirement, f"{steps} steps, rise {rise}"))
    start = peak / start_divisor

    def rate(step: Any) -> Any:
        up = _by_cosine(start, peak, _passed(step, top))
        down = _by_cosine(peak, start / end_divisor, np.clip((step - top) / (steps - 1 - top), 0.0, 1.0))
        return where(step <= top, up, down)

    return rate


@_schedule()
def piecewise(values: Sequence[float], boundaries: Sequence[int]) -> Schedule:
    """Return the schedule with ``values[0]`` before step ``boundaries[0]``, then ``values[1]``, and so on.

    Example:
        >>> rate = piecewise([1.0, 0.1, 0.01], [10, 20])
        >>> float(rate(9)), float(rate(10)), float(rate(20))
        (1.0, 0.1, 0.01)
    """
    return join([constant(value) for value in values], boundaries)


@_schedule()
def join(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """Return one schedule after the other; each counts steps from where it begins.

    Example:
        >>> rate = join([constant(1.0), linear(0.5, 0.0, 10)], [100])
        >>> float(rate(99)), float(rate(100)), float(rate(105))
        (1.0, 0.5, 0.25)
    """
    if len(schedules) != len(boundaries) + 1:
        got = f"{len(schedules)} and {len(boundaries)}"
        raise ArgumentError(message("join", "there must be one part more than boundaries", got))
    if any(not before < after for before, after in itertools.pairwise([0, *boundaries])):
        raise ArgumentError(message("join", "boundaries must be positive and rise", str(list(boundaries))))

    def rate(step: Any) -> Any:
        value: Any = schedules[0](step)
        for begin, schedule in zip(boundaries, schedules[1:], strict=True):
            # A schedule may not be defined at negative steps: before it begins, it gets step 0.
            value = where(step < begin, value, schedule(np.maximum(step - begin, 0)))
        return value

    return rate
