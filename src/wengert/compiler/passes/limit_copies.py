"""Copies that change nothing where a condition fails: the condition goes to the copy.

``x[i:, k] -= y * x[i, k]`` reads what it writes, so its values wait in a buffer: the difference where the position is
not below i, and the element itself elsewhere. Here the copy chooses between the two. So what the buffer holds elsewhere
does not count, and the loops of both nests may leave those positions out (`engine/nest/limits.py`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from wengert.engine.nest.expression import Apply, Buffer, Load, is_same_element, may_report
from wengert.engine.nest.index import Index, Term
from wengert.engine.nest.limits import has_limits
from wengert.engine.nest.nest import Nest, Program, Step, count_uses, map_blocks, reads, writes
from wengert.engine.nest.rewrite import bijection, substitute_dims


def limit_copies(program: Program) -> Program:
    """Return the program whose copies hold the conditions of what they copy."""
    uses = count_uses(program.steps)
    for buffer in program.outside():
        uses[buffer] += 2
    steps = _in_block(program.steps, uses)
    return program if steps == program.steps else replace(program, steps=steps)


def _in_block(steps: tuple[Step, ...], uses: Counter[Buffer]) -> tuple[Step, ...]:
    done = [map_blocks(step, lambda block: _in_block(block, uses)) for step in steps]
    for place, step in enumerate(done):
        if isinstance(step, Nest) and _stores_one(step) and uses[step.stores[0].buffer] == 2:
            _limit(done, place, step)
    return tuple(done)


def _stores_one(nest: Nest) -> bool:
    store = nest.stores[0]
    is_plain = len(nest.stores) == 1 and not (store.combiner or store.along or nest.sequential)
    return is_plain and not nest.has_reductions and bijection(store.indices, store.buffer.shape, nest.dims)


def _limit(steps: list[Step], place: int, nest: Nest) -> None:
    """Move the condition of the values in a buffer to the nest that copies them, if that writes what they keep."""
    (store,) = nest.stores
    match store.value:
        case Apply(operation="where", operands=(condition, _, Load() as before)):
            pass
        case _:
            return
    if not has_limits(condition) or may_report(condition):
        return
    for at in range(place + 1, len(steps)):
        step = steps[at]
        if store.buffer in reads(step):
            break
        if not {*writes(step)}.isdisjoint((before.buffer, *condition.facts.buffers)):
            return
    else:
        return
    if not isinstance(step, Nest) or len(step.stores) != 1:
        return
    (copy,) = step.stores
    if not isinstance(copy.value, Load) or copy.value.buffer is not store.buffer or copy.combiner:
        return
    # The dimensions of the nest as those of the copy.
    moved: dict[Term, Index] = {}
    for mine, theirs in zip(store.indices, copy.value.indices, strict=True):
        if mine.only is None or theirs.only is None:
            return
        moved[mine.only] = theirs
    elsewhere = substitute_dims(nest, moved).stores[0]
    assert isinstance(elsewhere.value, Apply)
    test, _, kept = elsewhere.value.operands
    assert isinstance(kept, Load)
    if not is_same_element(kept, Load(copy.buffer, copy.indices)) or copy.buffer in test.facts.buffers:
        return
    own = Load(store.buffer, store.indices)
    limited = replace(store.value, operands=(*store.value.operands[:2], own))
    steps[place] = replace(nest, stores=(replace(store, value=limited),))
    chosen = replace(store.value, operands=(test, copy.value, kept))
    steps[at] = replace(step, stores=(replace(copy, value=chosen),))
