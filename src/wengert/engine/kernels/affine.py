"""Affine access maps: where one point of an iteration space reads or writes an array.

An iteration space is a tuple of extents; dimension ``d`` runs over ``range(extents[d])``. An access map has
one affine expression ``offset + sum_d coefficient_d * d`` for each axis of the array, written as
``(offset, ((d, coefficient), ...))``. The input of a correlation, ``X[n, c, h + kh, w + kw]``, is
``((0, ((0, 1),)), (0, ((1, 1),)), (0, ((2, 1), (4, 1))), (0, ((3, 1), (5, 1))))``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from wengert.engine.core.errors import ShapeError, message
from wengert.engine.core.named_tuples import NamedTuple

Affine: TypeAlias = tuple[int, tuple[tuple[int, int], ...]]
Access: TypeAlias = tuple[Affine, ...]


def span(index: Affine, extents: Sequence[int]) -> tuple[int, int]:
    """Return the smallest and the largest value of ``index`` over a space that is not empty."""
    offset, terms = index
    reaches = [coefficient * (extents[dim] - 1) for dim, coefficient in terms]
    return offset + sum(min(reach, 0) for reach in reaches), offset + sum(max(reach, 0) for reach in reaches)


def show(index: Affine) -> str:
    """Write an affine expression with the dimensions as ``d0``, ``d1``, ...

    Example:
        >>> show((-1, ((0, 2), (3, 1))))
        '2*d0+d3-1'
    """
    offset, terms = index
    weights = {1: "+", -1: "-"}
    parts = [f"{weights.get(step, f'{step:+d}*')}d{dim}" for dim, step in terms]
    if offset or not terms:
        parts.append(f"{offset:+d}")
    return "".join(parts).removeprefix("+")


def check_access(shape: Sequence[int], access: Access, extents: Sequence[int]) -> None:
    """Raise unless ``access`` stays inside an array of this ``shape`` everywhere in the iteration space.

    An empty iteration space touches nothing, so every map of the right rank fits it.

    Raises:
        ShapeError: The rank differs, a dimension does not exist, or an axis is left.

    Example:
        >>> check_access((4,), ((0, ((0, 1), (1, 1))),), extents=(3, 2))
    """
    if len(access) != len(shape):
        got = f"{len(access)} for shape {tuple(shape)}"
        raise ShapeError(message("contract", "an access map needs one expression for each axis", got))
    unknown = dims_of(access) - set(range(len(extents)))
    if unknown:
        got = f"d{min(unknown)} of {len(extents)} dimensions"
        raise ShapeError(message("contract", "an access map may use the dimensions of its space only", got))
    if 0 in extents:
        return
    for axis, (size, index) in enumerate(zip(shape, access, strict=True)):
        low, high = span(index, extents)
        if low < 0 or high >= size:
            got = f"{show(index)} from {low} to {high} over extents {tuple(extents)}"
            raise ShapeError(
                message("contract", f"indices must stay inside axis {axis} of {tuple(shape)}", got)
            )


def dims_of(access: Access) -> set[int]:
    """Return the dimensions that ``access`` depends on."""
    return {dim for _, terms in access for dim, _ in terms}


def is_composite(access: Iterable[Affine]) -> bool:
    """Return whether some axis combines several dimensions, as the window ``h + kh`` does."""
    return any(len(terms) > 1 for _, terms in access)


def drop_units(access: Access, extents: Sequence[int]) -> Access:
    """Leave out the dimensions of extent one: they are always 0."""
    return tuple((offset, tuple(term for term in terms if extents[term[0]] != 1)) for offset, terms in access)


def shift(access: Access, dim: int, start: int) -> Access:
    """Return the map of the subspace whose ``dim`` starts at ``start`` rather than 0."""
    return tuple((offset + dict(terms).get(dim, 0) * start, terms) for offset, terms in access)


def is_injective(access: Access, dims: Iterable[int], extents: Sequence[int]) -> bool:
    """Return whether distinct values of ``dims`` certainly reach distinct elements, with the others fixed.

    An axis determines its dimensions where they are the digits of a mixed-radix number: each coefficient
    exceeds the sum of all smaller digits. Dimensions that one axis determines are fixed for the other axes. The
    test may reject an injective map, and accepts no other map; if it accepts ``dims``, it accepts any subset.

    Example:
        >>> is_injective(((0, ((0, 3), (1, 1))),), dims=(0, 1), extents=(4, 3))
        True
        >>> is_injective(((0, ((0, 2), (1, 1))),), dims=(0, 1), extents=(4, 3))
        False
    """
    unknown = set(dims)
    progress = True
    while progress:
        progress = False
        for _, terms in access:
            digits = sorted((abs(coefficient), dim) for dim, coefficient in terms if dim in unknown)
            if digits and _is_mixed_radix(digits, extents):
                unknown.difference_update(dim for _, dim in digits)
                progress = True
    return not unknown


def _is_mixed_radix(digits: Iterable[tuple[int, int]], extents: Sequence[int]) -> bool:
    reach = 0
    for weight, dim in digits:
        if weight <= reach:
            return False
        reach += weight * (extents[dim] - 1)
    return True


def colliding_dims(access: Access, dims: Iterable[int], extents: Sequence[int]) -> tuple[int, ...]:
    """Return a cheap set of ``dims`` to loop over, such that ``access`` is injective in the rest.

    The largest dimensions are kept first: of ``h + kh`` the image rows stay and the taps are looped over.

    Example:
        >>> colliding_dims(((0, ((0, 1), (1, 1))),), dims=(0, 1), extents=(13, 3))
        (1,)
    """
    separate: list[int] = []
    for dim in sorted(dims, key=lambda dim: -extents[dim]):
        if is_injective(access, (*separate, dim), extents):
            separate.append(dim)
    return tuple(dim for dim in dims if dim not in separate)


def row_major(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the strides in bytes of a C-contiguous array."""
    strides = [itemsize] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * shape[axis]
    return tuple(strides)


