"""Convolutions and correlations: sums of products, and by Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import substitutes
from wengert.engine.core.dtypes import BOOL, dtype_of, is_complex, is_inexact
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import axis_index, shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.complex import conjugate
from wengert.engine.ops.contraction import Affine, along, contract
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.shape import slice_
from wengert.numpy.registry import floating, integers, rank_of
from wengert.scipy.fft import next_fast_len
from wengert.scipy.ndimage.arguments import extended
from wengert.scipy.registry import array

_MODES = ("full", "same", "valid")
_METHODS = ("auto", "direct", "fft")
_BOUNDARIES = {
    **dict.fromkeys(("fill", "pad"), "constant"),
    **dict.fromkeys(("wrap", "circular"), "grid-wrap"),
    **dict.fromkeys(("symm", "symmetric"), "reflect"),
}
_SHORT, _WORK = 64, 1 << 20
"""With no more products for each element, or altogether, sums are as fast as Fourier transforms."""


def _check_mode(operation: str, mode: Any) -> None:
    if mode not in _MODES:
        raise ArgumentError(message(operation, f"mode must be one of {', '.join(_MODES)}", repr(mode)))


def _pair(operation: str, in1: Any, in2: Any) -> tuple[Any, Any]:
    x, y = array(in1), array(in2)
    if rank_of(x) != rank_of(y):
        raise ShapeError(message(operation, "both arrays must have the same number of axes", show(x, y)))
    return x, y


def _in_order(operation: str, x: Any, y: Any, mode: str, axes: Sequence[int]) -> tuple[Any, Any]:
    """Return the operands, the larger one first where the mode is "valid"."""
    if mode != "valid":
        return x, y
    pairs = [(shape_of(x)[axis], shape_of(y)[axis]) for axis in axes]
    if all(n >= k for n, k in pairs):
        return x, y
    if all(n <= k for n, k in pairs):
        return y, x
    requirement = 'in the mode "valid", one array must be as large as the other along each axis'
    raise ShapeError(message(operation, requirement, show(x, y)))


def _centred(x: Any, shape: Sequence[int]) -> Any:
    """Return the part of a shape in the middle of an array."""
    pairs = zip(shape_of(x), shape, strict=True)
    return slice_(x, index=tuple(((whole - extent) // 2, extent, 1) for whole, extent in pairs))


def _sums(x: Any, y: Any, mode: str) -> Any:
    """Convolve by sums of products, where the second array fits into the first for the mode "valid"."""
    rank, own, taps = rank_of(x), shape_of(x), shape_of(y)
    of_x, of_taps = range(rank), range(rank, 2 * rank)
    if mode == "valid":
        shape = tuple(n - k + 1 for n, k in zip(own, taps, strict=True))
        window: list[Affine] = [
            (k - 1, ((i, 1), (j, -1))) for i, j, k in zip(of_x, of_taps, taps, strict=True)
        ]
        accesses = (tuple(window), tuple(map(along, of_taps)))
        return contract(
            x, y, extents=(*shape, *taps), accesses=accesses, out=tuple(map(along, of_x)), shape=shape
        )
    full = contract(
        x,
        y,
        extents=(*own, *taps),
        accesses=(tuple(map(along, of_x)), tuple(map(along, of_taps))),
        out=tuple((0, ((i, 1), (j, 1))) for i, j in zip(of_x, of_taps, strict=True)),
        shape=tuple(n + k - 1 for n, k in zip(own, taps, strict=True)),
    )
    return full if mode == "full" else _centred(full, own)


def _reversed(x: Any) -> Any:
    """Return an array with all axes reversed, conjugated."""
    turned = x[(slice(None, None, -1),) * rank_of(x)]
    return conjugate(turned) if is_complex(dtype_of(turned)) else turned


def _convolved(operation: str, in1: Any, in2: Any, mode: Any, method: Any) -> Any:
    x, y = _pair(operation, in1, in2)
    _check_mode(operation, mode)
    if method not in _METHODS:
        raise ArgumentError(message(operation, f"method must be one of {', '.join(_METHODS)}", repr(method)))
    dtype = np.result_type(dtype_of(x), dtype_of(y))
    x, y = (value if dtype_of(value) == dtype else cast(value, dtype=dtype) for value in (x, y))
    if not rank_of(x):
        return x * y
    x, y = _in_order(operation, x, y, mode, range(rank_of(x)))
    if 0 in (*shape_of(x), *shape_of(y)):
        raise ShapeError(message(operation, "arrays with elements are required", show(x, y)))
    few = min(size(shape_of(x)), size(shape_of(y)))
    is_short = few <= _SHORT or size(shape_of(x)) * size(shape_of(y)) <= _WORK
    if method == "direct" or (method == "auto" and (is_short or not is_inexact(dtype) or dtype == BOOL)):
        return _sums(x, y, mode)
    result = fftconvolve(x, y, mode)
    if not is_inexact(dtype):
        result = cast(np.rint(result), dtype=dtype)
    return result


@substitutes("scipy.signal.convolve")
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Convolve two arrays: ``sum_k x[k] y[i - k]``.

    Raises:
        ArgumentError: the mode or the method is unknown.
        ShapeError: the shapes do not fit.

    Example:
        >>> convolve(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0]), mode="same")
        array([0., 1., 2.])
    """
    return _convolved("convolve", in1, in2, mode, method)


