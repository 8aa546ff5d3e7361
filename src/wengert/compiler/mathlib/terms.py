"""What the elementary functions share: terms that write instructions, exponents, polynomials, exact sums."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.compiler.llvm.ir_builder import Builder, Kind, Value, constant

Number = int | float


def symbol(name: str, kind: Kind) -> str:
    """Return the name of a function in the module.

    Example:
        >>> symbol("exp", Kind("float", 16))
        'wengert.exp.v16f32'
    """
    return f"wengert.{name}.{kind.suffix}"


class Writer(Builder):
    """Writes one elementary function.

    No operation carries a fast-math flag, not even ``contract``: the rounding errors that are computed below are
    those of the operations as they stand. Where a fused operation is merely welcome, ``muladd`` asks for one.

    Args:
        kind: the type that the function works in.
        digits: the precision, in bits, that float64 arithmetic is for: 53, or 36 where the result is a float32.
        has_fma: whether the processor multiplies and adds in one instruction.
        has_avx512: whether it has what `registers` writes.
    """

    def __init__(self, kind: Kind, digits: int, *, has_fma: bool = False, has_avx512: bool = False) -> None:
        super().__init__(fast="")
        self.has_fma = has_fma
        self.has_avx512 = has_avx512
        self.kind = kind
        self.wide_digits = digits
        self.helpers: set[tuple[str, Kind]] = set()
        """The functions of this package that the body calls."""

    def term(self, text: str) -> Term:
        """Return an operand by its name."""
        return Term(self, Value(text, self.kind))


class Term:
    """A value of the function that is being written: arithmetic on terms writes instructions.

    Example:
        >>> writer = Writer(Kind("double"), 53)
        >>> print((2 * writer.term("%x") + 1).value)
        double %v2
        >>> print(writer.lines[-1])
          %v2 = fadd double %v1, 0x3FF0000000000000
    """

    def __init__(self, writer: Writer, value: Value) -> None:
        self.writer = writer
        self.value = value

    @property
    def kind(self) -> Kind:
        """The type."""
        return self.value.kind

    @property
    def digits(self) -> int:
        """The precision of the polynomials to use, in bits: 24 for float32 arithmetic, else 36 or 53."""
        return 24 if self.kind.bits == 32 else self.writer.wide_digits

    def number(self, number: Number) -> Term:
        """Return a constant of the same type."""
        return Term(self.writer, constant(self.kind, number))

    def _operand(self, other: Term | Number) -> Value:
        return other.value if isinstance(other, Term) else constant(self.kind, other)

    def _write(self, operation: str, other: Term | Number, swapped: bool = False) -> Term:
        name = "f" + operation if self.kind.is_float else operation
        x, y = self.value, self._operand(other)
        return Term(self.writer, self.writer.binary(name, *((y, x) if swapped else (x, y))))

    def __add__(self, other: Term | Number) -> Term:
        return self._write("add", other)

    def __radd__(self, other: Number) -> Term:
        return self._write("add", other, swapped=True)

    def __sub__(self, other: Term | Number) -> Term:
        return self._write("sub", other)

    def __rsub__(self, other: Number) -> Term:
        return self._write("sub", other, swapped=True)

    def __mul__(self, other: Term | Number) -> Term:
        return self._write("mul", other)

    def __rmul__(self, other: Number) -> Term:
        return self._write("mul", other, swapped=True)

    def __truediv__(self, other: Term | Number) -> Term:
        return self._write("div", other)

    def __rtruediv__(self, other: Number) -> Term:
        return self._write("div", other, swapped=True)

    def __neg__(self) -> Term:
        return Term(self.writer, self.writer.fneg(self.value))

    def _bitwise(self, operation: str, other: Term | Number) -> Term:
        return Term(self.writer, self.writer.binary(operation, self.value, self._operand(other)))

    def __and__(self, other: Term | Number) -> Term:
        return self._bitwise("and", other)

    def __or__(self, other: Term | Number) -> Term:
        return self._bitwise("or", other)

    def __xor__(self, other: Term | Number) -> Term:
        return self._bitwise("xor", other)

    def __lshift__(self, other: Term | Number) -> Term:
        return self._bitwise("shl", other)

    def __rshift__(self, other: Term | Number) -> Term:
        """Shift to the right and keep the sign."""
        return self._bitwise("ashr", other)

    def logical_shift(self, other: int) -> Term:
        """Shift to the right and fill with zeros."""
        return self._bitwise("lshr", other)

    def __invert__(self) -> Term:
        return self._bitwise("xor", -1 if self.kind.scalar != "i1" else 1)

    def _compare(self, condition: str, other: Term | Number) -> Term:
        ordered = ("o" if self.kind.is_float else "s") + condition
        return Term(self.writer, self.writer.compare(ordered, self.value, self._operand(other)))

    def __lt__(self, other: Term | Number) -> Term:
        return self._compare("lt", other)

    def __gt__(self, other: Term | Number) -> Term:
        return self._compare("gt", other)

    def __le__(self, other: Term | Number) -> Term:
        return self._compare("le", other)

    def __ge__(self, other: Term | Number) -> Term:
        return self._compare("ge", other)

    def equals(self, other: Term | Number) -> Term:
        """Return where the values are equal: nowhere that one is NaN."""
        condition = "oeq" if self.kind.is_float else "eq"
        return Term(self.writer, self.writer.compare(condition, self.value, self._operand(other)))

    def below(self, other: Term | Number) -> Term:
        """Return where an integer is less than another, both without sign."""
        return Term(self.writer, self.writer.compare("ult", self.value, self._operand(other)))

    def is_nan(self) -> Term:
        """Return where the value is NaN."""
        return Term(self.writer, self.writer.compare("uno", self.value, self.value))

    def where(self, condition: Term, otherwise: Term | Number) -> Term:
        """Return this value where a condition holds, another elsewhere."""
        return Term(self.writer, self.writer.select(condition.value, self.value, self._operand(otherwise)))

    def bits(self) -> Term:
        """Return the bits of a floating-point number as an integer."""
        return self.convert("bitcast", self.kind.integer.scalar)

    def as_float(self) -> Term:
        """Return the floating-point number that has these bits."""
        return self.convert("bitcast", "float" if self.kind.bits == 32 else "double")

    def convert(self, operation: str, scalar: str) -> Term:
        """Return the value in another type."""
        return Term(self.writer, self.writer.convert(operation, self.value, scalar))

    def call(self, intrinsic: str, *others: Term | Number) -> Term:
        """Call an intrinsic of LLVM that is overloaded on this type."""
        operands = [self.value, *map(self._operand, others)]
        return Term(self.writer, self.writer.intrinsic(intrinsic, *operands))

    def helper(self, name: str) -> Term:
        """Call another function of this package."""
        self.writer.helpers.add((name, self.kind))
        text = f"call {self.kind} @{symbol(name, self.kind)}({self.value}) cold"
        return Term(self.writer, self.writer.emit(text, self.kind))

    def __abs__(self) -> Term:
        return self.call("fabs")

    def sign_of(self, other: Term | Number) -> Term:
        """Return the size of this value with the sign of another."""
        return self.call("copysign", other)

    def sqrt(self) -> Term:
        """Return the square root, correctly rounded."""
        return self.call("sqrt")

    def muladd(self, factor: Term | Number, addend: Term | Number) -> Term:
        """Return self * factor + addend, in one rounding or two."""
        return self.call("fmuladd", factor, addend)

    def fma(self, factor: Term | Number, addend: Term | Number) -> Term:
        """Return self * factor + addend in one rounding."""
        return self.call("fma", factor, addend)

    def at_least(self, bound: Term | Number) -> Term:
        """Return the larger of two numbers; NaN stays."""
        lower = self.number(bound) if not isinstance(bound, Term) else bound
        return lower.where(self < lower, self)

    def at_most(self, bound: Term | Number) -> Term:
        """Return the smaller of two numbers; NaN stays."""
        upper = self.number(bound) if not isinstance(bound, Term) else bound
        return upper.where(self > upper, self)


# -- the format ---------------------------------------------------------------------------------------------------


class Format:
    """The parameters of an IEEE 754 binary format."""

    def __init__(self, kind: Kind) -> None:
        self.fraction = 52 if kind.bits == 64 else 23
        """The bits of the significand after its first."""
        self.bias = 1023 if kind.bits == 64 else 127
        self.least = 2.0 ** (1 - self.bias)
        """The least normal number."""
        self.magic = 1.5 * 2.0**self.fraction
        """A number whose unit in the last place is 1: adding it rounds to an integer."""
        self.sign = 1 << (kind.bits - 1)


def format_of(x: Term) -> Format:
    """Return the format of a floating-point term."""
    return Format(x.kind)


def polynomial(t: Term, powers: Sequence[float]) -> Term:
    """Evaluate a polynomial, lowest power first.

    Even and odd powers apart from degree 6 on (the second-order Horner rule): half of the latency.
    """
    if len(powers) < 7:
        return horner(t, powers)
    square = t * t
    return horner(square, powers[1::2]).muladd(t, horner(square, powers[0::2]))


def horner(t: Term, powers: Sequence[float]) -> Term:
    """Evaluate a polynomial, lowest power first, with as few operations as can be, one after another."""
    total = t.number(powers[-1])
    for power in reversed(powers[:-1]):
        total = total.muladd(t, power)
    return total


def power_of_two(k: Term, like: Term) -> Term:
    """Return 2^k as a float for an integer k; only the low bits of k count."""
    form = format_of(like)
    return ((k + form.bias) << form.fraction).as_float()


def nearest(x: Term, factor: Term | Number, parts: int = 1) -> tuple[Term, Term]:
    """Return the multiple n / parts of an integer n that is nearest to x * factor, and n, right in its low bits."""
    magic = format_of(x).magic / parts
    shifted = x.muladd(factor, magic)
    return shifted - magic, shifted.bits()


# -- double-double arithmetic -------------------------------------------------------------------------------------


def quick_two_sum(x: Term, y: Term) -> tuple[Term, Term]:
    """Return x + y and its rounding error, for |x| >= |y| (Dekker 1971)."""
    total = x + y
    return total, y - (total - x)


def two_sum(x: Term, y: Term) -> tuple[Term, Term]:
    """Return x + y and its rounding error (Knuth 1969)."""
    total = x + y
    shadow = total - x
    return total, (x - (total - shadow)) + (y - shadow)


def two_product(x: Term, y: Term) -> tuple[Term, Term]:
    """Return x y and its rounding error."""
    product = x * y
    return product, x.fma(y, -product)
