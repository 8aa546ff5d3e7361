"""Elementary functions that ``math.h`` lacks, as C: their terms are those of the compiler's `mathlib`."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from wengert.compiler.llvm.ir_builder import Kind, Value
from wengert.compiler.mathlib.terms import FUNCTIONS, Term, Writer
from wengert.engine.core.dtypes import Dtype

_TYPES = {"float": "float", "double": "double", "i1": "bool", "i32": "int32_t", "i64": "int64_t"}
_SIGNS = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
_INTEGERS = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<", "lshr": ">>"}
_TRUTHS = {"and": "&&", "or": "||", "xor": "!="}
_ORDERED = {"lt": "<", "gt": ">", "le": "<=", "ge": ">=", "eq": "==", "ne": "!="}
#: The functions between floats and their bits.
_BITS_OF = """\
static int{0}_t bits_of_{1}({1} x)
{{
    const union {{
        {1} number;
        int{0}_t bits;
    }} both = {{x}};
    return both.bits;
}}
"""
_OF_BITS = """\
static {1} {1}_of_bits(int{0}_t x)
{{
    const union {{
        int{0}_t bits;
        {1} number;
    }} both = {{x}};
    return both.number;
}}
"""
NAMES = {f"{name}_{kind}" for name in FUNCTIONS for kind in ("float", "double")}


class _CWriter(Writer):
    """Writes one elementary function as statements of C."""

    def emit(self, text: str, kind: Kind) -> Value:
        """Write a constant that is an expression."""
        value = Value(self.fresh(), kind)
        self.lines.append(f"    const {_TYPES[kind.scalar]} {value.text[1:]} = {text};")
        return value

    def binary(self, operation: str, x: Value, y: Value, flags: str = "") -> Value:
        left, right, kind = _c(x), _c(y), x.kind
        if kind.is_float:
            return self.emit(f"{left} {_SIGNS[operation]} {right}", kind)
        if kind.scalar == "i1":
            return self.emit(f"{left} {_TRUTHS[operation]} {right}", kind)
        if operation == "ashr":
            return self.emit(f"{left} >> {right}", kind)
        own, wide = _TYPES[kind.scalar], f"u{_TYPES[kind.scalar]}"
        return self.emit(f"({own})(({wide}){left} {_INTEGERS[operation]} ({wide}){right})", kind)

    def fneg(self, x: Value) -> Value:
        return self.emit(f"-{_c(x)}", x.kind)

    def compare(self, condition: str, x: Value, y: Value) -> Value:
        if condition == "uno":
            return self.emit(f"isnan({_c(x)}) || isnan({_c(y)})", Kind("i1"))
        if condition == "ult":
            wide = f"u{_TYPES[x.kind.scalar]}"
            return self.emit(f"({wide}){_c(x)} < ({wide}){_c(y)}", Kind("i1"))
        return self.emit(f"{_c(x)} {_ORDERED[condition[-2:]]} {_c(y)}", Kind("i1"))

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        return self.emit(f"{_c(condition)} ? {_c(yes)} : {_c(no)}", yes.kind)

    def convert(self, operation: str, x: Value, scalar: str) -> Value:
        kind, bits = Kind(scalar), x.kind.bits
        if operation != "bitcast":
            return self.emit(f"({_TYPES[scalar]}){_c(x)}", kind)
        number = scalar if kind.is_float else x.kind.scalar
        self.declared.add((_OF_BITS if kind.is_float else _BITS_OF).format(bits, number))
        return self.emit(
            f"{number}_of_bits({_c(x)})" if kind.is_float else f"bits_of_{number}({_c(x)})", kind
        )

    def intrinsic(self, name: str, *operands: Value, result: Kind | None = None) -> Value:
        kind, texts = operands[0].kind, [*map(_c, operands)]
        if name == "fmuladd":
            return self.emit("{} * {} + {}".format(*texts), kind)
        suffix = "f" if kind.scalar == "float" else ""
        return self.emit(f"{name}{suffix}({', '.join(texts)})", kind)


def _c(value: Value) -> str:
    """Return a name or a constant."""
    text, kind = value
    if text.startswith("%"):
        return text[1:]
    if kind.is_float:
        number = struct.unpack(">d", bytes.fromhex(text[2:]))[0]
        if number != number:
            return "NAN"
        if number in (float("inf"), -float("inf")):
            return "INFINITY" if number > 0 else "(-INFINITY)"
        text = f"{np.float32(number)!s}f" if kind.scalar == "float" else repr(number)
        return f"({text})" if number < 0 else text
    if text == "-9223372036854775808":
        return "INT64_MIN"
    return f"({text})" if text.startswith("-") else text


def definition(name: str, dtype: Dtype) -> list[str]:
    """Return the functions that an elementary function calls, and itself."""
    stated = FUNCTIONS[name]
    single = dtype.itemsize == 4
    kind = Kind("float" if single else "double")
    writer = _CWriter(kind, 36 if single else 53)
    writer.lines.clear()
    operands = [Term(writer, Value(f"%{x}", kind)) for x in "xy"[: stated.operands]]
    wide = stated.wide and single
    inputs = [operand.convert("fpext", "double") for operand in operands] if wide else operands
    result = stated.write(*inputs)
    if wide:
        result = result.convert("fptrunc", "float")
    about = next(iter((_doc(stated.write)).split("\n")))
    parameters = ", ".join(f"{kind} {x}" for x in "xy"[: stated.operands])
    body = "\n".join([*writer.lines, f"    return {_c(result.value)};"])
    text = f"/* {about} */\nstatic {kind} {name}_{kind}({parameters})\n{{\n{body}\n}}\n"
    return [*sorted(writer.declared), text]


def _doc(write: Callable[..., object]) -> str:
    return (write.__doc__ or "").replace("*/", "* /").removeprefix("Return ")
