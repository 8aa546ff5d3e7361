"""Comparison, logic, tests of floating-point numbers, choice, and conversion between dtypes."""

from __future__ import annotations

from functools import partial

from wengert.compiler.llvm.ir_builder import SCALARS, Builder, Kind, Value, constant
from wengert.compiler.scalars.context import Context, like, operation
from wengert.engine.core.dtypes import UINT64, Dtype

COMPARISONS = {
    "equal": ("oeq", "eq"),
    "not_equal": ("une", "ne"),
    "less": ("olt", "lt"),
    "less_equal": ("ole", "le"),
    "greater": ("ogt", "gt"),
    "greater_equal": ("oge", "ge"),
}


def _comparison(name: str, context: Context, x: Value, y: Value) -> Value:
    on_floats, on_integers = COMPARISONS[name]
    sign = "" if on_integers in ("eq", "ne") else "s" if context.is_signed else "u"
    return context.builder.compare(on_floats if context.is_float else sign + on_integers, x, y)


for _name in COMPARISONS:
    operation(_name)(partial(_comparison, _name))


def truth(context: Context, x: Value) -> Value:
    """Return whether a value is not zero."""
    if context.dtype.kind == "b":
        return x
    return context.builder.compare("une" if context.is_float else "ne", x, like(x, 0))


def _logical(instruction: str, context: Context, x: Value, y: Value) -> Value:
    return context.builder.binary(instruction, truth(context, x), truth(context, y))


for _name in ("and", "or", "xor"):
    operation(f"logical_{_name}")(partial(_logical, _name))


operation("logical_not")(lambda context, x: context.builder.negate(truth(context, x)))


def _always(context: Context, x: Value, value: bool) -> Value:
    return constant(x.kind.of("i1"), value)


@operation("isnan")
def _isnan(context: Context, x: Value) -> Value:
    return context.builder.compare("uno", x, x) if context.is_float else _always(context, x, False)


def _against_infinity(condition: str, of_integers: bool, context: Context, x: Value) -> Value:
    if not context.is_float:
        return _always(context, x, of_integers)
    return context.builder.compare(condition, context.builder.intrinsic("fabs", x), like(x, float("inf")))


operation("isinf")(partial(_against_infinity, "oeq", False))
operation("isfinite")(partial(_against_infinity, "olt", True))


@operation("signbit")
def _signbit(context: Context, x: Value) -> Value:
    bits = context.builder.convert("bitcast", x, x.kind.integer.scalar)
    return context.builder.compare("slt", bits, like(bits, 0))


operation("where")(lambda context, condition, x, y: context.builder.select(condition, x, y))


# -- conversion ------------------------------------------------------------------------------------------


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
    # As C on x86: through a wider signed integer, whose upper bits are cut off.
    wide = "i64" if after.itemsize == 8 or (after.kind, after.itemsize) == ("u", 4) else "i32"
    number = b.convert("fptoui" if after == UINT64 else "fptosi", x, wide)
    # A float without a counterpart gives an arbitrary number: an index made from it is checked before use.
    return _resized(b, b.freeze(number), scalar, signed=True)


def _resized(b: Builder, x: Value, scalar: str, signed: bool) -> Value:
    bits = Kind(scalar).bits
    if x.kind.bits == bits:
        return x
    return b.convert("trunc" if bits < x.kind.bits else "sext" if signed else "zext", x, scalar)
