"""Shape operations: reshape, transpose, broadcast, concatenate, slice and its transpose embed, and place."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from wengert.engine.core.dtypes import NDARRAY, dtype_of
from wengert.engine.core.errors import ShapeError, message
from wengert.engine.core.shapes import Shape, drop_axes, shape_of, size
from wengert.engine.ir.types import TensorType, promote, show
from wengert.engine.memory import joined
from wengert.engine.nest.expression import Expression, Guard, zero
from wengert.engine.nest.index import Dim, reshaped
from wengert.engine.nest.index import Index as Position
from wengert.engine.nest.lowering import Definition, Operand, Pointwise, converted
from wengert.engine.primitive import Draw, Linear, Primitive, primitive

#: A basic index: for each axis an integer, which drops it, or (start, extent, step).
Index: TypeAlias = tuple[int | tuple[int, int, int], ...]


def move_batch(operands: Sequence[Any], batched: Sequence[bool], size_: int) -> list[Any]:
    """Return all operands batched: the others are broadcast along a new leading axis."""
    return [
        x if flag else broadcast_to(x, shape=(size_, *shape_of(x)))
        for x, flag in zip(operands, batched, strict=True)
    ]


# -- reshape ---------------------------------------------------------------------------------------------


def _reshape_type(x: TensorType, shape: Shape) -> TensorType:
    if size(x.shape) != size(shape):
        raise ShapeError(
            message("reshape", "the number of elements must stay the same", f"{show(x)} -> {shape}")
        )
    return TensorType(x.dtype, shape)


def _reshape_samples(draw: Draw) -> Any:
    shape = draw.shape()
    return (draw.array(shape),), {"shape": draw.choice([shape[::-1], (1, *shape), (size(shape),)])}


reshape = primitive(
    name="reshape",
    doc="the same elements in row-major order, in another shape",
    type_rule=_reshape_type,
    evaluate=lambda x, shape: x.reshape(shape) if isinstance(x, NDARRAY) else np.reshape(x, shape),
    derivative=Linear(lambda cotangent, x, shape: reshape(cotangent, shape=shape_of(x))),
    batch=lambda op, size_, xs, flags, params: op(xs[0], shape=(size_, *params["shape"])),
    lowering=Pointwise(lambda i, result, x, shape: x.at(reshaped(i, shape, x.shape))),
    source=lambda x, shape: f"np.reshape({x}, {shape})",
    samples=_reshape_samples,
)

# -- transpose -------------------------------------------------------------------------------------------


def _transpose_type(x: TensorType, permutation: tuple[int, ...]) -> TensorType:
    if sorted(permutation) != list(range(x.ndim)):
        raise ShapeError(message("transpose", "axes must be a permutation", f"{permutation} for {show(x)}"))
    return TensorType(x.dtype, tuple(x.shape[axis] for axis in permutation))


@lru_cache(maxsize=1024)
def inverse_permutation(permutation: tuple[int, ...]) -> tuple[int, ...]:
    """Return the permutation that undoes another."""
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def _transpose_samples(draw: Draw) -> Any:
    shape = draw.shape()
    rank = len(shape)
    return (draw.array(shape),), {
        "permutation": draw.choice([tuple(range(rank))[::-1], (*range(1, rank), *range(min(1, rank)))])
    }


def _batch_transpose(
    op: Primitive, size_: int, xs: Sequence[Any], flags: Any, params: Mapping[str, Any]
) -> Any:
    return op(xs[0], permutation=(0, *(axis + 1 for axis in params["permutation"])))


transpose = primitive(
    name="transpose",
    doc="the axes in another order: axis k of the result is axis permutation[k] of x",
    type_rule=_transpose_type,
    evaluate=lambda x, permutation: (
        x.transpose(permutation) if isinstance(x, NDARRAY) else np.transpose(x, permutation)
    ),
    derivative=Linear(lambda ct, x, permutation: transpose(ct, permutation=inverse_permutation(permutation))),
    batch=_batch_transpose,
    lowering=Pointwise(
        lambda i, result, x, permutation: x.at([i[axis] for axis in inverse_permutation(permutation)])
    ),
    source=lambda x, permutation: f"np.transpose({x}, {permutation})",
    samples=_transpose_samples,
)

# -- broadcast -------------------------------------------------------------------------------------------


def _broadcast_type(x: TensorType, shape: Shape) -> TensorType:
    fits = len(x.shape) <= len(shape) and all(
        mine in (1, target) for mine, target in zip(x.shape[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise ShapeError(message("broadcast_to", f"the operand must broadcast to {shape}", show(x)))
    return TensorType(x.dtype, shape)


#: Up to this number of elements a copy takes less time than a view, which `np.broadcast_to` makes in Python.
_SMALL = 1 << 12


def _broadcast(x: Any, shape: Shape) -> Any:
    if size(shape) > _SMALL or len(shape_of(x)) > len(shape):
        return np.broadcast_to(x, shape)
    result = np.empty(shape, dtype_of(x))
    result[...] = x
    return result


def _batch_broadcast(
    op: Primitive, size_: int, xs: Sequence[Any], flags: Any, params: Mapping[str, Any]
) -> Any:
    shape, own = params["shape"], shape_of(xs[0])[1:]
    aligned = reshape(xs[0], shape=(size_, *(1,) * (len(shape) - len(own)), *own))
    return op(aligned, shape=(size_, *shape))


def _broadcast_samples(draw: Draw) -> Any:
    x, shape = draw.broadcastable(2)
    return (draw.array(x),), {"shape": np.broadcast_shapes(x, shape)}


broadcast_to = primitive(
    name="broadcast_to",
    doc="x repeated along new leading axes and axes of extent one",
    type_rule=_broadcast_type,
    evaluate=_broadcast,
    derivative=Linear(lambda cotangent, x, shape: cotangent),  # the engine undoes broadcasting
    batch=_batch_broadcast,
    lowering=Pointwise(lambda i, result, x, shape: x.broadcast_at(i)),
    source=lambda x, shape: f"np.broadcast_to({x}, {shape})",
    samples=_broadcast_samples,
)

# -- concatenate -----------------------------------------------------------------------------------------


def _concatenate_type(*types: TensorType, axis: int) -> TensorType:
    shapes = [operand.shape for operand in types]
    if len({(len(shape), drop_axes(shape, (axis,))) for shape in shapes}) != 1 or axis >= len(shapes[0]):
        raise ShapeError(message("concatenate", f"shapes must agree but in axis {axis}", show(*types)))
    extent = sum(shape[axis] for shape in shapes)
    dtype, _ = promote(*types)
    return TensorType(dtype, (*shapes[0][:axis], extent, *shapes[0][axis + 1 :]))


def _split_cotangent(position: int, cotangent: Any, *operands: Any, axis: int) -> Any:
    wanted = [place == position for place in range(len(operands))]
    return _split_cotangents(wanted, cotangent, *operands, axis=axis)[position]


def _split_cotangents(wanted: Sequence[bool], cotangent: Any, *operands: Any, axis: int) -> list[Any]:
    index, start, parts = whole(shape_of(cotangent)), 0, list[Any]()
    for x, is_wanted in zip(operands, wanted, strict=True):
        extent = shape_of(x)[axis]
        index[axis] = (start, extent, 1)
        parts.append(slice_(cotangent, index=tuple(index)) if is_wanted else None)
        start += extent
    return parts


def _concatenate_lowering(
    i: Sequence[Position], result: Operand, *operands: Operand, axis: int
) -> Expression:
    pieces = [x for x in operands if x.shape[axis]]
    starts = list(itertools.accumulate((x.shape[axis] for x in pieces), initial=0))

    def among(first: int, last: int) -> Expression:
        """Return the element at ``i`` of the pieces from ``first`` to ``last``, by bisection."""
        mine = list(i)
        mine[axis] = mine[axis] - starts[first]
        if last - first == 1:
            return converted(pieces[first].at(mine), result.dtype)
        middle = (first + last) // 2
        is_before = ((mine[axis], starts[middle] - starts[first]),)
        return Guard(is_before, among(first, middle), among(middle, last))

    return among(0, len(pieces)) if pieces else zero(result.dtype)


def _concatenate_samples(draw: Draw) -> Any:
    shape = draw.shape(1)
    return (draw.array(shape), draw.array(shape)), {"axis": draw.integer(0, len(shape) - 1)}


concatenate = primitive(
    name="concatenate",
    doc="the operands one after the other along an axis",
    type_rule=_concatenate_type,
    evaluate=lambda *xs, axis: np.concatenate(xs, axis=axis),
    derivative=Linear(_split_cotangent, variadic=True, split=_split_cotangents),
    batch=lambda op, size_, xs, flags, params: op(*move_batch(xs, flags, size_), axis=params["axis"] + 1),
    lowering=Pointwise(_concatenate_lowering),
    source=lambda *xs, axis: f"np.concatenate([{', '.join(xs)}], axis={axis})",
    memory=joined,
    samples=_concatenate_samples,
)

# -- slice and embed -------------------------------------------------------------------------------------


def whole(shape: Shape) -> list[Any]:
    """Return the index of a whole array, one entry for each axis."""
    return [(0, extent, 1) for extent in shape]


@lru_cache(maxsize=4096)
def numpy_index(index: Index) -> tuple[Any, ...]:
    """Return an index in NumPy's form."""
    return tuple(entry if isinstance(entry, int) else _range_slice(*entry) for entry in index)


