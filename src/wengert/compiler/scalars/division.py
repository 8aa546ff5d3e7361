"""Rounding, and division with remainder."""

from __future__ import annotations

from wengert.compiler.llvm.ir_builder import Value
from wengert.compiler.scalars.context import Context, like, operation


def _rounding(name: str) -> None:
    @operation(name)
    def emitter(context: Context, x: Value) -> Value:  # pyright: ignore[reportUnusedFunction]
        return context.builder.intrinsic(name, x) if context.is_float else x


for _name in ("floor", "ceil", "trunc", "rint"):
    _rounding(_name)


def _safe_divisor(context: Context, y: Value) -> tuple[Value, Value]:
    """Return the divisor with 1 in place of what a division would trap on, and whether it was replaced."""
    b = context.builder
    unsafe = b.compare("eq", y, like(y, 0))
    if context.is_signed:
        unsafe = b.either(unsafe, b.compare("eq", y, like(y, -1)))
    return b.select(unsafe, like(y, 1), y), unsafe


def _signs_differ(context: Context, x: Value, y: Value) -> Value:
    b, condition = context.builder, "olt" if context.is_float else "slt"
    return b.binary("xor", b.compare(condition, x, like(x, 0)), b.compare(condition, y, like(y, 0)))


@operation("fmod")
def _fmod(context: Context, x: Value, y: Value) -> Value:
    b = context.builder
    if context.is_float:
        return b.binary("frem", x, y)
    divisor, unsafe = _safe_divisor(context, y)
    rest = b.binary("srem" if context.is_signed else "urem", x, divisor)
    return b.select(unsafe, like(x, 0), rest)


@operation("remainder")
def _remainder(context: Context, x: Value, y: Value) -> Value:
    b = context.builder
    rest = _fmod(context, x, y)
    if not (context.is_float or context.is_signed):
        return rest
    if not context.is_float:
        wrong = b.both(b.compare("ne", rest, like(x, 0)), _signs_differ(context, rest, y))
        return b.select(wrong, b.binary("add", rest, y), rest)
    moved = b.select(_signs_differ(context, rest, y), b.fadd(rest, y), rest)
    return b.select(b.compare("oeq", rest, like(x, 0.0)), b.intrinsic("copysign", like(x, 0.0), y), moved)


@operation("floor_divide")
def _floor_divide(context: Context, x: Value, y: Value) -> Value:
    if context.is_float:
        return _floor_divide_floats(context, x, y)
    b, zero = context.builder, like(x, 0)
    divisor, _ = _safe_divisor(context, y)
    if not context.is_signed:
        return b.select(b.compare("eq", y, zero), zero, b.binary("udiv", x, divisor))
    quotient, rest = b.binary("sdiv", x, divisor), b.binary("srem", x, divisor)
    down = b.both(b.compare("ne", rest, zero), _signs_differ(context, rest, divisor))
    quotient = b.select(down, b.binary("sub", quotient, like(x, 1)), quotient)
    quotient = b.select(b.compare("eq", y, like(x, -1)), b.binary("sub", zero, x), quotient)
    return b.select(b.compare("eq", y, zero), zero, quotient)


def _floor_divide_floats(context: Context, x: Value, y: Value) -> Value:
    """Divide what the remainder leaves, and round: exact where x / y itself would round up to an integer."""
    b, zero = context.builder, like(x, 0.0)
    rest = b.binary("frem", x, y)
    quotient = b.fdiv(b.fsub(x, rest), y)
    inexact = b.both(b.compare("une", rest, zero), _signs_differ(context, rest, y))
    quotient = b.select(inexact, b.fsub(quotient, like(x, 1.0)), quotient)
    low = b.intrinsic("floor", quotient)
    low = b.select(b.compare("ogt", b.fsub(quotient, low), like(x, 0.5)), b.fadd(low, like(x, 1.0)), low)
    plain = b.fdiv(x, y)
    low = b.select(b.compare("oeq", quotient, zero), b.intrinsic("copysign", zero, plain), low)
    return b.select(b.compare("oeq", y, zero), plain, low)
