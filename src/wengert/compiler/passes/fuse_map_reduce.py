"""Map-reduce fusion: reductions share the loops of other reductions and of maps over the same elements.

The value of a loss is a sum, ``sum over i of f(x[i])``, and its gradient a map of the same elements, ``f'(x[i])``. Two
nests move these through the processor twice, and through memory what both need. So sums over the same elements share
their loops, and the loops of a sum carry out a large map; the sum is then split like any other. Within a nest,
reductions share a loop whatever they read: else only one of them could run along the lanes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from wengert.compiler.passes.reduction_domain import is_map, is_safe, substitutions, sums_over
from wengert.compiler.passes.split_reductions import is_long
from wengert.engine.machine import costs
from wengert.engine.machine.costs import FUNCTION, weight
from wengert.engine.nest.expression import (
    Apply,
    Buffer,
    Expression,
    Guard,
    Load,
    Reduce,
    Rewriter,
    loads,
    walk,
)
from wengert.engine.nest.index import Dim, Index, Term, dims_of
from wengert.engine.nest.nest import Loop, Nest, Program, Step, Store, map_blocks, map_nests, reads
from wengert.engine.nest.rewrite import always, can_pass, replace_loads, rewrite_store


def fuse_map_reduce(program: Program) -> Program:
    """Return the program with long sums over the same elements in one, and large maps carried out along sums."""
    steps = _tallied(map_nests(program.steps, lambda nest: [_with_common_dims(nest)]))
    used = program.outside().union(*map(reads, steps))
    return replace(program, steps=map_nests(steps, lambda nest: [_without_unused(nest, used)]))


def _tallied(steps: Sequence[Step]) -> tuple[Step, ...]:
    # The arrays of a batch block are in the cache already.
    done: list[Step | None] = [
        step if isinstance(step, Loop) and step.shared else map_blocks(step, _tallied) for step in steps
    ]
    _unite(done)
    maps = [place for place, step in enumerate(done) if isinstance(step, Nest) and _is_large_map(step)]
    for place, step in enumerate(done) if maps else ():
        if isinstance(step, Nest) and sums_over(step):
            _take_up(done, place, step, maps)
    return tuple(step for step in done if step is not None)


def _is_large_map(nest: Nest) -> bool:
    return math.prod(dim.extent for dim in nest.dims) >= costs.COSTS.streamed_map_elements and is_map(nest)


# -- sums over the same elements -----------------------------------------------------------------------------


def _with_common_dims(nest: Nest) -> Nest:
    """Return a nest whose reductions over as many elements share a loop, and so the choice of lanes.

    A product, which reads elements many times, keeps a loop of its own: its tile needs all registers.
    """
    nodes = list(dict.fromkeys(nest.reductions()))
    firsts: dict[tuple[int, ...], Reduce] = {}
    for node in nodes:
        first = (
            firsts.setdefault(tuple(dim.extent for dim in node.dims), node) if _sweeps(nest, node) else node
        )
        arrays = {load.buffer for load in _loads((first, node)) if load.buffer.size > 1}
        entangled = any(
            partner.dims != node.dims and not {*partner.dims}.isdisjoint(node.dims) for partner in nodes
        )
        if first.dims != node.dims and not entangled and len(arrays) <= costs.COSTS.streamed_arrays:
            substitution: dict[Term, Index] = dict(zip(node.dims, map(Index.of, first.dims), strict=True))
            nest = _renamed(nest, node.dims, first.dims, substitution)
    return nest


def _sweeps(nest: Nest, node: Reduce) -> bool:
    """Return whether a reduction reads another element in each turn at each point, without conditions on turns."""
    guards = (part for part in walk(node.body) if isinstance(part, Guard))
    conditions = {dim for guard in guards for index, _ in guard.conditions for dim in index.dims()}
    if node.returns_index or not conditions.isdisjoint(node.dims):
        return False
    turns = {*nest.dims, *node.dims}
    return any(turns <= {*dims_of(load.indices)} for load in loads(node.body))


def _unite(steps: list[Step | None]) -> None:
    """Give long sums over the same elements one loop, within nests and across nests whose results are numbers."""
    hosts: list[int] = []
    for place, step in enumerate(steps):
        if not isinstance(step, Nest) or not _long_sums(step):
            continue
        nest = steps[place] = _with_shared_loops(step)
        if nest.dims:
            continue
        for before in hosts:
            host = steps[before]
            assert isinstance(host, Nest)
            if not _go_together(host, nest):
                continue
            both = _with_shared_loops(replace(host, stores=(*host.stores, *nest.stores)))
            shared = len(_long_sums(both)) < len(_long_sums(host)) + len(_long_sums(nest))
            if shared and can_pass(nest, [step for step in steps[before:place] if step is not None]):
                steps[before], steps[place] = replace(both, origin=(*host.origin, *nest.origin)), None
                break
        else:
            hosts.append(place)


def _go_together(first: Nest, second: Nest) -> bool:
    """Return whether a loop goes through the arrays of two nests as fast as two loops do.

    Elementary functions keep the processor busy as it is, several vectors at a time; with more than one sum there are
    registers for fewer.
    """
    arrays = {
        buffer for nest in (first, second) for buffer in (*nest.reads(), *nest.writes()) if buffer.size > 1
    }
    nodes = dict.fromkeys((*first.nodes(), *second.nodes()))
    sums = sum(isinstance(node, Reduce) for node in nodes)
    functions = any(isinstance(node, Apply) and weight(node.operation) >= FUNCTION for node in nodes)
    return len(arrays) <= costs.COSTS.streamed_arrays and (sums == 1 or not functions)


def _long_sums(nest: Nest) -> list[tuple[Dim, ...]]:
    """Return the dimensions of sums that are so long that they are split."""
    return [dims for dims, nodes in sums_over(nest).items() if all(map(is_long, nodes))]


def _with_shared_loops(nest: Nest) -> Nest:
    """Return a nest whose long sums over the same elements are over the same dimensions."""
    loops: list[tuple[Dim, ...]] = []
    for dims in _long_sums(nest):
        matches = ((loop, _substitution(nest, dims, loop)) for loop in loops)
        match = next(
            ((loop, substitution) for loop, substitution in matches if substitution is not None), None
        )
        if match is None:
            loops.append(dims)
        else:
            nest = _renamed(nest, dims, *match)
    return nest


def _substitution(nest: Nest, own: tuple[Dim, ...], dims: tuple[Dim, ...]) -> dict[Term, Index] | None:
    """Return the substitution of the dimensions of sums by others, over which a sum loads the same elements."""
    sums = sums_over(nest)
    access_maps = {load.buffer: load.indices for load in _loads(sums[own])}
    candidates = substitutions((*nest.dims, *own), access_maps, _loads(sums[dims]), (*nest.dims, *dims))
    return next((each for each in candidates if all(each[dim] == Index.of(dim) for dim in nest.dims)), None)


def _loads(nodes: Sequence[Reduce]) -> Iterator[Load]:
    return (load for node in nodes for load in loads(node.body))


def _renamed(
    nest: Nest, own: tuple[Dim, ...], dims: tuple[Dim, ...], substitution: dict[Term, Index]
) -> Nest:
    def change(node: Expression) -> Expression:
        return replace(node, dims=dims) if isinstance(node, Reduce) and node.dims == own else node

    rewrite = Rewriter(change, substitution.get)
    return replace(nest, stores=tuple(rewrite_store(store, rewrite) for store in nest.stores))


# -- maps along sums -----------------------------------------------------------------------------------------


def _take_up(steps: list[Step | None], place: int, sums: Nest, maps: Sequence[int]) -> None:
    """Fuse maps into sums, the nearest first; None marks the place of a fused step."""
    for position in sorted(maps, key=lambda number: abs(number - place)):
        mapped = steps[position]
        if not isinstance(mapped, Nest) or not _is_large_map(mapped):  # other sums may have taken it up
            continue
        if not _go_together(sums, mapped):
            continue
        both = _join(sums, mapped, is_first=position < place)
        if both is None:
            continue
        first, last = sorted((place, position))
        between = [step for step in steps[first + 1 : last] if step is not None]
        earlier, later = (mapped, sums) if position < place else (sums, mapped)
        if can_pass(later, between):
            goal = first
        elif can_pass(earlier, between):
            goal = last
        else:
            continue
        steps[place] = steps[position] = None
        steps[goal] = sums = both
        place = goal


def _join(sums: Nest, mapped: Nest, *, is_first: bool) -> Nest | None:
    """Return sums that carry out a map, if some run over its points; its results are then in registers."""
    rows = math.prod(dim.extent for dim in sums.dims)
    moved = next(
        (
            stores
            for over, nodes in sums_over(sums).items()
            if _may_be_shared(rows, over, nodes)
            if (stores := _moved(sums, mapped, over, nodes)) and is_safe(sums, stores)
        ),
        [],
    )
    total = replace_loads(sums, {store.buffer: always(store.value) for store in moved} if is_first else {})
    assert isinstance(total, Nest)
    if not moved or any(root.facts.depth > 2 * costs.COSTS.fused_depth for root in total.roots()):
        return None
    return replace(total, stores=(*total.stores, *moved), origin=(*mapped.origin, *sums.origin))


def _may_be_shared(rows: int, over: Sequence[Dim], nodes: Sequence[Reduce]) -> bool:
    """Return whether threads may share sums with stores along them: as parts, if all sums are long, or as rows."""
    if all(map(is_long, nodes)):
        return True
    terms = math.prod(dim.extent for dim in over)
    shared = rows >= costs.COSTS.map_reduce_rows and terms >= costs.COSTS.map_reduce_terms
    return shared and not any(map(is_long, nodes))


def _moved(sums: Nest, mapped: Nest, over: tuple[Dim, ...], nodes: Sequence[Reduce]) -> list[Store]:
    """Return the stores of a map in the domain of sums; no stores if its domain or its innermost loop differs."""
    access_maps: dict[Buffer, tuple[Index, ...]] = {}
    for store in mapped.stores:
        access_maps.update((load.buffer, load.indices) for load in loads(store.value))
    access_maps.update((store.buffer, store.indices) for store in mapped.stores)
    substitution = next(substitutions(mapped.dims, access_maps, _loads(nodes), (*sums.dims, *over)), None)
    if substitution is None:
        return []
    rewrite = Rewriter(replace_term=substitution.get)
    stores = [replace(rewrite_store(store, rewrite), along=over) for store in mapped.stores]
    read = [*_loads(nodes), *(load for store in stores for load in loads(store.value))]
    inner = {dim for access in (*read, *stores) for dim in _last(access.indices)}
    return stores if len(inner) == 1 and inner <= set(over) else []


def _last(indices: Sequence[Index]) -> set[Dim]:
    """Return the dimensions that the last index of an array follows; a broadcast number has no index."""
    return set(indices[-1].dims()) if indices else set()


def _without_unused(nest: Nest, used: set[Buffer]) -> Nest:
    """Return a nest without the stores along its sums that no step reads."""
    stores = tuple(store for store in nest.stores if not store.along or store.buffer in used)
    return nest if len(stores) == len(nest.stores) else replace(nest, stores=stores)
