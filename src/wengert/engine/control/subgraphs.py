"""Transforms of the graphs that control flow holds: algebras, reverse mode, batching, and activity analysis."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from wengert.engine.boxes import Box, running, state_of
from wengert.engine.control.rereads import NOTHING, Array, Lasting, Reread, confirmed
from wengert.engine.control.tapes import Recorder, Tape, Threaded, recorded
from wengert.engine.control.values import bytes_of, fit, padded, strong, zeros
from wengert.engine.core.dtypes import BOOL, is_inexact
from wengert.engine.core.errors import LostDerivativeError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.graph import Equation, Graph, Literal, Var
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.ops.shape import broadcast_to
from wengert.engine.passes.dead import eliminate_dead
from wengert.engine.primitive import REGISTRY, HigherOrder, NonDifferentiable
from wengert.engine.transforms.algebras import Algebra, evaluate_over, grouped
from wengert.engine.transforms.arguments import release
from wengert.engine.transforms.batching import Batched, BatchTrace
from wengert.engine.transforms.forward_mode import DUAL_NUMBERS
from wengert.engine.transforms.reverse_mode import type_of_value, walk_back
from wengert.engine.transforms.staging import GraphTrace, evaluate, stage
from wengert.engine.transforms.tape import Node, TapeTrace, boxes_of

F = TypeVar("F", bound=Callable[..., Any])
Flags = Sequence[bool]
Values = Sequence[Any]
Marks = Sequence[int]
Transformed = tuple[Graph, list[bool]]


def memoized(transform: F) -> F:
    """Make a transform of a graph remember its results, so that it runs once for each graph and flags.

    The same graph stands in several places: in the forward pass, and wherever the backward pass recomputes it. Each
    level of nesting transforms the graphs of the next level; without memoizing, the work is exponential in the depth.
    """

    @functools.wraps(transform)
    def transformed(graph: Graph, *options: Any) -> Any:
        hashable = [tuple(cast("Iterable[Any]", x)) if isinstance(x, (list, tuple)) else x for x in options]
        key = transformed, *hashable
        if key not in graph.derived:
            graph.derived[key] = transform(graph, *hashable)
        return graph.derived[key]

    return transformed  # pyright: ignore[reportReturnType]


def select(values: Iterable[Any], flags: Flags) -> list[Any]:
    """Return the values whose flag is set."""
    return [value for value, flag in zip(values, flags, strict=True) if flag]


def spread(values: Iterable[Any], flags: Flags) -> list[Any]:
    """Return the next value for each flag that is set, and None for the others: the inverse of `select`."""
    supply = iter(values)
    return [next(supply) if flag else None for flag in flags]


def or_zero(value: Any, type_: TensorType) -> Any:
    """Return a tangent or cotangent, zeros for None."""
    return zeros(type_) if value is None else value


def subgraph(graph: Graph, inputs: Sequence[Var], outputs: Values) -> Graph:
    """Return the part of a graph that computes ``outputs`` from ``inputs``."""
    bound = set(inputs)
    equations = tuple(equation for equation in graph.equations if bound.isdisjoint(equation.outputs))
    return eliminate_dead(Graph(tuple(inputs), graph.constants, equations, tuple(outputs)))


def dependents(graph: Graph, inputs: Iterable[Var]) -> set[Var]:
    """Return the inputs and the variables that depend on them."""
    variables = set(inputs)
    for equation in graph.equations:
        if not variables.isdisjoint(operand for operand in equation.operands if isinstance(operand, Var)):
            variables.update(equation.outputs)
    return variables


def read_inputs(graph: Graph, atoms: Iterable[Any]) -> list[bool]:
    """Return which inputs of a graph some of its values depend on."""
    needed = set(atoms)
    for equation in reversed(graph.equations):
        if not needed.isdisjoint(equation.outputs):
            needed.update(equation.operands)
    return [var in needed for var in graph.inputs]


def _closed(graph: Graph, captured: Values) -> Graph:
    """Return a graph without captured values, or raise an error: only a custom rule can capture one here."""
    if captured:
        requirement = "a rule must not close over a value that a transform around control flow follows"
        hint = "pass it to the function as an argument"
        raise LostDerivativeError(message("custom rule", requirement, show(*captured), hint))
    return graph


@memoized
def convert_outputs(graph: Graph, types: Sequence[TensorType]) -> Graph:
    """Return a graph whose outputs are converted to types; zeros stand behind what a larger one has more."""
    if graph.output_types == tuple(types):
        return graph

    def run(*values: Any) -> list[Any]:
        results = zip(evaluate(graph, *values), types, strict=True)
        return [fit(padded(value, type_.shape), type_) for value, type_ in results]

    return _closed(*stage(run, graph.input_types))


# -- activity analysis -----------------------------------------------------------------------------------
#
# A loop whose carry is active needs the derivative of its step, and a step may make further carries active. Finding
# out by transforming the step, and then transforming it again, would double the work at each level of nesting.


def propagate(graph: Graph, marks: Marks) -> list[int]:
    """Return the marks of the outputs, given those of the inputs.

    A mark is a set, as the bits of an integer. An output has the marks of all inputs that it depends on.
    """
    return [_union(marks[position] for position in positions) for positions in _sources(graph)]


@memoized
def _sources(graph: Graph) -> list[list[int]]:
    """Return, for each output, the positions of the inputs from which a derivative may reach it."""
    marks = {var: 1 << position if is_inexact(var.dtype) else 0 for position, var in enumerate(graph.inputs)}
    for equation in graph.equations:
        operand_marks = [marks.get(atom, 0) if isinstance(atom, Var) else 0 for atom in equation.operands]
        results = (
            _marks_of_results(equation, operand_marks) if any(operand_marks) else [0] * len(equation.outputs)
        )
        for var, mark in zip(equation.outputs, results, strict=True):
            marks[var] = mark if is_inexact(var.dtype) else 0
    outputs = [marks.get(atom, 0) if isinstance(atom, Var) else 0 for atom in graph.outputs]
    return [[n for n in range(len(graph.inputs)) if mark >> n & 1] for mark in outputs]


def _marks_of_results(equation: Equation, marks: Marks) -> Marks:
    rule = REGISTRY[equation.primitive].derivative
    if isinstance(rule, NonDifferentiable):
        return [0] * len(equation.outputs)
    if isinstance(rule, HigherOrder) and rule.reach is not None:
        return rule.reach(marks, **equation.params)
    return [_union(marks)] * len(equation.outputs)


def _union(marks: Iterable[int]) -> int:
    union = 0
    for mark in marks:
        union |= mark
    return union


def fixed_point(
    step: Callable[[Marks], Marks], marks: Marks, first: int, count: int
) -> tuple[list[int], Marks]:
    """Return the marks of a loop's inputs and results after any number of steps.

    Args:
        step: maps the marks of the inputs of a step to those of its results; the carries are the first results.
        marks: of the inputs of the first step.
        first: the position of the first carry.
        count: the number of carries.
    """
    input_marks = list(marks)
    while True:
        results = step(input_marks)
        grown = [
            old | new for old, new in zip(input_marks[first : first + count], results[:count], strict=True)
        ]
        if grown == input_marks[first : first + count]:
            return input_marks, results
        input_marks[first : first + count] = grown


def active_inputs(step: Callable[[Marks], Marks], flags: Flags, first: int, count: int) -> list[bool]:
    """Return which inputs of a loop are active after any number of steps."""
    return list(map(bool, fixed_point(step, list(map(int, flags)), first, count)[0]))


def batched_outputs(graph: Graph, flags: Sequence[int]) -> list[int]:
    """Return which outputs have an axis of examples if the flagged inputs do: those that depend on them."""
    variables = dependents(graph, select(graph.inputs, list(map(bool, flags))))
    return [isinstance(atom, Var) and atom in variables for atom in graph.outputs]


# -- algebras: forward mode and higher orders ------------------------------------------------------------


def types_of_parts(algebra: Algebra, types: Iterable[TensorType]) -> list[TensorType]:
    """Return the types of the parts of all values."""
    return [part for type_ in types for part in algebra.types(type_)]


def each_part(algebra: Algebra, flags: Flags) -> list[bool]:
    """Return the flag of each value for each of its parts."""
    return [flag for flag in flags for _ in range(algebra.size)]


def have_parts(parts: Values, count: int) -> list[bool]:
    """Return which of ``count`` values have a part that is not zero."""
    return [any(part is not None for part in group) for group in grouped(parts, count)]


@memoized
def extended_graph(
    graph: Graph, algebra: Algebra, present: Flags, forced: Flags | None = None
) -> Transformed:
    """Return the graph that computes outputs and their parts over an algebra, and which parts are not zero.

    Its inputs are those of ``graph``, then the given parts of the inputs; its outputs are those of ``graph``, then
    their parts that are not zero. Forced parts count as such in any case.
    """
    count = len(graph.inputs)
    reached: list[bool] = []

    def run(*values: Any) -> list[Any]:
        outputs, parts = evaluate_over(algebra, graph, values[:count], spread(values[count:], present))
        types = types_of_parts(algebra, map(type_of, outputs))
        for position, (part, type_) in enumerate(zip(parts, types, strict=True)):
            if part is None and forced and forced[position] and is_inexact(type_.dtype):
                parts[position] = zeros(type_)
        reached[:] = [part is not None for part in parts]
        return outputs + select(parts, reached)

    types = select(types_of_parts(algebra, graph.input_types), present)
    return _closed(*stage(run, [*graph.input_types, *types])), reached


def jvp_graph(graph: Graph, active: Flags) -> Transformed:
    """Return the graph that computes outputs and tangents, and which outputs have a tangent."""
    return extended_graph(graph, DUAL_NUMBERS, active)


# -- batching --------------------------------------------------------------------------------------------


def evaluate_batch(
    graph: Graph, size: int, values: Values, batched: Flags, counts: Any = None
) -> tuple[list[Any], list[bool]]:
    """Evaluate a graph on many examples: its outputs, and which of them have an axis of examples.

    Examples for which ``counts`` is false raise no error.
    """
    with running(BatchTrace(size, counts)) as trace:
        rows = zip(values, batched, graph.input_types, strict=True)
        inputs = [trace.box(Batched(x, type_.weak)) if flag else x for x, flag, type_ in rows]
        outputs = evaluate(graph, *inputs)
    states = [state_of(trace, output) for output in outputs]
    values = [x if state is None else state.value for x, state in zip(outputs, states, strict=True)]
    return values, [state is not None for state in states]


def may_raise(*graphs: Graph) -> bool:
    """Return whether an operation of the graphs may raise an error, or never end, for some values of its operands."""
    return any(map(_may_raise, graphs))


@memoized
def _may_raise(graph: Graph) -> bool:
    operations = [REGISTRY[equation.primitive] for equation in graph.equations]
    inner = [graph for equation in graph.equations for graph in equation.graphs()]
    return any(x.unchecked is not None or x.may_not_end for x in operations) or may_raise(*inner)


@memoized
def unchecked_graph(graph: Graph) -> Graph:
    """Return the graph that raises no error where its first input, one more than those of ``graph``, is false."""

    def run(counts: Any, *inputs: Any) -> list[Any]:
        return evaluate(
            graph, *inputs, prepare=lambda x, *application: x.without_errors(counts, *application)
        )

    return _closed(*stage(run, [TensorType(BOOL, ()), *graph.input_types]))


def evaluate_if(counts: Any, graph: Graph, values: Values) -> list[Any]:
    """Evaluate a graph; where ``counts`` is false, it raises no error, and nothing of the results is specified."""
    is_certain = not isinstance(counts, Box) and bool(counts)
    if is_certain or not may_raise(graph):
        return evaluate(graph, *values)
    return evaluate(unchecked_graph(graph), counts, *values)


def repeat(value: Any, size: int) -> Any:
    """Return a value that all examples share with an axis of examples."""
    return broadcast_to(value, shape=(size, *shape_of(value)))


def batch_results(
    results: Iterable[Any], batched: Flags, size: int, types: Iterable[TensorType]
) -> tuple[Batched, ...]:
    """Return the results of a batch rule, given the types for one example; repeat those without an axis of examples."""
    rows = zip(results, batched, types, strict=True)
    return tuple(Batched(x if flag else repeat(x, size), type_.weak) for x, flag, type_ in rows)


def batched_types(types: Iterable[TensorType], size: int, batched: Flags) -> list[TensorType]:
    """Return types with a leading axis of examples where a flag is set."""
    pairs = zip(types, batched, strict=True)
    return [TensorType(type_.dtype, (size, *type_.shape)) if flag else type_ for type_, flag in pairs]


@memoized
def batch_graph(graph: Graph, size: int, batched: Flags, forced: Flags | None = None) -> Transformed:
    """Return the graph for many examples, and which outputs have an axis of examples; forced outputs have one."""
    flags: list[bool] = []

    def run(*values: Any) -> list[Any]:
        outputs, flags[:] = evaluate_batch(graph, size, values, batched)
        for position, output in enumerate(outputs):
            if forced and forced[position] and not flags[position]:
                outputs[position], flags[position] = repeat(output, size), True
        return outputs

    return _closed(*stage(run, batched_types(graph.input_types, size, batched))), flags


# -- reverse mode ----------------------------------------------------------------------------------------


def _smaller_sources(equation: Equation | None, forward: Collection[Var]) -> list[Var] | None:
    """Return from which smaller values the backward pass computes an array again.

    These are arrays of truth values and integers, such as masks, and what broadcasting repeats. None where the
    array is kept: others take longer to compute than to read, or are not larger than what they come from.
    """
    if equation is None:
        return None
    (var,) = equation.outputs
    sources = [x for x in equation.operands if not isinstance(x, Literal) and x in forward]
    before, after = bytes_of([x.type for x in sources]), bytes_of([var.type])
    if equation.primitive in ("broadcast_to", "reshape"):
        return sources if before <= after else None
    is_mask = var.dtype.kind in "bi" and all(x.dtype.kind in "bi" for x in sources)
    is_computed = REGISTRY[equation.primitive].elementwise and is_mask and var.shape and before < after
    return sources if is_computed else None


class Adjoint(NamedTuple):
    """A graph with its backward pass.

    The inputs of ``graph`` are those of the original, then the cotangents of the followed outputs; its outputs are
    those of the original, then the cotangents of the reached inputs. The first ``split`` equations are the forward
    pass. Its tapes are further inputs of either pass, and further results of the forward pass.
    """

    graph: Graph
    split: int
    followed: list[bool]
    """The outputs that depend on active inputs."""
    reached: list[bool]
    """The inputs that get a cotangent."""
    tapes: list[Tape]
    before: list[Var]
    """The values of the tapes before the forward pass."""
    after: list[Any]
    """Those after it."""
    final: list[Var]
    """Those that the backward pass reads."""
    arrays: dict[Array, Var]
    """What the backward passes of loops in the graph read of arrays after the loops around have ended."""
    rereads: dict[Var, Reread]
    """What the backward pass of the graph itself may read there."""

    @property
    def backward(self) -> Graph:
        """The graph of the cotangents alone, with the part of the forward pass that they need."""
        return subgraph(self.graph, self.graph.inputs, self.graph.outputs[len(self.followed) :])

    def residuals(self) -> list[Var]:
        """Return the values of the forward pass that the backward pass reads, without constants."""
        forward = {*self.graph.inputs[: len(self.reached)], *self.before}
        for equation in self.graph.equations[: self.split]:
            forward.update(equation.outputs)
        reads = [atom for equation in self.graph.equations[self.split :] for atom in equation.operands]
        reads += self.graph.outputs[len(self.followed) :]
        needed = dict.fromkeys(a for a in reads if not isinstance(a, Literal) and a in forward)
        definitions = {x.outputs[0]: x for x in self.graph.equations[: self.split] if len(x.outputs) == 1}
        waiting, found = list(needed)[::-1], dict[Var, None]()
        while waiting:
            var = waiting.pop()
            sources = _smaller_sources(definitions.get(var), forward)
            if sources is None:
                found[var] = None
            else:
                waiting += sources[::-1]
        return list(found)


@memoized
def adjoint_graph(graph: Graph, active: Flags, free: Flags = (), lasting: Lasting = NOTHING) -> Adjoint:
    """Write a graph and its backward pass, from its outputs to the active inputs.

    Inputs are ``free`` where the backward pass has them at no cost, because no loop around changes them. What the
    bodies of a nest of loops read of ``lasting`` arrays, it may read when the loops have ended.
    """
    rereads = lasting.within(graph)
    reread = [var for value, gathered, array, _ in rereads for var in (value, gathered or value, array)]
    wider = replace(graph, outputs=(*graph.outputs, *reread)) if reread else graph
    with running(GraphTrace()) as staging:
        inputs = [staging.new_input(type_) for type_ in graph.input_types]
        nodes = [Node(value) if flag else None for value, flag in zip(inputs, active, strict=True)]
        unchanged = (box for box, flag in zip(inputs, free, strict=False) if flag)
        recorder = Recorder(staging, unchanged, lasting)
        with recorded(recorder), running(TapeTrace()) as tape:
            found = evaluate(wider, *boxes_of(tape, inputs, nodes))
        outputs, read = found[: len(graph.outputs)], found[len(graph.outputs) :]
        states = [state_of(tape, output) for output in outputs]
        forward = set(staging.equations)
        with recorded(None):
            seeds = [(s.node, staging.new_input(type_of_value(s.value))) for s in states if s is not None]
            cotangents = walk_back(seeds, nodes)
        reached = [cotangent is not None for cotangent in cotangents]
        results = [*(release(tape, output) for output in outputs), *select(cotangents, reached)]
        whole = _closed(staging.finish([*results, *recorder.after]), staging.captured)
        before, final = (
            [staging.variable(box.state) for box in boxes] for boxes in (recorder.before, recorder.final)
        )
        arrays = {of: staging.variable(box.state) for of, box in recorder.arrays.items()}
        places = [_variable(staging, release(tape, value)) for value in read]
    split = sum(equation in forward for equation in whole.equations)
    added = {*before, *final, *arrays.values()}
    inner = Graph(
        tuple(var for var in whole.inputs if var not in added),
        whole.constants,
        whole.equations,
        whole.outputs[: len(results)],
    )
    after = list(whole.outputs[len(results) :])
    followed = [s is not None for s in states]
    staged = [_staged(reread, places[3 * n : 3 * n + 3]) for n, reread in enumerate(rereads)]
    again = confirmed([x for x in staged if x is not None], whole.equations[:split])
    return Adjoint(inner, split, followed, reached, recorder.tapes, before, after, final, arrays, again)


def _variable(staging: GraphTrace, value: Any) -> Var | None:
    """Return the variable of a trace that a value is; None for a known value."""
    is_staged = isinstance(value, Box) and value.owner is staging
    return staging.variable(value.state) if is_staged else None


def _staged(reread: Reread, found: Sequence[Var | None]) -> Reread | None:
    """Return what a graph reads as what a trace of it does, given the trace's value, what it gathers, and array."""
    value, gathered, array = found
    if value is None or gathered is None or array is None:
        return None
    return Reread(value, None if reread.gathered is None else gathered, array, reread.of)


