"""Divisions by integers of Python's that only a run knows: a zero raises an exception, as it does in Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wengert.engine.boxes import Box, concrete
from wengert.engine.core.dtypes import dtype_of, is_complex, is_inexact
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.comparison import not_equal
from wengert.engine.transforms.math_errors import guarded

#: Returns between which integers a value lies, or None; `wengert.engine.staged` enters it.
INTERVALS: list[Callable[[Any], tuple[int, int] | None]] = []


def checked_division(division: Callable[[Any, Any], Any], quotient: Any, dividend: Any, divisor: Any) -> Any:
    """Return a quotient; the program raises `ZeroDivisionError` where the divisor is zero.

    A dividend without axes may be a number of Python's: where several types have met, nothing tells. Where it is one of
    NumPy's, a call of `wg.jit` that raises has the quotient from Python, and other programs raise for it, too.
    """
    if not isinstance(quotient, Box) or concrete(divisor) is not None or shape_of(dividend):
        return quotient
    for interval in INTERVALS:
        found = interval(divisor)
        if found is not None and not found[0] <= 0 <= found[1]:
            return quotient
    dtype = dtype_of(dividend)
    number = complex if is_complex(dtype) else float if is_inexact(dtype) else int
    return guarded(quotient, not_equal(divisor, 0), ZeroDivisionError(_text(division, number)))


@functools.cache
def _text(division: Callable[[Any, Any], Any], number: Callable[[int], Any]) -> str:
    """Return what Python says of a division of some type of numbers by zero."""
    try:
        division(number(1), 0)
    except ZeroDivisionError as problem:
        return str(problem)
    raise AssertionError
