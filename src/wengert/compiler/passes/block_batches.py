"""Batch blocking: a run of steps becomes a loop over blocks of examples, in turn or on several threads.

A network treats each example independently of the others (see `independence`). A run of nests whose intermediate
arrays outgrow the cache, and a run with loops over the steps of a sequence, becomes a loop over blocks of the batch.
The arrays shrink to one block and stay in the cache, threads take blocks and synchronise once, at the end, and each
block's part of the sums over the batch is added up there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from wengert.compiler.passes.dim_classes import LaneClass, map_classes
from wengert.compiler.passes.independence import Parts, is_loop_nest, split_by_example, total_operations
from wengert.engine.machine import costs
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import (
    Apply,
    Buffer,
    Expression,
    Guard,
    Load,
    Reduce,
    Rewriter,
    is_check,
    is_zero,
    loads,
    zero,
)
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.nest import Loop, Nest, Program, Step, Store, all_nests, all_steps, touched
from wengert.engine.nest.rewrite import renamed, replace_loads


def block_batches(program: Program, target: Target) -> Program:
    """Return the program with runs of steps for a large batch in loops over blocks of it."""
    classes = map_classes(program)[: costs.COSTS.batch_classes]
    return replace(program, steps=_blocked(program.steps, classes, program.outside(), target))


def _blocked(
    steps: Sequence[Step], classes: Sequence[LaneClass], fixed: set[Buffer], target: Target
) -> tuple[Step, ...]:
    users = _users(steps)

    def outside(run: Sequence[Step]) -> set[Buffer]:
        """Return the buffers of a run that others see."""
        return {buffer for buffer, count in _users(run).items() if buffer in fixed or count < users[buffer]}

    done: list[Step] = []
    for run in _runs(steps):
        blocked = _best(run, classes, outside(run), target)
        if blocked is not None:
            done += blocked
            continue
        for step in run:
            if isinstance(step, Loop) and not step.shared:
                step = replace(step, steps=_blocked(step.steps, classes, outside((step,)), target))
            done.append(step)
    return tuple(done)


def _users(steps: Iterable[Step]) -> Counter[Buffer]:
    """Return the number of steps that read or write each buffer."""
    return Counter(buffer for step in steps for buffer in touched((step,)))


def _runs(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Yield the runs of nests and loops, and the steps between them."""
    run: list[Step] = []
    for step in steps:
        if is_loop_nest(step):
            run.append(step)
            continue
        if run:
            yield run
        yield [step]
        run = []
    if run:
        yield run


def _best(
    run: Sequence[Step], classes: Sequence[LaneClass], outside: set[Buffer], target: Target
) -> list[Step] | None:
    """Return a run as a loop over blocks of the class of axes along which the most is independent, or None."""
    if not all(map(is_loop_nest, run)):
        return None
    loops = any(isinstance(step, Loop) for step in run)
    if not loops and len(run) < costs.COSTS.blocked_nests:
        return None
    if loops and total_operations(run) < costs.COSTS.blocked_loop_work:
        return None
    candidates = [split_by_example(run, batch, outside) for batch in (classes if loops else classes[:1])]
    best = max(candidates, key=lambda parts: parts.work, default=None)
    if best is None or not best.inside:
        return None
    width = target.lanes(4) if best is candidates[0] else 1  # the first class is that of the lanes
    if any(isinstance(step, Loop) for step in best.inside):
        if best.work < max(
            costs.COSTS.blocked_loop_share * total_operations(run), costs.COSTS.blocked_loop_work
        ):
            return None
        size = _size_of_turns(best, target, width)
    else:
        size = _size_of_nests(best, target)
    return _loop(best, size) if size else None


def _held(parts: Parts) -> int:
    """Return the bytes of the buffers that shrink to one block."""
    return sum(math.prod(buffer.shape) * buffer.dtype.itemsize for buffer in parts.made.keys() - parts.shared)


