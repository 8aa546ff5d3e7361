"""Draws from continuous distributions, differentiable in their parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.array.array import operand
from wengert.core.dtypes import FLOAT32, FLOAT64, INT64, Dtype
from wengert.core.errors import DtypeError, message
from wengert.core.shapes import Shape
from wengert.ops.arithmetic import minimum
from wengert.ops.conversion import cast
from wengert.ops.exponential import log, log1p, sqrt
from wengert.ops.trigonometric import cos
from wengert.random.keys import SECOND, blocks, narrowed, shape_for

_INT32: Dtype = np.dtype(np.int32)
_UINT32: Dtype = np.dtype(np.uint32)


def _floating(operation: str, dtype: Any) -> Dtype:
    wanted: Dtype = np.dtype(dtype)
    if wanted not in (FLOAT32, FLOAT64):
        raise DtypeError(message(operation, "float32 or float64 is required", str(wanted)))
    return wanted


def _parameters(operation: str, shape: Any, dtype: Any, *given: Any) -> tuple[Shape, Dtype, list[Any]]:
    """Return the shape of a draw, its dtype, and its parameters in that dtype."""
    wanted = _floating(operation, dtype)
    values = [operand(one) for one in given]
    return shape_for(operation, shape, *values), wanted, [cast(one, dtype=wanted) for one in values]


def standard_uniform(operation: str, key: Any, shape: Shape, dtype: Dtype) -> Any:
    """Draw from [0, 1): multiples of 2^-24 in float32, of 2^-53 in float64."""
    block = blocks(operation, key, shape)
    if dtype == FLOAT32:
        return cast(cast(narrowed(block) >> np.uint32(8), dtype=_INT32), dtype=FLOAT32) * 2.0**-24
    return cast(cast(block >> np.uint64(11), dtype=INT64), dtype=FLOAT64) * 2.0**-53


def _open_uniform(operation: str, key: Any, shape: Shape, dtype: Dtype) -> Any:
    """Draw from (0, 1], as fine as the numbers near zero are."""
    block = blocks(operation, key, shape)
    if dtype == FLOAT32:
        return (cast(narrowed(block), dtype=FLOAT32) + 0.5) * 2.0**-32
    return (cast(block, dtype=FLOAT64) + 0.5) * 2.0**-64


def _standard_normal(key: Any, shape: Shape, dtype: Dtype) -> Any:
    """Draw by the method of Box and Muller (1958): a radius and an angle.

    The radius is the root of ``-2 ln u`` with u as fine as the numbers near zero, so that the tails reach to 6.7
    standard deviations in float32 and to 9.4 in float64, one draw in 2^33 and in 2^65.
    """
    if dtype == FLOAT32:  # the two words of one block
        block = blocks("normal", key, shape)
        uniform = (cast(cast(block >> np.uint64(32), dtype=_UINT32), dtype=dtype) + 0.5) * 2.0**-32
        turn = cast(cast(cast(block, dtype=_UINT32), dtype=_INT32), dtype=dtype) * (math.pi * 2.0**-31)
    else:
        uniform = _open_uniform("normal", key, shape, dtype)
        turn = cast(cast(blocks("normal", key, shape, SECOND), dtype=INT64), dtype=dtype) * (
            math.pi * 2.0**-63
        )
    return sqrt(-2.0 * log(uniform)) * cos(turn)


# -- public ----------------------------------------------------------------------------------------------


def uniform(key: Any, shape: Any = None, low: Any = 0.0, high: Any = 1.0, dtype: Any = np.float64) -> Any:
    """Draw from the uniform distribution on [low, high): ``low + (high - low) u``.

    Args:
        key: of `key`, `split` or `fold_in`.
        shape: of the result; by default that of the bounds.
        low: the lower bound, which broadcasts to the shape.
        high: the upper bound, likewise; rounding may reach it, but for 0 and 1.
        dtype: float64 or float32, with u a multiple of 2^-53 or of 2^-24.

    Raises:
        ShapeError: the bounds do not broadcast to the shape.
        DtypeError: it is neither dtype, or what came is no key.

    Example:
        >>> from wengert.random import key
        >>> print(uniform(key(0), 3).round(4))
        [0.4185 0.2163 0.9653]
    """
    shape, dtype, (lowest, highest) = _parameters("uniform", shape, dtype, low, high)
    unit = standard_uniform("uniform", key, shape, dtype)
    if type(low) in (int, float) and type(high) in (int, float) and (low, high) == (0, 1):
        return unit
    return lowest + (highest - lowest) * unit


def normal(
    key: Any, shape: Any = None, mean: Any = 0.0, deviation: Any = 1.0, dtype: Any = np.float64
) -> Any:
    """Draw from the normal distribution: ``mean + deviation z``.

    Args:
        key: of `key`, `split` or `fold_in`.
        shape: of the result; by default that of the parameters.
        mean: the mean, which broadcasts to the shape.
        deviation: the standard deviation, likewise.
        dtype: float64 or float32.

    Raises:
        ShapeError: the parameters do not broadcast to the shape.
        DtypeError: it is neither dtype, or what came is no key.

    Example:
        >>> import numpy as np
        >>> from wengert.random import key
        >>> z = normal(key(0), 10_000, mean=2.0, deviation=0.5)
        >>> print(np.mean(z).round(1), np.std(z).round(1))
        2.0 0.5
    """
    shape, dtype, (mean, deviation) = _parameters("normal", shape, dtype, mean, deviation)
    return mean + deviation * _standard_normal(key, shape, dtype)


def exponential(key: Any, shape: Any = None, scale: Any = 1.0, dtype: Any = np.float64) -> Any:
    """Draw from the exponential distribution of the given mean: ``-scale ln u``.

    Args:
        key: of `key`, `split` or `fold_in`.
        shape: of the result; by default that of the scale.
        scale: the mean, which broadcasts to the shape.
        dtype: float64 or float32.

    Example:
        >>> import numpy as np
        >>> from wengert.random import key
        >>> print(np.mean(exponential(key(0), 100_000, scale=3.0)).round(1))
        3.0
    """
    shape, dtype, (scale,) = _parameters("exponential", shape, dtype, scale)
    return -log(_open_uniform("exponential", key, shape, dtype)) * scale


def gumbel(key: Any, shape: Any = (), dtype: Any = np.float64) -> Any:
    """Draw from the standard Gumbel distribution: ``-ln(-ln(1 - u))``, the largest of many exponential draws.

    The largest of ``logits + gumbel`` is at i with the probability ``softmax(logits)[i]``.

    Args:
        key: of `key`, `split` or `fold_in`.
        shape: of the result.
        dtype: float64 or float32.

    Example:
        >>> import numpy as np
        >>> from wengert.random import key
        >>> print(np.mean(gumbel(key(0), 100_000)).round(1))  # Euler's constant
        0.6
    """
    wanted = _floating("gumbel", dtype)
    u = _open_uniform("gumbel", key, shape_for("gumbel", shape), wanted)
    u = minimum(u, 1 - float(np.finfo(wanted).epsneg))  # at 1 there is no logarithm
    return -log(-log1p(-u))
