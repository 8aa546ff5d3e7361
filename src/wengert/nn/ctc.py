"""Connectionist temporal classification: the likelihood of a text in unaligned steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.control import scan, stop_gradient
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.engine.ops.indexing import check_bounds
from wengert.nn.losses import checked_weights, weighted_mean
from wengert.special import log_softmax

_numpy: Any = np  # the stubs of np.max give no element type


def ctc_loss(
    logits: Any,
    labels: Any,
    input_lengths: Any = None,
    label_lengths: Any = None,
    *,
    blank: int = 0,
    weights: Any = None,
) -> Any:
    """Return the mean of ``-ln P(labels)`` over the examples (Graves et al., 2006).

    ``P`` is the sum of the probabilities of all paths, a class for each step, that give the labels once repetitions are
    merged and blanks removed: ``a_t(s) = y_t(s) (a_t-1(s) + a_t-1(s - 1) + a_t-1(s - 2))`` over the labels with blanks
    between them, the last term only between different labels, in logarithms. An example with too few steps for its
    labels has an infinite loss without derivatives. PyTorch's mean divides each loss by the number of its labels.

    Args:
        logits: (examples, steps, classes), floating-point.
        labels: (examples, most labels) integers below ``classes``, none of them the blank.
        input_lengths: (examples,): the number of steps of each example; all by default.
        label_lengths: (examples,): the number of labels of each example; all by default.
        blank: the class that stands for no label.
        weights: (examples,), as for `softmax_cross_entropy`.

    Returns:
        A scalar.

    Raises:
        ShapeError: the shapes do not fit.
        ArgumentError: the blank is not a class.
        OutOfRangeError: a label or a length is out of its range.

    Example:
        >>> two = np.log(np.array([[[0.5, 0.5], [0.2, 0.8]]]))  # a path of 1 1, 1 0 or 0 1 gives the label 1
        >>> bool(np.isclose(ctc_loss(two, np.array([[1]])), -np.log(0.5 * 0.8 + 0.5 * 0.2 + 0.5 * 0.8)))
        True
    """
    logits, labels = operand(logits), operand(labels)
    shape, of_labels = shape_of(logits), shape_of(labels)
    if (
        len(shape) != 3
        or len(of_labels) != 2
        or of_labels[0] != shape[0]
        or dtype_of(labels).kind not in "iu"
    ):
        requirement = "logits (examples, steps, classes) and integer labels (examples, labels) are needed"
        raise ShapeError(message("ctc_loss", requirement, show(logits, labels)))
    (examples, steps, classes), most = shape, of_labels[1]
    if not 0 <= blank < classes:
        raise ArgumentError(message("ctc_loss", f"the blank must lie in [0, {classes})", repr(blank)))
    times = _checked_lengths("input_lengths", input_lengths, examples, steps)
    counts = _checked_lengths("label_lengths", label_lengths, examples, most)
    weights = checked_weights("ctc_loss", weights, (examples,))
    states = _with_blanks(labels, counts, blank, classes)
    log_y = _numpy.take_along_axis(log_softmax(logits, axis=-1), states[:, np.newaxis, :], axis=2)
    two_before = np.concatenate([np.full((examples, 2), blank), states], axis=1)[:, :-2]
    skips = np.logical_and(states != blank, states != two_before)
    lowest = float(np.finfo(dtype_of(logits)).min) / 4
    ends = 2 * np.expand_dims(counts, 1) - np.arange(
        2 * most + 1
    )  # 0 and 1 at the states that may end a path

    def step(a: Any, inputs: Any) -> Any:
        log_y_t, t = inputs
        one, two = (
            np.concatenate([np.full((examples, n), lowest, a.dtype), a], axis=1)[:, :-n] for n in (1, 2)
        )
        terms = np.stack([a, one, where(skips, two, lowest)])
        new = _log_sum(terms) + log_y_t
        new = where(new > lowest, new, lowest)  # the sum of further terms stays finite
        return where(np.expand_dims(t < times, 1), new, a), None

    start = np.where(np.arange(2 * most + 1) == 0, 0.0, lowest).astype(dtype_of(logits))
    start = np.broadcast_to(start, (examples, 2 * most + 1))
    a, _ = scan(step, start, (np.swapaxes(log_y, 0, 1), np.arange(steps)))
    final = where(np.logical_and(ends >= 0, ends <= 1), a, lowest)
    log_likelihood = _log_sum(np.swapaxes(final, 0, 1))
    return weighted_mean(where(log_likelihood > lowest / 2, -log_likelihood, np.inf), weights)


def _log_sum(terms: Any) -> Any:
    """Return ``ln sum e^x`` over the first axis of finite numbers."""
    largest = stop_gradient(_numpy.max(terms, axis=0))
    return largest + np.log(np.sum(np.exp(terms - largest), axis=0))


def _checked_lengths(name: str, lengths: Any, examples: int, most: int) -> Any:
    if lengths is None:
        return np.full(examples, most)
    lengths = operand(lengths)
    if shape_of(lengths) != (examples,) or dtype_of(lengths).kind not in "iu":
        raise ShapeError(message("ctc_loss", f"{name} must be ({examples},) integers", show(lengths)))
    requirement = f"{name} must lie in [0, {most}]"
    checked = check_bounds(lengths, count=most + 1, operation="ctc_loss", requirement=requirement)
    return checked.astype(np.int64)


def _with_blanks(labels: Any, counts: Any, blank: int, classes: int) -> Any:
    """Return the states of a path, (examples, 2 labels + 1): the labels, with blanks around each."""
    examples, most = shape_of(labels)
    labels = labels.astype(np.int64)
    present = np.arange(most) < np.expand_dims(counts, 1)
    # A blank among the labels is moved out of the range, so that the check finds it.
    wrong = where(labels == blank, -1, labels)
    requirement = f"labels must lie in [0, {classes}), and none may be the blank {blank} (shown as -1)"
    checked = check_bounds(
        where(present, wrong, 0), count=classes, operation="ctc_loss", requirement=requirement
    )
    pairs = np.stack([np.full((examples, most), blank), where(present, checked, blank)], axis=2)
    return np.concatenate([np.reshape(pairs, (examples, 2 * most)), np.full((examples, 1), blank)], axis=1)
