"""autograd's convolution, over some axes, with sums over others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.autograd.namespaces import scipys as _scipys
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import Shape, shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.contraction import Affine, along, contract
from wengert.engine.ops.shape import slice_
from wengert.scipy.registry import array

__getattr__ = _scipys(globals(), "signal")
Axes = Sequence[Sequence[int]]
Pairs = list[list[int]]


def _axes(pairs: Axes, first: Sequence[int], second: Sequence[int]) -> Pairs:
    """Return pairs of axes, counted from the front."""
    shapes = zip(pairs, (first, second), strict=True)
    return [[axis % len(shape) for axis in axes] for axes, shape in shapes]


def _space(own: Shape, other: Shape, moved: Pairs, summed: Pairs, mode: str) -> dict[str, tuple[Any, ...]]:
    """Return the index space of a convolution: its extents, how it reads both arrays, and where it adds."""
    of_x: dict[int, Affine] = {}
    of_y: dict[int, Affine] = {}
    extents: list[int] = []
    out: list[Affine] = []
    shape: list[int] = []

    def dimension(extent: int) -> int:
        extents.append(extent)
        return len(extents) - 1

    for access, lengths, taken in (
        (of_x, own, {*moved[0], *summed[0]}),
        (of_y, other, {*moved[1], *summed[1]}),
    ):
        for axis in sorted({*range(len(lengths))} - taken):
            access[axis] = along(dimension(lengths[axis]))
            out.append(access[axis])
            shape.append(lengths[axis])
    for first, second in zip(*summed, strict=True):
        of_x[first] = of_y[second] = along(dimension(own[first]))
    for first, second in zip(*moved, strict=True):
        sides: list[Any] = [(own[first], first, of_x), (other[second], second, of_y)]
        if mode == "valid" and own[first] < other[second]:
            sides.reverse()
        (n, long, access), (k, short, taps) = sides
        if mode == "valid":
            i, j = dimension(n - k + 1), dimension(k)
            access[long] = (k - 1, ((i, 1), (j, -1)))
            out.append(along(i))
        else:
            i, j = dimension(n), dimension(k)
            access[long] = along(i)
            out.append((0, ((i, 1), (j, 1))))
        taps[short] = along(j)
        shape.append(n - k + 1 if mode == "valid" else n + k - 1)
    accesses = tuple(tuple(reads[axis] for axis in sorted(reads)) for reads in (of_x, of_y))
    return {"extents": tuple(extents), "accesses": accesses, "out": tuple(out), "shape": tuple(shape)}


def convolve(A: Any, B: Any, axes: Axes | None = None, dot_axes: Axes = ((), ()), mode: str = "full") -> Any:
    """Convolve arrays over pairs of axes, and sum over other pairs.

    Args:
        A: the first array.
        B: the second array.
        axes: the axes of both arrays over which they are convolved; all by default.
        dot_axes: the axes of both arrays over which products are summed.
        mode: "full"; "same", the middle part as large as ``A``; or "valid", without zeros around the larger one.

    Returns:
        An array with the other axes of ``A``, those of ``B``, and the axes of the convolution.

    Raises:
        ArgumentError: the mode is unknown.
        ShapeError: axes that are summed over differ in length.

    Example:
        >>> import numpy as np
        >>> images, filters = np.ones((5, 3, 8, 8)), np.ones((3, 7, 2, 2))
        >>> convolve(images, filters, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid").shape
        (5, 7, 7, 7)
    """
    x, y = array(A), array(B)
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(message("convolve", "mode must be full, same or valid", repr(mode)))
    own, other = shape_of(x), shape_of(y)
    moved = _axes(axes or [range(len(own)), range(len(other))], own, other)
    summed = _axes(dot_axes, own, other)
    if [own[axis] for axis in summed[0]] != [other[axis] for axis in summed[1]]:
        raise ShapeError(message("convolve", "axes that are summed over must agree", show(x, y)))
    space = _space(own, other, moved, summed, mode)
    result = contract(x, y, **space)
    if mode != "same":
        return result
    kept = len(space["shape"]) - len(moved[0])
    starts = [*(0,) * kept, *((other[axis] - 1) // 2 for axis in moved[1])]
    lengths = [*space["shape"][:kept], *(own[axis] for axis in moved[0])]
    return slice_(result, index=tuple((start, n, 1) for start, n in zip(starts, lengths, strict=True)))
