"""Elements that a turn of a loop writes for the next turn to read are carried in scalars, which stay in registers.

A recurrence such as ``y[i] = f(y[i - 1])``, or a sum ``y[i] += x[j]`` in a loop over j, would write each element and
load it in the next turn, which waits for the store: longer than the arithmetic takes in many loops. Each turn still
writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from wengert.engine.machine import costs
from wengert.engine.machine.costs import operation_count
from wengert.engine.nest.expression import Buffer, Expression, Load
from wengert.engine.nest.index import Index, dims_of
from wengert.engine.nest.nest import (
    Loop,
    Nest,
    Program,
    Step,
    Store,
    While,
    all_nests,
    all_steps,
    inner_blocks,
    map_blocks,
    map_nests,
    reads,
    writes,
)
from wengert.engine.nest.rewrite import replace_loads


def carry_elements(program: Program) -> Program:
    """Return the program with elements carried from one turn of a loop to the next."""
    known = {*program.inputs, *(buffer for buffer, _ in program.constants)}
    return replace(program, steps=_carried(program.steps, known))


def _carried(steps: Sequence[Step], known: AbstractSet[Buffer]) -> tuple[Step, ...]:
    """Return steps with elements carried; the buffers ``known`` are written before them."""
    done: list[Step] = []
    before = set(known)
    for step in steps:
        inner = step if isinstance(step, Loop) and step.shared else _inside(step, before)
        if isinstance(inner, While) or (isinstance(inner, Loop) and not inner.shared):
            for buffer, indices in _elements(inner).items():
                if buffer not in before:
                    continue
                if inner.counter in dims_of(indices):
                    first, inner = _carry(inner, buffer, indices) if isinstance(inner, Loop) else ([], inner)
                else:
                    first, inner = _keep(inner, buffer, indices)
                done += first
        done.append(inner)
        before.update(writes(step))
    return tuple(done)


def _inside(step: Step, before: AbstractSet[Buffer]) -> Step:
    return map_blocks(step, lambda block: _carried(block, before))


def _elements(loop: Loop | While) -> dict[Buffer, Sequence[Index]]:
    """Return the buffers of which a turn writes one element alone, and its indices."""
    found: dict[Buffer, Sequence[Index] | None] = {}
    inside = [step for block in inner_blocks(loop) for step in all_steps(block)]
    for step in inside:
        if isinstance(step, Nest):
            for store in step.stores:
                single = not (step.dims or store.combiner or store.along) and _is_inside(store)
                earlier = found.setdefault(store.buffer, store.indices)
                if not single or earlier is None or not _same(earlier, store.indices):
                    found[store.buffer] = None
        elif not inner_blocks(step):
            found.update(dict.fromkeys((*reads(step), *writes(step))))
    counters = {step.counter for step in inside if isinstance(step, (Loop, While))}
    return {
        buffer: indices
        for buffer, indices in found.items()
        if buffer.shape and indices is not None and counters.isdisjoint(dims_of(indices))
    }


def _is_inside(store: Store) -> bool:
    """Return whether an element lies inside in all turns, also in those that do not write it."""
    return all(
        index.is_affine and index.bounds[0] >= 0 and index.bounds[1] < extent
        for index, extent in zip(store.indices, store.buffer.shape, strict=True)
    )


def _carry(loop: Loop, buffer: Buffer, indices: Sequence[Index]) -> tuple[list[Step], Loop]:
    """Return the steps before the loop, and the loop: scalars hold the element of a turn and that of the last one."""
    counter = loop.counter
    back = 1 if loop.reverse else -1
    begin = Index(counter.extent - 1 if loop.reverse else 0)

    def at(turn: Index, indices: Sequence[Index]) -> tuple[Index, ...]:
        return tuple(index.substitute(lambda term: turn if term is counter else None) for index in indices)

    last = at(Index(back, ((counter, 1),)), indices)
    start = at(begin, last)
    is_inside = all(
        index.bounds[0] >= 0 and index.bounds[1] < extent
        for index, extent in zip(start, buffer.shape, strict=True)
    )
    if not (counter.extent > 1 and is_inside and _is_read(loop, buffer, last)):
        return [], loop
    own, carry = (Buffer(buffer.dtype, (), buffer.name) for _ in range(2))
    steps = _with_scalars(loop.steps, buffer, [(last, carry), (indices, own)])
    before = [] if _writes_first(steps, own) else [_nest(own, Load(buffer, tuple(indices)), loop)]
    last_nest = _nest(carry, Load(own, ()), loop)
    return [_nest(carry, Load(buffer, start), loop)], replace(loop, steps=(*before, *steps, last_nest))


def _keep(loop: Loop | While, buffer: Buffer, indices: Sequence[Index]) -> tuple[list[Step], Loop | While]:
    """Return the steps before the loop, and the loop: a scalar holds an element that all turns read and write."""
    if not _is_read(loop, buffer, indices):
        return [], loop
    own = Buffer(buffer.dtype, (), buffer.name)
    changed = map_blocks(loop, lambda block: _with_scalars(block, buffer, [(indices, own)]))
    assert isinstance(changed, (Loop, While))
    return [_nest(own, Load(buffer, tuple(indices)), loop)], changed


def _is_read(loop: Loop | While, buffer: Buffer, indices: Sequence[Index]) -> bool:
    """Return whether a turn reads an element, in nests whose scalars may stay in registers."""
    inside = [nest for block in inner_blocks(loop) for nest in all_nests(block)]
    users = [nest for nest in inside if buffer in nest.reads() or buffer in nest.writes()]
    is_short = all(operation_count(nest) <= costs.COSTS.inlined_nest_work for nest in users)
    return is_short and any(
        load.buffer is buffer and _same(load.indices, indices) for nest in users for load in nest.loads()
    )


def _with_scalars(
    steps: Sequence[Step], buffer: Buffer, scalars: Sequence[tuple[Sequence[Index], Buffer]]
) -> tuple[Step, ...]:
    """Return steps with scalars in the place of elements; what is stored goes to the last scalar as well."""
    own = scalars[-1][1]

    def scalar(load: Load) -> Expression:
        places = (place for indices, place in scalars if _same(load.indices, indices))
        place = next(places, None)
        return load if place is None else Load(place, ())

    def mirrored(nest: Nest) -> Iterator[Nest]:
        stores = [Store(own, (), store.value) for store in nest.stores if store.buffer is buffer]
        yield replace(nest, stores=(*nest.stores, *stores)) if stores else nest

    return map_nests([replace_loads(step, {buffer: scalar}) for step in steps], mirrored)


def _nest(target: Buffer, value: Expression, loop: Loop | While) -> Nest:
    return Nest((), (Store(target, (), value),), location=loop.location)


def _writes_first(steps: Sequence[Step], scalar: Buffer) -> bool:
    """Return whether a turn writes a scalar before it reads it, in any case."""
    step = next(step for step in steps if scalar in writes(step) or scalar in reads(step))
    return isinstance(step, Nest) and scalar not in step.reads()


def _same(one: Sequence[Index], other: Sequence[Index]) -> bool:
    """Return whether indices are equal, however their terms are ordered."""
    return all(not (x - y).terms and x.offset == y.offset for x, y in zip(one, other, strict=True))
