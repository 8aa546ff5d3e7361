"""The machinery that passes share: rewrite steps, replace loads and dimensions, move steps past others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from wengert.engine.nest.expression import Buffer, Expression, Facts, Load, Reduce, Rewriter
from wengert.engine.nest.index import Dim, Index, Term
from wengert.engine.nest.nest import (
    Branch,
    Call,
    Host,
    Nest,
    Sort,
    Step,
    Store,
    While,
    map_blocks,
    reads,
    writes,
)


def rewrite_step(
    step: Step,
    change: Callable[[Expression], Expression],
    concerns: Callable[[Facts], bool] | None = None,
) -> Step:
    """Return a step with every node of its expressions changed, those in the steps inside it included.

    Nodes with facts that do not concern the change stay as they are.
    """
    if not isinstance(step, Nest):
        return map_blocks(step, lambda steps: tuple(rewrite_step(inner, change, concerns) for inner in steps))
    rewriter = Rewriter(change, concerns=concerns)
    stores = tuple(rewrite_store(store, rewriter) for store in step.stores)
    same = all(new is old for new, old in zip(stores, step.stores, strict=True))
    return step if same else replace(step, stores=stores)


def rewrite_store(store: Store, rewriter: Rewriter) -> Store:
    """Return a store with its value and its indices rewritten."""
    value, indices = rewriter(store.value), tuple(map(rewriter.index, store.indices))
    same = value is store.value and all(a is b for a, b in zip(indices, store.indices, strict=True))
    return store if same else replace(store, value=value, indices=indices)


def replace_loads(step: Step, values: Mapping[Buffer, Callable[[Load], Expression]]) -> Step:
    """Return a step with an expression in the place of each load of some buffers."""

    def change(node: Expression) -> Expression:
        return values[node.buffer](node) if isinstance(node, Load) and node.buffer in values else node

    return rewrite_step(step, change, lambda facts: not values.keys().isdisjoint(facts.buffers))


def always(value: Expression) -> Callable[[Load], Expression]:
    """Return the function that replaces every load by one value."""
    return lambda load: value


def replace_node(expression: Expression, old: Expression, new: Expression) -> Expression:
    """Return an expression with one node replaced."""
    return Rewriter(lambda node: new if node is old else node)(expression)


def substitute_dims(nest: Nest, mapping: Mapping[Term, Index]) -> Nest:
    """Return a nest with indices in the place of dimensions, whose loops run over the dimensions of the indices."""

    def dims(old: Iterable[Dim]) -> tuple[Dim, ...]:
        return tuple(new for dim in old for new in (mapping[dim].dims() if dim in mapping else (dim,)))

    def change(node: Expression) -> Expression:
        if isinstance(node, Reduce) and not mapping.keys().isdisjoint(node.dims):
            return replace(node, dims=dims(node.dims))
        return node

    rewrite = Rewriter(change, mapping.get, lambda facts: not facts.dims.isdisjoint(mapping))
    stores = [rewrite_store(store, rewrite) for store in nest.stores]
    along = tuple(replace(store, along=dims(store.along)) if store.along else store for store in stores)
    return replace(nest, dims=dims(nest.dims), stores=along, sequential=frozenset(dims(nest.sequential)))


def extract_sum(nest: Nest, node: Reduce, combiner: str = "") -> tuple[Nest, Nest]:
    """Return the nest that makes a sum of a nest with one store, and the nest that reads the total instead."""
    (store,) = nest.stores
    total = Buffer(node.dtype, tuple(dim.extent for dim in nest.dims))
    indices = tuple(map(Index.of, nest.dims))
    value = replace_node(store.value, node, Load(total, indices))
    partial = replace(nest, stores=(Store(total, indices, node, combiner),))
    return partial, replace(nest, stores=(replace(store, value=value),))


def renamed(steps: Sequence[Step], names: Mapping[Buffer, Buffer]) -> tuple[Step, ...]:
    """Return the steps with buffers in the places of others."""

    def moved_load(load: Load) -> Load:
        return Load(names[load.buffer], load.indices)

    def rename(step: Step) -> Step:
        match step:
            case Nest():
                moved = replace_loads(step, dict.fromkeys(names, moved_load))
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
            case Call(operands=operands, outputs=outputs, memory=memory):
                return replace(
                    step,
                    operands=tuple(names.get(x, x) for x in operands),
                    outputs=tuple(names.get(x, x) for x in outputs),
                    memory=names.get(memory, memory) if memory else None,
                )
            case Sort(operand=operand, values=values, positions=positions):
                return replace(
                    step,
                    operand=names.get(operand, operand),
                    values=names.get(values, values) if values else None,
                    positions=names.get(positions, positions) if positions else None,
                )
            case _:
                mapped = map_blocks(step, lambda block: tuple(map(rename, block)))
                if isinstance(mapped, (Branch, While)):
                    mapped = replace(mapped, predicate=names.get(mapped.predicate, mapped.predicate))
                if isinstance(mapped, While) and mapped.turns is not None:
                    mapped = replace(mapped, turns=names.get(mapped.turns, mapped.turns))
                return mapped

    return tuple(map(rename, steps))


def bijection(indices: Sequence[Index], shape: Sequence[int], dims: Sequence[Dim]) -> bool:
    """Return whether the dimensions run through all elements at the indices, each once."""
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


class Footprint:
    """The buffers that some steps read and write."""

    def __init__(self) -> None:
        self._written: set[Buffer] = set()
        self._read: set[Buffer] = set()

    def add(self, step: Step) -> None:
        """Add what a step reads and writes."""
        self._written.update(writes(step))
        self._read.update(reads(step))

    def lets_pass(self, step: Step) -> bool:
        """Return whether a step may be carried out before the steps that have been added."""
        written = writes(step)
        return self._written.isdisjoint((*written, *reads(step))) and self._read.isdisjoint(written)


def can_pass(step: Step, others: Iterable[Step]) -> bool:
    """Return whether a step may be carried out before others that stand before it."""
    written = set(writes(step))
    used = written.union(reads(step))
    return all(
        used.isdisjoint(writes(following)) and written.isdisjoint(reads(following)) for following in others
    )
