"""Losses of classifiers: cross-entropies, the focal loss, the divergence of distributions; and the accuracy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.arithmetic import multiply_no_nan
from wengert.engine.ops.comparison import where
from wengert.engine.ops.indexing import check_bounds
from wengert.nn.losses import checked_weights, counted, weighted_mean, with_dtype
from wengert.special import log_softmax, softplus, xlogy

_numpy: Any = np  # the stubs of np.mean give no element type
_loss = functools.partial(
    documented,
    {
        "logits": "(..., classes), floating-point, with one leading axis or more: examples, or examples and steps.",
        "labels": "(...) integers below ``classes``, or (..., classes) probabilities.",
        "weights": """of the examples: an array of the leading axes of the logits, of numbers or truth values. The mean
    is ``sum w loss / sum w``. An example of weight 0 is left out, whatever its label is: ``weights=labels != -100``
    leaves out labels -100, and ``np.arange(steps) < lengths[:, None]`` steps of padding.""",
        "class_weights": """(classes,): the weight of an example is multiplied by that of its class, as in PyTorch.
    A label of probabilities counts as those labels together; PyTorch does not divide these by their weights.""",
        "smoothing": "the share ``e`` of each label that all classes get equally: ``(1 - e) p + e / classes``.",
    },
    Returns="A scalar.",
    Raises="""\
