"""Random bits: a stateless function of a key and counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import Dtype
from wengert.engine.core.errors import DtypeError, message
from wengert.engine.core.shapes import Shape, broadcast
from wengert.engine.ir.types import TensorType, show
from wengert.engine.kernels import threefry as kernels
from wengert.engine.nest.expression import Apply, Expression, Iota
from wengert.engine.nest.index import Index, flatten
from wengert.engine.nest.lowering import Operand, Pointwise, converted
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.primitive import Draw, NonDifferentiable, primitive

UINT64: Dtype = np.dtype(np.uint64)


def _type(key: TensorType, counter: TensorType, shape: Shape) -> TensorType:
    if any(operand.dtype != UINT64 for operand in (key, counter)):
        raise DtypeError(message("threefry", "keys and counters must be uint64", show(key, counter)))
    return TensorType(UINT64, broadcast("threefry", key.shape, counter.shape) + shape)


def _evaluate(key: Any, counter: Any, shape: Shape) -> Any:
    if any(np.asarray(operand).dtype != UINT64 for operand in (key, counter)):
        raise TypeError("keys and counters must be uint64")
    return kernels.threefry(key, counter, shape)


def _lowering(
    i: Sequence[Index], result: Operand, key: Operand, counter: Operand, shape: Shape
) -> Expression:
    lead = i[: len(i) - len(shape)]
    number = Iota(flatten(i[len(lead) :], shape), UINT64)
    first = converted(counter.broadcast_at(lead), UINT64)
    position = Apply("add", (first, number), UINT64)
    return Apply("threefry", (key.broadcast_at(lead), position), UINT64)


def _samples(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    words = [draw.integers(shape, -(2**63), 2**63 - 1).view(np.uint64) for shape in draw.broadcastable(2)]
    return tuple(words), {"shape": draw.shape(0, 2)}


threefry = primitive(
    name="threefry",
    doc="the blocks of successive counters under a key: Threefry-2x32 of 20 rounds (Salmon et al., 2011)",
    type_rule=_type,
    evaluate=_evaluate,
    derivative=NonDifferentiable("its result is random bits"),
    batch=batch_elementwise,  # keys and counters broadcast along their leading axes
    lowering=Pointwise(_lowering),
    source=lambda key, counter, shape: f"wengert.random.threefry({key}, {counter}, {shape})",
    samples=_samples,
)
