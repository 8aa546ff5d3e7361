"""What programs use of autograd's own rules to write theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.ops.comparison import not_equal, where
from wengert.engine.transforms import reverse_mode


def unbroadcast(x: Any, target_meta: Any, broadcast_idx: int = 0) -> Any:
    """Sum a cotangent over the axes that broadcasting added to a value."""
    if isinstance(target_meta, tuple):
        meta: Any = target_meta  # pyright: ignore[reportUnknownVariableType]
        target_meta = np.empty(meta[0], meta[2])
    return match_complex(target_meta, reverse_mode.unbroadcast(match_complex(target_meta, x), target_meta))


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a pullback whose results are summed to the shape of a value."""
    return lambda g: unbroadcast(f(g), target)


def metadata(A: Any) -> tuple[Any, int, Any, bool]:
    """Return the shape, the number of axes, the dtype, and whether it is complex."""
    return np.shape(A), np.ndim(A), np.result_type(A), np.iscomplexobj(A)


def match_complex(target: Any, x: Any) -> Any:
    """Return the real part of a cotangent of a real value."""
    return np.real(x) if np.iscomplexobj(x) and not np.iscomplexobj(target) else x


def replace_zero(x: Any, val: Any) -> Any:
    """Return an array with another value for zeros."""
    return where(not_equal(x, 0), x, val)


def balanced_eq(x: Any, z: Any, y: Any) -> Any:
    """Return 1 where x is z and y is not, 1/2 where both are, and else 0."""
    return (x == z) / (1.0 + (x == y))
