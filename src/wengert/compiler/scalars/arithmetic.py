"""Sums, products, quotients, powers, signs and extrema."""

from __future__ import annotations

from wengert.compiler import mathlib
from wengert.compiler.llvm.ir_builder import Value, constant
from wengert.compiler.scalars.context import EMITTERS, Context, like, operation


def _arithmetic(name: str, on_floats: str, on_integers: str, on_bools: str) -> None:
    @operation(name)
    def emitter(context: Context, x: Value, y: Value) -> Value:  # pyright: ignore[reportUnusedFunction]
        kind = context.dtype.kind
        name = on_floats if kind == "f" else on_bools if kind == "b" else on_integers
        return context.builder.binary(name, x, y)


_arithmetic("add", "fadd", "add", "or")
_arithmetic("subtract", "fsub", "sub", "xor")
_arithmetic("multiply", "fmul", "mul", "and")


@operation("divide")
def _divide(context: Context, x: Value, y: Value) -> Value:
    return context.builder.fdiv(x, y)


@operation("multiply_no_nan")
def _scale(context: Context, x: Value, y: Value) -> Value:
    """Return x y, and zero where either is zero."""
    b = context.builder
    if not context.is_float:
        return b.binary("and" if context.dtype.kind == "b" else "mul", x, y)
    product, zero = b.fmul(x, y), like(x, 0.0)
    if b.fast:
        return product
    counts = b.both(b.compare("une", x, zero), b.compare("une", y, zero))
    # Where it does not, a zero with the sign of the product: with AVX-512 three instructions more than a product.
    one, other = (b.convert("bitcast", each, x.kind.integer.scalar) for each in (x, y))
    sign = b.both(b.binary("xor", one, other), constant(one.kind, 1 << (one.kind.bits - 1)))
    return b.select(counts, product, b.convert("bitcast", sign, x.kind.scalar))


@operation("negative")
def _negative(context: Context, x: Value) -> Value:
    return context.builder.fneg(x) if context.is_float else context.builder.binary("sub", like(x, 0), x)


@operation("reciprocal")
def _reciprocal(context: Context, x: Value) -> Value:
    return context.builder.fdiv(like(x, 1.0), x)


@operation("square")
def _square(context: Context, x: Value) -> Value:
    return EMITTERS["multiply"](context, x, x)


@operation("absolute", "fabs")
def _absolute(context: Context, x: Value) -> Value:
    if context.is_float:
        return context.builder.intrinsic("fabs", x)
    if not context.is_signed:
        return x
    b = context.builder
    return b.select(b.compare("slt", x, like(x, 0)), b.binary("sub", like(x, 0), x), x)


@operation("sign")
def _sign(context: Context, x: Value) -> Value:
    b, zero, one = context.builder, like(x, 0), like(x, 1)
    if context.is_float:
        above = b.select(b.compare("ogt", x, zero), one, b.select(b.compare("uno", x, x), x, zero))
        return b.select(b.compare("olt", x, zero), like(x, -1.0), above)
    positive = b.select(b.compare("sgt" if context.is_signed else "ugt", x, zero), one, zero)
    return b.select(b.compare("slt", x, zero), like(x, -1), positive) if context.is_signed else positive


@operation("copysign")
def _copysign(context: Context, x: Value, y: Value) -> Value:
    return context.builder.intrinsic("copysign", x, y)


@operation("heaviside")
def _heaviside(context: Context, x: Value, y: Value) -> Value:
    b, zero = context.builder, like(x, 0.0)
    beside = b.select(b.compare("olt", x, zero), zero, b.select(b.compare("uno", x, x), x, like(x, 1.0)))
    return b.select(b.compare("oeq", x, zero), y, beside)


MAX_POWER = 64
"""The largest exponent that is written out as products; NumPy takes the others, which leave no integer but 0 and 1."""
_EXACT = 4
"""The largest exponent up to which a few products err by no more than the power itself."""


@operation("integer_power")
def _integer_power(context: Context, x: Value) -> Value:
    """Multiply by repeated squaring, where that is as exact as the general power."""
    exponent = abs(context.param)
    if context.is_float and exponent > _EXACT:
        context.functions.add(("power", x.kind))
        y = like(x, float(context.param))
        return context.builder.emit(f"call {x.kind} @{mathlib.symbol('power', x.kind)}({x}, {y})", x.kind)
    result: Value | None = None
    power = x
    while exponent:
        if exponent & 1:
            result = power if result is None else EMITTERS["multiply"](context, result, power)
        exponent >>= 1
        if exponent:
            power = EMITTERS["multiply"](context, power, power)
    one = like(x, 1)
    if result is None:
        return one
    return context.builder.fdiv(one, result) if context.param < 0 else result


# -- extrema ---------------------------------------------------------------------------------------------


def _extremum(name: str, condition: str) -> None:
    @operation(name)
    def emitter(context: Context, x: Value, y: Value) -> Value:  # pyright: ignore[reportUnusedFunction]
        b = context.builder
        if not context.is_float:
            return b.select(b.compare(("s" if context.is_signed else "u") + condition, x, y), x, y)
        best = b.select(b.compare("o" + condition, x, y), x, y)
        return b.select(b.compare("uno", x, x), x, best)

    @operation("f" + name[:3])
    def ignoring_nan(context: Context, x: Value, y: Value) -> Value:  # pyright: ignore[reportUnusedFunction]
        b = context.builder
        if not context.is_float:
            return emitter(context, x, y)
        taken = b.either(b.compare("o" + condition, x, y), b.compare("uno", y, y))
        return b.select(taken, x, y)


_extremum("maximum", "gt")
_extremum("minimum", "lt")
