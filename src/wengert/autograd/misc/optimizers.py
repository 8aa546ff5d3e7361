"""Descents with autograd's signatures: ``grad(x, i)`` is the gradient in step i, and x any containers of arrays.

For others, and for descents inside of compiled programs, see `wengert.optim` and `wengert.optimize`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.autograd.misc.flatten import flatten
from wengert.engine.core.docstrings import documented

_described = functools.partial(
    documented,
    {
        "grad": "``grad(x, i)`` returns the gradient in step i.",
        "x": "where to begin: an array or a container of them.",
        "callback": "called with x, i and the gradient before each step; or None.",
        "num_iters": "the number of steps.",
        "step_size": "the factor of each step.",
    },
    Returns="x after the last step.",
)


def _descend(
    grad: Callable[..., Any], x: Any, callback: Any, num_iters: int, step: Callable[..., Any], *start: Any
) -> Any:
    """Move by what ``step(i, gradient, *state)`` returns first; the others are the next state."""
    vector, unflatten = flatten(x)
    state = [*start]
    for i in range(num_iters):
        g = flatten(grad(unflatten(vector), i))[0]
        if callback:
            callback(unflatten(vector), i, unflatten(g))
        move, *state = step(i, g, *state)
        vector = vector + move
    return unflatten(vector)


@_described(mass="how much of the mean each step keeps.")
def sgd(
    grad: Any, x: Any, callback: Any = None, num_iters: int = 200, step_size: float = 0.1, mass: float = 0.9
) -> Any:
    """Descend along a mean of the gradients that decays: stochastic gradient descent with momentum.

    Example:
        >>> sgd(lambda x, i: 2.0 * x, np.array([1.0]), num_iters=1)
        array([0.98])
    """

    def step(i: int, g: Any, velocity: Any) -> Any:
        velocity = mass * velocity - (1.0 - mass) * g
        return step_size * velocity, velocity

    return _descend(grad, x, callback, num_iters, step, 0.0)


@_described(gamma="how much of the mean each step keeps.", eps="is added to the root.")
def rmsprop(
    grad: Any,
    x: Any,
    callback: Any = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """Descend along the gradient, divided by the root of a mean of its squares (RMSProp).

    Example:
        >>> bool(abs(rmsprop(lambda x, i: 2.0 * x, np.array([1.0])))[0] < 0.1)
        True
    """

    def step(i: int, g: Any, square: Any) -> Any:
        square = gamma * square + (1 - gamma) * g**2
        return -step_size * g / (np.sqrt(square) + eps), square

    return _descend(grad, x, callback, num_iters, step, 1.0)


@_described(
    b1="how much of the mean of the gradients each step keeps.",
    b2="how much of the mean of the squares.",
    eps="is added to the root.",
)
def adam(
    grad: Any,
    x: Any,
    callback: Any = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Descend along a mean of the gradients, divided by the root of that of their squares (Kingma and Ba, 2015).

    Example:
        >>> adam(lambda x, i: 2.0 * x, np.array([1.0]), num_iters=200, step_size=0.1).round(1) + 0.0
        array([0.])
    """

    def step(i: int, g: Any, mean: Any, square: Any) -> Any:
        mean, square = (1 - b1) * g + b1 * mean, (1 - b2) * g**2 + b2 * square
        root = np.sqrt(square / (1 - b2 ** (i + 1))) + eps
        return -step_size * mean / (1 - b1 ** (i + 1)) / root, mean, square

    return _descend(grad, x, callback, num_iters, step, 0.0, 0.0)
