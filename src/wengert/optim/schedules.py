"""Schedules: functions of the number of steps taken, to be given as the rate of an optimiser.

The first step has the number 0. A schedule takes a traced number as well, so that it is part of a compiled step.

Example:
    >>> rate = join([linear(0.0, 1.0, 4), constant(1.0), exponential(1.0, 0.5)], [4, 6])
    >>> print([float(rate(step)) for step in range(9)])
    [0.0, 0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 0.5, 0.25]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.core.errors import ArgumentError, message
from wengert.ops.comparison import where
from wengert.optim.checks import check_at_least_one, check_rising

__all__ = [
    "Schedule",
    "constant",
    "cosine",
    "exponential",
    "join",
    "linear",
    "one_cycle",
    "piecewise",
    "step_decay",
    "warm_up_cosine",
]

#: ``number of steps taken -> rate``
Schedule: TypeAlias = Callable[[Any], Any]


def _passed(step: Any, steps: float) -> Any:
    """Return which part of some steps has passed, at most 1."""
    return np.minimum(step / steps, 1.0)


def _by_cosine(start: Any, end: Any, part: Any) -> Any:
    return end + (start - end) * (1 + np.cos(np.pi * part)) / 2


def constant(value: float) -> Schedule:
    """Return the schedule that has one value.

    Example:
        >>> constant(0.1)(7)
        0.1
    """
    return lambda step: value


def linear(start: float, end: float, steps: int) -> Schedule:
    """Return ``start + (end - start) min(1, t / steps)``: a warm-up, or a decay.

    Raises:
        ArgumentError: there is not one step.

    Example:
        >>> float(linear(0.0, 1.0, 10)(3))
        0.3
    """
    check_at_least_one("linear", "steps", steps)
    return lambda step: start + (end - start) * _passed(step, steps)


def step_decay(value: float, every: int, factor: float = 0.1) -> Schedule:
    """Return ``value factor^floor(t / every)``.

    Raises:
        ArgumentError: ``every`` is less than 1.

    Example:
        >>> rate = step_decay(1.0, every=10, factor=0.5)
        >>> float(rate(9)), float(rate(10)), float(rate(20))
        (1.0, 0.5, 0.25)
    """
    check_at_least_one("step_decay", "every", every)
    return lambda step: value * float(factor) ** (step // every)


def exponential(value: float, factor: float, every: float = 1) -> Schedule:
    """Return ``value factor^(t / every)``.

    Raises:
        ArgumentError: ``every`` is less than 1.

    Example:
        >>> float(exponential(1.0, 0.5)(3))
        0.125
    """
    check_at_least_one("exponential", "every", every)
    return lambda step: value * float(factor) ** (step / every)


def cosine(value: float, steps: int, end: float = 0.0) -> Schedule:
    """Return half a cosine from ``value`` to ``end`` (Loshchilov and Hutter, 2017, without restarts).

    ``end + (value - end) (1 + cos(pi t / steps)) / 2``, and ``end`` after that.

    Raises:
        ArgumentError: there is not one step.

    Example:
        >>> float(cosine(1.0, 10, end=0.5)(5)), float(cosine(1.0, 10, end=0.5)(99))
        (0.75, 0.5)
    """
    check_at_least_one("cosine", "steps", steps)
    return lambda step: _by_cosine(value, end, _passed(step, steps))


def warm_up_cosine(peak: float, warm_up: int, steps: int, start: float = 0.0, end: float = 0.0) -> Schedule:
    """Return a rise along a line, then a fall along half a cosine.

    Args:
        peak: the largest value, at step ``warm_up``.
        warm_up: of the steps of the rise.
        steps: of all steps.
        start: the first value.
        end: the value from ``steps`` on.

    Raises:
        ArgumentError: there is no step for the rise, or none for the fall.

    Example:
        >>> rate = warm_up_cosine(1.0, warm_up=4, steps=8)
        >>> [round(float(rate(step)), 3) for step in (0, 2, 4, 6, 8)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    check_at_least_one("warm_up_cosine", "warm_up", warm_up)
    check_at_least_one("warm_up_cosine", "steps - warm_up", steps - warm_up)
    return join([linear(start, peak, warm_up), cosine(peak, steps - warm_up, end)], [warm_up])


def one_cycle(
    peak: float, steps: int, rise: float = 0.3, start_divisor: float = 25.0, end_divisor: float = 1e4
) -> Schedule:
    """Return a rise and a fall, each along half a cosine (Smith and Topin, 2019).

    From ``peak / start_divisor`` to ``peak`` and down to ``peak / (start_divisor end_divisor)`` at the last step,
    number ``steps - 1``.

    Args:
        peak: the largest value.
        steps: of all steps.
        rise: the part of them in which the rate rises.
        start_divisor: of the first value.
        end_divisor: of the last value, in relation to the first.

    Raises:
        ArgumentError: the rise or the fall would have no step.

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


def piecewise(values: Sequence[float], boundaries: Sequence[int]) -> Schedule:
    """Return the schedule that has ``values[0]`` before step ``boundaries[0]``, then ``values[1]``, and so on.

    Raises:
        ArgumentError: there is not one value more than boundaries, or these do not rise.

    Example:
        >>> rate = piecewise([1.0, 0.1, 0.01], [10, 20])
        >>> float(rate(9)), float(rate(10)), float(rate(20))
        (1.0, 0.1, 0.01)
    """
    return join([constant(value) for value in values], boundaries)


def join(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """Return one schedule after the other, each of which counts from where it begins.

    Args:
        schedules: in their order.
        boundaries: the steps at which the second begins, the third, and so on.

    Raises:
        ArgumentError: there is not one schedule more than boundaries, or these do not rise.

    Example:
        >>> rate = join([constant(1.0), linear(0.5, 0.0, 10)], [100])
        >>> float(rate(99)), float(rate(100)), float(rate(105))
        (1.0, 0.5, 0.25)
    """
    if len(schedules) != len(boundaries) + 1:
        got = f"{len(schedules)} and {len(boundaries)}"
        raise ArgumentError(message("join", "there must be one part more than boundaries", got))
    check_rising("join", boundaries)

    def rate(step: Any) -> Any:
        value: Any = schedules[0](step)
        for begin, schedule in zip(boundaries, schedules[1:], strict=True):
            # Before it begins, a schedule is asked for its first value: it may have none at negative steps.
            value = where(step < begin, value, schedule(np.maximum(step - begin, 0)))
        return value

    return rate
