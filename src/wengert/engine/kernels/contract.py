"""The NumPy evaluation of ``contract``: sums of products over an affine iteration space.

Matrix product, ``einsum``, trace and diagonal, correlation and convolution (stride, dilation, groups), sum
pooling and all their derivatives are this one operation. A problem is planned once: every operand becomes a
factor, a view with one axis for each of its dimensions; factors are multiplied pairwise, by BLAS wherever
something is summed; the product is written through the output map. The plan, a closure over the operands, is
cached by the maps and by the memory layout of the operands, so that a call costs little more than its NumPy
calls do.

Windows (``h + kh``) are multiplied as in Chellapilla et al., "High Performance Convolutional Neural Networks
for Document Processing" (2006): they are unfolded into the columns of a matrix. A window on the output is the
transpose of that: the columns are computed first and then added, tap by tap. `unfold` makes both cheap.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from wengert.engine.core.records import record
from wengert.engine.kernels.affine import (
    Access,
    Unfolding,
    check_access,
    colliding_dims,
    dims_of,
    drop_units,
    is_composite,
    is_injective,
    row_major,
    shift,
    unfold,
)
from wengert.engine.kernels.factors import (
    Array,
    Dims,
    Evaluate,
    Factor,
    Space,
    expand,
    leaf,
    product,
    reshape,
    then,
    total,
    transpose,
)

__all__ = ["check_access", "contract"]

Layout: TypeAlias = tuple[Dims, Dims]

_PIECE = 1 << 22  # elements of unfolded windows held at once: a larger problem is cut into pieces


def contract(
    operands: Sequence[Array],
    extents: tuple[int, ...],
    accesses: tuple[Access, ...],
    out: Access,
    out_shape: tuple[int, ...],
    dtype: Any,
) -> Array:
    """Sum products of the operands' elements over an iteration space.

    Starting from zeros, every point i of the iteration space adds to one element of the output:

        Y[out(i)] += X_0[access_0(i)] * X_1[access_1(i)] * ...

    The transpose with respect to an operand is the same operation with that operand's map and ``out``
    exchanged, and the operand replaced by the cotangent.

    Args:
        operands: One array or more, of any strides; each is cast to ``dtype`` first.
        extents: The extent of each dimension of the iteration space.
        accesses: For each operand the affine map of its indices, as `wengert.engine.kernels.affine` describes it.
            The maps must stay inside the arrays: see `check_access`.
        out: The map of the output's indices. Several points may reach one element.
        out_shape: The shape of the output.
        dtype: The dtype of the products and of the output; integers wrap around as in NumPy.

    Returns:
        A new array, not necessarily C-contiguous.

    Example:
        >>> signal, taps = np.array([1.0, 2.0, 4.0, 8.0]), np.array([-1.0, 1.0])
        >>> window, tap, position = ((0, ((0, 1), (1, 1))),), ((0, ((1, 1),)),), ((0, ((0, 1),)),)
        >>> contract((signal, taps), (3, 2), (window, tap), position, (3,), np.float64)
        array([1., 2., 4.])
    """
    dtype = np.dtype(dtype)
    arrays: list[Array] = []
    layouts: list[Layout] = []
    for x in operands:
        array: Array = x if type(x) is np.ndarray and x.dtype is dtype else np.asarray(x, dtype)
        arrays.append(array)
        layouts.append((array.shape, array.strides))
    return _plan(extents, accesses, out, out_shape, dtype, tuple(layouts))(arrays)


@lru_cache(maxsize=4096)
def _plan(
    extents: Dims,
    accesses: tuple[Access, ...],
    out: Access,
    out_shape: Dims,
    dtype: np.dtype[Any],
    layouts: tuple[Layout, ...],
) -> Evaluate:
    if 0 in extents:
        return lambda arrays: np.zeros(out_shape, dtype)
    accesses = tuple(drop_units(access, extents) for access in accesses)
    out = drop_units(out, extents)
    cut = _cut(extents, accesses, out, out_shape)
    if cut:
        return _in_pieces(*cut, extents, accesses, out, out_shape, dtype, layouts)
    space = Space(extents, dtype)
    operands = enumerate(zip(accesses, layouts, strict=True))
    factors = [leaf(position, access, *layout, space) for position, (access, layout) in operands]
    read = set[int]().union(*map(dims_of, accesses))
    target = _target(out, out_shape, read, space)
    idle = set(range(len(extents))) - dims_of(out) - read
    return target.store(_scale(_contract_all(factors, target, space), space.size(idle), space), space)


def _contract_all(factors: list[Factor], target: _Target, space: Space) -> Factor:
    """Sum over dimensions of a single factor, then multiply the cheapest pair until one factor is left."""

    def needed(*done: Factor) -> set[int]:
        return set(target.order).union(*(factor.dims for factor in factors if factor not in done))

    def cost(pair: tuple[Factor, Factor]) -> int:
        dims = {*pair[0].dims, *pair[1].dims}
        return space.size(dims) + space.size(dims & needed(*pair))

    factors = [total(factor, {*factor.dims} - needed(factor), space) for factor in factors]
    while len(factors) > 1:
        pair = min(itertools.combinations(factors, 2), key=cost)
        result = product(*pair, needed(*pair), target.order, target.windowed, space)
        factors = [factor for factor in factors if factor not in pair] + [result]
    return factors[0]


def _scale(factor: Factor, times: int, space: Space) -> Factor:
    """Return ``times`` the factor: the sum over dimensions that nothing depends on."""
    if times == 1:
        return factor
    weight = np.asarray(times).astype(space.dtype)
    evaluate = then(factor.evaluate, lambda array: np.multiply(array, weight))
    return Factor(factor.dims, factor.strides, evaluate)


@record(eq=True, slots=False)
class _Target:
    """The output.

    Its ``order`` has its dimensions, outermost first. It has an ``unfolding`` to write through unless the
    product needs only be reshaped, because each element belongs to one point.
    """

    access: Access
    shape: Dims
    order: Dims
    unfolding: Unfolding | None

    @property
    def windowed(self) -> bool:
        return self.unfolding is not None and is_composite(self.access)

    def store(self, factor: Factor, space: Space) -> Evaluate:
        """Return the evaluation that ends in the output array."""
        if self.unfolding is not None:
            return self._scatter(factor, self.unfolding, space)
        return then(
            factor.evaluate,
            None if factor.fresh else np.array,
            transpose(factor.dims, self.order),
            reshape(space.shape(self.order), self.shape),
            None if self.shape else np.asarray,
        )

    def _scatter(self, factor: Factor, unfolding: Unfolding, space: Space) -> Evaluate:
        taps = colliding_dims(self.access, self.order, space.extents)
        dims = taps + tuple(dim for dim in self.order if dim not in taps)
        strides = tuple(unfolding.strides[self.order.index(dim)] for dim in dims)
        shape = space.shape(dims)
        present = tuple(dim for dim in dims if dim in factor.dims)
        evaluate = then(factor.evaluate, transpose(factor.dims, present), expand(present, dims))
        points = [(*point, ...) for point in itertools.product(*map(range, space.shape(taps)))]
        back = tuple(map(unfolding.axes.index, range(len(unfolding.axes))))

        def scatter(arrays: Sequence[Array]) -> Array:
            value = np.broadcast_to(evaluate(arrays), shape)
            stored = np.zeros(unfolding.shape, space.dtype)
            view: Array = np.ndarray(shape, space.dtype, stored, unfolding.offset, strides)
            for point in points:
                part = view[point]
                part += value[point]
            return stored.transpose(back)

        return scatter


def _target(out: Access, shape: Dims, read: set[int], space: Space) -> _Target:
    dims = dims_of(out)
    rising = all(coefficient > 0 for _, terms in out for _, coefficient in terms)
    full = dims <= read and space.size(dims) == math.prod(shape)
    if rising and full and is_injective(out, dims, space.extents):
        order = tuple(dim for _, terms in out for dim, _ in sorted(terms, key=lambda term: -term[1]))
        return _Target(out, shape, order, None)
    itemsize = space.dtype.itemsize
    unfolding = unfold(out, shape, row_major(shape, itemsize), space.extents, itemsize)
    return _Target(out, shape, unfolding.dims, unfolding)


def _cut(extents: Dims, accesses: Sequence[Access], out: Access, out_shape: Dims) -> tuple[int, int] | None:
    """Return a dimension and the length of the pieces to cut it into, if overlapping windows take too much memory.

    Windows that are the output or an operand themselves take none. The dimension is summed, so that the pieces are
    added, or it is a whole axis of the output, so that they are concatenated.
    """
    read, written = set[int]().union(*map(dims_of, accesses)), dims_of(out)
    whole = {dim for dim in written if _axis_of(dim, extents[dim], out, out_shape) is not None}
    for access in (*accesses, out):
        dims = dims_of(access) & read
        if any(dims <= dims_of(partner) for partner in (*accesses, out) if partner is not access):
            continue
        size = math.prod(extents[dim] for dim in dims)
        choices = dims & (whole | (read - written))
        if size > _PIECE and choices and not is_injective(access, dims, extents):
            dim = max(choices, key=lambda dim: extents[dim])
            return dim, max(1, extents[dim] * _PIECE // size)
    return None


def _axis_of(dim: int, extent: int, out: Access, out_shape: Dims) -> int | None:
    """Return the axis of the output that ``dim`` alone makes up, if there is one."""
    axes = [axis for axis, (_, terms) in enumerate(out) if dim in dict(terms)]
    alone = len(axes) == 1 and out[axes[0]] == (0, ((dim, 1),)) and out_shape[axes[0]] == extent
    return axes[0] if alone else None


def _in_pieces(
    dim: int,
    length: int,
    extents: Dims,
    accesses: tuple[Access, ...],
    out: Access,
    out_shape: Dims,
    dtype: np.dtype[Any],
    layouts: tuple[Layout, ...],
) -> Evaluate:
    axis = _axis_of(dim, extents[dim], out, out_shape)
    parts: list[Evaluate] = []
    for start in range(0, extents[dim], length):
        size = min(length, extents[dim] - start)
        shape = out_shape if axis is None else (*out_shape[:axis], size, *out_shape[axis + 1 :])
        reads = tuple(shift(access, dim, start) for access in accesses)
        parts.append(_plan((*extents[:dim], size, *extents[dim + 1 :]), reads, out, shape, dtype, layouts))

    def side_by_side(arrays: Sequence[Array]) -> Array:
        return np.concatenate([part(arrays) for part in parts], axis)

    def added(arrays: Sequence[Array]) -> Array:
        result = parts[0](arrays)
        for part in parts[1:]:
            result += part(arrays)
        return result

    return added if axis is None else side_by_side
