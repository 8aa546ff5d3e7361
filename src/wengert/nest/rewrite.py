"""Steps rebuilt with other expressions, and what moving a step past others would disturb."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from wengert.nest.expression import Buffer, Expression, Facts, Load, Rewriter
from wengert.nest.index import Dim, Index
from wengert.nest.nest import Branch, Host, Nest, Step, Store, While, map_blocks, reads, writes


def rewrite_step(
    step: Step,
    change: Callable[[Expression], Expression],
    concerns: Callable[[Facts], bool] = lambda facts: True,
) -> Step:
    """Return a step with every node of its expressions changed, those in the steps inside it included.

    Nodes with facts that do not concern the change stay as they are.
    """
    if not isinstance(step, Nest):
        return map_blocks(step, lambda steps: tuple(rewrite_step(one, change, concerns) for one in steps))
    rewriter = Rewriter(change, concerns=concerns)
    stores = tuple(rewrite_store(store, rewriter) for store in step.stores)
    same = all(new is old for new, old in zip(stores, step.stores, strict=True))
    return step if same else replace(step, stores=stores)


def rewrite_store(store: Store, rewriter: Rewriter) -> Store:
    """Return a store with its value and its indices rewritten."""
    value, indices = rewriter(store.value), tuple(map(rewriter.index, store.indices))
    same = value is store.value and all(a is b for a, b in zip(indices, store.indices, strict=True))
    return store if same else replace(store, value=value, indices=indices)


def renamed(steps: Sequence[Step], names: Mapping[Buffer, Buffer]) -> tuple[Step, ...]:
    """Return the steps with buffers in the places of others."""

    def change(node: Expression) -> Expression:
        if isinstance(node, Load) and node.buffer in names:
            return Load(names[node.buffer], node.indices)
        return node

    def rename(step: Step) -> Step:
        match step:
            case Nest():
                moved = rewrite_step(step, change, lambda facts: not names.keys().isdisjoint(facts.buffers))
                assert isinstance(moved, Nest)
                if names.keys().isdisjoint(moved.writes()):
                    return moved
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


def bijection(indices: Sequence[Index], shape: Sequence[int], dims: Sequence[Dim]) -> bool:
    """Tell whether the dimensions run through all elements at the indices, each once."""
    remaining = {dim for dim in dims if dim.extent != 1}
    for index, extent in zip(indices, shape, strict=True):
        if extent == 1:
            if index != Index(0):
                return False
            continue
        radix = 1
        if index.offset or not index.is_affine:
            return False
        for term, coefficient in sorted(index.terms, key=lambda pair: pair[1]):
            if coefficient != radix or term not in remaining:
                return False
            assert isinstance(term, Dim)
            remaining.discard(term)
            radix *= term.extent
        if radix != extent:
            return False
    return not remaining


def can_pass(step: Step, others: Sequence[Step]) -> bool:
    """Tell whether a step may be carried out before others that stand before it."""
    mine, written = set(reads(step)), set(writes(step))
    for other in others:
        theirs = set(writes(other))
        if theirs & mine or theirs & written or written & set(reads(other)):
            return False
    return True
