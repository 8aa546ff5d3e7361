"""Recursive filters: `lfilter` and its kin, forward and backward.

The recurrence ``a[0] y[n] = sum_k b[k] x[n - k] - sum_k a[k] y[n - k]`` is a triangular banded system for y, which
LAPACK solves by substitution: in time linear in the length, with derivatives by systems of the transposed matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import axis_index, shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.engine.ops.contraction import along, contract
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.linalg.banded import solve_banded
from wengert.engine.ops.shape import reshape
from wengert.numpy.linear_algebra import lstsq
from wengert.numpy.registry import floating, rank_of
from wengert.numpy.shaping import part
from wengert.scipy.registry import array, number


def _coefficients(operation: str, *vectors: Any) -> list[Any]:
    terms = [np.reshape(x, (1,)) if not rank_of(x) else x for x in map(array, vectors)]
    if any(rank_of(x) != 1 or not shape_of(x)[0] for x in terms):
        raise ShapeError(message(operation, "the coefficients must be vectors with elements", show(*terms)))
    return terms


def _padded(x: Any, count: int) -> Any:
    """Return a vector filled up with zeros to a length."""
    missing = count - shape_of(x)[0]
    return np.concatenate([x, np.zeros(missing, dtype_of(x))]) if missing > 0 else x


def _full(weights: Any, x: Any) -> Any:
    """Return the full convolution of a vector with the rows of a matrix, along its first axis."""
    (taps,), (count, columns) = shape_of(weights), shape_of(x)
    return contract(
        weights,
        x,
        extents=(taps, count, columns),
        accesses=((along(0),), (along(1), along(2))),
        out=((0, ((0, 1), (1, 1))), along(2)),
        shape=(taps + count - 1, columns),
    )


def _recurrence(b: Any, a: Any, x: Any, state: Any) -> tuple[Any, Any]:
    """Filter the columns of a matrix, for coefficients of one length with a[0] = 1; return the last states, too."""
    order, (count, columns) = shape_of(b)[0] - 1, shape_of(x)
    forced = _full(b, x)
    if state is not None:
        longer = np.zeros((max(count + order - shape_of(state)[0], 0), columns), dtype_of(forced))
        forced = forced + np.concatenate([state, longer])[: count + order]
    if not order or not count:
        return forced[:count], forced[count:]
    bands = np.broadcast_to(a[:, None], (order + 1, count))
    y = solve_banded(bands, forced[:count], lower=order, upper=0)
    return y, forced[count:] - _full(a, y)[count:]


def _filtered(b: Any, a: Any, x: Any, axis: int, zi: Any) -> tuple[Any, Any]:
    """Filter along an axis; return the last states, too."""
    x = np.moveaxis(x, axis, 0)
    count, trailing = shape_of(x)[0], shape_of(x)[1:]
    b, a = b / a[0], a / a[0]
    order = max(shape_of(b)[0], shape_of(a)[0]) - 1
    b, a = _padded(b, order + 1), _padded(a, order + 1)
    state = None
    if zi is not None:
        state = np.broadcast_to(np.moveaxis(zi, axis, 0), (order, *trailing))
        state = reshape(state, shape=(order, size(trailing)))
    y, last = _recurrence(b, a, reshape(x, shape=(count, size(trailing))), state)
    y, last = (reshape(value, shape=(shape_of(value)[0], *trailing)) for value in (y, last))
    return np.moveaxis(y, 0, axis), np.moveaxis(last, 0, axis)


def _of_one_dtype(*values: Any) -> list[Any]:
    """Return values in the floating dtype that all of them fit; None stays."""
    operands = [floating(array(x)) for x in values if x is not None]
    dtype = np.result_type(*map(dtype_of, operands))
    made = iter([x if dtype_of(x) == dtype else cast(x, dtype=dtype) for x in operands])
    return [None if x is None else next(made) for x in values]


@substitutes("scipy.signal.lfilter")
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter by ``a[0] y[n] = b[0] x[n] + b[1] x[n - 1] + ... - a[1] y[n - 1] - ...``; all arrays have derivatives.

    Raises:
        ShapeError: the coefficients are not vectors, or the states do not fit.

    Example:
        >>> lfilter([1.0], [1.0, -0.5], np.array([1.0, 0.0, 0.0]))
        array([1.  , 0.5 , 0.25])
    """
    operation = "lfilter"
    b, a = _coefficients(operation, b, a)
    b, a, x, zi = _of_one_dtype(b, a, x, zi)
    axis = axis_index(operation, axis, rank_of(x))
    order = max(shape_of(b)[0], shape_of(a)[0]) - 1
    if zi is not None:
        expected = [*shape_of(x)[:axis], order, *shape_of(x)[axis + 1 :]]
        fits = rank_of(zi) == len(expected) and all(
            n == wanted or (n == 1 and k != axis)
            for k, (n, wanted) in enumerate(zip(shape_of(zi), expected, strict=True))
        )
        if not fits:
            raise ShapeError(message(operation, f"zi must have the shape {tuple(expected)}", show(zi)))
    y, last = _filtered(b, a, x, axis, zi)
    return y if zi is None else (y, last)


