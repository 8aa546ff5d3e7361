"""What a derivative's rule reads on the way back: the result, some of the operands, or neither.

Of partial derivatives this is found by writing them down once: what the graph does not lead to is not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wengert.core.dtypes import FLOAT64, dtype_of, is_float
from wengert.ir.graph import Var
from wengert.ir.types import TensorType
from wengert.primitive import Linear, Partials, Primitive
from wengert.transforms.staging import stage

Reads = Sequence[bool]
"""Whether the result is read, and each of the operands."""

_known: dict[Any, Reads] = {}
#: The most kinds of operations that are remembered: a program has some tens. Beyond this, all are forgotten.
_MOST = 4096


def reads_of(
    primitive: Primitive,
    params: Mapping[str, Any],
    parents: Sequence[Any],
    value: Any,
    operands: Sequence[Any],
) -> Reads:
    """Tell of the result and the operands of an operation which its rule will read.

    Args:
        primitive: the operation.
        params: its parameters.
        parents: None for operands through which no derivative passes.
        value: the result.
        operands: its operands.
    """
    rule, active = primitive.derivative, tuple(map(bool, parents))
    key = (
        (primitive, active, *params.items()) if params and isinstance(rule, Partials) else (primitive, active)
    )
    found = _known.get(key)
    if found is None:
        if isinstance(rule, Partials):
            found = _read_by_partials(rule, params, active, list(map(_scalar, (value, *operands))))
        else:
            found = (
                _read_by_transposes(rule, active) if isinstance(rule, Linear) else [True] * (1 + len(active))
            )
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = found
    return found


def _read_by_transposes(rule: Linear, active: Sequence[bool]) -> Reads:
    """Tell which operands the transposes read: what is not linear, and of a product the other factors."""
    factors = not rule.jointly and sum(active) > 1
    are_read = [
        not rule.linear_in(position) or factors or (not rule.jointly and not is_active)
        for position, is_active in enumerate(active)
    ]
    return [False, *are_read]


def _read_by_partials(
    rule: Partials, params: Mapping[str, Any], active: Sequence[bool], types: Sequence[TensorType]
) -> Reads:
    partials = [one for one, wanted in zip(rule.partials, active, strict=True) if wanted and callable(one)]
    graph, _ = stage(lambda *values: [partial(*values, **params) for partial in partials], types)
    atoms = (*graph.outputs, *(atom for equation in graph.equations for atom in equation.operands))
    used = {atom for atom in atoms if isinstance(atom, Var)}
    return [var in used for var in graph.inputs]


def _scalar(value: Any) -> TensorType:
    """Return the type of an element: what is read does not depend on how many there are."""
    dtype = dtype_of(value)
    return TensorType(FLOAT64 if is_float(dtype) else dtype, ())
