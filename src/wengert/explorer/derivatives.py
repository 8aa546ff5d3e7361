"""The derivatives of a list as one list: values, tangents, partials and adjoints of each step, staged together.

Each operation is differentiated on its own, in forward mode and in reverse mode, so that each step of the two sweeps
has a variable in the result. Whoever evaluates the result needs no rule of differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from wengert.engine.core.dtypes import is_inexact
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ops.shape import broadcast_to
from wengert.engine.passes.common import key
from wengert.engine.passes.dead import eliminate_dead
from wengert.engine.passes.expand_programs import expand_programs
from wengert.engine.passes.simplify import simplify
from wengert.engine.primitive import REGISTRY, Linear, Partials
from wengert.engine.transforms.forward_mode import jvp, partial_operands
from wengert.engine.transforms.reverse_mode import vjp
from wengert.explorer.writer import ADJOINT, Writer
from wengert.inspect.notation import passes
from wengert.inspect.statements import renames

#: The number of a wanted value among the results of the list.
Handle = int


@dataclass
class Term:
    """A term of the adjoint of an operand."""

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
    """Stage the values, tangents, partials and adjoints of a primal list.

    The seeds of the adjoints are ones at each floating-point result.
    """
    sweep = _Sweep(graph)
    sweep.run()
    program = expand_programs(simplify(sweep.finish()))
    inputs = [sweep.primal[var] for var in graph.inputs]
    tangents = {var: sweep.tangents[var] for var in sweep.moving}
    adjoints = {var: sweep.adjoints[var] for var in sweep.moving if var in sweep.adjoints}
    return Derivatives(
        program, sweep.steps, inputs, sweep.moving, tangents, adjoints, sweep.outputs, sweep.primal
    )


class _Sweep:
    """The two sweeps over one list."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.writer = Writer(graph.constants)
        self.constants = dict(graph.constants)
        self.directions: list[Var] = []
        """The inputs for the tangents."""
        self.wanted: list[Atom] = []
        self.primal: dict[Var, Handle] = {}
        self.tangents: dict[Var, Handle] = {}
        self.adjoints: dict[Var, Handle] = {}
        self.same: dict[Var, Atom] = {}
        self.moving = [var for var in graph.inputs if is_inexact(var.dtype)]
        self.active = set(self.moving)
        self.steps: list[Step] = []
        self.outputs: list[tuple[Atom, Handle, Handle | None, Handle | None]] = []
        self._local: list[_Local | None] = []

    def want(self, atom: Atom) -> Handle:
        self.wanted.append(atom)
        return len(self.wanted) - 1

    def root(self, atom: Atom) -> Atom:
        """Return the value behind a renaming."""
        return self.same.get(atom, atom) if isinstance(atom, Var) else atom

    def run(self) -> None:
        for var in self.graph.inputs:
            self.primal[var] = self.want(var)
        for var in self.moving:
            self.directions.append(Var(var.type._replace(weak=False)))
            self.tangents[var] = self.want(self.directions[-1])
        for equation in self.graph.equations:
            self.forward(equation)
        self.seed()
        self.note_results()
        for step, local in zip(reversed(self.steps), reversed(self._local), strict=True):
            if local is not None:
                self.back(step, local)

    def finish(self) -> Graph:
        """Return the list of everything."""
        inputs = (*self.graph.inputs, *self.directions)
        return Graph(inputs, tuple(self.writer.constants), tuple(self.writer.equations), tuple(self.wanted))

    # -- forwards ----------------------------------------------------------------------------------------

    def forward(self, equation: Equation) -> None:
        self.writer.equations.append(equation)
        if renames(equation) and isinstance(equation.operands[0], Var):
            self.same[equation.outputs[0]] = self.root(equation.operands[0])
            return
        values = [self.want(var) for var in equation.outputs]
        self.primal.update(zip(equation.outputs, values, strict=True))
        roots = tuple(map(self.root, equation.operands))
        count = len(values)
        step = Step(equation, roots, values, [None] * count, adjoints=[None] * count)
        self.steps.append(step)
        positions = [
            position
            for position, root in enumerate(roots)
            if root in self.active and passes(equation.primitive, position)
        ]
        floats = [position for position, var in enumerate(equation.outputs) if is_inexact(var.dtype)]
        if not (positions and floats):
            self._local.append(None)
            return
        self.active.update(equation.outputs[position] for position in floats)
        local = _Local(equation, positions, floats, self.constants)
        self._local.append(local)
        self.push(step, local)

    def push(self, step: Step, local: _Local) -> None:
        """Write the tangents and partials of an operation."""
        roots = [step.operands[position] for position in local.positions]
        tangents = [self.wanted[self.tangents[root]] for root in roots if isinstance(root, Var)]
        equation = step.equation
        operands = [*local.variables, *tangents]
        results = self.writer.write(
            ("forward", *local.key), local.forward, operands, equation.location, local.outputs
        )
        for position, var in zip(local.floats, local.outputs, strict=True):
            self.tangents[var] = step.tangents[position] = self.want(results.pop(0))
        if results:
            step.partials = dict(zip(local.positions, map(self.want, results), strict=True))

    # -- backwards ---------------------------------------------------------------------------------------

    def seed(self) -> None:
        for atom in dict.fromkeys(map(self.root, self.graph.outputs)):
            if isinstance(atom, Var) and atom in self.active:
                self.adjoints[atom] = self.want(self.filled(atom, 1))

    def filled(self, like: Var, number: int) -> Atom:
        """Return an array of one number with the type of another value."""
        dtype, shape = like.dtype, like.shape
        value = dtype.type(number)
        (atom,) = self.writer.write(
            ("filled", dtype, shape, number),
            lambda: [broadcast_to(value, shape=shape) if shape else value],
            [],
        )
        return atom

    def back(self, step: Step, local: _Local) -> None:
        """Pass the adjoints of the results on to the operands."""
        for number, var in enumerate(step.equation.outputs):
            step.adjoints[number] = self.adjoints.get(var)
        if not any(var in self.adjoints for var in local.outputs):
            return
        location = f"{ADJOINT}{step.equation.location}" if step.equation.location else ""
        seeds = [
            self.wanted[self.adjoints[var]] if var in self.adjoints else self.filled(var, 0)
            for var in local.outputs
        ]
        terms = self.writer.write(
            ("backward", *local.key), local.backward, [*local.variables, *seeds], location, local.outputs
        )
        for position, term in zip(local.positions, terms, strict=True):
            operand = step.operands[position]
            assert isinstance(operand, Var)
            before = self.adjoints.get(operand)
            total = term if before is None else self.sum(self.wanted[before], term, location)
            self.adjoints[operand] = self.want(total)
            step.terms.append(Term(position, self.want(term), self.adjoints[operand], before is None))

    def sum(self, first: Atom, second: Atom, location: str) -> Atom:
        """Return the sum of two adjoints."""
        key = "sum", first.type, second.type
        (total,) = self.writer.write(key, lambda x, y: [x + y], [first, second], location)
        return total

    def note_results(self) -> None:
        """Want the results, with their tangents and adjoints."""
        for output in self.graph.outputs:
            root = self.root(output)
            tangent = self.tangents.get(root) if isinstance(root, Var) else None
            adjoint = self.adjoints.get(root) if isinstance(root, Var) else None
            self.outputs.append((root, self.want(output), tangent, adjoint))


