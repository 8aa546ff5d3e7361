"""Bits: logic and shifts, the exponents of floating-point numbers, and random bits."""

from __future__ import annotations

from functools import partial

from wengert.compiler.llvm.ir_builder import Builder, Kind, Value
from wengert.compiler.mathlib.terms import Format
from wengert.compiler.scalars.context import Context, like, operation
from wengert.engine.kernels.threefry import INJECTIONS, PARITY, ROTATIONS


def _bitwise(instruction: str, context: Context, x: Value, y: Value) -> Value:
    return context.builder.binary(instruction, x, y)


for _name in ("and", "or", "xor"):
    operation(f"bitwise_{_name}")(partial(_bitwise, _name))


@operation("invert")
def _invert(context: Context, x: Value) -> Value:
    return context.builder.binary("xor", x, like(x, 1 if context.dtype.kind == "b" else -1))


operation("left_shift")(lambda context, x, y: _shifted(context, "shl", x, y, like(x, 0)))


@operation("right_shift")
def _right_shift(context: Context, x: Value, y: Value) -> Value:
    if not context.is_signed:
        return _shifted(context, "lshr", x, y, like(x, 0))
    beyond = context.builder.binary("ashr", x, like(x, x.kind.bits - 1))
    return _shifted(context, "ashr", x, y, beyond)


def _shifted(context: Context, instruction: str, x: Value, y: Value, beyond: Value) -> Value:
    """Shift; the result is ``beyond`` for distances of the width or more."""
    b = context.builder
    inside = b.compare("ult", y, like(y, y.kind.bits))
    return b.select(inside, b.binary(instruction, x, b.select(inside, y, like(y, 0))), beyond)


# -- exponents -------------------------------------------------------------------------------------------


@operation("ldexp", cost=8)
def _ldexp(context: Context, x: Value, exponent: Value) -> Value:
    """Multiply by up to three powers of two, all normal numbers, of which at most one product rounds.

    An exponent below those of normal numbers is divided into steps that leave the width of a significand between them:
    where one step rounds x to a subnormal number, the next one gives zero.
    """
    b, form = context.builder, Format(x.kind)
    lowest, highest = 1 - form.bias, form.bias
    step = lowest + form.fraction + 1
    remainder = _within(b, exponent, 2 * step + lowest, 3 * highest)
    for _ in range(2):
        capped = _least(b, remainder, highest)
        power = b.select(b.compare("slt", remainder, like(remainder, lowest)), like(remainder, step), capped)
        x, remainder = b.fmul(x, _power_of_two(b, power, x.kind)), b.binary("sub", remainder, power)
    return b.fmul(x, _power_of_two(b, _within(b, remainder, lowest, highest), x.kind))


def _within(b: Builder, number: Value, low: int, high: int) -> Value:
    bound = like(number, low)
    return _least(b, b.select(b.compare("slt", number, bound), bound, number), high)


def _least(b: Builder, number: Value, high: int) -> Value:
    bound = like(number, high)
    return b.select(b.compare("sgt", number, bound), bound, number)


def _power_of_two(b: Builder, exponent: Value, kind: Kind) -> Value:
    """Return 2^e for the exponent of a normal number."""
    form = Format(kind)
    if exponent.kind.bits != kind.bits:
        exponent = b.convert("trunc", exponent, kind.integer.scalar)
    biased = b.binary("add", exponent, like(exponent, form.bias))
    return b.convert("bitcast", b.binary("shl", biased, like(biased, form.fraction)), kind.scalar)


@operation("binary_exponent", cost=8)
def _binary_exponent(context: Context, x: Value) -> Value:
    """Read the exponent; that of a subnormal number is read from a normal multiple of it."""
    b, form = context.builder, Format(x.kind)
    size = b.intrinsic("fabs", x)
    raised = form.fraction + 1
    small = b.compare("olt", size, like(x, form.least))
    size = b.select(small, b.fmul(size, like(x, 2.0**raised)), size)
    bits = b.convert("bitcast", size, x.kind.integer.scalar)
    biased = b.binary("lshr", bits, like(bits, form.fraction))
    offset = b.select(small, like(bits, form.bias - 1 + raised), like(bits, form.bias - 1))
    exponent = b.binary("sub", biased, offset)
    has_no_exponent = b.either(
        b.compare("oeq", x, like(x, 0.0)), b.compare("eq", biased, like(bits, 2 * form.bias + 1))
    )
    exponent = b.select(has_no_exponent, like(exponent, 0), exponent)
    return exponent if exponent.kind.bits == 32 else b.convert("trunc", exponent, "i32")


# -- random bits -----------------------------------------------------------------------------------------


def _words(context: Context, block: Value) -> tuple[Value, Value]:
    b = context.builder
    upper = b.binary("lshr", block, like(block, 32))
    return b.convert("trunc", upper, "i32"), b.convert("trunc", block, "i32")


@operation("threefry", cost=40)
def _threefry(context: Context, key: Value, counter: Value) -> Value:
    """Run the rounds of Threefry on as many counters as there are lanes."""
    b = context.builder
    high, low = _words(context, key)
    keys = (high, low, b.binary("xor", b.binary("xor", high, low), like(low, PARITY)))
    first, second = _words(context, counter)
    first, second = b.binary("add", first, keys[0]), b.binary("add", second, keys[1])
    for injection in range(INJECTIONS):
        for distance in ROTATIONS[injection % 2]:
            first = b.binary("add", first, second)
            rotated = b.intrinsic("fshl", second, second, like(second, distance))
            second = b.binary("xor", rotated, first)
        number = b.binary("add", keys[(injection + 2) % 3], like(second, injection + 1))
        first, second = b.binary("add", first, keys[(injection + 1) % 3]), b.binary("add", second, number)
    upper, lower = (b.convert("zext", word, "i64") for word in (first, second))
    return b.binary("or", b.binary("shl", upper, like(upper, 32)), lower)
