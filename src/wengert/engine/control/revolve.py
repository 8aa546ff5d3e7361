"""Binomial checkpointing: a loop run backward with room for a fixed number of its states.

Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse automatic differentiation" (1992),
and Griewank and Walther, "Algorithm 799: revolve" (2000). With s checkpoints, ``beta(s, r) = binomial(s + r, s)`` turns
can be reversed if each is carried out at most r times without its residuals. No schedule takes fewer turns than this
one, ``t(l, s) = r l - beta(s + 1, r - 1)`` for l turns, where r is the least number with ``l <= beta(s, r)``.

Turns go backward in blocks, of which the residuals have room: l is the number of blocks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.boxes import recording
from wengert.engine.control.bounded_scan import ENDLESS, bounded_scan_primitive, pull_bounded
from wengert.engine.control.scan_primitive import carries_of_residuals, parts
from wengert.engine.control.subgraphs import (
    Flags,
    Values,
    may_raise,
    memoized,
    or_zero,
    select,
    spread,
    subgraph,
    vjp_graph,
)
from wengert.engine.control.tapes import unwritten
from wengert.engine.control.values import fit, strong, zeros
from wengert.engine.core.dtypes import is_inexact
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.graph import Graph, Var
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.ops.arithmetic import maximum
from wengert.engine.ops.comparison import greater, less, logical_and, where
from wengert.engine.ops.indexing import add_at, gather, scatter
from wengert.engine.transforms.staging import evaluate, stage

INTEGER = TensorType(np.dtype(np.int64), ())


def repeat_while(
    test: Callable[..., Any],
    step: Callable[..., Sequence[Any]],
    state: Sequence[Any],
    raises: bool = False,
) -> list[Any]:
    """Carry a state through steps as long as a test holds.

    Args:
        test: takes the state.
        step: takes the state and returns the next one.
        state: the first state.
        raises: whether operations of a step raise errors: those on values from outside then are no part of the
            program before the loop, which may take no step.
    """

    def turn(going: Any, number: Any, *values: Any) -> list[Any]:
        with recording(number.owner) if raises else contextlib.nullcontext():
            following = step(*values)
            return [test(*following), number + 1, *following]

    going, number = test(*state), np.int64(0)
    graph, captured = stage(turn, list(map(type_of, (going, number, *state))))
    results = bounded_scan_primitive(
        np.int64(ENDLESS),
        *captured,
        going,
        number,
        *state,
        body=graph,
        constants=len(captured),
        carries=2 + len(state),
        length=ENDLESS,
        reverse=False,
        stops=True,
    )
    return list(results[2:])


def split(length: Any, slots: Any) -> Any:
    """Return after how many of the next ``length`` turns to keep a state, with ``slots`` checkpoints for them.

    The state before the first of these turns takes one of the checkpoints. Both numbers are 2 or more.
    """

    def step(repetitions: Any, reach: Any) -> list[Any]:
        repetitions = repetitions + 1
        return [repetitions, reach * (repetitions + slots) // repetitions]

    repetitions, reach = repeat_while(
        lambda repetitions, reach: less(reach, length), step, [np.int64(0), np.int64(1)]
    )
    # The numbers beta(s, r - 1), beta(s - 1, r - 1), beta(s - 2, r - 1), beta(s, r - 2), beta(s - 3, r).
    first = reach * repetitions // (slots + repetitions)
    second = first * slots // (slots + repetitions - 1)
    third = where(greater(slots, 2), second * (slots - 1) // (slots + repetitions - 2), 1)
    least = second * (repetitions - 1) // slots
    fifth = where(greater(slots, 3), third * (slots - 2) // repetitions, where(greater(slots, 2), 1, 0))
    between = length - second - third
    many = where(less(length, reach - fifth), between, first)
    return where(less(first + third, length), many, maximum(least, 1))


class Apart(NamedTuple):
    """The backward pass of a block of turns in parts."""

    step: Graph
    """A turn: from constants and carries to the carries and a row of residuals."""
    fill: Graph
    """From the number of turns, the constants and the carries to the residuals of these turns."""
    back: Graph
    """From these inputs, the residuals and the cotangents that arrive to the cotangents."""
    rows: list[Var]
    """The residuals of a block."""


class Recomputed:
    """A loop of which the backward pass keeps some states, and carries the other turns out again.

    Args:
        body: the step, as that of a scan.
        constants: the number of constants.
        carries: the number of carries.
        reverse: whether the first turn takes the last row.
        active: which operands get cotangents; active carries are those of any turn.
        slots: the number of states to keep.
        block: the number of turns whose residuals are kept at once; 1 where a loop has slices or stacked results.
    """

    def __init__(
        self,
        body: Graph,
        constants: int,
        carries: int,
        reverse: bool,
        active: Flags,
        slots: int,
        block: int,
    ) -> None:
        self.body = body
        self.constants = constants
        self.carries = carries
        self.reverse = reverse
        self.slots = slots
        self.block = block
        self.active = parts(active, constants, carries)
        self.needed = carries_of_residuals(body, active, constants, carries)
        """The carries that a state consists of: the pass backward reads no others."""
        self.kept = sum(self.needed)
        self.advance = subgraph(body, body.inputs, select(body.outputs[:carries], self.needed))
        self.inexact = [is_inexact(type_.dtype) for type_ in body.output_types]
        unread = [not flag for flag in self.needed]
        self.back = self._back_of_block(unread) if block > 1 else vjp_graph(body, active, active)[0]
        self.raises = may_raise(body)

    def _back_of_block(self, unread: Flags) -> Graph:
        """Return the backward pass of a block: its first input is the number of turns."""
        active = [*self.active.constants, *self.active.carries, *self.active.slices]

        def run(turns: Any, *values: Any) -> list[Any]:
            operands, cotangents = values[: len(active)], values[len(active) :]
            _, pullback = pull_bounded(
                [turns, *operands],
                [False, *active],
                body=self.body,
                constants=self.constants,
                carries=self.carries,
                length=self.block,
                reverse=False,
                unread=unread,
                is_kept=True,
            )
            return select(pullback(spread(cotangents, self.inexact))[1:], active)

        seeds = map(strong, select(self.body.output_types, self.inexact))
        return stage(run, [INTEGER, *self.body.input_types, *seeds])[0]

    def apart(self) -> Apart | None:
        """Return the backward pass of a block in parts; None where it keeps nothing for each turn, or on tapes."""
        found = self._parts_of(self.back)
        if found is None or all(self.needed):
            return found
        whole = self._parts_of(self._back_of_block([False] * self.carries))
        return whole and found._replace(step=whole.step)

    def _parts_of(self, back: Graph) -> Apart | None:
        turns, inputs = back.inputs[0], back.inputs[: 1 + len(self.body.inputs)]
        scans = [x for x in back.equations if x.primitive == "bounded_scan" and x.operands[0] is turns]
        forward = scans[0] if scans else None
        if forward is None or forward.params["reverse"] or forward.params["carries"] != self.carries:
            return None
        rows = list(forward.outputs[self.carries :])
        if not rows or list(forward.operands) != list(inputs):
            return None
        fill = subgraph(back, inputs, rows)
        pulling = subgraph(back, (*inputs, *rows, *back.inputs[len(inputs) :]), back.outputs)
        ends = set(forward.outputs[: self.carries])
        if any(not ends.isdisjoint(x.operands) for x in pulling.equations):
            return None
        return Apart(forward.params["body"], fill, pulling, rows)

    def run(self, turns: Any, operands: Values, cotangents: Values) -> list[Any]:
        """Return the cotangents of the active operands, given one for each floating-point result."""
        groups = parts(operands, self.constants, self.carries)
        spread_out = spread(cotangents, self.inexact)
        carried = select(spread_out[: self.carries], self.active.carries)
        rows = [x for x in spread_out[self.carries :] if x is not None]
        sums = [zeros(strong(type_of(x))) for x in select(groups.constants, self.active.constants)]
        slices = [zeros(strong(type_of(x))) for x in select(groups.slices, self.active.slices)]
        saved = [self._first_of(x, turns) for x in select(groups.carries, self.needed)]
        count = len(sums), len(carried)

        def turn_back(end: Any, top: Any, positions: Any, *state: Any) -> list[Any]:
            saved, so_far = state[: self.kept], parts(state[self.kept :], *count)
            start = (end - 1) // self.block * self.block
            top, positions, saved, values = self._restored(turns, groups, start, top, positions, saved)
            row = self._row(turns, start)
            inputs = [*groups.constants, *self._carries(values), *(gather(x, row) for x in groups.slices)]
            if self.block > 1:
                inputs = [end - start, *inputs]
            end = start
            arriving = self._arriving(so_far.carries, rows, row)
            of = parts(evaluate(self.back, *inputs, *arriving), *count)
            sums = [total + term for total, term in zip(so_far.constants, of.constants, strict=True)]
            slices = [add_at(x, term, row) for x, term in zip(so_far.slices, of.slices, strict=True)]
            top = where(less(gather(positions, top), end), top, top - 1)
            return [end, top, positions, *saved, *sums, *of.carries, *slices]

        start = [turns, np.int64(0), self._first_of(np.int64(0), turns), *saved, *sums, *carried, *slices]
        results = repeat_while(lambda end, *state: greater(end, 0), turn_back, start, self.raises)
        return results[3 + self.kept :]

    def run_with_last(
        self, turns: Any, operands: Values, cotangents: Values, last: Values, fill: Graph, back: Graph
    ) -> list[Any]:
        """Return the cotangents of the active operands, given the residuals of the last block, too.

        Args:
            turns: the number of turns.
            operands: the constants and the first carries.
            cotangents: one for each floating-point result.
            last: the residuals of the turns since the last multiple of the block.
            fill: computes the residuals of a block from the number of its turns, the constants and the carries.
            back: computes the cotangents of a block from these inputs, its residuals and the cotangents that arrive.
        """
        groups = parts(operands, self.constants, self.carries)
        carried = select(spread(cotangents, self.inexact), self.active.carries)
        sums = [zeros(strong(type_of(x))) for x in select(groups.constants, self.active.constants)]
        saved = [self._first_of(x, turns) for x in select(groups.carries, self.needed)]
        nothing = self._carries([None] * self.kept)

        def turn_back(end: Any, top: Any, positions: Any, *state: Any) -> list[Any]:
            saved, rest = state[: self.kept], state[self.kept :]
            residuals, so_far = rest[: len(last)], parts(rest[len(last) :], len(sums), len(carried))
            start = (end - 1) // self.block * self.block
            inputs = [end - start, *groups.constants, *nothing, *residuals]
            arriving = self._arriving(so_far.carries, (), None)
            of = parts(evaluate(back, *inputs, *arriving), len(sums), len(carried))
            totals = [total + term for total, term in zip(so_far.constants, of.constants, strict=True)]
            top = maximum(where(less(gather(positions, top), start), top, top - 1), 0)
            before = maximum((start - 1) // self.block * self.block, 0)
            top, positions, saved, values = self._restored(turns, groups, before, top, positions, saved)
            residuals = evaluate(fill, start - before, *groups.constants, *self._carries(values))
            return [start, top, positions, *saved, *residuals, *totals, *of.carries]

        start = [turns, np.int64(0), self._first_of(np.int64(0), turns), *saved, *last, *sums, *carried]
        results = repeat_while(lambda end, *state: greater(end, 0), turn_back, start, self.raises)
        return results[3 + self.kept + len(last) :]

    def _carries(self, values: Values) -> list[Any]:
        """Return a value for each carry, given those of a state, which arrays may have kept."""
        types = self.body.output_types[: self.carries]
        found = [or_zero(x, type_) for x, type_ in zip(spread(values, self.needed), types, strict=True)]
        return list(map(fit, found, types))

    def _first_of(self, value: Any, turns: Any) -> Any:
        """Return an array with room for each state that is kept, of which the first is a value."""
        room = unwritten(turns, dtype=type_of(value).dtype, shape=(self.slots, *shape_of(value)))
        return scatter(room, value, np.int64(0))

    def _row(self, turns: Any, position: Any) -> Any:
        return turns - 1 - position if self.reverse else position

    def _arriving(self, carried: Values, rows: Values, row: Any) -> list[Any]:
        """Return the cotangent of each floating-point result of a turn."""
        types = self.body.output_types
        pairs = zip(spread(carried, self.active.carries), types[: self.carries], strict=True)
        first = [or_zero(x, strong(type_)) for x, type_ in pairs if is_inexact(type_.dtype)]
        return [*first, *(gather(x, row) for x in rows)]

    def _restored(
        self, turns: Any, groups: Any, start: Any, top: Any, positions: Any, saved: Values
    ) -> tuple[Any, Any, Any, list[Any]]:
        """Return the state before a turn, and the checkpoints that are kept on the way there."""

        def advanced(position: Any, target: Any, values: Values) -> list[Any]:
            def step(position: Any, *values: Any) -> list[Any]:
                row = self._row(turns, position)
                rows = (gather(x, row) for x in groups.slices)
                return [
                    position + 1,
                    *evaluate(self.advance, *groups.constants, *self._carries(values), *rows),
                ]

            state = [position, *values]
            return repeat_while(lambda position, *_: less(position, target), step, state, self.raises)

        def is_far(position: Any, top: Any, *_: Any) -> Any:
            return logical_and(greater(start - position, self.block), less(top, self.slots - 1))

        def keep(position: Any, top: Any, positions: Any, *state: Any) -> list[Any]:
            saved, values = state[: self.kept], state[self.kept :]
            blocks = (start - position) // self.block + 1
            target = position + split(blocks, self.slots - top) * self.block
            position, *values = advanced(position, target, values)
            top = top + 1
            positions = scatter(positions, position, top)
            saved = [scatter(x, value, top) for x, value in zip(saved, values, strict=True)]
            return [position, top, positions, *saved, *values]

        values = [gather(x, top) for x in saved]
        position = gather(positions, top)
        position, top, positions, *state = repeat_while(
            is_far, keep, [position, top, positions, *saved, *values]
        )
        saved, values = state[: self.kept], state[self.kept :]
        _, *values = advanced(position, start, values)
        return top, positions, saved, values


@memoized
def recomputing_adjoint(
    body: Graph,
    constants: int,
    carries: int,
    length: int,
    reverse: bool,
    active: Flags,
    slots: int,
    block: int,
) -> Graph:
    """Return the graph of the cotangents of a loop's active operands.

    Its inputs are the number of turns, the operands, and a cotangent for each floating-point result.
    """
    loop = Recomputed(body, constants, carries, reverse, active, slots, block)
    inputs = parts(body.input_types, constants, carries)
    slices = [TensorType(type_.dtype, (length, *type_.shape)) for type_ in inputs.slices]
    rows = [TensorType(type_.dtype, (length, *type_.shape)) for type_ in body.output_types[carries:]]
    results = [*map(strong, body.output_types[:carries]), *rows]
    operands = [*inputs.constants, *inputs.carries, *slices]
    cotangents = [type_ for type_ in results if is_inexact(type_.dtype)]

    def run(turns: Any, *values: Any) -> list[Any]:
        return loop.run(turns, values[: len(operands)], values[len(operands) :])

    return stage(run, [INTEGER, *operands, *cotangents])[0]