def _range_slice(start: int, extent: int, step: int) -> slice:
    stop = start + extent * step
    return slice(start, None if stop < 0 else stop, step) if extent else slice(0, 0)


def indexed_shape(index: Index) -> Shape:
    """Return the shape of the part that an index selects."""
    return tuple([entry[1] for entry in index if not isinstance(entry, int)])


def index_source(index: Index) -> str:
    """Write an index as in ``x[...]``."""
    entries = [
        repr(entry)
        if isinstance(entry, int)
        else ":".join("" if part is None else str(part) for part in parts)
        for entry, parts in ((entry, _slice_parts(entry)) for entry in index)
    ]
    return f"[{', '.join(entries)}]" if entries else "[()]"


def _slice_parts(entry: Any) -> list[Any]:
    if isinstance(entry, int):
        return []
    taken = _range_slice(*entry)
    return [taken.start, taken.stop] if taken.step in (None, 1) else [taken.start, taken.stop, taken.step]


def _check_index(operation: str, shape: Shape, index: Index) -> None:
    inside = len(index) == len(shape)
    for extent, entry in zip(shape, index, strict=False):
        start, count, step = (entry, 1, 1) if isinstance(entry, int) else entry
        last = start + (count - 1) * step
        inside = inside and (count == 0 or (0 <= start < extent and 0 <= last < extent))
    if not inside:
        raise ShapeError(message(operation, f"the index must lie inside {shape}", str(index)))


