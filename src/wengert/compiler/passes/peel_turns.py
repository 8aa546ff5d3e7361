"""Branches on counters of loops are decided: for all turns, or once the first or last turns run apart.

``if i > 0`` in a loop over i holds in all turns but the first. That turn goes before the loop, and what is left needs
no branch; an index such as ``i - 1`` lies inside there, so that it needs no check either.
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from wengert.engine.core.dtypes import BOOL, INT64
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.nest.expression import Apply, Buffer, Const, Expression, Iota, Rewriter
from wengert.engine.nest.index import Computed, Dim, Index, Term
from wengert.engine.nest.nest import (
    Branch,
    Loop,
    Nest,
    Program,
    Step,
    all_steps,
    map_blocks,
    map_nests,
    writes,
)
from wengert.engine.nest.rewrite import rewrite_store

#: At the ends of a loop, so many turns may run apart.
_MOST_TURNS = 2
#: A turn of so many steps is written more than once, at most.
_MOST_STEPS = 40
_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}


class _Condition(NamedTuple):
    """A comparison of an index with zero."""

    operation: str
    number: Index

    def holds(self, number: int) -> bool:
        return _COMPARISONS[self.operation](number, 0)

    @property
    def decided(self) -> bool | None:
        """Whether it holds; None if that depends on counters."""
        low, high = self.number.bounds
        if self.operation in ("equal", "not_equal"):
            if low <= 0 <= high and low != high:
                return None
            return self.holds(low)
        return self.holds(low) if self.holds(low) == self.holds(high) else None

    def changes(self, counter: Dim) -> set[int]:
        """Return the turns at which it begins or ends to hold, if it depends on a counter alone."""
        slope = self.number.coefficient(counter)
        if self.number.only is not counter:
            return set()
        root = math.floor(-self.number.offset / slope)
        truth = {turn: self.holds(self.number.offset + slope * turn) for turn in range(root - 1, root + 3)}
        return {turn for turn in range(root, root + 3) if truth[turn] != truth[turn - 1]}


def peel_turns(program: Program) -> Program:
    """Return the program with branches on counters decided."""
    steps = _decided(_peeled(map_nests(program.steps, lambda nest: [_without_checks(nest)])), {})
    return program if steps == program.steps else replace(program, steps=steps)


# -- conditions ------------------------------------------------------------------------------------------


def _number(node: Expression) -> Index | None:
    """Return an integer as an affine index."""
    if isinstance(node, Iota) and node.index.is_affine and node.dtype == INT64:
        return node.index
    if isinstance(node, Const) and node.dtype == INT64:
        return Index(int(node.value))
    return None


def _condition(node: Expression) -> _Condition | None:
    if isinstance(node, Const) and node.dtype == BOOL:
        return _Condition("not_equal", Index(int(node.value)))
    if not (isinstance(node, Apply) and node.operation in _COMPARISONS):
        return None
    left, right = map(_number, node.operands)
    return None if left is None or right is None else _Condition(node.operation, left - right)


def _note(step: Step, known: dict[Buffer, _Condition]) -> None:
    """Note the conditions that a step leaves in buffers."""
    for buffer in writes(step):
        known.pop(buffer, None)
    if isinstance(step, Nest) and not step.dims:
        for store in step.stores:
            condition = _condition(store.value) if not (store.buffer.shape or store.combiner) else None
            if condition is not None:
                known[store.buffer] = condition


def _inside(step: Step, known: Mapping[Buffer, _Condition]) -> dict[Buffer, _Condition]:
    """Return what is known where a block of a step begins."""
    changing = set[Buffer]() if isinstance(step, Branch) else {*writes(step)}
    return {buffer: condition for buffer, condition in known.items() if buffer not in changing}


def _decided(steps: Sequence[Step], known: Mapping[Buffer, _Condition]) -> tuple[Step, ...]:
    """Return steps with one side of each branch whose condition is decided."""
    done: list[Step] = []
    here = dict(known)
    waiting = deque(steps)
    while waiting:
        step = waiting.popleft()
        truth = here[step.predicate].decided if isinstance(step, Branch) and step.predicate in here else None
        if isinstance(step, Branch) and truth is not None:
            waiting.extendleft(reversed(step.yes if truth else step.no))
            continue
        inside = _inside(step, here)
        done.append(map_blocks(step, lambda block, inside=inside: _decided(block, inside)))
        _note(step, here)
    return tuple(done)


def _branches(steps: Sequence[Step], known: Mapping[Buffer, _Condition]) -> Iterator[_Condition]:
    """Yield the conditions of the branches of a turn that are known."""
    here = dict(known)
    for step in steps:
        if isinstance(step, Branch) and step.predicate in here:
            yield here[step.predicate]
        found: list[_Condition] = []
        inside = _inside(step, here)

        def look(block: tuple[Step, ...], inside: Mapping[Buffer, _Condition] = inside) -> tuple[Step, ...]:
            found.extend(_branches(block, inside))  # noqa: B023
            return block

        map_blocks(step, look)
        yield from found
        _note(step, here)


# -- turns -----------------------------------------------------------------------------------------------


def _peeled(steps: Sequence[Step]) -> tuple[Step, ...]:
    done: list[Step] = []
    for step in steps:
        inner = map_blocks(step, _peeled)
        done += _pieces(inner) if isinstance(inner, Loop) and not inner.shared else [inner]
    return tuple(done)


def _pieces(loop: Loop) -> list[Step]:
    """Return a loop in pieces between which the conditions of its branches change, if all but one are short."""
    extent = loop.counter.extent
    changes = {turn for condition in _branches(loop.steps, {}) for turn in condition.changes(loop.counter)}
    places = sorted({0, extent, *(turn for turn in changes if 0 < turn < extent)})
    spans = list(pairwise(places))
    longest = max(stop - start for start, stop in spans) if spans else 0
    is_short = sum(1 for _ in all_steps(loop.steps)) <= _MOST_STEPS
    if len(spans) < 2 or extent - longest > _MOST_TURNS or not is_short:
        return [loop]
    pieces: list[Step] = []
    for start, stop in reversed(spans) if loop.reverse else spans:
        counter = Dim(stop - start, loop.counter.name)
        turn = Index.of(counter) + start
        steps = _decided([_at_turn(step, loop.counter, turn) for step in loop.steps], {})
        pieces += steps if counter.extent == 1 else [replace(loop, counter=counter, steps=steps)]
    return pieces


def _at_turn(step: Step, counter: Dim, turn: Index) -> Step:
    """Return a step with another index in the place of a counter."""
    if not isinstance(step, Nest):
        return map_blocks(step, lambda block: tuple(_at_turn(inner, counter, turn) for inner in block))
    rewriter = Rewriter(replace_term=lambda term: turn if term is counter else None)
    stores = tuple(rewrite_store(store, rewriter) for store in step.stores)
    return _without_checks(replace(step, stores=stores))


# -- positions -------------------------------------------------------------------------------------------


class _WithoutChecks(Rewriter):
    """Puts the index in the place of a checked position that lies inside: in loads, and in the conditions of guards."""

    def _term(self, term: Term) -> Index | None:
        rebuilt = super()._term(term)
        certain = _certain(term if rebuilt is None or rebuilt.only is None else rebuilt.only)
        return rebuilt if certain is None else certain


def _without_checks(nest: Nest) -> Nest:
    """Return a nest without the checks of positions that lie inside their axes."""
    if all(index.is_affine for _, indices in nest.accesses() for index in indices):
        return nest

    rewriter = _WithoutChecks()
    return replace(nest, stores=tuple(rewrite_store(store, rewriter) for store in nest.stores))


def _certain(term: Term) -> Index | None:
    """Return the index that a checked position is, if it lies inside, or as far before the beginning; else None."""
    position = term.expression if isinstance(term, Computed) else None
    if not (isinstance(position, Apply) and position.operation == "position"):
        return None
    number, extent = _number(position.operands[0]), position.param
    if number is None:
        return None
    low, high = number.bounds
    if low >= 0 and high < extent:
        return number
    return number + extent if -extent <= low and high < 0 and not position.requirement else None
