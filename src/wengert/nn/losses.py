"""Losses, and the accuracy of a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.indexing import check_bounds
from wengert.special import log_softmax

_numpy: Any = np  # the stubs of np.mean give no element type
_squared_error = documented(
    {"predictions": "an array of any shape.", "targets": "an array of the same shape, or a number."},
    Returns="A scalar.",
    Raises="ShapeError: the shapes differ; broadcasting would compare each prediction with all targets.",
)


def softmax_cross_entropy(logits: Any, labels: Any) -> Any:
    """Return the mean of ``-ln softmax(logits)[label]`` over the examples, stable for logits of any size.

    Args:
        logits: (examples, classes), floating-point.
        labels: (examples,) integers below ``classes``, or (examples, classes) probabilities.

    Returns:
        A scalar.

    Raises:
        ShapeError: the labels do not fit the logits.
        OutOfRangeError: a label is not in [0, classes).

    Example:
        >>> softmax_cross_entropy(np.array([[1e4, 0.0], [0.0, 0.0]]), np.array([0, 1]))
        np.float64(0.34657359027997264)
    """
    logits, labels = operand(logits), operand(labels)
    shape = shape_of(logits)
    if len(shape) != 2 or shape_of(labels) not in (shape, shape[:1]):
        requirement = "labels must be (examples,) or (examples, classes) for logits (examples, classes)"
        raise ShapeError(message("softmax_cross_entropy", requirement, show(logits, labels)))
    log_probabilities = log_softmax(logits, axis=1)
    examples, classes = shape
    if shape_of(labels) == shape:
        return -np.sum(labels * log_probabilities) / examples
    if dtype_of(labels).kind not in "iu":
        requirement = "labels (examples,) must be integers"
        raise ShapeError(message("softmax_cross_entropy", requirement, show(labels)))
    requirement = f"labels must lie in [0, {classes})"
    labels = check_bounds(labels, count=classes, operation="softmax_cross_entropy", requirement=requirement)
    return -np.sum(log_probabilities[np.arange(examples), labels]) / examples


@_squared_error
def sum_squared_error(predictions: Any, targets: Any) -> Any:
    """Return ``sum (prediction - target)^2``.

    Example:
        >>> float(sum_squared_error(np.array([1.0, 2.0]), np.array([0.0, 0.0])))
        5.0
    """
    return np.sum(np.square(_difference("sum_squared_error", predictions, targets)))


@_squared_error
def mean_squared_error(predictions: Any, targets: Any) -> Any:
    """Return the mean of ``(prediction - target)^2`` over all elements.

    Example:
        >>> float(mean_squared_error(np.array([1.0, 2.0]), np.array([0.0, 0.0])))
        2.5
    """
    return _numpy.mean(np.square(_difference("mean_squared_error", predictions, targets)))


def _difference(operation: str, predictions: Any, targets: Any) -> Any:
    predictions, targets = operand(predictions), operand(targets)
    if shape_of(targets) not in (shape_of(predictions), ()):
        requirement = "predictions and targets must have the same shape"
        raise ShapeError(message(operation, requirement, show(predictions, targets)))
    return predictions - targets


def accuracy(logits: Any, labels: Any) -> Any:
    """Return the fraction of examples whose largest logit is that of the label.

    Args:
        logits: (examples, classes).
        labels: (examples,) integers.

    Returns:
        A scalar in [0, 1].

    Raises:
        ShapeError: the labels do not fit the logits.

    Example:
        >>> float(accuracy(np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([0, 0])))
        0.5
    """
    logits, labels = operand(logits), operand(labels)
    if len(shape_of(logits)) != 2 or shape_of(labels) != shape_of(logits)[:1]:
        requirement = "labels must be (examples,) for logits (examples, classes)"
        raise ShapeError(message("accuracy", requirement, show(logits, labels)))
    return _numpy.mean(np.argmax(logits, axis=1) == labels)
