"""What programs use of autograd's own rules to write theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.transforms import reverse_mode


def unbroadcast(x: Any, target_meta: Any, broadcast_idx: int = 0) -> Any:
    """Sum a cotangent over the axes that broadcasting added to a value.

    Args:
        x: the cotangent.
        target_meta: ``metadata(value)``, or the value.
        broadcast_idx: not used.

    Returns:
        A cotangent with the shape of the value.

    Example:
        >>> unbroadcast(np.ones((2, 3)), metadata(np.ones(3)))
        array([2., 2., 2.])
    """
    if isinstance(target_meta, tuple):
        shape, _, dtype, _ = target_meta
        target_meta = np.empty(shape, dtype)
    return match_complex(target_meta, reverse_mode.unbroadcast(match_complex(target_meta, x), target_meta))


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a pullback whose results are summed to the shape of a value.

    Args:
        target: the value.
        f: the pullback.

    Returns:
        The pullback.

    Example:
        >>> unbroadcast_f(1.0, lambda g: 2.0 * g)(np.ones(3))
        np.float64(6.0)
    """
    return lambda g: unbroadcast(f(g), target)


def metadata(A: Any) -> tuple[Any, int, Any, bool]:
    """Return the shape, the number of axes, the dtype, and whether it is complex.

    Args:
        A: an array or a number.

    Returns:
        The four.

    Example:
        >>> metadata(1.0)
        ((), 0, dtype('float64'), False)
    """
    return np.shape(A), np.ndim(A), np.result_type(A), np.iscomplexobj(A)


def match_complex(target: Any, x: Any) -> Any:
    """Return the real part of a cotangent of a real value.

    Args:
        target: the value.
        x: the cotangent.

    Returns:
        The cotangent.

    Example:
        >>> match_complex(1.0, 2.0 + 1.0j)
        np.float64(2.0)
    """
    return np.real(x) if np.iscomplexobj(x) and not np.iscomplexobj(target) else x


def replace_zero(x: Any, val: Any) -> Any:
    """Return an array with another value for zeros.

    Args:
        x: the array.
        val: the value.

    Returns:
        The array.

    Example:
        >>> replace_zero(np.array([0.0, 2.0]), 1.0)
        array([1., 2.])
    """
    return np.where(x, x, val)


def balanced_eq(x: Any, z: Any, y: Any) -> Any:
    """Return 1 where x is z and y is not, 1/2 where both are, and else 0.

    Args:
        x: the first array.
        z: the chosen elements.
        y: the second array.

    Returns:
        The shares of x.

    Example:
        >>> balanced_eq(np.array([1.0, 2.0]), 2.0, np.array([2.0, 2.0]))
        array([0. , 0.5])
    """
    return (x == z) / (1.0 + (x == y))
