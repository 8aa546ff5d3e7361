"""The optimisers' rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.dtypes import dtype_of
from wengert.errors import ShapeError, message
from wengert.ir.types import show
from wengert.ops.conversion import cast
from wengert.shapes import shape_of
from wengert.tree import map_tree


class Optimiser(NamedTuple):
    """An optimiser: how its state starts, and one step."""

    init: Callable[[Any], Any]
    """``parameters -> state``."""
    update: Callable[[Any, Any, Any], tuple[Any, Any]]
    """``(gradients, state, parameters) -> (parameters, state)``."""


def _each(rule: Callable[..., Any], parameters: Any, *others: Any) -> Any:
    """Apply a rule to each parameter and what belongs to it, which must have the parameter's shape."""

    def checked(*values: Any) -> Any:
        if any(shape_of(value) != shape_of(values[0]) for value in values):
            requirement = "gradients and state must have the shapes of the parameters"
            raise ShapeError(message("update", requirement, show(*values)))
        return rule(*values)

    return map_tree(checked, parameters, *others)


def _zeros(parameters: Any) -> Any:
    return map_tree(lambda p: np.zeros(shape_of(p), dtype_of(p)), parameters)


def sgd(rate: float) -> Optimiser:
    """Return gradient descent: ``p <- p - rate g`` (Robbins and Monro, 1951).

    Example:
        >>> sgd(0.1).update(2.0, (), 1.0)
        (0.8, ())
    """

    def update(gradients: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        return _each(lambda p, g: p - rate * g, parameters, gradients), state

    return Optimiser(lambda parameters: (), update)


def momentum(rate: float, decay: float = 0.9) -> Optimiser:
    """Return gradient descent with momentum: ``v <- decay v + g``, ``p <- p - rate v`` (Polyak, 1964).

    Example:
        >>> momentum(0.1).update(2.0, 1.0, 1.0)
        (0.71, 2.9)
    """

    def update(gradients: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        velocity = _each(lambda v, g: decay * v + g, state, gradients)
        return _each(lambda p, v: p - rate * v, parameters, velocity), velocity

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
        return AdamState(np.int64(0), _zeros(parameters), _zeros(parameters))

    def update(gradients: Any, state: AdamState, parameters: Any) -> tuple[Any, AdamState]:
        step = state.step + 1
        mean = _each(lambda m, g: beta1 * m + (1 - beta1) * g, state.mean, gradients)
        square = _each(lambda s, g: beta2 * s + (1 - beta2) * (g * g), state.square, gradients)
        scale, root = rate / (1 - beta1**step), np.sqrt(1 - beta2**step)

        def move(p: Any, m: Any, s: Any) -> Any:
            # In the dtype of the parameter: the corrections are float64 scalars.
            dtype = dtype_of(p)
            return p - cast(scale, dtype=dtype) * m / (np.sqrt(s) / cast(root, dtype=dtype) + epsilon)

        return _each(move, parameters, mean, square), AdamState(step, mean, square)

    return Optimiser(init, update)
