"""Factors of a contraction: arrays with one axis for each dimension, and their sums and products.

A factor is planned from shapes and strides alone, and evaluated on the operands later. The plan fixes orders of axes,
copies, and the call that multiplies, so that evaluation is a chain of few calls.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from operator import itemgetter, methodcaller
from typing import Any, TypeAlias

import numpy as np

from wengert.engine.core.records import record
from wengert.engine.kernels.affine import Access, Affine, is_composite, row_major, span, unfold

Array: TypeAlias = np.ndarray[Any, Any]
Dims: TypeAlias = tuple[int, ...]
Step: TypeAlias = Callable[[Any], Any]
Evaluate: TypeAlias = Callable[[Sequence[Array]], Any]

_SLICES = 32  # the most slices that a sum adds one by one


@record(eq=True, slots=False)
class Space:
    """An iteration space and the dtype of its arrays."""

    extents: Dims
    dtype: np.dtype[Any]

    def shape(self, dims: Iterable[int]) -> Dims:
        """Return the extents of ``dims``."""
        return tuple(self.extents[dim] for dim in dims)

    def size(self, dims: Iterable[int]) -> int:
        """Return the number of points that ``dims`` span."""
        return math.prod(self.shape(dims))


@record(slots=False)
class Factor:
    """An array with one axis for each of ``dims``.

    Attributes:
        dims: The dimension of each axis.
        strides: The expected strides in bytes; only speed depends on them.
        evaluate: The array, given the operands.
        windowed: Whether it is a view of windows, which may overlap.
        fresh: Whether the array is our own rather than a view of an operand.
    """

    dims: Dims
    strides: Dims
    evaluate: Evaluate
    windowed: bool = False
    fresh: bool = True

    @property
    def order(self) -> Dims:
        """The dimensions, outermost in memory first."""
        strides = dict(zip(self.dims, self.strides, strict=True))
        return tuple(sorted(self.dims, key=lambda dim: -abs(strides[dim])))


def computed(dims: Dims, evaluate: Evaluate, space: Space) -> Factor:
    """Return the factor of a new C-contiguous array."""
    return Factor(dims, row_major(space.shape(dims), space.dtype.itemsize), evaluate)


def then(evaluate: Evaluate, *steps: Step | None) -> Evaluate:
    """Return ``evaluate`` followed by the ``steps`` that are not None."""
    for step in steps:
        if step is not None:
            evaluate = _compose(evaluate, step)
    return evaluate


def _compose(evaluate: Evaluate, step: Step) -> Evaluate:
    return lambda arrays: step(evaluate(arrays))


def transpose(source: Dims, target: Dims) -> Step | None:
    """Return the step from axes ``source`` to axes ``target``, or None where they agree."""
    return None if source == target else methodcaller("transpose", tuple(map(source.index, target)))


def reshape(source: Dims, target: Dims) -> Step | None:
    """Return the step from shape ``source`` to shape ``target``, or None where they agree."""
    return None if source == target else methodcaller("reshape", target)


def expand(source: Dims, target: Dims) -> Step | None:
    """Return the step from axes ``source`` to ``target``, which has further axes; they get extent one."""
    index = tuple(slice(None) if dim in source else None for dim in target)
    return None if source == target else itemgetter(index)


def leaf(position: int, access: Access, shape: Dims, strides: Dims, space: Space) -> Factor:
    """Return an operand as a factor: first slices; then windows, or diagonals, or the axes as they are."""
    index: list[int | slice] = []
    axes: list[Affine] = []
    steps: list[int] = []
    for stride, (offset, terms) in zip(strides, access, strict=True):
        low, high = span((offset, terms), space.extents)
        if not terms:
            index.append(offset)
        elif len(terms) == 1:
            ((dim, step),) = terms
            stop = high + 1 if step > 0 else low - 1
            index.append(slice(offset, stop if stop >= 0 else None, step))
            axes.append((0, ((dim, 1),)))
            steps.append(stride * step)
        else:
            index.append(slice(low, high + 1, 1))
            axes.append((offset - low, terms))
            steps.append(stride)
    whole = index == [slice(0, size, 1) for size in shape]
    evaluate = then(itemgetter(position), None if whole else itemgetter(tuple(index)))
    make = _windows if is_composite(axes) else _axes
    return make(tuple(axes), tuple(steps), evaluate, space)


def _windows(access: Access, strides: Dims, evaluate: Evaluate, space: Space) -> Factor:
    shape = tuple(span(index, space.extents)[1] + 1 for index in access)
    unfolding = unfold(access, shape, strides, space.extents, space.dtype.itemsize)
    pack = transpose(tuple(range(len(shape))), unfolding.axes)
    seen = space.shape(unfolding.dims), space.dtype

    def view(stored: Array) -> Array:
        return np.ndarray(*seen, stored, unfolding.offset, unfolding.strides)

    evaluate = then(evaluate, pack, np.ascontiguousarray, view)
    return Factor(unfolding.dims, unfolding.strides, evaluate, windowed=True, fresh=False)


def _axes(access: Access, strides: Dims, evaluate: Evaluate, space: Space) -> Factor:
    along = [dim for _, ((dim, _),) in access]
    dims = tuple(dict.fromkeys(along))
    if len(dims) < len(along):
        labels = list(map(dims.index, along)), list(range(len(dims)))
        evaluate = then(evaluate, lambda array: np.einsum(array, *labels))
        steps = list(zip(along, strides, strict=True))
        strides = tuple(sum(step for of, step in steps if of == dim) for dim in dims)
    return Factor(dims, strides, evaluate, fresh=False)


def total(factor: Factor, dims: Collection[int], space: Space) -> Factor:
    """Return the sum of ``factor`` over ``dims``.

    NumPy is slow where the innermost axis is short and summed; there the slices are added one by one.
    """
    if not dims:
        return factor
    remaining = tuple(dim for dim in factor.order if dim not in dims)
    summed = tuple(dim for dim in factor.order if dim in dims)
    turn = transpose(factor.dims, summed + remaining)
    one_by_one = factor.order[-1] in dims and space.size(dims) <= _SLICES < space.size(remaining)
    add = _add_slices(space.shape(summed)) if one_by_one else _add_reduce(len(summed), space.dtype)
    return computed(remaining, then(factor.evaluate, turn, add), space)


def _add_slices(shape: Dims) -> Step:
    first, *others = itertools.product(*map(range, shape))

    def add(array: Array) -> Array:
        result = array[first].copy()
        for index in others:
            result += array[index]
        return result

    return add


def _add_reduce(rank: int, dtype: np.dtype[Any]) -> Step:
    axes = tuple(range(rank))
    return lambda array: np.add.reduce(array, axis=axes, dtype=dtype)


def product(
    left: Factor, right: Factor, needed: Collection[int], order: Dims, forced: bool, space: Space
) -> Factor:
    """Return the product of two factors, summed over their common dimensions that are not ``needed`` for later.

    The dimensions of one factor only are among those. ``order`` holds the dimensions of the final result, outermost
    first; if ``forced``, the product is stored in it at the price of copying the factors.
    """
    shared, free = {*left.dims} & {*right.dims}, {*left.dims} ^ {*right.dims}
    lead = max(left, right, key=lambda factor: (factor.windowed, space.size(factor.dims)))
    if shared.issubset(needed):
        whole = len(lead.dims) == len(shared | free) and not forced
        return _multiply(left, right, lead.order if whole else _sorted(shared | free, order), space)
    summed = tuple(dim for dim in lead.order if dim in shared and dim not in needed)
    batch = _sorted(shared & set(needed), order if forced else lead.order)
    if not free and lead.order[-1] in batch:
        return _dots(left, right, batch, space)
    inner = next((dim for dim in reversed(order) if dim in free), None)
    if left is lead if lead.windowed and not forced else inner in left.dims:
        left, right = right, left
    rows = _sorted(free & {*left.dims}, order if forced else left.order)
    columns = _sorted(free & {*right.dims}, order if forced else right.order)
    first = _matrix(left, batch, rows, summed, space)
    second = _matrix(right, batch, summed, columns, space)
    dims = batch + rows + columns
    flat = _flat(batch, rows, columns, space)
    if batch:
        evaluate: Evaluate = lambda arrays: np.matmul(first(arrays), second(arrays))  # noqa: E731
    else:  # the method calls BLAS at once
        evaluate = lambda arrays: first(arrays).dot(second(arrays))  # noqa: E731
    return computed(dims, then(evaluate, reshape(flat, space.shape(dims))), space)


def _sorted(dims: Collection[int], order: Dims) -> Dims:
    return tuple(sorted(dims, key=lambda dim: order.index(dim) if dim in order else -1))


def _multiply(left: Factor, right: Factor, dims: Dims, space: Space) -> Factor:
    first, second = _broadcast(left, dims), _broadcast(right, dims)
    return computed(dims, lambda arrays: np.multiply(first(arrays), second(arrays), order="C"), space)


def _broadcast(factor: Factor, dims: Dims) -> Evaluate:
    present = _sorted(factor.dims, dims)
    first = next((axis for axis, dim in enumerate(dims) if dim in present), len(dims))
    return then(factor.evaluate, transpose(factor.dims, present), expand(present, dims[first:]))


def _dots(left: Factor, right: Factor, batch: Dims, space: Space) -> Factor:
    """Return one sum of products for each point of ``batch``, without giving each a call of BLAS."""
    labels = list(range(len(left.dims)))
    others = [left.dims.index(dim) for dim in right.dims]
    results = [left.dims.index(dim) for dim in batch]

    def dots(arrays: Sequence[Array]) -> Array:
        return np.einsum(left.evaluate(arrays), labels, right.evaluate(arrays), others, results)

    return computed(batch, dots, space)


def _matrix(factor: Factor, batch: Dims, rows: Dims, columns: Dims, space: Space) -> Evaluate:
    """Return the factor as a stack of matrices that BLAS can use, copied only where it must be."""
    inner = next(dim for dim in reversed(factor.order) if dim not in batch)
    turned = inner in rows
    outer, lanes = (columns, rows) if turned else (rows, columns)
    stored = (*batch, *outer, *lanes)
    flat = _flat(batch, outer, lanes, space)
    return then(
        factor.evaluate,
        transpose(factor.dims, stored),
        None if _is_nested(factor, outer + lanes, space) else np.ascontiguousarray,
        reshape(space.shape(stored), flat),
        methodcaller("swapaxes", -1, -2) if turned and len(flat) > 1 else None,
    )


def _flat(batch: Dims, first: Dims, second: Dims, space: Space) -> Dims:
    """Return the shape of a stack of matrices; a single row or column is a vector, unless in a stack."""
    return (*space.shape(batch), *(space.size(dims) for dims in (first, second) if batch or dims))


def _is_nested(factor: Factor, dims: Dims, space: Space) -> bool:
    """Return whether ``dims`` have this order in memory, the last without gaps, and no two overlap."""
    itemsize = space.dtype.itemsize
    strides = [factor.strides[factor.dims.index(dim)] for dim in dims]
    reach = itemsize
    for stride, extent in zip(reversed(strides), reversed(space.shape(dims)), strict=True):
        if stride < reach or stride % itemsize:
            return False
        reach = stride * extent
    return strides[-1] == itemsize
