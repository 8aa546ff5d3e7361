"""Loop distribution with scalar expansion: loops whose turns are independent become nests, which run along lanes.

A loop over elements, as people write it in Python, computes one element a turn. If no turn reads what another writes,
each nest of the loop takes the counter as a dimension, one after the other; a value that a turn makes for itself gets
an element for each turn. Every element has the operands and the operations that it had in the loop.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Sequence
from dataclasses import replace

from wengert.compiler.passes.fuse import fuse
from wengert.compiler.passes.select_branches import cheap_choices, selected
from wengert.compiler.passes.totals import with_totals
from wengert.engine.machine.target import Target
from wengert.engine.nest.expression import (
    Apply,
    Buffer,
    Const,
    Expression,
    Iota,
    Load,
    Reduce,
    Rewriter,
    is_check,
    walk,
)
from wengert.engine.nest.index import Computed, Digit, Dim, Index, Term, without_unit
from wengert.engine.nest.nest import (
    Branch,
    Loop,
    Nest,
    Program,
    Step,
    Store,
    While,
    count_uses,
    map_blocks,
    map_nests,
)
from wengert.engine.nest.rewrite import bijection, rewrite_store, substitute_dims

#: A loop falls apart into so many ranges of turns at most.
_MOST_RANGES = 5
#: Terms are added at once to the elements of at least so many turns, whose ends lie at so many places at most.
_LEAST_GATHERED, _MOST_EDGES = 16, 8


def spread_loops(program: Program, target: Target) -> Program:
    """Return the program with nests in the place of loops whose turns are independent."""
    spread = _Spread(program, target)
    steps = spread.steps(program.steps)
    return program if steps == program.steps else replace(program, steps=steps)


class _Spread:
    def __init__(self, program: Program, target: Target) -> None:
        self.program = program
        self.target = target
        self.uses = count_uses(program.steps)
        self.uses.update(program.outside())  # the caller uses them, too

    def steps(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """Return steps with nests in the place of loops."""
        done: list[Step] = []
        for step in steps:
            inner = map_blocks(step, self.steps)
            nests = self._nests(inner) if isinstance(inner, Loop) else None
            if nests is None and isinstance(inner, (Loop, While)):
                inner = replace(inner, steps=self._with_choices(inner.steps))
            done += [inner] if nests is None else nests
        return tuple(done)

    def _with_choices(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """Return the steps of a turn with choices in the place of cheap branches, which a processor guesses wrong."""
        done: list[Step] = []
        for step in steps:
            nests = cheap_choices(step, self.uses) if isinstance(step, Branch) else None
            if nests is not None:
                self.uses.subtract(count_uses([step]))
                self.uses.update(count_uses(nests))
            done += [step] if nests is None else nests
        return tuple(done)

    def _nests(self, loop: Loop) -> Sequence[Step] | None:
        """Return the nests of a loop, with the counter among their dimensions; None if turns are not independent."""
        if loop.shared or not all(isinstance(step, (Nest, Branch)) for step in loop.steps):
            return None
        steps = selected(map_nests(loop.steps, lambda nest: [_with_digits(nest)]), self.uses) or ()
        nests = [step for step in steps if isinstance(step, Nest)]
        if not nests or len(nests) < len(steps) or not all(map(_is_plain, nests)):
            return None
        if len(nests) > 1 and any(_reports_first(root) for nest in nests for root in nest.roots()):
            return None
        nests, totals = with_totals(nests, loop.counter)
        made: set[Buffer] = set()
        added: dict[Buffer, None] = {}
        ranges = _ranges(nests, loop)
        users: dict[Buffer, list[Nest]] = {}
        for nest in nests:
            for buffer in {*nest.reads(), *nest.writes()}:
                users.setdefault(buffer, []).append(nest)
        for buffer in dict.fromkeys(buffer for nest in nests for buffer in nest.writes()):
            touching = users[buffer]
            if _apart(buffer, touching, loop.counter):
                continue
            if all(_adding(buffer, touching, loop.counter, turns) for turns in ranges):
                added[buffer] = None
                continue
            if buffer in touching[0].reads() or not _writes_all(buffer, touching[0]):
                return None
            made.add(buffer)
        sums = [nest for nest in nests if nest.stores[0].buffer in added]
        if not _can_wait(sums, nests, made):
            return None
        return self._fused(loop, nests, made, sums, ranges, totals)

    def _fused(
        self,
        loop: Loop,
        nests: Sequence[Nest],
        made: set[Buffer],
        sums: Collection[Nest],
        ranges: Sequence[range],
        totals: Sequence[Nest],
    ) -> Sequence[Step] | None:
        """Return the nests of all turns, fused; None if the values that turns make for themselves outgrow the cache."""
        spread: list[Step] = []
        last = 0 if loop.reverse else loop.counter.extent - 1
        uses = count_uses(loop.steps)
        visible = [x for x in uses if self.uses[x] > uses[x]]
        for turns in ranges:
            part = _Turns(loop.counter, turns, made)
            changed = dict(zip(nests, map(part.nest, nests), strict=True))
            spread += [new for nest, new in changed.items() if nest not in sums]
            spread += _total([changed[nest] for nest in sums], loop.reverse)
            spread += [part.total(nest) for nest in totals]
            if last in turns:
                spread += [part.last(buffer, last) for buffer in visible if buffer in made]
        fused = fuse(replace(self.program, outputs=tuple(visible), steps=tuple(spread))).steps
        after = count_uses(fused)
        if sum(x.size * x.dtype.itemsize for x in after if x not in self.uses) > self.target.level2 // 2:
            return None
        self.uses.subtract(uses)
        self.uses.update(after)
        return fused


class _Turns:
    """A range of turns, whose nests take the counter as a dimension.

    Args:
        counter: counts the turns of the loop.
        turns: the range.
        made: the buffers that each turn makes anew. They get elements for each turn, and another buffer wherever all
            of them is written.
    """

    def __init__(self, counter: Dim, turns: range, made: set[Buffer]) -> None:
        self.counter = counter
        self.turns = turns
        self.made = made
        self.wide: dict[Buffer, Buffer] = {}
        """The buffers that stand for those that are made, as far as the nests have come."""

    def nest(self, nest: Nest) -> Nest:
        """Return a nest that runs over the turns as its first dimension."""
        turn = Index.of(self.counter) - self.turns.start
        wide = self.wide

        def widened(node: Expression) -> Expression:
            if isinstance(node, Load) and node.buffer in wide:
                return Load(wide[node.buffer], (turn, *node.indices))
            return node

        rewriter = Rewriter(widened)
        stores = [rewrite_store(store, rewriter) for store in nest.stores]
        made = {
            store.buffer for store in stores if store.buffer in self.made and _writes_all(store.buffer, nest)
        }
        self.wide = {**wide, **{x: Buffer(x.dtype, (len(self.turns), *x.shape), x.name) for x in made}}
        stores = [
            replace(store, buffer=self.wide[store.buffer], indices=(turn, *store.indices))
            if store.buffer in self.made
            else store
            for store in stores
        ]
        dim = Dim(len(self.turns), "i")
        place: dict[Term, Index] = {self.counter: Index.of(dim) + self.turns.start}
        changed = substitute_dims(replace(nest, stores=tuple(stores)), place)
        return replace(changed, dims=without_unit((dim, *changed.dims)))

    def total(self, nest: Nest) -> Nest:
        """Return the nest that adds what all turns have made for it to a scalar."""
        (store,) = nest.stores
        dim = Dim(len(self.turns), "i")

        def summed(node: Expression) -> Expression:
            if isinstance(node, Load) and node.buffer in self.wide:
                return Reduce(
                    "add", (dim,), Load(self.wide[node.buffer], (Index.of(dim),)), node.buffer.dtype
                )
            return node

        return replace(nest, stores=(replace(store, value=Rewriter(summed)(store.value)),))

    def last(self, buffer: Buffer, turn: int) -> Nest:
        """Return the nest that copies what a turn has made to where later steps read it."""
        dims = tuple(map(Dim, buffer.shape))
        indices = tuple(map(Index.of, dims))
        value = Load(self.wide[buffer], (Index(turn - self.turns.start), *indices))
        return Nest(without_unit(dims), (Store(buffer, indices, value),), origin=("copy",))


def _reports_first(root: Expression) -> bool:
    """Return whether there is a check whose error depends on the order of turns: Python raises the user's own again."""
    return any(
        is_check(node) and isinstance(node, Apply) and node.operation != "raised" for node in walk(root)
    )


