"""Writes in place: a long chain of small writes into an array becomes a nest for each write, of the elements written.

Lowering makes of ``x[i] = v`` a new array: v where the index points, the old element elsewhere. A few such values fuse
into one pass over the array. Many would ask at each element which of them wrote it, and each step between that reads an
element would carry them along. So the writes of a long chain become a copy and the elements written, and `coalesce`
drops the copy where nothing reads the old array any more. So do writes into an array that a later step writes into, as
a write at an index that only a run knows or a loop does. Where the chain adds to a part of the array, as derivatives of
reads do, the sum is such a write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wengert.compiler.passes.anti_dependences import written_copies
from wengert.compiler.passes.interference import whole_copy
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine import costs
from wengert.engine.nest.expression import Apply, Buffer, Const, Guard, Load, is_zero
from wengert.engine.nest.index import Dim, Index, Term, condition_range, point_count
from wengert.engine.nest.nest import Nest, Program, Step, map_blocks
from wengert.engine.nest.rewrite import bijection, substitute_dims


def write_in_place(program: Program) -> Program:
    """Return the program with a nest of the elements written for each write of a long chain."""
    steps = _in_place(program.steps, [*written_copies(program.steps)])
    return program if steps == program.steps else replace(program, steps=steps)


class _Write(NamedTuple):
    """A partial write: a nest that changes some elements of an array."""

    before: Load | Const
    """An element of the array before."""
    written: Nest | None
    """The nest of the elements that change; None if no element changes."""
    is_small: bool
    """Whether it changes at most half of the elements."""
    adds: bool

    @property
    def source(self) -> Buffer | None:
        """The array before; None where a number stands for it."""
        return self.before.buffer if isinstance(self.before, Load) else None


def _in_place(steps: tuple[Step, ...], copied: Sequence[Buffer]) -> tuple[Step, ...]:
    """Return steps with nests of the elements written.

    Args:
        steps: of a block.
        copied: arrays that others are copies of, into which steps write.
    """
    writes: dict[Buffer, _Write] = {}
    whole: dict[Buffer, Nest] = {}
    length: dict[Buffer | None, int] = {}
    """The small writes in the chain that ends in an array."""
    for step in steps:
        if isinstance(step, Nest) and _stores_all(step):
            buffer = step.stores[0].buffer
            whole[buffer] = step
            if write := _replacing(step) or _adding(step, whole, length):
                writes[buffer] = write
                length[buffer] = length.get(write.source, 0) + (write.is_small and not write.adds)
    long: set[Buffer | None] = {
        buffer for buffer, count in length.items() if count > costs.COSTS.fused_writes
    }
    # An array that a later step or a loop writes into must be there; so the write costs what it changes, no pass.
    long.update(writes.keys() & copied)
    if long:
        long.update(write.source for buffer, write in reversed(writes.items()) if buffer in long)
    changed: list[Step] = []
    for step in steps:
        write = writes.get(step.stores[0].buffer) if isinstance(step, Nest) else None
        if write and write.is_small and isinstance(step, Nest) and step.stores[0].buffer in long:
            changed += _apart(step, write)
        else:
            changed.append(map_blocks(step, _in_inner_block))
    return tuple(changed)


def _in_inner_block(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps of a turn or a branch, whose last copies go into arrays of the program around."""
    return _in_place(steps, [pair[0] for step in steps if (pair := whole_copy(step)) is not None])


def _stores_all(nest: Nest) -> bool:
    """Return whether a nest stores each element of one array once."""
    store = nest.stores[0]
    if len(nest.stores) > 1 or store.combiner or store.along or nest.sequential:
        return False
    return bijection(store.indices, store.buffer.shape, nest.dims)


def _replacing(nest: Nest) -> _Write | None:
    """Return the write of a nest that keeps the elements of another array where a guard does not hold."""
    (store,) = nest.stores
    match store.value:
        case Guard(otherwise=Load(indices=store.indices) | Const() as before, absent=False):
            return _write(nest, before, store.value, adds=False)
        case _:
            return None


def _adding(nest: Nest, whole: Mapping[Buffer, Nest], length: Mapping[Buffer | None, int]) -> _Write | None:
    """Return the write of a nest that adds, to an array of a chain, another one that is absent outside a part."""
    (store,) = nest.stores
    match store.value:
        case Apply(
            operation="add", operands=(Load(indices=store.indices) as x, Load(indices=store.indices) as y)
        ):
            pass
        case _:
            return None
    for before, partner in ((x, y), (y, x)):
        added = whole.get(partner.buffer)
        part = added and added.stores[0]
        if before.buffer in length and added and part and isinstance(part.value, Guard) and part.value.absent:
            if not is_zero(part.value.otherwise):
                continue
            old = Load(store.buffer, part.indices)
            total = replace(part, buffer=store.buffer, value=replace(store.value, operands=(old, part.value)))
            inside = replace(added, stores=(total,), origin=nest.origin, location=nest.location)
            return _write(inside, before, part.value, adds=True)
    return None


def _write(nest: Nest, before: Load | Const, guard: Guard, *, adds: bool) -> _Write | None:
    """Return the write of a nest of all elements that changes those where a guard holds, if they are a box."""
    box: dict[Dim, tuple[int, int]] = {}
    for condition in guard.conditions:
        bounds = condition_range(*condition)
        if bounds is None or bounds[0] not in nest.dims:
            return None
        dim, low, high = bounds
        first, last = box.get(dim, (0, dim.extent))
        box[dim] = max(first, low), min(last, high)
    if any(low >= high for low, high in box.values()):
        return _Write(before, None, True, adds)
    inside: dict[Term, Index] = {
        dim: Index.of(Dim(high - low, dim.name)) + low for dim, (low, high) in box.items()
    }
    written = substitute_dims(nest, inside)
    is_small = 2 * point_count(written.dims) <= point_count(nest.dims)
    return _Write(before, written, is_small, adds)


def _apart(step: Nest, write: _Write) -> list[Step]:
    """Return the copy of the array before, and the nest of the elements that change."""
    (store,) = step.stores
    copy = replace(step, stores=(replace(store, value=write.before),), origin=("copy",))
    return [copy] if write.written is None else [copy, write.written]
