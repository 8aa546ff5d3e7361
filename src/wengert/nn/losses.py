"""Losses of differences, and the weighted means that all losses share."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import BOOL, dtype_of
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where

_numpy: Any = np  # the stubs of np.mean give no element type
_error = functools.partial(
    documented,
    {
        "predictions": "an array of any shape.",
        "targets": "an array of the same shape, or a number.",
        "weights": """of the elements, or of the examples: an array of the leading axes of the predictions, of numbers
    or truth values. The mean is ``sum w loss / sum w``; what has the weight 0 is left out, whatever it holds.""",
    },
    Returns="A scalar.",
    Raises="ShapeError: the shapes differ; broadcasting would compare each prediction with all targets.",
)


def with_dtype(x: Any, dtype: Any) -> Any:
    """Return an array with a dtype; a Python number, which takes that of the other operand, stays."""
    return x if dtype_of(x) == dtype or type(x) in (int, float) else x.astype(dtype)


def checked_weights(operation: str, weights: Any, shape: tuple[int, ...]) -> Any:
    """Return weights of the leading axes of some losses, or None; `ShapeError` if they have another shape."""
    if weights is None:
        return None
    weights = operand(weights)
    own = shape_of(weights)
    if not own or own != shape[: len(own)]:
        requirement = f"weights must have leading axes of {shape}"
        raise ShapeError(message(operation, requirement, show(weights)))
    return np.reshape(weights, (*own, *(1,) * (len(shape) - len(own))))


def counted(weights: Any) -> Any:
    """Return where weights are not 0."""
    return weights if dtype_of(weights) == BOOL else weights != 0


def weighted_mean(losses: Any, weights: Any, masses: Any = None) -> Any:
    """Return ``sum w loss / sum w mass``, and 0 where all weights are 0; a mass is 1 by default.

    The weights come from `checked_weights`. What has the weight 0 does not count, even if it is NaN.
    """
    if weights is None:
        return np.sum(losses) / (math.prod(shape_of(losses)) if masses is None else np.sum(masses))
    chosen, dtype = counted(weights), dtype_of(losses)
    weights = np.broadcast_to(with_dtype(weights, dtype), shape_of(losses))
    total = np.sum(weights if masses is None else weights * where(chosen, masses, 0.0))
    return np.sum(weights * where(chosen, losses, 0.0)) / where(total != 0, total, 1.0)


@_error()
def sum_squared_error(predictions: Any, targets: Any) -> Any:
    """Return ``sum (prediction - target)^2``.

    Example:
        >>> float(sum_squared_error(np.array([1.0, 2.0]), np.array([0.0, 0.0])))
        5.0
    """
    return np.sum(np.square(_difference("sum_squared_error", predictions, targets)))


@_error()
def mean_squared_error(predictions: Any, targets: Any, *, weights: Any = None) -> Any:
    """Return the mean of ``(prediction - target)^2`` over all elements.

    Example:
        >>> float(mean_squared_error(np.array([1.0, 2.0]), np.array([0.0, 0.0])))
        2.5
    """
    losses = np.square(_difference("mean_squared_error", predictions, targets))
    if weights is None:
        return _numpy.mean(losses)
    return weighted_mean(losses, checked_weights("mean_squared_error", weights, shape_of(losses)))


@_error(threshold="where the loss becomes linear, positive.")
def huber_loss(predictions: Any, targets: Any, threshold: float = 1.0, *, weights: Any = None) -> Any:
    """Return the mean of ``r^2 / 2`` where ``|r| <= d``, and ``d (|r| - d / 2)`` elsewhere (Huber, 1964).

    ``r`` is the prediction less the target, and ``d`` the threshold. Far targets pull no harder than those at ``d``.

    Example:
        >>> float(huber_loss(np.array([1.0, 5.0]), np.array([0.0, 0.0]), 2.0))
        4.25
    """
    if not threshold > 0:
        raise ArgumentError(message("huber_loss", "the threshold must be positive", repr(threshold)))
    residual = _difference("huber_loss", predictions, targets)
    near = np.clip(residual, -threshold, threshold)
    losses = near * (residual - 0.5 * near)
    return weighted_mean(losses, checked_weights("huber_loss", weights, shape_of(losses)))


def _difference(operation: str, predictions: Any, targets: Any) -> Any:
    predictions, targets = operand(predictions), operand(targets)
    if shape_of(targets) not in (shape_of(predictions), ()):
        requirement = "predictions and targets must have the same shape"
        raise ShapeError(message(operation, requirement, show(predictions, targets)))
    return predictions - targets
