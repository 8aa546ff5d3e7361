"""What rewritten loops call: Python's own loop, or one of the program."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.boxes import OBSERVED, RUNNING, Box
from wengert.engine.staged.branches import clear, if_
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.iterables import Rows, check_rest, rows_of, started
from wengert.engine.staged.loop_staging import MOST_UNROLLED, Loop, LoopStaging
from wengert.engine.staged.raising import (
    run,
)
from wengert.engine.staged.regions import (
    FLOW,
    Region,
    going_through,
)
from wengert.engine.transforms.staging import equations_written, provisionally

#: Behind so many turns, which may fill a list of a bounded length, a last attempt is made to stage the rest; in blocks.
_SETTLED = 128, 8
#: Iterators that end, and whose elements need nothing but themselves.
_ITERATORS: Any = (
    *(itertools.product, itertools.combinations, itertools.permutations, np.ndindex),
    *map(type, (iter(()), iter(range(0)))),
)


def for_(iterable: Any, body: Callable[[Any], None], state: Any, info: Any, exits: Callable[[], Any]) -> None:
    """Carry out a ``for`` statement.

    Args:
        iterable: what it goes through.
        body: a turn, which takes the element.
        state: a function that closes over the variables that a turn binds.
        info: what is known of these.
        exits: returns the flags that end the loop.
    """
    iterable = started(iterable)
    if isinstance(iterable, _ITERATORS) and not exits():  # the loop goes to its end
        iterable = [*iterable]
    rows = rows_of(iterable)
    if rows is None:
        with going_through(iterable):
            _for_others(iterable, body, state, info, exits)
        return
    rows = rows.taken()
    loop = _For(rows, body, state, info, exits)
    with going_through(*rows.lists):
        if isinstance(rows.length, Box):
            loop.stage(0)
        else:
            loop.carry_out(rows.length)
    rows.check()


def _for_others(iterable: Any, body: Callable[[Any], None], state: Any, info: Any, exits: Any) -> None:
    for item in iterable:
        going = clear(*exits())
        if going is False:
            return
        if isinstance(going, Box):
            check_rest(iterable)
            if_(going, lambda item=item: body(item), None, state, info)
        else:
            run(body, item)
        if FLOW.probing:
            return


def while_(
    test: Callable[[], Any], body: Callable[[], None], state: Any, info: Any, exits: Callable[[], Any]
) -> None:
    """Carry out a ``while`` statement.

    Args:
        test: the condition.
        body: a turn.
        state: a function that closes over the variables that a turn binds.
        info: what is known of these.
        exits: returns the flags that end the loop.
    """
    _While(test, body, state, info, exits).carry_out()


class _For(Loop):
    """A ``for`` statement over rows."""

    def __init__(self, rows: Rows, body: Callable[[Any], None], state: Any, info: Any, exits: Any) -> None:
        super().__init__([body], state, info, exits)
        self.rows, self.body = rows, body

    def carry_out(self, length: int) -> None:
        """Carry out a known number of turns: as a loop of the program, if a turn depends on what only a run knows."""
        may_stage, number, attempt = RUNNING.traced > 0, 0, 0
        while number < length:
            going = clear(*self.exits())
            if going is False:
                return
            is_long = may_stage and number >= attempt and length - number > MOST_UNROLLED and not FLOW.probing
            if (
                is_long
                and (number or self.entry.is_traced or self.is_traced(lambda: self.turn(0)))
                and (number or not self._fills())
            ):
                may_settle = FLOW.is_strict and number < _SETTLED[bool(OBSERVED)]
                if self.try_to_stage(lambda number=number: self.stage(number), may_settle):
                    return
                may_stage, attempt = may_settle, 2 * number + 1
            before = equations_written()
            if isinstance(going, Box):
                if_(going, lambda number=number: self.turn(number), None, self.state, self.info)
            else:
                self.turn(number)
            if FLOW.probing:
                return
            if number == 0 and may_stage and equations_written() == before:
                may_stage = self._goes_on_known(length)
                return
            number += 1

    def _fills(self) -> bool:
        """Return whether the first turn gives a variable a value in the place of None: it runs apart then."""
        return self.entry.fills and any(name.content is None for name in self.names)

    def _goes_on_known(self, length: int) -> bool:
        """Carry out the turns behind the first as long as they write no equations, then those that do."""
        number = 1
        while number < length and clear(*self.exits()) is True:
            before = equations_written()
            self.turn(number)
            number += 1
            if equations_written() != before:
                break
        if number < length and clear(*self.exits()) is not False:
            rest = _For(
                Rows(length - number, lambda k: self.rows.element(number + k)),
                self.body,
                self.state,
                self.info,
                self.exits,
            )
            rest.carry_out(length - number)
        return False

    def turn(self, number: Any) -> None:
        """Carry out a turn."""
        run(self.body, self.rows.element(number))

    def stage(self, first: int) -> None:
        """Make the turns from a number on a loop of the program."""
        length = self.rows.length
        if self.info[1]:
            raise refusal("for", "a global variable is assigned in a loop", hint="return the value")
        known = None if isinstance(length, Box) else length - first
        staging = LoopStaging(self, lambda k: self.turn(first + k), None, known, length)
        if clear(*self.exits()) is not True:
            staging.may_take_no_turn()
        staging.stage()


class _While(Loop):
    """A ``while`` statement."""

    def __init__(
        self, test: Callable[[], Any], body: Callable[[], None], state: Any, info: Any, exits: Any
    ) -> None:
        super().__init__([test, body], state, info, exits)
        self.test, self.body = test, body

    def _again(self) -> Any:
        return self.going(lambda: run(self.test))

    def carry_out(self) -> None:
        """Carry out turns as long as the test is known; if a turn makes it unknown, make all a loop of the program.

        Many turns that write equations are a loop of the program, too, if their number is known.
        """
        turns, before = 0, 0
        may_stage = RUNNING.traced > 0 and not FLOW.trying  # a handler may go on behind any turn
        while True:
            going = self._again()
            if not isinstance(going, Box):
                if not going:
                    return
                is_long = may_stage and turns == MOST_UNROLLED and equations_written() != before
                if is_long and self.try_to_stage(lambda: self._stage(True, is_counted=True)):
                    return
                if turns or FLOW.probing or not (self.entry.is_traced or self._becomes_unknown()):
                    before = equations_written()
                    run(self.body)
                    if FLOW.probing:
                        return
                    turns += 1
                    continue
            self._stage(going, is_counted=False)
            return

    def _stage(self, going: Any, is_counted: bool) -> None:
        """Make the turns a loop of the program.

        Args:
            going: whether the first one takes place.
            is_counted: whether the number of turns must be known.
        """
        if self.info[1]:
            raise refusal("while", "a global variable is assigned in a loop", hint="return the value")
        staging = LoopStaging(self, lambda _: run(self.body), self.test, None, None)
        staging.always, staging.going, staging.counts = going is True, going, is_counted
        staging.stage()

    def _becomes_unknown(self) -> bool:
        """Return whether the test is unknown after the first turn."""
        found = False
        FLOW.probing += 1
        try:
            with Region(self.functions, self.names), provisionally(), contextlib.suppress(Exception):
                run(self.body)
                found = isinstance(self._again(), Box) or isinstance(FLOW.code, Box)
        finally:
            FLOW.probing -= 1
        self.entry.is_traced = found
        return found
