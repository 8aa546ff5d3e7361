"""Indexing by integer arrays: gather, its transpose scatter_add, scatter, the last writer, and bounds checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import BOOL, INT64, NDARRAY, Dtype
from wengert.engine.core.errors import DtypeError, OutOfRangeError, ShapeError, message
from wengert.engine.core.shapes import Shape, broadcast, shape_of, size
from wengert.engine.ir.types import TensorType, show
from wengert.engine.nest.expression import Apply, Buffer, Const, Expression, Iota, zero
from wengert.engine.nest.index import Computed, Dim, Index, flatten
from wengert.engine.nest.lowering import Definition, Operand, Pointwise, Section, converted
from wengert.engine.ops.comparison import equal, less, where
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.elementwise import batch_elementwise
from wengert.engine.ops.shape import move_batch, reshape
from wengert.engine.primitive import Draw, Linear, NonDifferentiable, Primitive, primitive

_MOST_OF_ADD_AT = 32
"""The largest number of axes that `np.add.at` takes; with more it crashes."""
_FEW = 512
"""The number of elements up to which `np.add.at` takes less time with several axes than with positions in one axis."""
_PIECE = 1 << 20
"""The number of positions in one axis that are held at once."""


def _check_indices(operation: str, indices: Sequence[TensorType]) -> Shape:
    if any(index.dtype.kind not in "iu" for index in indices):
        raise DtypeError(message(operation, "indices must be integers", show(*indices)))
    return broadcast(operation, *(index.shape for index in indices))


def _gather_type(x: TensorType, *indices: TensorType) -> TensorType:
    if len(indices) > x.ndim:
        raise ShapeError(message("gather", "there may be at most one index an axis", show(x, *indices)))
    return TensorType(x.dtype, _check_indices("gather", indices) + x.shape[len(indices) :])


def _check_values(operation: str, shape: Shape, y: TensorType, indices: Sequence[TensorType]) -> None:
    """Raise where values do not have the shape of the elements that indices select."""
    expected = _check_indices(operation, indices) + shape[len(indices) :]
    if y.shape != expected:
        raise ShapeError(message(operation, f"the values must have shape {expected}", show(y)))


def _scatter_type(y: TensorType, *indices: TensorType, shape: Shape) -> TensorType:
    _check_values("scatter_add", shape, y, indices)
    return TensorType(y.dtype, shape)


def _scatter_add(y: Any, *indices: Any, shape: Shape) -> Any:
    result = np.zeros(shape, dtype=np.result_type(y))
    _add_each(result, indices, y)
    return result


def _add_each(target: Any, indices: Sequence[Any], y: Any) -> None:
    """Add at the indices. NumPy adds to an array of one axis tens of times as fast as to one of several."""
    if target.ndim == 1 or (
        target.ndim <= _MOST_OF_ADD_AT and (y.size if isinstance(y, NDARRAY) else 1) <= _FEW
    ):
        np.add.at(target, tuple(indices), y)
        return
    trailing = target.shape[len(indices) :]
    lead = np.broadcast_shapes(*map(np.shape, indices))
    rows = np.broadcast_to(_rows(indices, target.shape), lead).reshape(-1)
    values = np.broadcast_to(y, (*lead, *trailing)).reshape(len(rows), size(trailing))
    is_flat = target.flags.c_contiguous
    total = (target if is_flat else np.zeros(target.shape, target.dtype)).reshape(-1)
    columns = np.arange(size(trailing))
    turn = max(1, _PIECE // max(1, len(columns)))
    for start in range(0, len(rows), turn):
        positions = rows[start : start + turn, None] * len(columns) + columns
        np.add.at(total, positions.reshape(-1), values[start : start + turn].reshape(-1))
    if not is_flat:
        np.add(target, total.reshape(target.shape), out=target)


def _write_each(target: Any, indices: Sequence[Any], y: Any) -> None:
    """Write at the indices in row-major order. NumPy itself follows the strides of its operands."""
    if not all(np.ndim(index) <= 1 and np.asarray(index).flags.c_contiguous for index in indices):
        lead = np.broadcast_shapes(*map(np.shape, indices))
        indices = [np.ascontiguousarray(np.broadcast_to(index, lead)).reshape(-1) for index in indices]
        y = np.reshape(y, (size(lead), *target.shape[len(indices) :]))
    target[tuple(indices)] = y


def _rows(indices: Sequence[Any], shape: Shape) -> Any:
    """Return the positions of the indexed elements, or rows, in row-major order; raise `IndexError` outside."""
    position: Any = 0
    for axis, (index, extent) in enumerate(zip(indices, shape, strict=False)):
        index = np.asarray(index)
        low, high = (int(index.min()), int(index.max())) if index.size else (0, -1)
        if low < -extent or high >= extent:
            outside = low if low < -extent else high
            raise IndexError(f"index {outside} is out of bounds for axis {axis} with size {extent}")
        index = index.astype(np.intp)
        position = position * extent + (np.where(index < 0, index + extent, index) if low < 0 else index)
    return position


def _add_at(buffer: Any, cotangent: Any, x: Any, *indices: Any) -> None:
    _add_each(buffer, indices, cotangent)


def _batched_indices(size: int, indices: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
    """Return the indices with one rank, after an index of the batch axis itself."""
    rank = max(len(shape_of(i)) - flag for i, flag in zip(indices, batched, strict=True))
    rows = np.arange(size).reshape((size, *(1,) * rank))
    aligned: list[Any] = [rows]
    for index, flag in zip(indices, batched, strict=True):
        shape = shape_of(index)
        if flag:
            index = reshape(index, shape=(size, *(1,) * (rank + 1 - len(shape)), *shape[1:]))
        aligned.append(index)
    return aligned


def _batch_gather(op: Primitive, size: int, xs: Sequence[Any], flags: Sequence[bool], params: Any) -> Any:
    indices = _batched_indices(size, xs[1:], flags[1:])
    return op(xs[0], *indices) if flags[0] else op(xs[0], *indices[1:])


def _batch_scatter(
    op: Primitive, size: int, xs: Sequence[Any], flags: Sequence[bool], params: Mapping[str, Any]
) -> Any:
    (y,) = move_batch(xs[:1], flags[:1], size)
    return op(y, *_batched_indices(size, xs[1:], flags[1:]), shape=(size, *params["shape"]))


def _unchecked(first: int) -> Callable[..., tuple[Any, ...]]:
    """Return the rule for operands that are indices from the one with a number on: 0 is inside of every array."""

    def rule(counts: Any, *operands: Any, **params: Any) -> tuple[Any, ...]:
        return *operands[:first], *(where(counts, index, 0) for index in operands[first:])

    return rule


def _indices(draw: Draw, shape: Shape) -> tuple[Any, ...]:
    count = len(shape) - draw.integer(0, len(shape) - 1)  # several indices first
    shapes = draw.broadcastable(count) if 0 not in shape else [(0,)] * count
    return tuple(
        draw.integers(index, -extent, max(extent - 1, 0))
        for index, extent in zip(shapes, shape[:count], strict=True)
    )


def _positions(i: Sequence[Index], shape: Shape, indices: Sequence[Operand]) -> list[Index]:
    """Return the position that the index arrays give for the element at ``i`` of their broadcast shape."""
    return [
        _position(converted(index.broadcast_at(i), INT64), extent)
        for index, extent in zip(indices, shape, strict=False)
    ]


def _position(number: Expression, extent: int) -> Index:
    if isinstance(number, Iota):
        low, high = number.index.bounds
        if 0 <= low <= high < extent:
            return number.index
    return Index.of(Computed(Apply("position", (number,), INT64, extent), extent))


def _gather_lowering(i: Sequence[Index], result: Operand, x: Operand, *indices: Operand) -> Expression:
    lead = len(i) - (len(x.shape) - len(indices))
    positions = _positions(i[:lead], x.shape, indices)
    number = Iota(sum(positions, Index(0)))
    if 0 in x.shape:  # nothing is read, but the indices are checked
        return converted(number, result.dtype)
    element = x.at([*positions, *i[lead:]])
    if isinstance(x.source, (Buffer, Section)) or number.index.is_affine:
        return element
    inside = Apply("greater_equal", (number, zero(INT64)), BOOL)  # of a constant no element is read, either
    return Apply("where", (inside, element, zero(result.dtype)), result.dtype)


def _scatter_lowering(
    i: Sequence[Index], result: Operand, y: Operand, *indices: Operand, shape: Shape
) -> Definition:
    return _into(shape, y, indices, y.dtype, "add", lambda i: zero(y.dtype))


def _into(
    shape: Shape,
    y: Operand,
    indices: Sequence[Operand],
    dtype: Dtype,
    combiner: str,
    initial: Callable[[Sequence[Index]], Expression],
) -> Definition:
    """Return the definition of an array from initial values and values combined at the indices."""
    dims = tuple(map(Dim, y.shape))
    mine = [Index.of(dim) for dim in dims]
    lead = len(dims) - (len(shape) - len(indices))
    target = (*_positions(mine[:lead], shape, indices), *mine[lead:])
    return Definition(dims, target, converted(y.at(mine), dtype), combiner, initial)


def _last_writer_lowering(i: Sequence[Index], result: Operand, *indices: Operand, shape: Shape) -> Definition:
    taken = np.broadcast_shapes(*(index.shape for index in indices))
    dims = tuple(map(Dim, taken))
    mine = [Index.of(dim) for dim in dims]
    target = (*_positions(mine, shape, indices), *i[len(indices) :])
    trailing = tuple(dim for index in i[len(indices) :] for dim in index.dims())
    number = Iota(flatten(mine, taken))
    start = Const(np.int64(-1), INT64)
    return Definition((*trailing, *dims), target, number, "assign", lambda i: start, frozenset(dims))


def _within_type(x: TensorType, *, count: int, operation: str, requirement: str) -> TensorType:
    if x.dtype.kind not in "iu":
        raise DtypeError(message(operation, "the operand must be integers", show(x)))
    return TensorType(INT64, x.shape)


def _within(x: Any, *, count: int, operation: str, requirement: str) -> Any:
    if np.size(x):
        low, high = int(np.min(x)), int(np.max(x))
        outside = [number for number in (low, high) if not 0 <= number < count]
        if outside:
            raise OutOfRangeError(
                message(operation, requirement, " and ".join(map(str, dict.fromkeys(outside))))
            )
    return cast.evaluate(x, dtype=INT64)


def _within_lowering(
    i: Sequence[Index], result: Operand, x: Operand, *, count: int, operation: str, requirement: str
) -> Expression:
    number = converted(x.at(i), INT64)
    return Apply("position", (number,), INT64, count, requirement=f"{operation}: {requirement}")


def _gather_samples(draw: Draw) -> Any:
    shape = draw.shape(1)
    return (draw.array(shape), *_indices(draw, shape)), {}


def _scatter_samples(draw: Draw) -> Any:
    shape = draw.shape(1)
    indices = _indices(draw, shape)
    y = np.broadcast_shapes(*(index.shape for index in indices)) + shape[len(indices) :]
    return (draw.array(y), *indices), {"shape": shape}


gather = primitive(
    name="gather",
    unchecked=_unchecked(1),
    doc="x[i, j, ...] for integer arrays that index the leading axes; they broadcast; negative ones count from the end",
    type_rule=_gather_type,
    evaluate=lambda x, *indices: x[indices],
    derivative=Linear(
        lambda position, cotangent, x, *indices: scatter_add(cotangent, *indices, shape=shape_of(x)),
        variadic=True,
        accumulate=_add_at,
        onto=lambda total, cotangent, x, *indices: add_at(total, cotangent, *indices),
        first_only=True,
    ),
    batch=_batch_gather,
    lowering=Pointwise(_gather_lowering),
    source=lambda x, *indices: f"{x}[{', '.join(indices)}]",
    samples=_gather_samples,
)
scatter_add = primitive(
    name="scatter_add",
    unchecked=_unchecked(1),
    doc="zeros of a shape, with y added where integer arrays point, once for each index: the transpose of gather",
    type_rule=_scatter_type,
    evaluate=_scatter_add,
    derivative=Linear(
        lambda position, cotangent, y, *indices, shape: gather(cotangent, *indices),
        variadic=True,
        first_only=True,
    ),
    batch=_batch_scatter,
    lowering=Pointwise(_scatter_lowering),
    source=lambda y, *indices, shape: f"scatter_add({y}, ({', '.join(indices)},), {shape})",
    samples=_scatter_samples,
)


def _last_writer(*indices: Any, shape: Shape) -> Any:
    taken = np.broadcast_shapes(*map(np.shape, indices))
    result = np.full(shape, -1, dtype=np.int64)
    _write_each(result, indices, np.arange(int(np.prod(taken)), dtype=np.int64).reshape(taken))
    return result


def _batch_last_writer(op: Primitive, size: int, xs: Any, flags: Any, params: Mapping[str, Any]) -> Any:
    # The numbers count through the whole batch; the result counts within one example.
    (first, *_) = indices = _batched_indices(size, xs, flags)
    shape = params["shape"]
    numbers = op(*indices, shape=(size, *shape))
    count = int(np.prod(broadcast("last_writer", *map(shape_of, indices)))) // max(size, 1)
    own_numbers = numbers - count * first.reshape((size, *(1,) * len(shape)))
    return where(less(numbers, 0), -1, own_numbers)


def _last_writer_type(*indices: TensorType, shape: Shape) -> TensorType:
    _check_indices("last_writer", indices)
    return TensorType(INT64, shape)


def _last_writer_samples(draw: Draw) -> Any:
    shape = draw.shape(1)
    indices = _indices(draw, shape)
    return indices, {"shape": shape[: len(indices)]}


last_writer = primitive(
    name="last_writer",
    unchecked=_unchecked(0),
    doc="for each element, the number of the last write to it by integer arrays; -1 for an element without a write",
    type_rule=_last_writer_type,
    evaluate=_last_writer,
    derivative=NonDifferentiable("its result is an integer"),
    batch=_batch_last_writer,
    lowering=Pointwise(_last_writer_lowering),
    source=lambda *indices, shape: f"last_writer(({', '.join(indices)},), {shape})",
    samples=_last_writer_samples,
)


# -- elements at integer arrays, replaced or added to ----------------------------------------------------


def _into_type(operation: str) -> Callable[..., TensorType]:
    def rule(x: TensorType, y: TensorType, *indices: TensorType) -> TensorType:
        _check_values(operation, x.shape, y, indices)
        return TensorType(x.dtype, x.shape)

    return rule


def _into_lowering(combiner: str) -> Pointwise:
    def rule(i: Sequence[Index], result: Operand, x: Operand, y: Operand, *indices: Operand) -> Definition:
        return _into(x.shape, y, indices, x.dtype, combiner, x.at)

    return Pointwise(rule)


def _added_at(x: Any, y: Any, *indices: Any) -> Any:
    result = np.array(x)
    _add_each(result, indices, np.asarray(y, result.dtype))
    return result


def _scattered(x: Any, y: Any, *indices: Any) -> Any:
    result = np.array(x)
    _write_each(result, indices, y)
    return result


def _are_distinct(indices: Sequence[Any], taken: Shape) -> bool:
    """Return whether index arrays name no element twice: each axis has an index of known, different numbers."""
    if size(taken) == 0:
        return True
    covered: set[int] = set()
    for index in indices:
        shape = shape_of(index)
        long = [axis - len(shape) for axis, extent in enumerate(shape) if extent > 1]
        if len(long) == 1 and long[0] not in covered and (known := concrete(index)) is not None:
            numbers = np.reshape(known, -1)
            if numbers.min() >= 0 and np.unique(numbers).size == numbers.size:
                covered.add(long[0])
    return all(extent <= 1 or axis - len(taken) in covered for axis, extent in enumerate(taken))


def _of_the_last(cotangent: Any, x: Any, y: Any, *indices: Any) -> Any:
    """Return the cotangent of the values: zero for a value that a later one overwrites."""
    taken, gathered = broadcast("scatter", *map(shape_of, indices)), gather(cotangent, *indices)
    if _are_distinct(indices, taken):
        return gathered
    writer = last_writer(*indices, shape=shape_of(x)[: len(indices)])
    stays = equal(gather(writer, *indices), np.arange(size(taken)).reshape(taken))
    return where(reshape(stays, shape=(*taken, *(1,) * (len(shape_of(x)) - len(indices)))), gathered, 0.0)


def _batch_into(
    op: Primitive, count: int, xs: Sequence[Any], flags: Sequence[bool], params: Mapping[str, Any]
) -> Any:
    x, y = move_batch(xs[:2], flags[:2], count)
    return op(x, y, *_batched_indices(count, xs[2:], flags[2:]))


def _into_samples(draw: Draw) -> Any:
    (y, *indices), params = _scatter_samples(draw)
    return (draw.array(params["shape"]), y, *indices), {}


scatter = primitive(
    name="scatter",
    unchecked=_unchecked(2),
    doc="x with y written where integer arrays index its leading axes; the last of several writes to an element wins",
    type_rule=_into_type("scatter"),
    evaluate=_scattered,
    derivative=Linear(
        lambda cotangent, x, y, *indices: scatter(cotangent, np.zeros(shape_of(y)), *indices),
        _of_the_last,
        None,
    ),
    batch=_batch_into,
    lowering=_into_lowering("assign"),
    source=lambda x, y, *indices: f"scatter({x}, {y}, ({', '.join(indices)},))",
    samples=_into_samples,
)
add_at = primitive(
    name="add_at",
    unchecked=_unchecked(2),
    doc="x, with y added where integer arrays index its leading axes, once for each index",
    type_rule=_into_type("add_at"),
    evaluate=_added_at,
    derivative=Linear(
        lambda cotangent, x, y, *indices: cotangent,
        lambda cotangent, x, y, *indices: gather(cotangent, *indices),
        None,
    ),
    batch=_batch_into,
    lowering=_into_lowering("add"),
    source=lambda x, y, *indices: f"add_at({x}, {y}, ({', '.join(indices)},))",
    samples=_into_samples,
)

check_bounds = primitive(
    name="check_bounds",
    unchecked=_unchecked(0),
    doc="x, whose integers must lie in [0, count), or an error with the requirement",
    type_rule=_within_type,
    evaluate=_within,
    derivative=NonDifferentiable("its result is an integer"),
    batch=batch_elementwise,
    lowering=Pointwise(_within_lowering),
    source=lambda x, count, operation, requirement: (
        f"check_bounds({x}, {count}, {f'{operation}: {requirement}'!r})"
    ),
    samples=lambda draw: (
        (draw.integers(draw.shape(), 0, 4),),
        {"count": 5, "operation": "sample", "requirement": "numbers must lie in [0, 5)"},
    ),
)