@memoized
def vjp_graph(graph: Graph, active: Flags, forced: Flags | None = None) -> Transformed:
    """Return the graph of the backward pass alone, and which inputs it reaches.

    Its inputs are those of ``graph``, then a cotangent for each floating-point output; its outputs are the cotangents
    of the reached inputs. A forced input is reached in any case, if need be by zeros.
    """
    adjoint = adjoint_graph(graph, active)
    count = len(active)
    carrying = [is_inexact(type_.dtype) for type_ in graph.output_types]
    reached = [flag or bool(forced and forced[i]) for i, flag in enumerate(adjoint.reached)]

    def run(*values: Any) -> list[Any]:
        cotangents = select(spread(values[count:], carrying), adjoint.followed)
        results = spread(_backward(adjoint, values[:count], cotangents), adjoint.reached)
        pairs = zip(results, graph.input_types, strict=True)
        return select([or_zero(ct, type_) for ct, type_ in pairs], reached)

    types = [*graph.input_types, *map(strong, select(graph.output_types, carrying))]
    return _closed(*stage(run, types)), reached


def _backward(adjoint: Adjoint, operands: Values, cotangents: Values) -> list[Any]:
    """Return the cotangents of the reached inputs; what the forward pass writes on tapes, it writes on new ones."""
    if not adjoint.tapes:
        return evaluate(adjoint.backward, *operands, *cotangents)
    inputs, residuals = adjoint.graph.inputs[: len(operands)], adjoint.residuals()
    tapes = Threaded(adjoint.tapes, operands)
    forward = subgraph(adjoint.graph, (*inputs, *adjoint.before), (*residuals, *adjoint.after))
    results = evaluate(forward, *operands, *tapes.before)
    final = tapes.end(results[len(residuals) :])
    arriving = adjoint.graph.inputs[len(operands) :]
    outputs = adjoint.graph.outputs[len(adjoint.followed) :]
    back = subgraph(adjoint.graph, (*residuals, *adjoint.final, *arriving), outputs)
    return tapes.checked(evaluate(back, *results[: len(residuals)], *final, *cotangents), final)


def cotangents_or_zeros(cotangents: Values, types: Sequence[TensorType]) -> list[Any]:
    """Return a cotangent for each floating-point output, zeros for None."""
    pairs = zip(cotangents, types, strict=True)
    return [or_zero(ct, type_) for ct, type_ in pairs if is_inexact(type_.dtype)]
