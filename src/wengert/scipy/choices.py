"""SciPy's private functions that compute each element by the formula that a condition chooses.

SciPy selects the elements and gives each formula its own. Here each formula gets all elements, and `where` takes those
that count; the others have no derivative, so that one that is infinite or NaN there does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import SUBSTITUTES
from wengert.engine.ops.comparison import logical_and, logical_not, where
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.numpy import broadcast_arrays

Formula = Callable[..., Any]


def _chosen(condition: Any, formula: Formula, operands: Sequence[Any]) -> Any:
    """Return a formula of all elements, with derivatives where a condition holds."""
    with np.errstate(all="ignore"):
        return formula(*(where(condition, x, stop_gradient(x)) for x in operands))


def apply_where(
    cond: Any, args: Any, f1: Formula, f2: Formula | None = None, /, *, fill_value: Any = None, xp: Any = None
) -> Any:
    """Return ``f1(*args)`` where a condition holds, and ``f2(*args)`` or a value elsewhere."""
    cond, *operands = broadcast_arrays(cond, *(args if isinstance(args, (tuple, list)) else (args,)))  # pyright: ignore[reportUnknownArgumentType]
    other = fill_value if f2 is None else _chosen(logical_not(cond), f2, operands)
    return where(cond, _chosen(cond, f1, operands), other)


def lazywhere(cond: Any, arrays: Any, f: Formula, fillvalue: Any = None, f2: Formula | None = None) -> Any:
    """Return what `apply_where` does."""
    return apply_where(cond, arrays, f, f2, fill_value=fillvalue)


def lazyselect(
    condlist: Sequence[Any], choicelist: Sequence[Formula], arrays: Sequence[Any], default: Any = 0
) -> Any:
    """Return the formula of the last of some conditions that holds, and a default where there is none."""
    operands = broadcast_arrays(*arrays)
    result = default
    for condition, formula in zip(condlist, choicelist, strict=True):
        condition = logical_and(condition, np.ones(np.shape(operands[0]), bool))
        result = where(condition, _chosen(condition, formula, operands), result)
    return result


def enter() -> None:
    """Enter the functions as substitutes for SciPy's; its versions before 1.16 have the second one alone."""
    SUBSTITUTES["scipy.apply_where"] = apply_where
    SUBSTITUTES["scipy._lazywhere"] = lazywhere
    SUBSTITUTES["scipy._lazyselect"] = lazyselect
