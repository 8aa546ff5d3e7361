"""Update fusion: a matrix that a product reads and an update writes passes through the processor once, not twice.

The backward pass of a dense layer on one example reads the weights, ``dx[i] = sum over o of g[o] w[i, o]``, and adds
an outer product to them, ``w[i, o] -= rate x[i] g[o]``. There is an operation or two for each element, and the time is
that of moving the matrix. So the loops of the sum carry out the update. Threads then share the rows of the
matrix, which stay in the cache of the thread that wrote them; a product that sums over the rows, in the forward pass,
sums over parts of them, so that each thread reads rows it has.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from wengert.compiler.passes.reduction_domain import is_map, is_safe, substitutions, sums_over
from wengert.compiler.passes.split_reductions import in_parts
from wengert.compiler.schedule.layout import Layout, linear, with_lanes
from wengert.compiler.schedule.schedule import instruction_count
from wengert.engine.machine import costs
from wengert.engine.machine.costs import is_large
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Buffer, Expression, Load, Rewriter, loads
from wengert.engine.nest.index import Dim
from wengert.engine.nest.nest import Nest, Program, Step, Store, all_nests, map_blocks, map_nests
from wengert.engine.nest.rewrite import can_pass, rewrite_store


def fuse_updates(program: Program, layouts: dict[Buffer, Layout], target: Target) -> Program:
    """Return the program with updates joined to the sums that read the same; add the layouts of partial sums."""
    joined = replace(program, steps=_joined(program.steps, layouts, target))
    stores = (store for nest in all_nests(joined.steps) for store in nest.stores)
    rows = {store.buffer: store for store in stores if store.along}
    if not rows:
        return joined
    # A product that sums over the rows of these matrices sums over parts of them.
    steps = map_nests(joined.steps, lambda nest: _in_row_parts(nest, rows, layouts, target))
    return replace(joined, steps=steps)


def _joined(steps: Sequence[Step], layouts: Mapping[Buffer, Layout], target: Target) -> tuple[Step, ...]:
    done: list[Step | None] = [
        map_blocks(step, lambda inner: _joined(inner, layouts, target)) for step in steps
    ]
    updates: dict[Buffer, list[int]] = defaultdict(list)
    for position, step in enumerate(done):
        if isinstance(step, Nest) and is_map(step):
            for buffer in step.reads():
                updates[buffer].append(position)
    for position, product in enumerate(done):
        if not isinstance(product, Nest) or not _has_rows(product) or not _summed_dims(product):
            continue
        for later in sorted({n for buffer in product.reads() for n in updates[buffer] if n > position}):
            update = done[later]
            if not isinstance(update, Nest):
                continue
            both = _join(product, update, layouts, target)
            between = (step for step in done[position + 1 : later] if step is not None)
            if both is not None and can_pass(update, between):
                done[position] = product = both
                done[later] = None
    return tuple(step for step in done if step is not None)


def _has_rows(product: Nest) -> bool:
    """Return whether a product has enough sums for an update inside their loops to pay."""
    return math.prod(dim.extent for dim in product.dims) >= costs.COSTS.update_rows


def _join(product: Nest, update: Nest, layouts: Mapping[Buffer, Layout], target: Target) -> Nest | None:
    """Return the product with the update in the loop of its sum, if both load a matrix with the same indices."""
    dims = _summed_dims(product)
    operands = [load for node in product.reductions() for load in loads(node.body)]
    access_maps = {load.buffer: load.indices for store in update.stores for load in loads(store.value)}
    substitution = next(substitutions(update.dims, access_maps, operands, (*product.dims, *dims)), None)
    if substitution is None:
        return None
    shared = {(load.buffer, load.indices): load for load in operands}

    def change(node: Expression) -> Expression:
        return shared.get((node.buffer, node.indices), node) if isinstance(node, Load) else node

    rewrite = Rewriter(change, substitution.get)
    moved = [replace(rewrite_store(store, rewrite), along=dims) for store in update.stores]
    if not is_safe(product, moved) or len(_inner(moved, layouts)) > 1:
        return None
    if any(layouts[buffer].panel for nest in (product, update) for buffer in (*nest.reads(), *nest.writes())):
        return None  # the tiles of a nest begin where panels do, those of a sum need not
    origin = (*product.origin, *update.origin)
    both = replace(product, stores=(*product.stores, *moved), origin=origin)
    apart = instruction_count(product, layouts, target) + instruction_count(update, layouts, target)
    return both if instruction_count(both, layouts, target) <= apart else None


def _inner(stores: Sequence[Store], layouts: Mapping[Buffer, Layout]) -> set[Dim]:
    """Return the dimensions along which the matrices lie in one line."""
    pairs = [(store.buffer, store.indices) for store in stores]
    pairs += [(load.buffer, load.indices) for store in stores for load in loads(store.value)]
    positions = [linear(layouts[buffer], indices) for buffer, indices in pairs]
    inner: set[Dim] = set()
    for position in positions:
        dims = set(position.dims())
        if len(dims) > 1:
            inner.update(dim for dim in dims if position.coefficient(dim) == 1)
    return inner


def _summed_dims(nest: Nest) -> tuple[Dim, ...]:
    """Return the dimensions of the reductions of a nest, if all are sums over the same ones, without conditions."""
    reduced = {node.dims for node in nest.reductions()}
    over = sums_over(nest)
    return next(iter(over)) if len(reduced) == len(over) == 1 else ()


def _in_row_parts(
    nest: Nest, rows: Mapping[Buffer, Store], layouts: dict[Buffer, Layout], target: Target
) -> list[Nest]:
    sums, along = nest.reductions(), any(store.along for store in nest.stores)
    if not is_large(nest) or len(sums) != 1 or len(_summed_dims(nest)) != 1 or along:
        return [nest]
    (node,) = sums
    (dim,) = node.dims
    counts = range(costs.COSTS.row_sum_parts, 1, -1)
    terms = costs.COSTS.row_sum_terms
    count = next((n for n in counts if dim.extent % n == 0 and dim.extent >= n * terms), 1)
    for load in loads(node.body) if count > 1 else ():
        store = rows.get(load.buffer)
        lanes = _lanes_of_rows(nest, load, dim, layouts)
        if store is not None and lanes is not None and _is_by_rows(store, load, dim):
            parts, total = in_parts(nest, [node], dim, count, dim.extent // count)
            buffer = parts.stores[0].buffer
            width = target.lanes(buffer.dtype.itemsize)
            layouts[buffer] = with_lanes(buffer.shape, 1 + nest.dims.index(lanes), width)
            return [parts, total]
    return [nest]


def _lanes_of_rows(nest: Nest, load: Load, dim: Dim, layouts: Mapping[Buffer, Layout]) -> Dim | None:
    """Return the dimension along the rows of a matrix of which a nest adds up rows, each element once."""
    points = {dim for dim in nest.dims if dim.extent > 1}
    met = [dim for index in load.indices for dim in index.dims()]
    if len(met) != len(set(met)) or set(met) != {*points, dim}:
        return None
    position = linear(layouts[load.buffer], load.indices)
    return next((dim for dim in points if position.coefficient(dim) == 1), None)


def _is_by_rows(store: Store, load: Load, dim: Dim) -> bool:
    """Return whether the axis that a sum runs over follows the nest of the store, and not the sum of that nest."""
    (axis,) = (number for number, index in enumerate(load.indices) if dim in index.dims())
    return not set(store.indices[axis].dims()) & set(store.along)
