"""`checkpoint`: less memory for more time; and `stop_gradient`."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from wengert.engine.boxes import Box, inside_transform, own, running, snapshot, state_of
from wengert.engine.control.recording import record
from wengert.engine.control.subgraphs import (
    Flags,
    Values,
    batch_graph,
    batch_results,
    cotangents_or_zeros,
    extended_graph,
    may_raise,
    propagate,
    select,
    spread,
    unchecked_graph,
    vjp_graph,
)
from wengert.engine.control.values import flatten_numbers, is_followable, pack, program_types
from wengert.engine.core import tree
from wengert.engine.core.calls import advising
from wengert.engine.ir.graph import Graph
from wengert.engine.ir.types import TensorType
from wengert.engine.nest.lowering import ControlFlow
from wengert.engine.ops.conversion import stop_gradient_primitive
from wengert.engine.primitive import HigherOrder, Primitive, primitive
from wengert.engine.transforms.algebras import Algebra, evaluate_over
from wengert.engine.transforms.reverse_mode import walk_back
from wengert.engine.transforms.staging import evaluate
from wengert.engine.transforms.substitution import attempt, current
from wengert.engine.transforms.tape import Node, TapeTrace, boxes_of

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


@advising("wg.checkpoint(f)(x)")
def checkpoint(fun: F) -> F:
    """Return a function whose intermediate values reverse mode recomputes instead of keeping them.

    A chain of n checkpointed segments ``x[i + 1] = f(x[i])`` needs the memory of n values and one segment, for one more
    forward pass (Griewank and Walther, "Evaluating Derivatives", 2008, chapter 12). Values that the function closes
    over are differentiated, too.

    The function itself is called once: its recorded operations are evaluated again. Side effects, such as drawing
    random numbers or printing, happen once.

    Args:
        fun: a function of containers of arrays and numbers; other arguments, such as strings, are settings.

    Returns:
        A function with the arguments and results of ``fun``.

    Raises:
        DtypeError: under a transform, the function returns something other than arrays and numbers.

    Example:
        >>> import numpy as np, wengert as wg
        >>> wg.grad(checkpoint(lambda x: np.sum(np.sin(np.sin(x)))))(np.zeros(2))
        array([1., 1.])
    """

    @functools.wraps(fun)
    def checkpointed(*arguments: Any, **options: Any) -> Any:
        leaves, packed = pack((arguments, options), is_followable)
        if not (inside_transform() or any(isinstance(leaf, Box) for leaf in leaves)):
            return tree.map_tree(own, fun(*arguments, **options))
        structures: list[tree.Structure] = []

        def run(*values: Any) -> list[Any]:
            inside, inside_options = packed.rebuild(values)
            result = current(fun, inside, inside_options)(*inside, **inside_options)
            outputs, structure = flatten_numbers("checkpoint", "the result of the function", result)
            structures.append(structure)
            return outputs

        recorded = attempt(fun, lambda: record(run, leaves))
        if all(value is not None for value in recorded.values):
            _first[recorded.graph] = recorded.values
        results: Values = ()
        if recorded.values:
            results = checkpoint_primitive(*recorded.captured, *leaves, program=recorded.graph)
        return tree.unflatten(structures[-1], results)

    return checkpointed  # pyright: ignore[reportReturnType]


def stop_gradient(value: T) -> T:
    """Return a value as a constant, through which no derivative passes.

    Args:
        value: an array, a number or a container of them.

    Returns:
        The same values, in containers and arrays of their own.

    Example:
        >>> import wengert as wg
        >>> wg.grad(lambda x: x * stop_gradient(x))(3.0)
        3.0
    """

    def stop(leaf: Any) -> Any:
        # The user gets a copy: the array behind a box belongs to the transform.
        return snapshot(stop_gradient_primitive(leaf)) if isinstance(leaf, Box) else own(leaf)

    return tree.map_tree(stop, value)


# -- the primitive ---------------------------------------------------------------------------------------

#: The results of recorded graphs, computed while recording, until their first evaluation.
_first: weakref.WeakKeyDictionary[Graph, list[Any]] = weakref.WeakKeyDictionary()


def _evaluate(*operands: Any, program: Graph) -> tuple[Any, ...]:
    results = _first.pop(program, None)
    return tuple(evaluate(program, *operands) if results is None else results)


def _extend(algebra: Algebra, primals: Values, parts: Values, program: Graph) -> Any:
    if not any(isinstance(value, Box) for value in (*primals, *parts)):
        outputs, output_parts = evaluate_over(algebra, program, primals, parts)
        return tuple(outputs), output_parts
    present = [part is not None for part in parts]
    moving, reached = extended_graph(program, algebra, present)
    results = checkpoint_primitive(*primals, *select(parts, present), program=moving)
    count = len(program.outputs)
    return results[:count], spread(results[count:], reached)


def _pull(primals: Values, active: Flags, program: Graph) -> Any:
    outputs = checkpoint_primitive(*primals, program=program)

    def pullback(cotangents: Values) -> list[Any]:
        if not any(isinstance(primal, Box) for primal in primals):
            return _repeat(program, primals, active, cotangents)
        # The backward pass is a checkpoint, too: an outer reverse mode does not keep its values either.
        back, reached = vjp_graph(program, active)
        if not any(reached):
            return [None] * len(active)
        seeds = cotangents_or_zeros(cotangents, program.output_types)
        return spread(checkpoint_primitive(*primals, *seeds, program=back), reached)

    return outputs, pullback


def _repeat(program: Graph, primals: Values, active: Flags, cotangents: Values) -> list[Any]:
    """Evaluate the graph again, recorded this time, and walk back."""
    nodes = [Node(primal) if flag else None for primal, flag in zip(primals, active, strict=True)]
    with running(TapeTrace()) as trace:
        outputs = evaluate(program, *boxes_of(trace, primals, nodes))
    states = [state_of(trace, output) for output in outputs]
    pairs = zip(states, cotangents, strict=True)
    return walk_back([(s.node, ct) for s, ct in pairs if s is not None and ct is not None], nodes)


def _batch(op: Primitive, size: int, operands: Values, batched: Flags, params: Mapping[str, Any]) -> Any:
    program = params["program"]
    whole, leading = batch_graph(program, size, batched)
    return batch_results(op(*operands, program=whole), leading, size, program.output_types)


def _unchecked(counts: Any, operands: Values, params: dict[str, Any]) -> tuple[Values, dict[str, Any]]:
    """Pass whether the example counts to the program."""
    if not may_raise(*params.values()):
        return operands, params
    return [counts, *operands], {"program": unchecked_graph(params["program"])}


def _infer(*types: TensorType, program: Graph) -> tuple[TensorType, ...]:
    return program_types("checkpoint", program, types)


checkpoint_primitive = primitive(
    name="checkpoint",
    doc="a program whose intermediate values reverse mode recomputes",
    type_rule=_infer,
    evaluate=_evaluate,
    derivative=HigherOrder(
        extend=_extend, pull=_pull, reach=lambda marks, program: propagate(program, marks)
    ),
    batch=_batch,
    lowering=ControlFlow(),
    source=lambda *operands, program: f"checkpoint(program)({', '.join(operands)})",
    samples=None,
    unchecked_programs=_unchecked,
)
