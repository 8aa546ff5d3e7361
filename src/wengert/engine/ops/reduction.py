"""Reductions over axes: sum, product, extrema and their positions, any and all; running sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import BOOL, INT64, NDARRAY, dtype_of
from wengert.engine.core.errors import ShapeError, message
from wengert.engine.core.shapes import Shape, drop_axes, keep_axes, shape_of, size
from wengert.engine.ir.types import TensorType, show
from wengert.engine.memory import jointly, reduced
from wengert.engine.nest.expression import Apply, Const, Expression, Guard, Reduce
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.lowering import Definition, Operand, Pointwise, converted
from wengert.engine.ops.arithmetic import multiply, multiply_no_nan
from wengert.engine.ops.comparison import equal, where
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.shape import broadcast_to, concatenate, reshape, slice_, transpose, whole
from wengert.engine.primitive import Draw, Explicit, Linear, NonDifferentiable, Primitive, primitive

Axes = tuple[int, ...]


def _reduced(x: TensorType, axes: Axes) -> TensorType:
    return TensorType(x.dtype, drop_axes(x.shape, axes))


def expand(reduced: Any, shape: Shape, axes: Axes) -> Any:
    """Return a reduced value repeated along the axes that were reduced."""
    if axes and axes[-1] != len(axes) - 1:  # leading axes need no reshape: broadcasting adds them
        reduced = reshape(reduced, shape=keep_axes(shape, axes))
    return broadcast_to(reduced, shape=shape)


def _batch_axes(op: Primitive, size: int, xs: Sequence[Any], flags: Any, params: Mapping[str, Any]) -> Any:
    return op(xs[0], axes=tuple(axis + 1 for axis in params["axes"]))


def draw_axes(draw: Draw, rank: int) -> Axes:
    """Draw axes to reduce, for samples."""
    return draw.choice([tuple(range(rank)), *((axis,) for axis in range(rank)), tuple(range(1, rank))])


def _samples(draw: Draw, least: int = 0) -> Any:
    shape = tuple(max(extent, least) for extent in draw.shape())
    return (draw.array(shape),), {"axes": draw_axes(draw, len(shape))}


def _reduction(combiner: str) -> Pointwise:
    """Return the lowering of a reduction over axes."""

    def rule(i: Sequence[Index], result: Operand, x: Operand, axes: Axes) -> Expression:
        dims = tuple(Dim(x.shape[axis]) for axis in axes)
        element = converted(x.at(_with_axes(i, axes, dims)), result.dtype)
        return Reduce(combiner, dims, element, result.dtype)

    return Pointwise(rule)


def _with_axes(i: Sequence[Index], axes: Axes, dims: Sequence[Dim]) -> list[Index]:
    """Return the indices of an operand: those of the result, and dimensions along the reduced axes."""
    remaining, reduced = iter(i), dict(zip(axes, dims, strict=True))
    return [
        Index.of(reduced[axis]) if axis in reduced else next(remaining) for axis in range(len(i) + len(axes))
    ]


def _source(name: str) -> Callable[..., str]:
    def source(x: str, axes: Axes) -> str:
        return f"np.{name}({x}, axis={axes})"

    return source


reduce_sum = primitive(
    name="reduce_sum",
    doc="the sum over axes",
    type_rule=_reduced,
    evaluate=lambda x, axes: np.add.reduce(x, axis=axes, dtype=dtype_of(x)),
    derivative=Linear(lambda cotangent, x, axes: expand(cotangent, shape_of(x), axes)),
    batch=_batch_axes,
    lowering=_reduction("add"),
    source=_source("sum"),
    memory=reduced,
    samples=_samples,
)

# -- product ---------------------------------------------------------------------------------------------


def _product_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any, axes: Axes) -> Any:
    """Multiply in pairs, ``(a, da)(b, db) = (a b, a db + b da)``: exact with zeros among the factors."""
    (x,), (dx,) = primals, tangents
    shape = shape_of(x)
    remaining = tuple(axis for axis in range(len(shape)) if axis not in axes)
    flat = (*(shape[axis] for axis in remaining), size(tuple(shape[axis] for axis in axes)))
    x, dx = (reshape(transpose(value, permutation=remaining + axes), shape=flat) for value in (x, dx))
    while (extent := shape_of(x)[-1]) > 1:
        half = extent // 2
        a, b, unpaired = (_last(x, 0, half), _last(x, half, half), _last(x, 2 * half, extent % 2))
        da, db, drest = (_last(dx, 0, half), _last(dx, half, half), _last(dx, 2 * half, extent % 2))
        x = concatenate(a * b, unpaired, axis=len(remaining))
        dx = concatenate(multiply_no_nan(a, db) + multiply_no_nan(b, da), drest, axis=len(remaining))
    return reduce_sum(dx, axes=(len(remaining),))


def _last(x: Any, start: int, extent: int) -> Any:
    index = whole(shape_of(x))
    index[-1] = (start, extent, 1)
    return slice_(x, index=tuple(index))


reduce_prod = primitive(
    name="reduce_prod",
    doc="the product over axes; its derivative is exact where factors are zero",
    type_rule=_reduced,
    evaluate=lambda x, axes: np.multiply.reduce(x, axis=axes, dtype=dtype_of(x)),
    derivative=Explicit(_product_tangent),
    batch=_batch_axes,
    lowering=_reduction("multiply"),
    source=_source("prod"),
    memory=reduced,
    samples=_samples,
)

# -- extrema ---------------------------------------------------------------------------------------------


def _extremum_type(name: str) -> Callable[..., TensorType]:
    def rule(x: TensorType, axes: Axes) -> TensorType:
        if any(x.shape[axis] == 0 for axis in axes):
            raise ShapeError(message(name, "the reduced axes must not be empty", show(x)))
        return _reduced(x, axes)

    return rule


def _shares(x: Any, out: Any, axes: Axes) -> tuple[Any, Any]:
    """Return which elements are the extremum, and the part of the derivative that each of them has."""
    taken = equal(x, expand(out, shape_of(x), axes))
    count = reduce_sum(cast(taken, dtype=dtype_of(x)), axes=axes)
    # NaN equals nothing: no element is taken, as in `maximum`, and the derivative is 0.
    return taken, 1 / count


def _extremum_tangent(primals: Sequence[Any], tangents: Sequence[Any], out: Any, axes: Axes) -> Any:
    (x,), (dx,) = primals, tangents
    taken, share = _shares(x, out, axes)
    return multiply_no_nan(reduce_sum(where(taken, dx, 0.0), axes=axes), share)


def _extremum_cotangent(cotangent: Any, primals: Sequence[Any], out: Any, axes: Axes) -> Any:
    (x,) = primals
    taken, share = _shares(x, out, axes)
    return where(taken, expand(multiply_no_nan(cotangent, share), shape_of(x), axes), 0.0)


#: NumPy reduces a short axis element by element. Combining whole slices is faster for axes of at most this extent, at
#: most this number of slices, and slices of at least this number of elements.
_SHORT, _SLICES, _LONG = 8, 64, 512


def _reduce_by(ufunc: np.ufunc) -> Callable[..., Any]:
    def evaluate(x: Any, axes: Axes) -> Any:
        extents = tuple(x.shape[axis] for axis in axes) if isinstance(x, NDARRAY) else ()
        if max(extents, default=0) <= _SHORT and 1 < size(extents) <= min(_SLICES, x.size // _LONG):
            moved = np.moveaxis(x, axes, range(len(axes)))
            first, second, *others = (moved[position] for position in np.ndindex(*moved.shape[: len(axes)]))
            result = ufunc(first, second)
            for part in others:
                ufunc(result, part, out=result)
            return result
        return ufunc.reduce(x, axis=axes)

    return evaluate


_TIES = "elements that tie share the derivative equally"
reduce_max = primitive(
    name="reduce_max",
    doc=f"the largest element over axes; {_TIES}",
    type_rule=_extremum_type("reduce_max"),
    evaluate=_reduce_by(np.maximum),
    derivative=Explicit(_extremum_tangent, transpose=_extremum_cotangent),
    batch=_batch_axes,
    lowering=_reduction("maximum"),
    source=_source("max"),
    memory=reduced,
    samples=lambda draw: _samples(draw, least=1),
)
reduce_min = primitive(
    name="reduce_min",
    doc=f"the smallest element over axes; {_TIES}",
    type_rule=_extremum_type("reduce_min"),
    evaluate=_reduce_by(np.minimum),
    derivative=Explicit(_extremum_tangent, transpose=_extremum_cotangent),
    batch=_batch_axes,
    lowering=_reduction("minimum"),
    source=_source("min"),
    memory=reduced,
    samples=lambda draw: _samples(draw, least=1),
)

# -- positions and truth ---------------------------------------------------------------------------------


def position_samples(draw: Draw) -> Any:
    """Draw an array and an axis that is not empty, for samples."""
    shape = tuple(max(extent, 1) for extent in draw.shape(1))
    return (draw.array(shape),), {"axis": draw.integer(0, len(shape) - 1)}


def batch_along(op: Primitive, size: int, xs: Sequence[Any], flags: Any, params: Mapping[str, Any]) -> Any:
    """Apply an operation along an axis behind the axis of the batch."""
    return op(xs[0], **{**params, "axis": params["axis"] + 1})


def _position(name: str, function: Callable[..., Any], doc: str) -> Primitive:
    def lowering(i: Sequence[Index], result: Operand, x: Operand, axis: int) -> Expression:
        dim = Dim(x.shape[axis])
        return Reduce(name, (dim,), x.at(_with_axes(i, (axis,), (dim,))), INT64)

    def rule(x: TensorType, axis: int) -> TensorType:
        return TensorType(INT64, _extremum_type(name)(x, (axis,)).shape)

    return primitive(
        name=name,
        doc=doc,
        type_rule=rule,
        evaluate=lambda x, axis: function(x, axis=axis),
        derivative=NonDifferentiable("its result is an integer"),
        batch=batch_along,
        lowering=Pointwise(lowering),
        source=lambda x, axis: f"np.{name}({x}, axis={axis})",
        samples=position_samples,
    )


argmax = _position("argmax", np.argmax, "the position of the first largest element along an axis")
argmin = _position("argmin", np.argmin, "the position of the first smallest element along an axis")


def _truth(name: str, ufunc: np.ufunc, numpy_name: str, doc: str) -> Primitive:
    def rule(x: TensorType, axes: Axes) -> TensorType:
        return TensorType(BOOL, drop_axes(x.shape, axes))

    return primitive(
        name=name,
        doc=doc,
        type_rule=rule,
        evaluate=lambda x, axes: ufunc.reduce(x, axis=axes, dtype=bool),
        derivative=NonDifferentiable("its result is a truth value"),
        batch=_batch_axes,
        lowering=_reduction(ufunc.__name__),
        source=_source(numpy_name),
        memory=reduced,
        samples=_samples,
    )


reduce_any = _truth("reduce_any", np.logical_or, "any", "whether any element over axes is true")
reduce_all = _truth("reduce_all", np.logical_and, "all", "whether every element over axes is true")

# -- running sums and products ---------------------------------------------------------------------------


def _running_samples(draw: Draw) -> Any:
    shape = draw.shape(1)
    params = {"axis": draw.integer(0, len(shape) - 1), "reverse": draw.choice([False, True])}
    return (draw.array(shape),), params


def _running_type(x: TensorType, axis: int, reverse: bool) -> TensorType:
    return x._replace(weak=False)


def _running_lowering(operation: str, neutral: float) -> Pointwise:
    """Return the lowering of a running sum or product: each element combined with the one before it, in order."""

    def rule(i: Sequence[Index], result: Operand, x: Operand, axis: int, reverse: bool) -> Definition:
        dims = tuple(map(Dim, x.shape))
        mine = [Index.of(dim) for dim in dims]
        before = list(mine)
        if reverse:
            mine[axis] = mine[axis] * -1 + (x.shape[axis] - 1)
            before[axis] = mine[axis] + 1
        else:
            before[axis] = mine[axis] - 1
        start = Const(result.dtype.type(neutral), result.dtype)
        total = Guard(((before[axis], x.shape[axis]),), result.at(before), start)
        value = Apply(operation, (total, converted(x.at(mine), result.dtype)), result.dtype)
        return Definition(dims, tuple(mine), value, "assign", None, frozenset((dims[axis],)))

    return Pointwise(rule)


def _running(ufunc: np.ufunc) -> Callable[..., Any]:
    def evaluate(x: Any, axis: int, reverse: bool) -> Any:
        dtype = np.result_type(x)
        if not reverse:
            return ufunc.accumulate(x, axis=axis, dtype=dtype)
        return np.flip(ufunc.accumulate(np.flip(x, axis), axis=axis, dtype=dtype), axis)

    return evaluate


def _running_source(name: str) -> Callable[..., str]:
    def source(x: str, axis: int, reverse: bool) -> str:
        if reverse:
            return f"np.flip(np.{name}(np.flip({x}, {axis}), axis={axis}), {axis})"
        return f"np.{name}({x}, axis={axis})"

    return source


cumulative_sum = primitive(
    name="cumsum",
    doc="the running sum along an axis, from its start or (reverse) from its end",
    type_rule=_running_type,
    evaluate=_running(np.add),
    derivative=Linear(
        lambda cotangent, x, axis, reverse: cumulative_sum(cotangent, axis=axis, reverse=not reverse)
    ),
    batch=batch_along,
    lowering=_running_lowering("add", -0.0),
    source=_running_source("cumsum"),
    memory=jointly,
    samples=_running_samples,
)


def _running_product_tangent(
    primals: Sequence[Any], tangents: Sequence[Any], out: Any, axis: int, reverse: bool
) -> Any:
    """Combine neighbours at doubling distances (Hillis and Steele, 1986): exact at zeros, in log2(n) steps."""
    (x,), (dx,) = primals, tangents
    extent, distance = shape_of(x)[axis], 1
    while distance < extent:
        before, dbefore = _shift(x, axis, distance, reverse, 1.0), _shift(dx, axis, distance, reverse, 0.0)
        x, dx = multiply(x, before), multiply_no_nan(x, dbefore) + multiply_no_nan(before, dx)
        distance *= 2
    return dx


def _shift(x: Any, axis: int, distance: int, reverse: bool, fill: float) -> Any:
    shape = shape_of(x)
    index = whole(shape)
    index[axis] = (distance if reverse else 0, shape[axis] - distance, 1)
    filler = np.full((*shape[:axis], distance, *shape[axis + 1 :]), fill, dtype=dtype_of(x))
    retained = slice_(x, index=tuple(index))
    return concatenate(retained, filler, axis=axis) if reverse else concatenate(filler, retained, axis=axis)


cumulative_product = primitive(
    name="cumprod",
    doc="the running product along an axis, from its start or (reverse) its end; the derivative is exact at zeros",
    type_rule=_running_type,
    evaluate=_running(np.multiply),
    derivative=Explicit(_running_product_tangent),
    batch=batch_along,
    lowering=_running_lowering("multiply", 1),
    source=_running_source("cumprod"),
    memory=jointly,
    samples=_running_samples,
)
