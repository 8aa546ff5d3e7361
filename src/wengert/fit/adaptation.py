"""Adaptation in the warm-up: the step size by dual averaging, the masses from the positions in growing windows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.engine.control.cond import cond
from wengert.engine.ops.comparison import where
from wengert.fit.metrics import Metric, Window

_SHRINKAGE, _DELAY, _DECAY = 0.05, 10.0, 0.75
"""Gamma, t0 and kappa of Hoffman and Gelman (2014)."""
SAMPLING, FAST, SLOW, LAST_SLOW, LAST = range(5)
"""The purpose of a draw: the result; the step size; the masses, too; the end of a window; the end of the warm-up."""
_BEGIN, _END, _WINDOW = 75, 50, 25
"""The draws before the windows, after them, and in the first window (Stan's)."""


class Adapted(NamedTuple):
    """The state of the adaptation of one chain."""

    step: Any
    metric: Metric
    centre: Any
    """The logarithm to which the step sizes shrink."""
    error: Any
    """The mean difference to the target of acceptance."""
    log_mean: Any
    """The mean logarithm of the step sizes."""
    turns: Any
    window: Window


def begun(metric: Metric) -> Adapted:
    """Return the first state with some masses; also that after a window."""
    step, zero = np.float64(metric.inverse_mass.shape[-1] ** -0.25), np.float64(0.0)
    return Adapted(step, metric, np.log(10.0 * step), zero, zero, zero, Window.empty(metric))


def adapted(state: Adapted, phase: Any, position: Any, acceptance: Any, target: float) -> Adapted:
    """Return the state after a draw in a phase of the warm-up; while sampling it stays the same.

    All chains are in one phase, so that a compiled program runs one branch of a condition.
    """

    def warmed(state: Adapted) -> Adapted:
        following = _averaged(state, acceptance, target)
        slow = (phase == SLOW) | (phase == LAST_SLOW)
        following = cond(slow, lambda state: _gathered(state, position), _same, following)
        following = cond(phase == LAST_SLOW, _renewed, _same, following)
        return following._replace(step=where(phase == LAST, np.exp(following.log_mean), following.step))

    return cond(phase == SAMPLING, _same, warmed, state)


def _same(state: Adapted) -> Adapted:
    return state


def _averaged(state: Adapted, acceptance: Any, target: float) -> Adapted:
    """Move the step size towards the target of acceptance (Nesterov's dual averaging)."""
    turns = state.turns + 1.0
    share = 1.0 / (turns + _DELAY)
    error = (1.0 - share) * state.error + share * (target - acceptance)
    log_step = state.centre - np.sqrt(turns) / _SHRINKAGE * error
    decay = turns**-_DECAY
    log_mean = decay * log_step + (1.0 - decay) * state.log_mean
    return state._replace(step=np.exp(log_step), error=error, log_mean=log_mean, turns=turns)


def _gathered(state: Adapted, position: Any) -> Adapted:
    """Take a position into the window."""
    return state._replace(window=state.window.with_position(state.metric, position))


def _renewed(state: Adapted) -> Adapted:
    """At the end of a window take its masses, and begin again with the step size."""
    return begun(state.window.metric(type(state.metric)))


def phases(warmup: int, draws: int) -> Any:
    """Return what each draw is for: the windows double, and the last one reaches to the final draws of the warm-up.

    Example:
        >>> ends = np.flatnonzero(phases(1000, 5) == LAST_SLOW)
        >>> (ends + 1).tolist()
        [100, 150, 250, 450, 950]
    """
    plan = np.full(warmup + draws, SAMPLING)
    if not warmup:
        return plan
    begin, end, window = _BEGIN, _END, _WINDOW
    if warmup < begin + end + window:
        begin, end = round(0.15 * warmup), max(1, round(0.1 * warmup))
        window = warmup - begin - end
    plan[:warmup] = FAST
    stop = warmup - end
    plan[begin:stop] = SLOW
    position = begin + window
    while begin < stop:
        following = position + 2 * window
        position = stop if following > stop else position
        plan[position - 1] = LAST_SLOW
        if position >= stop:
            break
        window *= 2
        position += window
    plan[warmup - 1] = LAST
    return plan
