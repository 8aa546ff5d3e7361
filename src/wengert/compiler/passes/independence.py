"""What a run of steps does for each example by itself.

Forward and backward through a network are, example by example, independent of the other examples; only the sums over
the batch, the gradients of the parameters, are not. A run of nests, and of loops over the steps of a sequence, is taken
apart into what comes before, what is done for each example, and what comes after. A long sum over the batch is taken
apart too: each block of examples gives a part of it, and what comes after adds up the parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from wengert.compiler.machine.costs import work
from wengert.compiler.passes.dim_classes import LaneClass
from wengert.nest.expression import Apply, Buffer, Load, Reduce, Rewriter, loads, zero
from wengert.nest.index import Dim, Index
from wengert.nest.nest import Loop, Nest, Step, Store, all_steps, reads, writes
from wengert.nest.rewrite import can_pass

_LONG = 16
"""Terms of a sum beside the batch from which on it pays to collect it block by block."""


@dataclass
class Parts:
    """Where the steps of a run go."""

    before: list[Step] = field(default_factory=list[Step])
    inside: list[Step] = field(default_factory=list[Step])
    after: list[Step] = field(default_factory=list[Step])
    extent: int = 0
    """How many examples there are."""
    dims: dict[Nest, Dim | None] = field(default_factory=dict[Nest, Dim | None])
    """The dimension of the examples of each nest inside; None for what is the same for all."""
    made: dict[Buffer, int] = field(default_factory=dict[Buffer, int])
    """The buffers made inside, and which of their axes is the batch."""
    totals: list[Buffer] = field(default_factory=list[Buffer])
    """Sums over the batch, of which each block makes a part."""

    @property
    def shared(self) -> set[Buffer]:
        """The buffers that what comes after sees."""
        return {buffer for step in self.after for buffer in (*reads(step), *writes(step))}

    @property
    def work(self) -> int:
        """About how many operations are done inside."""
        return total_work(self.inside)


def total_work(steps: Sequence[Step]) -> int:
    """Return about how many operations nests and loops of nests carry out."""
    total = 0
    for step in steps:
        if isinstance(step, Nest):
            total += work(step)
        elif isinstance(step, Loop):
            total += step.counter.extent * total_work(step.steps)
    return total


def is_counted(step: Step) -> bool:
    """Tell whether a step is a nest, or a loop of nests."""
    return all(isinstance(one, (Nest, Loop)) for one in all_steps([step]))


def taken_apart(steps: Sequence[Step], batch: LaneClass, outside: set[Buffer]) -> Parts:
    """Return the parts of a run of nests and loops.

    Args:
        steps: the run.
        batch: the axes and dimensions along which the examples lie.
        outside: the buffers that others see.
    """
    run = _Run(batch, outside)
    for step in steps:
        run.place(step)
    return run.parts


class _Run:
    def __init__(self, batch: LaneClass, outside: set[Buffer]) -> None:
        self.batch = batch
        self.outside = outside
        self.parts = Parts()

    def place(self, step: Step) -> None:
        """Put a step where it belongs."""
        parts = self.parts
        follows = can_pass(step, parts.after)
        if isinstance(step, Loop):
            if not (follows and self._take_loop(step)):
                parts.after.append(step)
            return
        assert isinstance(step, Nest)
        mapped = self._mapped(step)
        if not mapped and not self._summed(step):
            precedes = follows and can_pass(step, parts.inside)
            (parts.before if precedes else parts.after).append(step)
        elif (
            mapped
            and follows
            and self._is_mapped(step, mapped, parts.made)
            and self._reads_own_part(step, mapped[0], parts.made)
        ):
            self._take(step, mapped[0], parts.made)
            parts.inside.append(step)
        elif not mapped and (split := self._split(step)) and can_pass(split[0], parts.after):
            partial, dim, rest = split
            parts.totals.append(partial.stores[0].buffer)
            parts.dims[partial], parts.extent = dim, dim.extent
            parts.inside.append(partial)
            parts.after.append(rest)
        else:
            parts.after.append(step)

    def _take(self, nest: Nest, dim: Dim, made: dict[Buffer, int]) -> None:
        self.parts.dims[nest], self.parts.extent = dim, dim.extent
        for store in nest.stores:
            made[store.buffer] = self._axis(store, dim)

    # -- nests -------------------------------------------------------------------------------------------

    def _mapped(self, nest: Nest) -> list[Dim]:
        return [dim for dim in nest.dims if self.batch.has(dim)]

    def _summed(self, nest: Nest) -> list[tuple[Reduce, Dim]]:
        nodes = dict.fromkeys(node for node in nest.nodes() if isinstance(node, Reduce))
        return [(node, dim) for node in nodes for dim in node.dims if self.batch.has(dim)]

    def _is_mapped(self, nest: Nest, mapped: Sequence[Dim], made: Mapping[Buffer, int]) -> bool:
        """Tell whether a nest makes, for each example, its part of buffers that no one outside the run sees."""
        dim = mapped[0]
        if len(mapped) > 1 or dim in nest.sequential or self._summed(nest) or not self._fits(dim):
            return False
        for store in nest.stores:
            axis = self._axis(store, dim)
            if store.buffer in self.outside or axis < 0 or made.get(store.buffer, axis) != axis:
                return False
        return True

    def _fits(self, dim: Dim) -> bool:
        return self.parts.extent in (0, dim.extent)

    def _reads_own_part(self, nest: Nest, dim: Dim | None, made: Mapping[Buffer, int]) -> bool:
        """Tell whether of what is made inside, a nest reads what belongs to its own example."""
        if set(self.parts.totals) & set(nest.reads()):
            return False
        for load in _all_loads(nest):
            axis = made.get(load.buffer)
            if axis is not None and (dim is None or load.indices[axis] != Index.of(dim)):
                return False
        return True

    def _axis(self, store: Store, dim: Dim) -> int:
        for axis, index in enumerate(store.indices):
            if index == Index(0, ((dim, 1),)) and dim.extent == store.buffer.shape[axis]:
                return axis
        return -1

    def _split(self, nest: Nest) -> tuple[Nest, Dim, Nest] | None:
        """Take a long sum over the batch apart: a part for each block, and what is done with the total."""
        summed = self._summed(nest)
        if len(summed) != 1 or len(nest.stores) != 1 or nest.sequential or nest.stores[0].combiner:
            return None
        node, dim = summed[0]
        others = math.prod(one.extent for one in node.dims if one is not dim)
        if node.combiner != "add" or others < _LONG or not self._fits(dim):
            return None
        if not self._reads_own_part(nest, dim, self.parts.made):
            return None
        total = Buffer(node.dtype, tuple(one.extent for one in nest.dims))
        indices = tuple(map(Index.of, nest.dims))
        partial = replace(nest, stores=(Store(total, indices, node),))
        store = nest.stores[0]
        value = Rewriter(lambda one: Load(total, indices) if one is node else one)(store.value)
        return partial, dim, replace(nest, stores=(replace(store, value=value),))

    # -- loops -------------------------------------------------------------------------------------------

    def _take_loop(self, loop: Loop) -> bool:
        """Take a loop inside, if all of its turns are independent for each example but for sums that it collects."""
        if not is_counted(loop):
            return False
        kept = self.parts.extent, dict(self.parts.dims)
        made = dict(self.parts.made)
        sums: dict[Nest, tuple[Store, Reduce]] = {}
        nests = [step for step in all_steps((loop,)) if isinstance(step, Nest)]
        taken = all(self._take_turn(nest, made, sums) for nest in nests)
        if not taken or not self._is_sound(nests, made, sums):
            self.parts.extent, self.parts.dims = kept
            return False
        self.parts.made.update(made)
        self._collect(loop, sums)
        return True

    def _take_turn(self, nest: Nest, made: dict[Buffer, int], sums: dict[Nest, tuple[Store, Reduce]]) -> bool:
        mapped, summed = self._mapped(nest), self._summed(nest)
        if mapped:
            ok = self._is_mapped(nest, mapped, made)
            if ok:
                self._take(nest, mapped[0], made)
            return ok
        if not summed:
            self.parts.dims[nest] = None
            return True
        found = _collected(nest)
        if found is None or len(summed) != 1 or not self._fits(summed[0][1]):
            return False
        sums[nest] = found
        self.parts.dims[nest], self.parts.extent = summed[0][1], summed[0][1].extent
        return True

    def _is_sound(
        self,
        nests: Sequence[Nest],
        made: Mapping[Buffer, int],
        sums: Mapping[Nest, tuple[Store, Reduce]],
    ) -> bool:
        """Tell whether nests read what is their own, no one reads what is collected, and copies are safe."""
        collected = {store.buffer for store, _ in sums.values()}
        same = [nest for nest in nests if self.parts.dims[nest] is None]
        for nest in nests:
            own = {store.buffer for store in nest.stores} & collected if nest in sums else set[Buffer]()
            if (set(nest.reads()) & collected) - own or not self._reads_own_part(
                nest, self.parts.dims[nest], made
            ):
                return False
            if nest not in sums and set(nest.writes()) & collected:
                return False
            if len(own) and sum(buffer in one.writes() for one in nests for buffer in own) > 1:
                return False
        return all(self._is_made_anew(buffer, nests, made) for nest in same for buffer in nest.writes())

    def _is_made_anew(self, buffer: Buffer, nests: Sequence[Nest], made: Mapping[Buffer, int]) -> bool:
        """Tell whether each turn writes a buffer, the same for all examples, before it reads it; no one else does."""
        parts = self.parts
        others = [*parts.before, *parts.inside, *parts.after]
        inside = {b for step in others for b in (*reads(step), *writes(step))}
        if buffer in made or buffer in self.outside or buffer in inside:
            return False
        first = next(nest for nest in nests if buffer in nest.reads() or buffer in nest.writes())
        return buffer not in first.reads() and not any(store.combiner for store in first.stores)

    def _collect(self, loop: Loop, sums: Mapping[Nest, tuple[Store, Reduce]]) -> None:
        """Let each block collect sums of its own, which come to the others' after the loop."""
        changed: dict[Nest, Nest] = {}
        for nest, (store, node) in sums.items():
            total = Buffer(node.dtype, store.buffer.shape)
            clear, add = clearing(total), Apply("add", (Load(total, store.indices), node), node.dtype)
            changed[nest] = replace(nest, stores=(Store(total, store.indices, add),))
            self.parts.dims[changed[nest]] = self.parts.dims.pop(nest)
            self.parts.dims[clear] = None
            self.parts.totals.append(total)
            self.parts.inside.append(clear)
            self.parts.after.append(_added(store.buffer, total, nest))
        self.parts.inside.append(_exchanged(loop, changed))


