"""The tools of the elementary functions: their registry, terms that write instructions, polynomials, exact sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from wengert.compiler.llvm.ir_builder import Builder, Kind, Value, constant
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine.costs import DIVISION, FUNCTION, OPERATION_COSTS

Number = int | float


class Function(NamedTuple):
    """An elementary function, as `elementary` registers it."""

    write: Callable[..., Term]
    operands: int
    wide: bool
    inline: bool
    rare: bool


#: The elementary functions by name.
FUNCTIONS: dict[str, Function] = {}
_Write = TypeVar("_Write", bound=Callable[..., "Term"])


def elementary(
    *, cost: int = FUNCTION, wide: bool = False, inline: bool = True, rare: bool = False
) -> Callable[[_Write], _Write]:
    """Register a function of terms as the code of the scalar operation of the same name.

    Its cost is in additions. A ``wide`` one computes float32 in float64; an ``inline`` one's body replaces each call.
    Calls of a ``rare`` one, of one operand, must cost nothing where they are not made.
    """

    def register(write: _Write) -> _Write:
        name = write.__name__
        FUNCTIONS[name] = Function(write, write.__code__.co_argcount, wide, inline, rare)
        OPERATION_COSTS[name] = cost
        return write

    return register


def symbol(name: str, kind: Kind) -> str:
    """Return the name of a function in the module.

    Example:
        >>> symbol("exp", Kind("float", 16))
        'wengert.exp.v16f32'
    """
    return f"wengert.{name}.{kind.suffix}"


class Writer(Builder):
    """Writes one elementary function.

    No operation carries a fast-math flag, not even ``contract``: the rounding errors computed below are those of the
    operations as written. ``muladd`` allows a fused operation but does not require one.

    Args:
        kind: the type that the function works in.
        digits: the precision, in bits, of float64 arithmetic: 53, or 36 where the result is a float32.
        has_fma: whether the processor multiplies and adds in one instruction.
        has_avx512: whether the processor has the instructions of `registers`.
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


def _arithmetic(operation: str):
    """Return an operator on terms, and the operator with its operands in the other order."""

    def forward(self: Term, other: Term | Number) -> Term:
        name = f"f{operation}" if self.kind.is_float else operation
        return Term(self.writer, self.writer.binary(name, self.value, self.operand(other)))

    def reflected(self: Term, other: Number) -> Term:
        return forward(self.number(other), self)

    return forward, reflected


def _bitwise(operation: str):
    def operator(self: Term, other: Term | Number) -> Term:
        return Term(self.writer, self.writer.binary(operation, self.value, self.operand(other)))

    return operator


