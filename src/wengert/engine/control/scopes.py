"""The integers of a nest of loops as sums of the numbers of turns, and masks as inequalities between them.

An unknown integer belongs to the body in which it is computed: `(body, name)`. It is the same wherever that body and
those around it are in the same turn. `("fixed", name)` is the same in all turns of all loops. `("axis", -n)` is the
position along the axis n of an array, counted from the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.engine.control.inequalities import (
    Affine,
    Different,
    Fact,
    Name,
    constant,
    contradict,
    equal_to,
    unknown,
    within,
)
from wengert.engine.control.subgraphs import memoized
from wengert.engine.core.dtypes import INT64
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import Shape
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var

#: The loops whose number of turns is bounded, with the number of operands before the constants.
LOOPS = {"scan": 0, "bounded_scan": 1}


class Mask(NamedTuple):
    """What holds where a truth value is true, and where it is false; less than all of it, where that is no sum."""

    holds: tuple[Fact, ...]
    fails: tuple[Fact, ...]


Value = Affine | Mask


class Turn(NamedTuple):
    """A turn of a loop."""

    body: Graph
    length: int
    """The largest number of turns."""
    facts: list[Fact]
    """What holds in each turn."""

    @property
    def number(self) -> Affine:
        """The number of the turn."""
        return unknown((self.body, "turn"))


class Scope:
    """A body of a loop, or a branch in it, with what is known of its integers.

    Args:
        graph: the program.
        turns: those of the loops around, the innermost one last.
        values: what is known of its inputs.
        seen: programs that are part of the nest; this one and those in it are added.
        chosen: what holds because the branches around, within the innermost loop, are taken.
    """

    def __init__(
        self,
        graph: Graph,
        turns: tuple[Turn, ...],
        values: Mapping[Var, Value],
        seen: set[Graph],
        chosen: tuple[Fact, ...] = (),
    ) -> None:
        if graph in seen:
            raise RepeatedProgramError
        seen.add(graph)
        self.graph, self.turns, self.values, self.chosen = graph, turns, dict(values), chosen
        self.definitions = {var: equation for equation in graph.equations for var in equation.outputs}
        self.inner: dict[Equation, tuple[Scope, ...]] = {}
        self._seen = seen
        for var, value in graph.constants:
            self._enter(var, _progression(value))
        for var in graph.inputs:
            self._enter(var, None)
        for equation in graph.equations:
            self._follow(equation)

    @property
    def turn(self) -> Turn:
        """The turn of the innermost loop."""
        return self.turns[-1]

    def read(self, atom: Atom) -> Value | None:
        """Return what is known of a value."""
        if isinstance(atom, Literal):
            is_integer = isinstance(atom.value, (int, np.integer)) and not isinstance(atom.value, bool)
            return constant(int(atom.value)) if is_integer else None
        return self.values.get(atom)

    def facts(self) -> list[Fact]:
        """Return what holds of the numbers of turns and other unknown integers."""
        return [*(fact for turn in self.turns for fact in turn.facts), *self.chosen]

    def position(self, index: Atom) -> Affine | None:
        """Return an index if it is a sum that is never negative: negative ones count from the end."""
        value = self.read(index)
        if not isinstance(value, Affine):
            return None
        negative = [*self.facts(), *positions(index.type.shape), value.shifted(1)]
        return value if contradict(negative) else None

    def _enter(self, var: Var, value: Value | None) -> None:
        if var in self.values:
            return
        if value is None and var.dtype == INT64 and not var.shape:
            value = unknown((self.turn.body, var))
        if value is not None:
            self.values[var] = value

    def _follow(self, equation: Equation) -> None:
        if equation.primitive in LOOPS:
            self.inner[equation] = (self._loop(equation),)
        elif equation.primitive == "cond":
            self.inner[equation] = tuple(map(self._branch, (equation, equation), (True, False)))
        elif equation.primitive in _RULES and len(equation.outputs) == 1:
            self._enter(equation.outputs[0], _RULES[equation.primitive](self, equation))
        for var in equation.outputs:
            self._enter(var, None)

    def _given(self, inputs: Iterable[Var], operands: Iterable[Atom]) -> dict[Var, Value]:
        found = ((var, self.read(atom)) for var, atom in zip(inputs, operands, strict=True))
        return {var: value for var, value in found if value is not None}

    def _branch(self, equation: Equation, is_taken: bool) -> Scope:
        branch, mask = equation.params["on_true" if is_taken else "on_false"], self.read(equation.operands[0])
        found = (mask.holds if is_taken else mask.fails) if isinstance(mask, Mask) else ()
        facts = (fact for fact in found if not any(map(is_axis, fact.names())))
        values = self._given(branch.inputs, equation.operands[1:])
        return Scope(branch, self.turns, values, self._seen, (*self.chosen, *facts))

    def _loop(self, equation: Equation) -> Scope:
        params, first = equation.params, LOOPS[equation.primitive]
        body, fixed, carries = params["body"], params["constants"], params["carries"]
        operands = equation.operands[first:]
        turn = Turn(body, params["length"], [*self.chosen])
        turn.facts.extend(within(turn.number, turn.length))
        if first:
            turn.facts.extend(self._below(turn.number, equation.operands[0]))
        values = self._given(body.inputs[:fixed], operands[:fixed])
        starts = [self.read(atom) for atom in operands[fixed : fixed + carries]]
        values.update(counters(turn, fixed, starts))
        return Scope(body, (*self.turns, turn), values, self._seen)

    def _below(self, number: Affine, atom: Atom) -> list[Fact]:
        """Return what follows from a number that is at least 0 and less than a value."""
        equation = self.definitions.get(atom) if isinstance(atom, Var) else None
        if equation is not None and equation.primitive == "cast" and equation.operands[0].type.dtype == INT64:
            return self._below(number, equation.operands[0])
        if equation is not None and equation.primitive == "where":
            mask, chosen, other = map(self.read, equation.operands)
            if isinstance(mask, Mask) and isinstance(chosen, Affine) and isinstance(other, Affine):
                if not other.terms and other.constant <= 0:
                    return [*mask.holds, number.plus(chosen, -1).shifted(1)]
                if not chosen.terms and chosen.constant <= 0:
                    return [*mask.fails, number.plus(other, -1).shifted(1)]
        value = self.read(atom)
        return [number.plus(value, -1).shifted(1)] if isinstance(value, Affine) else []


class RepeatedProgramError(Exception):
    """One program stands in two places of a nest."""


def root(body: Graph, fixed: int, length: int, starts: Sequence[int | None]) -> Scope | None:
    """Return the body of the outermost loop of a nest; None where a program stands in two places.

    Args:
        body: the body.
        fixed: the number of its inputs before the carries.
        length: the largest number of turns.
        starts: the carries before the first turn where they are known integers.
    """
    turn = Turn(body, length, [])
    turn.facts.extend(within(turn.number, length))
    carries = zip(body.inputs[fixed:], starts, strict=False)
    known = [unknown(("fixed", var)) if start is None else constant(start) for var, start in carries]
    numbers = [var for var in body.inputs[:fixed] if var.dtype == INT64 and not var.shape]
    values = {var: unknown(("fixed", var)) for var in numbers}
    try:
        return Scope(body, (turn,), {**values, **counters(turn, fixed, known)}, set())
    except RepeatedProgramError:
        return None


def counters(turn: Turn, fixed: int, starts: Sequence[Value | None]) -> dict[Var, Affine]:
    """Return the carries to which each turn adds the same number, given all carries before the first turn."""
    found: dict[Var, Affine] = {}
    for place, step in steps(turn.body, fixed, len(starts)).items():
        start = starts[place]
        if isinstance(start, Affine) and not any(map(is_axis, start.terms)):
            found[turn.body.inputs[fixed + place]] = start.plus(turn.number, step)
    return found


@memoized
def steps(body: Graph, constants: int, carries: int) -> dict[int, int]:
    """Return the carries to which each turn adds the same number, with that."""
    definitions = {
        equation.outputs[0]: equation for equation in body.equations if equation.primitive == "add"
    }
    found: dict[int, int] = {}
    for number, atom in enumerate(body.outputs[:carries]):
        carry = body.inputs[constants + number]
        equation = definitions.get(atom) if isinstance(atom, Var) else None
        if equation is None or carry.dtype != INT64 or carry.shape or carry not in equation.operands:
            continue
        added = [x.value for x in equation.operands if isinstance(x, Literal)]
        if added and type(added[0]) in (int, np.int64):
            found[number] = int(added[0])
    return found


def axis(number: int) -> Affine:
    """Return the position along an axis, counted from the end."""
    return unknown(("axis", -number))


def is_axis(name: Name) -> bool:
    """Return whether an integer is a position along an axis."""
    return name[0] == "axis"


def positions(shape: Shape) -> list[Affine]:
    """Return what holds of the positions along the axes of an array."""
    return [fact for n, extent in enumerate(shape) for fact in within(axis(len(shape) - n), extent)]


def _progression(value: Any) -> Affine | None:
    """Return the sum of a constant of integers that lie along one axis, at equal distances."""
    if getattr(value, "dtype", None) != INT64 or not np.size(value):
        return None
    shape, numbers = np.shape(value), np.reshape(value, (-1,))
    long = [n for n, extent in enumerate(shape) if extent > 1]
    if not long:
        return constant(int(numbers[0]))
    distances = np.diff(numbers)
    if len(long) > 1 or np.any(distances != distances[0]):
        return None
    return axis(len(shape) - long[0]).times(int(distances[0])).shifted(int(numbers[0]))


# -- operations ------------------------------------------------------------------------------------------


_Rule = Callable[[Scope, Equation], Value | None]


def _sums(combine: Callable[[Affine, Affine], Affine | None]) -> _Rule:
    def rule(scope: Scope, equation: Equation) -> Affine | None:
        left, right = map(scope.read, equation.operands)
        if equation.outputs[0].dtype != INT64 or not (isinstance(left, Affine) and isinstance(right, Affine)):
            return None
        return combine(left, right)

    return rule


def _product(left: Affine, right: Affine) -> Affine | None:
    if not left.terms:
        return right.times(left.constant)
    return None if right.terms else left.times(right.constant)


def _compare(holds: Callable[[Affine, Affine], Any], fails: Callable[[Affine, Affine], Any]) -> _Rule:
    def rule(scope: Scope, equation: Equation) -> Mask | None:
        left, right = map(scope.read, equation.operands)
        if not (isinstance(left, Affine) and isinstance(right, Affine)):
            return None
        return Mask(tuple(holds(left, right)), tuple(fails(left, right)))

    return rule


def _less(left: Affine, right: Affine) -> list[Affine]:
    return [left.plus(right, -1).shifted(1)]


def _at_most(left: Affine, right: Affine) -> list[Affine]:
    return [left.plus(right, -1)]


def _exchanged(compare: Callable[[Affine, Affine], Any]) -> Callable[[Affine, Affine], Any]:
    return lambda left, right: compare(right, left)


def _different(left: Affine, right: Affine) -> list[Different]:
    return [Different(left.plus(right, -1))]


def _both(scope: Scope, equation: Equation) -> Mask:
    masks = [x for x in map(scope.read, equation.operands) if isinstance(x, Mask)]
    return Mask(tuple(fact for mask in masks for fact in mask.holds), ())


def _either(scope: Scope, equation: Equation) -> Mask:
    masks = [x for x in map(scope.read, equation.operands) if isinstance(x, Mask)]
    return Mask((), tuple(fact for mask in masks for fact in mask.fails))


def _opposite(scope: Scope, equation: Equation) -> Mask | None:
    mask = scope.read(equation.operands[0])
    return Mask(mask.fails, mask.holds) if isinstance(mask, Mask) else None


def _same(scope: Scope, equation: Equation) -> Value | None:
    value, kind = scope.read(equation.operands[0]), equation.outputs[0].dtype
    return value if kind == (INT64 if isinstance(value, Affine) else np.bool_) else None


def _negative(scope: Scope, equation: Equation) -> Affine | None:
    value = scope.read(equation.operands[0])
    if not isinstance(value, Affine) or equation.outputs[0].dtype != INT64:
        return None
    return value.times(-1)


def _reshaped(scope: Scope, equation: Equation) -> Value | None:
    """Follow a reshape that only adds and removes axes of one element."""
    (operand,), (var,) = equation.operands, equation.outputs
    before, after = ([len(s) - n for n, e in enumerate(s) if e != 1] for s in (operand.type.shape, var.shape))
    value = scope.read(operand)
    extents = [tuple(e for e in s if e != 1) for s in (operand.type.shape, var.shape)]
    if value is None or extents[0] != extents[1]:
        return None
    names: dict[Name, Name] = {("axis", -old): ("axis", -new) for old, new in zip(before, after, strict=True)}
    return renamed(value, lambda name: names.get(name, name))


def renamed(value: Value, name: Callable[[Name], Name]) -> Value:
    """Return a value whose integers have other names."""
    if isinstance(value, Affine):
        return value.renamed(name)
    return Mask(*(tuple(fact.renamed(name) for fact in facts) for facts in value))


def _divided(is_quotient: bool) -> _Rule:
    def rule(scope: Scope, equation: Equation) -> Affine | None:
        value, divisor = map(scope.read, equation.operands)
        (var,) = equation.outputs
        if not (isinstance(value, Affine) and isinstance(divisor, Affine)) or var.dtype != INT64:
            return None
        if divisor.terms or divisor.constant < 1 or var.shape:
            return None
        number = divisor.constant
        if number == 1:
            return value if is_quotient else constant(0)
        quotient = unknown((scope.turn.body, (var, "quotient")))
        remainder = value.plus(quotient, -number)
        scope.turn.facts.extend(within(remainder, number))
        return quotient if is_quotient else remainder

    return rule


_RULES: dict[str, _Rule] = {
    "add": _sums(lambda left, right: left.plus(right)),
    "subtract": _sums(lambda left, right: left.plus(right, -1)),
    "multiply": _sums(_product),
    "negative": _negative,
    "floor_divide": _divided(is_quotient=True),
    "remainder": _divided(is_quotient=False),
    "less": _compare(_less, _exchanged(_at_most)),
    "less_equal": _compare(_at_most, _exchanged(_less)),
    "greater": _compare(_exchanged(_less), _at_most),
    "greater_equal": _compare(_exchanged(_at_most), _less),
    "equal": _compare(equal_to, _different),
    "not_equal": _compare(_different, equal_to),
    "logical_and": _both,
    "logical_or": _either,
    "logical_not": _opposite,
    "cast": _same,
    "reshape": _reshaped,
    "broadcast_to": _same,
}
