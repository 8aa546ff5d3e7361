"""The classes of floating-point numbers (IEEE 754) for which compiled programs can be checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def is_nan(value: Any) -> Any:
    """Return where a value is NaN."""
    return np.isnan(value) if np.asarray(value).dtype.kind == "f" else np.False_


def is_subnormal(value: Any) -> Any:
    """Return where a value is subnormal: not zero, and closer to zero than all normal numbers.

    Example:
        >>> is_subnormal(np.array([0.0, 1e-310, 1e-300]))
        array([False,  True, False])
    """
    dtype = np.asarray(value).dtype
    if dtype.kind != "f":
        return np.False_
    return (value != 0) & (np.abs(value) < np.finfo(dtype).smallest_normal)


CLASSES: dict[str, Callable[[Any], Any]] = {"nan": is_nan, "subnormal": is_subnormal}
"""The tests, by the names that ``WENGERT_CHECK`` knows."""
