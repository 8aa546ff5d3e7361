"""Products for which zero is strong: zero times anything is zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.dtypes import NDARRAY
from wengert.kernels.select import select

_NUMBERS = (int, float)


def strong_product(x: Any, y: Any) -> Any:
    """Return x y, and a zero with the sign of the product where either is zero, even if the other is infinite or NaN.

    So the product of several factors is the same in any order. NumPy warns of 0 inf, unless told to ignore it.

    Example:
        >>> import numpy as np
        >>> with np.errstate(invalid="ignore"):
        ...     strong_product(np.array([0.0, 2.0, np.inf]), np.array([np.inf, np.nan, 0.0]))
        array([ 0., nan,  0.])
    """
    product = x * y
    if (type(y) in _NUMBERS and y and math.isfinite(y)) or not _holds_nan(product):
        return product
    negative = np.signbit(x) != np.signbit(y)
    zero = select(negative, *map(np.result_type(product).type, (-0.0, 0.0)))
    return select(np.isnan(product) & (np.equal(x, 0) | np.equal(y, 0)), zero, product)


def _holds_nan(value: Any) -> bool:
    """Tell whether an element is NaN: then the least one is, too."""
    if not isinstance(value, NDARRAY):
        return bool(value != value)
    least = np.minimum.reduce(value, axis=None) if value.size else 0.0
    return bool(least != least)