@substitutes("scipy.signal.correlate")
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Correlate two arrays: ``sum_k x[k + i] conj(y[k])``.

    Raises:
        ArgumentError: the mode or the method is unknown.
        ShapeError: the shapes do not fit.

    Example:
        >>> correlate(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0]), mode="valid")
        array([2., 3.])
    """
    return _convolved("correlate", in1, _reversed(array(in2)), mode, method)


# -- two dimensions, with borders ------------------------------------------------------------------------


def _plane(operation: str, x: Any, y: Any, mode: Any, boundary: Any, fillvalue: Any, late: int = 0) -> Any:
    """Convolve matrices, of which the first is extended as the boundary says.

    The middle begins at ``(size - 1 + late) // 2`` of the full result, for the size of the second matrix.
    """
    _check_mode(operation, mode)
    if boundary not in _BOUNDARIES:
        requirement = "boundary must be fill, wrap or symm"
        raise ArgumentError(message(operation, requirement, repr(boundary)))
    if rank_of(x) != 2 or rank_of(y) != 2 or 0 in (*shape_of(x), *shape_of(y)):
        raise ShapeError(message(operation, "two matrices with elements are required", show(x, y)))
    dtype = np.result_type(dtype_of(x), dtype_of(y))
    x, y = (value if dtype_of(value) == dtype else cast(value, dtype=dtype) for value in (x, y))
    if mode == "valid":
        return _sums(x, y, mode)
    shape = shape_of(x)
    for axis, taps in enumerate(shape_of(y)):
        extension = _BOUNDARIES[boundary]
        value = (
            np.asarray(fillvalue, dtype) if extension == "constant" and not shape_of(fillvalue) else fillvalue
        )
        x = extended(x, axis, taps - 1, taps - 1, extension, value)
    result = _sums(x, y, "valid")
    if mode == "full":
        return result
    pairs = zip(shape_of(y), shape, strict=True)
    return slice_(result, index=tuple(((taps - 1 + late) // 2, extent, 1) for taps, extent in pairs))


@substitutes("scipy.signal.convolve2d")
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """Convolve two matrices.

    Raises:
        ArgumentError: the mode or the boundary is unknown.
        ShapeError: the shapes do not fit.

    Example:
        >>> convolve2d(np.eye(2), np.ones((2, 2)), boundary="wrap", mode="same")
        array([[2., 2.],
               [2., 2.]])
    """
    x, y = _pair("convolve2d", in1, in2)
    x, y = _in_order("convolve2d", x, y, mode, range(rank_of(x)))
    return _plane("convolve2d", x, y, mode, boundary, fillvalue)


@substitutes("scipy.signal.correlate2d")
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """Correlate two matrices; the second one is conjugated.

    Raises:
        ArgumentError: the mode or the boundary is unknown.
        ShapeError: the shapes do not fit.

    Example:
        >>> correlate2d(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 1.0]]), mode="valid")
        array([[3.],
               [7.]])
    """
    x, y = _pair("correlate2d", in1, in2)
    first, second = _in_order("correlate2d", x, y, mode, range(rank_of(x)))
    if first is x:
        return _plane("correlate2d", x, _reversed(y), mode, boundary, fillvalue, late=1)
    result = _plane("correlate2d", first, _reversed(second), mode, boundary, fillvalue)
    return result[::-1, ::-1]


# -- by Fourier transforms -------------------------------------------------------------------------------


def _by_transforms(operation: str, in1: Any, in2: Any, mode: Any, axes: Any) -> Any:
    x, y = _pair(operation, in1, in2)
    _check_mode(operation, mode)
    if not rank_of(x):
        return x * y
    if 0 in (*shape_of(x), *shape_of(y)):
        return np.zeros(0)
    named = range(rank_of(x)) if axes is None else integers(axes)
    if not named:
        raise ArgumentError(message(operation, "at least one axis is required", repr(axes)))
    chosen = [axis_index(operation, axis, rank_of(x)) for axis in named]
    chosen = [axis for axis in chosen if shape_of(x)[axis] != 1 and shape_of(y)[axis] != 1]
    others = [axis for axis in range(rank_of(x)) if axis not in chosen]
    if not all(
        shape_of(x)[axis] == shape_of(y)[axis] or 1 in (shape_of(x)[axis], shape_of(y)[axis])
        for axis in others
    ):
        raise ShapeError(message(operation, "the other axes must broadcast", show(x, y)))
    x, y = _in_order(operation, x, y, mode, chosen)
    own, taps = shape_of(x), shape_of(y)
    full = [
        n + k - 1 if axis in chosen else max(n, k) for axis, (n, k) in enumerate(zip(own, taps, strict=True))
    ]
    result = _product(floating(x), floating(y), chosen, full) if chosen else x * y
    if mode == "same":
        return _centred(result, own)
    if mode == "valid":
        inner = [own[axis] - taps[axis] + 1 if axis in chosen else full[axis] for axis in range(len(full))]
        return _centred(result, inner)
    return result


def _product(x: Any, y: Any, axes: list[int], full: list[int]) -> Any:
    """Return the full convolution along axes, as a product of transforms of a convenient length."""
    is_real = not is_complex(dtype_of(x)) and not is_complex(dtype_of(y))
    sizes = [next_fast_len(full[axis], is_real) for axis in axes]
    if is_real:
        spectrum = np.fft.rfftn(x, sizes, axes) * np.fft.rfftn(y, sizes, axes)
        result = np.fft.irfftn(spectrum, sizes, axes)
    else:
        result = np.fft.ifftn(np.fft.fftn(x, sizes, axes) * np.fft.fftn(y, sizes, axes), sizes, axes)
    return slice_(result, index=tuple((0, extent, 1) for extent in full))


@substitutes("scipy.signal.fftconvolve")
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolve two arrays by Fourier transforms.

    Raises:
        ArgumentError: the mode is unknown.
        ShapeError: the shapes do not fit.

    Example:
        >>> fftconvolve(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0])).round(6) + 0.0
        array([0., 1., 2., 3.])
    """
    return _by_transforms("fftconvolve", in1, in2, mode, axes)


