"""A list under construction, into which staged programs are written."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from wengert.engine.boxes import running
from wengert.engine.ir.graph import Atom, Equation, Graph, Var
from wengert.engine.passes.simplify import simplify
from wengert.engine.transforms.staging import GraphTrace

ADJOINT = "adjoint of "


class _Located(GraphTrace):
    """A graph from one line of the user: programs inside its operations get their lines from it."""

    def __init__(self, location: str) -> None:
        super().__init__("explore")
        self._line = location.replace(ADJOINT, "")  # reverse mode says so itself

    def location(self) -> str:
        return self._line


class Writer:
    """A list under construction, with the constants to which programs are added.

    A program is staged and simplified once for each key. Each occurrence is a copy with variables of its own, so that a
    list of many equal operations takes little more time than a short one.
    """

    def __init__(self, constants: Sequence[tuple[Var, Any]]) -> None:
        self.equations: list[Equation] = []
        self.constants = list(constants)
        self._programs: dict[Hashable, Graph] = {}

    def write(
        self,
        key: Hashable,
        function: Callable[..., Sequence[Any]],
        operands: Sequence[Atom],
        location: str = "",
        first: Sequence[Var] = (),
    ) -> list[Atom]:
        """Write a program, from values to a flat sequence of values, and return its results.

        Equal keys stand for equal programs, types of operands included. The list has the ``first`` results
        already: they are neither computed again nor returned.
        """
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = self._staged(function, operands, location)
        atoms: dict[Atom, Atom] = dict(zip(program.inputs, operands, strict=True))
        for output, value in zip(program.outputs, first, strict=False):
            atoms.setdefault(output, value)
        for equation in program.equations:
            if any(var not in atoms for var in equation.outputs):
                self._copy(equation, atoms, location)
        return [atoms.get(atom, atom) for atom in program.outputs[len(first) :]]

    def _staged(
        self, function: Callable[..., Sequence[Any]], operands: Sequence[Atom], location: str
    ) -> Graph:
        with running(_Located(location)) as trace:
            program = simplify(trace.finish(function(*(trace.new_input(atom.type) for atom in operands))))
        self.constants += program.constants
        return program

    def _copy(self, equation: Equation, atoms: dict[Atom, Atom], location: str) -> None:
        operands = tuple([atoms.get(atom, atom) for atom in equation.operands])
        outputs = tuple([Var(var.type) for var in equation.outputs])
        for var, copy in zip(equation.outputs, outputs, strict=True):
            atoms.setdefault(var, copy)
        self.equations.append(Equation(equation.primitive, operands, outputs, equation.params, location))
