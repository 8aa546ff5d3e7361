"""Interference: which buffers may share memory, because they never hold different live values.

Two buffers interfere if one is written while the other is live, unless by a copy from one to the other (Chaitin et al.,
"Register allocation via coloring", 1981). Liveness is computed backwards through the steps.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from wengert.engine.nest.expression import Buffer, Load, computed
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.nest import Branch, Loop, Nest, Program, Step, While, inner_blocks, reads, writes
from wengert.engine.nest.rewrite import bijection

Sides: TypeAlias = "frozenset[int]"
"""Those of two sets of buffers that hold a live value."""


class Interference:
    """The uses of the buffers of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.touched: dict[int, frozenset[Buffer]] = {}
        """The buffers that a step reads or writes."""
        self.copies: dict[int, tuple[Buffer, Buffer] | None] = {}
        """Source and target of a step that copies a whole buffer."""
        self.places: dict[Buffer, list[int]] = {}
        """The positions in the program of the steps that touch a buffer."""
        for position, step in enumerate(program.steps):
            for buffer in self._note(step):
                self.places.setdefault(buffer, []).append(position)

    def _note(self, step: Step) -> frozenset[Buffer]:
        inside = [self._note(inner) for block in inner_blocks(step) for inner in block]
        own = step.controls if isinstance(step, (Branch, While)) else ()
        leaf = () if inner_blocks(step) else (*reads(step), *writes(step))
        self.copies[id(step)] = whole_copy(step)
        self.touched[id(step)] = buffers = frozenset(own).union(leaf, *inside)
        return buffers

    def between(self, first: Iterable[Buffer], second: Iterable[Buffer]) -> bool:
        """Return whether two sets of buffers interfere; the buffers of each set share memory already."""
        return _Pair(self, first, second).interferes()

    def follows(self, first: Iterable[Buffer], second: Iterable[Buffer]) -> bool:
        """Return whether one copy is the last use of the first set, which holds no result, and the first of the second.

        So a chain of copies is united link by link, without a walk through the program for each.
        """
        last = max(self.places[buffer][-1] for buffer in first)
        begin = min(self.places[buffer][0] for buffer in second)
        return last == begin and self.copies[id(self.program.steps[last])] is not None


class _Pair:
    """Two sets of buffers, the sides 0 and 1."""

    def __init__(self, uses: Interference, first: Iterable[Buffer], second: Iterable[Buffer]) -> None:
        first, second = set(first), set(second)
        places = {place for buffer in first | second for place in uses.places.get(buffer, ())}
        self.steps = [uses.program.steps[place] for place in sorted(places)]
        program = uses.program
        known = {*program.inputs, *(buffer for buffer, _ in program.constants)}
        # Before the first step that writes one of the two, nothing is there that a write to the other could destroy.
        fresh = [side for side in (first, second) if known.isdisjoint(side)]
        begin = max((_first_write(self.steps, side) for side in fresh), default=0)
        self.steps = self.steps[begin:]
        self.outputs = program.outputs
        self.touched, self.copies = uses.touched, uses.copies
        self.side = {**dict.fromkeys(first, 0), **dict.fromkeys(second, 1)}
        self.conflicts = False
        self._cache: dict[tuple[int, Sides], Sides] = {}
        """Liveness before a step by liveness after it: nested loops ask repeatedly."""

    def interferes(self) -> bool:
        """Return whether one of the two is written while the other is live."""
        self._before(self.steps, self._of(self.outputs))
        return self.conflicts

    def _of(self, buffers: Iterable[Buffer]) -> Sides:
        return frozenset(self.side[buffer] for buffer in buffers if buffer in self.side)

    def _before(self, steps: Sequence[Step], live: Sides) -> Sides:
        """Return the sides that are live before steps, from those that are live after them."""
        for step in reversed(steps):
            if self.conflicts:
                break
            if not self.touched[id(step)].isdisjoint(self.side):
                key = id(step), live
                if key not in self._cache:
                    self._cache[key] = self._before_step(step, live)
                live = self._cache[key]
        return live

    def _before_step(self, step: Step, live: Sides) -> Sides:
        match step:
            case Loop(counter=counter, steps=inside):
                return self._before_turns(inside, live) if counter.extent else live
            case While(condition=condition, steps=inside):
                # Each turn reads the number of turns again.
                return self._before_turns(condition, live | self._of(step.controls), inside)
            case Branch(predicate=predicate, yes=yes, no=no):
                return self._before(yes, live) | self._before(no, live) | self._of((predicate,))
            case _:
                return self._before_leaf(step, live)

    def _before_turns(self, steps: Sequence[Step], live: Sides, again: Sequence[Step] = ()) -> Sides:
        """Return the sides that are live before the steps of a loop; ``again`` runs between two turns."""
        before: Sides = frozenset()
        while True:
            live_before = self._before(steps, live | self._before(again, before))
            if live_before == before or self.conflicts:
                return live_before
            before = live_before

    def _before_leaf(self, step: Step, live: Sides) -> Sides:
        pair = self.copies[id(step)]
        if pair is not None and pair[0] in self.side and pair[1] in self.side:
            source, target = (self.side[buffer] for buffer in pair)
            return live if source == target else live - {target} | {source}
        read, written = self._of(reads(step)), self._of(writes(step))
        if len(written) == 2 or any(self._is_lost(step, 1 - side, live, read) for side in written):
            self.conflicts = True
        return live - self._of(_overwritten(step)) | read

    def _is_lost(self, step: Step, side: int, live: Sides, read: Sides) -> bool:
        """Return whether a step that writes the other side would overwrite a live value of this one."""
        if side in live:
            return True
        return side in read and not keeps_apart(step, self._members(side), self._members(1 - side))

    def _members(self, side: int) -> frozenset[Buffer]:
        return frozenset(buffer for buffer, of in self.side.items() if of == side)


