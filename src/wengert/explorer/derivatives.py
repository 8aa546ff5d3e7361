"""The derivatives of a list as one list: values, tangents, partials and adjoints of each step, staged together.

Each operation is differentiated on its own, in forward mode and in reverse mode, so that each step of the two sweeps
has a variable in the result. Whoever evaluates the result needs no rule of differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from wengert.boxes import running
from wengert.core.dtypes import is_inexact
from wengert.inspect.notation import passes
from wengert.inspect.statements import renames
from wengert.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.ops.shape import broadcast_to
from wengert.passes.dead import eliminate_dead
from wengert.passes.expand_programs import expand_programs
from wengert.passes.simplify import simplify
from wengert.primitive import REGISTRY, Linear, Partials
from wengert.transforms.forward_mode import jvp
from wengert.transforms.reverse_mode import vjp
from wengert.transforms.staging import GraphTrace

#: The number of a wanted value among the results of the list.
Handle = int


@dataclass
class Term:
    """What an operation adds to the adjoint of an operand."""

    position: int
    """That of the operand."""
    term: Handle
    total: Handle
    """The adjoint after the addition."""
    is_first: bool


@dataclass
class Step:
    """An operation of the primal list, with the handles of its numbers."""

    equation: Equation
    operands: tuple[Atom, ...]
    """Those behind renamings."""
    values: list[Handle]
    tangents: list[Handle | None]
    partials: dict[int, Handle] = field(default_factory=dict[int, Handle])
    """The local partial derivative for some operands of an elementwise operation."""
    adjoints: list[Handle | None] = field(default_factory=list["Handle | None"])
    terms: list[Term] = field(default_factory=list[Term])


@dataclass
class Derivatives:
    """The list of everything, and where the numbers of each step are."""

    graph: Graph
    """Its inputs are those of the primal list, then a tangent for each of `moving`; a handle numbers its outputs."""
    steps: list[Step]
    inputs: list[Handle]
    moving: list[Var]
    """The inputs that have a tangent and an adjoint."""
    tangents: dict[Var, Handle]
    """Those of the inputs."""
    adjoints: dict[Var, Handle]
    """Those of the inputs."""
    outputs: list[tuple[Atom, Handle, Handle | None, Handle | None]]
    """The value behind a result, its number, its tangent and its adjoint."""
    primal: dict[Var, Handle]
    """The value of each variable of the primal list."""

    def atom(self, handle: Handle) -> Atom:
        """Return the wanted value."""
        return self.graph.outputs[handle]

    def adjoint_program(self) -> Graph:
        """Return the part that computes the results and the adjoints of the inputs, without tangents."""
        wanted = [handle for _, handle, _, _ in self.outputs]
        wanted += [self.adjoints[var] for var in self.moving if var in self.adjoints]
        count = len(self.inputs)
        return eliminate_dead(
            replace(
                self.graph,
                inputs=self.graph.inputs[:count],
                outputs=tuple(map(self.atom, wanted)),
            )
        )


def differentiate(graph: Graph) -> Derivatives:
    """Stage the values, tangents, partials and adjoints of a list.

    The seeds of the adjoints are ones at each floating-point result.

    Args:
        graph: the primal list.
    """
    sweep = _Sweep(graph)
    with running(sweep.trace):
        sweep.run()
        staged = sweep.trace.finish(sweep.wanted)
    program = expand_programs(simplify(staged))
    inputs = [sweep.primal[var] for var in graph.inputs]
    tangents = {var: sweep.tangents[var] for var in sweep.moving}
    adjoints = {var: sweep.adjoints[var] for var in sweep.moving if var in sweep.adjoints}
    found = sweep.steps, inputs, sweep.moving, tangents, adjoints, sweep.outputs, sweep.primal
    return Derivatives(program, *found)


class _Located(GraphTrace):
    """A graph whose equations come from the line of the operation that is being differentiated."""

    at = ""

    def location(self) -> str:
        return self.at


class _Sweep:
    """The two sweeps over one list."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.trace = _Located("explorer")
        self.wanted: list[Any] = []
        self.boxes: dict[Var, Any] = {}
        self.primal: dict[Var, Handle] = {}
        self.tangents: dict[Var, Handle] = {}
        self.adjoints: dict[Var, Handle] = {}
        self.same: dict[Var, Atom] = {}
        self.moving = [var for var in graph.inputs if is_inexact(var.dtype)]
        self.active = set(self.moving)
        self.steps: list[Step] = []
        self.outputs: list[tuple[Atom, Handle, Handle | None, Handle | None]] = []
        self._pullbacks: list[Any] = []

    def want(self, value: Any) -> Handle:
        self.wanted.append(value)
        return len(self.wanted) - 1

    def root(self, atom: Atom) -> Atom:
        """Return the value behind a renaming."""
        return self.same.get(atom, atom) if isinstance(atom, Var) else atom

    def value(self, atom: Atom) -> Any:
        return atom.value if isinstance(atom, Literal) else self.boxes[atom]

    def tangent(self, atom: Atom) -> Any:
        root = self.root(atom)
        return self.wanted[self.tangents[root]] if isinstance(root, Var) and root in self.tangents else None

    def run(self) -> None:
        for var in self.graph.inputs:
            self.boxes[var] = self.trace.new_input(var.type)
            self.trace.inputs[-1].name = var.name
            self.primal[var] = self.want(self.boxes[var])
        for var in self.moving:
            self.tangents[var] = self.want(self.trace.new_input(var.type._replace(weak=False)))
        self.boxes.update(self.graph.constants)
        for equation in self.graph.equations:
            self.trace.at = equation.location
            self.forward(equation)
        self.seed()
        self.note_results()
        for step, pullback in zip(reversed(self.steps), reversed(self._pullbacks), strict=True):
            if pullback is not None:
                self.back(step, *pullback)

    # -- forwards ----------------------------------------------------------------------------------------

    def forward(self, equation: Equation) -> None:
        operands = [self.value(atom) for atom in equation.operands]
        result = REGISTRY[equation.primitive](*operands, **equation.params)
        results = cast("tuple[Any, ...]", result) if isinstance(result, tuple) else (result,)
        self.boxes.update(zip(equation.outputs, results, strict=True))
        if renames(equation) and isinstance(equation.operands[0], Var):
            self.same[equation.outputs[0]] = self.root(equation.operands[0])
            return
        values = [self.want(value) for value in results]
        self.primal.update(zip(equation.outputs, values, strict=True))
        roots = tuple(map(self.root, equation.operands))
        step = Step(equation, roots, values, [None] * len(results), adjoints=[None] * len(results))
        self.steps.append(step)
        positions = [
            position
            for position, root in enumerate(roots)
            if root in self.active and passes(equation.primitive, position)
        ]
        floats = [position for position, var in enumerate(equation.outputs) if is_inexact(var.dtype)]
        self._pullbacks.append(None)
        if positions and floats:
            self.active.update(equation.outputs[position] for position in floats)
            self.push(step, operands, positions, floats)

    def push(self, step: Step, operands: list[Any], positions: list[int], floats: list[int]) -> None:
        """Compute the tangents and partials of an operation, and keep its pullback."""
        operation = _function(step.equation, operands, positions, floats)
        chosen = [operands[position] for position in positions]
        tangents = [self.tangent(step.equation.operands[position]) for position in positions]
        _, pushed = jvp(operation, chosen, tangents)
        for position, tangent in zip(floats, pushed, strict=True):
            handle = self.want(tangent)
            step.tangents[position] = handle
            self.tangents[step.equation.outputs[position]] = handle
        for position in positions:
            partial = _partial(step.equation, position, self.boxes[step.equation.outputs[0]], operands)
            if partial is not None:
                step.partials[position] = self.want(partial)
        outputs = [step.equation.outputs[position] for position in floats]
        self._pullbacks[-1] = (vjp(operation, *chosen)[1], positions, outputs)

    # -- backwards ---------------------------------------------------------------------------------------

    def seed(self) -> None:
        for atom in dict.fromkeys(map(self.root, self.graph.outputs)):
            if isinstance(atom, Var) and atom in self.active:
                one = atom.dtype.type(1)
                self.adjoints[atom] = self.want(broadcast_to(one, shape=atom.shape) if atom.shape else one)

    def back(
        self, step: Step, pullback: Callable[..., Any], positions: list[int], outputs: list[Var]
    ) -> None:
        """Pass the adjoints of the results on to the operands."""
        for number, var in enumerate(step.equation.outputs):
            step.adjoints[number] = self.adjoints.get(var)
        if not any(var in self.adjoints for var in outputs):
            return
        self.trace.at = f"adjoint of {step.equation.location}" if step.equation.location else ""
        seeds = tuple(
            self.wanted[self.adjoints[var]] if var in self.adjoints else np.zeros(var.shape, var.dtype)[()]
            for var in outputs
        )
        for position, term in zip(positions, pullback(seeds), strict=True):
            operand = step.operands[position]
            assert isinstance(operand, Var)
            before = self.adjoints.get(operand)
            total = term if before is None else self.wanted[before] + term
            self.adjoints[operand] = self.want(total)
            step.terms.append(Term(position, self.want(term), self.adjoints[operand], before is None))

    def note_results(self) -> None:
        """Want the results, with their tangents and adjoints."""
        for given in self.graph.outputs:
            root = self.root(given)
            tangent = self.tangents.get(root) if isinstance(root, Var) else None
            adjoint = self.adjoints.get(root) if isinstance(root, Var) else None
            self.outputs.append((root, self.want(self.value(given)), tangent, adjoint))


def _function(
    equation: Equation, operands: Sequence[Any], positions: Sequence[int], floats: Sequence[int]
) -> Callable[..., tuple[Any, ...]]:
    """Return the floating-point results of an operation as a function of some of its operands."""

    def operation(*chosen: Any) -> tuple[Any, ...]:
        given = list(operands)
        for position, value in zip(positions, chosen, strict=True):
            given[position] = value
        result = REGISTRY[equation.primitive](*given, **equation.params)
        results = cast("tuple[Any, ...]", result) if isinstance(result, tuple) else (result,)
        return tuple(results[position] for position in floats)

    return operation


def _partial(equation: Equation, position: int, output: Any, operands: Sequence[Any]) -> Any:
    """Return the partial derivative of an elementwise operation; None for other operations."""
    primitive = REGISTRY[equation.primitive]
    rule, params = primitive.derivative, equation.params
    if isinstance(rule, Partials):
        partial: Any = rule.partials[position]
        return partial(output, *operands, **params) if callable(partial) else partial
    if isinstance(rule, Linear) and primitive.elementwise:
        one = equation.outputs[0].dtype.type(1)
        return rule.transpose(position, one, operands, params)
    return None
