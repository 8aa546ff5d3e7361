"""Elementary functions on vectors, as functions of LLVM IR.

Each is written once, for terms of any floating type and any number of lanes, without branches but for the huge
arguments of circular functions, so that it inlines in loops and the lanes go on together. Results are within 2 ulp
of the exact ones, but where a sum of exponentials is nearly 1 (logaddexp) or a gamma function's zero lies left of 0:
there the error is that of the terms that cancel.

Example:
    >>> text, declarations = definitions([("exp", Kind("float", 16))])
    >>> text.splitlines()[0]
    'define internal <16 x float> @wengert.exp.v16f32(<16 x float> %x) alwaysinline nounwind {'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from wengert.compiler.llvm.ir_builder import Kind, Value
from wengert.compiler.machine.target import Target
from wengert.compiler.mathlib import (
    argument_reduction,
    error,
    exponential,
    gamma,
    logarithmic,
    power,
    trigonometric,
)
from wengert.compiler.mathlib.terms import Term, Writer, symbol
from wengert.core.errors import message

__all__ = ["definitions", "supports", "symbol"]


_KEEPING = '"no_caller_saved_registers"'
"""Says that a function leaves the caller's registers as they are, if the processor's LLVM knows how (x86-64's does). A
loop with a call that is rarely made then keeps everything in registers where it does not call."""
_WIDE = 256
"""Bits of an operand for which LLVM does not clear the upper halves of registers, kept ones too, before a call."""


class _Function(NamedTuple):
    """How a function is written.

    Args:
        write: takes the operands and returns the result.
        operands: how many there are.
        wide: whether float32 numbers are computed with in float64.
        inline: whether calls are to be replaced by the body.
        rare: whether calls are few, and must cost nothing where they are not made; of one operand.
    """

    write: Callable[..., Term]
    operands: int = 1
    wide: bool = False
    inline: bool = True
    rare: bool = False


_FUNCTIONS: dict[str, _Function] = {
    "exp": _Function(exponential.exp),
    "exp2": _Function(exponential.exp2),
    "expm1": _Function(exponential.expm1),
    "tanh": _Function(exponential.tanh),
    "tanh_slope": _Function(exponential.tanh_slope),
    "expit": _Function(exponential.expit),
    "expit_slope": _Function(exponential.expit_slope),
    "sinh": _Function(exponential.sinh),
    "cosh": _Function(exponential.cosh),
    "log": _Function(logarithmic.log),
    "log2": _Function(logarithmic.log2),
    "log10": _Function(logarithmic.log10),
    "log1p": _Function(logarithmic.log1p),
    "logaddexp": _Function(logarithmic.logaddexp, operands=2),
    "logaddexp2": _Function(logarithmic.logaddexp2, operands=2),
    "arcsinh": _Function(logarithmic.arcsinh),
    "arccosh": _Function(logarithmic.arccosh),
    "arctanh": _Function(logarithmic.arctanh),
    "sqrt": _Function(Term.sqrt),
    "cbrt": _Function(power.cbrt),
    "hypot": _Function(power.hypot, operands=2, wide=True),
    "power": _Function(power.power, operands=2, inline=False),
    "sin": _Function(trigonometric.sin),
    "cos": _Function(trigonometric.cos),
    "sin_by_quarters": _Function(trigonometric.sin_by_quarters, rare=True),
    "cos_by_quarters": _Function(trigonometric.cos_by_quarters, rare=True),
    "tan": _Function(trigonometric.tan),
    "arcsin": _Function(trigonometric.arcsin),
    "arccos": _Function(trigonometric.arccos),
    "arctan": _Function(trigonometric.arctan),
    "arctan2": _Function(trigonometric.arctan2, operands=2),
    "erf": _Function(error.erf),
    "erfc": _Function(error.erfc, wide=True),
    "erfinv": _Function(error.erfinv, wide=True, inline=False),
    "lgamma": _Function(gamma.lgamma, wide=True, inline=False),
    "digamma": _Function(gamma.digamma, wide=True, inline=False),
}
_NAMES = ("%x", "%y")


def supports(name: str, kind: Kind) -> bool:
    """Return whether a function is available for a type.

    Example:
        >>> supports("exp", Kind("double", 8)), supports("exp", Kind("i32"))
        (True, False)
    """
    return name in _FUNCTIONS and kind.is_float


def definitions(wanted: Iterable[tuple[str, Kind]], target: Target | None = None) -> tuple[str, set[str]]:
    """Return the text of the functions wanted and of what they call, each once, and their declarations.

    Args:
        wanted: names and types of operands.
        target: the processor, if more than the usual instructions are to be used.

    Raises:
        KeyError: There is no such function.
    """
    texts: list[str] = []
    declared: set[str] = set()
    reduced: set[Kind] = set()
    waiting = dict.fromkeys(wanted)
    written: set[tuple[str, Kind]] = set()
    while waiting:
        name, kind = each = next(iter(waiting))
        del waiting[each]
        written.add(each)
        writer = _written(name, kind, target)
        texts.append(_text(name, kind, writer))
        declared |= writer.declared
        reduced |= {kind for helper, kind in writer.helpers if helper == argument_reduction.HELPER}
        called = (one for one in sorted(writer.helpers) if one[0] != argument_reduction.HELPER)
        waiting |= dict.fromkeys(one for one in called if one not in written)
    texts += [argument_reduction.lanewise_definition(kind) for kind in sorted(reduced)]
    if reduced:
        text, more = argument_reduction.scalar_definition()
        texts.append(text)
        declared |= more
    return "\n".join(texts), declared


def _written(name: str, kind: Kind, target: Target | None) -> Writer:
    if not supports(name, kind):
        raise KeyError(message("compile", f"no elementary function is called {name} for {kind}", name))
    function = _FUNCTIONS[name]
    wide = function.wide and kind.bits == 32
    writer = Writer(
        kind,
        36 if kind.bits == 32 else 53,
        has_fma=target is not None and target.has_fma,
        has_avx512=target is not None and target.has_avx512,
    )
    operands = [Term(writer, Value(each, kind)) for each in _NAMES[: function.operands]]
    if wide:
        operands = [each.convert("fpext", "double") for each in operands]
    result = function.write(*operands)
    if wide:
        result = result.convert("fptrunc", "float")
    writer.do(f"ret {result.value}")
    return writer


def _text(name: str, kind: Kind, writer: Writer) -> str:
    function = _FUNCTIONS[name]
    operands = ", ".join(f"{kind} {each}" for each in _NAMES[: function.operands])
    attributes = "alwaysinline nounwind" if function.inline else "noinline nounwind"
    if function.rare:
        attributes = "noinline cold nounwind"
        if kind.bits * kind.lanes >= _WIDE:
            attributes += f" {_KEEPING}"
    body = "\n".join(writer.lines)
    return f"define internal {kind} @{symbol(name, kind)}({operands}) {attributes} {{\n{body}\n}}\n"
