"""Functions of C's library that LLVM calls where a processor lacks an instruction, as LLVM IR.

They have the names that LLVM calls, and are internal to the object file: a program that links the file keeps its own.
Each returns what its instruction returns, to the last bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from wengert.engine.core.named_tuples import NamedTuple


class _Format(NamedTuple):
    """The parameters of an IEEE 754 binary format in LLVM IR."""

    suffix: str
    kind: str
    integer: str
    bits: int
    fraction: int
    letter: str

    def fill(self, text: str) -> str:
        """Return a text with the parameters of the format in it."""
        width = self.bits - 1 - self.fraction
        values = {
            "L": self.letter,
            "S": self.suffix,
            "T": self.kind,
            "I": self.integer,
            "FRACTION": self.fraction,
            "BITS": self.bits,
            "EXPONENTS": (1 << width) - 1,
            "HALF": (1 << (width - 1)) - 1,
            "ONE": 1 << self.fraction,
            "BELOW": (1 << self.fraction) - 1,
            "ABOVE": self.bits - 1 - self.fraction,
            "MAGIC": f"{float(1 << self.fraction):e}",
        }
        return _filled(text, values)


_FORMATS = (_Format("f32", "float", "i32", 32, 23, "f"), _Format("f64", "double", "i64", 64, 52, ""))

_ROUNDING = """
declare <T> @llvm.fabs.<S>(<T>)
declare <T> @llvm.copysign.<S>(<T>, <T>)

define internal <T> @rint<L>(<T> %x) nobuiltin nounwind {
  %size = call <T> @llvm.fabs.<S>(<T> %x)
  %small = fcmp olt <T> %size, <MAGIC>
  %raised = fadd <T> %size, <MAGIC>
  %rounded = fsub <T> %raised, <MAGIC>
  %signed = call <T> @llvm.copysign.<S>(<T> %rounded, <T> %x)
  %result = select i1 %small, <T> %signed, <T> %x
  ret <T> %result
}

define internal <T> @floor<L>(<T> %x) nobuiltin nounwind {
  %near = call <T> @rint<L>(<T> %x)
  %above = fcmp ogt <T> %near, %x
  %less = fsub <T> %near, 1.0
  %result = select i1 %above, <T> %less, <T> %near
  ret <T> %result
}

define internal <T> @ceil<L>(<T> %x) nobuiltin nounwind {
  %minus = fneg <T> %x
  %below = call <T> @floor<L>(<T> %minus)
  %result = fneg <T> %below
  ret <T> %result
}

define internal <T> @trunc<L>(<T> %x) nobuiltin nounwind {
  %size = call <T> @llvm.fabs.<S>(<T> %x)
  %below = call <T> @floor<L>(<T> %size)
  %result = call <T> @llvm.copysign.<S>(<T> %below, <T> %x)
  ret <T> %result
}
"""

# Long division of the significands, bit by bit: exact, as the remainder is.
_REMAINDER = """
declare <I> @llvm.ctlz.<I>(<I>, i1)
declare <T> @llvm.fabs.<S>(<T>)
declare <T> @llvm.copysign.<S>(<T>, <T>)

define internal { <I>, <I> } @wengert.parts.<S>(<T> %x) nounwind {
  %bits = bitcast <T> %x to <I>
  %biased = lshr <I> %bits, <FRACTION>
  %rest = and <I> %bits, <BELOW>
  %subnormal = icmp eq <I> %biased, 0
  %with.one = or <I> %rest, <ONE>
  %zeros = call <I> @llvm.ctlz.<I>(<I> %rest, i1 false)
  %shift = sub <I> %zeros, <ABOVE>
  %moved = shl <I> %rest, %shift
  %low = sub <I> 1, %shift
  %significand = select i1 %subnormal, <I> %moved, <I> %with.one
  %exponent = select i1 %subnormal, <I> %low, <I> %biased
  %first = insertvalue { <I>, <I> } poison, <I> %significand, 0
  %both = insertvalue { <I>, <I> } %first, <I> %exponent, 1
  ret { <I>, <I> } %both
}

