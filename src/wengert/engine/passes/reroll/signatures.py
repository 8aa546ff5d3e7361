"""Signatures of equations: equal where two equations may be the same line of a loop, in two of its turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.engine.ir.graph import Equation, Graph, graphs_in
from wengert.engine.passes.common import key
from wengert.engine.passes.reroll.indices import INDEXED, form


def signatures(equations: Sequence[Equation]) -> list[int]:
    """Return a number for each equation: of its operation, its parameters and the types of its values.

    Where the operands come from is left out, and so is where a basic index begins: both may follow the turn.
    """
    numbers: dict[Any, int] = {}
    types: dict[Any, int] = {}

    def type_number(value: Any) -> int:
        return types.setdefault(value.type, len(types))

    result: list[int] = []
    for equation in equations:
        signature = (
            equation.primitive,
            tuple(map(type_number, equation.operands)),
            tuple(map(type_number, equation.outputs)),
            _parameters(equation),
        )
        try:
            number = numbers.setdefault(signature, len(numbers))
        except TypeError:  # a parameter without a hash: the equation repeats no other
            number = numbers[len(numbers)] = len(numbers)
        result.append(number)
    return result


def _parameters(equation: Equation) -> Any:
    params = equation.params
    if not params:
        return ()
    if equation.primitive in INDEXED:
        return tuple(
            (name, form(value) if name == "index" else value) for name, value in sorted(params.items())
        )
    return tuple((name, _parameter(value)) for name, value in sorted(params.items()))


def _parameter(value: Any) -> Any:
    """Return a key of a parameter; programs are equal if they read the same."""
    if isinstance(value, Graph):
        return program_text(value)
    if type(value) is tuple and any(True for _ in graphs_in(value)):
        return tuple(map(_parameter, value))
    return key(value)


def program_text(graph: Graph) -> str:
    """Return the full text of a program, written once."""
    text = graph.derived.get(program_text)
    if text is None:
        text = graph.derived[program_text] = graph.text(full=True)
    return text
