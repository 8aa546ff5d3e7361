"""Values that pass twice into a program inside a graph, or out of it, pass once.

Reverse mode keeps what each operation reads: a loop that uses a value several times stacks it as many times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.passes.common import key
from wengert.engine.passes.rewrite import Rewrite


def merge_passed(graph: Graph, simplify: Callable[[Graph], Graph]) -> Graph:
    """Return the graph in which loops and branches take and return each value once.

    Args:
        graph: a graph.
        simplify: is applied to programs whose inputs are fewer now.
    """
    return _Merge(graph, simplify).run()


class _Merge(Rewrite):
    def __init__(self, graph: Graph, simplify: Callable[[Graph], Graph]) -> None:
        super().__init__(graph)
        self._simplify = simplify

    def visit(self, equation: Equation) -> Equation | Sequence[Atom]:
        match equation.primitive:
            case "scan" | "bounded_scan":
                return self._loop(equation)
            case "while":
                return self._while(equation)
            case "cond":
                return self._branch(equation)
            case _:
                return equation

    def _loop(self, equation: Equation) -> Equation:
        params, body = equation.params, equation.params["body"]
        constants, carries = params["constants"], params["carries"]
        lead = len(equation.operands) - len(body.inputs)  # the number of turns
        operands = equation.operands[lead:]
        first = _first_places(operands, [body], range(constants))
        last = _first_places(operands, [body], range(constants + carries, len(operands)))
        if first or last:
            body = self._simplify(_without_inputs(body, {**first, **last}))
            operands = tuple(x for n, x in enumerate(operands) if n not in first and n not in last)
        places = self._merged_outputs(equation, [body], carries)
        if not (first or last or places):
            return equation
        return replace(
            equation,
            operands=(*equation.operands[:lead], *operands),
            outputs=_without(equation.outputs, places),
            params={
                **params,
                "body": replace(body, outputs=_without(body.outputs, places)) if places else body,
                "constants": constants - len(first),
            },
        )

    def _while(self, equation: Equation) -> Equation:
        params, operands = equation.params, equation.operands
        tested, fixed = params["tested"], params["fixed"]
        condition, body = params["condition"], params["body"]
        of_condition = _first_places(operands[:tested], [condition], range(tested))
        of_body = _first_places(operands[tested:], [body], range(fixed))
        if not (of_condition or of_body):
            return equation
        if of_condition:
            condition = self._simplify(_without_inputs(condition, of_condition))
        if of_body:
            body = self._simplify(_without_inputs(body, of_body))
        counts = {"tested": tested - len(of_condition), "fixed": fixed - len(of_body)}
        left = *_without(operands[:tested], of_condition), *_without(operands[tested:], of_body)
        changed = {**params, "condition": condition, "body": body, **counts}
        return replace(equation, operands=left, params=changed)

    def _branch(self, equation: Equation) -> Equation:
        sides = [equation.params["on_true"], equation.params["on_false"]]
        predicate, *operands = equation.operands
        first = _first_places(operands, sides, range(len(operands)))
        if first:
            sides = [self._simplify(_without_inputs(side, first)) for side in sides]
        places = self._merged_outputs(equation, sides, 0)
        if not (first or places):
            return equation
        if places:
            sides = [replace(side, outputs=_without(side.outputs, places)) for side in sides]
        return replace(
            equation,
            operands=(predicate, *_without(operands, first)),
            outputs=_without(equation.outputs, places),
            params={**equation.params, "on_true": sides[0], "on_false": sides[1]},
        )

    def _merged_outputs(self, equation: Equation, sides: Sequence[Graph], first: int) -> dict[int, int]:
        """Return the places of outputs from a number on that are those of earlier ones, whose users get these."""
        found, seen = dict[int, int](), dict[Any, int]()
        for place in range(first, len(equation.outputs)):
            atoms = [side.outputs[place] for side in sides]
            if all(isinstance(atom, Literal) for atom in atoms):
                continue
            line = equation.outputs[place].type, *map(key, atoms)
            other = seen.setdefault(line, place)
            if other != place:
                found[place] = other
                self._replaced[equation.outputs[place]] = equation.outputs[other]
        return found


def _first_places(operands: Sequence[Atom], programs: Sequence[Graph], places: range) -> dict[int, int]:
    """Return the places of operands that are given before, with the first place of each."""
    seen, found = dict[Any, int](), dict[int, int]()
    for place in places:
        line = key(operands[place]), *(program.inputs[place].type for program in programs)
        other = seen.setdefault(line, place)
        if other != place:
            found[place] = other
    return found


def _without(values: Sequence[Any], places: Mapping[int, int]) -> tuple[Any, ...]:
    return tuple(value for place, value in enumerate(values) if place not in places)


def _without_inputs(graph: Graph, places: Mapping[int, int]) -> Graph:
    """Return a graph without inputs at some places, for which those at others stand."""
    replaced: dict[Var, Var] = {graph.inputs[n]: graph.inputs[other] for n, other in places.items()}

    def renamed(atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        return tuple(atom if isinstance(atom, Literal) else replaced.get(atom, atom) for atom in atoms)

    equations = tuple(replace(equation, operands=renamed(equation.operands)) for equation in graph.equations)
    return Graph(_without(graph.inputs, places), graph.constants, equations, renamed(graph.outputs))