@substitutes("scipy.signal.oaconvolve")
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolve two arrays by Fourier transforms of blocks, which are added where they overlap.

    Along one axis the longer array is cut into blocks of some eight times the length of the shorter one; along several
    the arrays are transformed as wholes.

    Raises:
        ArgumentError: the mode is unknown.
        ShapeError: the shapes do not fit.

    Example:
        >>> oaconvolve(np.arange(50.0), np.array([1.0, -1.0]), mode="valid").round(6)[:3]
        array([1., 1., 1.])
    """
    x, y = _pair("oaconvolve", in1, in2)
    if rank_of(x) == 1 and mode in _MODES and 0 not in (shape_of(x)[0], shape_of(y)[0]):
        x, y = floating(x), floating(y)
        first, second = _in_order("oaconvolve", x, y, mode, (0,))
        longer, shorter = (first, second) if shape_of(first)[0] >= shape_of(second)[0] else (second, first)
        if shape_of(longer)[0] > _BLOCKS * shape_of(shorter)[0] > _BLOCKS:
            full = _in_blocks(longer, shorter)
            lengths = {"full": shape_of(full)[0], "same": shape_of(x)[0]}
            lengths["valid"] = shape_of(longer)[0] - shape_of(shorter)[0] + 1
            return _centred(full, (lengths[mode],))
    return _by_transforms("oaconvolve", in1, in2, mode, axes)


_BLOCKS = 8


def _in_blocks(x: Any, y: Any) -> Any:
    """Return the full convolution of a long and a short vector."""
    count, taps = shape_of(x)[0], shape_of(y)[0]
    is_real = not is_complex(dtype_of(x)) and not is_complex(dtype_of(y))
    length = next_fast_len(_BLOCKS * taps, is_real)
    step = length - taps + 1
    blocks = -(-count // step)
    rows = np.reshape(np.pad(x, (0, blocks * step - count)), (blocks, step))
    parts = _product(rows, np.reshape(y, (1, taps)), [1], [blocks, length])
    total = contract(
        parts,
        extents=(blocks, length),
        accesses=((along(0), along(1)),),
        out=((0, ((0, step), (1, 1))),),
        shape=((blocks - 1) * step + length,),
    )
    return total[: count + taps - 1]