ShapeError: the labels or the weights do not fit the logits.
OutOfRangeError: a label is not in [0, classes).
ArgumentError: the smoothing is not in [0, 1].""",
)


@_loss()
def softmax_cross_entropy(
    logits: Any, labels: Any, *, weights: Any = None, class_weights: Any = None, smoothing: float = 0.0
) -> Any:
    """Return the mean of ``-ln softmax(logits)[label]`` over the examples, stable for logits of any size.

    Label smoothing is that of Szegedy et al. (2016).

    Example:
        >>> softmax_cross_entropy(np.array([[1e4, 0.0], [0.0, 0.0]]), np.array([0, 1]))
        np.float64(0.34657359027997264)
        >>> steps = np.zeros((2, 3, 4))  # two sequences of three steps, the second of two
        >>> labels, present = np.array([[3, 0, 1], [2, 2, -1]]), np.array([[1, 1, 1], [1, 1, 0]])
        >>> round(float(softmax_cross_entropy(steps, labels, weights=present)), 4)
        1.3863
    """
    return _of_classes("softmax_cross_entropy", logits, labels, None, weights, class_weights, smoothing)


@_loss(focus="the exponent ``g`` of ``1 - p``; 0 gives the cross-entropy.")
def focal_loss(
    logits: Any,
    labels: Any,
    focus: float = 2.0,
    *,
    weights: Any = None,
    class_weights: Any = None,
    smoothing: float = 0.0,
) -> Any:
    """Return the mean of ``-(1 - p)^g ln p`` with ``p = softmax(logits)[label]`` (Lin et al., 2017).

    Examples that are classified well count less. The paper's loss of one logit z is that of the logits (0, z).

    Example:
        >>> round(float(focal_loss(np.zeros((1, 2)), np.array([0]))), 4)
        0.1733
    """
    if focus < 0:
        raise ArgumentError(message("focal_loss", "the focus must not be negative", repr(focus)))

    def term(log_p: Any) -> Any:
        return (-np.expm1(log_p)) ** focus * log_p

    return _of_classes("focal_loss", logits, labels, term, weights, class_weights, smoothing)


def _of_classes(
    name: str,
    logits: Any,
    labels: Any,
    term: Callable[[Any], Any] | None,
    weights: Any,
    class_weights: Any,
    smoothing: float,
) -> Any:
    """Return the mean of ``-sum_c p_c term(ln q_c)`` for labels p and predictions q; a term is ln q by default."""
    logits, labels = operand(logits), operand(labels)
    shape = shape_of(logits)
    lead, classes = shape[:-1], shape[-1] if shape else 0
    if len(shape) < 2 or shape_of(labels) not in (shape, lead):
        requirement = "labels must be (examples,) or (examples, classes) for logits (examples, classes)"
        raise ShapeError(message(name, requirement, show(logits, labels)))
    _check_smoothing(name, smoothing)
    of_each = _of_each_class(name, class_weights, classes, dtype_of(logits))
    weights = checked_weights(name, weights, lead)
    log_probabilities = log_softmax(logits, axis=-1)
    terms = log_probabilities if term is None else term(log_probabilities)
    if shape_of(labels) == shape:
        smooth = labels * (1 - smoothing) + smoothing / classes if smoothing else labels
        scaled = terms if of_each is None else terms * of_each
        masses = None if of_each is None else np.sum(labels * of_each, axis=-1)
        if weights is None and masses is None:
            return -np.sum(_weighed(smooth, scaled)) / int(np.prod(lead))
        return -weighted_mean(np.sum(_weighed(smooth, scaled), axis=-1), weights, masses)
    labels = _checked_labels(name, labels, weights, classes)
    chosen = labels if len(lead) == 1 else np.reshape(labels, (-1,))
    rows = terms if len(lead) == 1 else np.reshape(terms, (-1, classes))
    gains = rows[np.arange(shape_of(rows)[0]), chosen]
    gains = gains if len(lead) == 1 else np.reshape(gains, lead)
    masses = None if of_each is None else of_each[labels]
    gains = gains if masses is None else gains * masses
    if smoothing:
        scaled = terms if of_each is None else terms * of_each
        gains = (1 - smoothing) * gains + smoothing / classes * np.sum(scaled, axis=-1)
    return -weighted_mean(gains, weights, masses)


def _weighed(shares: Any, terms: Any) -> Any:
    """Return the products of shares and terms, 0 where a share is 0 even if the term is infinite."""
    dtype = np.result_type(dtype_of(shares), dtype_of(terms))
    return multiply_no_nan(with_dtype(shares, dtype), with_dtype(terms, dtype))


def _check_smoothing(name: str, smoothing: float) -> None:
    if not 0 <= smoothing <= 1:
        raise ArgumentError(message(name, "the smoothing must lie in [0, 1]", repr(smoothing)))


def _of_each_class(name: str, class_weights: Any, classes: int, dtype: Any) -> Any:
    if class_weights is None:
        return None
    class_weights = operand(class_weights)
    if shape_of(class_weights) != (classes,):
        raise ShapeError(message(name, f"class_weights must be ({classes},)", show(class_weights)))
    return with_dtype(class_weights, dtype)


def _checked_labels(name: str, labels: Any, weights: Any, classes: int) -> Any:
    """Return integer labels, those of weight 0 replaced by 0; or raise an error."""
    if dtype_of(labels).kind not in "iu":
        raise ShapeError(message(name, "labels (examples,) must be integers", show(labels)))
    if weights is not None:
        chosen = np.broadcast_to(counted(weights), shape_of(labels))
        labels = where(chosen, labels, np.zeros((), dtype_of(labels)))
    requirement = f"labels must lie in [0, {classes})"
    return check_bounds(labels, count=classes, operation=name, requirement=requirement)


@_loss(
    logits="an array of any shape, floating-point.",
    labels="an array of the same shape: probabilities, such as 0 and 1 or truth values.",
    weights="""of the elements, or of the examples: an array of the leading axes of the logits, of numbers or truth
    values. The mean is ``sum w loss / sum w``; what has the weight 0 is left out.""",
    positive_weight="the factor of the losses of positive labels, which broadcasts with the labels.",
    smoothing="the share ``e`` of each label that both classes get equally: ``(1 - e) p + e / 2``.",
)
def sigmoid_cross_entropy(
    logits: Any, labels: Any, *, weights: Any = None, positive_weight: Any = 1.0, smoothing: float = 0.0
) -> Any:
    """Return the mean of ``-p ln s(z) - (1 - p) ln s(-z)``, the binary cross-entropy of logits z with labels p.

    ``s`` is the sigmoid, which the loss contains: it is stable for logits of any size.

    Example:
        >>> float(sigmoid_cross_entropy(np.array([0.0, 1e4]), np.array([0, 1])).round(4))
        0.3466
    """
    name = "sigmoid_cross_entropy"
    logits, labels = operand(logits), operand(labels)
    if shape_of(labels) != shape_of(logits):
        raise ShapeError(message(name, "labels must have the shape of the logits", show(logits, labels)))
    _check_smoothing(name, smoothing)
    weights = checked_weights(name, weights, shape_of(logits))
    labels = with_dtype(labels, dtype_of(logits)) if dtype_of(labels).kind in "biu" else labels
    labels = labels * (1 - smoothing) + smoothing / 2 if smoothing else labels
    positive_weight = with_dtype(operand(positive_weight), dtype_of(logits))
    positive, negative = (
        _weighed(positive_weight * labels, softplus(-logits)),
        _weighed(1 - labels, softplus(logits)),
    )
    losses = positive + negative
    return weighted_mean(losses, weights)


@_loss(
    logits="(..., classes): logits of the predictions, or their log-probabilities, which are logits, too.",
    targets="(..., classes): probabilities.",
)
def kl_divergence(logits: Any, targets: Any, *, weights: Any = None) -> Any:
    """Return the mean of ``sum_c p_c (ln p_c - ln q_c)`` over the examples (Kullback and Leibler, 1951).

    ``p`` are the targets and ``q = softmax(logits)`` the predictions. A target of 0 adds nothing.

    Example:
        >>> round(float(kl_divergence(np.zeros((1, 2)), np.array([[1.0, 0.0]]))), 4)
        0.6931
    """
    logits, targets = operand(logits), operand(targets)
    shape = shape_of(logits)
    if len(shape) < 2 or shape_of(targets) != shape:
        raise ShapeError(
            message("kl_divergence", "logits and targets must be (examples, classes)", show(logits, targets))
        )
    weights = checked_weights("kl_divergence", weights, shape[:-1])
    losses = np.sum(xlogy(targets, targets) - _weighed(targets, log_softmax(logits, axis=-1)), axis=-1)
    return weighted_mean(losses, weights)


def accuracy(logits: Any, labels: Any, *, weights: Any = None) -> Any:
    """Return the fraction of examples whose largest logit is that of the label.

    Args:
        logits: (..., classes).
        labels: (...) integers.
        weights: of the examples, as for `softmax_cross_entropy`.

    Returns:
        A scalar in [0, 1].

    Raises:
        ShapeError: the labels do not fit the logits.

    Example:
        >>> float(accuracy(np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([0, 0])))
        0.5
    """
    logits, labels = operand(logits), operand(labels)
    shape = shape_of(logits)
    if len(shape) < 2 or shape_of(labels) != shape[:-1]:
        requirement = "labels must be (examples,) for logits (examples, classes)"
        raise ShapeError(message("accuracy", requirement, show(logits, labels)))
    right: Any = np.argmax(logits, axis=-1) == labels
    if weights is None:
        return _numpy.mean(right)
    return weighted_mean(right.astype(dtype_of(logits)), checked_weights("accuracy", weights, shape[:-1]))
