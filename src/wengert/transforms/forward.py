"""Forward mode: dual numbers.

A dual number ``x + x' e`` with ``e^2 = 0`` carries a primal and a tangent; every operation maps
``f(x + x' e) = f(x) + f'(x) x' e``. The tangent may itself be a box: of `vmap`, and one pass carries many
directions; of `linearize`, and the pass writes down the linear map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.boxes import Box, Trace, snapshot
from wengert.boxes import concrete as concrete_value
from wengert.core.dtypes import check_known, dtype_of, is_float
from wengert.core.shapes import Shape, shape_of
from wengert.kernels.strong import strong_product
from wengert.ops.arithmetic import multiply_no_nan
from wengert.ops.conversion import cast
from wengert.ops.shape import broadcast_to
from wengert.primitive import Explicit, HigherOrder, Linear, NonDifferentiable, Partials, Primitive


class DualNumber:
    """The state of a box in forward mode: a primal and its tangent."""

    __slots__ = ("primal", "tangent")

    def __init__(self, primal: Any, tangent: Any) -> None:
        self.primal = primal
        self.tangent = tangent

    @property
    def shape(self) -> Shape:
        """The shape of the primal."""
        return shape_of(self.primal)

    @property
    def dtype(self) -> Any:
        """The dtype of the primal."""
        return dtype_of(self.primal)

    @property
    def weak(self) -> bool:
        """Whether the primal is a Python scalar."""
        return type(self.primal) is float or getattr(self.primal, "weak", False)


class DualTrace(Trace):
    """Forward mode: boxes hold dual numbers."""

    name = "jvp"

    def process(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Compute the primal and its tangent."""
        self.check_open(primitive.name)
        primals: list[Any] = []
        tangents: list[Any] = []
        for operand in operands:
            if isinstance(operand, Box) and operand.owner is self:
                primals.append(operand.state.primal)
                tangents.append(operand.state.tangent)
            else:
                primals.append(snapshot(operand) if isinstance(operand, Box) else operand)
                tangents.append(None)
        out, tangent = push(primitive, primals, tangents, params)
        if isinstance(out, tuple):
            return tuple(map(self.dual, out, tangent))  # pyright: ignore[reportUnknownVariableType]
        return self.dual(out, tangent)

    def dual(self, primal: Any, tangent: Any) -> Any:
        """Box a dual number; a zero tangent needs none."""
        return primal if tangent is None else self.box(DualNumber(primal, tangent))

    def concrete(self, state: Any) -> Any:
        """Return the array behind the primal."""
        return concrete_value(state.primal)


def push(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]
) -> Any:
    """Return the result of an operation and its tangent (None: zero); tuples if it has several results."""
    rule = primitive.derivative
    if isinstance(rule, HigherOrder):
        return rule.push(primals, tangents, **params)
    out = primitive(*primals, **params)
    if isinstance(rule, NonDifferentiable):
        return out, None
    if not is_float(dtype := dtype_of(out)):
        check_known(primitive.name, dtype)
        return out, None
    if all(tangent is None for tangent in tangents):
        return out, None
    if isinstance(rule, Partials):
        tangent = _push_partials(rule, out, primals, tangents, params)
    elif isinstance(rule, Linear):
        tangent = _push_linear(primitive, rule, primals, tangents, params)
    else:
        assert isinstance(rule, Explicit)
        tangent = rule.jvp(primals, tangents, out, **params)
    return out, None if tangent is None else like(tangent, out)


def like(tangent: Any, out: Any) -> Any:
    """Give a tangent the shape and dtype of its primal."""
    if shape_of(tangent) != (shape := shape_of(out)):
        tangent = broadcast_to(tangent, shape=shape)
    if dtype_of(tangent) != (dtype := dtype_of(out)):
        tangent = cast(tangent, dtype=dtype)
    return tangent


def _push_partials(
    rule: Partials, out: Any, primals: Sequence[Any], tangents: Sequence[Any], params: Any
) -> Any:
    """Return the sum of partial x tangent."""
    total = None
    values = (out, *primals)
    if rule.singular:
        values = numeric(values)
    for partial, tangent in zip(rule.partials, tangents, strict=True):
        if tangent is None or partial is None:
            continue
        if callable(partial):
            with np.errstate(all="ignore"):
                term = passed(tangent, partial(*values, **params))
        else:
            term = tangent if partial == 1.0 else -tangent if partial == -1.0 else tangent * partial
        total = term if total is None else total + term
    return total


def passed(direction: Any, factor: Any) -> Any:
    """Return what passes through an operand: partial x tangent, or partial x cotangent; zero times anything is zero."""
    if isinstance(direction, Box) or isinstance(factor, Box):
        return multiply_no_nan(direction, factor)
    return strong_product(direction, factor)


def numeric(values: Sequence[Any]) -> Sequence[Any]:
    """Return a result and operands with NumPy scalars for Python's, which raise where NumPy's give infinity.

    They take the dtype of the result, which comes first, as they did when it was computed.
    """
    if not any(type(x) is float or type(x) is int for x in values):
        return values
    convert = dtype_of(values[0]).type
    return [convert(x) if type(x) is float or type(x) is int else x for x in values]


def _push_linear(
    primitive: Primitive,
    rule: Linear,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    params: dict[str, Any],
) -> Any:
    """Apply the operation itself: to all tangents at once, or to one at a time."""
    moving = [rule.linear_in(i) and tangent is not None for i, tangent in enumerate(tangents)]
    if not any(moving):
        return None
    if rule.jointly:
        operands = [
            (zeros_like(primal) if tangent is None else tangent) if rule.linear_in(i) else primal
            for i, (primal, tangent) in enumerate(zip(primals, tangents, strict=True))
        ]
        return primitive(*operands, **params)
    total = None
    for position, tangent in enumerate(tangents):
        if moving[position]:
            term = primitive(*primals[:position], tangent, *primals[position + 1 :], **params)
            total = term if total is None else total + term
    return total


def zeros_like(value: Any) -> Any:
    """Return zeros of the shape and dtype of a value."""
    return np.zeros(shape_of(value), dtype_of(value))
