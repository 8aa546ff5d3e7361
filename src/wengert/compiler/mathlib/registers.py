"""Instructions of AVX-512 on whole registers, for terms of any number of lanes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from wengert.compiler.llvm.ir_builder import Builder, Kind, Value, constant, constants
from wengert.compiler.mathlib.terms import Term

_BITS = 512
_ROUND_AS_SET = 4
"""The operand of AVX-512 instructions that keeps the processor's rounding mode."""


def available(x: Term) -> bool:
    """Return whether the processor has these instructions."""
    return x.writer.has_avx512


def lanes(x: Term) -> int:
    """Return the number of elements of a register, which is the size of a lookup table."""
    return _BITS // x.kind.bits


def scaled(x: Term, exponent: Term) -> Term:
    """Return x 2^n, rounded once, for the integer part n of a floating exponent, rounded down."""
    builder, full = x.writer, x.kind._replace(lanes=lanes(x))
    name = f"llvm.x86.avx512.mask.scalef.{'ps' if x.kind.bits == 32 else 'pd'}.{_BITS}"
    every, rounding = constant(Kind(f"i{full.lanes}"), -1), constant(Kind("i32"), _ROUND_AS_SET)

    def scale(number: Value, power: Value) -> Value:
        return builder.call(name, number, power, number, every, rounding, result=full)

    return Term(builder, _register_by_register(builder, scale, x.value, exponent.value))


def chosen(place: Term, numbers: Sequence[float]) -> Term:
    """Return for each lane the number at the place in the table that the low bits of an integer give."""
    builder = place.writer
    full, letter = (Kind("float", 16), "s") if place.kind.bits == 32 else (Kind("double", 8), "d")
    table = constants(full, numbers)

    def choose(places: Value) -> Value:
        return builder.call(f"llvm.x86.avx512.permvar.{letter}f.{_BITS}", table, places, result=full)

    return Term(builder, _register_by_register(builder, choose, place.value))


def _register_by_register(builder: Builder, operate: Callable[..., Value], *operands: Value) -> Value:
    """Apply an operation to operands that fill several registers, or a part of one."""
    count, full = operands[0].kind.lanes, _BITS // operands[0].kind.bits
    results = [
        operate(*(builder.window(operand, start, full) for operand in operands))
        for start in range(0, count, full)
    ]
    while len(results) > 1:
        pairs = itertools.zip_longest(results[::2], results[1::2], fillvalue=results[-1])
        results = [_joined(builder, *pair) for pair in pairs]
    return builder.window(results[0], 0, count)


def _joined(builder: Builder, x: Value, y: Value) -> Value:
    """Return the lanes of two vectors in one."""
    return builder.shuffle(x, range(2 * x.kind.lanes), y)
