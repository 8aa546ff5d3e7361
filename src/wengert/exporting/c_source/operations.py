"""Scalar operations as C: the instructions of the compiler, written as expressions.

An operation of one or two instructions stands where it is used; a longer one is a static function.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from wengert.compiler import scalars
from wengert.compiler.llvm.ir_builder import SCALARS, Kind
from wengert.compiler.llvm.ir_builder import Value as Operand
from wengert.compiler.mathlib.terms import FUNCTIONS, Term, Writer
from wengert.compiler.scalars.context import EMITTERS, Context
from wengert.engine.core.dtypes import BOOL, INT64, UINT64, Dtype
from wengert.exporting.c_source import values as c
from wengert.exporting.c_source.values import Value

_SIGNS = {
    **{f"{kind}{name}": sign for kind in "fsu" for name, sign in (("div", "/"), ("rem", "%"))},
    **{
        f"{kind}{name}": sign
        for kind in ("f", "")
        for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"))
    },
    **{"and": "&", "or": "|", "xor": "^", "shl": "<<", "lshr": ">>", "ashr": ">>"},
}
_OF_TRUTHS = {"&": "&&", "|": "||", "^": "!="}
_COMPARED = {"lt": "<", "gt": ">", "le": "<=", "ge": ">=", "eq": "==", "ne": "!="}
_OPPOSITE = {"lt": ">=", "gt": "<=", "le": ">", "ge": "<"}
#: The names in ``math.h`` of functions that it has.
_LIBRARY = {
    **{name: name for name in (
        "sqrt", "exp", "exp2", "expm1", "tanh", "sinh", "cosh", "log", "log1p", "log2", "log10", "erf", "erfc",
        "lgamma", "hypot", "cbrt", "sin", "cos", "tan")},
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")},
    "power": "pow",
}  # fmt: skip
_DECIDING = {
    *scalars.COMPARISONS, "floor", "ceil", "trunc", "rint", "fmod", "remainder", "floor_divide", "sign", "copysign",
    "signbit", *(FUNCTIONS.keys() - _LIBRARY),
}  # fmt: skip
"""The operations whose results jump, or that add up rounding errors: operands must have the same bits everywhere."""
_SHORT = {"multiply_no_nan": "times", "integer_power": "power_"}
_LONGEST = 60
"""The characters of a value in a static function from which it has a name."""
_BITS_OF = """\
static {result} {name}({operand} x)
{{
    const union {{
        {operand} before;
        {result} after;
    }} both = {{x}};
    return both.after;
}}
"""


class Unsupported(Exception):  # noqa: N818  # the exporter makes a message of it
    """An operation without a form in C: its name."""


def is_reserved(name: str) -> bool:
    """Return whether a name may be that of a static function."""
    return bool(re.search(r"_(float|double|bool|u?int\d+)$", name))


class Operations:
    """Writes operations, and remembers the static functions that they need."""

    def __init__(self) -> None:
        self.functions: dict[str, str] = {}
        """The texts of the static functions by their names."""
        self.compares = False
        """Whether a float decides something, so that the same formula must have the same bits in every place."""

    def apply(
        self,
        operation: str,
        operands: Sequence[Value],
        result: Dtype,
        param: int = 0,
        named: Callable[[Value], Value] = lambda value: value,
    ) -> Value:
        """Return an operation on values; `Unsupported` if C has no form of it.

        ``named`` gives a name to an operand that the expression repeats.
        """
        dtype = operands[0].dtype
        self.compares |= dtype.kind == "f" and operation in _DECIDING
        if operation == "cast":
            return self.cast(operands[0], result)
        if operation in _LIBRARY and dtype.kind == "f":
            return c.call(_LIBRARY[operation] + c.suffix(dtype), *operands, dtype=dtype)
        if (known := _known(operation, operands)) is not None:
            return known
        written = self._written(operation, [x.dtype for x in operands], result, param)
        if not written.is_short:
            return c.call(self._function(operation, written, param), *operands, dtype=result)
        repeats = [
            written.uses[x.text] > 1 and y.level < c.PRIMARY
            for x, y in zip(written.inputs, operands, strict=True)
        ]
        given = [named(x) if again else x for x, again in zip(operands, repeats, strict=True)]
        return c.cast(written.rendered(given, longest=None)[1], result)

    def cast(self, x: Value, dtype: Dtype) -> Value:
        """Return a value in another dtype."""
        if dtype.kind == "b" and x.dtype != dtype:
            return c.infix("!=", x, c.literal(0, x.dtype), BOOL)
        if x.dtype.kind != "f" or dtype.kind == "f":
            return c.cast(x, dtype)
        self.compares = True
        written = self._written("cast", [x.dtype], dtype, 0)
        return c.call(self._function(f"to_{dtype}", written, 0), x, dtype=dtype)

    def combined(self, combiner: str, total: str, x: Value) -> str:
        """Return the statement that combines a value with a variable or an element."""
        if x.dtype.kind == "f" and combiner in ("add", "multiply"):
            return f"{total} {_SIGNS[f'f{combiner[:3]}']}= {x.text};"
        return f"{total} = {self.apply(combiner, [c.primary(total, x.dtype), x], x.dtype).text};"

    def _written(self, operation: str, dtypes: Sequence[Dtype], result: Dtype, param: int) -> _Written:
        """Return the instructions of an operation."""
        if not scalars.is_native(operation, dtypes, result, param):
            raise Unsupported(operation)
        written = _Written(self, dtypes, result)
        if operation in EMITTERS:
            context = _Context(written, dtypes[0], result, param, set())
            written.root = scalars.emit(context, operation, written.inputs)
        else:
            written.write(operation)
        return written

    def _function(self, operation: str, written: _Written, param: int) -> str:
        """Return the name of a static function, which is written once."""
        kinds = dict.fromkeys(c.type_of(dtype).removesuffix("_t") for dtype in written.dtypes)
        name = f"{_SHORT.get(operation, operation)}{param or ''}_{'_'.join(kinds)}".replace("-", "minus_")
        if name not in self.functions:
            names = "xy"[: len(written.dtypes)] if len(written.dtypes) < 3 else "cxy"
            given = [c.primary(x, dtype) for x, dtype in zip(names, written.dtypes, strict=True)]
            lines, value = written.rendered(given)
            listed = ", ".join(f"{c.type_of(x.dtype)} {x.text}" for x in given)
            body = "\n    ".join([*lines, f"return {c.cast(value, written.result).text};"])
            head = f"{_about(operation)}static {c.type_of(written.result)} {name}({listed})"
            self.functions[name] = f"{head}\n{{\n    {body}\n}}\n"
        return name


def _known(operation: str, operands: Sequence[Value]) -> Value | None:
    """Return a comparison of an unsigned number with zero that always has one result: compilers warn of it."""
    zeros = [n for n, x in enumerate(operands) if x.text in ("0u", "false")]
    always = {"greater_equal": 1, "less_equal": 0}.get(operation)
    never = {"less": 1, "greater": 0}.get(operation)
    if operands[0].dtype.kind not in "ub" or not ({always, never} & {*zeros}):
        return None
    return c.literal(always in zeros, BOOL)


def _about(operation: str) -> str:
    """Return the comment on a static function."""
    write = FUNCTIONS[operation].write if operation in FUNCTIONS else EMITTERS.get(operation)
    text = (getattr(write, "__doc__", "") or "").split("\n")[0]
    return (
        f"/* {text.removeprefix('Return ')} */\n" if text.startswith("Return ") and "*/" not in text else ""
    )


class _Context(Context):
    """The context of an operation that is written as C."""

    def call(self, name: str, *operands: Operand) -> Operand:
        """Call an elementary function."""
        writer, kind = self.builder, operands[0].kind
        assert isinstance(writer, _Written)
        dtype = writer.dtype(kind)
        return writer.node(kind, lambda *values: writer.operations.apply(name, values, dtype), *operands)


class _Node(NamedTuple):
    write: Callable[..., Value]
    operands: tuple[Operand, ...]


class _Written(Writer):
    """The instructions of an operation as a graph of expressions; see `Builder` for the methods."""

    def __init__(self, operations: Operations, dtypes: Sequence[Dtype], result: Dtype) -> None:
        single = dtypes[0].itemsize == 4
        super().__init__(Kind(SCALARS[dtypes[0]]), 36 if single else 53)
        self.operations, self.dtypes, self.result = operations, dtypes, result
        self.signed = next((dtype.kind == "i" for dtype in (*dtypes, result) if dtype.kind in "iu"), False)
        self.inputs = [Operand(f"%x{n}", Kind(SCALARS[dtype])) for n, dtype in enumerate(dtypes)]
        self.root = self.inputs[0]
        self.size = 0
        self.uses = Counter[str]()
        self._nodes: dict[str, _Node] = {}

    def write(self, name: str) -> None:
        """Write an elementary function by its terms."""
        stated, single = FUNCTIONS[name], self.dtypes[0].itemsize == 4
        wide = stated.wide and single
        terms = [Term(self, x) for x in self.inputs]
        result = stated.write(*(term.convert("fpext", "double") for term in terms) if wide else terms)
        self.root = (result.convert("fptrunc", "float") if wide else result).value

    @property
    def is_short(self) -> bool:
        """Whether it may stand where it is used: it has no constants of its own."""
        return self.size <= 2 and all(self.uses[name] < 2 for name in self._nodes)

    def rendered(self, given: Sequence[Value], longest: int | None = _LONGEST) -> tuple[list[str], Value]:
        """Return constants for what is long or used more than once, and the result."""
        lines: list[str] = []
        known = {x.text: _as(y, self.dtype(x.kind)) for x, y in zip(self.inputs, given, strict=True)}

        def value(x: Operand) -> Value:
            if not x.text.startswith("%"):
                return _constant(x, self.dtype(x.kind))
            if x.text not in known:
                node = self._nodes[x.text]
                found = node.write(*map(value, node.operands))
                is_long = longest is not None and len(found.text) > longest
                if (self.uses[x.text] > 1 or is_long) and not found.is_name:
                    name = f"v{len(lines) + 1}"
                    lines.append(f"const {c.type_of(found.dtype)} {name} = {found.text};")
                    found = c.primary(name, found.dtype)
                known[x.text] = found
            return known[x.text]

        found = value(self.root)
        return [
            *lines,
            *(f"(void){x.text};" for x in given if not self.uses[f"%x{given.index(x)}"] and x.is_name),
        ], found

    def dtype(self, kind: Kind) -> Dtype:
        """Return the dtype of values of a type: integers have a sign if the operands are such."""
        known = {"float": "float32", "double": "float64", "i1": "bool"}
        return np.dtype(known.get(kind.scalar) or f"{'' if self.signed else 'u'}int{kind.bits}")

    def node(
        self,
        kind: Kind,
        write: Callable[..., Value],
        *operands: Operand,
        size: int = 1,
        repeats: bool = False,
    ) -> Operand:
        """Add an expression of operands, some of which it may repeat."""
        self.size += size
        self.uses.update([x.text for x in operands] * (1 + repeats))
        name = self.fresh()
        self._nodes[name] = _Node(write, operands)
        return Operand(name, kind)

    def emit(self, text: str, kind: Kind) -> Operand:
        raise Unsupported(text.split()[0])

    def binary(self, operation: str, x: Operand, y: Operand, flags: str = "") -> Operand:
        own = self.dtype(x.kind)
        if operation == "frem":
            return self.intrinsic("fmod", x, y)
        sign = _SIGNS[operation]
        if own.kind == "b":
            if (sign, y.text) == ("^", "true"):
                return self.node(x.kind, c.negation, x)
            sign = _OF_TRUTHS[sign]
        if own.kind in "fb":
            return self.node(x.kind, lambda a, b: c.infix(sign, a, b, own), x, y)
        if operation in ("sdiv", "srem", "ashr"):
            wide = np.dtype(f"i{own.itemsize}")
        else:  # C's signed numbers must not overflow
            wide = own if sign in "&|^" and own.itemsize >= 4 else np.dtype(f"u{max(own.itemsize, 4)}")
        narrow = wide.itemsize < 4

        def write(a: Value, b: Value) -> Value:
            made = c.infix(sign, _as(a, wide), _as(b, wide), np.dtype(np.int32) if narrow else wide)
            return c.cast(made, own)

        return self.node(x.kind, write, x, y, size=1 if wide == own else 3)

    def fneg(self, x: Operand) -> Operand:
        return self.node(x.kind, c.negative, x)

    def compare(self, condition: str, x: Operand, y: Operand) -> Operand:
        order, own = condition[-2:], self.dtype(x.kind)
        if condition == "uno":
            return self.node(Kind("i1"), lambda a, b: _is_nan(a, b), x, y)
        if own.kind == "f" and condition[0] == "u" and order != "ne":
            return self.node(Kind("i1"), lambda a, b: c.negation(c.infix(_OPPOSITE[order], a, b, BOOL)), x, y)
        if own.kind in "iu" and condition[0] in "su" and len(condition) == 3:
            own = np.dtype(f"{'u' if condition[0] == 'u' else ''}int{x.kind.bits}")
        return self.node(
            Kind("i1"), lambda a, b: c.infix(_COMPARED[order], _as(a, own), _as(b, own), BOOL), x, y
        )

    def rarely(self, condition: Operand, other: Callable[[], Operand], usual: Operand) -> Operand:
        return self.select(condition, other(), usual)

    def select(self, condition: Operand, yes: Operand, no: Operand) -> Operand:
        return self.node(yes.kind, c.choice, condition, yes, no)

    def freeze(self, x: Operand) -> Operand:
        return x

    def convert(self, operation: str, x: Operand, scalar: str) -> Operand:
        kind, before = Kind(scalar), self.dtype(x.kind)
        if operation in ("fptosi", "fptoui"):
            wide = UINT64 if operation == "fptoui" else np.dtype(f"int{kind.bits}")
            return self.node(kind, lambda a: _whole(a, wide), x, size=3, repeats=True)
        after = self.dtype(kind)
        if operation != "bitcast":
            sign = {"sext": "i", "sitofp": "i", "zext": "u", "uitofp": "u"}.get(operation, before.kind)
            middle = np.dtype(f"{sign}{before.itemsize}") if before.kind in "iu" else before
            return self.node(kind, lambda a: c.cast(c.cast(a, middle), after), x)
        name = f"bits_of_{before}" if before.kind == "f" else f"of_bits_{after}"
        name = name.replace("float64", "double").replace("float32", "float")
        types = {"operand": c.type_of(before), "result": c.type_of(after)}
        self.operations.functions.setdefault(name, _BITS_OF.format(name=name, **types))
        return self.node(kind, lambda a: c.call(name, a, dtype=after), x)

    def intrinsic(self, name: str, *operands: Operand, result: Kind | None = None) -> Operand:
        kind = operands[0].kind
        own = self.dtype(kind)
        if name == "fmuladd":
            return self.fadd(self.fmul(operands[0], operands[1]), operands[2])
        if name == "fshl":
            left, right = operands[2], Operand(str(kind.bits - int(operands[2].text)), kind)
            return self.binary(
                "or", self.binary("shl", operands[0], left), self.binary("lshr", operands[1], right)
            )
        if own.kind != "f":
            raise Unsupported(name)
        return self.node(kind, lambda *values: c.call(name + c.suffix(own), *values, dtype=own), *operands)


def _constant(x: Operand, dtype: Dtype) -> Value:
    """Return a constant of LLVM."""
    if dtype.kind == "f":
        return c.literal(struct.unpack(">d", bytes.fromhex(x.text[2:]))[0], dtype)
    return c.literal(x.text == "true", dtype) if dtype.kind == "b" else _integer(int(x.text), dtype)


def _integer(number: int, dtype: Dtype) -> Value:
    """Return the integer of a dtype with the bits of another one."""
    return c.literal(
        np.array(number % 2 ** (8 * dtype.itemsize), f"u{dtype.itemsize}").view(dtype)[()], dtype
    )


def _as(x: Value, dtype: Dtype) -> Value:
    """Return an integer in another type of C, a literal as one of that type."""
    is_literal = x.dtype != dtype and re.fullmatch(r"-?\d+u?", x.text)
    return _integer(int(x.text.rstrip("u")), dtype) if is_literal else c.cast(x, dtype)


def _is_nan(x: Value, y: Value) -> Value:
    first, second = (Value(f"isnan({z.text})", c.UNARY, BOOL) for z in (x, y))
    return first if first == second else c.infix("||", first, second, BOOL)


def _whole(x: Value, dtype: Dtype) -> Value:
    """Return a float towards zero; the least integer for what the type does not hold, for uint64 2^63."""
    bound = 2.0 ** (8 * dtype.itemsize - 1)
    low, high = (bound, 2 * bound) if dtype == UINT64 else (-bound, bound)
    above, below = (
        c.infix(">=", x, c.literal(low, x.dtype), BOOL),
        c.infix("<", x, c.literal(high, x.dtype), BOOL),
    )
    otherwise = c.cast(_whole(x, INT64), dtype) if dtype == UINT64 else c.literal(int(low), dtype)
    return c.choice(c.infix("&&", above, below, BOOL), c.cast(x, dtype), otherwise)
