"""Algebra that is exact in floating-point arithmetic: neutral operands, involutions, and moves that cancel or merge.

A rule holds for every value, -0, infinities and NaN among them: ``x + 0`` is not neutral, since -0 + 0 = 0, but
``x + -0.0`` and ``x - 0`` are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from wengert.engine.core.shapes import Shape
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal
from wengert.engine.ir.types import type_of
from wengert.engine.passes.rewrite import Rewrite, negative_zero, positive_zero
from wengert.engine.primitive import REGISTRY

#: The result of a rule: a value that stands for the result, another equation for it, or None.
Found: TypeAlias = "Atom | Equation | None"
Rule: TypeAlias = "Callable[[Rewrite, Equation], Found]"

_RULES: dict[str, Rule] = {}


def apply_algebra(graph: Graph) -> Graph:
    """Replace operations that change nothing, or that one operation does as well as two.

    Example:
        >>> import wengert.engine.ops.arithmetic
        >>> from wengert.engine.ir.parser import parse
        >>> source = "graph(x: f64[]) { v1: f64[] = multiply(x, f64(1.0)) v2: f64[] = exp(v1) return v2 }"
        >>> print(apply_algebra(parse(source)))
        graph(x: f64[]) {
          v1: f64[] = exp(x)
          return v1
        }
    """
    return _Algebra(graph).run()


class _Algebra(Rewrite):
    def visit(self, equation: Equation) -> Equation | Sequence[Atom]:
        rule = _RULES.get(equation.primitive)
        result = rule(self, equation) if rule else None
        if result is None:
            return _without_broadcasts(self, equation)
        if isinstance(result, Equation):
            return result
        if result.type == equation.outputs[0].type:
            return [result]
        return _as_cast(equation, result) or equation


def _rule(*primitives: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(primitives, rule))
        return rule

    return register


def _as_cast(equation: Equation, value: Atom) -> Equation | None:
    """Return the conversion of a Python scalar to the same number of NumPy's, where that is all that is left."""
    (out,) = equation.outputs
    if equation.primitive == "cast" or value.type._replace(weak=False) != out.type:
        return None
    return replace(equation, primitive="cast", operands=(value,), params={"dtype": out.dtype})


# -- neutral operands ------------------------------------------------------------------------------------


@_rule("multiply")
def _product(walk: Rewrite, equation: Equation) -> Found:
    x, y = equation.operands
    return x if _is_one(walk, y) else y if _is_one(walk, x) else None


@_rule("divide")
def _quotient(walk: Rewrite, equation: Equation) -> Found:
    x, y = equation.operands
    return x if _is_one(walk, y) else None


@_rule("multiply_no_nan")
def _scaled(walk: Rewrite, equation: Equation) -> Found:
    x, y = equation.operands
    if _is_one(walk, x):
        return y
    if _is_one(walk, y):
        return x
    return replace(equation, primitive="multiply") if _is_regular(walk, x) or _is_regular(walk, y) else None


def _is_regular(walk: Rewrite, atom: Atom) -> bool:
    """Return whether all elements of a value are known to be neither zero nor infinite nor NaN."""
    value = walk.known(atom)
    return value is not None and bool(np.all(np.isfinite(value) & np.not_equal(value, 0)))


def _is_one(walk: Rewrite, atom: Atom) -> bool:
    value = walk.uniform(atom)
    return value is not None and bool(value == 1)


@_rule("chosen_slope")
def _slope(walk: Rewrite, equation: Equation) -> Found:
    slope = equation.operands[0]
    return slope if slope.type.shape == equation.outputs[0].type.shape else None


@_rule("add")
def _sum(walk: Rewrite, equation: Equation) -> Found:
    x, y = equation.operands
    return x if _adds_nothing(walk, y, equation) else y if _adds_nothing(walk, x, equation) else None


def _adds_nothing(walk: Rewrite, atom: Atom, equation: Equation) -> bool:
    value = walk.uniform(atom)
    if value is None:
        return False
    return bool(value == 0) if equation.outputs[0].dtype.kind in "biu" else negative_zero(value)


@_rule("subtract")
def _difference(walk: Rewrite, equation: Equation) -> Found:
    x, y = equation.operands
    value = walk.uniform(y)
    return x if value is not None and positive_zero(value) else None


@_rule("integer_power")
def _power(walk: Rewrite, equation: Equation) -> Found:
    return equation.operands[0] if equation.params["exponent"] == 1 else None


@_rule("positive")
def _positive(walk: Rewrite, equation: Equation) -> Found:
    return equation.operands[0]


@_rule("where")
def _choice(walk: Rewrite, equation: Equation) -> Found:
    condition, x, y = equation.operands
    if x is y:
        return x
    value = walk.uniform(condition)
    return None if value is None else x if value else y


@_rule("negative", "invert")
def _involution(walk: Rewrite, equation: Equation) -> Found:
    first = walk.definition(equation.operands[0], equation.primitive)
    return first.operands[0] if first else None


@_rule("cast")
def _conversion(walk: Rewrite, equation: Equation) -> Found:
    (x,) = equation.operands
    first = walk.definition(x, "cast")
    if first is not None and _loses_nothing(first):
        return replace(equation, operands=first.operands)
    return x if x.type == equation.outputs[0].type else None