define internal <T> @fmod<L>(<T> %x, <T> %y) nobuiltin nounwind {
entry:
  %size = call <T> @llvm.fabs.<S>(<T> %x)
  %bound = call <T> @llvm.fabs.<S>(<T> %y)
  %nan = fdiv <T> 0.0, 0.0
  %top = fcmp oeq <T> %size, 0x7FF0000000000000
  %zero = fcmp oeq <T> %bound, 0.0
  %unordered = fcmp uno <T> %x, %y
  %either = or i1 %top, %zero
  %undefined = or i1 %either, %unordered
  br i1 %undefined, label %none, label %defined
none:
  %sum = fadd <T> %x, %y
  %mixed = select i1 %unordered, <T> %sum, <T> 0x7FF8000000000000
  ret <T> %mixed
defined:
  %less = fcmp olt <T> %size, %bound
  br i1 %less, label %same, label %divide
same:
  ret <T> %x
divide:
  %x.parts = call { <I>, <I> } @wengert.parts.<S>(<T> %size)
  %y.parts = call { <I>, <I> } @wengert.parts.<S>(<T> %bound)
  %x.first = extractvalue { <I>, <I> } %x.parts, 0
  %x.exponent = extractvalue { <I>, <I> } %x.parts, 1
  %divisor = extractvalue { <I>, <I> } %y.parts, 0
  %y.exponent = extractvalue { <I>, <I> } %y.parts, 1
  br label %digit
digit:
  %rest = phi <I> [ %x.first, %divide ], [ %next, %more ]
  %exponent = phi <I> [ %x.exponent, %divide ], [ %lower, %more ]
  %fits = icmp uge <I> %rest, %divisor
  %difference = sub <I> %rest, %divisor
  %left = select i1 %fits, <I> %difference, <I> %rest
  %last = icmp sle <I> %exponent, %y.exponent
  br i1 %last, label %done, label %more
more:
  %next = shl <I> %left, 1
  %lower = sub <I> %exponent, 1
  br label %digit
done:
  %is.zero = icmp eq <I> %left, 0
  br i1 %is.zero, label %exact, label %pack
exact:
  %signed.zero = call <T> @llvm.copysign.<S>(<T> 0.0, <T> %x)
  ret <T> %signed.zero
pack:
  %zeros = call <I> @llvm.ctlz.<I>(<I> %left, i1 true)
  %shift = sub <I> %zeros, <ABOVE>
  %significand = shl <I> %left, %shift
  %power = sub <I> %y.exponent, %shift
  %normal = icmp sgt <I> %power, 0
  %fraction = and <I> %significand, <BELOW>
  %high = shl <I> %power, <FRACTION>
  %joined = or <I> %fraction, %high
  %down = sub <I> 1, %power
  %distance = select i1 %normal, <I> 0, <I> %down
  %small = lshr <I> %significand, %distance
  %packed = select i1 %normal, <I> %joined, <I> %small
  %value = bitcast <I> %packed to <T>
  %result = call <T> @llvm.copysign.<S>(<T> %value, <T> %x)
  ret <T> %result
}
"""

# One bit of the root after another; the last one decides how it is rounded, and no root lies half-way.
_ROOT = """
declare i64 @llvm.ctlz.i64(i64, i1)

