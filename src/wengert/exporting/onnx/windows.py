"""Windows of arrays: axes whose index is the sum of two dimensions, ``step * position + gap * tap``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from wengert.engine.core.dtypes import FLOAT16, FLOAT32
from wengert.engine.core.shapes import Shape, size
from wengert.engine.kernels.affine import Access
from wengert.exporting.onnx.problem import Problem
from wengert.exporting.onnx.values import Value

#: onnxruntime's convolutions know these dtypes, and this number of spatial axes.
DTYPES, MOST_AXES = (FLOAT16, FLOAT32), 3
Terms: TypeAlias = tuple[tuple[int, int], ...]


class Window(NamedTuple):
    """An axis whose index is ``step * position + gap * tap``."""

    position: int
    step: int
    tap: int
    gap: int

    def span(self, extents: Shape) -> int:
        """Return the extent of all windows together."""
        return self.step * (extents[self.position] - 1) + self.gap * (extents[self.tap] - 1) + 1


#: An axis: a dimension, or a window.
Axis: TypeAlias = int | Window
#: ``terms -> window``, or None for an axis without a window.
Windows: TypeAlias = Callable[[Terms], Window | None]


def windows_of(position: set[int], tap: set[int]) -> Windows:
    """Return the test for windows whose positions and taps are in sets of dimensions."""

    def test(terms: Terms) -> Window | None:
        if len(terms) != 2 or min(step for _, step in terms) < 1:
            return None
        for (first, step), (second, gap) in (terms, terms[::-1]):
            if first in position and second in tap:
                return Window(first, step, second, gap)
        return None

    return test


def no_window(terms: Terms) -> None:
    """Return an axis without a window."""
    return None


def axes_of(access: Access, shape: Shape, extents: Shape, windows: Windows) -> list[list[Axis]] | None:
    """Return the axes that each axis of an array is split into: dimensions in row-major order, or a window.

    None where an index is neither.
    """
    parts: list[list[Axis]] = []
    for offset, terms in access:
        window = windows(terms)
        ordered = sorted(terms, key=lambda term: -term[1])
        steps = [size(tuple(extents[dim] for dim, _ in ordered[place + 1 :])) for place in range(len(terms))]
        if window is not None:
            parts.append([window])
        elif len(terms) == 1 or [step for _, step in ordered] == steps:
            parts.append([dim for dim, _ in ordered])
        else:
            return None
        if not terms and (offset or shape[len(parts) - 1] != 1):
            return None
    used = [dim for axes in parts for axis in axes for dim in dims_of_axis(axis)]
    return parts if len(used) == len(set(used)) else None


def dims_of_axis(axis: Axis) -> tuple[int, ...]:
    """Return the dimensions of an axis."""
    return (axis.position, axis.tap) if isinstance(axis, Window) else (axis,)


class Read(NamedTuple):
    """An operand with an axis for each dimension or window, and the border to put around each axis."""

    value: Value
    axes: list[Axis]
    before: dict[Axis, int]
    after: dict[Axis, int]

    def ordered(self, *groups: Sequence[Axis]) -> Value:
        """Return the value with its axes in an order, those of each group as one axis."""
        order = [self.axes.index(axis) for group in groups for axis in group]
        value = self.value.transpose(order)
        sizes = iter(value.shape)
        return value.reshape([size(tuple(next(sizes) for _ in group)) for group in groups])


def read(x: Value, access: Access, extents: Shape, windows: Windows, fill: float = 0.0) -> Read | None:
    """Return an operand by axes; numbers around it that the program wrote for windows are left to the operator."""
    split = axes_of(access, x.shape, extents, windows)
    if split is None:
        return None
    x, before, after = _unpadded(x, access, split, extents, fill)
    starts, counts, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
    for place, (axes, (offset, terms)) in enumerate(zip(split, access, strict=True)):
        if len(axes) == 1 and isinstance(axes[0], Window):
            if axes[0] not in before:
                starts[place], counts[place] = offset, axes[0].span(extents)
        elif terms:
            starts[place], counts[place] = offset, size(tuple(extents[dim] for dim, _ in terms))
            steps[place] = terms[0][1] if len(terms) == 1 else 1
    x = x.taken(starts, counts, steps)
    shape = [
        x.shape[place] if isinstance(axis, Window) else extents[axis]
        for place, axes in enumerate(split)
        for axis in axes
    ]
    return Read(x.reshape(shape), [axis for axes in split for axis in axes], before, after)


def _unpadded(
    x: Value, access: Access, split: list[list[Axis]], extents: Shape, fill: float
) -> tuple[Value, dict[Axis, int], dict[Axis, int]]:
    """Return an image without its border of a number, and the border along each window."""
    border = x.writer.padded.get(x.name)
    if border is None or border.fill != fill:
        return x, {}, {}
    before, after = dict[Axis, int](), dict[Axis, int]()
    for place, axes in enumerate(split):
        around = border.before[place], border.after[place]
        if len(axes) == 1 and isinstance(window := axes[0], Window):
            # The operator makes as many windows as fit.
            if access[place][0] or not 0 <= x.shape[place] - window.span(extents) < window.step:
                return x, {}, {}
            before[window], after[window] = around
        elif any(around):
            return x, {}, {}
    return border.value, before, after


def is_plain(out: Access, shape: Shape, extents: Shape) -> bool:
    """Return whether each axis of a result is a dimension, all dimensions that it is split into, or a window."""
    return all(
        len(terms) == 2
        or (
            (offset == 0 and size(tuple(extents[dim] for dim, _ in terms)) == extent)
            and (len(terms) != 1 or terms[0][1] == 1)
        )
        for (offset, terms), extent in zip(out, shape, strict=True)
    )


def arranged(y: Value, dims: Sequence[int], result: list[list[Axis]], extents: Shape, shape: Shape) -> Value:
    """Return a result whose axes are dimensions in the order and shape of the output."""
    order = [dims.index(axis) for axes in result for axis in axes if not isinstance(axis, Window)]
    return y.reshape([extents[dim] for dim in dims]).transpose(order).reshape(shape)


def spread(x: Value, w: Value, windows: Sequence[Window], groups: int, extents: Shape) -> Value:
    """Return a transposed convolution."""
    spans = tuple(window.span(extents) for window in windows)
    attributes = {
        "kernel_shape": w.shape[2:],
        "strides": [window.step for window in windows],
        "dilations": [window.gap for window in windows],
        "group": groups,
    }
    shape = (x.shape[0], w.shape[1] * groups, *spans)
    return x.writer.nodes("ConvTranspose", [x, w], [(x.dtype, shape)], **attributes)[0]


def in_place(
    y: Value, lead: Sequence[int], windows: Sequence[Window], result: list[list[Axis]], problem: Problem
) -> Value:
    """Return spread windows in the order of the output, with zeros where no window reaches."""
    extents, shape = problem.extents, problem.shape
    y = y.reshape([*(extents[dim] for dim in lead), *y.shape[2:]])
    axes: list[Axis] = [*lead, *windows]
    y = y.transpose([axes.index(axis) for split in result for axis in split])
    before, after = list[int](), list[int]()
    merged = list[int]()
    for split, (offset, _), extent in zip(result, problem.out, shape, strict=True):
        window = split[0] if len(split) == 1 else None
        is_window = isinstance(window, Window)
        merged.append(window.span(extents) if is_window else extent)
        before.append(offset if is_window else 0)
        after.append(extent - merged[-1] - before[-1])
    y = y.reshape(merged)
    if not any([*before, *after]):
        return y
    numbers = y.writer.numbers([*before, *after])
    return y.writer.node("Pad", [y], shape, others=[numbers], mode="constant")