def _first_write(steps: Sequence[Step], buffers: AbstractSet[Buffer]) -> int:
    """Return the place of the first step that writes one of some buffers."""
    places = (place for place, step in enumerate(steps) if not buffers.isdisjoint(writes(step)))
    return next(places, len(steps))


def keeps_apart(step: Step, read: Container[Buffer], written: Container[Buffer]) -> bool:
    """Return whether no point of a nest reads an element that another writes, if ``read`` and ``written`` share memory.

    The points write at different places along some axes, and a load stays at the place of its point there. Along
    the other axes all points write at one place: there it may be anywhere, as in ``x[i] = x[i - 1] + x[i - 2]``.
    """
    if (
        not isinstance(step, Nest)
        or step.sequential
        or any(store.combiner or store.along for store in step.stores)
    ):
        return False
    dims, loads = frozenset(step.dims), [load for load in step.loads() if load.buffer in read]
    for store in (candidate for candidate in step.stores if candidate.buffer in written):
        axes = [axis for axis, index in enumerate(store.indices) if not dims.isdisjoint(_dims_of(index))]
        if not dims.issubset(store.indices[axis].only for axis in axes):
            return False
        if any(load.indices[axis] != store.indices[axis] for load in loads for axis in axes):
            return False
    return True


def _dims_of(index: Index) -> set[Dim]:
    """Return the dimensions on which an index depends, computed or not."""
    inside = (expression.facts.dims for expression in computed([index]))
    return set(index.dims()).union(*inside)


def whole_copy(step: Step) -> tuple[Buffer, Buffer] | None:
    """Return source and target of a nest that copies a whole buffer."""
    if not isinstance(step, Nest) or len(step.stores) != 1:
        return None
    store = step.stores[0]
    value = store.value
    if store.combiner or not isinstance(value, Load) or value.indices != store.indices:
        return None
    if value.buffer.shape != store.buffer.shape or value.buffer.dtype != store.buffer.dtype:
        return None
    if not bijection(store.indices, store.buffer.shape, step.dims):
        return None
    return value.buffer, store.buffer


def _overwritten(step: Step) -> Iterable[Buffer]:
    """Return the buffers that a step overwrites completely."""
    if not isinstance(step, Nest):
        return writes(step)
    return (
        store.buffer
        for store in step.stores
        if not store.combiner and bijection(store.indices, store.buffer.shape, step.dims)
    )
