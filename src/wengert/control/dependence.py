"""Which results of a program its inputs reach: what a loop must know of its step before it transforms the step.

A loop whose carry is followed needs the derivative of its step with respect to that carry, and a step may make a carry
followed that was not. Transforming the step to find out, and then once more, would double the work at each level of
nesting. So the dependence is found first, once for each program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from wengert.core.dtypes import is_float
from wengert.ir.graph import Equation, Graph, Var
from wengert.primitive import REGISTRY, HigherOrder, NonDifferentiable

F = TypeVar("F", bound=Callable[..., Any])


def once(transform: F) -> F:
    """Make a transform of a program remember its results: for the same flags, it runs only once for each program.

    The same program stands in several places: on the way forward, and wherever the way back computes it again. Each
    level of nesting transforms the programs of the next. If it did so for each place, the work would grow
    exponentially with the depth.
    """

    @functools.wraps(transform)
    def transformed(graph: Graph, *options: Any) -> Any:
        given = [tuple(cast("Iterable[Any]", x)) if isinstance(x, (list, tuple)) else x for x in options]
        key = transformed, *given
        if key not in graph.derived:
            graph.derived[key] = transform(graph, *given)
        return graph.derived[key]

    return transformed  # pyright: ignore[reportReturnType]


def through(graph: Graph, marks: Sequence[int]) -> list[int]:
    """Return the marks of the outputs, given those of the inputs.

    A mark is a set of things as the bits of a number; an output has those of all inputs that it depends on.
    """
    return [_union(marks[position] for position in positions) for positions in reached_from(graph)]


@once
def reached_from(graph: Graph) -> list[list[int]]:
    """Return the positions of the inputs from which a derivative may pass to each output."""
    marks = {var: 1 << position if is_float(var.dtype) else 0 for position, var in enumerate(graph.inputs)}
    for equation in graph.equations:
        given = [marks.get(atom, 0) if isinstance(atom, Var) else 0 for atom in equation.operands]
        found = _passed(equation, given) if any(given) else [0] * len(equation.outputs)
        for var, mark in zip(equation.outputs, found, strict=True):
            marks[var] = mark if is_float(var.dtype) else 0
    outputs = [marks.get(atom, 0) if isinstance(atom, Var) else 0 for atom in graph.outputs]
    return [[n for n in range(len(graph.inputs)) if mark >> n & 1] for mark in outputs]


def _passed(equation: Equation, marks: Sequence[int]) -> Sequence[int]:
    """Return the marks of the results of an equation."""
    rule = REGISTRY[equation.primitive].derivative
    if isinstance(rule, NonDifferentiable):
        return [0] * len(equation.outputs)
    if isinstance(rule, HigherOrder) and rule.reach is not None:
        return rule.reach(marks, **equation.params)
    return [_union(marks)] * len(equation.outputs)


def carried_along(
    step: Callable[[Sequence[int]], Sequence[int]], marks: Sequence[int], first: int, count: int
) -> tuple[list[int], Sequence[int]]:
    """Return the marks of what a loop reads, when its carries have all that any number of steps gives them.

    Args:
        step: the marks of the results of a step, of which the first are the carries, from those of what it reads.
        marks: of what the first step reads.
        first: where the carries begin.
        count: how many there are.

    Returns:
        The marks of what a step reads, and those of its results.
    """
    given = list(marks)
    while True:
        found = step(given)
        grown = [old | new for old, new in zip(given[first : first + count], found[:count], strict=True)]
        if grown == given[first : first + count]:
            return given, found
        given[first : first + count] = grown


def settled(
    step: Callable[[Sequence[int]], Sequence[int]], flags: Sequence[bool], first: int, count: int
) -> list[bool]:
    """Return which of the values that a loop reads are active, the carries that a step makes active included."""
    return list(map(bool, carried_along(step, list(map(int, flags)), first, count)[0]))


def _union(marks: Iterable[int]) -> int:
    found = 0
    for mark in marks:
        found |= mark
    return found
