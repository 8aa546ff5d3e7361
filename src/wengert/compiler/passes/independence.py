"""Independence of examples: the steps that treat each example of a batch by itself.

Forward and backward through a network are, example by example, independent of the other examples; only the sums over
the batch, the gradients of the parameters, are not. A run of nests, and of loops over the steps of a sequence, is taken
apart into what comes before, what is done for each example, and what comes after. A long sum over the batch is taken
apart too: each block of examples gives a part of it, and what comes after adds up the parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from wengert.compiler.passes.dim_classes import LaneClass
from wengert.engine.machine import costs
from wengert.engine.machine.costs import operation_count
from wengert.engine.nest.expression import Apply, Buffer, Load, Reduce, loads, zero
from wengert.engine.nest.index import Dim, Index, point_count, without_unit
from wengert.engine.nest.nest import Loop, Nest, Step, Store, all_nests, all_steps, map_nests, touched
from wengert.engine.nest.rewrite import Footprint, can_pass, extract_sum


@dataclass
class Parts:
    """A partition of the steps of a run."""

    before: list[Step] = field(default_factory=list[Step])
    inside: list[Step] = field(default_factory=list[Step])
    after: list[Step] = field(default_factory=list[Step])
    extent: int = 0
    """The number of examples."""
    dims: dict[Nest, Dim | None] = field(default_factory=dict[Nest, Dim | None])
    """The dimension of the examples of each nest inside; None for what is the same for all."""
    made: dict[Buffer, int] = field(default_factory=dict[Buffer, int])
    """The buffers made inside, and which of their axes is the batch."""
    totals: list[Buffer] = field(default_factory=list[Buffer])
    """Sums over the batch, of which each block makes a part."""

    @property
    def shared(self) -> set[Buffer]:
        """The buffers that later steps read or write."""
        return touched(self.after)

    @property
    def work(self) -> int:
        """About how many operations are done inside."""
        return total_operations(self.inside)


def total_operations(steps: Sequence[Step]) -> int:
    """Return about how many operations nests and loops of nests carry out."""
    total = 0
    for step in steps:
        if isinstance(step, Nest):
            total += operation_count(step)
        elif isinstance(step, Loop):
            total += step.counter.extent * total_operations(step.steps)
    return total


def is_loop_nest(step: Step) -> bool:
    """Return whether a step is a nest, or a loop of nests whose turns threads do not share yet."""
    return all(
        isinstance(inner, Nest) or (isinstance(inner, Loop) and not inner.shared)
        for inner in all_steps([step])
    )


def split_by_example(steps: Sequence[Step], batch: LaneClass, outside: set[Buffer]) -> Parts:
    """Return the parts of a run of nests and loops, of which others see the buffers ``outside``."""
    run = _Run(batch, outside)
    for step in steps:
        run.place(step)
    return run.parts


class _Run:
    def __init__(self, batch: LaneClass, outside: set[Buffer]) -> None:
        self.batch = batch
        self.outside = outside
        self.parts = Parts()
        self.behind = Footprint()
        """The reads and writes of the steps after the loop over blocks."""

    def _put_after(self, step: Step) -> None:
        self.parts.after.append(step)
        self.behind.add(step)

    def place(self, step: Step) -> None:
        """Place a step before, inside or after the loop over blocks."""
        parts = self.parts
        follows = self.behind.lets_pass(step)
        if isinstance(step, Loop):
            if not (follows and self._take_loop(step)):
                self._put_after(step)
            return
        assert isinstance(step, Nest)
        mapped = self._mapped(step)
        if not mapped and not self._summed(step):
            precedes = follows and can_pass(step, parts.inside)
            if precedes:
                parts.before.append(step)
            else:
                self._put_after(step)
        elif (
            mapped
            and follows
            and self._is_mapped(step, mapped, parts.made)
            and self._reads_own_part(step, mapped[0], parts.made)
        ):
            self._take(step, mapped[0], parts.made)
            parts.inside.append(step)
        elif not mapped and (split := self._split(step)) and self.behind.lets_pass(split[0]):
            partial, dim, remainder = split
            parts.totals.append(partial.stores[0].buffer)
            parts.dims[partial], parts.extent = dim, dim.extent
            parts.inside.append(partial)
            self._put_after(remainder)
        else:
            self._put_after(step)

    def _take(self, nest: Nest, dim: Dim, made: dict[Buffer, int]) -> None:
        self.parts.dims[nest], self.parts.extent = dim, dim.extent
        for store in nest.stores:
            made[store.buffer] = self._axis(store, dim)

    # -- nests -------------------------------------------------------------------------------------------

    def _mapped(self, nest: Nest) -> list[Dim]:
        return [dim for dim in nest.dims if self.batch.has(dim)]

    def _summed(self, nest: Nest) -> list[tuple[Reduce, Dim]]:
        return [(node, dim) for node in nest.reductions() for dim in node.dims if self.batch.has(dim)]

    def _is_mapped(self, nest: Nest, mapped: Sequence[Dim], made: Mapping[Buffer, int]) -> bool:
        """Return whether a nest writes, for each example, its part of buffers that the run alone uses."""
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
        """Return whether a nest reads only the parts of its own example from buffers made inside."""
        if set(self.parts.totals) & set(nest.reads()):
            return False
        for load in nest.loads():
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
        """Split a long sum over the batch: a partial sum for each block, and the nest that reads the total."""
        summed = self._summed(nest)
        if len(summed) != 1 or len(nest.stores) != 1 or nest.sequential or nest.stores[0].combiner:
            return None
        node, dim = summed[0]
        others = point_count(axis for axis in node.dims if axis is not dim)
        if node.combiner != "add" or others < costs.COSTS.blocked_sum_terms or not self._fits(dim):
            return None
        if not self._reads_own_part(nest, dim, self.parts.made):
            return None
        partial, remainder = extract_sum(nest, node)
        return partial, dim, remainder

    # -- loops -------------------------------------------------------------------------------------------

    def _take_loop(self, loop: Loop) -> bool:
        """Take a loop inside, if its turns treat each example by itself, but for the sums that it accumulates."""
        if not is_loop_nest(loop):
            return False
        saved = self.parts.extent, dict(self.parts.dims)
        made = dict(self.parts.made)
        sums: dict[Nest, tuple[Store, Reduce]] = {}
        nests = list(all_nests((loop,)))
        taken = all(self._take_turn(nest, made, sums) for nest in nests)
        if not taken or not self._is_sound(nests, made, sums):
            self.parts.extent, self.parts.dims = saved
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
        collected = _collected(nest)
        if collected is None or len(summed) != 1 or not self._fits(summed[0][1]):
            return False
        sums[nest] = collected
        self.parts.dims[nest], self.parts.extent = summed[0][1], summed[0][1].extent
        return True

    def _is_sound(
        self,
        nests: Sequence[Nest],
        made: Mapping[Buffer, int],
        sums: Mapping[Nest, tuple[Store, Reduce]],
    ) -> bool:
        """Return whether nests read their own examples only, no nest reads another's sum, and copies are safe."""
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
            if len(own) and sum(buffer in nest.writes() for nest in nests for buffer in own) > 1:
                return False
        return all(self._is_made_anew(buffer, nests, made) for nest in same for buffer in nest.writes())

    def _is_made_anew(self, buffer: Buffer, nests: Sequence[Nest], made: Mapping[Buffer, int]) -> bool:
        """Return whether each turn writes a buffer before it reads it, and no other step uses the buffer."""
        parts = self.parts
        inside = touched((*parts.before, *parts.inside, *parts.after))
        if buffer in made or buffer in self.outside or buffer in inside:
            return False
        first = next(nest for nest in nests if buffer in nest.reads() or buffer in nest.writes())
        return buffer not in first.reads() and not any(store.combiner for store in first.stores)

    def _collect(self, loop: Loop, sums: Mapping[Nest, tuple[Store, Reduce]]) -> None:
        """Let each block accumulate its own sums, which are added up after the loop over blocks."""
        changed: dict[Nest, Nest] = {}
        for nest, (store, node) in sums.items():
            total = Buffer(node.dtype, store.buffer.shape)
            clear, add = clearing(total), Apply("add", (Load(total, store.indices), node), node.dtype)
            changed[nest] = replace(nest, stores=(Store(total, store.indices, add),))
            self.parts.dims[changed[nest]] = self.parts.dims.pop(nest)
            self.parts.dims[clear] = None
            self.parts.totals.append(total)
            self.parts.inside.append(clear)
            self._put_after(_added(store.buffer, total, nest))
        self.parts.inside += map_nests([loop], lambda nest: [changed.get(nest, nest)])


