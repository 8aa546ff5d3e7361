"""Scalar operations as expressions of C, with the results of NumPy: wrapping, NaN, signed zeros, division by zero."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core.dtypes import BOOL, FLOAT32, FLOAT64, INT64, Dtype
from wengert.exporting.c_source import helpers
from wengert.exporting.c_source.helpers import c_type, function, suffix


class Value(NamedTuple):
    """An expression of C."""

    text: str
    level: int
    """How tightly its outermost operator binds."""
    dtype: Dtype


PRIMARY, UNARY, PRODUCT, SUM, COMPARED, BOTH, EITHER, CHOICE = 9, 8, 7, 6, 4, 3, 2, 1
_INFIX = {
    "add": ("+", SUM),
    "subtract": ("-", SUM),
    "multiply": ("*", PRODUCT),
    "divide": ("/", PRODUCT),
    "less": ("<", COMPARED),
    "less_equal": ("<=", COMPARED),
    "greater": (">", COMPARED),
    "greater_equal": (">=", COMPARED),
    "equal": ("==", COMPARED),
    "not_equal": ("!=", COMPARED),
}
_COMPARISONS = {name for name, (_, level) in _INFIX.items() if level == COMPARED}
_AND, _OR, _XOR = ("&&", BOTH), ("||", EITHER), ("!=", COMPARED)
#: The operators of truth values.
_TRUTHS: dict[str, tuple[str, int]] = {
    **dict.fromkeys(("logical_and", "bitwise_and", "multiply", "multiply_no_nan", "minimum", "fmin"), _AND),
    **dict.fromkeys(("logical_or", "bitwise_or", "add", "maximum", "fmax"), _OR),
    **dict.fromkeys(("logical_xor", "bitwise_xor", "subtract"), _XOR),
}
_BITWISE = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_SAME = """sqrt exp exp2 expm1 tanh sinh cosh log log1p log2 log10 erf erfc lgamma hypot cbrt sin cos tan floor ceil
trunc rint fmod copysign"""
#: The names in ``math.h`` of operations that it has.
_LIBRARY = {
    **{name: name for name in _SAME.split()},
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")},
    "power": "pow",
    "absolute": "fabs",
    "fabs": "fabs",
}
_ROUNDING = ("floor", "ceil", "trunc", "rint", "positive")
_STEPS = {*_ROUNDING, "fmod", "remainder", "floor_divide", "sign", "copysign", "signbit"} - {"positive"}
_TESTS = ("isnan", "isinf", "isfinite", "signbit")
_OF_INTEGERS = {"isnan": "false", "isinf": "false", "isfinite": "true"}
_FEW_PRODUCTS = 4
"""The largest exponent of a float that is written as products, as in the object file."""
CHEAP = {
    *_INFIX, *_TRUTHS, *_BITWISE, *_TESTS, *_ROUNDING, "negative", "absolute", "fabs", "where", "cast", "square",
    "logical_not", "invert", "maximum", "minimum", "sign", "multiply_no_nan", "copysign", "fmax", "fmin",
} - {"divide"}  # fmt: skip
"""The operations that cost no more than a few instructions."""


class Unsupported(Exception):  # noqa: N818  # the exporter makes a message of it
    """An operation without a form in C: its name."""


def parenthesised(value: Value, level: int) -> str:
    """Return an expression as an operand of an operator that binds that tightly."""
    return value.text if value.level >= level else f"({value.text})"


def primary(text: str, dtype: Dtype) -> Value:
    """Return a name, an element or a call."""
    return Value(text, PRIMARY, dtype)


def literal(number: Any, dtype: Dtype) -> Value:
    """Return a number, so that C reads the same bits."""
    if dtype.kind == "b":
        return primary("true" if number else "false", dtype)
    if dtype.kind in "iu":
        return _integer(int(number), dtype)
    text = str(dtype.type(number))
    if text.lstrip("-") in ("nan", "inf"):
        text = "NAN" if text.endswith("nan") else text.replace("inf", "INFINITY")
    else:
        text = (text if re.search(r"[.e]", text) else f"{text}.0") + suffix(dtype)
    return Value(text, UNARY if text.startswith("-") else PRIMARY, dtype)


def _integer(number: int, dtype: Dtype) -> Value:
    if dtype.kind == "u":
        return primary(f"{number}u", dtype)
    if dtype.itemsize >= 4 and number == np.iinfo(dtype).min:
        return primary(f"INT{8 * dtype.itemsize}_MIN", dtype)
    return Value(str(number), UNARY if number < 0 else PRIMARY, dtype)


def call(name: str, *operands: Value, dtype: Dtype) -> Value:
    """Return the call of a function."""
    return primary(f"{name}({', '.join(x.text for x in operands)})", dtype)


def truth(x: Value) -> Value:
    """Return whether a value is not zero."""
    if x.dtype.kind == "b":
        return x
    return infix("not_equal", x, literal(0, x.dtype), BOOL)


def negation(x: Value) -> Value:
    """Return the opposite of a truth value."""
    x = x._replace(text=x.text.removeprefix("(bool)"))
    if x.text.startswith("!") and x.level == UNARY:
        return (
            primary(x.text[1:], BOOL) if not x.text[1:].startswith("(") else x._replace(text=f"!({x.text})")
        )
    return Value(f"!{parenthesised(x, UNARY)}", UNARY, BOOL)


def infix(operation: str, x: Value, y: Value, dtype: Dtype) -> Value:
    """Return x operation y."""
    sign, level = _INFIX[operation]
    return _binary(sign, level, x, y, dtype)


def _binary(sign: str, level: int, x: Value, y: Value, dtype: Dtype) -> Value:
    # Compilers warn of a comparison in a comparison, and of "both" in "either".
    least = PRIMARY if level == COMPARED and x.dtype.kind == "b" else level
    if level == EITHER:
        left, right = (parenthesised(z, EITHER if z.level == EITHER else COMPARED) for z in (x, y))
    else:
        left, right = parenthesised(x, least), parenthesised(y, max(least, level + 1))
    return Value(f"{left} {sign} {right}", level, dtype)


def _on_truths(operation: str, x: Value, y: Value) -> Value:
    sign, level = _TRUTHS[operation]
    return _binary(sign, level, x, y, BOOL)


def choice(condition: Value, x: Value, y: Value) -> Value:
    """Return one of two values."""
    condition = condition._replace(text=condition.text.removeprefix("(bool)"))
    text = f"{parenthesised(condition, EITHER)} ? {parenthesised(x, EITHER)} : {parenthesised(y, CHOICE)}"
    if x.dtype.kind in "iu" and x.dtype.itemsize < 4:  # C makes an int of them
        return Value(f"({c_type(x.dtype)})({text})", UNARY, x.dtype)
    return Value(text, CHOICE, x.dtype)


class Operations:
    """Writes operations, and remembers the functions that they need."""

    def __init__(self) -> None:
        self.used: dict[str, None] = {}
        """The names of the helpers."""
        self.functions: dict[str, None] = {}
        """The texts of other functions."""
        self.compares = False
        """Whether a float decides something, so that the same formula must have the same bits in every place."""

    def helper(self, operation: str, dtype: Dtype, *operands: Value, result: Dtype | None = None) -> Value:
        """Return the call of a static function."""
        name = helpers.name(operation, dtype)
        self.used[name] = None
        return call(name, *operands, dtype=result or dtype)

    def apply(self, operation: str, operands: Sequence[Value], result: Dtype, param: int) -> Value:
        """Return an operation on values; `Unsupported` if C has no form of it."""
        kind = operands[0].dtype.kind
        self.compares |= kind == "f" and (operation in _COMPARISONS or operation in _STEPS)
        if operation == "where":
            return choice(*operands)
        if operation == "cast":
            return self.cast(operands[0], result)
        if operation.startswith("logical_") and operation != "logical_not":
            return _on_truths(operation, *map(truth, operands))
        if operation == "logical_not":
            return negation(truth(operands[0]))
        if kind == "b" and (written := self._on_truths(operation, operands)):
            return written
        if operation in _COMPARISONS:
            return self._compared(operation, *operands)
        if kind == "f":
            return self._on_floats(operation, operands, result, param)
        return self._on_integers(operation, operands, result, param)

    def _on_truths(self, operation: str, operands: Sequence[Value]) -> Value | None:
        if operation in _TRUTHS:
            return _on_truths(operation, *operands)
        if operation == "invert":
            return negation(operands[0])
        return operands[0] if operation in (*_ROUNDING, "absolute", "fabs", "sign", "square") else None

    def _compared(self, operation: str, x: Value, y: Value) -> Value:
        if x.dtype.kind in "ub" and y.text in ("0u", "false") and operation in ("less", "greater_equal"):
            return primary("true" if operation == "greater_equal" else "false", BOOL)
        if x.dtype.kind in "ub" and x.text in ("0u", "false") and operation in ("greater", "less_equal"):
            return primary("true" if operation == "less_equal" else "false", BOOL)
        return infix(operation, x, y, BOOL)

    def _on_floats(self, operation: str, operands: Sequence[Value], result: Dtype, param: int) -> Value:
        x, dtype = operands[0], operands[0].dtype
        match operation:
            case "add" | "subtract" | "multiply" | "divide":
                return infix(operation, x, operands[1], dtype)
            case "negative":
                return Value(f"-{parenthesised(x, PRIMARY)}", UNARY, dtype)
            case "positive":
                return x
            case "reciprocal":
                return infix("divide", literal(1, dtype), x, dtype)
            case "square":
                return infix("multiply", x, x, dtype)
            case "integer_power":
                return self._power(x, param)
            case "ldexp":
                return self.helper(operation, dtype, x, self.cast(operands[1], INT64))
            case "binary_exponent":
                return self.helper(operation, dtype, x, result=result)
            case _ if operation in _TESTS:
                return Value(f"(bool){call(operation, x, dtype=BOOL).text}", UNARY, BOOL)
            case _ if operation in _LIBRARY and dtype in (FLOAT32, FLOAT64):
                return call(_LIBRARY[operation] + suffix(dtype), *operands, dtype=dtype)
            case _ if helpers.exists(operation, dtype):
                self.compares |= not helpers.function(operation, dtype)  # its terms add up rounding errors
                return self.helper(operation, dtype, *operands, result=result)
            case _:
                raise Unsupported(operation)

    def _power(self, x: Value, exponent: int) -> Value:
        """Return a power with an exponent that is known; up to the fourth, as products of a value that is a name."""
        size, dtype = abs(exponent), x.dtype
        if size > _FEW_PRODUCTS:
            return call("pow" + suffix(dtype), x, literal(exponent, dtype), dtype=dtype)
        square = infix("multiply", x, x, dtype)
        power = {
            0: literal(1, dtype),
            1: x,
            2: square,
            3: infix("multiply", x, square, dtype),
            4: infix("multiply", square, square, dtype),
        }[size]
        return infix("divide", literal(1, dtype), power, dtype) if exponent < 0 else power

    def _on_integers(self, operation: str, operands: Sequence[Value], result: Dtype, param: int) -> Value:
        x, dtype = operands[0], operands[0].dtype
        operation = {"fmax": "maximum", "fmin": "minimum"}.get(operation, operation)
        if operation in _OF_INTEGERS:
            return primary(_OF_INTEGERS[operation], BOOL)
        if operation in _ROUNDING:
            return x
        if operation in ("absolute", "fabs") and dtype.kind == "u":
            return x
        if operation == "integer_power":
            return self.helper("power", dtype, x, literal(param, dtype))
        if operation == "square":
            return self.helper("multiply", dtype, x, x)
        if operation in ("multiply_no_nan",):
            return self.helper("multiply", dtype, *operands)
        plain = dtype.kind == "u" and dtype.itemsize >= 4
        if plain and operation in ("add", "subtract", "multiply"):
            return infix(operation, x, operands[1], dtype)
        if operation in _BITWISE:
            x, y = (parenthesised(z, PRIMARY) for z in operands)
            text = f"{x} {_BITWISE[operation]} {y}"
            if dtype.itemsize < 4:  # C computes with int
                return Value(f"({c_type(dtype)})({text})", UNARY, dtype)
            return Value(text, CHOICE, dtype)
        if operation == "invert":
            return Value(f"({c_type(dtype)})~{parenthesised(x, UNARY)}", UNARY, dtype)
        if helpers.exists(operation, dtype):
            return self.helper(operation, dtype, *operands, result=result)
        raise Unsupported(operation)

    def cast(self, x: Value, dtype: Dtype) -> Value:
        """Return a value in another dtype."""
        if x.dtype == dtype:
            return x
        if dtype.kind == "b":
            return truth(x)
        if x.dtype.kind == "f" and dtype.kind in "iu":
            self.compares = True
            return self._whole(x, dtype)
        return Value(f"({c_type(dtype)}){parenthesised(x, UNARY)}", UNARY, dtype)

    def _whole(self, x: Value, dtype: Dtype) -> Value:
        """Return a float as an integer, as the processors do for which NumPy is compiled."""
        if dtype.itemsize == 8 or dtype == np.dtype(np.int32):
            return self.helper(f"to_{dtype}", x.dtype, x, result=dtype)
        wide = INT64 if dtype == np.dtype(np.uint32) else np.dtype(np.int32)
        return self.cast(self.helper(f"to_{wide}", x.dtype, x, result=wide), dtype)

    def combined(self, combiner: str, total: str, x: Value) -> str:
        """Return the statement that combines a value with a variable or an element."""
        if x.dtype.kind == "f" and combiner in ("add", "multiply"):
            return f"{total} {_INFIX[combiner][0]}= {x.text};"
        value = self.apply(combiner, [primary(total, x.dtype), x], x.dtype, 0)
        return f"{total} = {value.text};"

    def texts(self) -> str:
        """Return the static functions that are used."""
        return "\n".join([helpers.texts(self.used), *self.functions])


__all__ = ["Operations", "Unsupported", "Value", "c_type", "function", "literal", "primary"]
