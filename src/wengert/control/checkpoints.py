"""`checkpoint`: less memory for more time; and `stop_gradient`."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from wengert.boxes import Box, inside_transform, own, running, snapshot
from wengert.control.dependence import through
from wengert.control.programs import (
    cotangents_or_zeros,
    for_all,
    mapped,
    pullback,
    push,
    pushed,
    select,
    spread,
)
from wengert.control.recording import record
from wengert.control.values import flatten_numbers, is_followable, pack
from wengert.core import tree
from wengert.ir.graph import Graph
from wengert.nest.lowering import HoldsPrograms
from wengert.ops.conversion import stop_gradient_primitive
from wengert.primitive import HigherOrder, Primitive, primitive
from wengert.transforms.reverse import walk_back
from wengert.transforms.staging import evaluate
from wengert.transforms.tape import Node, TapeTrace, start_of

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def checkpoint(fun: F) -> F:
    """Return a function whose intermediate values reverse mode does not keep, but computes again on the way back.

    The memory of a chain of n checkpointed segments is that of n values and one segment, for one more forward pass
    (Griewank and Walther, "Evaluating Derivatives", 2008, chapter 12). Values that the function closes over are
    differentiated as its arguments are.

    The function itself is called once: the operations that it carried out, not their values, are kept and repeated.
    What else it does (drawing random numbers, printing) happens once.

    Args:
        fun: a function of containers of arrays and numbers; other arguments, such as strings, are settings.

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
            result = fun(*inside, **inside_options)
            outputs, structure = flatten_numbers("checkpoint", "what the function returns", result)
            structures.append(structure)
            return outputs

        recorded = record(run, leaves)
        if all(value is not None for value in recorded.known):
            _first[recorded.graph] = recorded.known
        results: Sequence[Any] = ()
        if recorded.known:
            results = checkpoint_primitive(*recorded.captured, *leaves, program=recorded.graph)
        return tree.unflatten(structures[0], results)

    return checkpointed  # pyright: ignore[reportReturnType]


def stop_gradient(value: T) -> T:
    """Return a value through which no derivative passes.

    Args:
        value: an array, a number or a container of them.

    Example:
        >>> import wengert as wg
        >>> wg.grad(lambda x: x * stop_gradient(x))(3.0)
        3.0
    """

    def stop(leaf: Any) -> Any:
        # The array behind a box is the transform's: what the user gets of it is a copy.
        return snapshot(stop_gradient_primitive(leaf)) if isinstance(leaf, Box) else own(leaf)

    return tree.map_tree(stop, value)


# -- the primitive ---------------------------------------------------------------------------------------

#: The results of programs that were computed as they were written down, until someone asks for them.
_first: weakref.WeakKeyDictionary[Graph, list[Any]] = weakref.WeakKeyDictionary()


def _evaluate(*operands: Any, program: Graph) -> tuple[Any, ...]:
    known = _first.pop(program, None)
    return tuple(evaluate(program, *operands) if known is None else known)


def _push(primals: Sequence[Any], tangents: Sequence[Any], program: Graph) -> Any:
    active = [tangent is not None for tangent in tangents]
    if not any(isinstance(value, Box) for value in (*primals, *tangents)):
        outputs, found = push(program, primals, tangents)
        return tuple(outputs), found
    moving, reached = pushed(program, active)
    results = checkpoint_primitive(*primals, *select(tangents, active), program=moving)
    count = len(reached)
    return results[:count], spread(results[count:], reached)


def _pull(primals: Sequence[Any], active: Sequence[bool], program: Graph) -> Any:
    outputs = checkpoint_primitive(*primals, program=program)

    def walk(cotangents: Sequence[Any]) -> list[Any]:
        if not any(isinstance(primal, Box) for primal in primals):
            return _repeat(program, primals, active, cotangents)
        # The way back is a checkpoint as well: an outer reverse mode does not keep its values either.
        back, reached = pullback(program, active)
        given = cotangents_or_zeros(cotangents, program.output_types)
        if not any(reached):
            return [None] * len(active)
        return spread(checkpoint_primitive(*primals, *given, program=back), reached)

    return outputs, walk


def _repeat(
    program: Graph, primals: Sequence[Any], active: Sequence[bool], cotangents: Sequence[Any]
) -> list[Any]:
    """Carry the program out again, recorded this time, and walk back."""
    trace = TapeTrace()
    starts = [Node(primal) if flag else None for primal, flag in zip(primals, active, strict=True)]
    with running(trace):
        boxes = [
            x if start is None else start_of(trace, start) for x, start in zip(primals, starts, strict=True)
        ]
        outputs = evaluate(program, *boxes)
    seeds = [
        (output.state.node, cotangent)
        for output, cotangent in zip(outputs, cotangents, strict=True)
        if cotangent is not None and isinstance(output, Box) and output.owner is trace
    ]
    return spread(walk_back(seeds, [start for start in starts if start is not None]), active)


def _batch(
    op: Primitive, size: int, operands: Sequence[Any], batched: Sequence[bool], params: Mapping[str, Any]
) -> Any:
    program = params["program"]
    whole, leading = mapped(program, size, batched)
    return for_all(op(*operands, program=whole), leading, size, program.output_types)


checkpoint_primitive = primitive(
    name="checkpoint",
    doc="a program whose intermediate values reverse mode does not keep, but computes again on the way back",
    type_rule=lambda *types, program: program.output_types,
    evaluate=_evaluate,
    derivative=HigherOrder(_push, _pull, lambda marks, program: through(program, marks)),
    batch=_batch,
    lowering=HoldsPrograms(),
    source=lambda *operands, program: f"checkpoint(program)({', '.join(operands)})",
    samples=None,
)
