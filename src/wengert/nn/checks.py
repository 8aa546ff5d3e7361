"""Checks of the settings and inputs of layers."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from wengert.engine.core.errors import ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show


def integers(operation: str, name: str, value: Any, count: int, least: int) -> tuple[int, ...]:
    """Return ``count`` integers, or raise `ShapeError`; one number stands for all of them."""
    try:
        numbers = tuple(map(operator.index, value if isinstance(value, Iterable) else (value,) * count))
    except TypeError:
        numbers = ()
    if len(numbers) != count or min(numbers) < least:
        expected = f"{count} integers" if count > 1 else "an integer"
        raise ShapeError(message(operation, f"{name} must be {expected} >= {least}", repr(value)))
    return numbers


def check_values(layer: str, x: Any, leading: str, rank: int, values: int) -> None:
    """Check that an input has at least ``rank`` axes and ``values`` values along the last."""
    shape = shape_of(x)
    if len(shape) < rank or shape[-1] != values:
        raise ShapeError(message(layer, f"the input must be ({leading}, {values})", show(x)))


def check_spatial(layer: str, x: Any, rank: int, channels: int | None = None) -> None:
    """Check that an input is (examples, channels) and ``rank`` spatial axes."""
    shape = shape_of(x)
    if len(shape) != rank + 2 or (channels is not None and shape[1] != channels):
        space = ", ".join(("depth", "height", "width")[-rank:])
        requirement = f"images must be (examples, {'channels' if channels is None else channels}, {space})"
        raise ShapeError(message(layer, requirement, show(x)))


def setting(value: Any) -> Any:
    """Return a setting in hashable form: a list becomes a tuple."""
    if isinstance(value, Iterable) and not isinstance(value, str):
        return tuple(value)  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
    return value