def _is_plain(nest: Nest) -> bool:
    return not nest.sequential and not any(store.along for store in nest.stores)


def _with_digits(nest: Nest) -> Nest:
    """Return a nest whose positions that wrap around, or are remainders, are digits, of which lanes know the range."""

    def term(term: Term) -> Index:
        position = term.expression if isinstance(term, Computed) else None
        if not (isinstance(position, Apply) and position.operation == "position"):
            return Index.of(term)
        (number,), extent = position.operands, position.param
        if isinstance(number, Iota):
            low, high = number.index.bounds
            if number.index.is_affine and -extent <= low and high < extent:
                return (number.index + extent).digit(1, extent)
        elif isinstance(number, Apply) and number.operation == "remainder":
            value, modulus = number.operands
            if isinstance(value, Iota) and isinstance(modulus, Const):
                return _remainder(value.index, int(modulus.value), extent) or Index.of(term)
        return Index.of(term)

    def index(index: Index) -> Index:
        total = Index(index.offset)
        for x, coefficient in index.terms:
            total += term(x) * coefficient
        return total

    def change(node: Expression) -> Expression:
        if isinstance(node, Load) and not all(x.is_affine for x in node.indices):
            return Load(node.buffer, tuple(map(index, node.indices)))
        return node

    rewriter = Rewriter(change)
    stores = [rewrite_store(store, rewriter) for store in nest.stores]
    return replace(
        nest, stores=tuple(replace(store, indices=tuple(map(index, store.indices))) for store in stores)
    )


