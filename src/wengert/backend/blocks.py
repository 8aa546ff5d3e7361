"""Blocks of the batch: a chain of nests run for a few examples at a time, so that what lies between stays in cache.

Forward and backward through a network are, example by example, independent of the other examples; only the sums over
the batch, the gradients of the parameters, are not. A run of nests whose intermediate arrays outgrow the cache becomes
a loop over blocks of the batch: the arrays shrink to one block, and the sums are collected in accumulators that the
end of the run takes up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wengert.backend.layout import LaneClass, lane_class
from wengert.backend.target import Target
from wengert.nest.expression import (
    Buffer,
    Const,
    Expression,
    Guard,
    Load,
    Reduce,
    Rewriter,
    loads,
)
from wengert.nest.index import Dim, Index
from wengert.nest.nest import Loop, Nest, Program, Step, Store, reads, writes
from wengert.nest.rewriting import can_pass

_LONG = 16
"""Terms of a sum beside the batch from which on it pays to collect it block by block."""
_NESTS = 4
"""Fewer nests in a row are left as they are."""


def block_batches(program: Program, target: Target) -> Program:
    """Return the program with long runs of nests over a large batch in loops over blocks of it."""
    found = lane_class(program)
    if found is None:
        return program
    fixed = {*program.inputs, *program.outputs, *(buffer for buffer, _ in program.constants)}
    return replace(program, steps=_blocked(program.steps, found, fixed, target))


def _blocked(steps: Sequence[Step], lanes: LaneClass, fixed: set[Buffer], target: Target) -> tuple[Step, ...]:
    done: list[Step] = []
    run: list[Nest] = []

    def close(following: Sequence[Step]) -> None:
        outside = fixed | {buffer for step in (*done, *following) for buffer in (*reads(step), *writes(step))}
        done.extend(_Run(run, lanes, outside, target).blocked())
        run.clear()

    for position, step in enumerate(steps):
        if isinstance(step, Nest):
            run.append(step)
            continue
        close(steps[position:])
        if isinstance(step, Loop):
            touched = {b for other in steps if other is not step for b in (*reads(other), *writes(other))}
            step = replace(step, steps=_blocked(step.steps, lanes, fixed | touched, target))
        done.append(step)
    close(())
    return tuple(done)


@dataclass
class _Parts:
    """Where the nests of a run go."""

    before: list[Nest] = field(default_factory=list[Nest])
    inside: list[tuple[Nest, Dim]] = field(default_factory=list[tuple[Nest, Dim]])
    after: list[Nest] = field(default_factory=list[Nest])
    totals: list[Buffer] = field(default_factory=list[Buffer])
    """The accumulators."""


class _Run:
    """Nests one after another."""

    def __init__(self, nests: Sequence[Nest], lanes: LaneClass, outside: set[Buffer], target: Target) -> None:
        self.nests = list(nests)
        self.lanes = lanes
        self.outside = outside
        self.target = target
        self.parts = _Parts()
        self.made: dict[Buffer, int] = {}
        """The buffers made inside, and which of their axes is the batch."""

    def blocked(self) -> list[Step]:
        """Return the run as a loop over blocks, or as it is."""
        if len(self.nests) < _NESTS:
            return list(self.nests)
        for nest in self.nests:
            self._place(nest)
        if not self.parts.inside:
            return list(self.nests)
        extent = self.parts.inside[0][1].extent
        held = sum(math.prod(buffer.shape) * buffer.dtype.itemsize for buffer in self.made)
        vectors = -(-extent // self.target.lanes(4))
        fitting = max(1, (vectors * self.target.level2) // (2 * max(held, 1)))
        if held <= self.target.level2 or fitting >= vectors:
            return list(self.nests)
        size = min(fitting, 4) * self.target.lanes(4)
        return self._loop(extent, size)

    # -- what goes where ---------------------------------------------------------------------------------

    def _place(self, nest: Nest) -> None:
        parts = self.parts
        extents = {dim.extent for _, dim in parts.inside}
        moved = [one for one, _ in parts.inside]
        mapped = [dim for dim in nest.dims if self.lanes.has(dim)]
        if not mapped and not self._summed(nest) and can_pass(nest, (*moved, *parts.after)):
            parts.before.append(nest)
        elif (
            mapped
            and extents <= {mapped[0].extent}
            and self._is_mapped(nest, mapped)
            and can_pass(nest, parts.after)
        ):
            parts.inside.append((nest, mapped[0]))
            for store in nest.stores:
                self.made[store.buffer] = self._axis(store, mapped[0])
        elif not mapped and (split := self._split(nest)) and can_pass(split[0], parts.after):
            partial, dim, rest = split
            if not extents <= {dim.extent}:
                parts.after.append(nest)
                return
            parts.totals.append(partial.stores[0].buffer)
            parts.inside.append((partial, dim))
            parts.after.append(rest)
        else:
            parts.after.append(nest)

    def _summed(self, nest: Nest) -> list[tuple[Reduce, Dim]]:
        return [
            (node, dim)
            for node in nest.nodes()
            if isinstance(node, Reduce)
            for dim in node.dims
            if self.lanes.has(dim)
        ]

    def _is_mapped(self, nest: Nest, mapped: Sequence[Dim]) -> bool:
        """Tell whether a nest makes, for each example, its part of buffers that no one outside the run sees."""
        dim = mapped[0]
        if len(mapped) > 1 or dim in nest.sequential or self._summed(nest):
            return False
        if any(store.buffer in self.outside or self._axis(store, dim) < 0 for store in nest.stores):
            return False
        return self._reads_own_part(nest, dim)

    def _reads_own_part(self, nest: Nest, dim: Dim) -> bool:
        """Tell whether of what is made inside, a nest reads what belongs to its own example."""
        for load in [load for store in nest.stores for load in loads(store.value)]:
            axis = self.made.get(load.buffer)
            if axis is not None and load.indices[axis] != Index.of(dim):
                return False
        return True

    def _axis(self, store: Store, dim: Dim) -> int:
        for axis, index in enumerate(store.indices):
            if index == Index(0, ((dim, 1),)) and dim.extent == store.buffer.shape[axis]:
                return axis
        return -1

    def _split(self, nest: Nest) -> tuple[Nest, Dim, Nest] | None:
        """Take a long sum over the batch apart: collecting it, and what is done with the total."""
        summed = self._summed(nest)
        if len(summed) != 1 or len(nest.stores) != 1 or nest.sequential or nest.stores[0].combiner:
            return None
        node, dim = summed[0]
        others = math.prod(one.extent for one in node.dims if one is not dim)
        if node.combiner != "add" or others < _LONG or not self._reads_own_part(nest, dim):
            return None
        shape = tuple(one.extent for one in nest.dims)
        total = Buffer(node.dtype, shape)
        indices = tuple(map(Index.of, nest.dims))
        partial = replace(nest, stores=(Store(total, indices, node, "add"),))
        store = nest.stores[0]
        value = Rewriter(lambda one: Load(total, indices) if one is node else one)(store.value)
        return partial, dim, replace(nest, stores=(replace(store, value=value),))

    # -- the loop ----------------------------------------------------------------------------------------

    def _loop(self, extent: int, size: int) -> list[Step]:
        counter = Dim(-(-extent // size), "block")
        parts = self.parts
        read_after = {buffer for nest in parts.after for buffer in nest.reads()}
        new: dict[Buffer, tuple[Buffer, bool]] = {}
        for buffer, axis in self.made.items():
            whole = buffer in read_after
            shape = list(buffer.shape)
            shape[axis] = counter.extent * size if whole else size
            new[buffer] = (Buffer(buffer.dtype, tuple(shape), buffer.name), whole)
        block = _Block(counter, size, extent, self.made, new, self.lanes)
        inside = tuple(block.nest(nest, dim) for nest, dim in parts.inside)
        zeros = [_zero(buffer) for buffer in parts.totals]
        after = [block.outside(nest) for nest in parts.after]
        return [*parts.before, *zeros, Loop(counter, False, inside), *after]


@dataclass
class _Block:
    """One turn of the loop: the indices of its examples."""

    counter: Dim
    size: int
    extent: int
    axes: dict[Buffer, int]
    new: dict[Buffer, tuple[Buffer, bool]]
    lanes: LaneClass

    def nest(self, nest: Nest, dim: Dim) -> Nest:
        """Return a nest for the examples of one block."""
        inner = Dim(self.size, dim.name)
        example = Index(0, ((self.counter, self.size), (inner, 1)))
        exists = ((example, self.extent),)

        def change(node: Expression) -> Expression:
            if isinstance(node, Reduce) and dim in node.dims:
                dims = tuple(inner if one is dim else one for one in node.dims)
                body = Guard(exists, node.body, Const(node.dtype.type(0), node.dtype))
                return replace(node, dims=dims, body=body)
            if isinstance(node, Load):
                return self._load(node, inner, exists)
            return node

        rewrite = Rewriter(change, lambda term: example if term is dim else None)
        stores = tuple(self._store(store, rewrite, inner) for store in nest.stores)
        return replace(nest, dims=tuple(inner if one is dim else one for one in nest.dims), stores=stores)

    def _load(self, node: Load, inner: Dim, exists: tuple[tuple[Index, int], ...]) -> Expression:
        if node.buffer in self.new:
            buffer, whole = self.new[node.buffer]
            return Load(buffer, self._indices(node.buffer, node.indices, whole, inner))
        if any(inner in index.dims() for index in node.indices):
            return Guard(exists, node, Const(node.dtype.type(0), node.dtype))
        return node

    def _store(self, store: Store, rewrite: Rewriter, inner: Dim) -> Store:
        indices = tuple(map(rewrite.index, store.indices))
        value = rewrite(store.value)
        if store.buffer not in self.new:
            return replace(store, indices=indices, value=value)
        buffer, whole = self.new[store.buffer]
        return replace(
            store, buffer=buffer, indices=self._indices(store.buffer, indices, whole, inner), value=value
        )

    def _indices(
        self, buffer: Buffer, indices: Sequence[Index], whole: bool, inner: Dim
    ) -> tuple[Index, ...]:
        axis = self.axes[buffer]
        return tuple(Index.of(inner) if n == axis and not whole else index for n, index in enumerate(indices))

    def outside(self, nest: Nest) -> Nest:
        """Return a nest after the loop, which reads buffers of their new names."""

        def change(node: Expression) -> Expression:
            if isinstance(node, Load) and node.buffer in self.new:
                return Load(self.new[node.buffer][0], node.indices)
            return node

        rewrite = Rewriter(change)
        stores = tuple(
            replace(store, value=rewrite(store.value), indices=tuple(map(rewrite.index, store.indices)))
            for store in nest.stores
        )
        return replace(nest, stores=stores)


def _zero(buffer: Buffer) -> Nest:
    """Return the nest that clears an accumulator."""
    dims = tuple(map(Dim, buffer.shape))
    zero = Const(buffer.dtype.type(0), buffer.dtype)
    kept = tuple(dim for dim in dims if dim.extent != 1)
    return Nest(kept, (Store(buffer, tuple(map(Index.of, dims)), zero),), origin=("clear",))
