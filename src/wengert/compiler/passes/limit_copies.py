"""Copies of values that a nest computed for the array that it reads: computed in place, or under a condition.

``x[i:, k] -= y * x[i, k]`` reads what it writes, so its values wait in a buffer: the difference where the position is
not below i, and the element itself elsewhere. A value that depends on no other element of the array needs no buffer.
Else the copy chooses between the two. So what the buffer holds elsewhere does not count, and the loops of both nests
may leave those positions out (`engine/nest/limits.py`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from wengert.engine.nest.expression import (
    Apply,
    Buffer,
    Expression,
    Load,
    is_same_element,
    loads_of,
    may_report,
)
from wengert.engine.nest.index import Index, Term
from wengert.engine.nest.limits import has_limits
from wengert.engine.nest.nest import Nest, Program, Step, Store, count_uses, map_blocks, reads, writes
from wengert.engine.nest.rewrite import bijection, substitute_dims

#: From so many elements in a row on, a condition costs less than the elements that it leaves out.
_LONG = 256


def limit_copies(program: Program) -> Program:
    """Return the program with fewer copies, which hold the conditions of what they copy."""
    uses = count_uses(program.steps)
    for buffer in program.outside():
        uses[buffer] += 2
    steps = _in_block(program.steps, uses)
    return program if steps == program.steps else replace(program, steps=steps)


def _in_block(steps: tuple[Step, ...], uses: Counter[Buffer]) -> tuple[Step, ...]:
    done: list[Step | None] = [map_blocks(step, lambda block: _in_block(block, uses)) for step in steps]
    for place, step in enumerate(done):
        if isinstance(step, Nest) and _stores_one(step) and uses[step.stores[0].buffer] == 2:
            _change(done, place, step)
    return tuple([step for step in done if step is not None])


def _stores_one(nest: Nest) -> bool:
    store = nest.stores[0]
    is_plain = len(nest.stores) == 1 and not (store.combiner or store.along or nest.sequential)
    return is_plain and not nest.has_reductions and bijection(store.indices, store.buffer.shape, nest.dims)


def _change(steps: list[Step | None], place: int, nest: Nest) -> None:
    """Compute the values of a nest where another one copies them to, or give their condition to that one."""
    (store,) = nest.stores
    at = _reader(steps, place, nest)
    step = steps[at] if at is not None else None
    # Points that may write one element in turn, as those of `x[index] = f(x[index])`, all read what it was before.
    if at is None or not isinstance(step, Nest) or len(step.stores) != 1 or step.sequential:
        return
    (copy,) = step.stores
    if not isinstance(copy.value, Load) or copy.value.buffer is not store.buffer or copy.combiner:
        return
    there = _in_dims_of(copy.value, nest)
    if there is None or copy.buffer not in there.facts.buffers:
        return
    target = Load(copy.buffer, copy.indices)
    if all(is_same_element(load, target) for load in loads_of(copy.buffer, there)):
        steps[place], steps[at] = None, _storing(step, copy, there)
        return
    match store.value, there:
        case Apply(operands=(_, value, _)), Apply(operation="where", operands=(test, _, Load() as kept)):
            own = Load(store.buffer, store.indices)
            is_kept = is_same_element(kept, target) and copy.buffer not in test.facts.buffers
            if is_kept and has_limits(test) and not may_report(test) and _is_worth_it(copy):
                steps[place] = _storing(
                    nest, store, replace(store.value, operands=(store.value.operands[0], value, own))
                )
                steps[at] = _storing(step, copy, replace(there, operands=(test, copy.value, kept)))
        case _:
            return


def _reader(steps: list[Step | None], place: int, nest: Nest) -> int | None:
    """Return the step that reads what a nest stores, if no step between writes what the nest reads."""
    needed = {*nest.reads()}
    for at in range(place + 1, len(steps)):
        step = steps[at]
        if step is None:
            continue
        if nest.stores[0].buffer in reads(step):
            return at
        if not needed.isdisjoint(writes(step)):
            return None
    return None


def _in_dims_of(load: Load, nest: Nest) -> Expression | None:
    """Return the value that a load reads of what a nest stores, in the dimensions of the load."""
    (store,) = nest.stores
    moved: dict[Term, Index] = {}
    for mine, theirs in zip(store.indices, load.indices, strict=True):
        if mine.only is None or theirs.only is None:
            return None
        moved[mine.only] = theirs
    return substitute_dims(nest, moved).stores[0].value


def _storing(nest: Nest, store: Store, value: Expression) -> Nest:
    return replace(nest, stores=(replace(store, value=value),))


def _is_worth_it(copy: Store) -> bool:
    """Return whether a copy goes through columns, or long rows."""
    last = copy.indices[-1].only
    return last is None or last.extent >= _LONG
