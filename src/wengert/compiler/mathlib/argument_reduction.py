"""The remainder of x after the nearest multiple of pi/2, in two parts, for any x.

Up to some thousand multiples the reduction is that of Cody and Waite, *Software Manual for the Elementary
Functions* (1980), with pi/2 in parts that keep every product but the last exact. Beyond, on the lanes that need it,
x is multiplied by those bits of 2/pi that matter (Payne and Hanek, *Radian reduction for trigonometric functions*,
1983).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from wengert.compiler.llvm.ir_builder import I1, I64, POINTER, Builder, Kind, Value, constant
from wengert.compiler.mathlib.terms import Term, Writer, nearest, quick_two_sum
from wengert.engine.kernels.tables import table

#: The largest magnitudes that the quick reduction handles.
_QUICK = {32: 3000.0, 64: 24000.0}
_DOUBLE, _I128 = Kind("double"), Kind("i128")
_SCALAR = "{ double, double, i64 }"
#: The function that reduces huge numbers lane by lane.
HELPER = "remainder"
_NAME, _TABLE = f"wengert.{HELPER}", "wengert.two_over_pi"


def _struct(kind: Kind) -> str:
    return f"{{ {kind}, {kind}, {kind.integer} }}"


def quick_reduction(x: Term) -> tuple[Term, Term, Term]:
    """Return r in two parts and n, right in its low bits, for moderate x."""
    count, n = nearest(x, 2 / math.pi)
    parts = table("HALF_PI", x.precision)
    # The sums below are exact where they cancel, so the order of their operands does not matter.
    high, low = quick_two_sum(count.muladd(-parts[0], x), count * -parts[1])
    for part in parts[2:-1]:
        high, error = quick_two_sum(high, count * -part)
        low = low + error
    return high, count.muladd(-parts[-1], low), n


def reduction(x: Term) -> tuple[Term, Term, Term]:
    """Return r in two parts and n, right in its low bits, for any x; r is NaN if x is not finite."""
    quick = quick_reduction(x)
    high, low, n = unless_huge(x, quick, lambda huge: _slow_reduction(x, huge, quick))
    return high, low, n


def unless_huge(x: Term, quick: Sequence[Term], slow: Callable[[Term], Sequence[Term]]) -> list[Term]:
    """Return the results of the quick way; lanes with huge x, if any, take the slow way."""
    writer, kind = x.writer, x.kind
    huge = abs(x) > _QUICK[kind.bits]
    rare, after = writer.new_label("huge"), writer.new_label("reduced")
    before = writer.block
    any_huge = huge.value if kind.lanes == 1 else writer.intrinsic("vector.reduce.or", huge.value, result=I1)
    writer.branch_if(any_huge, rare, after)
    writer.label(rare)
    corrected = slow(huge)
    writer.branch(after)
    writer.label(after)
    merged: list[Term] = []
    for old, new in zip(quick, corrected, strict=True):
        text = f"phi {old.kind} [ {old.value.text}, %{before} ], [ {new.value.text}, %{rare} ]"
        merged.append(Term(writer, writer.emit(text, old.kind)))
    return merged


def _slow_reduction(x: Term, huge: Term, quick: Sequence[Term]) -> list[Term]:
    """Return the quick reduction with the lanes of huge numbers replaced."""
    writer, kind = x.writer, x.kind
    writer.helpers.add((HELPER, kind))
    infinite = abs(x).equals(math.inf)
    argument = x.where(huge & ~infinite, 2.0**40)
    parts = writer.emit(f"call {_struct(kind)} @{_NAME}.{kind.suffix}({argument.value})", kind)
    results: list[Term] = []
    for i, old in enumerate(quick):
        part = writer.emit(f"extractvalue {_struct(kind)} {parts.text}, {i}", old.kind)
        results.append(Term(writer, part).where(huge, old))
    results[0] = x.number(math.nan).where(infinite, results[0])
    return results


def lanewise_definition(kind: Kind) -> str:
    """Return the function that reduces a vector lane by lane."""
    builder = Builder(fast="")
    high, low, n = (Value("poison", part) for part in (kind, kind, kind.integer))
    for lane in range(kind.lanes):
        x = Value("%x", kind) if kind.lanes == 1 else builder.extract(Value("%x", kind), lane)
        r, r_low, count = _scalar_reduction(builder, x)
        if kind.lanes == 1:
            high, low, n = r, r_low, count
        else:
            high, low, n = (builder.insert(*pair, lane) for pair in ((high, r), (low, r_low), (n, count)))
    _return(builder, _struct(kind), high, low, n)
    body = "\n".join(builder.lines)
    return f"define internal {_struct(kind)} @{_NAME}.{kind.suffix}({kind} %x) noinline cold nounwind {{\n{body}\n}}\n"


def _scalar_reduction(builder: Builder, x: Value) -> tuple[Value, Value, Value]:
    """Return the reduction of one number in its own type."""
    wide = x if x.kind == _DOUBLE else builder.convert("fpext", x, "double")
    parts = builder.emit(f"call {_SCALAR} @{_NAME}({wide})", _DOUBLE)
    r, r_low = (builder.emit(f"extractvalue {_SCALAR} {parts.text}, {i}", _DOUBLE) for i in (0, 1))
    count = builder.emit(f"extractvalue {_SCALAR} {parts.text}, 2", I64)
    if x.kind == _DOUBLE:
        return r, r_low, count
    first = builder.convert("fptrunc", r, "float")
    r_low = builder.fsub(r, builder.convert("fpext", first, "double"))
    return first, builder.convert("fptrunc", r_low, "float"), builder.convert("trunc", count, "i32")


def _return(builder: Builder, struct: str, *parts: Value) -> None:
    """Return several values from a function."""
    text = "poison"
    for i, part in enumerate(parts):
        text = builder.emit(f"insertvalue {struct} {text}, {part}, {i}", I64).text
    builder.do(f"ret {struct} {text}")


def scalar_definition(*, has_fma: bool) -> tuple[str, set[str]]:
    """Return the function that reduces a float64 number of at least 2^14, and its declarations."""
    writer = Writer(_DOUBLE, 53, has_fma=has_fma)
    x = writer.term("%x")
    bits = x.bits()
    window = _window(writer, bits)
    negative = bits < 0
    half = constant(_I128, 1 << 125)
    n = writer.binary("lshr", writer.binary("add", window, half), constant(_I128, 126))
    fraction = writer.binary("sub", window, writer.binary("shl", n, constant(_I128, 126)))
    below = Term(writer, writer.compare("slt", fraction, constant(_I128, 0)))
    size = writer.intrinsic("abs", fraction, constant(I1, 0))
    zeros = writer.intrinsic("ctlz", size, constant(I1, 0))
    size = writer.binary("shl", size, writer.binary("and", zeros, constant(_I128, 127)))
    high, low = _times_half_pi(writer, size, zeros)
    high, low = (part.where(~(below ^ negative), -part) for part in (high, low))
    count = Term(writer, writer.convert("trunc", n, "i64"))
    count = (0 - count).where(negative, count)
    _return(writer, _SCALAR, high.value, low.value, count.value)
    body = "\n".join(writer.lines)
    words = [f"i64 {constant(I64, word).text}" for word in table("TWO_OVER_PI")]
    data = f"@{_TABLE} = internal unnamed_addr constant [{len(words)} x i64] [{', '.join(words)}]\n"
    define = f"define internal {_SCALAR} @{_NAME}(double %x) noinline cold nounwind {{\n{body}\n}}\n"
    return data + define, writer.declared


def _window(writer: Writer, bits: Term) -> Value:
    """Return x times 2/pi modulo 4 in units of 2^-126.

    With x = m 2^e, the bits of 2/pi before the bit of weight 2^(1 - e) give multiples of 4.
    """
    e = ((bits >> 52) & 0x7FF) - (1023 + 52)
    m = (bits & ((1 << 52) - 1)) | (1 << 52)
    start = e + (64 - 2)  # the table begins with a word of zeros; bit 1 of 2/pi has the weight 1 / 2
    index, shift = start >> 6, start & 63
    table_words: list[Value] = []
    for i in range(4):
        place = writer.element(Value(f"@{_TABLE}", POINTER), "i64", (index + i).value)
        table_words.append(writer.load(place, I64, 8))
    high, middle, low = (writer.intrinsic("fshl", *table_words[i : i + 2], shift.value) for i in range(3))
    wide = writer.convert("zext", m.value, "i128")
    product = writer.binary("mul", wide, writer.convert("zext", low, "i128"))
    carry = writer.binary("lshr", product, constant(_I128, 64))
    product = writer.binary("mul", wide, writer.convert("zext", middle, "i128"))
    total = writer.binary("add", product, carry)
    product = writer.binary("mul", wide, writer.convert("zext", high, "i128"))
    return writer.binary("add", total, writer.binary("shl", product, constant(_I128, 64)))


def _times_half_pi(writer: Writer, size: Value, zeros: Value) -> tuple[Term, Term]:
    """Return size 2^(-126 - zeros) pi / 2 in two parts, for a 128-bit integer whose first bit is set."""

    def part(shift: int, exponent: int) -> Term:
        piece = writer.convert("trunc", writer.binary("lshr", size, constant(_I128, shift)), "i64")
        digits = Term(writer, piece) & ((1 << 53) - 1)
        return digits.convert("uitofp", "double") * 2.0**exponent

    first, second = part(75, 75 - 126), part(22, 22 - 126)
    half_pi, half_pi_low = (part / 2 for part in table("PI", 53))
    high = first * half_pi
    low = first.fma(half_pi, -high) + first.muladd(half_pi_low, second * half_pi)
    exponent = Term(writer, writer.convert("trunc", zeros, "i64"))
    scale = ((1023 - exponent) << 52).as_float()
    high, low = quick_two_sum(high * scale, low * scale)
    return high, low
