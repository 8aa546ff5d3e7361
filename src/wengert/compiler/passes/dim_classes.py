"""Classes of dimensions: axes of buffers and dimensions of nests that run along one another across a program.

The batch of a convolution's input is the batch of its output, of the pool, of the dense layer and of the loss.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator

from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine import costs
from wengert.engine.machine.costs import operation_count
from wengert.engine.nest.expression import Buffer, loads
from wengert.engine.nest.index import Dim, dims_of, follows
from wengert.engine.nest.nest import Call, Host, Loop, Nest, Program, Sort, all_steps, reads, writes


class _Classes:
    """Axes and dimensions that run along one another, found by union."""

    def __init__(self) -> None:
        self._parent: dict[object, object] = {}

    def find(self, member: object) -> object:
        parents = self._parent
        parent = parents.setdefault(member, member)
        while parent is not (above := parents[parent]):
            parents[member] = above  # path halving keeps chains short
            member, parent = above, parents[above]
        return parent

    def join(self, first: object, second: object) -> None:
        self._parent[self.find(first)] = self.find(second)


def _followed(nest: Nest) -> Iterator[tuple[Buffer, int, Dim]]:
    """Yield the axes of buffers that follow a dimension, from their beginning or from block to block."""
    pairs = nest.accesses()
    own = nest.own_dims()
    for buffer, indices in pairs:
        for axis, index in enumerate(() if buffer.ordered else indices):
            dim = follows(index, own)
            if dim is not None and dim.extent <= buffer.shape[axis]:
                yield buffer, axis, dim


class LaneClass(NamedTuple):
    """The axes and dimensions that run along the lanes."""

    classes: _Classes
    key: object

    def has(self, member: object) -> bool:
        """Return whether a dimension, or a buffer and an axis, belongs to the class."""
        return self.classes.find(member) is self.key


def lane_class(program: Program) -> LaneClass | None:
    """Return the class of axes that is a map dimension of the most operation_count."""
    loops = (step for step in all_steps(program.steps) if isinstance(step, Loop) and step.shared)
    blocks = {step for loop in loops for step in all_steps(loop.steps)}
    return next(iter(map_classes(program, lambda nest: nest.has_reductions and nest not in blocks)), None)


def map_classes(program: Program, in_rows: Callable[[Nest], bool] = lambda nest: False) -> list[LaneClass]:
    """Return the classes of axes that could be lanes, that which is a map dimension of the most work first.

    ``in_rows`` tells whether a nest goes along the rows of arrays, if these are long: reductions, but not of blocks of
    a batch, which have few rows.
    """
    nests = [step for step in all_steps(program.steps) if isinstance(step, Nest)]
    classes = _Classes()
    for nest in nests:
        for buffer, axis, dim in _followed(nest):
            classes.join((buffer, axis), dim)
    scores: dict[object, int] = defaultdict(int)
    extents: dict[object, int] = {}
    for nest in nests:
        amount = operation_count(nest)
        for dim in nest.dims:
            key = classes.find(dim)
            scores[key] += amount
            extents[key] = dim.extent
    # Ordinary arrays lie in the order they come in: where they have a class innermost, it needs no change of order.
    fixed = ordinary_buffers(program)
    for buffer in fixed:
        if buffer.shape:
            key = classes.find((buffer, len(buffer.shape) - 1))
            scores[key] += scores[key] // costs.COSTS.innermost_bonus_divisor
    prices: dict[object, int] = defaultdict(int)
    for nest in nests:
        for key, price in _prices(nest, fixed, classes, in_rows(nest)):
            prices[key] += price
    # Where little is done with elements, to fetch them one by one would cost more than the operation_count.
    wide = [
        key
        for key, extent in extents.items()
        if extent >= costs.COSTS.lane_extent and prices[key] < scores[key]
    ]
    return [LaneClass(classes, key) for key in sorted(wide, key=lambda key: -scores[key])]


def _prices(
    nest: Nest, fixed: Collection[Buffer], classes: _Classes, in_rows: bool
) -> Iterator[tuple[object, int]]:
    """Yield the cost of each class as the lanes, where ordinary arrays have other dimensions, or several, innermost.

    Where one dimension is innermost, blocks are read along it and transposed in registers, but not where a nest goes
    along long rows.
    """
    read, written = costs.COSTS.gather_work, costs.COSTS.scatter_work
    pairs = [(store.buffer, store.indices, written) for store in nest.stores]
    pairs += [(load.buffer, load.indices, read) for store in nest.stores for load in loads(store.value)]
    for buffer, indices, price in pairs:
        if buffer not in fixed or not indices or not indices[-1].terms:
            continue
        in_line = len(indices[-1].terms) == 1
        along = {classes.find(term) for term, _ in indices[-1].terms} if in_line else set[object]()
        elements = min(math.prod(dim.extent for dim in dims_of(indices)), buffer.size)
        for axis, index in enumerate(indices[:-1]):
            is_long = math.prod(buffer.shape[axis + 1 :]) >= costs.COSTS.row_extent
            in_blocks = in_line and not (in_rows and is_long)
            transposing = 0 if nest.has_reductions else costs.COSTS.transposed_work
            for key in {classes.find(dim) for dim in index.dims() if dim in nest.dims} - along:
                yield key, (transposing if in_blocks else price) * elements


def ordinary_buffers(program: Program) -> set[Buffer]:
    """Return the buffers that are ordinary arrays: the user's, those of NumPy's and LAPACK's calls, and sorted ones."""
    fixed = program.outside()
    hosts = (step for step in all_steps(program.steps) if isinstance(step, (Host, Sort, Call)))
    return fixed | {buffer for step in hosts for buffer in (*reads(step), *writes(step))}