def _all_loads(nest: Nest) -> Iterator[Load]:
    return (node for node in nest.nodes() if isinstance(node, Load))


def _collected(nest: Nest) -> tuple[Store, Reduce] | None:
    """Return the store and the sum of a nest that adds a sum to what stands there."""
    if len(nest.stores) != 1 or nest.sequential:
        return None
    (store,) = nest.stores
    value = store.value
    if store.combiner == "add" and isinstance(value, Reduce) and value.combiner == "add":
        return store, value
    if store.combiner or not (isinstance(value, Apply) and value.operation == "add"):
        return None
    sums = [one for one in value.operands if isinstance(one, Reduce) and one.combiner == "add"]
    before = [one for one in value.operands if isinstance(one, Load)]
    if len(sums) != 1 or len(before) != 1:
        return None
    same = before[0].buffer is store.buffer and before[0].indices == store.indices
    again = any(load.buffer is store.buffer for load in loads(sums[0]))
    return (store, sums[0]) if same and not again and sums[0].dtype == store.buffer.dtype else None


def _added(target: Buffer, total: Buffer, nest: Nest) -> Nest:
    """Return the nest that adds a total to what it belongs to."""
    dims = tuple(map(Dim, target.shape))
    indices = tuple(map(Index.of, dims))
    value = Apply("add", (Load(target, indices), Load(total, indices)), target.dtype)
    kept = tuple(dim for dim in dims if dim.extent != 1)
    return Nest(kept, (Store(target, indices, value),), location=nest.location, origin=nest.origin)


def _exchanged(loop: Loop, changed: Mapping[Nest, Nest]) -> Loop:
    steps: list[Step] = []
    for step in loop.steps:
        if isinstance(step, Nest):
            steps.append(changed.get(step, step))
        else:
            assert isinstance(step, Loop)
            steps.append(_exchanged(step, changed))
    return replace(loop, steps=tuple(steps))


def clearing(buffer: Buffer) -> Nest:
    """Return the nest that clears a buffer."""
    dims = tuple(map(Dim, buffer.shape))
    kept = tuple(dim for dim in dims if dim.extent != 1)
    return Nest(kept, (Store(buffer, tuple(map(Index.of, dims)), zero(buffer.dtype)),), origin=("clear",))
