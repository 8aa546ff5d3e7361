"""Sums are added up where they end.

A turn of a loop begins an array with zeros, adds to some of its elements, and adds the array to a part of a larger one:
so reverse mode goes backward through a loop over rows, of which an inner loop reads elements. The turn adds to the part
itself, and takes the time of the elements that it adds to, not of the row. Where the sides of a branch make an array
that is added after it, each side adds it: zeros, as of a turn that a `break` has ended, need not be written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from wengert.compiler.passes.coalesce import coalesce
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.nest.expression import Apply, Buffer, Const, Load, is_same, is_zero
from wengert.engine.nest.index import Index
from wengert.engine.nest.nest import (
    Branch,
    Nest,
    Program,
    Step,
    all_steps,
    count_uses,
    inner_blocks,
    map_blocks,
    map_nests,
    reads,
    touched,
    writes,
)
from wengert.engine.nest.rewrite import bijection


def add_in_place(program: Program) -> Program:
    """Return the program without arrays of zeros to which a turn adds before it adds them to others."""
    uses = count_uses(program.steps)
    uses.update(program.outside())
    steps = _changed(program.steps, uses)
    return program if steps == program.steps else coalesce(replace(program, steps=steps))


class _Part(NamedTuple):
    """The part of an array to which another one is added."""

    buffer: Buffer
    lead: tuple[Index, ...]


def _changed(steps: tuple[Step, ...], uses: Counter[Buffer]) -> tuple[Step, ...]:
    """Return the steps of a block with sums added up in place."""
    done = [map_blocks(step, lambda block: _changed(block, uses)) for step in steps]
    for first in [step for step in done if _cleared(step) is not None]:
        buffer = _cleared(first)
        assert buffer is not None
        begin = next((n for n, step in enumerate(done) if step is first), None)
        if begin is None:  # it is part of what another array was added to
            continue
        users = [n for n in range(begin, len(done)) if buffer in touched([done[n]])]
        end, inside = users[-1], done[begin + 1 : users[-1]]
        part = _part(done[end], buffer)
        if part is None or end == begin or count_uses(done[begin : end + 1])[buffer] != uses[buffer]:
            continue
        if part.buffer in touched(inside) or not all(_adds(step, buffer) for step in inside):
            continue
        done[begin : end + 1] = [_moved(step, buffer, part) for step in inside]
    return _with_sums_in_branches(done, uses)


def _with_sums_in_branches(steps: Sequence[Step], uses: Counter[Buffer]) -> tuple[Step, ...]:
    """Return the steps of a block in which each side of a branch adds what the block adds after the branch."""
    done = list(steps)
    for last in [step for step in done if isinstance(step, Nest) and len(step.stores) == 1]:
        for buffer in last.reads():
            end = next((n for n, step in enumerate(done) if step is last), -1)
            part = _part(last, buffer) if end >= 0 and buffer.shape else None
            begin = next((n for n in range(end) if buffer in touched([done[n]])), end)
            branch = done[begin]
            if part is None or not isinstance(branch, Branch):
                continue
            if {buffer, part.buffer} & touched(done[begin + 1 : end]) or part.buffer in touched([branch]):
                continue
            if count_uses([branch, last])[buffer] != uses[buffer]:
                continue
            changed = _adding(branch, buffer, part)
            if changed is not None:
                done[begin] = changed
                del done[end]
    return tuple(done)


def _adding(branch: Branch, buffer: Buffer, part: _Part) -> Branch | None:
    """Return a branch of which each side adds to a part what it would put into an array; None if it does more."""
    sides: list[tuple[Step, ...]] = []
    for side in (branch.yes, branch.no):
        users = [n for n, step in enumerate(side) if buffer in touched([step])]
        if len(users) != 1:
            return None
        (place,) = users
        user = side[place]
        if isinstance(user, Branch):
            inner = _adding(user, buffer, part)
            changed = None if inner is None else [inner]
        else:
            changed = _added(user, buffer, part)
        if changed is None:
            return None
        sides.append((*side[:place], *changed, *side[place + 1 :]))
    return replace(branch, yes=sides[0], no=sides[1])


def _added(step: Step, buffer: Buffer, part: _Part) -> list[Step] | None:
    """Return the steps that add to a part what a nest puts into all of an array; none where that is zero."""
    if _cleared(step) is buffer:
        return []
    if not isinstance(step, Nest) or buffer in step.reads() or step.sequential:
        return None
    (store, *more) = [store for store in step.stores if store.buffer is buffer]
    if more or store.combiner or store.along or not bijection(store.indices, buffer.shape, step.dims):
        return None
    indices = (*part.lead, *store.indices)
    total = Apply("add", (Load(part.buffer, indices), store.value), buffer.dtype, location=step.location)
    added = replace(store, buffer=part.buffer, indices=indices, value=total)
    return [replace(step, stores=tuple(added if x is store else x for x in step.stores))]


def _cleared(step: Step) -> Buffer | None:
    """Return the array that a step fills with zeros."""
    if not isinstance(step, Nest) or len(step.stores) != 1 or not step.dims:
        return None
    (store,) = step.stores
    is_whole = not store.combiner and bijection(store.indices, store.buffer.shape, step.dims)
    is_clear = isinstance(store.value, Const) and is_zero(store.value)
    return store.buffer if is_whole and is_clear and not store.buffer.ordered else None


def _part(step: Step, buffer: Buffer) -> _Part | None:
    """Return to which part of another array a step adds an array, if it does nothing else."""
    if not isinstance(step, Nest) or len(step.stores) != 1 or step.sequential:
        return None
    (store,) = step.stores
    before = Load(store.buffer, store.indices)
    match store.value:
        case Load(buffer=source, indices=indices) if source is buffer and store.combiner == "add":
            pass
        case Apply(operation="add", operands=(x, Load(buffer=source, indices=indices))) if (
            source is buffer and is_same(x, before) and not store.combiner
        ):
            pass
        case _:
            return None
    target, count = store.buffer, len(store.indices) - len(indices)
    lead, rest = store.indices[: max(count, 0)], store.indices[max(count, 0) :]
    if target is buffer or target.ordered or target.dtype != buffer.dtype or store.along or count < 0:
        return None
    if rest != indices or target.shape[count:] != buffer.shape:
        return None
    is_apart = all(index.is_affine and set(step.dims).isdisjoint(index.dims()) for index in lead)
    return _Part(target, lead) if is_apart and bijection(indices, buffer.shape, step.dims) else None


def _adds(step: Step, buffer: Buffer) -> bool:
    """Return whether a step only adds to elements of an array, if it uses it."""
    for inner in all_steps([step]):
        if isinstance(inner, Nest):
            stores = [store for store in inner.stores if store.buffer is buffer]
            if any(store.combiner != "add" for store in stores):
                return False
            if any(load.buffer is buffer for load in inner.loads()):
                return False
        elif not inner_blocks(inner) and buffer in {*reads(inner), *writes(inner)}:
            return False
    return True


def _moved(step: Step, buffer: Buffer, part: _Part) -> Step:
    """Return a step that adds to the part of another array."""

    def moved(nest: Nest) -> Sequence[Nest]:
        stores = tuple(
            replace(store, buffer=part.buffer, indices=(*part.lead, *store.indices))
            if store.buffer is buffer
            else store
            for store in nest.stores
        )
        return [replace(nest, stores=stores)]

    (changed,) = map_nests([step], moved)
    return changed
