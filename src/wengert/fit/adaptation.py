"""Adaptation in the warm-up: the step size by dual averaging, the masses from the variances in growing windows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.ops.comparison import where

_SHRINKAGE, _DELAY, _DECAY = 0.05, 10.0, 0.75
"""Gamma, t0 and kappa of Hoffman and Gelman (2014)."""
SAMPLING, FAST, SLOW, LAST_SLOW, LAST = range(5)
"""What a draw is for: the result; the step size; the variances, too; the end of a window; the end of the warm-up."""
_BEGIN, _END, _WINDOW = 75, 50, 25
"""The draws before the windows, after them, and in the first window (Stan's)."""


class Adapted(NamedTuple):
    """The state of the adaptation of one chain."""

    step: Any
    variances: Any
    """Of the parameters: the inverse masses."""
    centre: Any
    """The logarithm to which the step sizes shrink."""
    error: Any
    """The mean difference to the target of acceptance."""
    log_mean: Any
    """The mean logarithm of the step sizes."""
    turns: Any
    count: Any
    mean: Any
    squares: Any
    """Welford's sums of a window."""


def begun(size: int) -> Adapted:
    """Return the first state, for variances near 1."""
    step, zero, zeros = np.float64(_first_step(size)), np.float64(0.0), np.zeros(size)
    return Adapted(step, np.ones(size), np.log(10.0 * step), zero, zero, zero, zero, zeros, zeros)


def _first_step(size: int) -> float:
    """Return a step size for a standard normal density, whose best one falls with the fourth root of its dimension."""
    return size**-0.25


def adapted(state: Adapted, phase: Any, position: Any, acceptance: Any, target: float) -> Adapted:
    """Return the state after a draw in a phase of the warm-up; while sampling it stays the same."""
    following = _averaged(state, acceptance, target)
    following = _gathered(following, (phase == SLOW) | (phase == LAST_SLOW), position)
    following = _renewed(following, phase == LAST_SLOW)
    following = following._replace(step=where(phase == LAST, np.exp(following.log_mean), following.step))
    pairs = zip(following, state, strict=True)
    return Adapted(*[where(phase == SAMPLING, before, after) for after, before in pairs])


def _averaged(state: Adapted, acceptance: Any, target: float) -> Adapted:
    """Move the step size towards the target of acceptance (Nesterov's dual averaging)."""
    turns = state.turns + 1.0
    share = 1.0 / (turns + _DELAY)
    error = (1.0 - share) * state.error + share * (target - acceptance)
    log_step = state.centre - np.sqrt(turns) / _SHRINKAGE * error
    decay = turns**-_DECAY
    log_mean = decay * log_step + (1.0 - decay) * state.log_mean
    return state._replace(step=np.exp(log_step), error=error, log_mean=log_mean, turns=turns)


def _gathered(state: Adapted, gathers: Any, position: Any) -> Adapted:
    """Take a position into the window's variances (Welford, 1962)."""
    count = state.count + 1.0
    difference = position - state.mean
    mean = state.mean + difference / count
    squares = state.squares + difference * (position - mean)
    return state._replace(
        count=where(gathers, count, state.count),
        mean=where(gathers, mean, state.mean),
        squares=where(gathers, squares, state.squares),
    )


def _renewed(state: Adapted, ends: Any) -> Adapted:
    """At the end of a window take its variances, shrunk to 1e-3 as in Stan, and begin again with the step size."""
    count, step = state.count, _first_step(state.mean.shape[0])
    variances = state.squares / np.maximum(count - 1.0, 1.0) * count / (count + 5.0) + 5e-3 / (count + 5.0)
    return state._replace(
        step=where(ends, step, state.step),
        variances=where(ends, variances, state.variances),
        centre=where(ends, np.log(10.0 * step), state.centre),
        error=where(ends, 0.0, state.error),
        log_mean=where(ends, 0.0, state.log_mean),
        turns=where(ends, 0.0, state.turns),
        count=where(ends, 0.0, count),
        mean=where(ends, 0.0, state.mean),
        squares=where(ends, 0.0, state.squares),
    )


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
