"""LLVM IR as text: typed values, a method for each instruction, and loops."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager

import numpy as np

from wengert.engine.core.dtypes import Dtype
from wengert.engine.core.named_tuples import NamedTuple

#: LLVM's names of the element types.
SCALARS: dict[Dtype, str] = {
    np.dtype("float16"): "half",  # moved, never computed with
    np.dtype("float32"): "float",
    np.dtype("float64"): "double",
    np.dtype("bool"): "i1",
    **{np.dtype(f"{sign}int{bits}"): f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
#: The attribute of a function with loops and branches around single elements, which takes more passes.
CONTROL_FLOW = '"control-flow"'
#: The metadata of a branch whose condition hardly ever holds: registers are for the other way.
_RARELY = ', !prof !{!"branch_weights", i32 1, i32 4000}'
_FLOATS = ("half", "float", "double")
_BITS = {"half": 16, "float": 32, "double": 64, "ptr": 64}


class Kind(NamedTuple):
    """An LLVM type: a scalar, or a vector of scalars.

    Example:
        >>> print(Kind("float", 16))
        <16 x float>
    """

    scalar: str
    lanes: int = 1

    def __str__(self) -> str:
        return self.scalar if self.lanes == 1 else f"<{self.lanes} x {self.scalar}>"

    @property
    def is_float(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return self.scalar in _FLOATS

    @property
    def bits(self) -> int:
        """The width of an element."""
        return _BITS.get(self.scalar) or int(self.scalar[1:])

    @property
    def bytes(self) -> int:
        """The size of a value."""
        return self.lanes * self.bits // 8

    @property
    def suffix(self) -> str:
        """The type in the names of intrinsics, such as ``v16f32``."""
        element = f"f{self.bits}" if self.is_float else self.scalar
        return element if self.lanes == 1 else f"v{self.lanes}{element}"

    def of(self, scalar: str) -> Kind:
        """Return the type with other elements and the same lanes."""
        return Kind(scalar, self.lanes)

    @property
    def integer(self) -> Kind:
        """The integer type of the same width."""
        return self.of(f"i{self.bits}")


class Value(NamedTuple):
    """A value: its name, or the text of a constant, and its type."""

    text: str
    kind: Kind

    def __str__(self) -> str:
        return f"{self.kind} {self.text}"


I1, I64, POINTER = Kind("i1"), Kind("i64"), Kind("ptr")


def number_text(kind: Kind, number: float) -> str:
    """Return a number as LLVM writes it: a float by its bits, so that it is not rounded."""
    if kind.scalar == "double":
        return "0x" + struct.pack(">d", number).hex().upper()
    if kind.scalar == "half":
        return "0xH" + np.float16(number).tobytes()[::-1].hex().upper()
    if kind.scalar == "float":
        # LLVM writes a float by the bits of the double of the same value.
        with np.errstate(over="ignore"):
            single = float(np.float32(number))
        return "0x7FF8000000000000" if math.isnan(single) else "0x" + struct.pack(">d", single).hex().upper()
    if kind.scalar == "i1":
        return "true" if number else "false"
    bits = kind.bits
    wrapped = int(number) & ((1 << bits) - 1)
    return str(wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped)


def constant(kind: Kind, number: float) -> Value:
    """Return a number as a constant, the same in every lane.

    Example:
        >>> print(constant(Kind("float", 4), 1.0))
        <4 x float> splat (float 0x3FF0000000000000)
    """
    text = number_text(kind, number)
    return Value(text if kind.lanes == 1 else f"splat ({kind.scalar} {text})", kind)


def constants(kind: Kind, numbers: Sequence[float]) -> Value:
    """Return a vector constant with a number for each lane."""
    elements = ", ".join(f"{kind.scalar} {number_text(kind, number)}" for number in numbers)
    return Value(f"<{elements}>", kind)


class Builder:
    """Writes the body of one LLVM function, instruction by instruction, with flags on floating-point arithmetic."""

    def __init__(self, fast: str = "") -> None:
        self.lines: list[str] = ["entry:"]
        self.block = "entry"
        self.fast = fast
        self.declared: set[str] = set()
        """Declarations of the functions that the body calls."""
        self._count = 0

    # -- plumbing ----------------------------------------------------------------------------------------

    def fresh(self) -> str:
        """Return a new name."""
        self._count += 1
        return f"%v{self._count}"

    def emit(self, text: str, kind: Kind) -> Value:
        """Write an instruction with a result."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return Value(name, kind)

    def do(self, text: str) -> None:
        """Write an instruction without a result."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self.block = name

    def new_label(self, hint: str) -> str:
        """Return a new name for a block."""
        self._count += 1
        return f"{hint}{self._count}"

    def branch(self, target: str) -> None:
        """Go on in another block."""
        self.do(f"br label %{target}")

    def branch_if(self, condition: Value, yes: str, no: str, *, rarely: bool = False) -> None:
        """Go on in one of two blocks; ``rarely`` if the condition hardly ever holds."""
        self.do(f"br {condition}, label %{yes}, label %{no}{_RARELY if rarely else ''}")

    def enter(self, name: str) -> None:
        """Begin a block that follows the current one, unless that ends in a branch or a return."""
        if not self.lines[-1].startswith(("  br ", "  ret ")):
            self.branch(name)
        self.label(name)

    def new_labels(self, *hints: str) -> list[str]:
        """Return new names for blocks."""
        return [self.new_label(hint) for hint in hints]

    def phi(self, *ways: tuple[Value, str]) -> Value:
        """Return the value for the block from which control came, of pairs of a value and a block."""
        kind = ways[0][0].kind
        pairs = ", ".join(f"[ {value.text}, %{block} ]" for value, block in ways)
        return self.emit(f"phi {kind} {pairs}", kind)

    def function(self, header: str) -> str:
        """Return the text of the function: its header, and the instructions so far."""
        return "\n".join([f"{header} {{", *self.lines, "}\n"])

    # -- arithmetic --------------------------------------------------------------------------------------

    def binary(self, operation: str, x: Value, y: Value, flags: str = "") -> Value:
        """Write ``operation x, y``; floating-point operations have the flags of the function."""
        if operation in ("fadd", "fsub", "fmul", "fdiv", "frem", "fneg"):
            flags = flags or self.fast
        return self.emit(f"{operation} {flags + ' ' if flags else ''}{x}, {y.text}", x.kind)

    def fadd(self, x: Value, y: Value) -> Value:
        """Return x + y."""
        return self.binary("fadd", x, y)

    def fsub(self, x: Value, y: Value) -> Value:
        """Return x - y."""
        return self.binary("fsub", x, y)

    def fmul(self, x: Value, y: Value) -> Value:
        """Return x y."""
        return self.binary("fmul", x, y)

    def fdiv(self, x: Value, y: Value) -> Value:
        """Return x / y."""
        return self.binary("fdiv", x, y)

    def fneg(self, x: Value) -> Value:
        """Return -x."""
        return self.emit(f"fneg {x}", x.kind)

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        """Return x y + z, rounded once, for exact error terms."""
        return self.intrinsic("fma", x, y, z)

    def muladd(self, x: Value, y: Value, z: Value) -> Value:
        """Return x y + z, fused where the target does that quickly."""
        return self.intrinsic("fmuladd", x, y, z)

    def intrinsic(self, name: str, *operands: Value, result: Kind | None = None) -> Value:
        """Call ``llvm.name``, overloaded on the type of its first operand."""
        kind = result or operands[0].kind
        return self.call(f"llvm.{name}.{operands[0].kind.suffix}", *operands, result=kind)

    def call(self, name: str, *operands: Value, result: Kind | None, inline: bool = False) -> Value:
        """Call a function by name, declaring it; ``inline`` copies it to the call if it is in the same module."""
        types = ", ".join(str(operand.kind) for operand in operands)
        passed = ", ".join(map(str, operands))
        self.declared.add(f"declare {result or 'void'} @{name}({types})")
        attribute = " alwaysinline" if inline else ""
        if result is None:
            self.do(f"call void @{name}({passed}){attribute}")
            return Value("", Kind("void"))
        return self.emit(f"call {result} @{name}({passed}){attribute}", result)

    # -- comparison and choice ---------------------------------------------------------------------------

    def compare(self, condition: str, x: Value, y: Value) -> Value:
        """Write ``fcmp`` or ``icmp`` by the type: conditions such as ``olt``, ``une``, ``slt``, ``ult``."""
        operation = "fcmp" if x.kind.is_float else "icmp"
        return self.emit(f"{operation} {condition} {x}, {y.text}", x.kind.of("i1"))

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        """Return one of two values, lane by lane."""
        return self.emit(f"select {condition}, {yes}, {no}", yes.kind)

    def both(self, x: Value, y: Value) -> Value:
        """Return x and y."""
        return self.binary("and", x, y)

    def rarely(self, condition: Value, other: Callable[[], Value], usual: Value) -> Value:
        """Return a value; by a branch that is hardly ever taken, another one where a condition holds."""
        self.declared.add("declare i1 @llvm.expect.i1(i1, i1)")
        expected = self.emit(f"call i1 @llvm.expect.i1({condition}, i1 false)", condition.kind)
        rare, after = self.new_labels("rare", "usual")
        before = self.block
        self.branch_if(expected, rare, after)
        self.label(rare)
        value = other()
        self.enter(after)
        return self.phi((usual, before), (value, rare))

    def either(self, x: Value, y: Value) -> Value:
        """Return x or y."""
        return self.binary("or", x, y)

    def negate(self, condition: Value) -> Value:
        """Return the opposite of a truth value."""
        return self.binary("xor", condition, constant(condition.kind, 1))

    # -- conversion --------------------------------------------------------------------------------------

    def convert(self, operation: str, x: Value, scalar: str) -> Value:
        """Write a conversion such as ``sitofp``, ``fptosi``, ``zext``, ``trunc``, ``fpext`` or ``bitcast``."""
        kind = x.kind.of(scalar)
        return self.emit(f"{operation} {x} to {kind}", kind)

    def freeze(self, x: Value) -> Value:
        """Return the value, an arbitrary one where it is undefined."""
        return self.emit(f"freeze {x}", x.kind)

    def splat(self, x: Value, lanes: int) -> Value:
        """Return a vector with one value in every lane."""
        if lanes == 1:
            return x
        kind = Kind(x.kind.scalar, lanes)
        if not x.text.startswith("%"):
            return Value(f"splat ({x})", kind)
        first = self.emit(f"insertelement {kind} poison, {x}, i64 0", kind)
        return self.emit(f"shufflevector {first}, {kind} poison, <{lanes} x i32> zeroinitializer", kind)

    def widened(self, x: Value, lanes: int) -> Value:
        """Return a number as a vector, a vector as it is."""
        return self.splat(x, lanes) if x.kind.lanes < lanes else x

    def extract(self, x: Value, lane: int) -> Value:
        """Return one lane of a vector."""
        return self.emit(f"extractelement {x}, i64 {lane}", Kind(x.kind.scalar))

    def insert(self, x: Value, y: Value, lane: int) -> Value:
        """Return a vector with one lane replaced."""
        return self.emit(f"insertelement {x}, {y}, i64 {lane}", x.kind)

    def window(self, x: Value, start: int, count: int) -> Value:
        """Return adjacent lanes of a vector, a single one as a number; lanes that do not exist are poison."""
        if x.kind.lanes == count:
            return x
        if count == 1:
            return self.extract(x, start)
        if x.kind.lanes == 1:
            return self.insert(Value("poison", Kind(x.kind.scalar, count)), x, 0)
        return self.shuffle(x, range(start, start + count))

    def shuffle(self, x: Value, places: Iterable[int], y: Value | None = None) -> Value:
        """Return lanes of one or two vectors of the same kind, by number; a lane that does not exist is poison."""
        chosen = list(places)
        limit, kind = x.kind.lanes * (1 if y is None else 2), Kind(x.kind.scalar, len(chosen))
        numbers = ", ".join(f"i32 {n}" if n < limit else "i32 poison" for n in chosen)
        second = y or Value("poison", x.kind)
        return self.emit(f"shufflevector {x}, {second}, <{len(chosen)} x i32> <{numbers}>", kind)

    # -- memory ------------------------------------------------------------------------------------------

    def element(self, pointer: Value, scalar: str, index: Value) -> Value:
        """Return the address of an element."""
        return self.emit(f"getelementptr inbounds {scalar}, {pointer}, {index}", POINTER)

    def load(self, pointer: Value, kind: Kind, align: int, note: str = "") -> Value:
        """Read a value."""
        return self.emit(f"load {kind}, {pointer}, align {align}{note}", kind)

    def store(self, value: Value, pointer: Value, align: int, note: str = "") -> None:
        """Write a value."""
        self.do(f"store {value}, {pointer}, align {align}{note}")

    # -- conditions and loops ----------------------------------------------------------------------------

    @contextmanager
    def only_if(self, condition: Value, *, rarely: bool = False) -> Generator[None]:
        """Execute the instructions inside only on a condition; ``rarely`` if it hardly ever holds."""
        yes, after = self.new_labels("then", "after")
        self.branch_if(condition, yes, after, rarely=rarely)
        self.label(yes)
        yield
        self.enter(after)

    @contextmanager
    def loop(
        self, start: Value, stop: Value, step: int | Value = 1, carried: list[Value] | None = None
    ) -> Generator[Value]:
        """Repeat the instructions inside for ``start <= counter < stop``, if any.

        The list ``carried`` holds the values before the loop. Inside, it holds those of a turn, to be replaced by those
        for the next; after the loop, it holds those of the last turn.
        """
        values = [] if carried is None else carried
        head, body, after = self.new_labels("loop", "body", "after")
        with self._cycle(head, after, start, *values) as cycle:
            counter, *values[:] = cycle.values
            self.branch_if(self.compare("slt", counter, stop), body, after)
            self.label(body)
            yield counter
            stride = step if isinstance(step, Value) else constant(I64, step)
            cycle.again(self.binary("add", counter, stride, "nsw"), *values)
        values[:] = cycle.values[1:]

    @contextmanager
    def repeat(self, *start: Value) -> Generator[Cycle]:
        """Repeat the instructions inside until one leaves; the cycle carries values, at first these."""
        head, after = self.new_labels("loop", "after")
        with self._cycle(head, after, *start) as cycle:
            yield cycle

    @contextmanager
    def _cycle(self, head: str, after: str, *start: Value) -> Generator[Cycle]:
        before = self.block
        self.enter(head)
        position = len(self.lines)
        cycle = Cycle(self, head, after, [Value(self.fresh(), value.kind) for value in start])
        cycle.ways.append((start, before))
        yield cycle
        self.lines[position:position] = [
            f"  {value.text} = phi {value.kind} "
            + ", ".join(f"[ {values[number].text}, %{block} ]" for values, block in cycle.ways)
            for number, value in enumerate(cycle.values)
        ]
        self.label(after)


class Cycle:
    """A loop under construction, whose head is a block with arguments: each way to it gives their values."""

    def __init__(self, builder: Builder, head: str, after: str, values: Sequence[Value]) -> None:
        self.values = values
        """The arguments in this turn."""
        self.ways: list[tuple[Sequence[Value], str]] = []
        """The values of the arguments by the block that they come from."""
        self._builder, self._head, self._after = builder, head, after

    def again(self, *values: Value) -> None:
        """Go on with the next turn, which has these values."""
        self.ways.append((values, self._builder.block))
        self._builder.branch(self._head)

    def leave_if(self, condition: Value) -> None:
        """Leave the loop on a condition."""
        stay = self._builder.new_label("stay")
        self._builder.branch_if(condition, self._after, stay)
        self._builder.label(stay)
