"""Layers that keep a state, draw random numbers, or do another thing in training: state in, state out.

Such a layer has ``apply(x, state, *, training, key)``, which returns the output and the next state, and
``initial_state()``. All others are plain functions of their input, and `apply` calls them.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard

from wengert import random

__all__ = ["Stateful", "apply", "fold_key", "initial_state"]


class Stateful(Protocol):
    """A layer whose output depends on more than its arrays and its input."""

    def initial_state(self) -> Any:
        """Return the state before training, None where there is none."""
        ...

    def apply(self, x: Any, state: Any, *, training: bool = False, key: Any = None) -> tuple[Any, Any]:
        """Return the output and the next state."""
        ...


def _is_stateful(layer: Any) -> TypeGuard[Stateful]:
    return hasattr(layer, "apply")


def initial_state(layer: Any) -> Any:
    """Return the state that a layer or a model starts training with.

    Args:
        layer: any layer; of a `Chain`, the result has the state of each of its layers.

    Returns:
        A container of arrays, with None for layers without state.

    Example:
        >>> from wengert import nn
        >>> initial_state(nn.Chain(nn.Dense(3, 2, seed=0), nn.relu)) is None
        True
        >>> initial_state(nn.Chain(nn.Dense(3, 2, seed=0), nn.BatchNorm(2)))[1].mean
        array([0., 0.], dtype=float32)
    """
    return layer.initial_state() if _is_stateful(layer) else None


def apply(layer: Any, x: Any, state: Any, *, training: bool = False, key: Any = None) -> tuple[Any, Any]:
    """Apply a layer or a model, and return its output and its next state.

    A layer without ``apply`` of its own is called, and its state passed on.

    Args:
        layer: a layer, a model, or a function of one argument.
        x: the input.
        state: of `initial_state`, or the last call.
        training: whether the layer is being trained: `Dropout` drops, `BatchNorm` normalises by the batch.
        key: what random numbers are drawn from, of `wengert.random`; where training needs none, it may be None.

    Example:
        >>> import numpy as np
        >>> from wengert import nn
        >>> layer = nn.BatchNorm(2)
        >>> y, state = apply(layer, np.array([[1.0, 2.0], [3.0, 6.0]]), initial_state(layer), training=True)
        >>> print(y.round(3).tolist(), state.mean)
        [[-1.0, -1.0], [1.0, 1.0]] [0.2 0.4]
    """
    if _is_stateful(layer):
        return layer.apply(x, state, training=training, key=key)
    return layer(x), state


def fold_key(key: Any, number: int) -> Any:
    """Return the key of the n-th part of a model."""
    return None if key is None else random.fold_in(key, number)
