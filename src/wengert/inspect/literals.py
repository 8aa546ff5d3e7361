"""Numbers and arrays as NumPy source."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.dtypes import BOOL, FLOAT64, INT64

#: Arrays up to this many elements are written out.
LISTED = 16
_NAMED = {"0.0": "zeros", "0": "zeros", "False": "zeros", "1.0": "ones", "1": "ones", "True": "ones"}
_SPECIAL = {"inf": "np.inf", "-inf": "-np.inf", "nan": "np.nan"}


def scalar_source(value: Any, exact: bool) -> str:
    """Write a scalar; with ``exact``, NumPy's scalars with their type.

    Example:
        >>> scalar_source(float("inf"), True), scalar_source(np.float32(2.0), True)
        ('np.inf', 'np.float32(2.0)')
    """
    strong = hasattr(value, "dtype")
    text = repr(value.item() if strong else value)
    text = _SPECIAL.get(text, text)
    return f"np.{value.dtype.name}({text})" if strong and exact else text


def array_source(value: Any) -> str:
    """Write a small or a regular array; an empty text for any other.

    Example:
        >>> array_source(np.zeros((300, 2))), array_source(np.array([0.5, 2.0], np.float32))
        ('np.zeros((300, 2))', 'np.array([0.5, 2.0], np.float32)')
    """
    regular = _regular(value)
    if regular or value.size > LISTED:
        return regular
    dtype = "" if value.dtype in (FLOAT64, INT64, BOOL) else f", np.{value.dtype.name}"
    return f"np.array({_listed(value)}{dtype})"


def _listed(value: Any) -> str:
    return scalar_source(value[()], exact=False) if value.ndim == 0 else f"[{', '.join(map(_listed, value))}]"


def _regular(value: Any) -> str:
    """Write an array of equal elements, a count, or the identity."""
    dtype = "" if value.dtype == FLOAT64 else f", np.{value.dtype.name}"
    if not value.size:
        return f"np.zeros({value.shape}{dtype})"
    if value.size > 2 and value.tobytes() == value.ravel()[:1].tobytes() * value.size:
        first = scalar_source(value[(0,) * value.ndim], exact=False)
        named = _NAMED.get(first)
        return f"np.{named}({value.shape}{dtype})" if named else f"np.full({value.shape}, {first}{dtype})"
    counting = value.size > 2 and value.dtype in (FLOAT64, INT64)
    if counting and _same(value, np.arange(value.size, dtype=value.dtype)):
        count = f"np.arange({scalar_source(value.dtype.type(value.size), exact=False)})"
        return count if value.ndim == 1 else f"{count}.reshape{value.shape}"
    if value.ndim == 2 and value.dtype == FLOAT64 and len(value) > 1 and _same(value, np.eye(len(value))):
        return f"np.eye({len(value)})"
    return ""


def _same(value: Any, other: Any) -> bool:
    return value.tobytes() == other.tobytes()
