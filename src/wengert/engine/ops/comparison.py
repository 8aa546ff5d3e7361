"""Comparison, logic, tests of floating-point numbers, and the choice between two values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import BOOL
from wengert.engine.core.errors import (
    ArgumentError,
    KinkError,
    LimitError,
    MatrixError,
    WengertError,
    message,
)
from wengert.engine.core.raised import user_error
from wengert.engine.core.shapes import broadcast
from wengert.engine.ir.types import TensorType, promote
from wengert.engine.kernels.elementwise import select
from wengert.engine.nest.expression import Apply, Expression
from wengert.engine.nest.index import Index
from wengert.engine.nest.lowering import Elementwise, Operand, Pointwise
from wengert.engine.ops.elementwise import batch_elementwise, evaluation, locally_constant
from wengert.engine.primitive import Draw, Linear, Primitive, primitive

_BOOLEAN = "its result is a truth value"
_INTEGER = "it works on bits"

equal = locally_constant("equal", np.equal, "x == y", _BOOLEAN, source="{0} == {1}")
not_equal = locally_constant("not_equal", np.not_equal, "x != y", _BOOLEAN, source="{0} != {1}")
less = locally_constant("less", np.less, "x < y", _BOOLEAN, source="{0} < {1}")
less_equal = locally_constant("less_equal", np.less_equal, "x <= y", _BOOLEAN, source="{0} <= {1}")
greater = locally_constant("greater", np.greater, "x > y", _BOOLEAN, source="{0} > {1}")
greater_equal = locally_constant("greater_equal", np.greater_equal, "x >= y", _BOOLEAN, source="{0} >= {1}")

logical_and = locally_constant("logical_and", np.logical_and, "x and y", _BOOLEAN)
logical_or = locally_constant("logical_or", np.logical_or, "x or y", _BOOLEAN)
logical_xor = locally_constant("logical_xor", np.logical_xor, "either x or y", _BOOLEAN)
logical_not = locally_constant("logical_not", np.logical_not, "not x", _BOOLEAN)

isnan = locally_constant("isnan", np.isnan, "whether x is not a number", _BOOLEAN)
isinf = locally_constant("isinf", np.isinf, "whether x is infinite", _BOOLEAN)
isfinite = locally_constant("isfinite", np.isfinite, "whether x is neither infinite nor NaN", _BOOLEAN)
signbit = locally_constant("signbit", np.signbit, "whether the sign bit of x is set", _BOOLEAN)


def _bits(name: str, ufunc: np.ufunc, doc: str, operator: str) -> Any:
    source = f"{{0}} {operator} {{1}}" if ufunc.nin == 2 else f"{operator}{{0}}"

    def samples(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return tuple(draw.integers(shape, 0, 7) for shape in draw.broadcastable(ufunc.nin)), {}

    return locally_constant(name, ufunc, doc, _INTEGER, source=source, samples=samples)


bitwise_and = _bits("bitwise_and", np.bitwise_and, "x & y, bit by bit", "&")
bitwise_or = _bits("bitwise_or", np.bitwise_or, "x | y, bit by bit", "|")
bitwise_xor = _bits("bitwise_xor", np.bitwise_xor, "x ^ y, bit by bit", "^")
invert = _bits("invert", np.invert, "~x, bit by bit", "~")
left_shift = _bits("left_shift", np.left_shift, "x 2^y", "<<")
right_shift = _bits("right_shift", np.right_shift, "x 2^-y, rounded down", ">>")


def _where_type(condition: TensorType, x: TensorType, y: TensorType) -> TensorType:
    dtype, weak = promote(x, y)
    return TensorType(dtype, broadcast("where", condition.shape, x.shape, y.shape), weak and condition.weak)


def _where_samples(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    condition, x, y = draw.broadcastable(3)
    return (draw.integers(condition, 0, 1) > 0, draw.array(x), draw.array(y)), {}


where = primitive(
    name="where",
    doc="x where the condition holds, y elsewhere; the other value has no derivative, even where its slope is infinite",
    type_rule=_where_type,
    evaluate=evaluation(select),
    of_arrays=select,
    derivative=Linear(
        None,
        lambda cotangent, condition, x, y: where(condition, cotangent, 0.0),
        lambda cotangent, condition, x, y: where(condition, 0.0, cotangent),
    ),
    batch=batch_elementwise,
    lowering=Elementwise("where", inputs=lambda types, result: [BOOL, result.dtype, result.dtype]),
    source="np.where({0}, {1}, {2})".format,
    samples=_where_samples,
    elementwise=True,
)


def _require_type(x: TensorType, holds: TensorType, *, operation: str, requirement: str) -> TensorType:
    assert holds.dtype == BOOL
    return TensorType(x.dtype, broadcast("require", x.shape, holds.shape), x.weak and not holds.shape)


def _require(error: type[WengertError], x: Any, holds: Any, *, operation: str, requirement: str) -> Any:
    if not np.all(holds):
        raise error(message(operation, requirement))
    return _repeated(x, holds)


def _repeated(x: Any, holds: Any) -> Any:
    """Return x in the shape of the result; a number that one condition concerns stays a number."""
    return np.broadcast_to(x, broadcast("require", np.shape(x), np.shape(holds))) if np.shape(holds) else x


def _require_lowering(check: str) -> Pointwise:
    def rule(
        i: Sequence[Index], result: Operand, x: Operand, holds: Operand, *, operation: str, requirement: str
    ) -> Expression:
        operands = (x.broadcast_at(i), holds.broadcast_at(i))
        return Apply(
            check,
            operands,
            x.dtype,
            requirement=requirement if check == "raised" else f"{operation}: {requirement}",
        )

    return Pointwise(rule)


def _require_samples(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    x, holds = draw.broadcastable(2)
    params = {"operation": "sample", "requirement": "it must hold"}
    return (draw.array(x), draw.integers(holds, 1, 2) > 0), params


def _requirement(
    name: str,
    doc: str,
    check: str,
    error: type[WengertError],
    transpose: Callable[..., Any] = lambda cotangent, x, holds, operation, requirement: cotangent,
) -> Primitive:
    return primitive(
        name=name,
        doc=doc,
        type_rule=_require_type,
        evaluate=functools.partial(_require, error),
        derivative=Linear(transpose, None),
        batch=batch_elementwise,
        lowering=_require_lowering(check),
        source=lambda x, holds, operation, requirement: (
            f"{name}({x}, {holds}, {f'{operation}: {requirement}'!r})"
        ),
        samples=_require_samples,
        unchecked=lambda counts, x, holds, **params: (x, logical_or(holds, logical_not(counts))),
        operands=("x", "holds"),
        parameters=("operation", "requirement"),
    )


require = _requirement(
    "require",
    "x, where truth values must hold, or an error with the requirement on a matrix",
    "required",
    MatrixError,
)
require_end = _requirement(
    "require_end",
    "x, where truth values must hold, or an error that a loop has not ended",
    "ended",
    LimitError,
    # A program may compute nothing but the derivative of what the loop has left undone.
    lambda cotangent, x, holds, **params: require_end(cotangent, holds, **params),
)
require_smooth = _requirement(
    "require_smooth",
    "x, where truth values must hold, or an error that a kink was differentiated twice",
    "smooth",
    KinkError,
)


def _raise(x: Any, holds: Any, *, operation: str, requirement: str) -> Any:
    if not np.all(holds):
        raise user_error(requirement)
    return _repeated(x, holds)


def _valid_only(cotangent: Any, x: Any, holds: Any, **params: Any) -> Any:
    """Let a derivative depend on the condition, too: a program may compute nothing else."""
    return require_valid(cotangent, holds, **params)


require_valid = primitive(
    name="require_valid",
    doc="x, where truth values must hold, or an exception that the user's program raises",
    type_rule=_require_type,
    evaluate=_raise,
    derivative=Linear(_valid_only, None),
    batch=batch_elementwise,
    lowering=_require_lowering("raised"),
    source=lambda x, holds, operation, requirement: f"require_valid({x}, {holds}, {requirement!r})",
    samples=_require_samples,
    unchecked=lambda counts, x, holds, **params: (x, logical_or(holds, logical_not(counts))),
    operands=("x", "holds"),
    parameters=("operation", "requirement"),
)
require_argument = _requirement(
    "require_argument",
    "x, where truth values must hold, or an error that an argument does not fit the function",
    "fitting",
    ArgumentError,
)
