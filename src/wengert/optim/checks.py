"""What the numbers of optimisers and schedules must be; traced ones are not known, and pass."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from wengert.boxes import concrete
from wengert.control.values import is_number
from wengert.core.dtypes import dtype_of
from wengert.core.errors import ArgumentError, message
from wengert.core.shapes import shape_of
from wengert.ir.types import show


def check_rate(operation: str, rate: Any) -> None:
    """Raise `ArgumentError` where a learning rate is neither a schedule nor a finite number that is not negative."""
    if callable(rate):
        return
    requirement = "the rate must be a finite number >= 0, or a schedule"
    if not is_number(rate) or dtype_of(rate).kind not in "iuf" or shape_of(rate):
        got = show(rate) if is_number(rate) else repr(rate)
        raise ArgumentError(message(operation, requirement, got))
    known = concrete(rate)
    if known is not None and not 0 <= known < math.inf:
        raise ArgumentError(message(operation, requirement, str(known)))


def check_fraction(operation: str, **given: Any) -> None:
    """Raise `ArgumentError` where a number does not lie in [0, 1)."""
    for name, value in given.items():
        if not is_number(value) or (isinstance(value, (int, float)) and not 0 <= value < 1):
            raise ArgumentError(message(operation, f"{name} must lie in [0, 1)", repr(value)))


def check_positive(operation: str, **given: Any) -> None:
    """Raise `ArgumentError` where a number is not positive."""
    for name, value in given.items():
        if not is_number(value) or (isinstance(value, (int, float)) and not value > 0):
            raise ArgumentError(message(operation, f"{name} must be positive", str(value)))


def check_at_least_one(operation: str, name: str, value: float) -> None:
    """Raise `ArgumentError` where a number of steps is less than 1."""
    if not value >= 1:
        raise ArgumentError(message(operation, f"{name} must be at least 1", str(value)))


def check_rising(operation: str, boundaries: Sequence[int]) -> None:
    """Raise `ArgumentError` where boundaries are not positive, or one is not larger than that before it."""
    if any(not before < after for before, after in itertools.pairwise([0, *boundaries])):
        raise ArgumentError(message(operation, "boundaries must be positive and rise", str(list(boundaries))))