class _Local:
    """The derivatives of one operation: those of its results ``floats`` by its operands at ``positions``.

    The rules of differentiation may read the values of the list's constants.
    """

    def __init__(
        self, equation: Equation, positions: list[int], floats: list[int], constants: Mapping[Var, Any]
    ) -> None:
        self.equation, self.positions, self.floats = equation, positions, floats
        self.outputs = [equation.outputs[position] for position in floats]
        self.variables = [
            atom for atom in equation.operands if isinstance(atom, Var) and atom not in constants
        ]
        self._constants = constants
        params = tuple((name, key(value)) for name, value in sorted(equation.params.items()))
        described = tuple(map(self._described, equation.operands))
        self.key = equation.primitive, params, described, tuple(positions), tuple(floats)

    def _described(self, atom: Atom) -> Hashable:
        return atom.type if isinstance(atom, Var) and atom not in self._constants else key(atom)

    def _operands(self, values: Sequence[Any]) -> list[Any]:
        """Return the operands, with boxes in the places of the variables."""
        boxes = iter(values)
        return [
            atom.value
            if isinstance(atom, Literal)
            else self._constants[atom]
            if atom in self._constants
            else next(boxes)
            for atom in self.equation.operands
        ]

    def forward(self, *values: Any) -> list[Any]:
        """Return the results, their tangents, and the partial derivatives of an elementwise operation."""
        count = len(self.variables)
        operands, tangents = self._operands(values[:count]), values[count:]
        chosen = [operands[position] for position in self.positions]
        results, pushed = jvp(self._function(operands), chosen, list(tangents))
        partials = [self._partial(position, results[0], operands) for position in self.positions]
        return [*results, *pushed, *(partial for partial in partials if partial is not None)]

    def backward(self, *values: Any) -> list[Any]:
        """Return the results, and the term that each operand's adjoint gets."""
        count = len(self.variables)
        operands, seeds = self._operands(values[:count]), values[count:]
        chosen = [operands[position] for position in self.positions]
        results, pullback = vjp(self._function(operands), *chosen)
        return [*results, *pullback(seeds)]

    def _function(self, operands: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
        """Return the results of the operation as a function of the operands at the positions."""
        equation = self.equation

        def operation(*chosen: Any) -> tuple[Any, ...]:
            arguments = list(operands)
            for position, value in zip(self.positions, chosen, strict=True):
                arguments[position] = value
            result = REGISTRY[equation.primitive](*arguments, **equation.params)
            results = cast("tuple[Any, ...]", result) if isinstance(result, tuple) else (result,)
            return tuple(results[position] for position in self.floats)

        return operation

    def _partial(self, position: int, output: Any, operands: Sequence[Any]) -> Any:
        """Return the partial derivative of an elementwise operation; None for other operations."""
        primitive = REGISTRY[self.equation.primitive]
        rule, params = primitive.derivative, self.equation.params
        if isinstance(rule, Partials):
            partial: Any = rule.partials[position]
            values = partial_operands(rule, (output, *operands))
            return partial(*values, **params) if callable(partial) else partial
        if isinstance(rule, Linear) and primitive.elementwise:
            cotangent = self.equation.outputs[0].dtype.type(1)
            return rule.transpose(position, cotangent, operands, params)
        return None