def _size_of_nests(parts: Parts, target: Target) -> int:
    """Return the examples of a block of nests, so that it fits the cache; 0 if blocks move no fewer bytes.

    Blocks need not write and read again what they hold, but each reads what all examples have in common.
    """
    width = target.lanes(4)
    held, vectors = _held(parts), -(-parts.extent // width)
    fitting = max(1, int(vectors * costs.COSTS.nest_block_cache_share * target.level2 / max(held, 1)))
    if held <= target.level2 or fitting >= vectors:
        return 0
    size = min(fitting, costs.COSTS.block_vectors) * width
    blocks = -(-parts.extent // size)
    read, saved = (blocks - 1) * _common(parts), 2 * held
    return size if read <= costs.COSTS.block_reads_share * saved else 0


def _common(parts: Parts) -> int:
    """Return the bytes of the buffers that each block reads in whole."""
    read = {buffer for nest in all_nests(parts.inside) for buffer in nest.reads()}
    own = {
        load.buffer
        for nest in all_nests(parts.inside)
        for load in nest.loads()
        if (dim := parts.dims[nest]) is not None and any(dim in index.dims() for index in load.indices)
    }
    return sum(math.prod(buffer.shape) * buffer.dtype.itemsize for buffer in read - own - parts.made.keys())


def _size_of_turns(parts: Parts, target: Target, width: int) -> int:
    """Return the examples of a block of loops: few enough for the cache, as even for two threads as can be.

    Where turns read matrices, a block has some examples even if their arrays outgrow the cache.
    """
    per_example = _held(parts) / parts.extent
    least = min(costs.COSTS.matrix_block_examples, parts.extent // 2) if _reads_matrices(parts) else 1
    vectors = -(-parts.extent // width)
    best: tuple[bool, float, bool, int] | None = None
    for count in range(1, vectors + 1):
        blocks = -(-vectors // count)
        size = count * width
        if blocks < 2 or size < least or (width == 1 and parts.extent % count):
            continue
        spilt = size * per_example > target.level2 * costs.COSTS.loop_block_cache_share
        waste = blocks * size / parts.extent
        uneven = 2 * -(-blocks // 2) / blocks
        unbalanced = blocks < costs.COSTS.balanced_blocks
        price = spilt, round(waste * (1 + uneven) / 2, 3), unbalanced, size if spilt else -size
        best = min(best, price) if best else price
    return abs(best[3]) if best else 0


def _reads_matrices(parts: Parts) -> bool:
    """Return whether sums in the turns of loops read arrays of two axes or more that all examples have in common."""
    loops = [step for step in parts.inside if isinstance(step, Loop)]
    return any(
        load.buffer not in parts.made and len(load.indices) > 1
        for nest in all_steps(loops)
        if isinstance(nest, Nest)
        for node in nest.nodes()
        if isinstance(node, Reduce)
        for load in loads(node.body)
    )


def _loop(parts: Parts, size: int) -> list[Step]:
    counter = Dim(-(-parts.extent // size), "block")
    shared = parts.shared
    new: dict[Buffer, tuple[Buffer, bool]] = {}
    for buffer, axis in parts.made.items():
        whole = buffer in shared
        shape = list(buffer.shape)
        shape[axis] = counter.extent * size if whole else size
        new[buffer] = (Buffer(buffer.dtype, tuple(shape), buffer.name), whole)
    totals = {
        total: Buffer(total.dtype, (counter.extent, *total.shape), total.name) for total in parts.totals
    }
    block = _Block(counter, size, parts, new, totals)
    inside = tuple(map(block.step, parts.inside))
    after = [block.outside(step) for step in parts.after]
    return [*parts.before, Loop(counter, False, inside, shared=True), *after]


@dataclass
class _Block:
    """One turn of the loop: the indices of its examples."""

    counter: Dim
    size: int
    parts: Parts
    new: dict[Buffer, tuple[Buffer, bool]]
    """The buffer that replaces each buffer made inside, and whether it holds all examples."""
    totals: dict[Buffer, Buffer]

    def step(self, step: Step) -> Step:
        """Return a step for the examples of one block."""
        if isinstance(step, Loop):
            return replace(step, steps=tuple(map(self.step, step.steps)))
        assert isinstance(step, Nest)
        return self.nest(step, self.parts.dims[step])

    def nest(self, nest: Nest, dim: Dim | None) -> Nest:
        """Return a nest for the examples of one block, which lie along a dimension of it."""
        inner = Dim(self.size, dim.name if dim else "")
        example = Index.of(self.counter) * self.size + Index.of(inner)
        filled = self.parts.extent % self.size
        exists = ((example, self.parts.extent),) if filled else ()

        def change(node: Expression) -> Expression:
            if isinstance(node, Reduce) and dim in node.dims:
                dims = tuple(inner if axis is dim else axis for axis in node.dims)
                return replace(node, dims=dims, body=_guarded(exists, node.body))
            if isinstance(node, Load):
                return self._load(node, inner, exists)
            if is_check(node) and inner in node.facts.dims and not _is_zero_outside(node, exists):
                return _guarded(exists, node)
            return node

        rewrite = Rewriter(change, lambda term: example if term is dim else None)
        stores = tuple(self._store(store, rewrite, inner) for store in nest.stores)
        return replace(nest, dims=tuple(inner if axis is dim else axis for axis in nest.dims), stores=stores)

    def _load(self, node: Load, inner: Dim, exists: tuple[tuple[Index, int], ...]) -> Expression:
        if node.buffer in self.totals:
            return Load(self.totals[node.buffer], (Index.of(self.counter), *node.indices))
        if node.buffer in self.new:
            buffer, whole = self.new[node.buffer]
            return Load(buffer, self._indices(node.buffer, node.indices, whole, inner))
        if any(inner in index.dims() for index in node.indices):
            return _guarded(exists, node)
        return node

    def _store(self, store: Store, rewrite: Rewriter, inner: Dim) -> Store:
        indices = tuple(map(rewrite.index, store.indices))
        value = rewrite(store.value)
        if store.buffer in self.totals:
            total = self.totals[store.buffer]
            return replace(store, buffer=total, indices=(Index.of(self.counter), *indices), value=value)
        if store.buffer not in self.new:
            return replace(store, indices=indices, value=value)
        buffer, whole = self.new[store.buffer]
        return replace(
            store, buffer=buffer, indices=self._indices(store.buffer, indices, whole, inner), value=value
        )

    def _indices(
        self, buffer: Buffer, indices: Sequence[Index], whole: bool, inner: Dim
    ) -> tuple[Index, ...]:
        axis = self.parts.made[buffer]
        return tuple(Index.of(inner) if n == axis and not whole else index for n, index in enumerate(indices))

    def outside(self, step: Step) -> Step:
        """Return a step after the loop, with buffers of their new names, which adds up the parts of sums."""

        def summed(load: Load) -> Expression:
            total = self.totals[load.buffer]
            part = Dim(total.shape[0], "block")
            return Reduce("add", (part,), Load(total, (Index.of(part), *load.indices)), load.dtype)

        (moved,) = renamed([step], {old: new for old, (new, _) in self.new.items()})
        return replace_loads(moved, dict.fromkeys(self.totals, summed))


def _guarded(conditions: tuple[tuple[Index, int], ...], value: Expression) -> Expression:
    """Return a value, or zero for examples that do not exist."""
    return Guard(conditions, value, zero(value.dtype)) if conditions else value


def _is_zero_outside(node: Expression, exists: tuple[tuple[Index, int], ...]) -> bool:
    """Return whether a value is zero for examples that do not exist, as loads are; zero is inside any bounds."""
    if isinstance(node, Apply) and node.operation in ("cast", "position", "bounded"):
        return _is_zero_outside(node.operands[0], exists)
    return isinstance(node, Guard) and is_zero(node.otherwise) and set(exists).issubset(node.conditions)
