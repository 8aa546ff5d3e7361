"""The exponents of floating-point numbers: read, and added to."""

from __future__ import annotations

from wengert.compiler.llvm.ir_builder import Builder, Kind, Value
from wengert.compiler.mathlib.terms import Format
from wengert.compiler.scalars.context import Context, like, operation


@operation("ldexp")
def _ldexp(context: Context, x: Value, exponent: Value) -> Value:
    """Multiply by up to three powers of two, which are normal numbers: no more than one product rounds.

    An exponent below those of normal numbers goes in steps that leave a significand's width between: where a step makes
    a subnormal number of x, and rounds it, the next one makes zero.
    """
    b, form = context.builder, Format(x.kind)
    lowest, highest = 1 - form.bias, form.bias
    step = lowest + form.fraction + 1
    rest = _within(b, exponent, 2 * step + lowest, 3 * highest)
    for _ in range(2):
        capped = _least(b, rest, highest)
        power = b.select(b.compare("slt", rest, like(rest, lowest)), like(rest, step), capped)
        x, rest = b.fmul(x, _power_of_two(b, power, x.kind)), b.binary("sub", rest, power)
    return b.fmul(x, _power_of_two(b, _within(b, rest, lowest, highest), x.kind))


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


@operation("binary_exponent")
def _binary_exponent(context: Context, x: Value) -> Value:
    """Read the exponent; of a subnormal number, that of a multiple which is normal."""
    b, form = context.builder, Format(x.kind)
    size = b.intrinsic("fabs", x)
    raised = form.fraction + 1
    small = b.compare("olt", size, like(x, form.least))
    size = b.select(small, b.fmul(size, like(x, 2.0**raised)), size)
    bits = b.convert("bitcast", size, x.kind.integer.scalar)
    biased = b.binary("lshr", bits, like(bits, form.fraction))
    offset = b.select(small, like(bits, form.bias - 1 + raised), like(bits, form.bias - 1))
    exponent = b.binary("sub", biased, offset)
    none = b.either(b.compare("oeq", x, like(x, 0.0)), b.compare("eq", biased, like(bits, 2 * form.bias + 1)))
    exponent = b.select(none, like(exponent, 0), exponent)
    return exponent if exponent.kind.bits == 32 else b.convert("trunc", exponent, "i32")
