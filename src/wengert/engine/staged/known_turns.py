"""The number of turns of a ``while`` statement whose condition depends on numbers that Python knows in each turn.

The equations that the condition needs, of it and of the turns before, are carried out with Python's numbers. Where
each turn adds the same integers, comparisons that have failed once fail for good: a search by halving finds the turn.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wengert.engine.boxes import Box, concrete
from wengert.engine.core.dtypes import BOOL, FLOAT64, INT64, NUMPY_VALUE
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var

#: How many turns are carried out at most, and the integers that fit into a program.
MOST_TURNS, MOST = 1 << 20, 1 << 62
_ORDER = {"less", "less_equal", "greater", "greater_equal"}
_AFFINE = {"add", "subtract", "negative", "positive"}
_OF_DTYPE: dict[Any, type] = {BOOL: bool, INT64: int, FLOAT64: float}
#: The operations of Python's numbers that give the bits which a compiled program computes.
_OPERATIONS: dict[str, Callable[..., Any]] = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "negative": operator.neg,
    "positive": operator.pos,
    "absolute": abs,
    "logical_and": lambda x, y: bool(x) and bool(y),
    "logical_or": lambda x, y: bool(x) or bool(y),
    "logical_not": operator.not_,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
}


class Turns(NamedTuple):
    """The turns of a loop, and what they do to the numbers of the carry that Python knows in each of them."""

    number: int
    """How many there are."""
    steps: dict[int, int]
    """What each turn adds to an integer, by its number in the carry."""
    ends: dict[int, Any]
    """The other ones after the last turn."""


class _UnknownError(Exception):
    """A value is needed that Python does not know, or an operation of other numbers."""


class _Part:
    """The equations of a graph that some of its outputs need.

    Args:
        graph: the graph.
        outputs: what is needed.
        captured: the values of its first inputs; the others are the carry.
    """

    def __init__(self, graph: Graph, outputs: Sequence[Atom], captured: Sequence[Any]) -> None:
        self.outputs = outputs
        needed = {atom for atom in outputs if isinstance(atom, Var)}
        self.equations: list[Equation] = []
        self._steps: list[_Step] = []
        for equation in reversed(graph.equations):
            results = [number for number, var in enumerate(equation.outputs) if var in needed]
            if results:
                step = _step(equation, results)
                self.equations.insert(0, equation)
                self._steps.insert(0, step)
                needed.update(x for x in step.operands if isinstance(x, Var))
        if any(var.shape or var.dtype not in _OF_DTYPE for var in needed):
            raise _UnknownError
        values = [*zip(graph.inputs, captured, strict=False), *graph.constants]
        self.known = {var: _known(value) for var, value in values if var in needed}
        carry = enumerate(graph.inputs[len(captured) :])
        self.carried = {var: number for number, var in carry if var in needed}

    def __call__(self, carry: Mapping[int, Any]) -> list[Any]:
        """Return the outputs, given the numbers of the carry."""
        values = dict(self.known)
        for var, number in self.carried.items():
            values[var] = carry[number]

        def value(atom: Atom) -> Any:
            return atom.value if isinstance(atom, Literal) else values[atom]

        for step in self._steps:
            for var, result in zip(step.results, step.operation(*map(value, step.operands)), strict=True):
                values[var] = result
                if isinstance(result, int) and abs(result) > MOST:
                    raise _UnknownError
        return [*map(value, self.outputs)]


class _Step(NamedTuple):
    """An equation, as far as its results are needed."""

    operation: Callable[..., Sequence[Any]]
    operands: Sequence[Atom]
    results: Sequence[Var]


def _step(equation: Equation, results: Sequence[int]) -> _Step:
    """Return how an equation is carried out.

    Args:
        equation: the equation.
        results: the numbers of the needed outputs.
    """
    needed = [equation.outputs[number] for number in results]
    if equation.primitive != "cond":
        operation = _operation(equation)
        return _Step(lambda *operands: [operation(*operands)], equation.operands, needed)
    test, *operands = equation.operands
    sides = [_Part(graph, [graph.outputs[number] for number in results], ()) for graph in equation.graphs()]
    inputs = sorted({number for side in sides for number in side.carried.values()})

    def choose(holds: Any, *values: Any) -> list[Any]:
        return sides[not holds](dict(zip(inputs, values, strict=True)))

    return _Step(choose, [test, *(operands[number] for number in inputs)], needed)


def _known(value: Any) -> Any:
    """Return a number that Python knows."""
    found = concrete(value) if isinstance(value, Box) else value
    if isinstance(found, NUMPY_VALUE) and found.shape == () and found.dtype in _OF_DTYPE:
        return found.item()
    if isinstance(found, (bool, int, float)):
        return found
    raise _UnknownError


def _operation(equation: Equation) -> Callable[..., Any]:
    """Return the operation of Python's numbers for an equation, if a program computes the same bits."""
    name = equation.primitive
    if name == "cast":
        return _OF_DTYPE[equation.outputs[0].dtype]
    is_float = any(operand.type.dtype == FLOAT64 for operand in equation.operands)
    if name not in _OPERATIONS or (is_float and name in ("floor_divide", "remainder")):
        raise _UnknownError
    return _OPERATIONS[name]


