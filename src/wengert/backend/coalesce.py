"""Copies removed: a value is made where it is wanted in the end.

What a loop carries starts as a copy of an argument and ends as a copy into a result. Where the two buffers are never
both in use, they become one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wengert.backend.layout import follows
from wengert.backend.memory import Lifetime, lifetimes
from wengert.nest.expression import Buffer, Expression, Load
from wengert.nest.nest import (
    Branch,
    Host,
    Loop,
    Nest,
    Program,
    Step,
    While,
    all_steps,
    inner_blocks,
    map_blocks,
    reads,
    writes,
)
from wengert.nest.rewriting import rewrite_step

_LONG = 64
"""Turns of a loop from which on it pays to carry values in the best layout, copied there and back."""
_LINE = 64
"""Bytes of a line of the cache."""


def coalesce(program: Program) -> Program:
    """Return the program with the copies between whole buffers gone that need not be."""
    while (found := _superfluous(program)) is not None:
        copy, old, new = found
        steps = _without(program.steps, copy)
        program = replace(program, steps=renamed(steps, {old: new}))
    return program


def _superfluous(program: Program) -> tuple[Nest, Buffer, Buffer] | None:
    """Return a copy that can go, and which buffer becomes which."""
    outside = program.outside()
    living = lifetimes(program)
    times = _access_times(program.steps)
    resident = _resident(program.steps)
    conditions = _conditions(program.steps)
    for step in all_steps(program.steps):
        pair = _copied(step)
        if pair is None:
            continue
        source, target = pair
        assert isinstance(step, Nest)
        if (source in outside) != (target in outside) and ({source, target} & resident):
            continue
        if source is target:
            return step, source, target
        if (
            source not in outside
            and _always_copied(source, times, conditions, step)
            and not _meet(source, target, living[source], times, step)
        ):
            return step, source, target
        if (
            target not in outside
            and source not in outside
            and _is_dead_after(source, living[source], times, step)
            and _always_copied(target, times, conditions, step)
            and _always_copied(source, times, conditions, step)
            and not _meet(target, source, living[target], times, step)
        ):
            return step, target, source
    return None


def _resident(steps: Sequence[Step]) -> set[Buffer]:
    """Return the buffers that a long loop goes through over and over, and whose rows lie badly in an ordinary array."""
    found: set[Buffer] = set()
    for step in all_steps(steps):
        if isinstance(step, Loop) and step.counter.extent >= _LONG:
            found.update(buffer for buffer in (*reads(step), *writes(step)) if _lies_badly(buffer))
    return found


def _lies_badly(buffer: Buffer) -> bool:
    """Tell whether the rows of an ordinary array do not begin where cache lines do."""
    row = buffer.shape[-1] * buffer.dtype.itemsize if len(buffer.shape) > 1 else 0
    return row > 4 * _LINE and row % _LINE != 0


def _copied(step: Step) -> tuple[Buffer, Buffer] | None:
    """Return source and target of a nest that copies a whole buffer."""
    if not isinstance(step, Nest) or len(step.stores) != 1:
        return None
    store = step.stores[0]
    value = store.value
    if store.combiner or not isinstance(value, Load) or value.indices != store.indices:
        return None
    if value.buffer.shape != store.buffer.shape or value.buffer.dtype != store.buffer.dtype:
        return None
    for index, extent in zip(store.indices, store.buffer.shape, strict=True):
        dim = follows(index)
        if extent != 1 and (dim is None or dim.extent != extent):
            return None
    return value.buffer, store.buffer


def _access_times(steps: Sequence[Step]) -> dict[Buffer, list[tuple[int, Step]]]:
    """Return when each buffer is read or written, in the clock of `lifetimes`."""
    found: dict[Buffer, list[tuple[int, Step]]] = {}
    for clock, step in enumerate(all_steps(steps), 1):
        if not inner_blocks(step):
            for buffer in dict.fromkeys((*reads(step), *writes(step))):
                found.setdefault(buffer, []).append((clock, step))
        elif isinstance(step, (Branch, While)):
            found.setdefault(step.predicate, []).append((clock, step))
    return found


def _conditions(steps: Sequence[Step], around: tuple[int, ...] = ()) -> dict[int, tuple[int, ...]]:
    """Return for each step the blocks around it that may not be carried out, outermost first."""
    found: dict[int, tuple[int, ...]] = {}
    for step in steps:
        found[id(step)] = around
        for block in inner_blocks(step):
            always = isinstance(step, Loop) and step.counter.extent > 0
            found.update(_conditions(block, around if always else (*around, id(block))))
    return found


def _always_copied(
    buffer: Buffer,
    times: Mapping[Buffer, list[tuple[int, Step]]],
    conditions: Mapping[int, tuple[int, ...]],
    copy: Nest,
) -> bool:
    """Tell whether the copy is carried out wherever the buffer is in use: what is made before a branch may stay."""
    around = conditions[id(copy)]
    return all(conditions[id(step)][: len(around)] == around for _, step in times[buffer])


def _meet(
    old: Buffer, new: Buffer, life: Lifetime, times: Mapping[Buffer, list[tuple[int, Step]]], copy: Nest
) -> bool:
    """Tell whether the new buffer is in use, other than by copies from one to the other, while the old one lives."""
    for clock, step in times.get(new, []):
        if life.first <= clock <= life.last and step is not copy and set(_copied(step) or ()) != {old, new}:
            return True
    return False


def _is_dead_after(
    buffer: Buffer, life: Lifetime, times: Mapping[Buffer, list[tuple[int, Step]]], copy: Nest
) -> bool:
    """Tell whether what a buffer holds is of no use once it is copied."""
    return any(step is copy and life.last <= clock for clock, step in times[buffer])


def _without(steps: Sequence[Step], gone: Step) -> tuple[Step, ...]:
    """Return the steps but for one."""
    return tuple(map_blocks(step, lambda block: _without(block, gone)) for step in steps if step is not gone)


def renamed(steps: Sequence[Step], names: Mapping[Buffer, Buffer]) -> tuple[Step, ...]:
    """Return the steps with buffers in the places of others."""

    def change(node: Expression) -> Expression:
        if isinstance(node, Load) and node.buffer in names:
            return Load(names[node.buffer], node.indices)
        return node

    def rename(step: Step) -> Step:
        match step:
            case Nest():
                moved = rewrite_step(step, change)
                assert isinstance(moved, Nest)
                stores = tuple(
                    replace(store, buffer=names.get(store.buffer, store.buffer)) for store in moved.stores
                )
                return replace(moved, stores=stores)
            case Host(operands=operands, outputs=outputs):
                return replace(
                    step,
                    operands=tuple(names.get(x, x) if isinstance(x, Buffer) else x for x in operands),
                    outputs=tuple(names.get(x, x) for x in outputs),
                )
            case _:
                mapped = map_blocks(step, lambda block: tuple(map(rename, block)))
                if isinstance(mapped, (Branch, While)):
                    return replace(mapped, predicate=names.get(mapped.predicate, mapped.predicate))
                return mapped

    return tuple(map(rename, steps))
