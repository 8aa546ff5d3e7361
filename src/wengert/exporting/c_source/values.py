"""Expressions of C, with the parentheses that they need."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core.dtypes import BOOL, Dtype
from wengert.exporting import c_types

PRIMARY, UNARY, PRODUCT, SUM, COMPARED, BOTH, EITHER, CHOICE = 9, 8, 7, 6, 4, 3, 2, 1
#: The level of each operator, and the least levels of its operands without parentheses. Those of bits and shifts have
#: more of them than C needs, because compilers warn.
_OPERATORS = {
    **dict.fromkeys(("*", "/", "%"), (PRODUCT, PRODUCT, UNARY)),
    **dict.fromkeys(("+", "-"), (SUM, SUM, PRODUCT)),
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), (COMPARED, SUM, SUM)),
    "&&": (BOTH, BOTH, COMPARED),
    "||": (EITHER, EITHER, COMPARED),
    **dict.fromkeys(("&", "|", "^", "<<", ">>"), (CHOICE, UNARY, UNARY)),
}


class Value(NamedTuple):
    """An expression of C."""

    text: str
    level: int
    """How tightly its outermost operator binds."""
    dtype: Dtype

    @property
    def is_name(self) -> bool:
        """Whether it is a variable or a constant with a name."""
        return self.text.isidentifier()


def type_of(dtype: Dtype) -> str:
    """Return the C type of a value."""
    return "bool" if dtype.kind == "b" else c_types.c_type(dtype)


def suffix(dtype: Dtype) -> str:
    """Return the end of a literal and of a function's name."""
    return "f" if dtype.kind == "f" and dtype.itemsize == 4 else ""


def parenthesised(value: Value, level: int) -> str:
    """Return an expression as an operand of an operator that binds that tightly."""
    return value.text if value.level >= level else f"({value.text})"


def primary(text: str, dtype: Dtype) -> Value:
    """Return a name, an element or a call."""
    return Value(text, PRIMARY, dtype)


def call(name: str, *operands: Value, dtype: Dtype) -> Value:
    """Return the call of a function."""
    return primary(f"{name}({', '.join(x.text for x in operands)})", dtype)


def literal(number: Any, dtype: Dtype) -> Value:
    """Return a number, so that C reads the same bits."""
    if dtype.kind == "b":
        return primary("true" if number else "false", dtype)
    if dtype.kind == "u":
        return primary(f"{int(number)}u", dtype)
    if dtype.kind == "i":
        is_least = dtype.itemsize >= 4 and int(number) == np.iinfo(dtype).min
        text = f"INT{8 * dtype.itemsize}_MIN" if is_least else str(int(number))
    elif np.isfinite(number):
        text = str(dtype.type(number))
        text = (text if re.search(r"[.e]", text) else f"{text}.0") + suffix(dtype)
    else:
        text = "NAN" if np.isnan(number) else "-INFINITY" if number < 0 else "INFINITY"
    return Value(text, UNARY if text.startswith("-") else PRIMARY, dtype)


def infix(sign: str, x: Value, y: Value, dtype: Dtype) -> Value:
    """Return an operator on two operands."""
    level, left, right = _OPERATORS[sign]
    if level == COMPARED and x.dtype.kind == "b":  # compilers warn of a comparison in a comparison,
        left = right = PRIMARY
    first = f"({x.text})" if (level, x.level) == (EITHER, BOTH) else parenthesised(x, left)  # of && in ||
    return Value(f"{first} {sign} {parenthesised(y, right)}", level, dtype)


def cast(x: Value, dtype: Dtype) -> Value:
    """Return a number in another type of C."""
    return x if x.dtype == dtype else Value(f"({type_of(dtype)}){parenthesised(x, UNARY)}", UNARY, dtype)


def negative(x: Value) -> Value:
    """Return -x."""
    return Value(f"-{parenthesised(x, PRIMARY)}", UNARY, x.dtype)


def negation(x: Value) -> Value:
    """Return the opposite of a truth value."""
    if x.text.startswith("!") and x.level == UNARY and not x.text.startswith("!("):
        return primary(x.text[1:], BOOL)
    return Value(f"!{parenthesised(x, UNARY)}", UNARY, BOOL)


def choice(condition: Value, x: Value, y: Value) -> Value:
    """Return one of two values."""
    text = f"{parenthesised(condition, EITHER)} ? {parenthesised(x, EITHER)} : {parenthesised(y, CHOICE)}"
    value = Value(text, CHOICE, x.dtype)
    is_int_to_c = x.dtype.kind in "iu" and x.dtype.itemsize < 4
    return Value(f"({type_of(x.dtype)})({text})", UNARY, x.dtype) if is_int_to_c else value
