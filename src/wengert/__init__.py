"""Wengert: NumPy in; exact derivatives and one native function out.

Example:
    >>> import numpy as np
    >>> import wengert as wg
    >>> wg.grad(lambda x1, x2: np.log(x1) + x1 * x2 - np.sin(x2), argnums=(0, 1))(2.0, 5.0)
    (5.5, 1.7163378145367738)
"""

from __future__ import annotations

