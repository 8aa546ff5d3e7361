"""Branches on cheap numbers become choices: both sides are computed, and each result is chosen by the predicate."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.engine.machine.costs import operation_count
from wengert.engine.nest.expression import (
    Apply,
    Buffer,
    Expression,
    Load,
    Rewriter,
    may_lie_outside,
    may_report,
)
from wengert.engine.nest.index import Index
from wengert.engine.nest.nest import Branch, Nest, Step, Store

#: Both sides together carry out so many operations at most: a choice costs all of them, a wrong guess about as much.
MOST_OPERATIONS = 24

_Place = tuple[Buffer, tuple[Index, ...]]


def selected(steps: Sequence[Step]) -> list[Step] | None:
    """Return steps with nests of choices in the place of branches; None where that cannot be done."""
    done: list[Step] = []
    for step in steps:
        if isinstance(step, Branch):
            nests = _choices(step)
            if nests is None:
                return None
            done += nests
        else:
            done.append(step)
    return done


def _choices(branch: Branch) -> list[Nest] | None:
    """Return a nest for each element that a branch writes."""
    sides = [selected(side) for side in (branch.yes, branch.no)]
    if None in sides:
        return None
    nests = [nest for side in sides for nest in side or ()]
    if not all(isinstance(nest, Nest) and _is_safe(nest) for nest in nests):
        return None
    if sum(operation_count(nest) for nest in nests if isinstance(nest, Nest)) > MOST_OPERATIONS:
        return None
    values = [_values_of([nest for nest in side or () if isinstance(nest, Nest)]) for side in sides]
    yes, no = values
    if yes is None or no is None:
        return None
    chosen: list[Nest] = []
    written: set[Buffer] = set()
    predicate = Load(branch.predicate, ())
    for place in dict.fromkeys((*yes, *no)):
        buffer, indices = place
        either = [side.get(place, Load(buffer, indices)) for side in (yes, no)]
        value = Apply("where", (predicate, *either), buffer.dtype, location=branch.location)
        if not written.isdisjoint(value.facts.buffers) or any(old is buffer for old in written):
            return None  # a nest before writes what this one reads
        written.add(buffer)
        chosen.append(Nest((), (Store(buffer, indices, value),), location=branch.location, origin=("where",)))
    return chosen


def _is_safe(nest: Nest) -> bool:
    """Return whether a nest of one point may run where its branch is not taken: it reports nothing, and reads inside."""
    if nest.dims or nest.has_reductions or any(store.combiner or store.along for store in nest.stores):
        return False
    indices = [index for _, indices in nest.accesses() for index in indices]
    return all(index.is_affine for index in indices) and not any(
        may_lie_outside(root) or may_report(root) or _divides_integers(root) for root in nest.roots()
    )


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


def _values_of(nests: Sequence[Nest]) -> dict[_Place, Expression] | None:
    """Return the last value of each element that nests of one point write, as functions of what was there before.

    None where an element may be read by another index than it was written by.
    """
    values: dict[_Place, Expression] = {}

    def value(node: Expression) -> Expression:
        return values.get((node.buffer, node.indices), node) if isinstance(node, Load) else node

    for nest in nests:
        written = {buffer: indices for buffer, indices in values}
        for buffer, indices in nest.accesses():
            if written.get(buffer, indices) != indices:
                return None
        rewriter = Rewriter(value)
        new = [((store.buffer, store.indices), rewriter(store.value)) for store in nest.stores]
        values.update(new)
    return values
