"""Splines on a grid of step one: the weights of the coefficients, and the coefficients of the spline through samples.

Following Unser, Aldroubi and Eden, "B-spline signal processing" (1993): the coefficients are a filter of the samples
whose response decays like powers of a pole z, |z| < 1/2. It is cut off where it reaches the rounding error, which makes
it a correlation with some 65 weights. In its border each extension of the samples is that of the coefficients.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import axis_index, shape_of
from wengert.engine.ops.contraction import along, contract
from wengert.numpy.registry import rank_of
from wengert.scipy.ndimage.arguments import (
    OF_INTERPOLATION,
    inside,
    mode_of,
    stored,
    working,
)
from wengert.scipy.ndimage.filters import weighted
from wengert.scipy.registry import array, number

_NEGLIGIBLE = 1e-18
_MOST_OF_MATRIX = 192
"""Up to this extent a product with a matrix is faster than a correlation."""
#: The extension of the coefficients for an extension of the samples.
EXTENSIONS = {
    "constant": "mirror",
    "wrap": "mirror",
    "grid-constant": "mirror",
    "mirror": "mirror",
    "nearest": "reflect",
    "reflect": "reflect",
    "grid-wrap": "grid-wrap",
}
_ROOTS: dict[int, tuple[float, ...]] = {
    2: (math.sqrt(8) - 3,),
    3: (math.sqrt(3) - 2,),
    4: (-0.3613412259002201770922128413, -0.01372542929733912136033122694),
    5: (-0.4305753470999737918514347835, -0.04309628820326465382271237682),
}


def order_of(operation: str, order: Any, least: int = 0) -> int:
    """Return the order of splines."""
    degree = int(number(operation, "order", order))
    if not least <= degree <= 5:
        raise ArgumentError(message(operation, f"order must be {least} to 5", str(order)))
    return degree


@functools.cache
def weights_of(order: int) -> Any:
    """Return the coefficients of the weights as polynomials of the distance from the last knot: ``[power, tap]``."""
    pieces: list[Any] = [np.polynomial.Polynomial([1.0])]
    for degree in range(1, order + 1):
        rising = [np.polynomial.Polynomial([degree - j, 1.0]) / degree for j in range(degree + 1)]
        terms: list[Any] = [0.0] * (degree + 1)
        for j, piece in enumerate(pieces):  # each piece of a degree belongs to two of the next
            terms[j] = terms[j] + piece * (1.0 - rising[j + 1])
            terms[j + 1] = terms[j + 1] + piece * rising[j + 1]
        pieces = terms
    table = np.zeros((order + 1, order + 1))
    for tap, piece in enumerate(pieces):
        table[: len(piece.coef), tap] = piece.coef
    return table


@functools.cache
def response(order: int) -> Any:
    """Return the weights of the filter that turns samples into coefficients, from the middle to both sides."""
    total = np.ones(1)
    for root in _ROOTS[order]:
        reach = math.ceil(math.log(_NEGLIGIBLE) / math.log(-root))
        total = np.convolve(total, root ** np.abs(np.arange(-reach, reach + 1)) * ((1 - root) / (1 + root)))
    return total


@functools.lru_cache(maxsize=64)
def _matrix(order: int, count: int, extension: str) -> Any:
    """Return the matrix that turns the samples along an axis into coefficients."""
    weights = response(order)
    reach = len(weights) // 2
    rows = np.arange(count)[:, None]
    columns = inside(rows + np.arange(-reach, reach + 1), count, extension).astype(int)
    result = np.zeros((count, count))
    np.add.at(
        result, (np.broadcast_to(rows, columns.shape), columns), np.broadcast_to(weights, columns.shape)
    )
    return result


def coefficients_along(x: Any, axis: int, order: int, extension: str) -> Any:
    """Return the coefficients along an axis of the splines through samples."""
    shape = shape_of(x)
    count, rank = shape[axis], len(shape)
    if order < 2 or count < 2:
        return x
    if count > _MOST_OF_MATRIX:
        weights = response(order)
        return weighted(x, weights, (axis,), [-(len(weights) // 2)], extension, 0.0)
    samples = tuple(along(rank if k == axis else k) for k in range(rank))
    return contract(
        x,
        _matrix(order, count, extension),
        extents=(*shape, count),
        accesses=(samples, (along(axis), along(rank))),
        out=tuple(map(along, range(rank))),
        shape=shape,
    )


def coefficients(x: Any, order: int, mode: str, axes: int) -> Any:
    """Return the coefficients of the spline through samples along leading axes, for an extension of interpolations."""
    for axis in range(axes):
        x = coefficients_along(x, axis, order, EXTENSIONS[mode])
    return x


@substitutes("scipy.ndimage.spline_filter1d")
def spline_filter1d(
    input: Any, order: int = 3, axis: int = -1, output: Any = np.float64, mode: Any = "mirror"
) -> Any:
    """Return the coefficients along an axis of the splines through samples.

    Raises:
        ArgumentError: the order or the mode is unknown.

    Example:
        >>> spline_filter1d(np.array([0.0, 1.0, 0.0])).round(3)
        array([-1.,  2., -1.])
    """
    operation, x = "spline_filter1d", array(input)
    order, extension = order_of(operation, order), EXTENSIONS[mode_of(operation, mode, OF_INTERPOLATION)]
    values = coefficients_along(working(x), axis_index(operation, axis, rank_of(x)), order, extension)
    return stored(operation, output, x, values)


@substitutes("scipy.ndimage.spline_filter")
def spline_filter(input: Any, order: int = 3, output: Any = np.float64, mode: Any = "mirror") -> Any:
    """Return the coefficients of the spline through samples.

    Raises:
        ArgumentError: the order or the mode is unknown.

    Example:
        >>> spline_filter(np.array([0.0, 1.0, 0.0])).round(3)
        array([-1.,  2., -1.])
    """
    operation, x = "spline_filter", array(input)
    order, extension = order_of(operation, order, 2), mode_of(operation, mode, OF_INTERPOLATION)
    return stored(operation, output, x, coefficients(working(x), order, extension, rank_of(x)))
