"""If-conversion: both sides of a branch on cheap numbers are computed, and the predicate chooses each result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from wengert.compiler.scalars import COMPARISONS
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine.costs import operation_count
from wengert.engine.nest.expression import (
    Apply,
    Buffer,
    Const,
    Expression,
    Load,
    Rewriter,
    may_report,
)
from wengert.engine.nest.index import Computed, Index
from wengert.engine.nest.nest import Branch, Nest, Step, Store, count_uses

#: Both sides together carry out so many operations at most: lanes cannot branch, and a choice costs all of them.
_MOST_OPERATIONS = 24
#: Where a loop runs turn by turn, a choice should cost less than a wrong guess of the processor, and no division.
_MOST_CHEAP = 8
_CHEAP = {"add", "subtract", "multiply", "negative", "absolute", "maximum", "minimum", "where", "positive"}

_Place = tuple[Buffer, tuple[Index, ...]]


def selected(steps: Sequence[Step], uses: Counter[Buffer]) -> list[Step] | None:
    """Return steps with nests of choices in the place of branches; None where that cannot be done.

    Args:
        steps: nests, branches, and other steps.
        uses: how many steps of the program without others inside use each buffer.
    """
    done: list[Step] = []
    for step in steps:
        if isinstance(step, Branch):
            nests = _choices(step, uses)
            if nests is None:
                return None
            done += nests
        else:
            done.append(step)
    return done


def cheap_choices(branch: Branch, uses: Counter[Buffer]) -> list[Nest] | None:
    """Return nests of choices in the place of a branch, if a wrong guess costs more than both sides; else None."""
    nests = _choices(branch, uses)
    if nests is None or sum(map(operation_count, nests)) > _MOST_CHEAP:
        return None
    if any(store.combiner for nest in nests for store in nest.stores):
        return None
    operations = {node.operation for nest in nests for node in nest.nodes() if isinstance(node, Apply)}
    return nests if operations <= _CHEAP | set(COMPARISONS) else None


def _choices(branch: Branch, uses: Counter[Buffer]) -> list[Nest] | None:
    """Return a nest for each element that a branch writes and other steps use."""
    sides = [selected(side, uses) for side in (branch.yes, branch.no)]
    if None in sides:
        return None
    nests = [nest for side in sides for nest in side or ()]
    if not all(isinstance(nest, Nest) and _is_safe(nest) for nest in nests):
        return None
    if sum(operation_count(nest) for nest in nests if isinstance(nest, Nest)) > _MOST_OPERATIONS:
        return None
    values = [_values_of([nest for nest in side or () if isinstance(nest, Nest)]) for side in sides]
    yes, no = values
    if yes is None or no is None:
        return None
    predicate = Load(branch.predicate, ())
    chosen: dict[_Place, Expression] = {}
    inside = count_uses([branch])
    for place in dict.fromkeys((*yes.written, *no.written)):
        if inside[place[0]] == uses[place[0]]:
            continue
        either = [side.written.get(place, Load(*place)) for side in (yes, no)]
        chosen[place] = Apply("where", (predicate, *either), place[0].dtype, location=branch.location)
    written = {buffer for buffer, _ in chosen}
    added = {buffer for side in (yes, no) for (buffer, _), _ in side.added}
    read = {buffer for side in (yes, no) for _, value in side.added for buffer in value.facts.buffers}
    read.update(buffer for value in chosen.values() for buffer in value.facts.buffers)
    if not added.isdisjoint(written | read):
        return None
    nests = _in_order(chosen, branch.location)
    return None if nests is None else [*_sums(predicate, yes, no, branch.location), *nests]


def _sums(predicate: Load, yes: _Values, no: _Values, location: str) -> list[Nest]:
    """Return nests that add what the side that is taken adds, and -0, which changes nothing, for the other side.

    An element to which either side adds once gets the choice of both values.
    """
    of_both = {
        place
        for place, count in Counter(place for place, _ in yes.added).items()
        if count == 1 and [other for other, _ in no.added].count(place) == 1
    }
    elsewhere = dict(no.added)
    terms = [(place, value, elsewhere[place] if place in of_both else None) for place, value in yes.added]
    terms += [(place, None, value) for place, value in no.added if place not in of_both]
    nests: list[Nest] = []
    for place, value, other in terms:
        dtype = place[0].dtype
        nothing = Const(dtype.type(-0.0), dtype)
        either = nothing if value is None else value, nothing if other is None else other
        chosen = Apply("where", (predicate, *either), dtype, location=location)
        nests.append(Nest((), (Store(*place, chosen, "add"),), location=location, origin=("where", "add")))
    return nests


def _in_order(values: dict[_Place, Expression], location: str) -> list[Nest] | None:
    """Return nests that write values each of which reads what was there before; None if there is no such order."""
    nests: list[Nest] = []
    left = dict(values)
    while left:
        for place in left:
            others = [value for other, value in left.items() if other is not place]
            if not any(place[0] in value.facts.buffers for value in others):
                break
        else:
            return None
        store = Store(*place, left.pop(place))
        nests.append(Nest((), (store,), location=location, origin=("where",)))
    return nests


def _is_safe(nest: Nest) -> bool:
    """Return whether a nest of one point may run where its branch is not taken: it reports nothing, reads inside."""
    if nest.dims or nest.has_reductions or any(store.along for store in nest.stores):
        return False
    if any(store.combiner and not _is_sum(store) for store in nest.stores):
        return False
    for buffer, indices in nest.accesses():
        for index, extent in zip(indices, buffer.shape, strict=True):
            low, high = index.bounds
            if low < 0 or high >= extent or any(isinstance(term, Computed) for term, _ in index.terms):
                return False
    return not any(may_report(root) or _divides_integers(root) for root in nest.roots())


def _divides_integers(root: Expression) -> bool:
    """Return whether an operation on integers may stop the processor."""
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if isinstance(node, Apply) and node.dtype.kind in "iu" and _is_division(node.operation):
            return True
        nodes += node.facts.children
    return False


def _is_division(operation: str) -> bool:
    return "divide" in operation or "remainder" in operation or "mod" in operation


class _Values(NamedTuple):
    """What a side of a branch does, in values as functions of what was there before."""

    written: dict[_Place, Expression]
    """The last value of each element that it writes."""
    added: list[tuple[_Place, Expression]]
    """What it adds to elements that it does not read, in order."""


def _is_sum(store: Store) -> bool:
    return store.combiner == "add" and store.buffer.dtype.kind == "f"


def _values_of(nests: Sequence[Nest]) -> _Values | None:
    """Return what nests of one point do; None where an element may be read by another index than it was written by."""
    values: dict[_Place, Expression] = {}
    added: list[tuple[_Place, Expression]] = []

    def value(node: Expression) -> Expression:
        return values.get((node.buffer, node.indices), node) if isinstance(node, Load) else node

    for nest in nests:
        written = dict(values.keys())
        for buffer, indices in nest.accesses():
            if written.get(buffer, indices) != indices:
                return None
        rewriter = Rewriter(value)
        new = [((store.buffer, store.indices), rewriter(store.value)) for store in nest.stores]
        for store, (place, changed) in zip(nest.stores, new, strict=True):
            if store.combiner:
                added.append((place, changed))
            else:
                values[place] = changed
    return _Values(values, added)
