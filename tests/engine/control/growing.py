"""A loop whose number of turns depends on its argument, with its meaning in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg

#: Arguments for which the loop takes eight turns, and none.
EXAMPLES = [(1.6,), (77.0,)]


def growth(x: Any, **limits: Any) -> Any:
    """Multiply until the value is large; the loop closes over the argument."""
    going = lambda v: v[0] < 50  # noqa: E731
    a, b = wg.while_loop(going, lambda v: (v[0] * x, v[1] + np.sin(v[0] * x)), (x, 0.0), **limits)
    return a * b


def growth_python(x: Any) -> Any:
    a, b = x, 0.0
    while a < 50:
        a, b = a * x, b + np.sin(a * x)
    return a * b
