"""Pooling: the sum or the largest element of each window, and the transpose of the sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import FLOAT64
from wengert.engine.core.shapes import size
from wengert.engine.kernels.affine import dims_of
from wengert.exporting.onnx.problem import Problem
from wengert.exporting.onnx.values import Value
from wengert.exporting.onnx.windows import (
    DTYPES,
    MOST_AXES,
    Read,
    Window,
    arranged,
    axes_of,
    dims_of_axis,
    in_place,
    is_plain,
    no_window,
    read,
    spread,
    windows_of,
)


def summed(x: Value, problem: Problem) -> Value | None:
    """Return a contraction of one operand that is a sum over windows, or the transpose of one; else None."""
    if x.dtype not in DTYPES:
        return None
    extents, out, shape = problem.extents, problem.out, problem.shape
    read_dims, made = dims_of(problem.accesses[0]), dims_of(out)
    image = read(x, problem.accesses[0], extents, windows_of(made, read_dims - made))
    if image is None or not is_plain(out, shape, extents):
        return None
    windows = [axis for axis in image.axes if isinstance(axis, Window)]
    if not windows:
        return _spread_evenly(image, problem)
    result = axes_of(out, shape, extents, no_window)
    positions = [window.position for window in windows]
    lead = [axis for axis in image.axes if not isinstance(axis, Window)]
    if result is None or made != {*lead, *positions} or len(windows) > MOST_AXES:
        return None
    images = image.ordered(lead[:-1], lead[-1:], *([window] for window in windows))
    sizes = [extents[window.tap] for window in windows]
    moved = (*images.shape[:2], *(extents[dim] for dim in positions))
    (y,) = x.writer.nodes(
        "AveragePool", [images], [(x.dtype, moved)], count_include_pad=1, **_windows(image, windows, problem)
    )
    return arranged(y * size(tuple(sizes)), [*lead, *positions], result, extents, shape)


def _spread_evenly(image: Read, problem: Problem) -> Value | None:
    """Return the transpose of a sum over windows: each element is added to all elements of its window."""
    extents, out, shape = problem.extents, problem.out, problem.shape
    image_dims = {dim for axis in image.axes for dim in dims_of_axis(axis)}
    result = axes_of(out, shape, extents, windows_of(image_dims, dims_of(out) - image_dims))
    if result is None:
        return None
    windows = [axis for axes in result for axis in axes if isinstance(axis, Window)]
    positions = [window.position for window in windows]
    lead = [axis for axis in image.axes if not isinstance(axis, Window) and axis not in positions]
    whole = [axis for axes in result for axis in axes if not isinstance(axis, Window)]
    if set(whole) != set(lead) or not 1 <= len(windows) <= MOST_AXES:
        return None
    x = image.ordered(lead, [], *([position] for position in positions))
    ones = x.writer.constant(np.ones((1, 1, *(extents[window.tap] for window in windows))), x.dtype)
    return in_place(spread(x, ones, windows, 1, extents), lead, windows, result, problem)


def _windows(image: Read, windows: Sequence[Window], problem: Problem) -> dict[str, Any]:
    """Return the attributes of pooling over windows."""
    return {
        "kernel_shape": [problem.extents[window.tap] for window in windows],
        "strides": [window.step for window in windows],
        "dilations": [window.gap for window in windows],
        "pads": [border.get(w, 0) for border in (image.before, image.after) for w in windows],
    }


def largest(x: Value, axes: Sequence[int]) -> Value | None:
    """Return the largest elements over axes as a pooling, if these are the taps of windows or of tiles; else None."""
    if x.dtype not in (*DTYPES, FLOAT64):
        return None
    unfolded = x.writer.unfolded.get(x.name)
    return _largest_of_tiles(x, axes) if unfolded is None else _largest_of_windows(*unfolded, axes)


def _largest_of_tiles(x: Value, axes: Sequence[int]) -> Value | None:
    """Return the largest elements of tiles, into which a reshape has split images."""
    images = x.writer.reshaped.get(x.name)
    if images is None or not 3 <= images.ndim <= 2 + MOST_AXES:
        return None
    rank = images.ndim - 2
    is_tiled = tuple(axes) == tuple(range(3, 3 + 2 * rank, 2)) and x.ndim == 2 + 2 * rank
    if not is_tiled or x.shape[:2] != images.shape[:2]:
        return None
    counts, sizes = x.shape[2::2], x.shape[3::2]
    if images.shape[2:] != tuple(map(math.prod, zip(counts, sizes, strict=True))):
        return None
    shape = (*images.shape[:2], *counts)
    return x.writer.nodes("MaxPool", [images], [(x.dtype, shape)], kernel_shape=sizes, strides=sizes)[0]


def _largest_of_windows(x: Value, problem: Problem, axes: Sequence[int]) -> Value | None:
    """Return the largest elements of windows, which a contraction has read out."""
    extents, out, shape = problem.extents, problem.out, problem.shape
    result = axes_of(out, shape, extents, no_window)
    if result is None or not is_plain(out, shape, extents):
        return None
    taps = {dim for axis in axes for dim in result[axis] if isinstance(dim, int)}
    image = read(x, problem.accesses[0], extents, windows_of(dims_of(out) - taps, taps), -math.inf)
    if image is None:
        return None
    windows = [axis for axis in image.axes if isinstance(axis, Window)]
    lead = [axis for axis in image.axes if not isinstance(axis, Window)]
    if not 1 <= len(windows) <= MOST_AXES or taps != {window.tap for window in windows}:
        return None
    positions = [window.position for window in windows]
    images = image.ordered(lead[:-1], lead[-1:], *([window] for window in windows))
    moved = (*images.shape[:2], *(extents[dim] for dim in positions))
    attributes = _windows(image, windows, problem)
    (y,) = x.writer.nodes("MaxPool", [images], [(x.dtype, moved)], **attributes)
    splits = [split for axis, split in enumerate(result) if axis not in axes]
    return arranged(
        y, [*lead, *positions], splits, extents, tuple(n for axis, n in enumerate(shape) if axis not in axes)
    )