define internal double @sqrt(double %x) nobuiltin nounwind {
entry:
  %positive = fcmp ogt double %x, 0.0
  %finite = fcmp olt double %x, 0x7FF0000000000000
  %regular = and i1 %positive, %finite
  br i1 %regular, label %begin, label %special
special:
  %negative = fcmp olt double %x, 0.0
  %sum = fadd double %x, %x
  %zero = fcmp oeq double %x, 0.0
  %kept = select i1 %zero, double %x, double %sum
  %other = select i1 %negative, double 0x7FF8000000000000, double %kept
  ret double %other
begin:
  %bits = bitcast double %x to i64
  %biased = lshr i64 %bits, 52
  %rest = and i64 %bits, 4503599627370495
  %subnormal = icmp eq i64 %biased, 0
  %with.one = or i64 %rest, 4503599627370496
  %zeros = call i64 @llvm.ctlz.i64(i64 %rest, i1 false)
  %shift = sub i64 %zeros, 11
  %moved = shl i64 %rest, %shift
  %low = sub i64 1, %shift
  %significand = select i1 %subnormal, i64 %moved, i64 %with.one
  %lifted = select i1 %subnormal, i64 %low, i64 %biased
  %exponent = sub i64 %lifted, 1023
  %odd = and i64 %exponent, 1
  %power = ashr i64 %exponent, 1
  %more = add i64 %odd, 1
  %radicand = shl i64 %significand, %more
  br label %digit
digit:
  %left = phi i64 [ %radicand, %begin ], [ %doubled, %digit ]
  %twice = phi i64 [ 0, %begin ], [ %next.twice, %digit ]
  %root = phi i64 [ 0, %begin ], [ %next.root, %digit ]
  %unit = phi i64 [ 9007199254740992, %begin ], [ %next.unit, %digit ]
  %trial = add i64 %twice, %unit
  %fits = icmp uge i64 %left, %trial
  %difference = sub i64 %left, %trial
  %remainder = select i1 %fits, i64 %difference, i64 %left
  %larger = add i64 %trial, %unit
  %next.twice = select i1 %fits, i64 %larger, i64 %twice
  %grown = add i64 %root, %unit
  %next.root = select i1 %fits, i64 %grown, i64 %root
  %doubled = shl i64 %remainder, 1
  %next.unit = lshr i64 %unit, 1
  %done = icmp eq i64 %next.unit, 0
  br i1 %done, label %round, label %digit
round:
  %last = and i64 %next.root, 1
  %half = lshr i64 %next.root, 1
  %rounded = add i64 %half, %last
  %biased.power = add i64 %power, 1022
  %high = shl i64 %biased.power, 52
  %packed = add i64 %high, %rounded
  %result = bitcast i64 %packed to double
  ret double %result
}
"""

# The product of 128 bits from products of 32 bits. LLVM for WebAssembly returns it through the first address.
_WIDE_PRODUCT = """
define internal void @__multi3(ptr %out, i64 %x, i64 %x.high, i64 %y, i64 %y.high) nounwind {
  %x0 = and i64 %x, 4294967295
  %x1 = lshr i64 %x, 32
  %y0 = and i64 %y, 4294967295
  %y1 = lshr i64 %y, 32
  %p00 = mul i64 %x0, %y0
  %p01 = mul i64 %x0, %y1
  %p10 = mul i64 %x1, %y0
  %p11 = mul i64 %x1, %y1
  %carried = lshr i64 %p00, 32
  %middle = add i64 %p10, %carried
  %middle.low = and i64 %middle, 4294967295
  %middle.high = lshr i64 %middle, 32
  %second = add i64 %p01, %middle.low
  %second.high = lshr i64 %second, 32
  %top = add i64 %p11, %middle.high
  %sum = add i64 %top, %second.high
  %cross1 = mul i64 %x, %y.high
  %cross2 = mul i64 %x.high, %y
  %crossed = add i64 %cross1, %cross2
  %high = add i64 %sum, %crossed
  %low = mul i64 %x, %y
  store i64 %low, ptr %out, align 8
  %place = getelementptr inbounds i64, ptr %out, i32 1
  store i64 %high, ptr %place, align 8
  ret void
}
"""

# A shift of 128 bits towards the half ``to``: what leaves the half ``from`` enters it.
_WIDE_SHIFT = """
define internal void @<NAME>(ptr %out, i64 %low, i64 %high, i32 %distance) nounwind {
  %n = zext i32 %distance to i64
  %within = and i64 %n, 63
  %moved.from = <SHIFT> i64 %<FROM>, %within
  %moved.to = <SHIFT> i64 %<TO>, %within
  %rest = sub i64 63, %within
  %by.one = <BACK> i64 %<FROM>, 1
  %entering = <BACK> i64 %by.one, %rest
  %joined = or i64 %moved.to, %entering
  %far = icmp uge i64 %n, 64
  %result.<FROM> = select i1 %far, i64 0, i64 %moved.from
  %result.<TO> = select i1 %far, i64 %moved.from, i64 %joined
  store i64 %result.low, ptr %out, align 8
  %place = getelementptr inbounds i64, ptr %out, i32 1
  store i64 %result.high, ptr %place, align 8
  ret void
}
"""
_SHIFTS = (
    {"NAME": "__ashlti3", "SHIFT": "shl", "BACK": "lshr", "FROM": "low", "TO": "high"},
    {"NAME": "__lshrti3", "SHIFT": "lshr", "BACK": "shl", "FROM": "high", "TO": "low"},
)


def _filled(text: str, values: Mapping[str, object]) -> str:
    """Return a text with values in the places of ``<NAME>``."""
    return re.sub(r"<(\w+)>", lambda place: str(values[place[1]]), text)


def support_functions(program: str, triple: str) -> str:
    """Return the functions that a program may need on a processor, as LLVM IR that keeps them."""
    texts, retained = list[str](), list[str]()
    for text, names in _needed(program, triple):
        texts.append(text)
        retained += names
    if not retained:
        return ""
    names = ", ".join(f"ptr @{name}" for name in retained)
    attribute = (
        f'@llvm.compiler.used = appending global [{len(retained)} x ptr] [{names}], section "llvm.metadata"'
    )
    return "\n".join(["\n".join(_once(texts, program)), attribute])


def _needed(program: str, triple: str) -> Iterator[tuple[str, list[str]]]:
    is_arm = triple.startswith(("thumb", "arm")) and not triple.startswith("arm64")
    for form in _FORMATS:
        letter = form.letter
        if is_arm and re.search(rf"@llvm\.(floor|ceil|trunc|rint)\.(v\d+)?{form.suffix}\(", program):
            yield form.fill(_ROUNDING), [f"{name}{letter}" for name in ("rint", "floor", "ceil", "trunc")]
        if re.search(rf"frem (<\d+ x )?{form.kind}\b", program):
            yield form.fill(_REMAINDER), [f"fmod{letter}"]
    if is_arm and re.search(r"@llvm\.sqrt\.(v\d+)?f64\(", program):
        yield _ROOT, ["sqrt"]
    if triple.startswith("wasm") and " i128 " in program:
        shifts = "".join(_filled(_WIDE_SHIFT, values) for values in _SHIFTS)
        yield _WIDE_PRODUCT + shifts, ["__multi3", *(values["NAME"] for values in _SHIFTS)]


def _once(texts: list[str], program: str) -> Iterator[str]:
    """Yield the lines of texts, without declarations that an earlier one or the program has."""
    declared = {line for line in program.splitlines() if line.startswith("declare")}
    for line in "\n".join(texts).splitlines():
        if line.startswith("declare"):
            if line in declared:
                continue
            declared.add(line)
        yield line