@substitutes("scipy.signal.lfiltic")
def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    """Return the states of `lfilter` after given outputs and inputs.

    Raises:
        ShapeError: the coefficients are not vectors.

    Example:
        >>> lfiltic([1.0], [1.0, -0.5], [2.0])
        array([1.])
    """
    b, a = _coefficients("lfiltic", b, a)
    b, a, y, x = _of_one_dtype(b, a, y, x)
    order = max(shape_of(b)[0], shape_of(a)[0]) - 1
    states: Any = np.zeros(order, dtype_of(b))
    pairs = [(-a, y), *([] if x is None else [(b, x)])]
    for weights, past in pairs:
        taps = shape_of(weights)[0] - 1
        past = _padded(reshape(past, shape=(size(shape_of(past)),)), taps)[:taps]
        terms = np.zeros((order, taps), np.int64) + np.arange(order)[:, None] + np.arange(taps) + 1
        is_term = terms <= taps
        states = states + np.sum(where(is_term, weights[np.where(is_term, terms, 0)], 0.0) * past, -1)
    return states / a[0]


@substitutes("scipy.signal.lfilter_zi")
def lfilter_zi(b: Any, a: Any) -> Any:
    """Return the states of `lfilter` in which a signal of ones gives a constant output.

    Raises:
        ShapeError: the coefficients are not vectors.
        ArgumentError: all coefficients of y are 0.

    Example:
        >>> lfilter_zi([0.5], [1.0, -0.5])
        array([0.5])
    """
    b, a = _of_one_dtype(*_coefficients("lfilter_zi", b, a))
    leading = concrete(a)
    if leading is not None:
        if not np.any(leading):
            raise ArgumentError(message("lfilter_zi", "a coefficient of y must not be 0", show(a)))
        a = a[int(np.flatnonzero(leading)[0]) :]
    b, a = b / a[0], a / a[0]
    count = max(shape_of(a)[0], shape_of(b)[0])
    b, a = _padded(b, count), _padded(a, count)
    right = b[1:] - a[1:] * b[0]
    if count < 3:
        return right / (1.0 + a[1:])
    # The states z solve z[i] = z[i + 1] - a[i + 1] z[0] + right[i]: their sums give z[0].
    first = np.sum(right) / np.sum(a)
    later = np.cumsum(a)[1:-1] * first - np.cumsum(right)[:-1]
    return np.concatenate([first[None], later])


# -- sections of second order ----------------------------------------------------------------------------


def _sections(operation: str, sos: Any) -> Any:
    sos = floating(array(sos))
    if rank_of(sos) != 2 or shape_of(sos)[1] != 6:
        raise ShapeError(message(operation, "sos must have a row of 6 coefficients a section", show(sos)))
    rows = concrete(sos)
    if rows is not None and not (rows[:, 3] == 1).all():
        raise ArgumentError(message(operation, "sos[:, 3] must be 1", show(sos)))
    return sos


