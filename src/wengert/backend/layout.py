"""Layout: the order of the axes of every buffer, and the lanes, the axis that vector registers run along.

Dimensions are identified across nests: the batch of a convolution's input is the batch of its output, of the pool, of
the dense layer and of the loss. The class of axes that is a map dimension of the most work becomes the innermost axis
of every intermediate buffer that has it, so that a batch of examples runs like one example on vector registers. Where
there is no such class, buffers are in row-major order.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from wengert.backend.target import Target
from wengert.nest.expression import Apply, Buffer, Load, Reduce, loads, walk
from wengert.nest.index import Dim, Index
from wengert.nest.nest import Host, Loop, Nest, Program, all_steps, reads, writes

_FEW = 8
"""Fewer elements than this are no lanes: they would leave most of a vector register empty."""
_SMALL = 50_000
"""Operations in a nest that one thread does sooner than several."""
_LOAD, _STORE = 16, 64
"""What it costs, in operations, to read or write elements of an ordinary array one by one."""
_LONG = 256
"""Elements of a row of an ordinary array from which on a reduction goes along it."""
_ROW = 3
"""Vectors of a row from which on it is filled up to whole ones: a third more memory at most."""


class Layout(NamedTuple):
    """Where the elements of a buffer lie.

    ``lanes`` is the axis that lies innermost, filled up with elements that no one reads to whole vectors; None for the
    row-major order of an ordinary array. With ``panel`` that axis is cut into pieces of so many elements, one piece
    behind the other, each with all the other axes.
    """

    strides: tuple[int, ...]
    """In elements."""
    size: int
    """Elements, those filled up with included."""
    lanes: int | None = None
    panel: int = 0

    @property
    def rows(self) -> int:
        """How far apart neighbouring panels lie, for each element of a panel."""
        return self.size // -(-self.length // self.panel) // self.panel

    length: int = 0
    """The extent of the axis that is cut into panels."""


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
    padded = -(-shape[axis] // width) * width
    strides = [1] * len(shape)
    count = padded
    for other in reversed(range(len(shape))):
        if other != axis:
            strides[other] = count
            count *= shape[other]
    return Layout(tuple(strides), count, axis)


def with_panels(shape: Sequence[int], axis: int, panel: int) -> Layout:
    """Return the layout with one axis in panels: what a tile of a product reads lies in one piece.

    Example:
        >>> with_panels((784, 300), 1, 64).size == 784 * 320
        True
    """
    strides = [1] * len(shape)
    count = panel
    for other in reversed(range(len(shape))):
        if other != axis:
            strides[other] = count
            count *= shape[other]
    pieces = -(-shape[axis] // panel)
    return Layout(tuple(strides), count * pieces, axis, panel, shape[axis])


def work(nest: Nest) -> int:
    """Return about how many operations a nest carries out; what several stores hold is carried out once."""
    total = 0
    seen: set[int] = set()
    for store in nest.stores:
        nodes = list(walk(store.value, seen=seen))
        for node in nodes:
            if isinstance(node, Reduce):
                inner = math.prod(dim.extent for dim in node.dims)
                total += inner * max(1, sum(isinstance(one, Apply) for one in walk(node.body)))
        each = sum(isinstance(one, (Apply, Load)) for one in nodes)
        total += each * math.prod(dim.extent for dim in store.along)
    return total * math.prod(dim.extent for dim in nest.dims)


def is_large(nest: Nest) -> bool:
    """Tell whether several threads are sooner through a nest than one."""
    return work(nest) > _SMALL


class _Classes:
    """Axes and dimensions that run along one another, found by union."""

    def __init__(self) -> None:
        self._parent: dict[object, object] = {}

    def find(self, member: object) -> object:
        parent = self._parent.setdefault(member, member)
        while parent is not self._parent[parent]:
            parent = self._parent[parent]
        self._parent[member] = parent
        return parent

    def join(self, one: object, other: object) -> None:
        self._parent[self.find(one)] = self.find(other)


def _followed(nest: Nest) -> Iterator[tuple[Buffer, int, Dim]]:
    """Yield the axes of buffers that follow a dimension, from their beginning or from block to block."""
    pairs = [(store.buffer, store.indices) for store in nest.stores]
    pairs += [(load.buffer, load.indices) for load in nest.loads()]
    own = nest.own_dims()
    for buffer, indices in pairs:
        for axis, index in enumerate(indices):
            dim = follows(index, own)
            if dim is not None and dim.extent <= buffer.shape[axis]:
                yield buffer, axis, dim


def follows(index: Index, own: Collection[Dim] | None = None) -> Dim | None:
    """Return the dimension that an index is, or None; counters of loops around the nest, not its own, may be added."""
    terms = [(t, c) for t, c in index.terms if own is None or t in own or not isinstance(t, Dim)]
    if index.offset == 0 and len(terms) == 1:
        term, coefficient = terms[0]
        if coefficient == 1 and isinstance(term, Dim):
            return term
    return None


class LaneClass(NamedTuple):
    """The axes and dimensions that run along the lanes."""

    classes: _Classes
    key: object

    def has(self, member: object) -> bool:
        """Tell whether a dimension, or a buffer and an axis, belongs to the class."""
        return self.classes.find(member) is self.key


def lane_class(program: Program) -> LaneClass | None:
    """Return the class of axes that is a map dimension of the most work."""
    loops = (step for step in all_steps(program.steps) if isinstance(step, Loop) and step.shared)
    blocks = {step for loop in loops for step in all_steps(loop.steps)}
    return next(iter(map_classes(program, lambda nest: nest.has_reductions and nest not in blocks)), None)


def map_classes(program: Program, in_rows: Callable[[Nest], bool] = lambda nest: False) -> list[LaneClass]:
    """Return the classes of axes that could be lanes, that which is a map dimension of the most work first.

    Args:
        program: the nests.
        in_rows: tells which nests go along the rows of arrays, if these are long: reductions, but not of blocks of a
            batch, which have few rows.
    """
    nests = [step for step in all_steps(program.steps) if isinstance(step, Nest)]
    classes = _Classes()
    for nest in nests:
        for buffer, axis, dim in _followed(nest):
            classes.join((buffer, axis), dim)
    scores: dict[object, int] = defaultdict(int)
    extents: dict[object, int] = {}
    for nest in nests:
        amount = work(nest)
        for dim in nest.dims:
            key = classes.find(dim)
            scores[key] += amount
            extents[key] = dim.extent
    # Ordinary arrays lie in the order they come in: where they have a class innermost, it needs no change of order.
    fixed = _fixed(program)
    for buffer in fixed:
        if buffer.shape:
            key = classes.find((buffer, len(buffer.shape) - 1))
            scores[key] += scores[key] // 50
    prices: dict[object, int] = defaultdict(int)
    for nest in nests:
        for dim, price in _prices(nest, fixed, in_rows(nest)):
            prices[classes.find(dim)] += price
    # Where little is done with elements, to fetch them one by one would cost more than the work.
    wide = [key for key, extent in extents.items() if extent >= _FEW and prices[key] < scores[key]]
    return [LaneClass(classes, key) for key in sorted(wide, key=lambda key: -scores[key])]


def _prices(nest: Nest, fixed: Collection[Buffer], in_rows: bool) -> Iterator[tuple[Dim, int]]:
    """Yield what a dimension costs as the lanes where ordinary arrays have others innermost, and several there.

    Where one dimension is innermost, blocks are read along it and transposed in registers, but not where a nest goes
    along long rows.
    """
    pairs = [(store.buffer, store.indices, _STORE) for store in nest.stores]
    pairs += [(load.buffer, load.indices, _LOAD) for store in nest.stores for load in loads(store.value)]
    for buffer, indices, price in pairs:
        if buffer not in fixed or not indices:
            continue
        if len(indices[-1].terms) >= (1 if in_rows and buffer.shape[-1] >= _LONG else 2):
            dims = {dim for index in indices for dim in index.dims()}
            outer = {dim for index in indices[:-1] for dim in index.dims()}
            elements = min(math.prod(dim.extent for dim in dims), buffer.size)
            yield from ((dim, price * elements) for dim in nest.dims if dim in outer)


def _fixed(program: Program) -> set[Buffer]:
    """Return the buffers that are ordinary arrays: the user's, and those that NumPy is called with."""
    fixed = program.outside()
    hosts = (step for step in all_steps(program.steps) if isinstance(step, Host))
    return fixed | {buffer for step in hosts for buffer in (*reads(step), *writes(step))}


def choose_layouts(program: Program, target: Target) -> dict[Buffer, Layout]:
    """Return a layout for every buffer; those of arguments, results and constants are row-major."""
    lanes, fixed = lane_class(program), _fixed(program)
    layouts: dict[Buffer, Layout] = {}
    everything = {buffer for step in program.steps for buffer in (*reads(step), *writes(step))}
    for buffer in {*everything, *fixed}:
        axes = [axis for axis in range(len(buffer.shape)) if lanes is not None and lanes.has((buffer, axis))]
        width = target.lanes(4)
        if buffer in fixed:
            layouts[buffer] = row_major(buffer.shape)
        elif len(axes) == 1 and buffer.shape[axes[0]] > 1:
            layouts[buffer] = with_lanes(buffer.shape, axes[0], width)
        elif len(buffer.shape) > 1 and buffer.shape[-1] >= _ROW * width:
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
