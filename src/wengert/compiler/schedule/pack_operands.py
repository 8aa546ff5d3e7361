"""Operand packing: factors of large products are copied first.

A product with enough terms for each element of its factors takes `block_products`; of others, an operand may be copied
so that it is contiguous along the lanes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wengert.compiler.schedule.block_products import blocked_product
from wengert.compiler.schedule.layout import Layout, linear, with_lanes, with_panels
from wengert.compiler.schedule.likeness import Likeness
from wengert.compiler.schedule.loop_order import load_dims
from wengert.compiler.schedule.schedule import choose_schedule, instruction_count
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine import costs
from wengert.engine.machine.costs import operation_count
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import Buffer, Expression, Load, Reduce, free_dims, loads, may_lie_outside
from wengert.engine.nest.index import Dim, Index, follows
from wengert.engine.nest.nest import Branch, Loop, Nest, Program, Step, Store, While, writes
from wengert.engine.nest.rewrite import rewrite_step


def pack_operands(program: Program, layouts: dict[Buffer, Layout], target: Target) -> Program:
    """Return the program with copies of operands in other orders, and add their layouts.

    The gradient of a dense layer's weights, ``dW[i, o] = sum over n of x[n, i] g[n, o]``, has the batch innermost in
    both factors and sums over it, which leaves a sum across a register for every element. With a copy of ``g`` along
    ``o``, the lanes run along ``o`` and no such sum is left.
    """
    return replace(program, steps=_Packing(layouts, target).steps(program.steps, ()))


class _Around(NamedTuple):
    """A loop around a nest."""

    turns: int
    changing: set[Buffer]
    """The buffer that it writes."""


class _Choice(NamedTuple):
    """The copies for a nest: places among the factors that could be copied, of the nest and of the changed one."""

    order: int | None
    """Of the factor that is copied in another order."""
    panels: tuple[int, int] | None
    """Of the factor that is copied into panels, with the elements of a panel."""


class _Packing:
    def __init__(self, layouts: dict[Buffer, Layout], target: Target) -> None:
        self.layouts = layouts
        self.target = target
        self.choices: dict[Any, _Choice] = {}
        """The choices so far, by what nests have in common."""

    def steps(self, steps: Sequence[Step], around: tuple[_Around, ...]) -> tuple[Step, ...]:
        """Return steps inside loops with copies of operands."""
        done: list[Step] = []
        for step in steps:
            match step:
                case Nest():
                    done += blocked_product(step, self.layouts, self.target) or self._with_copies(
                        step, around
                    )
                case Loop(steps=inner) | While(steps=inner):
                    turns = step.counter.extent if isinstance(step, Loop) else 1
                    loops = (*around, _Around(turns, set(writes(step))))
                    first, remainder = _taken_out(self.steps(inner, loops), loops[-1].changing)
                    done += [*first, replace(step, steps=remainder)]
                case Branch(yes=yes, no=no):
                    done.append(replace(step, yes=self.steps(yes, around), no=self.steps(no, around)))
                case _:
                    done.append(step)
        return tuple(done)

    def _with_copies(self, nest: Nest, around: tuple[_Around, ...]) -> list[Step]:
        """Return a nest, behind the copies that make it cheaper if there are such."""
        amount = operation_count(nest) * math.prod(loop.turns for loop in around)
        is_small = amount < costs.COSTS.packed_product_work
        if is_small or nest.sequential or len({*nest.reductions()}) > costs.COSTS.packed_sums:
            return [nest]
        key = _key(nest, self.layouts, around)
        choice = self.choices.get(key)
        copies: list[Step] = []
        order = choice.order if choice else _order(nest, self.layouts, self.target, around)
        if order is not None:
            load, dim = _candidates(nest)[order]
            copy, copied, nest = _copied(nest, load)
            self.layouts[copied.buffer] = _layout_along(copied, dim, self.target)
            copies.append(copy)
        panels = choice.panels if choice else _panels(nest, self.layouts, self.target, around)
        if panels is not None:
            place, width = panels
            load, dim = _candidates(nest)[place]
            copy, copied, nest = _copied(nest, load)
            self.layouts[copied.buffer] = with_panels(copied.buffer.shape, _axis(copied, dim), width)
            copies.append(copy)
        self.choices[key] = _Choice(order, panels)
        return [*copies, nest]


def _key(nest: Nest, layouts: Mapping[Buffer, Layout], around: Sequence[_Around]) -> Any:
    """Return all that the choice of copies depends on."""
    likeness = Likeness(layouts)
    likeness.add_nest(nest)
    buffers = [each for each in likeness.met if isinstance(each, Buffer)]
    loops = tuple((loop.turns, *(buffer in loop.changing for buffer in buffers)) for loop in around)
    return likeness.key, loops


def _axis(load: Load, dim: Dim) -> int:
    """Return the axis that a dimension follows."""
    return next(n for n, index in enumerate(load.indices) if index.coefficient(dim))


def _layout_along(load: Load, dim: Dim, target: Target) -> Layout:
    """Return the layout of a copy that lies along a dimension."""
    return with_lanes(load.buffer.shape, _axis(load, dim), target.lanes(load.buffer.dtype.itemsize))


def _taken_out(steps: Sequence[Step], changing: set[Buffer]) -> tuple[list[Nest], tuple[Step, ...]]:
    """Return the copies in a loop that are the same in each turn, and the other steps."""
    first = [
        step for step in steps if isinstance(step, Nest) and _is_copy(step) and _is_fixed(step, changing)
    ]
    return first, tuple(step for step in steps if step not in first)


def _is_copy(step: Step) -> bool:
    return isinstance(step, Nest) and step.origin == ("pack",)


def _is_fixed(copy: Nest, changing: set[Buffer]) -> bool:
    value = copy.stores[0].value
    return free_dims(value) <= set(copy.dims) and changing.isdisjoint(value.facts.buffers)


def _order(
    nest: Nest, layouts: Mapping[Buffer, Layout], target: Target, around: tuple[_Around, ...]
) -> int | None:
    """Return the factor of which a copy in another order makes a nest cheapest, if one does."""
    before = instruction_count(nest, layouts, target)
    best: tuple[float, int] | None = None
    for place, (load, dim) in enumerate(_candidates(nest)):
        copy, copied, changed = _copied(nest, load)
        layout = _layout_along(copied, dim, target)
        cost = instruction_count(changed, {**layouts, copied.buffer: layout}, target)
        cost += costs.COSTS.packed_element_cost * copied.buffer.size / _uses(copy, around)
        if cost < before * costs.COSTS.packing_gain and (best is None or cost < best[0]):
            best = cost, place
    return best[1] if best else None


def _uses(copy: Nest, around: Sequence[_Around]) -> int:
    """Return how often a copy is used: in each turn of the loops out of which it can be taken."""
    count = 1
    for loop in reversed(around):
        if not _is_fixed(copy, loop.changing):
            break
        count *= max(loop.turns, 1)
    return count


def _panels(
    nest: Nest, layouts: Mapping[Buffer, Layout], target: Target, around: tuple[_Around, ...]
) -> tuple[int, int] | None:
    """Return the factor of a product that its tiles read over and over, and the elements of a panel of it."""
    schedule = choose_schedule(nest, layouts, target)
    lanes = schedule.lanes
    if lanes is None or lanes not in nest.dims or not schedule.tile:
        return None
    panel = schedule.tile.get(lanes, 1) * schedule.width
    for place, (load, dim) in enumerate(_candidates(nest)):
        layout = layouts[load.buffer]
        aligned = layout.lanes is not None and not layout.panel
        if dim is not lanes or aligned or lanes.extent <= panel or not _is_far(load, nest, layouts, target):
            continue
        swept = math.prod(dim.extent for dim in _summed(load, nest))
        others = math.prod(
            dim.extent // schedule.tile.get(dim, 1) for dim in nest.dims if dim not in load_dims(load)
        )
        turns = _uses(_copied(nest, load)[0], around)
        large = swept * panel * load.buffer.dtype.itemsize > target.level1 * costs.COSTS.panel_cache_share
        if others * turns >= costs.COSTS.panel_readers and (large or turns > 1):
            return place, panel
    return None


def _is_far(load: Load, nest: Nest, layouts: Mapping[Buffer, Layout], target: Target) -> bool:
    """Return whether the tiles that read a panel cannot find it in the cache where it lies.

    Either all of the factor is more than the cache holds, or the rows of a panel compete for the same lines of it.
    """
    item, layout = load.buffer.dtype.itemsize, layouts[load.buffer]
    if layout.size * item > target.level2:
        return True
    position = linear(layout, load.indices)
    return any(
        position.coefficient(dim) * item % costs.COSTS.aliasing_bytes == 0 for dim in _summed(load, nest)
    )


def _summed(load: Load, nest: Nest) -> set[Dim]:
    """Return the dimensions of sums that a load follows."""
    return load_dims(load) & (nest.own_dims() - set(nest.dims))


def _candidates(nest: Nest) -> list[tuple[Load, Dim]]:
    """Return the factors of sums of products that could lie in another order, and along which dimension."""
    candidates: list[tuple[Load, Dim]] = []
    own = nest.own_dims()
    for node in nest.nodes():
        if isinstance(node, Reduce) and node.combiner == "add":
            for load in loads(node.body):
                dims = [follows(index, own) for index in load.indices]
                followed = [dim for dim in dims if dim is not None]
                plain = all(
                    d is not None or (i.is_affine and not (set(i.dims()) & own))
                    for d, i in zip(dims, load.indices, strict=True)
                )
                # A copy reads every element, also where a guard keeps the product from reading it.
                if plain and not may_lie_outside(load) and len(set(followed)) == len(followed) >= 2:
                    candidates += [(load, dim) for dim in followed if dim.extent >= costs.COSTS.packed_extent]
    return candidates


def _copied(nest: Nest, load: Load) -> tuple[Nest, Load, Nest]:
    """Return the nest that copies an operand, the load of the copy, and the nest that uses it."""
    own = nest.own_dims()
    dims = [dim for index in load.indices if (dim := follows(index, own)) is not None]
    buffer = Buffer(load.buffer.dtype, tuple(dim.extent for dim in dims), load.buffer.name)
    fresh = {dim: Dim(dim.extent, dim.name) for dim in dims}
    source = tuple(
        index.substitute(lambda term: Index.of(fresh[term]) if term in fresh else None)  # pyright: ignore[reportArgumentType]
        for index in load.indices
    )
    target = tuple(Index.of(fresh[dim]) for dim in dims)
    copy = Nest(
        tuple(fresh.values()),
        (Store(buffer, target, Load(load.buffer, source)),),
        location=nest.location,
        origin=("pack",),
    )
    moved = Load(buffer, tuple(map(Index.of, dims)))

    def change(node: Expression) -> Expression:
        same = isinstance(node, Load) and node.buffer is load.buffer and node.indices == load.indices
        return moved if same else node

    changed = rewrite_step(nest, change)
    assert isinstance(changed, Nest)
    return copy, moved, changed
