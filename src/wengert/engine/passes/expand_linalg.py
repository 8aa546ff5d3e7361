"""Expansion: operations that would call NumPy become programs of other operations where these are short.

A call takes some microseconds, the work on one small matrix some nanoseconds. An expanded operation is fused with its
surroundings, and the program can be cached on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var, equations_of
from wengert.engine.ir.types import TensorType
from wengert.engine.machine import costs
from wengert.engine.nest.lowering import OnHost
from wengert.engine.passes.fast_transforms import is_native
from wengert.engine.passes.native_linalg import (
    WITH_LOOPS,
    has_banded_routine,
    has_loops,
    native_equations,
    program_of,
)
from wengert.engine.passes.rewrite import inlined, with_programs
from wengert.engine.passes.simplify import simplify
from wengert.engine.primitive import REGISTRY
from wengert.engine.transforms.staging import stage

#: A program in the place of an operation: ``(*operands, **params) -> result``.
Program: TypeAlias = Callable[..., Any]


def expand_linalg(graph: Graph, *, leaves: bool = False) -> Graph:
    """Return the graph with the programs of operations in their places; one that leaves Python has no NumPy to call."""
    with_loops = {eq: WITH_LOOPS[eq.primitive] for eq, _ in equations_of(graph) if has_loops(eq)}
    if with_loops:
        graph = simplify(_Writer(graph, with_loops).run())
    chosen = _chosen(graph, leaves=leaves)
    return simplify(_Writer(graph, chosen).run()) if chosen else graph


def calls_numpy(graph: Graph, *, written: bool) -> bool:
    """Return whether operations are left to NumPy, where others are written out or none is."""
    hosts = (
        equation
        for equation, _ in equations_of(graph)
        if isinstance(REGISTRY[equation.primitive].lowering, OnHost)
    )
    written_out = _chosen(graph) if written else dict[Equation, Program]()
    native = native_equations(_left(graph, written_out), leaves=False) if written else {}
    return not all(
        equation in written_out
        or equation in native
        or is_native(equation)
        or has_loops(equation)
        or (written and has_banded_routine(equation))
        for equation in hosts
    )


def _left(graph: Graph, chosen: Container[Equation]) -> Iterator[tuple[Equation, bool]]:
    return ((equation, inside) for equation, inside in equations_of(graph) if equation not in chosen)


def _chosen(graph: Graph, *, leaves: bool = False) -> dict[Equation, Program]:
    """Return the programs of operations: on elements, as many as are short together, or on blocks."""
    unrolled = _unrolled(graph)
    expanded = dict[Equation, Program]()
    for equation in unrolled:
        lowering = REGISTRY[equation.primitive].lowering
        assert isinstance(lowering, OnHost)
        assert lowering.expansion is not None
        expanded[equation] = lowering.expansion.program
    native = native_equations(_left(graph, unrolled), leaves=leaves)
    programs = ((equation, program_of(equation, blocks)) for equation, blocks in native.items())
    return expanded | {equation: program for equation, program in programs if program is not None}


def _unrolled(graph: Graph) -> set[Equation]:
    """Return the operations that are written out on elements: those in loops first, then the shortest."""
    lengths = {
        equation: (not inside, _length(equation))
        for equation, inside in equations_of(graph)
        if _length(equation)
    }
    selected, left = set[Equation](), costs.COSTS.expanded_operations_together
    for equation, (_, length) in sorted(lengths.items(), key=lambda pair: pair[1]):
        left -= length
        if left < 0:
            break
        selected.add(equation)
    return selected


def _length(equation: Equation) -> int:
    """Return about how many operations the program has that can take the place of an operation; 0 for none."""
    lowering = REGISTRY[equation.primitive].lowering
    small = lowering.expansion if isinstance(lowering, OnHost) else None
    length = small.length(*_types(equation)) if small else 0
    return length if length <= costs.COSTS.expanded_operations else 0


def _types(equation: Equation) -> list[TensorType]:
    return [atom.type for atom in equation.operands]


class _Writer:
    """A walk along a graph that writes another one."""

    def __init__(self, graph: Graph, chosen: Mapping[Equation, Program]) -> None:
        self.graph = graph
        self.chosen = chosen
        self.constants = list(graph.constants)
        self.equations: list[Equation] = []
        self.known: dict[Var, Atom] = {}
        """The results of the programs, by the values that they stand for."""

    def run(self) -> Graph:
        for equation in self.graph.equations:
            operands = tuple(map(self._atom, equation.operands))
            if equation in self.chosen:
                results = self._results(operands, equation)
                self.known.update(zip(equation.outputs, results, strict=True))
            else:
                self.equations.append(with_programs(replace(equation, operands=operands), self._inside))
        outputs = tuple(map(self._atom, self.graph.outputs))
        return replace(
            self.graph, constants=tuple(self.constants), equations=tuple(self.equations), outputs=outputs
        )

    def _atom(self, atom: Atom) -> Atom:
        return atom if isinstance(atom, Literal) else self.known.get(atom, atom)

    def _inside(self, graph: Graph) -> Graph:
        return _Writer(graph, self.chosen).run()

    def _results(self, operands: Sequence[Atom], equation: Equation) -> list[Atom]:
        """Write down the program of an operation, under the user's line, and return its results."""
        program = self.chosen[equation]

        def called(*values: Any) -> list[Any]:
            return [program(*values, **equation.params)]

        graph = simplify(stage(called, _types(equation))[0])
        assert [atom.type for atom in graph.outputs] == [output.type for output in equation.outputs]
        equations, results = inlined(graph, operands, equation.location)
        self.constants += graph.constants
        self.equations += equations
        return results
