"""Filters of arrays: correlations, Gaussian and uniform filters, and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.boxes import on_graph
from wengert.engine.core.dtypes import dtype_of, is_complex
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import axis_index, shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.complex import conjugate
from wengert.engine.ops.contraction import Affine, along, contract
from wengert.numpy.linear_algebra import root
from wengert.numpy.registry import is_box, rank_of
from wengert.numpy.shaping import part
from wengert.scipy.ndimage.arguments import (
    OF_FILTERS,
    axes_of,
    dtype_named,
    extended,
    mode_of,
    per_axis,
    stored,
    working,
)
from wengert.scipy.registry import array, number, signatures

_MOST_OF_SLICES = 128
"""Up to this number of weights, NumPy adds slices faster than it multiplies windows by a vector."""


_filter = signatures(
    "scipy.ndimage",
    """
        correlate1d convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0)
        correlate convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None)
        uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0)
        uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None)
        gaussian_filter1d(input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *,
            radius=None)
        gaussian_filter(input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None,
            axes=None)
        prewitt sobel(input, axis=-1, output=None, mode="reflect", cval=0.0)
        laplace(input, output=None, mode="reflect", cval=0.0, *, axes=None)
        gaussian_laplace gaussian_gradient_magnitude(input, sigma, output=None, mode="reflect", cval=0.0, *,
            axes=None, **kwargs)
    """,
    raises="ArgumentError: the mode is unknown, or an origin moves the window too far.",
)


def _sum_of_slices(x: Any, weights: Any, axis: int, count: int) -> Any:
    """Return the sum of the parts of an array that begin at each weight, times the weight."""
    total: Any = None
    for k in range(shape_of(weights)[0]):
        term = part(x, axis, slice(k, k + count)) * weights[k]
        total = term if total is None else total + term
    return total


def weighted(x: Any, weights: Any, axes: tuple[int, ...], starts: list[int], mode: str, cval: Any) -> Any:
    """Return the sums of weights times neighbours: ``y[i] = sum_k w[k] x[i + k + start]``, x extended by a mode.

    The weights have an axis for each of ``axes``; ``starts`` are the first neighbours along these, at most 0.
    """
    shape, taps = shape_of(x), shape_of(weights)
    if not all(shape):
        return x
    for axis, start, width in zip(axes, starts, taps, strict=True):
        x = extended(x, axis, -start, start + width - 1, mode, cval)
    if len(axes) == 1 and taps[0] <= _MOST_OF_SLICES and not on_graph(x) and not on_graph(weights):
        return _sum_of_slices(x, weights, axes[0], shape[axes[0]])
    rank = len(shape)
    window: list[Affine] = [along(axis) for axis in range(rank)]
    for number_, axis in enumerate(axes):
        window[axis] = (0, ((axis, 1), (rank + number_, 1)))
    return contract(
        x,
        weights,
        extents=(*shape, *taps),
        accesses=(tuple(window), tuple(along(rank + number_) for number_ in range(len(taps)))),
        out=tuple(along(axis) for axis in range(rank)),
        shape=shape,
    )


def first_neighbours(operation: str, sizes: tuple[int, ...], origins: list[Any]) -> list[int]:
    """Return the first neighbour along each axis, for windows whose centre is moved by an origin."""
    starts: list[int] = []
    for size, origin in zip(sizes, origins, strict=True):
        moved = int(number(operation, "origin", origin))
        start = -(size // 2) - moved
        if start > 0 or start + size - 1 < 0:
            requirement = f"origin must leave the centre inside a window of {size}"
            raise ArgumentError(message(operation, requirement, str(moved)))
        starts.append(start)
    return starts


def _along_one(
    operation: str, x: Any, weights: Any, axis: int, output: Any, mode: Any, cval: Any, origin: Any
) -> Any:
    x, weights = array(x), array(weights)
    if rank_of(weights) != 1 or not shape_of(weights)[0]:
        raise ShapeError(message(operation, "the weights must be a vector with elements", show(weights)))
    axis = axis_index(operation, axis, rank_of(x))
    starts = first_neighbours(operation, shape_of(weights), [origin])
    extension = mode_of(operation, mode, OF_FILTERS)
    weights = conjugate(weights) if is_complex(dtype_of(weights)) else weights
    values = weighted(working(x), working(weights), (axis,), starts, extension, cval)
    return stored(operation, output, x, values)


@_filter
def correlate1d(input: Any, weights: Any, **options: Any) -> Any:
    """Correlate along an axis: ``y[i] = sum_k w[k] x[i + k - size // 2 - origin]``; complex weights are conjugated.

    Raises:
        ShapeError: the weights are not a vector.

    Example:
        >>> correlate1d(np.array([1.0, 2.0, 4.0]), [-1.0, 0.0, 1.0])
        array([1., 3., 2.])
    """
    return _along_one("correlate1d", input, weights, **options)


@_filter
def convolve1d(input: Any, weights: Any, origin: Any, **options: Any) -> Any:
    """Convolve along an axis: ``y[i] = sum_k w[k] x[i - k + size // 2 - origin]``.

    Raises:
        ShapeError: the weights are not a vector.

    Example:
        >>> convolve1d(np.array([1.0, 2.0, 4.0]), [-1.0, 0.0, 1.0])
        array([-1., -3., -2.])
    """
    weights = array(weights)
    if rank_of(weights) == 1:
        origin = -number("convolve1d", "origin", origin) - (not shape_of(weights)[0] & 1)
        weights = weights[::-1]
        weights = conjugate(weights) if is_complex(dtype_of(weights)) else weights
    return _along_one("convolve1d", input, weights, origin=origin, **options)


# -- several axes ----------------------------------------------------------------------------------------


def _along_several(
    operation: str, x: Any, weights: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> Any:
    x, weights = array(x), array(weights)
    chosen = axes_of(operation, axes, rank_of(x))
    if rank_of(weights) != len(chosen) or 0 in shape_of(weights):
        requirement = f"the weights must have {len(chosen)} axes, one for each that is filtered"
        raise ShapeError(message(operation, requirement, show(x, weights)))
    origins = per_axis(operation, "origin", origin, len(chosen))
    if operation == "convolve":
        pairs = zip(origins, shape_of(weights), strict=True)
        origins = [-number(operation, "origin", moved) - (not size & 1) for moved, size in pairs]
        weights = weights[(slice(None, None, -1),) * len(chosen)]
    elif is_complex(dtype_of(weights)):
        weights = conjugate(weights)
    starts = first_neighbours(operation, shape_of(weights), origins)
    extension = mode_of(operation, mode, OF_FILTERS)
    values = weighted(working(x), working(weights), chosen, starts, extension, cval)
    return stored(operation, output, x, values)


@_filter
def correlate(input: Any, weights: Any, **options: Any) -> Any:
    """Correlate along several axes: ``y[i] = sum_k w[k] x[i + k - size // 2 - origin]``.

    Complex weights are conjugated.

    Raises:
        ShapeError: the weights have another number of axes.

    Example:
        >>> correlate(np.eye(3), np.ones((3, 3)), mode="constant")
        array([[2., 2., 1.],
               [2., 3., 2.],
               [1., 2., 2.]])
    """
    return _along_several("correlate", input, weights, **options)


@_filter
def convolve(input: Any, weights: Any, **options: Any) -> Any:
    """Convolve along several axes: ``y[i] = sum_k w[k] x[i - k + size // 2 - origin]``.

    Raises:
        ShapeError: the weights have another number of axes.

    Example:
        >>> convolve(np.array([[1.0, 2.0, 4.0]]), [[1.0, 0.0, 0.0]])
        array([[2., 4., 4.]])
    """
    return _along_several("convolve", input, weights, **options)


# -- uniform and Gaussian filters ------------------------------------------------------------------------


@_filter
def uniform_filter1d(input: Any, size: Any, axis: Any, output: Any, mode: Any, cval: Any, origin: Any) -> Any:
    """Return the means of neighbours along an axis.

    Raises:
        ArgumentError: the size is less than 1.

    Example:
        >>> uniform_filter1d(np.array([0.0, 3.0, 0.0, 0.0]), 3)
        array([1., 1., 1., 0.])
    """
    operation = "uniform_filter1d"
    x, size = array(input), int(number(operation, "size", size))
    axis = axis_index(operation, axis, rank_of(x))
    if size < 1:
        raise ArgumentError(message(operation, "size must be at least 1", str(size)))
    starts = first_neighbours(operation, (size,), [origin])
    extension = mode_of(operation, mode, OF_FILTERS)
    sums = weighted(working(x), np.ones(size), (axis,), starts, extension, cval)
    return stored(operation, output, x, sums / size)


@_filter
def uniform_filter(input: Any, size: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any) -> Any:
    """Return the means of neighbours, along one axis after the other.

    Example:
        >>> uniform_filter(np.diag([9.0, 0.0, 0.0]))
        array([[4., 2., 0.],
               [2., 1., 0.],
               [0., 0., 0.]])
    """
    operation = "uniform_filter"
    x = array(input)
    chosen = axes_of(operation, axes, rank_of(x))
    arguments = [
        per_axis(operation, name, value, len(chosen))
        for name, value in (("size", size), ("origin", origin), ("mode", mode))
    ]
    y, dtype = x, dtype_named(output)
    for axis, count, moved, extension in zip(chosen, *arguments, strict=True):
        if number(operation, "size", count) > 1:
            y = uniform_filter1d(y, int(count), axis, dtype, extension, cval, moved)
    return stored(operation, output, x, y)


def _gaussian(sigma: Any, order: int, radius: int) -> Any:
    """Return the derivative of an order of a Gaussian of sum 1, at the integers up to a radius."""
    x = np.arange(-radius, radius + 1)
    inverse = 1.0 / (sigma * sigma)
    bell = np.exp(-0.5 * inverse * x**2)
    bell = bell / np.sum(bell)
    # The derivative of q(x) e^(-x^2 / 2 s^2) has the factor q' - x q / s^2.
    factor: list[Any] = [1.0]
    for _ in range(order):
        slopes = [power * c for power, c in enumerate(factor)][1:]
        raised = [0.0, *(-inverse * c for c in factor)]
        factor = [a + b for a, b in zip([*slopes, 0.0, 0.0], raised, strict=True)]
    return bell if not order else bell * sum(c * x**power for power, c in enumerate(factor))


@_filter
def gaussian_filter1d(input: Any, sigma: Any, order: Any, truncate: Any, radius: Any, **options: Any) -> Any:
    """Convolve with a Gaussian along an axis, or with a derivative of one; ``sigma`` has a derivative.

    ``radius``: the radius in elements, in place of ``truncate``; needed where ``sigma`` is not known, as in `wg.jit`.

    Raises:
        ArgumentError: the order or the radius is negative.
        ConcreteError: neither the radius nor ``sigma`` is known.

    Example:
        >>> gaussian_filter1d(np.array([0.0, 1.0, 0.0]), 0.5).round(3)
        array([0.107, 0.787, 0.107])
    """
    operation = "gaussian_filter1d"
    if radius is None:
        radius = int(truncate * float(number(operation, "sigma, where radius is not given,", sigma)) + 0.5)
    if not isinstance(radius, (int, np.integer)) or radius < 0 or order < 0:
        requirement = "radius and order must be integers that are not negative"
        raise ArgumentError(message(operation, requirement, f"{radius}, {order}"))
    weights = _gaussian(sigma, int(order), int(radius))[::-1]
    return _along_one(operation, input, weights, origin=0, **options)


@_filter
def gaussian_filter(**arguments: Any) -> Any:
    """Convolve with a Gaussian, or with a derivative of one; ``sigma`` has a derivative.

    ``radius``: the radius in elements, one number or one for each axis, in place of ``truncate``; needed where
    ``sigma`` is not known, as in `wg.jit`.

    Raises:
        ArgumentError: an order or a radius is negative.
        ConcreteError: neither the radius nor ``sigma`` is known.

    Example:
        >>> gaussian_filter(np.eye(3), 1.0).round(2)
        array([[0.5 , 0.33, 0.17],
               [0.33, 0.34, 0.33],
               [0.17, 0.33, 0.5 ]])
    """
    return _gaussian_over_axes("gaussian_filter", **arguments)


def _gaussian_over_axes(
    operation: str, input: Any, output: Any, axes: Any = None, radius: Any = None, **options: Any
) -> Any:
    x = array(input)
    chosen = axes_of(operation, axes, rank_of(x))
    named = {name: options.pop(name) for name in ("sigma", "order", "mode")} | {"radius": radius}
    arguments = [per_axis(operation, name, value, len(chosen)) for name, value in named.items()]
    y, dtype = x, dtype_named(output)
    for axis, width, times, extension, reach in zip(chosen, *arguments, strict=True):
        if is_box(width) or width > 1e-15:
            y = gaussian_filter1d(y, width, axis, times, dtype, extension, radius=reach, **options)
    return stored(operation, output, x, y)


# -- differences -----------------------------------------------------------------------------------------


def _differences(
    operation: str, across: Any, input: Any, axis: int, output: Any, mode: Any, cval: Any
) -> Any:
    """Return central differences along an axis, summed with weights across the others."""
    x = array(input)
    axis = axis_index(operation, axis, rank_of(x))
    modes = per_axis(operation, "mode", mode, rank_of(x))
    dtype = dtype_named(output)
    y = _along_one(operation, x, [-1, 0, 1], axis, dtype, modes[axis], cval, 0)
    for k in range(rank_of(x)):
        if k != axis:
            y = _along_one(operation, y, across, k, dtype, modes[k], cval, 0)
    return stored(operation, output, x, y)


@_filter
def prewitt(**arguments: Any) -> Any:
    """Return central differences along an axis, summed over three neighbours along each other axis.

    Example:
        >>> prewitt(np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]))
        array([[3., 6., 3.],
               [3., 6., 3.]])
    """
    return _differences("prewitt", [1, 1, 1], **arguments)


@_filter
def sobel(**arguments: Any) -> Any:
    """Return central differences along an axis, summed with weights 1, 2, 1 along each other axis.

    Example:
        >>> sobel(np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]))
        array([[4., 8., 4.],
               [4., 8., 4.]])
    """
    return _differences("sobel", [1, 2, 1], **arguments)


def _over_axes(
    operation: str, x: Any, output: Any, mode: Any, axes: Any, term: Callable[[Any, int, Any, Any], Any]
) -> Any:
    """Return the sum of a term for each axis: ``term(x, axis, mode, dtype)``."""
    x = array(x)
    chosen = axes_of(operation, axes, rank_of(x))
    if not chosen:
        return stored(operation, output, x, x)
    dtype = dtype_named(output)
    modes = per_axis(operation, "mode", mode, len(chosen))
    total: Any = None
    for axis, extension in zip(chosen, modes, strict=True):
        value = term(x, axis, extension, dtype)
        total = value if total is None else total + value
    return total


@_filter
def laplace(input: Any, output: Any, mode: Any, cval: Any, axes: Any) -> Any:
    """Return the sum of the second differences along the axes.

    Example:
        >>> laplace(np.array([0.0, 1.0, 4.0, 9.0]))
        array([ 1.,  2.,  2., -5.])
    """
    x = array(input)

    def term(x: Any, axis: int, mode: Any, dtype: Any) -> Any:
        return _along_one("laplace", x, [1, -2, 1], axis, dtype, mode, cval, 0)

    return stored("laplace", output, x, _over_axes("laplace", x, output, mode, axes, term))


def _derivatives(
    operation: str, x: Any, axes: Any, order: int, sigma: Any, cval: Any, kwargs: Any
) -> Callable[[Any, int, Any, Any], Any]:
    """Return the term of an axis: the derivative of an order along it, smoothed by a Gaussian."""
    rank = rank_of(x)
    chosen = axes_of(operation, axes, rank)
    sigmas: list[Any] = [0.0] * rank
    for axis, width in zip(chosen, per_axis(operation, "sigma", sigma, len(chosen)), strict=True):
        sigmas[axis] = width

    def term(x: Any, axis: int, mode: Any, dtype: Any) -> Any:
        options = {"sigma": sigmas, "order": [order * (k == axis) for k in range(rank)], "mode": mode}
        return _gaussian_over_axes(operation, x, dtype, cval=cval, **options, **kwargs)

    return term


@_filter
def gaussian_laplace(input: Any, output: Any, mode: Any, axes: Any, **options: Any) -> Any:
    """Return the Laplacian of an array that is smoothed by a Gaussian; ``sigma`` has a derivative.

    Example:
        >>> gaussian_laplace(np.array([0.0, 0.0, 1.0, 0.0, 0.0]), 1.0).round(2)
        array([ 0.2,  0. , -0.4,  0. ,  0.2])
    """
    operation, x = "gaussian_laplace", array(input)
    term = _derivatives(operation, x, axes, 2, **options)
    return stored(operation, output, x, _over_axes(operation, x, output, mode, axes, term))


@_filter
def gaussian_gradient_magnitude(input: Any, output: Any, mode: Any, axes: Any, **options: Any) -> Any:
    """Return the length of the gradient of an array that is smoothed by a Gaussian; its derivative at 0 is 0.

    ``sigma``: the standard deviation in elements, one number or one for each axis; it has a derivative.

    Example:
        >>> gaussian_gradient_magnitude(np.array([0.0, 0.0, 1.0, 0.0, 0.0]), 1.0).round(2)
        array([0.09, 0.24, 0.  , 0.24, 0.09])
    """
    operation, x = "gaussian_gradient_magnitude", array(input)
    of_axis = _derivatives(operation, x, axes, 1, **options)

    def term(x: Any, axis: int, mode: Any, dtype: Any) -> Any:
        value = of_axis(x, axis, mode, dtype)
        return value * value

    total = _over_axes(operation, x, output, mode, axes, term)
    return stored(operation, output, x, root(total) if rank_of(x) else total)
