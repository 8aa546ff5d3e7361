"""Softmax and its logarithm, which programs write as exponentials over their sum."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.exporting.onnx.values import Value


def softmax(top: Value, bottom: Value) -> Value | None:
    """Match ``exp(x - m) / sum exp(x - m)``, and return its softmax; None for another quotient."""
    axis = _summed_axis(top, bottom)
    exponent = top.made_by("Exp")
    if axis is None or not exponent:
        return None
    x = _unshifted(exponent[0], axis)
    return x.unary("Softmax", axis=axis)


def log_softmax(exponent: Value, logarithm: Value) -> Value | None:
    """Match ``(x - m) - log sum exp(x - m)``, and return its logarithm of softmax; None for another difference."""
    for total in logarithm.made_by("Log"):
        for terms in _sum_of(total)[:1]:
            axis = _summed_axis(terms, total)
            if axis is not None and any(y.name == exponent.name for y in terms.made_by("Exp")):
                return _unshifted(exponent, axis).unary("LogSoftmax", axis=axis)
    return None


def _sum_of(total: Value) -> Sequence[Value]:
    """Return the summand and the axes of a sum, up to its shape; nothing for another value."""
    return total.writer.reshaped.get(total.name, total).made_by("ReduceSum")


def _summed_axis(terms: Value, total: Value) -> int | None:
    """Return the axis of a sum of another value that broadcasts along it; None for another value."""
    match _sum_of(total):
        case [summed, axes] if summed.name == terms.name and axes.known.size == 1:
            axis = int(axes.known[0])
        case _:
            return None
    shape = (1,) * (terms.ndim - total.ndim) + total.shape
    return axis if shape == (*terms.shape[:axis], 1, *terms.shape[axis + 1 :]) else None


def _unshifted(exponent: Value, axis: int) -> Value:
    """Return x of ``x - m``, where m is the same along an axis."""
    match exponent.made_by("Sub"):
        case [x, shift] if x.shape == exponent.shape and _is_constant_along(shift, axis - exponent.ndim):
            return x
        case _:
            return exponent


def _is_constant_along(shift: Value, axis: int) -> bool:
    """Return whether a value that broadcasts does not vary along an axis, which is counted from the end."""
    return shift.ndim < -axis or shift.shape[axis] == 1
