"""Values that depend on counters of loops alone: their least and greatest integers; whether unrolling knows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from wengert.engine.boxes import RUNNING, Box, concrete
from wengert.engine.control.recording import Recorder
from wengert.engine.core.dtypes import INT64
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.types import TensorType
from wengert.engine.staged.regions import FLOW
from wengert.engine.transforms.staging import GraphTrace

#: The type of a number of turns, or of elements.
COUNTER = TensorType(INT64, (), True)
Interval = tuple[int, int]
"""The least and the greatest integer that a value may be."""
#: Beyond the integers of an interval without an end.
BEYOND = 1 << 62
_COMPARISONS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
_LOGICAL = {"logical_and", "logical_or", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor"}
_OF_INTEGERS = {"add", "subtract", "floor_divide", "remainder"}
#: Operations whose results a compiled program computes bit by bit as NumPy does.
_EXACT = {
    *_COMPARISONS,
    *_LOGICAL,
    "multiply",
    "negative",
    "divide",
    "maximum",
    "minimum",
    "absolute",
    "gather",
}
_MOVING = {"where", "cast", "cond", "reshape", "positive", "stop_gradient", "slice", "check_bounds"}


class Turn(Recorder):
    """Records a turn of a loop.

    Args:
        most: how many turns the loop takes at most; None if that is not known.
    """

    name = "loop"
    traced: ClassVar[bool] = True

    def __init__(self, most: int | None) -> None:
        super().__init__()
        self.most = most


class _Scope(NamedTuple):
    """Where variables are looked up."""

    definition: Callable[[Any], Equation | None]
    """Returns the equation that defines a variable."""
    given: Callable[[Any, Callable[..., Any]], Any]
    """Asks a question about a variable that none defines."""
    constants: set[Any]
    known: dict[Any, Any]
    """The answers so far."""


# -- intervals -------------------------------------------------------------------------------------------


def interval(value: Any) -> Interval | None:
    """Return between which integers a value lies, as the counters of the loops around tell; None if they do not."""
    known = concrete(value) if isinstance(value, Box) else value
    if isinstance(known, (int, np.integer)):
        return int(known), int(known)
    if not isinstance(value, Box) or value.shape or value.dtype.kind not in "iu":
        return None
    return _asked(value, interval, _interval)


def limit(value: Any, low: int, high: int) -> Any:
    """Return an integer, and note that it lies between two others, whatever it is made of."""
    if isinstance(value, Box) and isinstance(value.owner, GraphTrace) and low <= high:
        FLOW.limits[value.owner.variable(value.state)] = low, high
    return value


def _asked(value: Any, of_value: Callable[[Any], Any], of_atom: Callable[[Any, _Scope], Any]) -> Any:
    """Ask about a box of a trace; None where it has no equations."""
    value.refresh()
    trace = value.owner
    if not isinstance(trace, GraphTrace):
        return None
    return of_atom(trace.variable(value.state), _scope(trace, of_value))


def _scope(trace: GraphTrace, of_value: Callable[[Any], Any]) -> _Scope:
    def definition(var: Any) -> Equation | None:
        return next((one for one in reversed(trace.equations) if var in one.outputs), None)

    def given(var: Any, of_counter: Callable[[Turn], Any]) -> Any:
        captured = trace.source(var)
        if captured is not None:
            return of_value(captured)
        return of_counter(trace) if isinstance(trace, Turn) and trace.inputs[0] is var else None

    return _Scope(definition, given, {var for var, _ in trace.constants}, {})


def _inner(
    graph: Graph, operands: Sequence[Any], scope: _Scope, ask: Callable[[Atom, _Scope], Any]
) -> _Scope:
    """Return where the variables of a branch are looked up."""
    places = dict(zip(graph.inputs, operands, strict=True))
    definitions = {output: one for one in graph.equations for output in one.outputs}

    def given(var: Any, of_counter: Any) -> Any:
        return ask(places[var], scope) if var in places else None

    return _Scope(definitions.get, given, {var for var, _ in graph.constants}, {})


def _interval(atom: Atom, scope: _Scope) -> Interval | None:
    if isinstance(atom, Literal):
        number = atom.value
        return (int(number), int(number)) if isinstance(number, (int, np.integer)) else None
    if atom not in scope.known:
        found, noted = _interval_of(atom, scope), FLOW.limits.get(atom)
        if found is not None and noted is not None:
            noted = max(found[0], noted[0]), min(found[1], noted[1])
        scope.known[atom] = noted or found
    return scope.known[atom]


def _interval_of(atom: Var, scope: _Scope) -> Interval | None:
    if atom.type.shape or atom.type.dtype.kind not in "iu":
        return None
    equation = scope.definition(atom)
    if equation is None:
        return scope.given(atom, lambda turn: (0, max(turn.most - 1, 0)) if turn.most is not None else None)
    if equation.primitive == "cond":
        number = equation.outputs.index(atom)
        parts = [
            _interval(graph.outputs[number], _inner(graph, equation.operands[1:], scope, _interval))
            for graph in equation.graphs()
        ]
        return _hull(parts)
    if equation.primitive in ("argmax", "argmin"):
        axis: int = equation.params["axis"]
        return 0, equation.operands[0].type.shape[axis] - 1
    operands = equation.operands[1:] if equation.primitive == "where" else equation.operands
    found = [_interval(operand, scope) for operand in operands]
    rule = _RULES.get(equation.primitive)
    known = [part for part in found if part is not None]
    return rule(*known) if rule is not None and len(known) == len(found) else None


def _hull(parts: Sequence[Interval | None]) -> Interval | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _product(x: Interval, y: Interval) -> Interval:
    found = [one * other for one in x for other in y]
    return min(found), max(found)


def _quotient(x: Interval, y: Interval) -> Interval | None:
    if y[0] != y[1] or not y[0]:
        return None
    ends = x[0] // y[0], x[1] // y[0]
    return min(ends), max(ends)


def _remainder(x: Interval, y: Interval) -> Interval | None:
    return (0, y[0] - 1) if y[0] == y[1] > 0 else None


_RULES: dict[str, Callable[..., Interval | None]] = {
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "subtract": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "negative": lambda x: (-x[1], -x[0]),
    "multiply": _product,
    "floor_divide": _quotient,
    "remainder": _remainder,
    "maximum": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "minimum": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "where": lambda x, y: _hull([x, y]),
    "cast": lambda x: x,
    "positive": lambda x: x,
}


# -- differences -----------------------------------------------------------------------------------------


def window(start: Any, stop: Any, extent: int) -> int | None:
    """Return the extent of the slice ``start:stop`` of an axis, if its ends differ by a known number.

    Args:
        start: an integer of Python's, or a box of one.
        stop: the same, or None.
        extent: of the axis, of which nothing may be cut off.
    """
    if stop is None or not RUNNING.hides_text:  # outside of staged runs
        return None
    limits = interval(start)
    sums = [sum_of(value) for value in (start, stop)]
    if limits is None or sums[0] is None or sums[1] is None:
        return None
    (terms, number), (others, other) = sums[0], sums[1]
    length = other - number
    if terms != others or length < 1 or limits[0] < 0 or limits[1] + length > extent:
        return None
    FLOW.has_windows = True
    return length


Sum = tuple[dict[Any, int], int]
"""Multiples of variables, and a number."""


def sum_of(value: Any) -> Sum | None:
    """Return an integer as a sum of multiples of variables and a number; None for other values."""
    known = concrete(value) if isinstance(value, Box) else value
    if isinstance(known, (int, np.integer)):
        return {}, int(known)
    if not isinstance(value, Box) or value.shape or value.dtype.kind not in "iu":
        return None
    value.refresh()
    trace = value.owner
    if not isinstance(trace, GraphTrace):
        return None
    return _sum(trace.variable(value.state), trace, _scope(trace, sum_of))


def _sum(atom: Atom, trace: GraphTrace, scope: _Scope) -> Sum | None:
    if isinstance(atom, Literal):
        number = atom.value
        return ({}, int(number)) if isinstance(number, (int, np.integer)) else None
    if atom not in scope.known:
        scope.known[atom] = _sum_at(atom, trace, scope)
    return scope.known[atom]


def _sum_at(atom: Var, trace: GraphTrace, scope: _Scope) -> Sum | None:
    equation = scope.definition(atom)
    if equation is None and trace.source(atom) is not None:
        return sum_of(trace.source(atom))
    operands = [] if equation is None else [_sum(x, trace, scope) for x in equation.operands]
    match equation.primitive if equation is not None else "", operands:
        case "add", [(one, number), (other, rest)]:
            return _added(one, other, 1), number + rest
        case "subtract", [(one, number), (other, rest)]:
            return _added(one, other, -1), number - rest
        case "multiply", [(one, number), (other, factor)] if not other:
            return _added({}, one, factor), number * factor
        case "multiply", [(other, factor), (one, number)] if not other:
            return _added({}, one, factor), number * factor
        case "cast", [total] if equation is not None and _keeps_integers(equation):
            return total
        case _:
            return {atom: 1}, 0


def _keeps_integers(equation: Equation) -> bool:
    """Return whether a cast makes 64 bits of integers of no more."""
    before, after = equation.operands[0].type.dtype, equation.outputs[0].type.dtype
    return after == INT64 and (before.kind == "i" or (before.kind == "u" and before.itemsize < 8))


def _added(one: dict[Any, int], other: dict[Any, int], factor: int) -> dict[Any, int]:
    found = {var: one.get(var, 0) + factor * other.get(var, 0) for var in {**one, **other}}
    return {var: count for var, count in found.items() if count}


def limits(value: Any) -> tuple[int | None, int | None]:
    """Return between which integers a value lies, as far as is known; what counters add and take away is nothing."""
    total = sum_of(value)
    if total is not None and not total[0]:
        return total[1], total[1]
    found = interval(value)
    return (None, None) if found is None else found


# -- what unrolling knows --------------------------------------------------------------------------------


def is_counted(value: Any) -> bool:
    """Return whether a value is known where the loops around are unrolled, and a program computes the same bits."""
    if not isinstance(value, Box) or concrete(value) is not None:
        return True
    return _asked(value, is_counted, _counted) is True


def _counted(atom: Atom, scope: _Scope) -> bool:
    if isinstance(atom, Literal) or atom in scope.constants:
        return True
    if atom not in scope.known:
        equation = scope.definition(atom)
        if equation is None:
            scope.known[atom] = scope.given(atom, lambda _: True) is True
        else:
            scope.known[atom] = _is_exact(equation) and all(_counted(x, scope) for x in equation.operands)
    return scope.known[atom]


def _is_exact(equation: Equation) -> bool:
    name = equation.primitive
    if name in _OF_INTEGERS:
        return all(operand.type.dtype.kind in "iub" for operand in equation.operands)
    graphs = list(equation.graphs())
    if graphs:
        return name == "cond" and all(_is_exact(one) for graph in graphs for one in graph.equations)
    return name in _EXACT or name in _MOVING
