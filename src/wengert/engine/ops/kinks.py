"""Derivatives that are a choice: what happens where one is differentiated again."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import RUNNING, Box, concrete
from wengert.engine.core.dtypes import NUMPY_SCALAR
from wengert.engine.core.errors import KinkWarning, message
from wengert.engine.core.float_classes import kinks_asked
from wengert.engine.core.shapes import broadcast, shape_of
from wengert.engine.ir.types import TensorType
from wengert.engine.nest.lowering import Elementwise
from wengert.engine.ops.comparison import equal, isfinite, not_equal, require_smooth, where
from wengert.engine.ops.elementwise import batch_elementwise, elementwise_samples
from wengert.engine.primitive import PLAIN, Explicit, primitive

_REQUIREMENT = "the slope at its kink is a choice, and a second derivative through it may be wrong"
_HINT = "write a smooth program, such as x**2 for abs(x)**2 and np.sum(x**2) for norm(x)**2"


def slope_at(operation: str, slope: Any, distance: Any) -> Any:
    """Return a slope that is a choice where ``distance`` is 0: to differentiate it there warns."""
    is_followed = isinstance(distance, Box) and not distance.owner.staging
    return chosen_slope(slope, distance, operation=operation) if is_followed else slope


def finite_slope(slope: Any) -> Any:
    """Return a slope; under ``WENGERT_CHECK=kink`` it must be finite, as zero times an infinite one counts as zero."""
    if not kinks_asked():
        return slope
    requirement = "it is infinite here, and zero times an infinite slope counts as zero"
    return require_smooth(slope, isfinite(slope), operation="a slope", requirement=requirement)


def _differentiated(primals: Sequence[Any], tangents: Sequence[Any], out: Any, *, operation: str) -> Any:
    tangent, moving = tangents
    if kinks_asked():
        holds, requirement = not_equal(primals[1], 0), f"{_REQUIREMENT}; {_HINT}"
        checked = require_smooth(0.0 * out, holds, operation=operation, requirement=requirement)
        nothing = where(equal(checked, 0), 0.0, tangent if moving is None else moving)  # keeps the check
        return nothing if tangent is None else tangent + nothing
    numbers = None if RUNNING.takes_choices else known_numbers(primals[1])
    if numbers is not None and not np.all(numbers):
        warnings.warn(message(operation, _REQUIREMENT, hint=_HINT), KinkWarning, stacklevel=2)
    return tangent


def known_numbers(value: Any) -> Any:
    """Return the array behind a value, also all examples of a batch, or None where only the type is known."""
    while isinstance(value, Box):
        numbers = concrete(value)
        value = getattr(value.state, "value", None) if numbers is None else numbers
    return value if type(value) in PLAIN or isinstance(value, NUMPY_SCALAR) else None


def _type(slope: TensorType, distance: TensorType, *, operation: str) -> TensorType:
    return slope._replace(shape=broadcast("chosen_slope", slope.shape, distance.shape))


def _evaluate(slope: Any, distance: Any, *, operation: str) -> Any:
    shape = broadcast("chosen_slope", shape_of(slope), shape_of(distance))
    return slope if shape_of(slope) == shape else np.array(np.broadcast_to(slope, shape))


chosen_slope = primitive(
    name="chosen_slope",
    doc="a slope that is a choice where the distance from a kink is 0; to differentiate it there warns",
    type_rule=_type,
    evaluate=_evaluate,
    derivative=Explicit(_differentiated),
    batch=batch_elementwise,
    lowering=Elementwise(program=lambda slope, distance, operation: where(equal(distance, 0), slope, +slope)),
    source=lambda slope, distance, operation: f"np.broadcast_arrays({slope}, {distance})[0]",
    samples=elementwise_samples([(-2.0, 2.0), (0.5, 2.0)], {"operation": "sample"}),
    elementwise=True,
    operands=("slope", "distance"),
    parameters=("operation",),
)
