"""Loops whose turns are independent become nests, which run along lanes.

A loop over elements, as people write it in Python, computes one element a turn. If no turn reads what another writes,
each nest of the loop takes the counter as a dimension, one after the other; a value that a turn makes for itself gets
an element for each turn. Every element has the operands and the operations that it had in the loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from wengert.compiler.passes.fuse import fuse
from wengert.compiler.passes.select_branches import selected
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Buffer, Load, Rewriter, may_report
from wengert.engine.nest.index import Dim, Index, without_unit
from wengert.engine.nest.nest import (
    Branch,
    Loop,
    Nest,
    Program,
    Step,
    Store,
    While,
    all_steps,
    map_blocks,
    reads,
    writes,
)
from wengert.engine.nest.rewrite import bijection, rewrite_store, substitute_dims


def spread_loops(program: Program, target: Target) -> Program:
    """Return the program with nests in the place of loops whose turns are independent."""
    spread = _Spread(program, target)
    steps = spread.steps(program.steps)
    return program if steps == program.steps else replace(program, steps=steps)


class _Spread:
    def __init__(self, program: Program, target: Target) -> None:
        self.program = program
        self.target = target
        self.outside = program.outside()
        self.uses = _uses(program.steps)

    def steps(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """Return steps with nests in the place of loops."""
        done: list[Step] = []
        for step in steps:
            inner = map_blocks(step, self.steps)
            done += (self._nests(inner) or [inner]) if isinstance(inner, Loop) else [inner]
        return tuple(done)

    def _nests(self, loop: Loop) -> Sequence[Step] | None:
        """Return the nests of a loop, with the counter among their dimensions; None if turns are not independent."""
        steps = loop.steps if all(isinstance(x, Nest) for x in loop.steps) else selected(loop.steps) or ()
        nests = [step for step in steps if isinstance(step, Nest)]
        if not nests or len(nests) < len(steps) or loop.shared or not all(map(_is_plain, nests)):
            return None
        if len(nests) > 1 and any(may_report(root) for nest in nests for root in nest.roots()):
            return None
        uses, before = _uses(nests), _uses(loop.steps)
        wide: dict[Buffer, Buffer] = {}
        for buffer in dict.fromkeys(buffer for nest in nests for buffer in nest.writes()):
            touching = [nest for nest in nests if buffer in nest.reads() or buffer in nest.writes()]
            if _apart(buffer, touching, loop.counter):
                continue
            if not _made_anew(buffer, touching[0]):
                return None
            wide[buffer] = Buffer(buffer.dtype, (loop.counter.extent, *buffer.shape), buffer.name)
        if sum(buffer.size * buffer.dtype.itemsize for buffer in wide.values()) > self.target.level1 // 2:
            return None
        spread = [_with_counter(nest, loop.counter, wide) for nest in nests]
        seen = [x for x in uses if x in self.outside or self.uses[x] > before[x]]
        last = 0 if loop.reverse else loop.counter.extent - 1
        spread += [_copy_of(wide[buffer], last, buffer) for buffer in seen if buffer in wide]
        self.uses.subtract(before)
        fused = fuse(replace(self.program, outputs=tuple(seen), steps=tuple(spread))).steps
        self.uses.update(_uses(fused))
        return fused


def _uses(steps: Sequence[Step]) -> Counter[Buffer]:
    """Return how many steps without others inside use each buffer."""
    count: Counter[Buffer] = Counter()
    for step in all_steps(steps):
        if isinstance(step, (Branch, While)):
            count.update(step.controls)
        elif not isinstance(step, Loop):
            count.update({*reads(step), *writes(step)})
    return count


def _is_plain(nest: Nest) -> bool:
    return not nest.sequential and not any(store.along for store in nest.stores)


def _apart(buffer: Buffer, nests: Sequence[Nest], counter: Dim) -> bool:
    """Return whether each turn uses elements of a buffer of its own, and each of them at one point of a nest."""
    accesses = {
        indices for nest in nests for accessed, indices in nest.accesses() if accessed is buffer
    }
    if len(accesses) != 1:
        return False
    (indices,) = accesses
    own = set(nests[0].dims) if len(nests) == 1 else set[Dim]()
    if len(nests) > 1 and any(not set(nest.dims).isdisjoint(x.dims()) for nest in nests for x in indices):
        return False
    return any(
        index.is_affine and index.coefficient(counter) and own.isdisjoint(index.dims()) for index in indices
    )


def _made_anew(buffer: Buffer, first: Nest) -> bool:
    """Return whether the first nest that uses a buffer writes all of it."""
    stores = [store for store in first.stores if store.buffer is buffer]
    return (
        buffer not in first.reads()
        and len(stores) == 1
        and not stores[0].combiner
        and bijection(stores[0].indices, buffer.shape, first.dims)
    )


def _copy_of(wide: Buffer, turn: int, buffer: Buffer) -> Nest:
    """Return the nest that copies what a turn has made."""
    dims = tuple(map(Dim, buffer.shape))
    indices = tuple(map(Index.of, dims))
    store = Store(buffer, indices, Load(wide, (Index(turn), *indices)))
    return Nest(without_unit(dims), (store,), origin=("copy",))


def _with_counter(nest: Nest, counter: Dim, wide: dict[Buffer, Buffer]) -> Nest:
    """Return a nest with a counter as its first dimension, and with elements for each turn of some buffers."""
    turn = Index.of(counter)

    def widened(node: object) -> object:
        if isinstance(node, Load) and node.buffer in wide:
            return Load(wide[node.buffer], (turn, *node.indices))
        return node

    rewriter = Rewriter(widened)
    stores = [rewrite_store(store, rewriter) for store in nest.stores]
    stores = [
        replace(store, buffer=wide[store.buffer], indices=(turn, *store.indices))
        if store.buffer in wide
        else store
        for store in stores
    ]
    dim = Dim(counter.extent, "i")
    changed = substitute_dims(replace(nest, stores=tuple(stores)), {counter: Index.of(dim)})
    return replace(changed, dims=(dim, *changed.dims))
