"""What turns of a loop read of an array that still holds it when the loops have ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.records import record
from wengert.engine.ir.graph import Equation, Graph, Var

Array = tuple[Graph, int]
"""The array that a loop with a body carries, given by its place among the carries."""


class Reread(NamedTuple):
    """A value of a turn that follows in the same way from the array after all turns of a loop."""

    value: Var
    """The result of `gather`, or of `where`, which chooses elements of the array or of what `gather` reads of it."""
    gathered: Var | None
    """What `gather` reads of the array, of which `where` chooses elements."""
    array: Var
    """The array as the turn reads it."""
    of: Array
    """The loop that has made the array when it ends."""


@record
class Lasting:
    """What the bodies of a nest of loops read that arrays hold when the loop that carries them has ended."""

    rereads: Mapping[Graph, tuple[Reread, ...]]

    def within(self, body: Graph) -> tuple[Reread, ...]:
        """Return what a body reads itself."""
        return self.rereads.get(body, ())


#: Of a nest about which nothing is known.
NOTHING = Lasting({})


def confirmed(rereads: Iterable[Reread], equations: Iterable[Equation]) -> dict[Var, Reread]:
    """Return, by their values, those that equations compute as stated."""
    definitions = {equation.outputs[0]: equation for equation in equations if len(equation.outputs) == 1}

    def is_read(var: Var, array: Var) -> bool:
        equation = definitions.get(var)
        return equation is not None and equation.primitive == "gather" and equation.operands[0] is array

    def is_stated(reread: Reread) -> bool:
        value, gathered, array, _ = reread
        equation = definitions.get(value)
        if equation is None or equation.primitive != "where":
            return gathered is None and is_read(value, array)
        is_one = equation.operands[1:].count(array if gathered is None else gathered) == 1
        return is_one and (gathered is None or is_read(gathered, array))

    return {reread.value: reread for reread in rereads if is_stated(reread)}


def reading(graph: Graph, rereads: Sequence[Reread], arrays: Mapping[Array, Var]) -> Graph:
    """Return a graph that reads values in arrays after all turns, which are further inputs.

    All else that it reads of the arrays of the turn stays.
    """
    wanted = {reread.value: reread for reread in rereads}
    definitions = {
        equation.outputs[0]: equation for equation in graph.equations if len(equation.outputs) == 1
    }
    equations: list[Equation] = []
    for equation in graph.equations:
        reread = wanted.get(equation.outputs[0]) if len(equation.outputs) == 1 else None
        if reread is None:
            equations.append(equation)
            continue
        _, gathered, array, of = reread
        if gathered is not None:
            read = Var(gathered.type)
            equations.append(_with(replace(definitions[gathered], outputs=(read,)), array, arrays[of]))
            equations.append(_with(equation, gathered, read))
        else:
            equations.append(_with(equation, array, arrays[of]))
    return replace(graph, equations=tuple(equations)) if rereads else graph


def _with(equation: Equation, old: Var, new: Var) -> Equation:
    operands = tuple(new if atom is old else atom for atom in equation.operands)
    return replace(equation, operands=operands)
