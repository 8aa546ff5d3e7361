"""`cond`: one of two functions, chosen by a predicate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from wengert.engine.boxes import Box, own, rests_on
from wengert.engine.control.recomputed import computed_again
from wengert.engine.control.recording import Recorded, record
from wengert.engine.control.subgraphs import (
    Adjoint,
    Flags,
    Transformed,
    Values,
    adjoint_graph,
    batch_graph,
    batch_results,
    convert_outputs,
    evaluate_batch,
    extended_graph,
    may_raise,
    memoized,
    or_zero,
    propagate,
    repeat,
    select,
    spread,
    subgraph,
    unchecked_graph,
)
from wengert.engine.control.tapes import Tape, Threaded, free_of, types_of_tapes
from wengert.engine.control.values import (
    bytes_of,
    check_same_types,
    flatten_numbers,
    pack,
    predicate,
    program_types,
    strong,
    unify,
    zeros,
)
from wengert.engine.core import tree
from wengert.engine.core.calls import advising
from wengert.engine.core.dtypes import dtype_of, is_inexact
from wengert.engine.core.errors import ArgumentError, DtypeError, GraphError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.graph import Graph, Var
from wengert.engine.ir.types import TensorType
from wengert.engine.nest.lowering import ControlFlow
from wengert.engine.ops.comparison import logical_not, where
from wengert.engine.ops.conversion import stop_gradient_primitive
from wengert.engine.ops.shape import reshape
from wengert.engine.primitive import HigherOrder, Primitive, primitive
from wengert.engine.transforms.algebras import Algebra
from wengert.engine.transforms.arguments import is_number
from wengert.engine.transforms.staging import evaluate, stage
from wengert.engine.transforms.tape import LinearTrace


@advising("wg.cond(condition, f, g, x)")
def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """Call one of two functions: ``true_fun(*operands) if pred else false_fun(*operands)``.

    For a known predicate this is Python's ``if``. A traced graph holds both functions and runs one. If the examples of
    `vmap` disagree, both run and each example selects its result; the derivative of the other never counts, even if it
    is infinite.

    Args:
        pred: one truth value; a number counts as true unless it is zero.
        true_fun: called with the operands if the predicate holds.
        false_fun: called with the operands if it does not hold.
        operands: containers of arrays and numbers.

    Returns:
        The result of the function, with arrays in their own memory. In a traced graph both functions must return the
        same containers, shapes and dtypes; Python scalars take the dtype of the other result.

    Raises:
        ShapeError: the predicate is not a scalar, or the shapes of the results differ.
        DtypeError: the dtypes of the results differ, or a function is missing.
        ArgumentError: the containers of the results differ.

    Example:
        >>> import wengert as wg
        >>> wg.grad(lambda x: cond(x > 0, lambda x: x**2, lambda x: -x, x))(3.0)
        6.0
    """
    for function in (true_fun, false_fun):
        if not callable(function):
            hint = "write np.where(condition, x, y) to choose between values, or lambda: x"
            raise DtypeError(message("cond", "two functions are needed", type(function).__name__, hint))
    chosen = predicate("cond", pred)
    if isinstance(chosen, bool):
        return tree.map_tree(own, (true_fun if chosen else false_fun)(*operands))
    leaves, packed = pack(operands, is_number)
    structures: list[tree.Structure] = []

    def flat(function: Callable[..., Any]) -> Callable[..., list[Any]]:
        def run(*values: Any) -> list[Any]:
            result = function(*packed.rebuild(values))
            results, structure = flatten_numbers("cond", "the result of a branch", result)
            structures.append(structure)
            return results

        return run

    on_true, on_false = (record(flat(function), leaves) for function in (true_fun, false_fun))
    if structures[0] != structures[1]:
        got = f"true_fun {tree.show(structures[0])}, false_fun {tree.show(structures[1])}"
        raise ArgumentError(message("cond", "both branches must return the same containers", got))
    (yes, no), captured = aligned(on_true, on_false)
    types = _common_types(yes, no, structures[0])
    if not types:
        return tree.unflatten(structures[0], ())
    yes, no = convert_outputs(yes, types), convert_outputs(no, types)
    results = cond_primitive(chosen, *captured, *leaves, on_true=yes, on_false=no)
    return tree.unflatten(structures[0], results)


def aligned(*branches: Recorded) -> tuple[list[Graph], list[Any]]:
    """Give branches that close over different values the same inputs; return them with these values."""
    union: dict[int, Any] = {}
    for branch in branches:
        union.update((id(value.state), value) for value in branch.captured)
    graphs: list[Graph] = []
    for branch in branches:
        known = {id(x.state): var for x, var in zip(branch.captured, branch.graph.inputs, strict=False)}
        lifted = tuple(known.get(key) or Var(value.type) for key, value in union.items())
        graphs.append(replace(branch.graph, inputs=lifted + branch.graph.inputs[len(branch.captured) :]))
    return graphs, list(union.values())


def _common_types(on_true: Graph, on_false: Graph, structure: tree.Structure) -> list[TensorType]:
    rows = zip(tree.paths(structure, "result"), on_true.output_types, on_false.output_types, strict=True)
    return [unify("cond", "both branches must return the same type", path, yes, no) for path, yes, no in rows]


# -- the primitive ---------------------------------------------------------------------------------------


def _infer(pred: TensorType, *types: TensorType, on_true: Graph, on_false: Graph) -> tuple[TensorType, ...]:
    if pred.shape:
        raise GraphError(message("cond", "the predicate must be a scalar", str(pred)))
    results = program_types("cond", on_true, types)
    check_same_types("cond", "the results of both programs", program_types("cond", on_false, types), results)
    return results


def _evaluate(pred: Any, *operands: Any, on_true: Graph, on_false: Graph) -> tuple[Any, ...]:
    return tuple(evaluate(on_true if pred else on_false, *operands))


def _both(transform: Callable[..., Transformed], graphs: Sequence[Graph], *context: Any) -> Any:
    flags = [transform(graph, *context, None)[1] for graph in graphs]
    forced = list(map(any, zip(*flags, strict=True)))
    return [transform(graph, *context, forced)[0] for graph in graphs], forced


def _extend(algebra: Algebra, primals: Values, parts: Values, on_true: Graph, on_false: Graph) -> Any:
    """Carry the parts of elements of an algebra along; the predicate does not read them."""
    parts = parts[algebra.size :]
    present = [part is not None for part in parts]
    (yes, no), reached = _both(extended_graph, (on_true, on_false), algebra, present)
    results = cond_primitive(*primals, *select(parts, present), on_true=yes, on_false=no)
    count = len(on_true.outputs)
    return results[:count], spread(results[count:], reached)


class _Split(NamedTuple):
    """Two branches that leave residuals behind, and their backward passes."""

    forward: list[Graph]
    """The results, then the tapes and the residuals."""
    backward: list[Graph]
    """From the read operands, residuals, tapes and cotangents of the followed results to those of the operands."""
    tapes: list[Tape]
    """Those of both branches: further operands and results of the forward, further operands of the backward passes."""
    read: list[bool]
    """The operands that a backward pass reads."""
    followed: list[bool]
    reached: list[bool]


@memoized
def _split(on_true: Graph, on_false: Graph, active: Flags, free: Flags) -> _Split:
    """Split branches into their forward and backward passes.

    The backward passes read computed residuals or, where these are larger, compute them again from the operands.
    """
    adjoints = [adjoint_graph(graph, active, free) for graph in (on_true, on_false)]
    followed = [any(pair) for pair in zip(*(x.followed for x in adjoints), strict=True)]
    reached = [any(pair) for pair in zip(*(x.reached for x in adjoints), strict=True)]
    tapes = [tape for adjoint in adjoints for tape in adjoint.tapes]
    types = types_of_tapes(tapes)
    computed, slots, places, read = _kept(adjoints, on_true.input_types, free)
    middle = len(adjoints[0].before)
    own = slice(0, middle), slice(middle, len(types))
    branches = list(zip(adjoints, computed, places, own, strict=True))

    def forward(adjoint: Adjoint, residuals: Sequence[Var], places: Sequence[int], own: slice) -> Graph:
        count = len(followed)
        outputs = (*adjoint.graph.outputs[:count], *adjoint.after, *residuals)
        step = subgraph(adjoint.graph, (*adjoint.graph.inputs[: len(active)], *adjoint.before), outputs)

        def run(*values: Any) -> list[Any]:
            operands, kept = values[: len(active)], [*values[len(active) :]]
            results = evaluate(step, *operands, *kept[own])
            last = count + len(adjoint.after)
            kept[own] = results[count:last]
            saved = list(map(zeros, slots))
            for place, value in zip(places, results[last:], strict=True):
                saved[place] = value
            return [*results[:count], *kept, *saved]

        return stage(run, [*on_true.input_types, *types])[0]

    def backward(adjoint: Adjoint, residuals: Sequence[Var], places: Sequence[int], own: slice) -> Graph:
        step = _backward_pass(adjoint, residuals, read)
        first, second, third = accumulate((sum(read), len(slots), len(types)))

        def run(*values: Any) -> list[Any]:
            operands, saved, final = values[:first], values[first:second], values[second:third]
            arriving = select(spread(values[third:], followed), adjoint.followed)
            kept = (saved[place] for place in places)
            results = evaluate(step, *operands, *kept, *final[own], *arriving)
            pairs = zip(spread(results, adjoint.reached), on_true.input_types, strict=True)
            return select([or_zero(ct, type_) for ct, type_ in pairs], reached)

        seeds = map(strong, select(on_true.output_types, followed))
        return stage(run, [*select(on_true.input_types, read), *slots, *types, *seeds])[0]

    forwards = [forward(*branch) for branch in branches]
    backwards = [backward(*branch) for branch in branches]
    return _Split(forwards, backwards, tapes, read, followed, reached)


class _Kept(NamedTuple):
    """What the forward passes of two branches leave behind."""

    computed: list[list[Var]]
    slots: list[TensorType]
    places: list[list[int]]
    read: list[bool]


def _kept(adjoints: Sequence[Adjoint], types: Sequence[TensorType], free: Flags) -> _Kept:
    """Return what branches leave behind: residuals or, where these are larger than what they come from, nothing."""
    computed = [[x for x in adjoint.residuals() if x not in adjoint.graph.inputs] for adjoint in adjoints]
    given = list(map(max, free, _read_operands(adjoints, computed)))
    computed = [_without_known(*pair, given, free) for pair in zip(adjoints, computed, strict=True)]
    read, again = _read_operands(adjoints, computed), _read_operands(adjoints, [[], []])
    slots, places = _slots(computed)
    stored, computed_again = (bytes_of(select(types, flags)) for flags in (read, again))
    if stored + bytes_of(slots) > computed_again and not any(adjoint.tapes for adjoint in adjoints):
        return _Kept([[], []], [], [[], []], again)
    return _Kept(computed, slots, places, read)


def _without_known(adjoint: Adjoint, computed: Sequence[Var], given: Flags, free: Flags) -> list[Var]:
    """Return the residuals of a branch that are not computed again: from given operands, and from integers."""
    inputs = adjoint.graph.inputs[: len(free)]
    integers = [not var.shape and not is_inexact(var.dtype) for var in inputs]
    known = select(inputs, list(map(max, given, integers)))
    return computed_again(adjoint.graph, adjoint.split, computed, known, select(inputs, given))[0]


def _backward_pass(adjoint: Adjoint, residuals: Sequence[Var], read: Flags) -> Graph:
    """Return the graph from operands, residuals and cotangents of the results to the cotangents of the operands."""
    count = len(adjoint.reached)
    operands, seeds = adjoint.graph.inputs[:count], adjoint.graph.inputs[count:]
    inputs = (*select(operands, read), *residuals, *adjoint.final, *seeds)
    return subgraph(adjoint.graph, inputs, adjoint.graph.outputs[len(adjoint.followed) :])


def _read_operands(adjoints: Sequence[Adjoint], residuals: Sequence[Sequence[Var]]) -> list[bool]:
    """Return which operands a backward pass reads, beside residuals."""
    rows: list[list[bool]] = []
    for adjoint, computed in zip(adjoints, residuals, strict=True):
        count = len(adjoint.reached)
        step = _backward_pass(adjoint, computed, [True] * count)
        atoms = {atom for equation in step.equations for atom in equation.operands} | set(step.outputs)
        rows.append([var in atoms for var in step.inputs[:count]])
    return [any(pair) for pair in zip(*rows, strict=True)]


def _slots(residuals: Sequence[Sequence[Var]]) -> tuple[list[TensorType], list[list[int]]]:
    """Return the types of the places that hold the residuals of the branch that runs, and the places of each branch.

    Numbers of both branches share places. Integers do not: in a batch, a branch reads the indices of the other one.
    """
    types: list[TensorType] = []
    places: list[list[int]] = []
    for variables in residuals:
        free = [place for place, type_ in enumerate(types) if is_inexact(type_.dtype)]
        taken: list[int] = []
        for var in variables:
            place = next((place for place in free if types[place][:2] == var.type[:2]), len(types))
            if place == len(types):
                types.append(strong(var.type))
            else:
                free.remove(place)
            taken.append(place)
        places.append(taken)
    return types, places


def _pull(primals: Values, active: Flags, on_true: Graph, on_false: Graph) -> Any:
    """Run a branch and keep its residuals; the pullback runs the backward pass of the same branch."""
    split = _split(on_true, on_false, active[1:], free_of(primals[1:]))
    tapes, count = Threaded(split.tapes, primals), len(on_true.outputs)
    operands = *primals, *tapes.before
    results = cond_primitive(*operands, on_true=split.forward[0], on_false=split.forward[1])
    last = count + len(tapes.before)
    final = tapes.end(results[count:last])
    results = *tapes.checked(results[:count], final), *results[last:]

    def pullback(cotangents: Values) -> list[Any]:
        if not any(split.reached):
            return [None] * len(active)
        pairs = zip(cotangents, on_true.output_types, strict=True)
        seeds = select([or_zero(ct, type_) for ct, type_ in pairs], split.followed)
        operands = primals[0], *select(primals[1:], split.read), *results[count:], *final, *seeds
        back = cond_primitive(*operands, on_true=split.backward[0], on_false=split.backward[1])
        return [None, *spread(tapes.checked(back, final), split.reached)]

    return results[:count], pullback


def _reach(marks: Sequence[int], on_true: Graph, on_false: Graph) -> list[int]:
    pairs = zip(propagate(on_true, marks[1:]), propagate(on_false, marks[1:]), strict=True)
    return [yes | no for yes, no in pairs]


def choose(size: int, pred: Any, graphs: tuple[Graph, Graph], operands: Values, batched: Flags) -> list[Any]:
    """Evaluate two graphs on many examples, and select the results of one for each example.

    A graph gets the operands ``where(taken, x, stop_gradient(x))``: the same values, but examples that do not take it
    send no cotangent back, not even NaN, and their indices raise no error. Results that the second graph does not have
    are those of the first.
    """
    sides: list[list[Any]] = []
    for taken, graph in zip((True, False), graphs, strict=True):
        pairs = zip(operands, batched, strict=True)
        guarded = [_guarded(pred, x, taken) if flag else x for x, flag in pairs]
        outputs, flags = evaluate_batch(graph, size, guarded, batched, pred if taken else logical_not(pred))
        sides.append([x if flag else repeat(x, size) for x, flag in zip(outputs, flags, strict=True)])
    first, second = sides
    chosen = [where(_column(pred, yes), yes, no) for yes, no in zip(first, second, strict=False)]
    return [*chosen, *first[len(second) :]]


def _guarded(pred: Any, value: Any, taken: bool) -> Any:
    if not (isinstance(value, Box) and is_inexact(dtype_of(value))):
        return value
    # Any value may replace an unknown one, such as a tangent to be transposed, for the other examples.
    stopped = zeros(value.type) if rests_on(value, LinearTrace) else stop_gradient_primitive(value)
    return where(_column(pred, value), *((value, stopped) if taken else (stopped, value)))


def _column(pred: Any, value: Any) -> Any:
    return reshape(pred, shape=(*shape_of(pred), *(1,) * (len(shape_of(value)) - 1)))


def _batch(op: Primitive, size: int, operands: Values, batched: Flags, params: Mapping[str, Graph]) -> Any:
    graphs = params["on_true"], params["on_false"]
    types = graphs[0].output_types
    if batched[0]:
        results = choose(size, operands[0], graphs, operands[1:], batched[1:])
        return batch_results(results, [True] * len(results), size, types)

    def transform(graph: Graph, forced: Any) -> Transformed:
        return batch_graph(graph, size, batched[1:], forced)

    (yes, no), flags = _both(transform, graphs)
    return batch_results(op(*operands, on_true=yes, on_false=no), flags, size, types)


def _unchecked(counts: Any, operands: Values, params: dict[str, Any]) -> tuple[Values, dict[str, Any]]:
    """Pass whether the example counts to both branches."""
    if not may_raise(*params.values()):
        return operands, params
    pred, *others = operands
    return [pred, counts, *others], {name: unchecked_graph(graph) for name, graph in params.items()}


cond_primitive = primitive(
    name="cond",
    doc="the results of one of two programs with the same inputs and results; the first operand is the predicate",
    type_rule=_infer,
    evaluate=_evaluate,
    derivative=HigherOrder(extend=_extend, pull=_pull, reach=_reach),
    batch=_batch,
    lowering=ControlFlow(),
    source=lambda pred, *operands, on_true, on_false: (
        f"cond({', '.join((pred, 'on_true', 'on_false', *operands))})"
    ),
    samples=None,
    unchecked_programs=_unchecked,
)
