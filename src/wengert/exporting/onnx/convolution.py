"""Contractions that are convolutions or transposed convolutions, as those operators.

The dimensions that belong to no window fall into classes by where they occur:

===========  ==========================================
batch        the image and the result
group        the image, the filter and the result
channel      the image and the filter
filter       the filter and the result
===========  ==========================================

In a convolution the image has windows, positions belong to the image and the result, and taps to the image and the
filter. In a transposed one the result has the windows. So the derivatives of convolutions are convolutions again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from wengert.engine.core.shapes import size
from wengert.engine.kernels.affine import Access, dims_of
from wengert.exporting.onnx.problem import Problem
from wengert.exporting.onnx.values import Value
from wengert.exporting.onnx.windows import (
    DTYPES,
    MOST_AXES,
    Axis,
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


def convolved(operands: Sequence[Value], problem: Problem) -> Value | None:
    """Return a contraction as a convolution, or a transposed one; None if it is neither."""
    if operands[0].dtype not in DTYPES or len(operands) != 2:
        return None
    for image, taps in ((0, 1), (1, 0)):
        pair = _Pair(
            operands[image], operands[taps], problem.accesses[image], problem.accesses[taps], problem
        )
        result = pair.convolution() or pair.transposed()
        if result is not None:
            return result
    return None


class _Pair(NamedTuple):
    """Two operands, in the roles of image and filter."""

    image: Value
    taps: Value
    of_image: Access
    of_taps: Access
    problem: Problem

    def convolution(self) -> Value | None:
        """Return the contraction as a convolution; None where it has another form."""
        extents, out, shape = self.problem.extents, self.problem.out, self.problem.shape
        filtered, written = dims_of(self.of_taps), dims_of(out)
        image = read(self.image, self.of_image, extents, windows_of(written - filtered, filtered - written))
        taps = read(self.taps, self.of_taps, extents, no_window)
        result = axes_of(out, shape, extents, no_window)
        if image is None or taps is None or result is None or not is_plain(out, shape, extents):
            return None
        windows = [axis for axis in image.axes if isinstance(axis, Window)]
        classes = _classes(image.axes, taps.axes, [axis for axes in result for axis in axes], windows)
        if classes is None or not 1 <= len(windows) <= MOST_AXES:
            return None
        batch, groups, channels, filters = classes
        positions, sizes = [w.position for w in windows], [w.tap for w in windows]
        x = image.ordered(batch, [*groups, *channels], *([window] for window in windows))
        w = taps.ordered([*groups, *filters], channels, *([tap] for tap in sizes))
        moved = [x.shape[0], w.shape[0], *(extents[dim] for dim in positions)]
        attributes = {
            "kernel_shape": w.shape[2:],
            "strides": [window.step for window in windows],
            "dilations": [window.gap for window in windows],
            "group": size(tuple(extents[dim] for dim in groups)),
            "pads": [border.get(w, 0) for border in (image.before, image.after) for w in windows],
        }
        (y,) = x.writer.nodes("Conv", [x, w], [(x.dtype, tuple(moved))], **attributes)
        return arranged(y, [*batch, *groups, *filters, *positions], result, extents, shape)

    def transposed(self) -> Value | None:
        """Return the contraction as a transposed convolution; None where it has another form."""
        extents, out, shape = self.problem.extents, self.problem.out, self.problem.shape
        imaged, filtered = dims_of(self.of_image), dims_of(self.of_taps)
        image = read(self.image, self.of_image, extents, no_window)
        taps = read(self.taps, self.of_taps, extents, no_window)
        result = axes_of(out, shape, extents, windows_of(imaged - filtered, filtered - imaged))
        if image is None or taps is None or result is None or not is_plain(out, shape, extents):
            return None
        every = [axis for axes in result for axis in axes]
        windows = [axis for axis in every if isinstance(axis, Window)]
        classes = _classes(image.axes, taps.axes, every, windows)
        if classes is None or not 1 <= len(windows) <= MOST_AXES:
            return None
        batch, groups, channels, filters = classes
        x = image.ordered(batch, [*groups, *channels], *([window.position] for window in windows))
        w = taps.ordered([*groups, *channels], filters, *([window.tap] for window in windows))
        y = spread(x, w, windows, size(tuple(extents[dim] for dim in groups)), extents)
        return in_place(y, [*batch, *groups, *filters], windows, result, self.problem)


_Classes: TypeAlias = tuple[list[int], list[int], list[int], list[int]]


def _classes(
    image: Sequence[Axis], taps: Sequence[Axis], result: Sequence[Axis], windows: Sequence[Window]
) -> _Classes | None:
    """Return the dimensions of batch, groups, channels and filters; None where a dimension is in no class."""
    inside = {dim for window in windows for dim in dims_of_axis(window)}
    of_image, of_taps, of_result = (
        [
            dim
            for axis in axes
            if not isinstance(axis, Window)
            for dim in dims_of_axis(axis)
            if dim not in inside
        ]
        for axes in (image, taps, result)
    )
    counts = {dim: [dim in axes for axes in (of_image, of_taps, of_result)] for dim in (*of_image, *of_taps)}
    if any(sum(places) < 2 for places in counts.values()) or not set(of_result) <= counts.keys():
        return None

    def those(order: Sequence[int], *places: bool) -> list[int]:
        return [dim for dim in order if counts[dim] == list(places)]

    return (
        those(of_image, True, False, True),
        those(of_image, True, True, True),
        those(of_image, True, True, False),
        those(of_result, False, True, True),
    )