def _comparison(condition: str):
    def operator(self: Term, other: Term | Number) -> Term:
        ordered = ("o" if self.kind.is_float else "s") + condition
        return Term(self.writer, self.writer.compare(ordered, self.value, self.operand(other)))

    return operator


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

    @property
    def precision(self) -> int:
        """The bits of the significand of the type: 24 or 53."""
        return 24 if self.kind.bits == 32 else 53

    def number(self, number: Number) -> Term:
        """Return a constant of the same type."""
        return Term(self.writer, constant(self.kind, number))

    def operand(self, term: Term | Number) -> Value:
        """Return the value of another term, or a number as one of the same type."""
        return term.value if isinstance(term, Term) else constant(self.kind, term)

    __add__, __radd__ = _arithmetic("add")
    __sub__, __rsub__ = _arithmetic("sub")
    __mul__, __rmul__ = _arithmetic("mul")
    __truediv__, __rtruediv__ = _arithmetic("div")
    __and__, __or__, __xor__ = _bitwise("and"), _bitwise("or"), _bitwise("xor")
    __lshift__, __rshift__ = _bitwise("shl"), _bitwise("ashr")
    __lt__, __gt__ = _comparison("lt"), _comparison("gt")
    __le__, __ge__ = _comparison("le"), _comparison("ge")

    def __neg__(self) -> Term:
        return Term(self.writer, self.writer.fneg(self.value))

    def logical_shift(self, count: int) -> Term:
        """Shift to the right and fill with zeros."""
        return Term(self.writer, self.writer.binary("lshr", self.value, self.operand(count)))

    def __invert__(self) -> Term:
        return self ^ (-1 if self.kind.scalar != "i1" else 1)

    def equals(self, value: Term | Number) -> Term:
        """Return where the values are equal; NaN equals nothing."""
        condition = "oeq" if self.kind.is_float else "eq"
        return Term(self.writer, self.writer.compare(condition, self.value, self.operand(value)))

    def below(self, bound: Term | Number) -> Term:
        """Return where an integer is less than another, both taken as unsigned."""
        return Term(self.writer, self.writer.compare("ult", self.value, self.operand(bound)))

    def is_nan(self) -> Term:
        """Return where the value is NaN."""
        return Term(self.writer, self.writer.compare("uno", self.value, self.value))

    def where(self, condition: Term, otherwise: Term | Number) -> Term:
        """Return this value where a condition holds, another elsewhere."""
        return Term(self.writer, self.writer.select(condition.value, self.value, self.operand(otherwise)))

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
        operands = [self.value, *map(self.operand, others)]
        return Term(self.writer, self.writer.intrinsic(intrinsic, *operands))

    def helper(self, name: str) -> Term:
        """Call another function of this package."""
        self.writer.helpers.add((name, self.kind))
        text = f"call {self.kind} @{symbol(name, self.kind)}({self.value}) cold"
        return Term(self.writer, self.writer.emit(text, self.kind))

    def __abs__(self) -> Term:
        return self.call("fabs")

    def sign_of(self, signed: Term | Number) -> Term:
        """Return the size of this value with the sign of another."""
        return self.call("copysign", signed)

    def sqrt(self) -> Term:
        """Return the square root, correctly rounded."""
        return self.call("sqrt")

    def muladd(self, factor: Term | Number, addend: Term | Number) -> Term:
        """Return self * factor + addend, in one rounding or two."""
        return self.call("fmuladd", factor, addend)

    def fma(self, factor: Term | Number, addend: Term | Number) -> Term:
        """Return self * factor + addend in one rounding, or without the instruction nearly so (Dekker 1971)."""
        if self.writer.has_fma:
            return self.call("fma", factor, addend)
        product, error = _split_product(self, Term(self.writer, self.operand(factor)))
        total, lost = two_sum(product, Term(self.writer, self.operand(addend)))
        return total + (lost + error)

    def at_least(self, bound: Term | Number) -> Term:
        """Return the larger of two numbers; NaN stays."""
        lower = self.number(bound) if not isinstance(bound, Term) else bound
        return lower.where(self < lower, self)

    def at_most(self, bound: Term | Number) -> Term:
        """Return the smaller of two numbers; NaN stays."""
        upper = self.number(bound) if not isinstance(bound, Term) else bound
        return upper.where(self > upper, self)


elementary(cost=DIVISION)(Term.sqrt)

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
    """Evaluate a polynomial, lowest power first, by Horner's rule: the fewest operations, each waiting for the last."""
    total = t.number(powers[-1])
    for power in reversed(powers[:-1]):
        total = total.muladd(t, power)
    return total


def power_of_two(k: Term, like: Term) -> Term:
    """Return 2^k as a float for an integer k; only the low bits of k count."""
    form = format_of(like)
    return ((k + form.bias) << form.fraction).as_float()


def nearest(x: Term, factor: Term | Number, parts: int = 1) -> tuple[Term, Term]:
    """Return n / parts for the integer n that brings it nearest to x * factor, and n, correct in its low bits."""
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


def _split_product(x: Term, y: Term) -> tuple[Term, Term]:
    """Return x y and its rounding error by products of halves (Dekker 1971)."""
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    error = (x_high * y_high - product) + x_high * y_low + x_low * y_high
    return product, error + x_low * y_low


def _halves(x: Term) -> tuple[Term, Term]:
    """Return x as the sum of two numbers with half of its digits."""
    low_digits = format_of(x).fraction // 2 + 1
    high = (x.bits() & -(1 << low_digits)).as_float()
    return high, x - high


def two_product(x: Term, y: Term) -> tuple[Term, Term]:
    """Return x y and its rounding error."""
    product = x * y
    return product, x.fma(y, -product)
