"""The lowering of `contract`, sums of products over affine accesses: to convolutions, or to products of matrices.

Each operand becomes a factor: a value with one axis for each dimension of the iteration space that it depends on.
Windows are gathered. Two factors are multiplied as stacks of matrices, and the result is written through the map of the
output, which adds where several points reach one element.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.core.dtypes import BOOL, INT64
from wengert.engine.core.shapes import Shape, size
from wengert.engine.kernels.affine import Access, dims_of
from wengert.exporting.onnx.convolution import convolved
from wengert.exporting.onnx.elementwise import holds
from wengert.exporting.onnx.pooling import summed
from wengert.exporting.onnx.problem import Problem
from wengert.exporting.onnx.table import Call, lowers
from wengert.exporting.onnx.values import Value


class Factor(NamedTuple):
    """A value whose axes are dimensions of the iteration space."""

    value: Value
    dims: tuple[int, ...]


@lowers("contract")
def _contract(
    call: Call, *operands: Value, extents: Shape, accesses: tuple[Access, ...], out: Access, shape: Shape
) -> Value:
    dtype = call.result.dtype
    if 0 in extents or any(0 in x.shape for x in operands):
        return call.writer.constant(0, dtype).expand(shape)
    if dtype == BOOL:
        counts = [holds(x).cast(INT64) for x in operands]
        return holds(_sum(counts, Problem.of(extents, accesses, out, shape)))
    pairs = [_untransposed(x.cast(dtype), access) for x, access in zip(operands, accesses, strict=True)]
    values, maps = zip(*pairs, strict=True)
    return _sum(values, Problem.of(extents, maps, out, shape))


def _untransposed(x: Value, access: Access) -> tuple[Value, Access]:
    """Return an operand before its transposition, with its access: operators read some transposed operands."""
    made = x.writer.made.get(x.name)
    if made is None or made.operator != "Transpose" or made.inputs[0] is None:
        return x, access
    permutation: list[int] = made.attributes["perm"]
    return made.inputs[0], tuple(access[permutation.index(axis)] for axis in range(x.ndim))


def _sum(operands: Sequence[Value], problem: Problem) -> Value:
    result = summed(operands[0], problem) if len(operands) == 1 else convolved(operands, problem)
    if result is not None:
        return result
    extents, written = problem.extents, dims_of(problem.out)
    factors = [factor(x, access, extents) for x, access in zip(operands, problem.accesses, strict=True)]
    read = {dim for factor in factors for dim in factor.dims}
    product = _product(factors, written, extents)
    idle = size(tuple(extent for dim, extent in enumerate(extents) if dim not in read | written))
    if idle != 1:
        product = product._replace(value=product.value * idle)
    result = _stored(product, problem)
    if len(operands) == 1 and idle == 1 and read <= written:
        result.writer.unfolded[result.name] = operands[0], problem
    return result


# -- reading ---------------------------------------------------------------------------------------------


def factor(x: Value, access: Access, extents: Shape) -> Factor:
    """Return an operand as a factor."""
    uses = [dim for _, terms in access for dim, _ in terms]
    if len(uses) != len(set(uses)):
        return _gathered(x, access, extents)
    dims: list[int] = []
    axis = 0
    for offset, terms in access:
        if len(terms) == 1 and terms[0][1] and x.shape[axis] >= extents[terms[0][0]]:
            ((dim, step),) = terms
            starts, counts, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
            starts[axis], counts[axis], steps[axis] = offset, extents[dim], step
            x = x.taken(starts, counts, steps)
        elif not terms and x.shape[axis] == 1:
            x = x.reshape((*x.shape[:axis], *x.shape[axis + 1 :]))
        else:
            x = x.at(x.writer.constant(_positions((offset, terms), extents), INT64), axis)
        dims += [dim for dim, _ in terms]
        axis += len(terms)
    return Factor(x, tuple(dims))


def _gathered(x: Value, access: Access, extents: Shape) -> Factor:
    """Return the elements of the flat array at each point of the dimensions of the access."""
    dims, flat = _flat(access, x.shape, extents)
    return Factor(x.flat.at(x.writer.constant(flat, INT64)), dims)


def _positions(index: Any, extents: Shape) -> Any:
    """Return the values of an affine expression at each point of its dimensions."""
    offset, terms = index
    total: Any = np.array(offset)
    for dim, step in terms:
        total = np.add.outer(total, step * np.arange(extents[dim]))
    return total


def _flat(access: Access, shape: Shape, extents: Shape) -> tuple[tuple[int, ...], Any]:
    """Return the dimensions of an access, and at each of their points the position in the flat array."""
    dims = tuple(sorted(dims_of(access)))
    total: Any = np.zeros([extents[dim] for dim in dims], np.int64)
    for axis, (offset, terms) in enumerate(access):
        position: Any = offset
        for dim, step in terms:
            along = [1] * len(dims)
            along[dims.index(dim)] = extents[dim]
            position = position + step * np.arange(extents[dim]).reshape(along)
        total = total + position * size(shape[axis + 1 :])
    return dims, total


# -- multiplying -----------------------------------------------------------------------------------------


def _product(factors: list[Factor], written: Iterable[int], extents: Shape) -> Factor:
    """Sum over the dimensions of a single factor, then multiply the cheapest pair until one factor is left."""

    def needed(*places: int) -> set[int]:
        others = (factor.dims for place, factor in enumerate(factors) if place not in places)
        return set(written).union(*others)

    def cost(pair: tuple[int, int]) -> int:
        dims = {dim for place in pair for dim in factors[place].dims}
        return sum(size(tuple(extents[dim] for dim in left)) for left in (dims, dims & needed(*pair)))

    factors = [_total(factor, needed(place)) for place, factor in enumerate(factors)]
    while len(factors) > 1:  # places, since one value may be several factors, as in a sum of squares
        first, second = min(itertools.combinations(range(len(factors)), 2), key=cost)
        result = _multiplied(factors[first], factors[second], needed(first, second), extents)
        factors = [factor for place, factor in enumerate(factors) if place not in (first, second)] + [result]
    return factors[0]


def _total(factor: Factor, needed: set[int]) -> Factor:
    axes = [axis for axis, dim in enumerate(factor.dims) if dim not in needed]
    return Factor(factor.value.reduce("ReduceSum", axes), tuple(dim for dim in factor.dims if dim in needed))


def _multiplied(first: Factor, second: Factor, needed: set[int], extents: Shape) -> Factor:
    """Return the product of two factors, summed over the dimensions that nothing else needs."""
    shared = [dim for dim in first.dims if dim in second.dims]
    summed = [dim for dim in shared if dim not in needed]
    batch = [dim for dim in shared if dim in needed]
    rows = [dim for dim in first.dims if dim not in shared]
    columns = [dim for dim in second.dims if dim not in shared]
    if not summed:
        dims = (*batch, *rows, *columns)
        left, right = (_aligned(factor, dims) for factor in (first, second))
        return Factor(left * right, dims)
    if not batch and first.value.dtype.kind == "f":
        return _product_of_matrices(first, second, rows, summed, columns, extents)
    left = _matrices(first, batch, rows, summed, extents)
    right = _matrices(second, batch, summed, columns, extents)
    shape = [*(extents[dim] for dim in batch), left.shape[-2], right.shape[-1]]
    result = left.writer.node("MatMul", [left, right], shape)
    dims = (*batch, *rows, *columns)
    return Factor(result.reshape([extents[dim] for dim in dims]), dims)


def _product_of_matrices(
    first: Factor,
    second: Factor,
    rows: Sequence[int],
    summed: Sequence[int],
    columns: Sequence[int],
    extents: Shape,
) -> Factor:
    """Return a product of two matrices; the operator reads transposed ones as they are."""
    dims = (*rows, *columns)
    is_plain = (first.dims, second.dims) == ((*rows, *summed), (*summed, *columns))
    if is_plain and len(summed) == len(columns) == 1:
        shape = [extents[dim] for dim in dims]
        return Factor(first.value.writer.node("MatMul", [first.value, second.value], shape), dims)
    is_transposed = [
        list(first.dims) == [*summed, *rows] and bool(rows),
        list(second.dims) == [*columns, *summed] and bool(columns),
    ]
    pairs = [(summed, rows) if is_transposed[0] else (rows, summed)]
    pairs.append((columns, summed) if is_transposed[1] else (summed, columns))
    left, right = (
        _matrices(factor, (), *pair, extents) for factor, pair in zip((first, second), pairs, strict=True)
    )
    shape = [size(tuple(extents[dim] for dim in dims)) for dims in (rows, columns)]
    if any(is_transposed):
        first_is, second_is = map(int, is_transposed)
        result = left.writer.node("Gemm", [left, right], shape, transA=first_is, transB=second_is)
    else:
        result = left.writer.node("MatMul", [left, right], shape)
    return Factor(result.reshape([extents[dim] for dim in dims]), dims)


def _aligned(factor: Factor, dims: Sequence[int]) -> Value:
    """Return a factor with an axis for each dimension, of extent one for those that it lacks."""
    own = [dim for dim in dims if dim in factor.dims]
    value = factor.value.transpose([factor.dims.index(dim) for dim in own])
    extents = iter(value.shape)
    return value.reshape([next(extents) if dim in own else 1 for dim in dims])


def _matrices(
    factor: Factor, batch: Sequence[int], rows: Sequence[int], columns: Sequence[int], extents: Shape
) -> Value:
    """Return a factor as a stack of matrices."""
    value = factor.value.transpose([factor.dims.index(dim) for dim in (*batch, *rows, *columns)])
    count = [size(tuple(extents[dim] for dim in dims)) for dims in (rows, columns)]
    return value.reshape([*(extents[dim] for dim in batch), *count])


# -- writing ---------------------------------------------------------------------------------------------


def _stored(product: Factor, problem: Problem) -> Value:
    """Write a product through the map of the output."""
    shape, extents, out = problem.shape, problem.extents, problem.out
    steps = [(offset, *terms) for offset, terms in out]
    dims = [dim for _, terms in out for dim, _ in terms]
    whole = all(
        (offset == 0 and not terms and extent == 1)
        or (len(terms) == 1 and (offset, terms[0][1]) == (0, 1) and extents[terms[0][0]] == extent)
        for (offset, *terms), extent in zip(steps, shape, strict=True)
    )
    if whole and len(dims) == len(set(dims)):
        value = _aligned(product, dims).expand([extents[dim] for dim in dims])
        return value.reshape(shape)
    order, positions = _flat(out, shape, extents)
    value = _aligned(product, order).expand([extents[dim] for dim in order])
    writer, dtype = value.writer, value.dtype
    zeros = writer.constant(0, dtype).expand((size(shape),))
    places = writer.constant(positions.reshape(-1), INT64)
    (result,) = writer.nodes(
        "ScatterElements", [zeros, places, value.flat], [(dtype, zeros.shape)], axis=0, reduction="add"
    )
    return result.reshape(shape)
