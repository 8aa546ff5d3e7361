"""Optimisers by name, as chains of transforms; and optimisers around optimisers."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.control import cond
from wengert.engine.core.calls import advising
from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import map_tree
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import equal
from wengert.engine.transforms.arguments import is_number
from wengert.optim.transforms import (
    TERMS,
    Mask,
    Optimiser,
    Rate,
    add_decayed_weights,
    chain,
    check_fraction,
    in_dtype_of,
    map_leaves,
    optimiser,
    replace,
    scale,
    scale_by_adagrad,
    scale_by_adam,
    scale_by_lion,
    scale_by_rms,
    select,
    select_gradients,
    trace,
    trainable,
    zeros_like,
)

_TERMS = TERMS | {
    "rate": "the learning rate, a number or a schedule.",
    "centred": "whether to divide by the root of the variance instead (Graves, 2013).",
    "momentum": "the decay of a velocity, to which the quotients are added.",
    "decay": "the decay of the weights.",
    "mask": "the parameters that decay: ``parameter -> bool`` or a tree of truth values; by default all.",
}
_optimiser = functools.partial(
    documented,
    _TERMS,
    Returns="An optimiser.",
    Raises="ArgumentError: the rate is neither a schedule nor a finite number >= 0, or a decay is not in [0, 1).",
)


def _check_rate(operation: str, rate: Any) -> None:
    if callable(rate):
        return
    requirement = "the rate must be a finite number >= 0, or a schedule"
    if not is_number(rate) or dtype_of(rate).kind not in "iuf" or shape_of(rate):
        raise ArgumentError(message(operation, requirement, show(rate) if is_number(rate) else repr(rate)))
    value = concrete(rate)
    if value is not None and not 0 <= value < math.inf:
        raise ArgumentError(message(operation, requirement, str(value)))


@advising("wg.optim.sgd(rate)")
@_optimiser()
def sgd(rate: Rate) -> Optimiser:
    """Return gradient descent: ``p <- p - rate g`` (Robbins and Monro, 1951).

    Example:
        >>> sgd(0.1).update(2.0, (), 1.0)
        (0.8, ())
    """
    _check_rate("sgd", rate)
    return optimiser(scale(rate))


@_optimiser(decay="the factor of the velocity.")
def momentum(rate: Rate, decay: float = 0.9) -> Optimiser:
    """Return gradient descent with momentum: ``v <- decay v + g``, ``p <- p - rate v`` (Polyak, 1964).

    Example:
        >>> optimiser = momentum(0.1)
        >>> p, state = optimiser.update(2.0, optimiser.init(1.0), 1.0)
        >>> print(p, optimiser.update(2.0, state, p)[0].round(6))
        0.8 0.42
    """
    _check_rate("momentum", rate)
    return chain(trace(decay), scale(rate))


@_optimiser(decay="the factor of the velocity.")
def nesterov(rate: Rate, decay: float = 0.9) -> Optimiser:
    """Return Nesterov's momentum (1983): ``v <- decay v + g``, ``p <- p - rate (g + decay v)``.

    In the form of Sutskever et al. (2013), which takes the gradient at the parameters.

    Example:
        >>> optimiser = nesterov(0.1)
        >>> print(optimiser.update(2.0, optimiser.init(1.0), 1.0)[0].round(6))
        0.62
    """
    _check_rate("nesterov", rate)
    return chain(trace(decay, nesterov=True), scale(rate))


@_optimiser()
def adagrad(rate: Rate = 1e-2, epsilon: float = 1e-10, initial: float = 0.0) -> Optimiser:
    """Return Adagrad (Duchi et al., 2011): ``s <- s + g^2``, ``p <- p - rate g / (sqrt(s) + epsilon)``.

    Example:
        >>> optimiser = adagrad(0.1)
        >>> round(float(optimiser.update(2.0, optimiser.init(1.0), 1.0)[0]), 6)
        0.9
    """
    _check_rate("adagrad", rate)
    return chain(scale_by_adagrad(epsilon, initial), scale(rate))


@_optimiser(decay="the decay of the mean of the squares.")
def rmsprop(
    rate: Rate = 1e-2,
    decay: float = 0.99,
    epsilon: float = 1e-8,
    centred: bool = False,
    momentum: float = 0.0,
) -> Optimiser:
    """Return RMSprop (Hinton, 2012): ``s <- decay s + (1 - decay) g^2``, ``p <- p - rate g / (sqrt(s) + epsilon)``.

    Example:
        >>> optimiser = rmsprop(0.01, decay=0.75)
        >>> round(float(optimiser.update(2.0, optimiser.init(1.0), 1.0)[0]), 6)
        0.98
    """
    _check_rate("rmsprop", rate)
    velocity = [trace(momentum)] if momentum else []
    return chain(scale_by_rms(decay, epsilon, centred), *velocity, scale(rate))


@advising("wg.optim.adam(rate)")
@_optimiser()
def adam(
    rate: Rate = 1e-3, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, amsgrad: bool = False
) -> Optimiser:
    """Return Adam (Kingma and Ba, 2015).

    ``m <- b1 m + (1 - b1) g``, ``s <- b2 s + (1 - b2) g^2``, ``p <- p - rate m' / (sqrt(s') + epsilon)`` with
    ``m' = m / (1 - b1^t)`` and ``s' = s / (1 - b2^t)`` at step t.

    Example:
        >>> optimiser = adam(0.1)
        >>> parameters, state = optimiser.update(2.0, optimiser.init(1.0), 1.0)
        >>> round(float(parameters), 6)
        0.9
    """
    _check_rate("adam", rate)
    return optimiser(scale_by_adam(beta1, beta2, epsilon, amsgrad, rate))


@advising("wg.optim.adamw(rate)")
@_optimiser()
def adamw(
    rate: Rate = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    decay: float = 1e-2,
    mask: Mask = None,
    amsgrad: bool = False,
) -> Optimiser:
    """Return Adam with decoupled weight decay: `adam`, and ``- rate decay p`` (Loshchilov and Hutter, 2019).

    Example:
        >>> optimiser = adamw(0.1, decay=0.5)
        >>> round(float(optimiser.update(2.0, optimiser.init(1.0), 1.0)[0]), 6)
        0.85
    """
    _check_rate("adamw", rate)
    direction = scale_by_adam(beta1, beta2, epsilon, amsgrad)
    return chain(direction, add_decayed_weights(decay, mask), scale(rate))


@_optimiser(
    beta1="the weight of the mean in the step.",
    beta2="the decay of the mean.",
    rate="the learning rate, a third to a tenth of Adam's.",
)
def lion(
    rate: Rate = 1e-4, beta1: float = 0.9, beta2: float = 0.99, decay: float = 0.0, mask: Mask = None
) -> Optimiser:
    """Return Lion (Chen et al., 2023), whose steps have one size.

    ``p <- p - rate (sign(b1 m + (1 - b1) g) + decay p)``, then ``m <- b2 m + (1 - b2) g``.

    Example:
        >>> optimiser = lion(0.1)
        >>> round(float(optimiser.update(2.0, optimiser.init(1.0), 1.0)[0]), 6)
        0.9
    """
    _check_rate("lion", rate)
    weights = [add_decayed_weights(decay, mask)] if decay else []
    return chain(scale_by_lion(beta1, beta2), *weights, scale(rate))


# -- optimisers around optimisers ------------------------------------------------------------------------


_wrapper = functools.partial(
    documented, {"optimiser": "takes the steps."}, Returns="An optimiser, which cannot be a part of a chain."
)


class AccumulateState(NamedTuple):
    """The gradients since the last step."""

    count: Any
    """The number of calls so far."""
    total: Any
    inner: Any


@_wrapper(count="the number of calls for each step.")
def accumulate(optimiser: Optimiser, count: int) -> Optimiser:
    """Return an optimiser that takes a step at every ``count``-th call, with the mean of the gradients since the last.

    It trains on a large batch in parts that fit into memory. Other calls leave the parameters and the inner state as
    they are.

    Raises:
        ArgumentError: the count is not a positive integer.

    Example:
        >>> twice = accumulate(sgd(0.1), 2)
        >>> p, state = twice.update(2.0, twice.init(1.0), 1.0)
        >>> print(p, twice.update(4.0, state, p)[0])
        1.0 0.7
    """
    if not isinstance(count, (int, np.integer)) or count < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(message("accumulate", "the count must be a positive integer", repr(count)))

    def init(parameters: Any) -> AccumulateState:
        zeros = zeros_like(select(parameters, trainable(parameters)))
        return AccumulateState(np.int64(0), zeros, optimiser.init(parameters))

    def step(total: Any, inner: Any, parameters: Any) -> tuple[Any, Any, Any]:
        parameters, inner = optimiser.update(map_tree(lambda g: g / count, total), inner, parameters)
        return map_tree(lambda g: g * 0, total), inner, parameters

    def update(gradients: Any, state: AccumulateState, parameters: Any) -> tuple[Any, AccumulateState]:
        gradients = select_gradients(gradients, parameters, trainable(parameters))
        total = map_leaves(lambda t, g: t + in_dtype_of(t, g), state.total, gradients)
        calls = state.count + 1
        total, inner, parameters = cond(
            equal(calls % count, 0), step, lambda *same: same, total, state.inner, parameters
        )
        return parameters, AccumulateState(calls, total, inner)

    return Optimiser(init, update)


class AveragedState(NamedTuple):
    """The running mean of parameters."""

    average: Any
    """A model with the structure of the trained one, to be used in its place."""
    inner: Any


@_wrapper(decay="the decay of the mean.")
def averaged(optimiser: Optimiser, decay: float = 0.999) -> Optimiser:
    """Return an optimiser that keeps a mean of the parameters: ``a <- decay a + (1 - decay) p`` after each step.

    The mean (Polyak and Juditsky, 1992; exponential as in Tarvainen and Valpola, 2017) often does better on new
    examples than the last parameters. It starts as the first parameters, and is ``state.average``.

    Raises:
        ArgumentError: the decay does not lie in [0, 1).

    Example:
        >>> slow = averaged(sgd(0.1), 0.5)
        >>> p, state = slow.update(2.0, slow.init(1.0), 1.0)
        >>> p, state.average
        (0.8, 0.9)
    """
    check_fraction("averaged", decay=decay)

    def init(parameters: Any) -> AveragedState:
        # Copy: a compiled function may overwrite parameters that are donated.
        copied = map_tree(lambda p: p if isinstance(p, int | float) else np.copy(p), parameters)
        return AveragedState(copied, optimiser.init(parameters))

    def mean(a: Any, p: Any) -> Any:
        weight = in_dtype_of(a, decay)
        return weight * a + (1 - weight) * p

    def update(gradients: Any, state: AveragedState, parameters: Any) -> tuple[Any, AveragedState]:
        parameters, inner = optimiser.update(gradients, state.inner, parameters)
        trained = trainable(parameters)
        means = map_leaves(mean, select(state.average, trained), select(parameters, trained))
        return parameters, AveragedState(replace(parameters, trained, means), inner)

    return Optimiser(init, update)
