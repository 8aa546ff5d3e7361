"""Elementary functions on vectors, as functions of LLVM IR.

Each function is written once, for terms of any floating type and any number of lanes. It has no branches, except for
the huge arguments of circular functions, so it inlines in loops and all lanes run together. Results are within 2 ulp of
the exact ones, except where a sum of exponentials is nearly 1 (logaddexp) and near the zeros of gamma functions left of
0: there the error is that of the terms that cancel.

Example:
    >>> text, declarations = definitions([("exp", Kind("float", 16))])
    >>> text.splitlines()[0]
    'define internal <16 x float> @wengert.exp.v16f32(<16 x float> %x) alwaysinline nounwind {'
"""

from __future__ import annotations

from collections.abc import Iterable

from wengert.compiler.llvm.ir_builder import Kind, Value
from wengert.compiler.mathlib import (
    argument_reduction,
    erf,
    exponential,
    gamma,
    integer_power,
    logarithmic,
    power,
    trigonometric,
)
from wengert.compiler.mathlib.terms import FUNCTIONS, Term, Writer, symbol
from wengert.engine.core.errors import message
from wengert.engine.machine.target import Target

__all__ = [
    "definitions", "erf", "exponential", "gamma", "integer_power", "logarithmic", "power", "supports", "symbol",
    "trigonometric",
]  # fmt: skip


#: This attribute makes a function keep the caller's registers, on processors whose LLVM supports it (x86-64). A loop
#: with a rare call then keeps its values in registers everywhere else.
_KEEPING = '"no_caller_saved_registers"'
_WIDE = 256
"""Bits of an operand from which LLVM no longer clears the upper halves of registers, also kept ones, before a call."""
_NAMES = ("%x", "%y")


def supports(name: str, kind: Kind) -> bool:
    """Return whether a function is available for a type.

    Example:
        >>> supports("exp", Kind("double", 8)), supports("exp", Kind("i32"))
        (True, False)
    """
    return name in FUNCTIONS and (kind.is_float or name == integer_power.NAME)


def definitions(names: Iterable[tuple[str, Kind]], target: Target | None = None) -> tuple[str, set[str]]:
    """Return the text of functions and of the functions that they call, each once, and their declarations.

    Names come with the types of their operands. Without a target, the code uses no optional instructions.
    """
    texts: list[str] = []
    declared: set[str] = set()
    reduced: set[Kind] = set()
    waiting = dict.fromkeys(names)
    written: set[tuple[str, Kind]] = set()
    while waiting:
        name, kind = function = next(iter(waiting))
        del waiting[function]
        written.add(function)
        if not kind.is_float:
            text, more = integer_power.definition(kind, symbol(name, kind))
            texts.append(text)
            declared |= more
            continue
        writer = _written(name, kind, target)
        texts.append(_text(name, kind, writer))
        declared |= writer.declared
        reduced |= {kind for helper, kind in writer.helpers if helper == argument_reduction.HELPER}
        called = [helper for helper in sorted(writer.helpers) if helper[0] != argument_reduction.HELPER]
        waiting |= dict.fromkeys(helper for helper in called if helper not in written)
    texts += [argument_reduction.lanewise_definition(kind) for kind in sorted(reduced)]
    if reduced:
        text, more = argument_reduction.scalar_definition(has_fma=target is not None and target.has_fma)
        texts.append(text)
        declared |= more
    return "\n".join(texts), declared


def _written(name: str, kind: Kind, target: Target | None) -> Writer:
    if not supports(name, kind):
        raise KeyError(message("compile", f"no elementary function is called {name} for {kind}", name))
    function = FUNCTIONS[name]
    is_wide = function.wide and kind.bits == 32
    has_fma, has_avx512 = (target.has_fma, target.has_avx512) if target else (False, False)
    writer = Writer(kind, 36 if kind.bits == 32 else 53, has_fma=has_fma, has_avx512=has_avx512)
    operands = [Term(writer, Value(operand, kind)) for operand in _NAMES[: function.operands]]
    if is_wide:
        operands = [operand.convert("fpext", "double") for operand in operands]
    result = function.write(*operands)
    if is_wide:
        result = result.convert("fptrunc", "float")
    writer.do(f"ret {result.value}")
    return writer


def _text(name: str, kind: Kind, writer: Writer) -> str:
    function = FUNCTIONS[name]
    operands = ", ".join(f"{kind} {operand}" for operand in _NAMES[: function.operands])
    attributes = "alwaysinline nounwind" if function.inline else "noinline nounwind"
    if function.rare:
        keeping = f" {_KEEPING}" if kind.bits * kind.lanes >= _WIDE else ""
        attributes = f"noinline cold nounwind{keeping}"
    body = "\n".join(writer.lines)
    return f"define internal {kind} @{symbol(name, kind)}({operands}) {attributes} {{\n{body}\n}}\n"