class Unfolding(NamedTuple):
    """A stored array, and its view with one axis for each dimension of its access map.

    Attributes:
        axes: The order in which the array's axes are stored, outermost first.
        shape: The shape as stored, C-contiguous.
        dims: The dimensions of the map, outermost in memory first; taps come before the dimension that they slide over.
        strides: The stride in bytes of each of ``dims``.
        offset: The byte where the element of the point 0 lies.
    """

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


def unfold(
    access: Access, shape: Sequence[int], strides: Sequence[int], extents: Sequence[int], itemsize: int
) -> Unfolding:
    """Choose the storage for which copying to or from the unfolded view is cheap.

    The axes keep the order of their ``strides``; but where some axis is a window, the largest dimension that
    has an axis to itself (the batch of a convolution) becomes the innermost: the lanes. A copy then moves
    whole runs of window x lanes, however small the window.
    """
    axes = sorted(range(len(shape)), key=lambda axis: -abs(strides[axis]))
    uses = [dim for _, terms in access for dim, _ in terms]
    alone = {axis: terms[0][0] for axis, (_, terms) in enumerate(access) if len(terms) == 1}
    lanes = [axis for axis in axes if axis in alone and uses.count(alone[axis]) == 1]
    if is_composite(access) and lanes:
        innermost = max(lanes, key=lambda axis: extents[alone[axis]])
        axes.remove(innermost)
        axes.append(innermost)
    stored = tuple(shape[axis] for axis in axes)
    steps = dict(zip(axes, row_major(stored, itemsize), strict=True))
    reach = dict.fromkeys(uses, 0)
    for axis, (_, terms) in enumerate(access):
        for dim, coefficient in terms:
            reach[dim] += coefficient * steps[axis]
    dims = tuple(sorted(reach, key=lambda dim: (-abs(reach[dim]), extents[dim])))
    offset = sum(start * steps[axis] for axis, (start, _) in enumerate(access))
    return Unfolding(tuple(axes), stored, dims, tuple(reach[dim] for dim in dims), offset)
