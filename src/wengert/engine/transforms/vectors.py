"""Values of several shapes as one vector, which holds their elements one value after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.core.dtypes import FLOAT64, Dtype
from wengert.engine.core.shapes import Shape, shape_of, size
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.shape import concatenate, reshape


def count(values: Sequence[Any]) -> int:
    """Return the number of elements of all values."""
    return sum(size(shape_of(value)) for value in values)


def joined(values: Sequence[Any], dtype: Dtype | None = None) -> Any:
    """Return the elements of all values as a vector, by default of the dtype that holds all of them."""
    if not any(isinstance(value, Box) for value in values):
        arrays = [np.asarray(value, dtype).reshape(-1) for value in values]
        return np.concatenate(arrays) if arrays else np.zeros(0, dtype or FLOAT64)
    converted = values if dtype is None else [cast(value, dtype=dtype) for value in values]
    parts = [reshape(value, shape=(size(shape_of(value)),)) for value in converted]
    return parts[0] if len(parts) == 1 else concatenate(*parts, axis=0)


def split(vector: Any, shapes: Sequence[Shape]) -> list[Any]:
    """Return the parts of a vector that belong to each value, in its shape."""
    parts: list[Any] = []
    start = 0
    for shape in shapes:
        stop = start + size(shape)
        parts.append(vector[start:stop].reshape(shape) if shape else vector[start])
        start = stop
    return parts
