"""Numbers and names of values as the table and the pictures show them."""

from __future__ import annotations

import math
from typing import Any

from wengert.boxes import concrete
from wengert.core.shapes import shape_of, size
from wengert.ir.types import type_of

#: Arrays up to this many elements are written out.
LISTED = 6
_LOW = str.maketrans("0123456789-", "₀₁₂₃₄₅₆₇₈₉₋")
_HIGH = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
PRIME = "′"


def symbol(number: int, letter: str = "v") -> str:
    """Return the symbol of a value of the list.

    Example:
        >>> symbol(-1), symbol(12)
        ('v₋₁', 'v₁₂')
    """
    return letter + str(number).translate(_LOW)


def raised(base: str, exponent: int) -> str:
    """Return a power.

    Example:
        >>> raised("v₁", 3), raised("v₁", 1)
        ('v₁³', 'v₁')
    """
    return base if exponent == 1 else base + str(exponent).translate(_HIGH)


def show(value: Any, digits: int = 3) -> str:
    """Write a number with few digits, a small array in brackets, a larger one as its type.

    Example:
        >>> import numpy as np
        >>> show(-0.28366), show(10.0), show(1.5e-7), show(np.array([1.0, 0.5])), show(np.zeros((30, 4)))
        ('-0.284', '10', '1.5e-07', '[1, 0.5]', 'f64[30,4]')
    """
    known = concrete(value)
    shape = shape_of(value)
    if known is None or size(shape) > LISTED or not size(shape):
        return str(type_of(value))
    if shape:
        return f"[{', '.join(show(one, digits) for one in known)}]"
    number: Any = known.item() if hasattr(known, "item") else known
    if not isinstance(number, float) or not math.isfinite(number):
        return str(number)
    if number and not 10.0**-digits <= abs(number) < 1e6:
        return f"{number:.{digits + 1}g}"
    text = f"{number + 0.0:.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits else text
