"""Comparison, logic, tests of floating-point numbers, and bits."""

from __future__ import annotations

from wengert.compiler.llvm.ir_builder import Value, constant
from wengert.compiler.scalars.context import Context, like, operation

COMPARISONS = {
    "equal": ("oeq", "eq"),
    "not_equal": ("une", "ne"),
    "less": ("olt", "lt"),
    "less_equal": ("ole", "le"),
    "greater": ("ogt", "gt"),
    "greater_equal": ("oge", "ge"),
}


def _comparison(name: str, on_floats: str, on_integers: str) -> None:
    @operation(name)
    def emitter(context: Context, x: Value, y: Value) -> Value:  # pyright: ignore[reportUnusedFunction]
        sign = "" if on_integers in ("eq", "ne") else "s" if context.is_signed else "u"
        return context.builder.compare(on_floats if context.is_float else sign + on_integers, x, y)


for _name, _conditions in COMPARISONS.items():
    _comparison(_name, *_conditions)


def truth(context: Context, x: Value) -> Value:
    """Return whether a value is not zero."""
    if context.dtype.kind == "b":
        return x
    return context.builder.compare("une" if context.is_float else "ne", x, like(x, 0))


def _logic(name: str, instruction: str) -> None:
    @operation(name)
    def emitter(context: Context, x: Value, y: Value) -> Value:  # pyright: ignore[reportUnusedFunction]
        return context.builder.binary(instruction, truth(context, x), truth(context, y))


for _name, _instruction in (("logical_and", "and"), ("logical_or", "or"), ("logical_xor", "xor")):
    _logic(_name, _instruction)


@operation("logical_not")
def _logical_not(context: Context, x: Value) -> Value:
    return context.builder.negate(truth(context, x))


def _always(context: Context, x: Value, value: bool) -> Value:
    return constant(x.kind.of("i1"), value)


@operation("isnan")
def _isnan(context: Context, x: Value) -> Value:
    return context.builder.compare("uno", x, x) if context.is_float else _always(context, x, False)


@operation("isinf")
def _isinf(context: Context, x: Value) -> Value:
    if not context.is_float:
        return _always(context, x, False)
    return context.builder.compare("oeq", context.builder.intrinsic("fabs", x), like(x, float("inf")))


@operation("isfinite")
def _isfinite(context: Context, x: Value) -> Value:
    if not context.is_float:
        return _always(context, x, True)
    return context.builder.compare("olt", context.builder.intrinsic("fabs", x), like(x, float("inf")))


@operation("signbit")
def _signbit(context: Context, x: Value) -> Value:
    bits = context.builder.emit(f"bitcast {x} to {x.kind.integer}", x.kind.integer)
    return context.builder.compare("slt", bits, like(bits, 0))


@operation("where")
def _where(context: Context, condition: Value, x: Value, y: Value) -> Value:
    return context.builder.select(condition, x, y)


# -- bits ------------------------------------------------------------------------------------------------


def _bitwise(name: str, instruction: str) -> None:
    @operation(name)
    def emitter(context: Context, x: Value, y: Value) -> Value:  # pyright: ignore[reportUnusedFunction]
        return context.builder.binary(instruction, x, y)


for _name, _instruction in (("bitwise_and", "and"), ("bitwise_or", "or"), ("bitwise_xor", "xor")):
    _bitwise(_name, _instruction)


@operation("invert")
def _invert(context: Context, x: Value) -> Value:
    return context.builder.binary("xor", x, like(x, 1 if context.dtype.kind == "b" else -1))


@operation("left_shift")
def _left_shift(context: Context, x: Value, y: Value) -> Value:
    return _shifted(context, "shl", x, y, like(x, 0))


@operation("right_shift")
def _right_shift(context: Context, x: Value, y: Value) -> Value:
    if not context.is_signed:
        return _shifted(context, "lshr", x, y, like(x, 0))
    beyond = context.builder.binary("ashr", x, like(x, x.kind.bits - 1))
    return _shifted(context, "ashr", x, y, beyond)


def _shifted(context: Context, instruction: str, x: Value, y: Value, beyond: Value) -> Value:
    """Shift; by the width or more, ``beyond``."""
    b = context.builder
    inside = b.compare("ult", y, like(y, y.kind.bits))
    return b.select(inside, b.binary(instruction, x, b.select(inside, y, like(y, 0))), beyond)
