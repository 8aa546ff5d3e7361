"""Conversion between dtypes."""

from __future__ import annotations

from wengert.compiler.llvm.ir_builder import SCALARS, Builder, Kind, Value
from wengert.compiler.scalars.context import Context, operation
from wengert.compiler.scalars.logic import truth
from wengert.core.dtypes import UINT64, Dtype


@operation("cast")
def _cast(context: Context, x: Value) -> Value:
    before, after = context.dtype, context.result
    if before == after:
        return x
    if after.kind == "b":
        return truth(context, x)
    if before.kind == "f":
        return _from_float(context, x, after)
    scalar = SCALARS[after]
    if after.kind == "f":
        return context.builder.convert("sitofp" if before.kind == "i" else "uitofp", x, scalar)
    return _resized(context.builder, x, scalar, before.kind == "i")


def _from_float(context: Context, x: Value, after: Dtype) -> Value:
    b, scalar = context.builder, SCALARS[after]
    if after.kind == "f":
        return b.convert("fpext" if x.kind.scalar == "float" else "fptrunc", x, scalar)
    # As C does on x86: by way of a wider signed integer, whose upper bits are cut off.
    wide = "i64" if after.itemsize == 8 or (after.kind, after.itemsize) == ("u", 4) else "i32"
    number = b.convert("fptoui" if after == UINT64 else "fptosi", x, wide)
    # Some number it is also where the float has no counterpart: an index made of it is looked at before it is used.
    return _resized(b, b.emit(f"freeze {number}", number.kind), scalar, signed=True)


def _resized(b: Builder, x: Value, scalar: str, signed: bool) -> Value:
    bits = Kind(scalar).bits
    if x.kind.bits == bits:
        return x
    return b.convert("trunc" if bits < x.kind.bits else "sext" if signed else "zext", x, scalar)
