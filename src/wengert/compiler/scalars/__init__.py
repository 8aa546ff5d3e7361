"""Scalar operations as instructions, with NumPy's results: signed zeros, NaN, wrapping, division by zero and all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compiler import mathlib
from wengert.compiler.llvm.ir_builder import SCALARS, Kind, Value
from wengert.compiler.scalars import arithmetic, conversion, division, exponents, logic, random
from wengert.compiler.scalars.context import EMITTERS, Context
from wengert.compiler.scalars.logic import COMPARISONS as COMPARISONS
from wengert.core.dtypes import Dtype

__all__ = [
    "COMPARISONS",
    "NATIVE",
    "Context",
    "arithmetic",
    "conversion",
    "division",
    "emit",
    "exponents",
    "is_native",
    "logic",
    "neutral",
    "random",
]

#: The dtypes that there are instructions for; operations on others are left to NumPy.
NATIVE: frozenset[Dtype] = frozenset(SCALARS) - {np.dtype(np.float16)}
_ONLY_FLOAT = {"copysign", "heaviside", "reciprocal", "signbit", "fabs"}


def is_native(operation: str, inputs: Sequence[Dtype], result: Dtype, param: int = 0) -> bool:
    """Tell whether there are instructions for an operation on dtypes."""
    if not all(dtype in NATIVE for dtype in (*inputs, result)):
        return False
    if operation == "positive":
        return True
    if operation == "integer_power":
        return (
            abs(param) <= arithmetic.MAX_POWER and (result.kind == "f" or param >= 0) and result.kind != "b"
        )
    if operation in EMITTERS:
        return result.kind == "f" or inputs[0].kind == "f" or operation not in _ONLY_FLOAT
    return mathlib.supports(operation, Kind(SCALARS[result]))


def emit(context: Context, operation: str, operands: Sequence[Value]) -> Value:
    """Write the instructions of an operation.

    Args:
        context: where to, and on what dtypes.
        operation: a name that `is_native` knows.
        operands: values of equal lanes.
    """
    emitter = EMITTERS.get(operation)
    if emitter is not None:
        return emitter(context, *operands)
    kind = operands[0].kind
    context.functions.add((operation, kind))
    given = ", ".join(map(str, operands))
    return context.builder.emit(f"call {kind} @{mathlib.symbol(operation, kind)}({given})", kind)


def neutral(combiner: str, dtype: Dtype) -> Any:
    """Return the number that a combiner leaves other values as they are with."""
    if combiner in ("add", "logical_or"):
        return 0  # as NumPy's sums begin: one of negative zeros is not negative
    if combiner in ("multiply", "logical_and"):
        return 1
    lowest = combiner in ("maximum", "argmax")
    if dtype.kind == "f":
        return -float("inf") if lowest else float("inf")
    if dtype.kind == "b":
        return int(not lowest)
    bits = dtype.itemsize * 8
    if dtype.kind == "u":
        return 0 if lowest else 2**bits - 1
    return -(2 ** (bits - 1)) if lowest else 2 ** (bits - 1) - 1
