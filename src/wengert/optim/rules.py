"""The optimisers' rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.dtypes import dtype_of
from wengert.ops.conversion import cast
from wengert.shapes import shape_of
from wengert.tree import flatten, map_tree, unflatten


class Optimiser(NamedTuple):
    """An optimiser: how its state starts, and one step."""

    init: Callable[[Any], Any]
    """``parameters -> state``."""
    update: Callable[[Any, Any, Any], tuple[Any, Any]]
    """``(gradients, state, parameters) -> (parameters, state)``."""


def _zeros(parameters: Any) -> Any:
    return map_tree(lambda p: np.zeros(shape_of(p), dtype_of(p)), parameters)


def sgd(rate: float) -> Optimiser:
    """Return gradient descent: ``p <- p - rate g`` (Robbins and Monro, 1951).

    Example:
        >>> sgd(0.1).update(2.0, (), 1.0)
        (0.8, ())
    """

    def update(gradients: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        return map_tree(lambda p, g: p - rate * g, parameters, gradients), state

    return Optimiser(lambda parameters: (), update)


def momentum(rate: float, decay: float = 0.9) -> Optimiser:
    """Return gradient descent with momentum: ``v <- decay v + g``, ``p <- p - rate v`` (Polyak, 1964).

    Example:
        >>> momentum(0.1).update(2.0, 1.0, 1.0)
        (0.71, 2.9)
    """

    def update(gradients: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        velocity = map_tree(lambda v, g: decay * v + g, state, gradients)
        return map_tree(lambda p, v: p - rate * v, parameters, velocity), velocity

    return Optimiser(_zeros, update)


class AdamState(NamedTuple):
    """The running means of Adam."""

    step: Any
    mean: Any
    square: Any


def adam(rate: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8) -> Optimiser:
    """Return Adam (Kingma and Ba, 2015).

    ``m <- b1 m + (1 - b1) g``, ``s <- b2 s + (1 - b2) g^2``, ``p <- p - rate m' / (sqrt(s') + epsilon)`` with
    ``m' = m / (1 - b1^t)`` and ``s' = s / (1 - b2^t)`` at step t.

    Example:
        >>> optimiser = adam(0.1)
        >>> parameters, state = optimiser.update(2.0, optimiser.init(1.0), 1.0)
        >>> round(float(parameters), 6)
        0.9
    """

    def init(parameters: Any) -> AdamState:
        return AdamState(np.zeros((), np.int64)[()], _zeros(parameters), _zeros(parameters))

    def update(gradients: Any, state: AdamState, parameters: Any) -> tuple[Any, AdamState]:
        step = state.step + 1
        mean = map_tree(lambda m, g: beta1 * m + (1 - beta1) * g, state.mean, gradients)
        square = map_tree(lambda s, g: beta2 * s + (1 - beta2) * (g * g), state.square, gradients)
        scale, root = rate / (1 - beta1**step), np.sqrt(1 - beta2**step)

        def move(p: Any, m: Any, s: Any) -> Any:
            # In the dtype of the parameter: the corrections are float64 scalars.
            dtype = dtype_of(p)
            return p - cast(scale, dtype=dtype) * m / (np.sqrt(s) / cast(root, dtype=dtype) + epsilon)

        leaves = [flatten(one)[0] for one in (parameters, mean, square)]
        moved = [move(p, m, s) for p, m, s in zip(*leaves, strict=True)]
        return unflatten(flatten(parameters)[1], moved), AdamState(step, mean, square)

    return Optimiser(init, update)
