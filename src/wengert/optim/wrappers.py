"""Optimisers around optimisers: gradients summed over several calls, and parameters averaged over steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.control import cond
from wengert.core.errors import ArgumentError, message
from wengert.core.tree import map_tree
from wengert.ops.comparison import equal
from wengert.optim.chain import (
    Optimiser,
    belonging,
    chosen_of,
    each,
    in_dtype_of,
    merged,
    trained_in,
    zeros_like,
)
from wengert.optim.checks import check_fraction


class AccumulateState(NamedTuple):
    """The gradients that wait for a step."""

    count: Any
    """Of the calls so far."""
    total: Any
    inner: Any


def accumulate(optimiser: Optimiser, count: int) -> Optimiser:
    """Return an optimiser that takes a step at every ``count``-th call, with the mean of the gradients since the last.

    So a large batch is trained on in parts that fit into memory. In between, parameters and the inner state stay as
    they are.

    Args:
        optimiser: what takes the steps.
        count: of the calls for each step.

    Raises:
        ArgumentError: the count is not a positive integer.

    Example:
        >>> from wengert.optim import sgd
        >>> twice = accumulate(sgd(0.1), 2)
        >>> p, state = twice.update(2.0, twice.init(1.0), 1.0)
        >>> print(p, twice.update(4.0, state, p)[0])
        1.0 0.7
    """
    if not isinstance(count, (int, np.integer)) or count < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(message("accumulate", "the count must be a positive integer", repr(count)))

    def init(parameters: Any) -> AccumulateState:
        zeros = zeros_like(chosen_of(parameters, trained_in(parameters)))
        return AccumulateState(np.int64(0), zeros, optimiser.init(parameters))

    def step(total: Any, inner: Any, parameters: Any) -> tuple[Any, Any, Any]:
        parameters, inner = optimiser.update(map_tree(lambda g: g / count, total), inner, parameters)
        return map_tree(lambda g: g * 0, total), inner, parameters

    def update(gradients: Any, state: AccumulateState, parameters: Any) -> tuple[Any, AccumulateState]:
        gradients = belonging(gradients, parameters, trained_in(parameters))
        total, calls = each(lambda t, g: t + in_dtype_of(t, g), state.total, gradients), state.count + 1
        total, inner, parameters = cond(
            equal(calls % count, 0), step, lambda *same: same, total, state.inner, parameters
        )
        return parameters, AccumulateState(calls, total, inner)

    return Optimiser(init, update)


class AveragedState(NamedTuple):
    """The running mean of parameters."""

    average: Any
    """A model like the one that is trained, to be used in its place."""
    inner: Any


def averaged(optimiser: Optimiser, decay: float = 0.999) -> Optimiser:
    """Return an optimiser that keeps a mean of the parameters: ``a <- decay a + (1 - decay) p`` after each step.

    The mean (Polyak and Juditsky, 1992; exponential as in Tarvainen and Valpola, 2017) often does better on new
    examples than the last parameters. It begins as the first ones and is ``state.average``.

    Args:
        optimiser: what takes the steps.
        decay: how much of the mean stays.

    Raises:
        ArgumentError: the decay does not lie in [0, 1).

    Example:
        >>> from wengert.optim import sgd
        >>> slow = averaged(sgd(0.1), 0.5)
        >>> p, state = slow.update(2.0, slow.init(1.0), 1.0)
        >>> p, state.average
        (0.8, 0.9)
    """
    check_fraction("averaged", decay=decay)

    def init(parameters: Any) -> AveragedState:
        # A copy: the parameters may be given away to be overwritten (`donate`).
        copied = map_tree(lambda p: p if isinstance(p, int | float) else np.copy(p), parameters)
        return AveragedState(copied, optimiser.init(parameters))

    def mean(a: Any, p: Any) -> Any:
        kept = in_dtype_of(a, decay)
        return kept * a + (1 - kept) * p

    def update(gradients: Any, state: AveragedState, parameters: Any) -> tuple[Any, AveragedState]:
        parameters, inner = optimiser.update(gradients, state.inner, parameters)
        trained = trained_in(parameters)
        means, new = chosen_of(state.average, trained), chosen_of(parameters, trained)
        means = each(mean, means, new)
        return parameters, AveragedState(merged(parameters, trained, means), inner)

    return Optimiser(init, update)
