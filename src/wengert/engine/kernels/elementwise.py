"""Elementwise operations that NumPy evaluates slowly or lacks: a choice without branches, and strong products."""

from __future__ import annotations

import cmath
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import NDARRAY

_BITS = {4: np.int32, 8: np.int64}
_SMALL = 1 << 12  # elements below which np.where takes less time, whatever the condition
_numpy: Any = np  # NumPy's stubs give np.where no element type


def select(condition: Any, x: Any, y: Any) -> Any:
    """Return x where the condition holds and y elsewhere, as ``np.where`` does.

    NumPy branches on each element, and an unpredictable condition costs ten times the rest. For large floating arrays
    masks choose instead: ``y ^ ((x ^ y) & m)`` on the bits, with m all ones or all zeros.

    Example:
        >>> import numpy as np
        >>> select(np.array([True, False]), np.array([1.0, 2.0]), 0.0)
        array([1., 0.])
    """
    if not isinstance(condition, NDARRAY) or condition.size < _SMALL or condition.dtype != np.bool_:
        return _where(condition, x, y)
    dtype: Any = np.result_type(x, y)
    if dtype.kind != "f" or dtype.itemsize not in _BITS:
        return _where(condition, x, y)
    bits = _BITS[dtype.itemsize]
    holds = condition.view(np.int8)
    if _is_zero(x):
        return _into(np.bitwise_and, np.subtract(holds, 1, dtype=bits), np.asarray(y, dtype).view(bits)).view(
            dtype
        )
    mask, first = np.negative(holds, dtype=bits), np.asarray(x, dtype).view(bits)
    if _is_zero(y):
        return _into(np.bitwise_and, mask, first).view(dtype)
    second = np.asarray(y, dtype).view(bits)
    # In one buffer: memory costs more than arithmetic.
    return _into(np.bitwise_xor, _into(np.bitwise_and, first ^ second, mask), second).view(dtype)


def _where(condition: Any, x: Any, y: Any) -> Any:
    chosen = _numpy.where(condition, x, y)
    return chosen if chosen.ndim else chosen[()]


def _into(ufunc: Any, own: Any, operand: Any) -> Any:
    """Return ``ufunc(own, other)``, in the memory of ``own`` where the result fits there."""
    fits = own.shape == np.broadcast_shapes(own.shape, operand.shape)
    return ufunc(own, operand, out=own) if fits else ufunc(own, operand)


def _is_zero(value: Any) -> bool:
    """Return whether a value is the number +0, whose bits are all zero."""
    return isinstance(value, (int, float)) and value == 0 and not np.signbit(value)


def extremum_share(out: Any, mine: Any, rival: Any) -> Any:
    """Return 1 where ``out`` is ``mine``, 1/2 where it is ``rival`` as well, and 0 elsewhere, in the dtype of ``out``.

    Example:
        >>> import numpy as np
        >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
        >>> extremum_share(np.maximum(x, y), x, y)
        array([0.5, 0. , 1. ])
    """
    is_mine = np.equal(mine, out)
    is_tie = is_mine & np.equal(rival, out)
    dtype: Any = np.result_type(out)
    if not isinstance(is_tie, NDARRAY):
        return dtype.type(0.5 if is_tie else is_mine)
    share = (is_mine if is_mine.shape == is_tie.shape else np.broadcast_to(is_mine, is_tie.shape)).astype(
        dtype
    )
    if is_tie.any():  # seldom: `np.where` would take twice as long
        share[is_tie] = 0.5
    return share


# -- products in which zero is strong --------------------------------------------------------------------

_NUMBERS = (int, float, complex)


def strong_product(x: Any, y: Any) -> Any:
    """Return x y, and a zero with the sign of the product where either is zero, even if the other is infinite or NaN.

    The product of several factors is then the same in any order. NumPy warns of 0 inf unless `np.errstate` ignores it.

    Example:
        >>> import numpy as np
        >>> with np.errstate(invalid="ignore"):
        ...     strong_product(np.array([0.0, 2.0, np.inf]), np.array([np.inf, np.nan, 0.0]))
        array([ 0., nan,  0.])
    """
    product = x * y
    if isinstance(product, NDARRAY):
        if type(y) in _NUMBERS and y and cmath.isfinite(y):
            return product
        # An element is NaN if the sum of squares is. NumPy dispatches its functions, but not the methods of arrays.
        elements = product.ravel("K")
        return (
            product if (squares := elements.dot(elements)) == squares else _with_strong_zeros(x, y, product)
        )
    return product if product == product else _with_strong_zeros(x, y, product)


def _with_strong_zeros(x: Any, y: Any, product: Any) -> Any:
    """Return a product with a zero where it is NaN and a factor is zero."""
    zero = np.result_type(product).type(0.0)
    if np.result_type(product).kind != "c":
        zero = select(np.signbit(x) != np.signbit(y), -zero, zero)
    return select(np.isnan(product) & (np.equal(x, 0) | np.equal(y, 0)), zero, product)
