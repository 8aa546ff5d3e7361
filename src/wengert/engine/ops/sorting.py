"""Sorting along an axis: the elements in order, and their positions.

The order is NumPy's: NaN comes last, complex numbers follow their real, then their imaginary parts. Equal elements keep
their order, -0 and 0 among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import INT64
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType
from wengert.engine.memory import alike
from wengert.engine.nest.lowering import Sorting
from wengert.engine.ops.indexing import gather
from wengert.engine.ops.reduction import batch_along, position_samples
from wengert.engine.primitive import Explicit, NonDifferentiable, primitive


def _sorted(x: Any, axis: int) -> Any:
    """Sort; where only their places tell equal elements apart, by NumPy's slower sort, which is stable."""
    x = np.asarray(x)
    if x.dtype.kind in "fc":
        is_ambiguous = np.any(np.isnan(x)) or np.any((x == 0) & np.signbit(x.real))
        if x.dtype.kind == "c" or is_ambiguous:
            return np.sort(x, axis=axis, kind="stable")
    return np.sort(x, axis=axis)


def along(x: Any, positions: Any, axis: int) -> Any:
    """Return the elements at positions along an axis."""
    shape = shape_of(positions)
    grids: list[Any] = []
    for number, extent in enumerate(shape):
        lying = tuple(extent if number == place else 1 for place in range(len(shape)))
        grids.append(positions if number == axis else np.arange(extent).reshape(lying))
    return gather(x, *grids)


def _tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any, axis: int) -> Any:
    return along(tangents[0], argsort(primals[0], axis=axis), axis)


def _argsort_type(x: TensorType, axis: int) -> TensorType:
    return TensorType(INT64, x.shape)


def _sort_type(x: TensorType, axis: int) -> TensorType:
    return TensorType(x.dtype, x.shape)


argsort = primitive(
    name="argsort",
    doc="the positions along an axis in the order of their elements; equal elements keep their order",
    type_rule=_argsort_type,
    evaluate=lambda x, axis: np.argsort(x, axis=axis, kind="stable"),
    derivative=NonDifferentiable("its result is an integer"),
    batch=batch_along,
    lowering=Sorting(positions=True),
    source=lambda x, axis: f"np.argsort({x}, axis={axis}, kind='stable')",
    samples=position_samples,
)
sort = primitive(
    name="sort",
    doc="the elements along an axis in order; elements that tie keep their order, and their derivatives",
    memory=alike,
    type_rule=_sort_type,
    evaluate=_sorted,
    derivative=Explicit(_tangent),
    batch=batch_along,
    lowering=Sorting(positions=False),
    source=lambda x, axis: f"np.sort({x}, axis={axis}, kind='stable')",
    samples=position_samples,
)