def _remainder(index: Index, modulus: int, extent: int) -> Index | None:
    """Return the remainder of an index as a digit; None where it may lie outside of an axis, or be negative."""
    if 0 < modulus <= extent and index.is_affine and index.bounds[0] >= 0:
        return index.digit(1, modulus)
    return None


def _apart(buffer: Buffer, nests: Sequence[Nest], counter: Dim) -> bool:
    """Return whether each turn uses elements of a buffer of its own, and each of them at one point of a nest."""
    accesses = {indices for nest in nests for accessed, indices in nest.accesses() if accessed is buffer}
    if len(accesses) != 1:
        return False
    (indices,) = accesses
    own = set(nests[0].dims) if len(nests) == 1 else set[Dim]()
    if len(nests) > 1 and any(not set(nest.dims).isdisjoint(x.dims()) for nest in nests for x in indices):
        return False
    return any(
        index.is_affine and index.coefficient(counter) and own.isdisjoint(index.dims()) for index in indices
    )


def _adding(buffer: Buffer, nests: Sequence[Nest], counter: Dim, turns: range) -> bool:
    """Return whether nests of one point only add to elements, which lie at constant distances along some turns."""
    if any(nest.dims or len(nest.stores) > 1 or buffer in _loaded(nest) for nest in nests):
        return False
    if any(nest.stores[0].combiner != "add" for nest in nests):
        return False
    if len(turns) == 1:
        return True
    if turns != range(counter.extent):
        part = Dim(len(turns), counter.name)
        place: dict[Term, Index] = {counter: Index.of(part) + turns.start}
        nests, counter = [substitute_dims(nest, place) for nest in nests], part
    stores = [nest.stores[0] for nest in nests]
    axes = [axis for axis, index in enumerate(stores[0].indices) if index.coefficient(counter)]
    if len(axes) != 1 or not all(index.is_affine for index in stores[0].indices):
        return False
    distances = [[x - y for x, y in zip(store.indices, stores[0].indices, strict=True)] for store in stores]
    return not any(
        distance.terms or (distance.offset and axis not in axes)
        for row in distances
        for axis, distance in enumerate(row)
    )


def _total(nests: Sequence[Nest], reverse: bool) -> list[Nest]:
    """Return nests that add what others add over a range of turns, to each element in the order of the turns."""
    groups: dict[Buffer, list[Nest]] = {}
    for nest in nests:
        groups.setdefault(nest.stores[0].buffer, []).append(nest)
    done: list[Nest] = []
    for group in groups.values():
        if group[0].dims:
            group = sorted(group, key=functools.partial(_order, reverse))
        done += _gathered(group) or group
    return done