def _collected(nest: Nest) -> tuple[Store, Reduce] | None:
    """Return the store and the sum of a nest that adds the sum to the old element."""
    if len(nest.stores) != 1 or nest.sequential:
        return None
    (store,) = nest.stores
    value = store.value
    if store.combiner == "add" and isinstance(value, Reduce) and value.combiner == "add":
        return store, value
    if store.combiner or not (isinstance(value, Apply) and value.operation == "add"):
        return None
    sums = [
        operand for operand in value.operands if isinstance(operand, Reduce) and operand.combiner == "add"
    ]
    before = [operand for operand in value.operands if isinstance(operand, Load)]
    if len(sums) != 1 or len(before) != 1:
        return None
    same = before[0].buffer is store.buffer and before[0].indices == store.indices
    again = any(load.buffer is store.buffer for load in loads(sums[0]))
    return (store, sums[0]) if same and not again and sums[0].dtype == store.buffer.dtype else None


def _added(target: Buffer, total: Buffer, nest: Nest) -> Nest:
    """Return the nest that adds a total to its target."""
    dims = tuple(map(Dim, target.shape))
    indices = tuple(map(Index.of, dims))
    value = Apply("add", (Load(target, indices), Load(total, indices)), target.dtype)
    return Nest(
        without_unit(dims), (Store(target, indices, value),), location=nest.location, origin=nest.origin
    )


def clearing(buffer: Buffer) -> Nest:
    """Return the nest that clears a buffer."""
    dims = tuple(map(Dim, buffer.shape))
    store = Store(buffer, tuple(map(Index.of, dims)), zero(buffer.dtype))
    return Nest(without_unit(dims), (store,), origin=("clear",))
