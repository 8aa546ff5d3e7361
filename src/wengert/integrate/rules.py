"""Rules of numerical integration over a box, with an estimate of their error and the axis to split."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.ops.comparison import where

EPSILON = float(np.finfo(np.float64).eps)
_ROUNDING = 50 * EPSILON
"""The share of the integral of the magnitude below which no error is estimated (QUADPACK)."""


class Estimate(NamedTuple):
    """The integral over each of r boxes of m examples, for functions with n components."""

    value: Any
    """Of shape (r, m, n), as are the next two."""
    error: Any
    size: Any
    """The integral of the magnitude."""
    axis: Any
    """The axis along which the box is to be split, of shape (r, m)."""


class Rule(NamedTuple):
    """A rule on the cube [-1, 1]^d."""

    nodes: Any
    """Of shape (q, d)."""
    estimate: Callable[[Any, Any], Estimate]
    """``(values, widths)`` of shapes (r, q, m, n) and (r, m, d)."""


def rule_for(operation: str, name: str, axes: int) -> Rule:
    """Return the rule of a name, or raise `ArgumentError`."""
    if name == "gk21" and axes == 1:
        return GAUSS_KRONROD
    if name == "genz-malik" and axes > 1:
        return genz_malik(axes)
    requirement = 'the rule must be "gk21" for one axis, or "genz-malik" for several'
    raise ArgumentError(message(operation, requirement, f"{name!r} for {axes}"))


# -- Gauss and Kronrod -----------------------------------------------------------------------------------

_HALF_NODES = [
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452,
    0.930157491355708226001207180059508, 0.865063366688984510732096688423493,
    0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784,
    0.294392862701460198131126603103866, 0.148874338981631210884826001129720, 0.0,
]  # fmt: skip
_HALF_WEIGHTS = [
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390,
    0.054755896574351996031381300244580, 0.075039674810919952767043140916190,
    0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109585166, 0.134709217311473325928054001771707,
    0.142775938577060080797094273138717, 0.147739104901338491374841515972068,
    0.149445554002916905664936468389821,
]  # fmt: skip
_HALF_GAUSS = [
    0.066671344308688137593568809893332, 0.149451349150580593145863396957658,
    0.219086362515982043995534934228163, 0.269266719309996355091226921569469,
    0.295524224714752870173815619188769,
]  # fmt: skip


def _gauss_kronrod() -> Rule:
    """Return the rule of 21 points that contains Gauss's of 10 points, with QUADPACK's estimate of the error."""
    half = np.array(_HALF_NODES)
    nodes = np.concatenate([-half, half[-2::-1]])
    weights = np.concatenate([_HALF_WEIGHTS, _HALF_WEIGHTS[-2::-1]]) / 2
    gauss = np.zeros(21)
    gauss[1:10:2], gauss[-2:10:-2] = _HALF_GAUSS, _HALF_GAUSS
    gauss /= 2
    column = weights[:, None, None]

    def estimate(values: Any, widths: Any) -> Estimate:
        mean = np.sum(column * values, axis=1)
        length = np.abs(widths)
        size = length * np.sum(column * np.abs(values), axis=1)
        spread = length * np.sum(column * np.abs(values - mean[:, None]), axis=1)
        error = length * np.abs(np.sum((weights - gauss)[:, None, None] * values, axis=1))
        is_flat = spread == 0
        ratio = 200 * error / where(is_flat, 1.0, spread)
        error = where(is_flat, error, spread * np.minimum(1.0, ratio * np.sqrt(ratio)))
        error = np.maximum(error, _ROUNDING * size)
        return Estimate(widths * mean, error, size, np.zeros(widths.shape[:2], np.int64))

    return Rule(nodes[:, None], estimate)


GAUSS_KRONROD = _gauss_kronrod()


# -- Genz and Malik --------------------------------------------------------------------------------------


@functools.cache
def genz_malik(axes: int) -> Rule:
    """Return the rule of degree 7 with ``2^d + 2 d^2 + 2 d + 1`` points, which contains one of degree 5.

    The axis to split is that of the largest fourth difference (Genz and Malik, 1980).
    """
    unit = np.eye(axes)
    near, far, corner = np.sqrt([9 / 70, 9 / 10, 9 / 19])
    pairs = [
        first * unit[i] + second * unit[j]
        for i, j in itertools.combinations(range(axes), 2)
        for first, second in itertools.product((1, -1), repeat=2)
    ]
    groups = [
        np.zeros((1, axes)),
        near * np.concatenate([unit, -unit]),
        far * np.concatenate([unit, -unit]),
        far * np.array(pairs),
        corner * np.array(list(itertools.product((1.0, -1.0), repeat=axes))),
    ]
    d = axes
    seventh = [
        (12824 - 9120 * d + 400 * d**2) / 19683,
        980 / 6561,
        (1820 - 400 * d) / 19683,
        200 / 19683,
        6859 / 19683 / 2**d,
    ]
    fifth = [(729 - 950 * d + 50 * d**2) / 729, 245 / 486, (265 - 100 * d) / 1458, 25 / 729, 0.0]
    counts = list(map(len, groups))
    weights = np.repeat(seventh, counts)[:, None, None]
    difference = np.repeat(np.subtract(seventh, fifth), counts)[:, None, None]
    share = np.full(sum(counts), 1 / sum(counts))[:, None, None]

    def estimate(values: Any, widths: Any) -> Estimate:
        volume = np.prod(widths, axis=-1, keepdims=True)
        mean = np.sum(weights * values, axis=1)
        size = np.abs(volume) * np.maximum(np.abs(mean), np.sum(share * np.abs(values), axis=1))
        error = np.abs(volume) * np.abs(np.sum(difference * values, axis=1))
        centre = 2 * values[:, :1]
        first, second = (
            values[:, start : start + d] + values[:, start + d : start + 2 * d] - centre
            for start in (1, 1 + 2 * d)
        )
        change = np.sum(np.abs(first - second / 7), axis=-1)
        # Where no axis is rough, the widest is split.
        even = EPSILON * (np.sum(np.abs(mean), axis=-1)[:, None] + 1e-300)
        change = change + even * np.abs(np.swapaxes(widths, 1, 2))
        return Estimate(volume * mean, np.maximum(error, _ROUNDING * size), size, np.argmax(change, axis=1))

    return Rule(np.concatenate(groups), estimate)