def _gathered(nests: Sequence[Nest]) -> list[Nest] | None:
    """Return nests that add all terms of an element at once, one where the same terms reach the elements.

    None where that are too many nests for the elements, or elements that no term reaches lie between others.
    """
    first = nests[0].stores[0]
    if len(nests) < 2 or not first.indices or any(len(nest.dims) != 1 for nest in nests):
        return None
    (axis,) = (n for n, index in enumerate(first.indices) if index.coefficient(nests[0].dims[0]))
    slope = first.indices[axis].coefficient(nests[0].dims[0])
    spans = [_span(nest, axis) for nest in nests]
    places = sorted({end for span in spans for end in (span.start, span.stop)})
    if abs(slope) != 1 or len(places) > _MOST_EDGES or nests[0].dims[0].extent < _LEAST_GATHERED:
        return None
    done: list[Nest] = []
    for low, high in itertools.pairwise(places):
        dim = Dim(high - low, "i")
        place = Index.of(dim) + low if dim.extent > 1 else Index(low)
        indices = tuple(place if n == axis else index for n, index in enumerate(first.indices))
        value: Expression = Load(first.buffer, indices)
        for nest, span in zip(nests, spans, strict=True):
            if span.start <= low and high <= span.stop:
                turn = (place - nest.stores[0].indices[axis].offset) * slope
                moved: dict[Term, Index] = {nest.dims[0]: turn}
                term = substitute_dims(nest, moved).stores[0].value
                value = Apply("add", (value, term), first.buffer.dtype, location=nest.location)
        store = Store(first.buffer, indices, value)
        origin = tuple(dict.fromkeys(name for nest in nests for name in nest.origin))
        done.append(Nest(without_unit((dim,)), (store,), location=nests[0].location, origin=origin))
    return done


def _span(nest: Nest, axis: int) -> range:
    """Return the elements along an axis to which a nest adds."""
    low, high = nest.stores[0].indices[axis].bounds
    return range(low, high + 1)


def _loaded(nest: Nest) -> set[Buffer]:
    return {load.buffer for load in nest.loads()}


def _order(reverse: bool, nest: Nest) -> int:
    """Return a number by which nests that add to one element are in the order in which the turns add to it."""
    (index,) = (x for x in nest.stores[0].indices if x.coefficient(nest.dims[0]))
    return -index.offset if (index.coefficient(nest.dims[0]) > 0) != reverse else index.offset


def _can_wait(sums: Collection[Nest], nests: Sequence[Nest], made: set[Buffer]) -> bool:
    """Return whether sums may come after the other nests of a turn, which write nothing that the sums read."""
    later: set[Buffer] = set()
    for nest in reversed(nests):
        if nest not in sums:
            later.update(buffer for buffer in nest.writes() if buffer not in made)
        elif not later.isdisjoint(_loaded(nest)):
            return False
    return True


def _writes_all(buffer: Buffer, nest: Nest) -> bool:
    """Return whether a nest writes every element of a buffer anew."""
    stores = [store for store in nest.stores if store.buffer is buffer]
    if len(stores) != 1 or stores[0].combiner:
        return False
    return bijection(stores[0].indices, buffer.shape, nest.dims)


def _ranges(nests: Sequence[Nest], loop: Loop) -> list[range]:
    """Return ranges of turns in which no digit of an index wraps around, in order; all turns if there were many."""
    breaks: set[int] = set()
    counter = loop.counter
    for digit in {x for nest in nests for x in _digits_of(nest)}:
        slope = digit.index.coefficient(counter)
        if abs(slope) == 1 and digit.index.only is counter and digit.divisor == 1:
            first = -digit.index.offset if slope == 1 else digit.index.offset + 1
            breaks.update(range(first % digit.modulus, counter.extent, digit.modulus))
    bounds = sorted({0, *breaks, counter.extent})
    if len(bounds) > _MOST_RANGES + 1:
        return [range(counter.extent)]
    ranges = [range(start, stop) for start, stop in itertools.pairwise(bounds)]
    return ranges[::-1] if loop.reverse else ranges


def _digits_of(nest: Nest) -> list[Digit]:
    accesses = [*(load.indices for load in nest.loads()), *(store.indices for store in nest.stores)]
    return [
        term
        for indices in accesses
        for index in indices
        for term, _ in index.terms
        if isinstance(term, Digit)
    ]
