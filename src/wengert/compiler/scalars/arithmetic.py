"""Sums, products, quotients, remainders, powers, signs, extrema and rounding."""

from __future__ import annotations

from functools import partial

from wengert.compiler.llvm.ir_builder import Value, constant
from wengert.compiler.scalars.context import Context, like, operation
from wengert.engine.machine.costs import DIVISION


def _by_kind(on_floats: str, on_integers: str, on_bools: str, context: Context, x: Value, y: Value) -> Value:
    instruction = {"f": on_floats, "b": on_bools}.get(context.dtype.kind, on_integers)
    return context.builder.binary(instruction, x, y)


operation("add")(partial(_by_kind, "fadd", "add", "or"))
operation("subtract")(partial(_by_kind, "fsub", "sub", "xor"))
_multiply = operation("multiply")(partial(_by_kind, "fmul", "mul", "and"))


@operation("divide", cost=DIVISION)
def _divide(context: Context, x: Value, y: Value) -> Value:
    """Return x / y; with fast-math x (1 / y), wherever it stands, so that quotients by one number share a division."""
    b = context.builder
    return b.fmul(x, b.fdiv(like(x, 1.0), y)) if b.fast else b.fdiv(x, y)


@operation("multiply_no_nan", cost=3)
def _multiply_no_nan(context: Context, x: Value, y: Value) -> Value:
    """Return x y, and zero where either is zero."""
    b = context.builder
    if not context.is_float:
        return _multiply(context, x, y)
    product = b.fmul(x, y)
    if b.fast:
        return product
    if x.kind.lanes > 1:
        return _zero_or(context, x, y, product)
    # Only a product that is NaN may have to be zero. A branch that is never taken costs less than the choice, for
    # which what follows would wait.
    is_nan = b.compare("uno", product, product)
    return b.rarely(is_nan, lambda: _zero_or(context, x, y, product), product)


def _zero_or(context: Context, x: Value, y: Value, product: Value) -> Value:
    """Return a product, or where a factor is zero a zero with its sign: with AVX-512 three instructions more."""
    b, zero = context.builder, like(x, 0.0)
    is_ordinary = b.both(b.compare("une", x, zero), b.compare("une", y, zero))
    x_bits, y_bits = (b.convert("bitcast", operand, x.kind.integer.scalar) for operand in (x, y))
    sign = b.both(b.binary("xor", x_bits, y_bits), constant(x_bits.kind, 1 << (x_bits.kind.bits - 1)))
    return b.select(is_ordinary, product, b.convert("bitcast", sign, x.kind.scalar))


@operation("negative")
def _negative(context: Context, x: Value) -> Value:
    return context.builder.fneg(x) if context.is_float else context.builder.binary("sub", like(x, 0), x)


operation("reciprocal", cost=DIVISION)(lambda context, x: context.builder.fdiv(like(x, 1.0), x))


operation("square")(lambda context, x: _multiply(context, x, x))


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


operation("copysign")(lambda context, x, y: context.builder.intrinsic("copysign", x, y))


MAX_POWER = 64
"""The largest exponent that has code; NumPy evaluates larger ones, which overflow for all integers except 0 and +-1."""
_EXACT = 4
"""The largest exponent for which repeated products are as accurate as the general power."""


@operation("integer_power", cost=2)
def _integer_power(context: Context, x: Value) -> Value:
    """Multiply by repeated squaring where that is as accurate as the general power."""
    exponent = abs(context.param)
    if context.is_float and exponent > _EXACT:
        return context.call("power", x, like(x, float(context.param)))
    result: Value | None = None
    power = x
    while exponent:
        if exponent & 1:
            result = power if result is None else _multiply(context, result, power)
        exponent >>= 1
        if exponent:
            power = _multiply(context, power, power)
    if result is None:
        return like(x, 1)
    return context.builder.fdiv(like(x, 1), result) if context.param < 0 else result


# -- extrema ---------------------------------------------------------------------------------------------


_OPPOSITE = {"gt": "le", "lt": "ge"}


def _extremum(condition: str, context: Context, x: Value, y: Value) -> Value:
    b = context.builder
    if not context.is_float:
        return b.select(b.compare(("s" if context.is_signed else "u") + condition, x, y), x, y)
    # LLVM 20 loses the absolute value of maximum(abs(x), 0) where the comparison is ordered.
    best = b.select(b.compare("u" + _OPPOSITE[condition], x, y), y, x)
    return b.select(b.compare("uno", x, x), x, best)