def turns_of(
    condition: tuple[Graph, Sequence[Any]], body: tuple[Graph, Sequence[Any]], initial: Sequence[Any]
) -> Turns | None:
    """Return the turns of a loop whose condition holds before the first; None if Python does not know their number.

    Args:
        condition: its graph, and the values of the first inputs.
        body: the graph of a turn, likewise.
        initial: the carry before the loop, the further inputs of both.
    """
    try:
        test = _Part(condition[0], condition[0].outputs, condition[1])
        carry, parts = _known_in_each_turn(*body, initial)
        if not carry.keys() >= set(test.carried.values()):
            return None
        return _turns_of(test, parts, carry)
    except (_UnknownError, ArithmeticError):
        return None


def steps_of(body: Graph, captured: Sequence[Any], initial: Sequence[Any]) -> dict[int, int]:
    """Return what each turn of a loop adds to integers of the carry, by their numbers.

    Args:
        body: the graph of a turn.
        captured: the values of its first inputs.
        initial: the carry before the loop, the further inputs.
    """
    carry, parts = _known_in_each_turn(body, captured, initial)
    try:
        return _steps(parts, carry, _moved(parts, carry))
    except (_UnknownError, ArithmeticError):
        return {}


def _known_in_each_turn(
    body: Graph, captured: Sequence[Any], initial: Sequence[Any]
) -> tuple[dict[int, Any], dict[int, _Part]]:
    """Return the numbers of the carry that Python knows in each turn, and the equations of a turn that move each."""
    carry: dict[int, Any] = {}
    parts: dict[int, _Part] = {}
    for number, value in enumerate(initial):
        with contextlib.suppress(_UnknownError):
            carry[number], parts[number] = _known(value), _Part(body, [body.outputs[number]], captured)
    while lost := [
        number for number, part in parts.items() if not carry.keys() >= set(part.carried.values())
    ]:
        for number in lost:
            del carry[number], parts[number]
    return {number: carry[number] for number in parts}, parts


def _turns_of(test: _Part, parts: Mapping[int, _Part], carry: dict[int, Any]) -> Turns:
    steps = _steps(parts, carry, _moved(parts, carry))
    if steps.keys() >= set(test.carried.values()) and _is_monotone(test):
        count = _first(lambda n: not test({k: carry[k] + n * step for k, step in steps.items()})[0])
        if len(steps) == len(parts) or count > MOST_TURNS:
            return Turns(count, steps, {})
    for count in range(MOST_TURNS):
        if not test(carry)[0]:
            return Turns(count, steps, {k: value for k, value in carry.items() if k not in steps})
        carry = _moved(parts, carry)
    raise _UnknownError


def _moved(parts: Mapping[int, _Part], carry: Mapping[int, Any]) -> dict[int, Any]:
    """Return the carry after a turn."""
    return {number: part(carry)[0] for number, part in parts.items()}


def _steps(parts: Mapping[int, _Part], carry: Mapping[int, Any], moved: Mapping[int, Any]) -> dict[int, int]:
    """Return what a turn adds to the integers to which each turn adds the same."""
    even = [k for k, part in parts.items() if type(carry[k]) is int and _is_even(part, k)]
    return {k: moved[k] - carry[k] for k in even}


def _is_even(part: _Part, number: int) -> bool:
    """Return whether a turn adds known integers to one of the carry."""
    if [*part.carried.values()] != [number]:
        return False
    (moving,) = part.carried
    for equation in part.equations:
        operands = [x for x in equation.operands if not isinstance(x, Literal) and x not in part.known]
        if operands != [moving] or equation.primitive not in ("add", "subtract"):
            return False
        if equation.primitive == "subtract" and equation.operands[0] is not moving:
            return False
        (moving,) = equation.outputs
    return part.outputs[0] is moving


def _is_monotone(test: _Part) -> bool:
    """Return whether comparisons of integers that each turn moves evenly must all hold."""
    return all(
        equation.primitive in {*_AFFINE, "logical_and"}
        or (equation.primitive in _ORDER and all(x.type.dtype == INT64 for x in equation.operands))
        for equation in test.equations
    )


def _first(fails: Callable[[int], bool]) -> int:
    """Return the first number of which something holds that then holds of all greater ones."""
    high = 1
    while not fails(high):
        if high > MOST:
            raise _UnknownError
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) else (middle, high)
    return high
