"""The arguments of a call: those that a trace follows, and those that belong to the structure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.core import tree
from wengert.engine.core.dtypes import check_plain, dtype_of, is_inexact
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, type_of


class Call(NamedTuple):
    """The arguments of a call."""

    key: Hashable
    """What the structure depends on: containers, types, and the values of what is not followed."""
    leaves: list[Any]
    """The floating-point leaves and the boxes, which a trace follows."""
    rebuild: Callable[[Sequence[Any]], tuple[tuple[Any, ...], dict[str, Any]]]
    """Returns the arguments with other values for these leaves."""

    @property
    def types(self) -> list[TensorType]:
        """The types of the leaves."""
        return list(map(type_of, self.leaves))


def call_of(operation: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Call:
    """Return the arguments of a call."""
    values, structure = tree.flatten((arguments, options))
    keys: list[Any] = [structure]
    places: list[int] = []
    for place, value in enumerate(values):
        if _is_followed(operation, value):
            places.append(place)
            keys.append(type_of(value))
        else:
            keys.append(_key(value))
    leaves = [values[place] for place in places]

    def rebuild(inputs: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        changed = list(values)
        for place, value in zip(places, inputs, strict=True):
            changed[place] = value
        inside: Any = tree.unflatten(structure, changed)
        return inside

    return Call(tuple(keys), leaves, rebuild)


def _is_followed(operation: str, value: Any) -> bool:
    if isinstance(value, (Box, float, complex)):
        return True
    if isinstance(value, (np.ndarray, np.generic)):
        check_plain(operation, value)
        return is_inexact(dtype_of(value))
    return False


def _key(value: Any) -> Hashable:
    """Return a key of a value that belongs to the structure, which keeps it: no other object gets its id."""
    if isinstance(value, (np.ndarray, np.generic)):
        return dtype_of(value), shape_of(value), np.asarray(value).tobytes()
    return value.__class__, (value if isinstance(value, Hashable) else id(value))