@substitutes("scipy.signal.sosfilt")
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter by sections of second order, one after the other; all arrays have derivatives.

    Raises:
        ShapeError: the sections are not rows of 6, or the states do not fit.

    Example:
        >>> sosfilt([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]], np.array([1.0, 0.0, 0.0]))
        array([1.  , 0.5 , 0.25])
    """
    operation = "sosfilt"
    sos, x, zi = _of_one_dtype(_sections(operation, sos), x, zi)
    axis = axis_index(operation, axis, rank_of(x))
    expected = (shape_of(sos)[0], *shape_of(x)[:axis], 2, *shape_of(x)[axis + 1 :])
    if zi is not None and shape_of(zi) != expected:
        raise ShapeError(message(operation, f"zi must have the shape {expected}", show(zi)))
    states: list[Any] = []
    for section in range(shape_of(sos)[0]):
        state = None if zi is None else zi[section]
        x, last = _filtered(sos[section, :3], sos[section, 3:], x, axis, state)
        states.append(last)
    return x if zi is None else (x, np.stack(states))


@substitutes("scipy.signal.sosfilt_zi")
def sosfilt_zi(sos: Any) -> Any:
    """Return the states of `sosfilt` in which a signal of ones gives a constant output.

    Raises:
        ShapeError: the sections are not rows of 6.

    Example:
        >>> sosfilt_zi([[0.5, 0.0, 0.0, 1.0, -0.5, 0.0]])
        array([[0.5, 0. ]])
    """
    sos = _sections("sosfilt_zi", sos)
    scale: Any = 1.0
    states: list[Any] = []
    for section in range(shape_of(sos)[0]):
        b, a = sos[section, :3], sos[section, 3:]
        states.append(scale * lfilter_zi(b, a))
        scale = scale * np.sum(b) / np.sum(a)
    return np.stack(states)


# -- forward and backward --------------------------------------------------------------------------------


def extension(operation: str, x: Any, axis: int, width: int, kind: Any) -> Any:
    """Extend a signal on both sides: "odd" or "even" in its end, by a "constant" or "zeros"."""
    if not width:
        return x
    count = shape_of(x)[axis]
    if kind in ("odd", "even") and width >= count:
        requirement = f"an extension by {width} needs more than {width} elements along the axis"
        raise ArgumentError(message(operation, requirement, show(x)))
    first, last = part(x, axis, slice(0, 1)), part(x, axis, slice(count - 1, count))
    if kind == "constant":
        before, after = (np.repeat(end, width, axis) for end in (first, last))
    elif kind == "zeros":
        before = after = np.zeros([width if k == axis else n for k, n in enumerate(shape_of(x))])
        before = after = before.astype(dtype_of(x))
    else:
        before = np.flip(part(x, axis, slice(1, width + 1)), axis)
        after = np.flip(part(x, axis, slice(count - 1 - width, count - 1)), axis)
        if kind == "odd":
            before, after = 2.0 * first - before, 2.0 * last - after
    return np.concatenate([before, x, after], axis)


def _extended(operation: str, x: Any, axis: int, kind: Any, width: Any, taps: int) -> tuple[Any, int]:
    if kind not in ("odd", "even", "constant", None):
        requirement = "padtype must be odd, even, constant or None"
        raise ArgumentError(message(operation, requirement, repr(kind)))
    width = 0 if kind is None else 3 * taps if width is None else int(number(operation, "padlen", width))
    if shape_of(x)[axis] <= width or width < 0:
        requirement = f"the signal must be longer than padlen, {width}"
        raise ArgumentError(message(operation, requirement, show(x)))
    return extension(operation, x, axis, width, kind), width


@substitutes("scipy.signal.filtfilt")
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: Any = "odd",
    padlen: Any = None,
    method: str = "pad",
    irlen: Any = None,
) -> Any:
    """Filter forward and then backward, without a shift of phase; all arrays have derivatives.

    Raises:
        ArgumentError: the signal is too short for its extension, or ``padtype`` or ``method`` is unknown.

    Example:
        >>> filtfilt([0.5, 0.5], [1.0], np.arange(8.0)).round(6)
        array([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    operation = "filtfilt"
    if method not in ("pad", "gust"):
        raise ArgumentError(message(operation, 'method must be "pad" or "gust"', repr(method)))
    b, a = _coefficients(operation, b, a)
    b, a, x = _of_one_dtype(b, a, x)
    axis = axis_index(operation, axis, rank_of(x))
    if method == "gust":
        return np.moveaxis(_by_states(b, a, np.moveaxis(x, axis, -1), irlen), -1, axis)
    taps = max(shape_of(b)[0], shape_of(a)[0])
    longer, width = _extended(operation, x, axis, padtype, padlen, taps)
    column = (-1, *(1,) * (rank_of(x) - axis - 1))
    states = np.reshape(lfilter_zi(b, a), column)
    y = longer
    for _ in range(2):
        y = np.flip(_filtered(b, a, y, axis, states * part(y, axis, slice(0, 1)))[0], axis)
    return part(y, axis, slice(width, width + shape_of(x)[axis]))


def _by_states(b: Any, a: Any, x: Any, irlen: Any) -> Any:
    """Filter along the last axis forward and backward, with the best initial states.

    Source: Gustafsson, "Determining the initial states in forward-backward filtering" (1996). The states enter
    linearly, and least squares make the results of both orders equal.
    """
    order, count = max(shape_of(b)[0], shape_of(a)[0]) - 1, shape_of(x)[-1]
    if not order:
        return (b[0] / a[0]) ** 2 * x
    seen = count if irlen is None or count <= 2 * irlen else int(irlen)
    unit = np.zeros(order)
    unit[0] = 1.0
    # The share of a state in the output, and that share filtered in the opposite direction.
    first, _ = lfilter(b, a, np.zeros(seen), zi=unit)
    output = np.stack([np.concatenate([np.zeros(k), first[: seen - k]]) for k in range(order)], 1)
    passed = lfilter(b, a, output[::-1], axis=0)
    forward = lfilter(b, a, lfilter(b, a, x)[..., ::-1])[..., ::-1]
    backward = lfilter(b, a, lfilter(b, a, x[..., ::-1])[..., ::-1])
    change = backward - forward
    pairs = passed[::-1] - output, output[::-1] - passed
    effects = passed[::-1], output[::-1]
    if seen == count:
        matrix, effect = np.concatenate(pairs, 1), np.concatenate(effects, 1)
    else:
        change = np.concatenate([change[..., :seen], change[..., count - seen :]], -1)
        still = np.zeros((seen, order))
        matrix, effect = (
            np.concatenate([np.concatenate([upper, still], 1), np.concatenate([still, lower], 1)])
            for upper, lower in (pairs, effects)
        )
    rows = reshape(change, shape=(size(shape_of(change)[:-1]), shape_of(change)[-1]))
    states = lstsq(matrix, np.swapaxes(rows, 0, 1))[0]
    added = reshape(np.swapaxes(np.matmul(effect, states), 0, 1), shape=shape_of(change))
    if seen < count:
        gap = np.zeros((*shape_of(x)[:-1], count - 2 * seen))
        added = np.concatenate([added[..., :seen], gap, added[..., seen:]], -1)
    return forward + added


@substitutes("scipy.signal.sosfiltfilt")
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    """Filter by sections of second order, forward and then backward; all arrays have derivatives.

    ``padlen``: by how many elements; needed where ``sos`` is not known, as in `wg.jit`, else None for SciPy's choice.

    Raises:
        ArgumentError: the signal is too short for its extension, or ``padtype`` is unknown.
        ShapeError: the sections are not rows of 6.
        ConcreteError: neither ``padlen`` nor ``sos`` is known.

    Example:
        >>> sosfiltfilt([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]], np.arange(8.0), padlen=2).round(6)
        array([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    operation = "sosfiltfilt"
    sos, x = _of_one_dtype(_sections(operation, sos), x)
    axis = axis_index(operation, axis, rank_of(x))
    taps = 2 * shape_of(sos)[0] + 1
    if padlen is None and padtype is not None:
        rows = number(operation, "sos, where padlen is not given,", sos)
        taps -= min(int((rows[:, 2] == 0).sum()), int((rows[:, 5] == 0).sum()))
    longer, width = _extended(operation, x, axis, padtype, padlen, taps)
    states = np.reshape(sosfilt_zi(sos), (shape_of(sos)[0], *(1,) * axis, 2, *(1,) * (rank_of(x) - axis - 1)))
    y = longer
    for _ in range(2):
        y = np.flip(sosfilt(sos, y, axis, states * part(y, axis, slice(0, 1)))[0], axis)
    return part(y, axis, slice(width, width + shape_of(x)[axis]))
