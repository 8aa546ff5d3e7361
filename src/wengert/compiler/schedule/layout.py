"""Layout: the order of the axes of every buffer, and the lanes, the axis that vector registers run along.

Dimensions are identified across nests: the batch of a convolution's input is the batch of its output, of the pool, of
the dense layer and of the loss. The class of axes that is a map dimension of the most work becomes the innermost axis
of every intermediate buffer that has it, so that a batch of examples runs like one example on vector registers. Where
there is no such class, buffers are in row-major order.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.compiler.passes.dim_classes import lane_class, ordinary_buffers
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine import costs
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Buffer
from wengert.engine.nest.index import Index
from wengert.engine.nest.nest import Program, reads, writes


class Layout(NamedTuple):
    """The layout of a buffer: the place of each element.

    ``lanes`` is the axis that lies innermost, filled up with elements that no one reads to whole vectors; None for the
    row-major order of an ordinary array. With ``panel`` that axis is cut into pieces of that many elements, one piece
    after the other, each with all the other axes.
    """

    strides: tuple[int, ...]
    """In elements."""
    size: int
    """Elements, those filled up with included."""
    lanes: int | None = None
    panel: int = 0

    @property
    def rows(self) -> int:
        """The distance of neighbouring panels, for each element of a panel."""
        return self.size // -(-self.length // self.panel) // self.panel

    length: int = 0
    """The extent of the axis that is cut into panels."""
    across: bool = False
    """Whether a product reads the elements of a panel one by one, each for all lanes."""


def row_major(shape: Sequence[int]) -> Layout:
    """Return the layout of an ordinary array."""
    strides: list[int] = []
    count = 1
    for extent in reversed(shape):
        strides.append(count)
        count *= extent
    return Layout(tuple(reversed(strides)), count)


def with_lanes(shape: Sequence[int], axis: int, width: int) -> Layout:
    """Return the layout with one axis innermost, filled up to whole vectors.

    Example:
        >>> layout = with_lanes((100, 6, 5), 0, 16)
        >>> layout.strides, layout.size
        ((1, 560, 112), 3360)
    """
    strides, count = _around(shape, axis, -(-shape[axis] // width) * width)
    return Layout(strides, count, axis)


def with_panels(shape: Sequence[int], axis: int, panel: int, *, across: bool = False) -> Layout:
    """Return the layout with one axis in panels: a tile of a product reads one contiguous piece.

    The elements of a panel are read one by one, if ``across``.

    Example:
        >>> with_panels((784, 300), 1, 64).size == 784 * 320
        True
    """
    strides, count = _around(shape, axis, panel)
    pieces = -(-shape[axis] // panel)
    return Layout(strides, count * pieces, axis, panel, shape[axis], across)


def _around(shape: Sequence[int], innermost: int, extent: int) -> tuple[tuple[int, ...], int]:
    """Return the strides around an innermost axis of some extent, and the number of all elements."""
    strides, count = [1] * len(shape), extent
    for axis in reversed(range(len(shape))):
        if axis != innermost:
            strides[axis] = count
            count *= shape[axis]
    return tuple(strides), count


def choose_layouts(program: Program, target: Target) -> dict[Buffer, Layout]:
    """Return a layout for every buffer; those of arguments, results and constants are row-major."""
    lanes, fixed = lane_class(program), ordinary_buffers(program)
    layouts: dict[Buffer, Layout] = {}
    everything = {buffer for step in program.steps for buffer in (*reads(step), *writes(step))}
    for buffer in {*everything, *fixed}:
        axes = [axis for axis in range(len(buffer.shape)) if lanes is not None and lanes.has((buffer, axis))]
        width = target.lanes(4)
        if buffer in fixed or buffer.ordered:
            layouts[buffer] = row_major(buffer.shape)
        elif len(axes) == 1 and buffer.shape[axes[0]] > 1:
            layouts[buffer] = with_lanes(buffer.shape, axes[0], width)
        elif len(buffer.shape) > 1 and buffer.shape[-1] >= costs.COSTS.padded_row_vectors * width:
            layouts[buffer] = with_lanes(
                buffer.shape, len(buffer.shape) - 1, width
            )  # rows begin where lines do
        else:
            layouts[buffer] = row_major(buffer.shape)
    return layouts


def linear(layout: Layout, indices: Sequence[Index]) -> Index:
    """Return the position of an element in memory, as an index."""
    position = Index(0)
    for index, stride in zip(indices, layout.strides, strict=True):
        position = position + index * stride
    return position
