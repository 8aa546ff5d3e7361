"""Predicate recovery: a value that is kept only to repeat the test of a choice gives way to the chosen value.

The derivative of ``y = where(x <= 0, 0, x)`` needs to know whether ``x <= 0``. That is whether ``y <= 0``, for every x,
NaN included; and y is what the next layer reads, so that x need not be kept beside it.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.compiler.scalars import COMPARISONS
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.nest.expression import Apply, Buffer, Const, Expression, Load, children
from wengert.engine.nest.nest import Nest, Program, Step, all_nests, map_nests, reads_whole
from wengert.engine.nest.rewrite import renamed


def recover_predicates(program: Program) -> Program:
    """Return the program without values that only repeat the test of a choice, whose result is tested instead."""
    nests = list(all_nests(program.steps))
    choices = dict(_choices(nests, program.outside()))
    if not choices:
        return program
    whole = {buffer for step in program.steps for buffer in reads_whole(step)}
    readers: dict[Buffer, list[Nest]] = {}
    for nest in nests:
        for buffer in choices.keys() & set(nest.reads()):
            readers.setdefault(buffer, []).append(nest)
    spared = {
        buffer: choice
        for buffer, choice in choices.items()
        if buffer not in whole
        and all(_is_only_tested(nest, buffer, choice.test) for nest in readers.get(buffer, ()))
    }
    # A value that replaces another is kept.
    spared = {buffer: choice for buffer, choice in spared.items() if choice.chosen not in spared}
    return replace(program, steps=_with_chosen(program.steps, spared)) if spared else program


class _Test(NamedTuple):
    """A comparison of a value with a number."""

    operation: str
    number: Any
    position: int
    """The position of the number among the operands."""

    @classmethod
    def of(cls, node: Expression) -> tuple[_Test, Expression] | None:
        """Return the comparison at a node, and the value compared."""
        if isinstance(node, Apply) and node.operation in COMPARISONS:
            for position, value in enumerate(reversed(node.operands)):
                number = node.operands[position]
                if isinstance(number, Const):
                    return cls(node.operation, number.value, position), value
        return None

    def holds(self, value: Const) -> bool:
        """Return whether a number passes the test."""
        pair = (value.value, self.number) if self.position else (self.number, value.value)
        return bool(getattr(np, self.operation)(*pair))


class _Choice(NamedTuple):
    """A choice between a value and a number, by a test that gives the same answer for the result."""

    test: _Test
    chosen: Buffer


def _choices(nests: Sequence[Nest], outside: Collection[Buffer]) -> Iterator[tuple[Buffer, _Choice]]:
    """Yield each buffer that a nest writes together with the choice between its value and a number."""
    times = Counter(buffer for nest in nests for buffer in nest.writes())
    for nest in nests:
        once = [
            store for store in nest.stores if times[store.buffer] == 1 and not (store.combiner or store.along)
        ]
        for tested, chosen in itertools.permutations(once, 2):
            together = tested.indices == chosen.indices and tested.buffer.shape == chosen.buffer.shape
            if together and tested.buffer not in outside:
                test = _chosen_by(chosen.value, tested.value)
                if test is not None:
                    yield tested.buffer, _Choice(test, chosen.buffer)


def _chosen_by(value: Expression, tested: Expression) -> _Test | None:
    """Return the test of a choice between another value and a number, if it gives the same answer for the result."""
    if not (isinstance(value, Apply) and value.operation == "where" and value.dtype == tested.dtype):
        return None
    condition, *branches = value.operands
    comparison = _Test.of(condition)
    if comparison is None or comparison[1] is not tested:
        return None
    test = comparison[0]
    for holds, number, same in ((True, *branches), (False, *reversed(branches))):
        if isinstance(number, Const) and same is tested and test.holds(number) == holds:
            return test
    return None


def _is_only_tested(nest: Nest, buffer: Buffer, test: _Test) -> bool:
    """Return whether a nest reads a buffer for no other reason than to test its elements."""
    if any(isinstance(root, Load) and root.buffer is buffer for root in nest.roots()):
        return False
    return all(
        _tested(node, buffer) == test
        for node in nest.nodes()
        if any(isinstance(child, Load) and child.buffer is buffer for child in children(node))
    )


def _tested(node: Expression, buffer: Buffer) -> _Test | None:
    """Return the test that a node is, if it is one of an element of a buffer."""
    comparison = _Test.of(node)
    if comparison is None or not isinstance(comparison[1], Load) or comparison[1].buffer is not buffer:
        return None
    return comparison[0]


def _with_chosen(steps: Sequence[Step], choices: Mapping[Buffer, _Choice]) -> tuple[Step, ...]:
    """Return the steps with the results of choices in the place of the values that were tested."""

    def without_operands(nest: Nest) -> list[Nest]:
        stores = tuple(store for store in nest.stores if store.buffer not in choices)
        return [nest if len(stores) == len(nest.stores) else replace(nest, stores=stores)]

    chosen = {buffer: choice.chosen for buffer, choice in choices.items()}
    return renamed(map_nests(steps, without_operands), chosen)