def _loses_nothing(cast: Equation) -> bool:
    before, after = cast.operands[0].type.dtype, cast.outputs[0].dtype
    return before == after or (before.kind == after.kind and before.itemsize < after.itemsize)


# -- moves -----------------------------------------------------------------------------------------------


@_rule("reshape", "broadcast_to")
def _move(walk: Rewrite, equation: Equation) -> Found:
    (x,) = equation.operands
    if x.type == equation.outputs[0].type:
        return x
    first = walk.definition(x, equation.primitive)
    return replace(equation, operands=first.operands) if first else None


@_rule("transpose")
def _transposition(walk: Rewrite, equation: Equation) -> Found:
    (x,), permutation = equation.operands, equation.params["permutation"]
    if permutation == tuple(range(len(permutation))):
        return x
    first = walk.definition(x, "transpose")
    if first is None:
        return None
    merged = tuple(first.params["permutation"][axis] for axis in permutation)
    return replace(equation, operands=first.operands, params={"permutation": merged})


@_rule("slice")
def _part(walk: Rewrite, equation: Equation) -> Found:
    (x,), index = equation.operands, equation.params["index"]
    if index == _whole(x.type.shape):
        return x
    joined = walk.definition(x, "concatenate")
    if joined is not None:
        return _part_of_joined(joined, equation)
    first = walk.definition(x, "slice")
    if first is None:
        return None
    merged = tuple(_within(first.params["index"], iter(index)))
    return replace(equation, operands=first.operands, params={"index": merged})


def _part_of_joined(joined: Equation, part: Equation) -> Equation | None:
    """Return a part of joined arrays as a part of the one array that it lies in."""
    axis: int = joined.params["axis"]
    index: tuple[Any, ...] = part.params["index"]
    entry, start = index[axis], 0
    first, count, step = (entry, 1, 1) if isinstance(entry, int) else entry
    low, high = sorted((first, first + max(count - 1, 0) * step))
    for operand in joined.operands:
        stop = start + operand.type.shape[axis]
        if start <= low and high < stop and operand.type.dtype == part.outputs[0].dtype:
            moved = first - start if isinstance(entry, int) else (first - start, count, step)
            new = {"index": (*index[:axis], moved, *index[axis + 1 :])}
            return replace(part, operands=(operand,), params=new)
        start = stop
    return None


def _whole(shape: Shape) -> tuple[Any, ...]:
    return tuple((0, extent, 1) for extent in shape)


def _within(first: Iterable[Any], second: Iterator[Any]) -> Iterator[Any]:
    """Yield the index that takes from an array what ``second`` takes from what ``first`` takes."""
    for entry in first:
        if isinstance(entry, int):
            yield entry
            continue
        start, _, step = entry
        inner = next(second)
        if isinstance(inner, int):
            yield start + inner * step
        else:
            yield (start + inner[0] * step if inner[1] else 0, inner[1], step * inner[2])


@_rule("embed")
def _embedding(walk: Rewrite, equation: Equation) -> Found:
    whole = equation.params["index"] == _whole(equation.params["shape"])
    return equation.operands[0] if whole else None


@_rule("place")
def _placing(walk: Rewrite, equation: Equation) -> Found:
    x, y = equation.operands
    return y if equation.params["index"] == _whole(x.type.shape) and y.type == x.type else None


@_rule("concatenate")
def _joined(walk: Rewrite, equation: Equation) -> Found:
    return equation.operands[0] if len(equation.operands) == 1 else None


@_rule("side_by_side")
def _pairs(walk: Rewrite, equation: Equation) -> Found:
    """Return the array of which the operands are the two columns."""
    columns = [walk.definition(operand, "slice") for operand in equation.operands]
    sources = {column.operands[0] for column in columns if column is not None}
    if None in columns or len(sources) != 1:
        return None
    (x,) = sources
    if x.type != equation.outputs[0].type:
        return None
    wanted = [(*_whole(x.type.shape)[:-1], number) for number in range(2)]
    return x if [column.params["index"] for column in columns if column is not None] == wanted else None


def _without_broadcasts(walk: Rewrite, equation: Equation) -> Equation:
    """Let an elementwise operation broadcast by itself, where that gives the same type."""
    primitive = REGISTRY[equation.primitive]
    if not primitive.elementwise:
        return equation
    for position, operand in enumerate(equation.operands):
        narrow = _narrow(walk, operand)
        if narrow is None:
            continue
        operands = (*equation.operands[:position], narrow, *equation.operands[position + 1 :])
        inferred = primitive.infer(*(atom.type for atom in operands), **equation.params)
        if inferred == equation.outputs[0].type:
            equation = replace(equation, operands=operands)
    return equation


def _narrow(walk: Rewrite, operand: Atom) -> Atom | None:
    """Return the value that broadcasting, or new leading axes of extent one, made into the operand."""
    if operand.type.shape and (number := walk.uniform(operand)) is not None:
        return Literal(number, type_of(number))
    broadcast = walk.definition(operand, "broadcast_to")
    if broadcast is not None:
        narrow = broadcast.operands[0]
    else:
        reshaped = walk.definition(operand, "reshape")
        if reshaped is None:
            return None
        narrow = reshaped.operands[0]
        before, after = narrow.type.shape, operand.type.shape
        if after != (1,) * (len(after) - len(before)) + before:
            return None
    return None if narrow.type.weak else narrow