def _number_extremum(condition: str, context: Context, x: Value, y: Value) -> Value:
    """Return the other operand where one is NaN."""
    b = context.builder
    if not context.is_float:
        return _extremum(condition, context, x, y)
    return b.select(b.either(b.compare("o" + condition, x, y), b.compare("uno", y, y)), x, y)


operation("maximum")(partial(_extremum, "gt"))
operation("minimum")(partial(_extremum, "lt"))
operation("fmax")(partial(_number_extremum, "gt"))
operation("fmin")(partial(_number_extremum, "lt"))

# -- rounding, and division with remainder ---------------------------------------------------------------


def _rounded(intrinsic: str, context: Context, x: Value) -> Value:
    return context.builder.intrinsic(intrinsic, x) if context.is_float else x


for _name in ("floor", "ceil", "trunc", "rint"):
    operation(_name)(partial(_rounded, _name))


def _safe_divisor(context: Context, y: Value) -> tuple[Value, Value]:
    """Return the divisor with 1 in place of numbers that a division would trap on, and whether it was replaced."""
    b = context.builder
    unsafe = b.compare("eq", y, like(y, 0))
    if context.is_signed:
        unsafe = b.either(unsafe, b.compare("eq", y, like(y, -1)))
    return b.select(unsafe, like(y, 1), y), unsafe


def _signs_differ(context: Context, x: Value, y: Value) -> Value:
    b, condition = context.builder, "olt" if context.is_float else "slt"
    return b.binary("xor", b.compare(condition, x, like(x, 0)), b.compare(condition, y, like(y, 0)))


@operation("fmod", cost=DIVISION)
def _fmod(context: Context, x: Value, y: Value) -> Value:
    b = context.builder
    if context.is_float:
        return b.binary("frem", x, y)
    divisor, unsafe = _safe_divisor(context, y)
    remainder = b.binary("srem" if context.is_signed else "urem", x, divisor)
    return b.select(unsafe, like(x, 0), remainder)


@operation("remainder", cost=DIVISION)
def _remainder(context: Context, x: Value, y: Value) -> Value:
    b = context.builder
    remainder = _fmod(context, x, y)
    if not (context.is_float or context.is_signed):
        return remainder
    if not context.is_float:
        wrong = b.both(b.compare("ne", remainder, like(x, 0)), _signs_differ(context, remainder, y))
        return b.select(wrong, b.binary("add", remainder, y), remainder)
    moved = b.select(_signs_differ(context, remainder, y), b.fadd(remainder, y), remainder)
    return b.select(
        b.compare("oeq", remainder, like(x, 0.0)), b.intrinsic("copysign", like(x, 0.0), y), moved
    )


@operation("floor_divide", cost=DIVISION)
def _floor_divide(context: Context, x: Value, y: Value) -> Value:
    if context.is_float:
        return _floor_divide_floats(context, x, y)
    b, zero = context.builder, like(x, 0)
    divisor, _ = _safe_divisor(context, y)
    if not context.is_signed:
        return b.select(b.compare("eq", y, zero), zero, b.binary("udiv", x, divisor))
    quotient, remainder = b.binary("sdiv", x, divisor), b.binary("srem", x, divisor)
    down = b.both(b.compare("ne", remainder, zero), _signs_differ(context, remainder, divisor))
    quotient = b.select(down, b.binary("sub", quotient, like(x, 1)), quotient)
    quotient = b.select(b.compare("eq", y, like(x, -1)), b.binary("sub", zero, x), quotient)
    return b.select(b.compare("eq", y, zero), zero, quotient)


def _floor_divide_floats(context: Context, x: Value, y: Value) -> Value:
    """Divide x less the remainder, and round: exact where x / y itself would round up to an integer."""
    b, zero = context.builder, like(x, 0.0)
    remainder = b.binary("frem", x, y)
    quotient = b.fdiv(b.fsub(x, remainder), y)
    inexact = b.both(b.compare("une", remainder, zero), _signs_differ(context, remainder, y))
    quotient = b.select(inexact, b.fsub(quotient, like(x, 1.0)), quotient)
    low = b.intrinsic("floor", quotient)
    low = b.select(b.compare("ogt", b.fsub(quotient, low), like(x, 0.5)), b.fadd(low, like(x, 1.0)), low)
    plain = b.fdiv(x, y)
    low = b.select(b.compare("oeq", quotient, zero), b.intrinsic("copysign", zero, plain), low)
    return b.select(b.compare("oeq", y, zero), plain, low)
