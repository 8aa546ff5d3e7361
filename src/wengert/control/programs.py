"""Programs from programs: a graph pushed forward, walked back and batched, as a graph again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from wengert.boxes import Box, running
from wengert.control.dependence import once
from wengert.control.values import fit, strong, zeros
from wengert.core.dtypes import is_float
from wengert.core.errors import LostDerivativeError, message
from wengert.core.shapes import shape_of
from wengert.ir.graph import Graph, Literal, Var
from wengert.ir.types import TensorType, show, type_of
from wengert.ops.shape import broadcast_to
from wengert.passes.dead import eliminate_dead
from wengert.transforms.argnums import release
from wengert.transforms.batching import Batched, BatchTrace
from wengert.transforms.forward import DualNumber, DualTrace
from wengert.transforms.reverse import type_of_value, walk_back
from wengert.transforms.staging import GraphTrace, evaluate, stage
from wengert.transforms.tape import Node, TapeTrace, start_of

Flags = Sequence[bool]


def select(values: Iterable[Any], flags: Flags) -> list[Any]:
    """Return the values whose flag is set."""
    return [value for value, flag in zip(values, flags, strict=True) if flag]


def spread(values: Iterable[Any], flags: Flags) -> list[Any]:
    """Return one value for each flag, None where it is not set: the inverse of `select`."""
    given = iter(values)
    return [next(given) if flag else None for flag in flags]


def part_of(graph: Graph, inputs: Sequence[Var], outputs: Sequence[Any]) -> Graph:
    """Return the part of a graph that computes ``outputs`` from ``inputs``."""
    given = set(inputs)
    equations = tuple(equation for equation in graph.equations if given.isdisjoint(equation.outputs))
    return eliminate_dead(Graph(tuple(inputs), graph.constants, equations, tuple(outputs)))


def depends_on(graph: Graph, inputs: Iterable[Var]) -> set[Var]:
    """Return the variables that depend on some of the inputs."""
    found = set(inputs)
    for equation in graph.equations:
        if not found.isdisjoint(operand for operand in equation.operands if isinstance(operand, Var)):
            found.update(equation.outputs)
    return found


def _closed(graph: Graph, captured: Sequence[Any]) -> Graph:
    """Return a graph that closes over nothing, or raise an error: only a custom rule can bring a value from outside."""
    if captured:
        requirement = "a rule must not close over a value that a transform around control flow follows"
        raise LostDerivativeError(
            message("custom rule", requirement, show(*captured), "pass it to the function as an argument")
        )
    return graph


def spread_through(graph: Graph, flags: Sequence[int]) -> list[int]:
    """Return which outputs lead with an axis of examples if some inputs do, as all that depends on one does."""
    found = depends_on(graph, select(graph.inputs, list(map(bool, flags))))
    return [isinstance(atom, Var) and atom in found for atom in graph.outputs]


@once
def converted(graph: Graph, types: Sequence[TensorType]) -> Graph:
    """Return a graph whose outputs are converted to types that they agree with but for dtype and weakness."""
    if graph.output_types == tuple(types):
        return graph

    def run(*values: Any) -> list[Any]:
        return [fit(value, type_) for value, type_ in zip(evaluate(graph, *values), types, strict=True)]

    return _closed(*stage(run, graph.input_types))


# -- forward ---------------------------------------------------------------------------------------------


def push(graph: Graph, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Carry out a graph on dual numbers: its outputs and their tangents (None: zero)."""
    trace = DualTrace()
    with running(trace):
        inputs = [
            primal if tangent is None else trace.box(DualNumber(primal, tangent))
            for primal, tangent in zip(primals, tangents, strict=True)
        ]
        outputs = evaluate(graph, *inputs)
    followed = [isinstance(output, Box) and output.owner is trace for output in outputs]
    found = [output.state.tangent if flag else None for output, flag in zip(outputs, followed, strict=True)]
    return [release(trace, output) for output in outputs], found


@once
def pushed(graph: Graph, active: Flags, forced: Flags | None = None) -> tuple[Graph, list[bool]]:
    """Return the graph that also carries tangents, and which outputs have one.

    Its inputs are those of ``graph``, then a tangent for each active one; its outputs those of ``graph``, then the
    tangents. A forced output has a tangent in any case.
    """
    count = len(active)
    reached: list[bool] = []

    def run(*values: Any) -> list[Any]:
        outputs, tangents = push(graph, values[:count], spread(values[count:], active))
        for position, (output, tangent) in enumerate(zip(outputs, tangents, strict=True)):
            if tangent is None and forced and forced[position] and is_float(type_of(output).dtype):
                tangents[position] = zeros(type_of(output))
        reached[:] = [tangent is not None for tangent in tangents]
        return outputs + select(tangents, reached)

    types = graph.input_types
    return _closed(*stage(run, [*types, *map(strong, select(types, active))])), reached


# -- batching --------------------------------------------------------------------------------------------


def batch(graph: Graph, size: int, values: Sequence[Any], batched: Flags) -> tuple[list[Any], list[bool]]:
    """Carry out a graph on many examples: its outputs, and which of them lead with the axis of examples."""
    with running(BatchTrace(size)) as trace:
        rows = zip(values, batched, graph.input_types, strict=True)
        inputs = [trace.box(Batched(x, type_.weak)) if flag else x for x, flag, type_ in rows]
        outputs = evaluate(graph, *inputs)
    flags = [isinstance(output, Box) and output.owner is trace for output in outputs]
    return [x.state.value if flag else x for x, flag in zip(outputs, flags, strict=True)], flags