def _slice_type(x: TensorType, index: Index) -> TensorType:
    _check_index("slice", x.shape, index)
    return TensorType(x.dtype, indexed_shape(index))


def _embed_type(x: TensorType, shape: Shape, index: Index) -> TensorType:
    _check_index("embed", shape, index)
    if indexed_shape(index) != x.shape:
        raise ShapeError(message("embed", f"the operand must have shape {indexed_shape(index)}", show(x)))
    return TensorType(x.dtype, shape)


def _embed(x: Any, shape: Shape, index: Index) -> Any:
    result = zeros_along(x, shape, np.result_type(x))
    result[numpy_index(index)] = x
    return result


def zeros_along(x: Any, shape: Shape, dtype: Any) -> Any:
    """Return zeros whose axes have the memory order of the axes of x, where the ranks agree."""
    if not isinstance(x, np.ndarray) or x.flags.c_contiguous or x.ndim != len(shape):
        return np.zeros(shape, dtype)
    order = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
    return np.zeros([shape[axis] for axis in order], dtype).transpose(inverse_permutation(tuple(order)))


def _add_to_slice(buffer: Any, cotangent: Any, x: Any, index: Index) -> None:
    buffer[numpy_index(index)] += cotangent


def draw_index(draw: Draw, shape: Shape) -> Index:
    """Draw a basic index for samples."""
    entries: list[Any] = []
    for extent in shape:
        kind = draw.choice(["int", "part", "reversed", "strided"]) if extent > 1 else "whole"
        entries.append(
            {"int": extent - 1, "part": (1, extent - 1, 1), "reversed": (extent - 1, extent, -1)}.get(kind)
            or ((0, extent, 1) if kind == "whole" else (0, (extent + 1) // 2, 2))
        )
    return tuple(entries)


def _indexed(i: Sequence[Position], index: Index) -> list[Position]:
    """Return the position in the whole array of the element at ``i`` of the indexed part."""
    inside = iter(i)
    return [
        Position(entry) if isinstance(entry, int) else next(inside) * entry[2] + entry[0] for entry in index
    ]


def _placed(
    i: Sequence[Position], result: Operand, x: Operand, index: Index, beside: Any, *, absent: bool = False
) -> Expression | Definition:
    """Return x where a basic index points, and ``beside(i)`` elsewhere; for ``absent`` see `Guard`."""
    if any(not isinstance(entry, int) and abs(entry[2]) > 1 for entry in index):
        dims = tuple(map(Dim, x.shape))
        mine = [Position.of(dim) for dim in dims]
        value = converted(x.at(mine), result.dtype)
        return Definition(dims, tuple(_indexed(mine, index)), value, "assign", beside)
    conditions: list[tuple[Position, int]] = []
    mine = []
    for position, extent, entry in zip(i, result.shape, index, strict=True):
        start, count, step = (entry, 1, 1) if isinstance(entry, int) else entry
        inner = (position - start) * step
        if not isinstance(entry, int):
            mine.append(inner)
        if (start, count) != (0, extent) or step < 0:
            conditions.append((inner, count))
    element = converted(x.at(mine), result.dtype)
    return Guard(tuple(conditions), element, beside(i), absent) if conditions else element


def _slice_samples(draw: Draw) -> Any:
    shape = draw.shape()
    return (draw.array(shape),), {"index": draw_index(draw, shape)}


def _embed_samples(draw: Draw) -> Any:
    shape = draw.shape()
    index = draw_index(draw, shape)
    return (draw.array(indexed_shape(index)),), {"shape": shape, "index": index}


def batch_index(size_: int, index: Index) -> Index:
    """Return the index after a leading batch axis."""
    return ((0, size_, 1), *index)


slice_ = primitive(
    name="slice",
    doc="the part of x that a basic index selects: for each axis an integer, or start, extent and step",
    type_rule=_slice_type,
    evaluate=lambda x, index: x[numpy_index(index)] if index else np.asarray(x)[()],
    derivative=Linear(
        lambda cotangent, x, index: embed(cotangent, shape=shape_of(x), index=index), accumulate=_add_to_slice
    ),
    batch=lambda op, size_, xs, flags, params: op(xs[0], index=batch_index(size_, params["index"])),
    lowering=Pointwise(lambda i, result, x, index: x.at(_indexed(i, index))),
    source=lambda x, index: f"{x}{index_source(index)}",
    samples=_slice_samples,
)
embed = primitive(
    name="embed",
    doc="zeros of a shape, with x where a basic index points: the transpose of slice",
    type_rule=_embed_type,
    evaluate=_embed,
    derivative=Linear(lambda cotangent, x, shape, index: slice_(cotangent, index=index)),
    batch=lambda op, size_, xs, flags, params: op(
        xs[0], shape=(size_, *params["shape"]), index=batch_index(size_, params["index"])
    ),
    lowering=Pointwise(
        lambda i, result, x, shape, index: _placed(
            i, result, x, index, lambda i: zero(result.dtype), absent=True
        )
    ),
    source=lambda x, shape, index: f"embed({x}, {shape}, np.s_{index_source(index)})",
    samples=_embed_samples,
)


def _place_type(x: TensorType, y: TensorType, index: Index) -> TensorType:
    _check_index("place", x.shape, index)
    if indexed_shape(index) != y.shape:
        raise ShapeError(message("place", f"the value must have shape {indexed_shape(index)}", show(y)))
    return TensorType(x.dtype, x.shape)


def _place(x: Any, y: Any, index: Index) -> Any:
    result = np.array(x)
    result[numpy_index(index)] = y
    return result


def _take_out(buffer: Any, x: Any, y: Any, index: Index) -> Any:
    """Return the part of a cotangent that was overwritten, and leave zeros there."""
    selection = numpy_index(index)
    part = np.array(buffer[selection])[()]
    buffer[selection] = 0
    return part


def _place_samples(draw: Draw) -> Any:
    shape = draw.shape()
    index = draw_index(draw, shape)
    return (draw.array(shape), draw.array(indexed_shape(index))), {"index": index}


place = primitive(
    name="place",
    doc="x with y written where a basic index points: the value of x after x[index] = y",
    type_rule=_place_type,
    evaluate=_place,
    derivative=Linear(
        lambda cotangent, x, y, index: place(cotangent, np.zeros(shape_of(y)), index=index),
        lambda cotangent, x, y, index: slice_(cotangent, index=index),
        take_out=_take_out,
    ),
    batch=lambda op, size_, xs, flags, params: op(
        *move_batch(xs, flags, size_), index=batch_index(size_, params["index"])
    ),
    lowering=Pointwise(lambda i, result, x, y, index: _placed(i, result, y, index, x.at)),
    source=lambda x, y, index: f"place({x}, {y}, np.s_{index_source(index)})",
    samples=_place_samples,
)
