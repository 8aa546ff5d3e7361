"""The instructions of scalar operations; signed zeros, NaN, wrapping and division by zero give NumPy's results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compiler import mathlib
from wengert.compiler.llvm.ir_builder import SCALARS, Kind, Value
from wengert.compiler.scalars import arithmetic, bits, logic
from wengert.compiler.scalars.context import EMITTERS, Context
from wengert.compiler.scalars.logic import COMPARISONS as COMPARISONS
from wengert.engine.core.dtypes import Dtype

__all__ = ["COMPARISONS", "NATIVE", "Context", "arithmetic", "bits", "emit", "is_native", "logic", "neutral"]

#: The dtypes that have instructions; NumPy carries out operations on other dtypes.
NATIVE: frozenset[Dtype] = frozenset(SCALARS) - {np.dtype(np.float16)}
_ONLY_FLOAT = {"copysign", "reciprocal", "signbit", "fabs"}


def is_native(operation: str, inputs: Sequence[Dtype], result: Dtype, param: int = 0) -> bool:
    """Return whether an operation has instructions for these dtypes."""
    if not all(dtype in NATIVE for dtype in (*inputs, result)):
        return False
    if operation == "positive":
        return True
    if operation == "integer_power":
        has_code = abs(param) <= arithmetic.MAX_POWER and result.kind != "b"
        return has_code and (result.kind == "f" or param >= 0)
    if operation in EMITTERS:
        return result.kind == "f" or inputs[0].kind == "f" or operation not in _ONLY_FLOAT
    return mathlib.supports(operation, Kind(SCALARS[result]))


def emit(context: Context, operation: str, operands: Sequence[Value]) -> Value:
    """Write the instructions of a native operation on values with the same number of lanes."""
    emitter = EMITTERS.get(operation)
    return emitter(context, *operands) if emitter is not None else context.call(operation, *operands)


def neutral(combiner: str, dtype: Dtype) -> Any:
    """Return the neutral element of a combiner."""
    if combiner in ("add", "logical_or"):
        return 0  # as in NumPy: the sum of negative zeros is positive
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