def repeated(value: Any, size: int) -> Any:
    """Return a value that all examples share with an axis of examples."""
    return broadcast_to(value, shape=(size, *shape_of(value)))


def for_all(
    results: Iterable[Any], leading: Flags, size: int, types: Iterable[TensorType]
) -> tuple[Batched, ...]:
    """Return what a batch rule does: the results of all examples, weak where the type of one example's is.

    Those that do not lead with the axis of examples are repeated.
    """
    rows = zip(results, leading, types, strict=True)
    return tuple(Batched(x if flag else repeated(x, size), type_.weak) for x, flag, type_ in rows)


def batched_types(types: Iterable[TensorType], size: int, batched: Flags) -> list[TensorType]:
    """Return types with a leading axis of examples where a flag is set."""
    pairs = zip(types, batched, strict=True)
    return [TensorType(one.dtype, (size, *one.shape)) if flag else one for one, flag in pairs]


@once
def mapped(graph: Graph, size: int, batched: Flags, forced: Flags | None = None) -> tuple[Graph, list[bool]]:
    """Return the graph for many examples, and which outputs lead with the axis of examples (forced ones do anyway)."""
    flags: list[bool] = []

    def run(*values: Any) -> list[Any]:
        outputs, flags[:] = batch(graph, size, values, batched)
        for position, output in enumerate(outputs):
            if forced and forced[position] and not flags[position]:
                outputs[position], flags[position] = repeated(output, size), True
        return outputs

    return _closed(*stage(run, batched_types(graph.input_types, size, batched))), flags


# -- reverse ---------------------------------------------------------------------------------------------


class Adjoint(NamedTuple):
    """A program and the way back through it, in one list.

    The inputs of ``graph`` are those of the program, then the cotangents of the followed outputs; its outputs are those
    of the program, then the cotangents of the reached inputs. The first ``split`` equations are the way forward.
    """

    graph: Graph
    split: int
    followed: list[bool]
    """The outputs that depend on active inputs."""
    reached: list[bool]
    """The inputs to which a cotangent comes."""

    @property
    def backward(self) -> Graph:
        """The graph for the cotangents alone, the way forward included where they need it."""
        return part_of(self.graph, self.graph.inputs, self.graph.outputs[len(self.followed) :])

    def residuals(self) -> list[Var]:
        """Return the values of the way forward that the way back reads, constants left out."""
        forward = set(self.graph.inputs[: len(self.reached)])
        for equation in self.graph.equations[: self.split]:
            forward.update(equation.outputs)
        reads = [atom for equation in self.graph.equations[self.split :] for atom in equation.operands]
        reads += self.graph.outputs[len(self.followed) :]
        return list(
            dict.fromkeys(atom for atom in reads if not isinstance(atom, Literal) and atom in forward)
        )


@once
def adjoint(graph: Graph, active: Flags) -> Adjoint:
    """Write down a graph and the way back from its outputs to the active inputs."""
    with running(GraphTrace()) as staging:
        assert isinstance(staging, GraphTrace)
        inputs = [staging.new_input(type_) for type_ in graph.input_types]
        starts = [Node(value) if flag else None for value, flag in zip(inputs, active, strict=True)]
        with running(TapeTrace()) as tape:
            boxes = [
                x if start is None else start_of(tape, start) for x, start in zip(inputs, starts, strict=True)
            ]
            outputs = evaluate(graph, *boxes)
        found = [
            output.state if isinstance(output, Box) and output.owner is tape else None for output in outputs
        ]
        forward = set(staging.equations)
        seeds = [(one.node, staging.new_input(type_of_value(one.value))) for one in found if one is not None]
        cotangents = spread(walk_back(seeds, [start for start in starts if start is not None]), active)
        reached = [cotangent is not None for cotangent in cotangents]
        whole = staging.finish([*(release(tape, output) for output in outputs), *select(cotangents, reached)])
    split = sum(equation in forward for equation in whole.equations)
    return Adjoint(_closed(whole, staging.captured), split, [one is not None for one in found], reached)


@once
def pullback(graph: Graph, active: Flags, forced: Flags | None = None) -> tuple[Graph, list[bool]]:
    """Return the graph of the way back alone, and which inputs it reaches.

    Its inputs are those of ``graph``, then a cotangent for each floating output; its outputs the cotangents of the
    reached inputs. A forced input is reached in any case, by zeros if need be.
    """
    way = adjoint(graph, active)
    count = len(active)
    carrying = [is_float(type_.dtype) for type_ in graph.output_types]
    reached = [flag or bool(forced and forced[i]) for i, flag in enumerate(way.reached)]

    def run(*values: Any) -> list[Any]:
        cotangents = select(spread(values[count:], carrying), way.followed)
        found = spread(evaluate(way.backward, *values[:count], *cotangents), way.reached)
        pairs = zip(found, graph.input_types, strict=True)
        return select([zeros(type_) if one is None else one for one, type_ in pairs], reached)

    types = [*graph.input_types, *map(strong, select(graph.output_types, carrying))]
    return _closed(*stage(run, types)), reached


def cotangents_or_zeros(cotangents: Sequence[Any], types: Sequence[TensorType]) -> list[Any]:
    """Return a cotangent for each floating output, zeros where none came."""
    pairs = zip(cotangents, types, strict=True)
    return [zeros(type_) if one is None else one for one, type_ in pairs if is_float(type_.dtype)]
