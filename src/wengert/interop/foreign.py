"""Functions of other frameworks as operations: in both modes, batched, and called from compiled programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.control.subgraphs import cotangents_or_zeros
from wengert.engine.core import tree
from wengert.engine.core.dtypes import NUMPY_VALUE, is_inexact
from wengert.engine.core.raised import mark_as_users
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.conversion import cast
from wengert.engine.primitive import HigherOrder, Primitive, primitive
from wengert.engine.transforms.batching import Batched
from wengert.interop.flat import Crossing, Flags, Flat, Framework, chosen, spread


def imported(operation: str, function: Callable[..., Any], framework: Framework) -> Callable[..., Any]:
    """Return a function of another framework as one of Wengert's; the operation is named in messages."""
    crossing = Crossing(operation, function, framework, lambda leaf: isinstance(leaf, (Box, *NUMPY_VALUE)))

    def call(*arguments: Any, **options: Any) -> Any:
        flat, operands = crossing.enter(arguments, options)
        types = list(map(type_of, operands))
        strong = [cast(x, dtype=t.dtype) if t.weak else x for x, t in zip(operands, types, strict=True)]
        results = foreign(*strong, call=flat)  # after which the structure is known
        return tree.unflatten(flat.structure, results)

    call.__name__ = call.__qualname__ = crossing.name
    call.__doc__ = function.__doc__
    return call


def _types(*types: TensorType, call: Flat) -> tuple[TensorType, ...]:
    return call.types(types)


def _evaluate(*operands: Any, call: Flat) -> tuple[Any, ...]:
    arrays = [np.asarray(x) for x in operands]
    try:
        results = tuple(x[()] for x in call.framework.run(call, arrays))
    except Exception as problem:
        mark_as_users(problem)
        raise
    call.check(arrays, results)
    return results


def _push(primals: Sequence[Any], tangents: Sequence[Any], call: Flat) -> Any:
    active = tuple(tangent is not None for tangent in tangents)
    outputs = foreign(*primals, call=call)
    moved = foreign(*primals, *chosen(tangents, active), call=call.jvp(active))
    return outputs, spread(moved, [is_inexact(type_of(y).dtype) for y in outputs])


def _pull(primals: Sequence[Any], active: Flags, call: Flat) -> Any:
    outputs = foreign(*primals, call=call)
    active, types = tuple(active), list(map(type_of, outputs))

    def pullback(cotangents: Sequence[Any]) -> list[Any]:
        incoming = cotangents_or_zeros(cotangents, types)
        return spread(foreign(*primals, *incoming, call=call.vjp(active)), active)

    return outputs, pullback


def _batch(op: Primitive, size: int, operands: Any, batched: Flags, params: Mapping[str, Any]) -> Any:
    return tuple(map(Batched, op(*operands, call=params["call"].vmap(tuple(batched)))))


foreign = primitive(
    name="foreign",
    doc="a function of another framework, whose derivatives and batches the framework makes",
    type_rule=_types,
    evaluate=_evaluate,
    derivative=HigherOrder(push=_push, pull=_pull),
    batch=_batch,
    lowering=OnHost("another framework computes it"),
    source=lambda *operands, call: f"{call!r}({', '.join(operands)})",
    samples=None,
)
