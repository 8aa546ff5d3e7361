"""How many turns a loop takes at most, and after how many it checks for Ctrl-C."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from wengert.engine.core.dtypes import INT64
from wengert.engine.machine import costs
from wengert.engine.machine.costs import total_work
from wengert.engine.nest.expression import Apply, Buffer, Const, Expression, Guard, Iota, Load, Reduce, walk
from wengert.engine.nest.nest import Host, Loop, Nest, Step, While, all_steps, writes

_WIDEST = 1 << 40
"""A stride beyond could come back to an index by an overflow."""


def may_take_long(loop: Loop | While) -> bool:
    """Return whether a loop may take so long that it checks for Ctrl-C itself."""
    if any(isinstance(step, Host) for step in all_steps((loop,))):
        return True
    return total_work((loop,), most_turns) > costs.COSTS.unchecked_work


def turns_of_a_grain(steps: Sequence[Step]) -> int:
    """Return the turns that take about as long as a grain, a power of two; few if a turn may take longer."""
    inside = list(all_steps(steps))
    if any(isinstance(step, Host) for step in inside):
        return 1
    turns = costs.COSTS.grain_work // max(total_work(steps), 1)
    if any(isinstance(step, While) for step in inside):
        most = costs.COSTS.work_between_checks // total_work(steps, _unchecked_turns)
        turns = min(turns, most, costs.COSTS.turns_between_checks)
    return 1 << max(int(turns), 1).bit_length() - 1


def _unchecked_turns(loop: While) -> float:
    return 1 if may_take_long(loop) else most_turns(loop)


def most_turns(loop: While) -> float:
    """Return how many turns a loop takes at most.

    If each turn checks an index that is some elements further on than that of the turn before, the loop ends with the
    array, if need be by an error.
    """
    strides = _Strides(loop)
    most = math.inf if loop.counter is None else loop.counter.extent
    for step in (*loop.condition, *loop.steps):
        if isinstance(step, Nest) and not step.dims:
            seen: set[int] = set()
            for root in step.roots():
                for node in walk(root, Guard, Reduce, seen=seen):
                    if isinstance(node, Apply) and node.operation == "position":
                        stride = abs(strides.of(node.operands[0]) or 0)
                        if 0 < stride < _WIDEST:
                            places = node.param if node.requirement else 2 * node.param
                            most = min(most, places // stride + 2)
    return most


class _Strides:
    """By how much integers grow from one turn of a loop to the next."""

    def __init__(self, loop: While) -> None:
        self._loop = loop
        writers = Counter(buffer for step in (*loop.condition, *loop.steps) for buffer in writes(step))
        self._written = writers.keys()
        self._carries: dict[Buffer, int] = {}
        for step in loop.steps:
            if isinstance(step, Nest) and not step.dims:
                for store in step.stores:
                    if writers[store.buffer] == 1 and not store.buffer.shape and not store.combiner:
                        self._enter(store.buffer, store.value)

    def _enter(self, carry: Buffer, value: Expression) -> None:
        match value:
            case Apply("add" | "subtract", (Load(read), Const(number)), dtype) if (
                read is carry and dtype == INT64
            ):
                self._carries[carry] = int(number) if value.operation == "add" else -int(number)
            case _:
                pass

    def of(self, number: Expression) -> int | None:
        """Return the stride of an integer; None if it is not known to be the same in each turn."""
        match number:
            case Load(buffer) if buffer in self._carries:
                return self._carries[buffer]
            case Iota(index, dtype) if dtype == INT64 and all(
                term is self._loop.counter for term, _ in index.terms
            ):
                return sum(-factor if self._loop.reverse else factor for _, factor in index.terms)
            case Apply("add" | "subtract", (x, y), dtype) if dtype == INT64:
                strides = self.of(x), self.of(y)
                if strides[0] is None or strides[1] is None:
                    return None
                return strides[0] + (strides[1] if number.operation == "add" else -strides[1])
            case _:
                facts = number.facts
                is_fixed = self._written.isdisjoint(facts.buffers) and self._loop.counter not in facts.dims
                return 0 if is_fixed else None
