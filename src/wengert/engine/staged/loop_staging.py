"""Makes loops of rewritten source loops of the program: a turn is traced until the carry is settled."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

from wengert.engine.boxes import RUNNING, Box, recording, running
from wengert.engine.control.bounded_scan import bounded_scan_primitive
from wengert.engine.control.scan_primitive import scan_primitive
from wengert.engine.control.subgraphs import convert_outputs
from wengert.engine.control.values import bytes_of, fit
from wengert.engine.control.while_loop import while_primitive
from wengert.engine.core.dtypes import BOOL, INT64
from wengert.engine.ir.graph import Graph
from wengert.engine.ir.types import TensorType
from wengert.engine.ops.comparison import equal, logical_and
from wengert.engine.ops.conversion import cast
from wengert.engine.staged.aliases import release
from wengert.engine.staged.branches import both_hold, clear, truth
from wengert.engine.staged.carried import freeze_made, link_seen, link_shared, note_shared, slot_of
from wengert.engine.staged.contents import Content, Sharing, content_at
from wengert.engine.staged.counted import COUNTER, Turn, interval
from wengert.engine.staged.exchanged import give_up, refusal
from wengert.engine.staged.growing import GrowingList, Split, columns_with, is_held, is_of_block
from wengert.engine.staged.grown import Grown
from wengert.engine.staged.known_turns import steps_of, turns_of
from wengert.engine.staged.nullable import Maybe
from wengert.engine.staged.numbers import check_numbers, check_size
from wengert.engine.staged.raising import (
    joined,
    keep_strict,
    lost,
    note_number,
    note_unread,
    number_of,
    raise_refusal,
    run,
)
from wengert.engine.staged.rebound import keep_lists
from wengert.engine.staged.regions import (
    FLOW,
    Fact,
    Growth,
    GrowthError,
    Place,
    Region,
    StagingError,
    Variable,
    assuming,
    grows,
    key_of,
    put,
    variables,
)
from wengert.engine.staged.settled import Entry, Memory, is_at_least, recalled, remember, start_of
from wengert.engine.transforms.staging import GraphTrace, equations_written, provisionally

#: The largest number of turns that are always unrolled.
MOST_UNROLLED = 4
#: The memory of reverse mode for the states of a loop that ends by a condition: at least so many bytes and states.
LEAST_BYTES, LEAST_STATES = 16 << 20, 256
#: Inside of other loops, reverse mode keeps the values of such a loop's turns if it reads more bytes than that.
MOST_RESTARTED_BYTES = 256
#: Reverse mode has room for all turns of a loop that may take fewer, if they and their states are not more than that.
MOST_KEPT, MOST_KEPT_BYTES = 1 << 16, 1 << 26
#: How often a body is traced at most.
_MOST_DRAFTS = 32
_FLAG = TensorType(BOOL, ())


def _budget(types: Sequence[TensorType]) -> int:
    """Return the bytes that reverse mode may take for a carry of some types."""
    return max(LEAST_BYTES, LEAST_STATES * bytes_of(types))


class Loop:
    """A loop of rewritten source."""

    rows: Any = None
    """What a `for` statement goes through: `Rows`."""

    def __init__(self, functions: Sequence[Any], state: Any, info: Any, exits: Callable[[], Any]) -> None:
        self.functions = functions
        self.names = variables(state, info)
        self.state, self.info = state, info
        self.exits = exits
        memory: Any = None if FLOW.probing else FLOW.memory
        self.entry: Entry = Entry() if memory is None else memory.entry(functions[-1].__code__)
        """What earlier drafts of the block around found of this loop."""

    def is_traced(self, turn: Callable[[], None]) -> bool:
        """Return whether a turn writes equations; nothing of it is kept."""
        before = equations_written()
        FLOW.probing += 1
        try:
            with Region(self.functions, self.names), provisionally(), contextlib.suppress(Exception):
                empty = [name for name in self.names if name.content is None]
                turn()
                ends = [name.content for name in empty]
                self.entry.fills = any(value is not None and type(value) is not Maybe for value in ends)
        finally:
            FLOW.probing -= 1
        self.entry.is_traced = equations_written() != before
        return self.entry.is_traced

    def try_to_stage(self, stage: Callable[[], None], may_settle: bool = False) -> bool:
        """Make turns of which Python knows the number a loop of the program; return whether that can be.

        Args:
            stage: writes the loop.
            may_settle: whether another attempt follows behind some turns.
        """
        held, frozen = len(FLOW.held), FLOW.frozen.names()
        try:
            stage()
        except Exception as problem:  # the loop is unrolled; if it has an error of the user's, that raises it
            release(held)
            FLOW.frozen.keep(frozen)
            if isinstance(problem, GrowthError) and is_held(problem.container):
                raise
            if FLOW.is_strict:
                FLOW.spoiled = None if may_settle else problem
                if not may_settle:
                    raise
            return False
        return True

    def going(self, test: Callable[[], Any]) -> Any:
        """Return whether another turn follows: no flag is set, no exception was raised, and the test holds."""
        found = clear(*self.exits())
        return found if found is False else both_hold(found, test)


def _turns(count: int | None, length: Any) -> tuple[int, int | None]:
    """Return the least and the largest number of turns of a loop; None if that is not known, or too many to keep."""
    if count is not None:
        return count, count
    found = interval(length) if length is not None else None
    if found is None:
        return 0, None
    return found[0], max(found[1], 0) if found[1] <= MOST_KEPT else None


class LoopStaging:
    """Makes a loop one of the program.

    ``most`` is the largest number of turns, if known: of a loop inside of others, their counters may tell.

    Args:
        loop: the loop.
        turn: carries out a turn, given its number.
        test: the condition of a ``while`` statement, or None.
        count: the number of turns, unless an exit ends them; None where only a run knows it.
        length: the same as a value; None for a ``while`` statement.
    """

    def __init__(
        self, loop: Loop, turn: Callable[[Any], None], test: Any, count: int | None, length: Any
    ) -> None:
        self.loop, self.turn, self.count, self.length = loop, turn, count, length
        self.test: Any = test
        least, self.most = _turns(count, length)
        self.always = least > 0
        self.entry = loop.entry
        self.memory = self.entry.inner = self.entry.inner or Memory()
        self.growing: list[GrowingList] = []
        self.split: list[Split] = []
        self.is_relaxed = False
        """Whether the changes of lists are not known yet."""
        self.going: Any = True
        """Whether the condition of a `while` statement holds before the first turn."""
        self.counts = False
        """Whether Python knows the number of turns of a `while` statement."""
        self.evolution: dict[Any, tuple[int | None, Any]] = {}
        """What Python knows of numbers in each turn, by slots and leaves: how far each moves them, or their end."""
        self._begin()
        self.test_is_true = False
        """Whether only a flag, or an exception, ends the loop."""

    def _grow(self, problem: GrowthError) -> None:
        """Let something stand for a list that a turn makes longer or shorter."""
        container = problem.container
        is_known = any(container is one.container or container is one.stand for one in self.growing)
        if is_known or not (type(container) is Grown or is_of_block(problem)):
            raise problem
        if problem.kind is None and problem.structure is None:
            self._split_rows(problem)
        elif problem.kind is None:
            self.split.append(Split(problem, self.loop.functions))
        else:
            for one, kind in columns_with(container, problem.kind, self.loop.functions):
                self.growing.append(GrowingList(one, kind, self.most, self._ends_early(), problem.change))
        self.is_relaxed = True
        self._begin()

    def _split_rows(self, problem: GrowthError) -> None:
        """Let one list stand for a list of lists; where another name shows one of them, it stays as it is."""
        try:
            self.split.append(Split(problem, self.loop.functions))
        except StagingError:
            FLOW.plain.append(problem.container)

    def _ends_early(self) -> bool:
        """Return whether only a run knows how many turns are carried out, where the program goes on behind them."""
        return self.count is None or self._has_exits() or (self.raises and FLOW.trying > 0)

    def _has_exits(self) -> bool:
        """Return whether flags may end the loop before its number of turns is over."""
        return not self.counts and bool(self.loop.exits())

    def _begin(self) -> None:
        lists = {id(one.container) for one in self.growing}
        self.slots = {
            key_of(name): slot_of(name, self.always)
            for name in self.loop.names
            if (name.is_live or name.is_carried) and id(name.content) not in lists
        }
        for (key, place), known in self.evolution.items():
            if key in self.slots and place < len(
                self.slots[key].leaves
            ):  # the place holds it before the loop
                self.slots[key].leaves[place].evolve(*known)
        self.exchanged: dict[int, Box] = {}
        """The arrays from outside that the first turn may exchange, and later ones cannot read."""
        self.raises = False
        """Whether a turn may raise an exception that only a run knows."""

    def may_take_no_turn(self) -> None:
        """Note that a flag may end the loop before the first turn."""
        self.always = False
        self._begin()

    def stage(self) -> None:
        """Trace a turn until the carry is settled, and write the loop."""
        try:
            self._stage()
        except Exception as problem:
            for one in self.split:
                one.undo()
            tables = [one.container for one in self.split if one.is_table]
            if not tables or not isinstance(problem, StagingError) or FLOW.is_strict:
                raise
            self._stage_without(tables)

    def _stage_without(self, tables: list[Any]) -> None:
        """Make the loop one of the program in which lists of lists stay as they are."""
        FLOW.plain += tables
        self.split, self.growing = [], []
        self._begin()
        self.stage()

    def _stage(self) -> None:
        body, captured = self._counted_body()
        types = self._types()
        initial = [fit(value, type_) for value, type_ in zip(self._initial(), types, strict=True)]
        body = convert_outputs(body, types)
        if self.count is None and self.most is not None and self.most * bytes_of(types) > MOST_KEPT_BYTES:
            self.most = None
        is_plain = self.most is not None and not self.raises and not self._has_exits()
        boxes: list[bool] = []
        if FLOW.is_strict:
            if not is_plain:
                keep_strict("the number of turns depends on what only a run knows")
            boxes = check_numbers(body, captured, types, initial, self.most or 0)
            if RUNNING.written is None:
                check_size(body, self.most or 0, FLOW.has_windows)
            FLOW.loops += 1
        if is_plain:
            parts = {"constants": len(captured), "carries": len(types), "length": self.most, "reverse": False}
            operands = [*captured, *initial]
            if self.count is not None:
                results = scan_primitive(*operands, body=body, **parts, unroll=1)
            else:
                turns = cast(self.length, dtype=INT64)
                results = bounded_scan_primitive(turns, *operands, body=body, **parts, stops=False)
        else:
            found = self._condition(types)
            if found is None:
                self.entry.acts = True
                self._begin()
                self.stage()
                return
            condition, tested = found
            results = while_primitive(
                *tested,
                *captured,
                *initial,
                condition=condition,
                body=body,
                tested=len(tested),
                fixed=len(captured),
                **self._limits(types, [*types, *body.input_types[: len(captured)]]),
            )
        trace = results[0].owner
        if FLOW.is_strict and RUNNING.written is None and isinstance(trace, GraphTrace):
            numbers = [x for x, is_box in zip(results, boxes, strict=True) if not is_box]
            own = [trace.variable(x.state) for x in numbers if isinstance(x, Box) and x.owner is trace]
            FLOW.ends.append((trace, len(trace.equations), own))
        self._end(iter(results))

    def _counted_body(self) -> tuple[Graph, list[Any]]:
        """Trace a turn until the carry is settled, and once more if that tells the number of turns.

        A loop of many turns that needs a number of the carry is traced once more if each turn adds the same to it.
        """
        try:
            body, captured = self._settled_body()
        except Exception:
            if not FLOW.is_strict or self.count is None or not self._moves_evenly():
                raise
            return self._settled_body()
        if not self.counts or self.count is not None:
            return body, captured
        self._count(body, captured)
        return self._settled_body()

    def _count(self, body: Graph, captured: list[Any]) -> None:
        """Find the number of turns of a ``while`` statement, which is like a ``for`` statement then."""
        types = self._types()
        condition = self._condition(types, is_counted=True)
        found = condition and turns_of(condition, (body, captured), self._initial())
        self.count = found.number if found else None
        if not found or found.number <= MOST_UNROLLED or (self.raises and FLOW.trying > 0):
            raise refusal("while", "the number of turns must be known")
        self.length = self.most = found.number
        self.test = None
        self._evolve(found.steps, found.ends)

    def _evolve(self, steps: Mapping[int, int], ends: Mapping[int, Any]) -> None:
        """Begin anew with what Python knows of numbers of the carry in each turn."""
        numbers = itertools.count(1)
        for key, slot in self.slots.items():
            for place, leaf in enumerate(slot.leaves):
                number = next(numbers) if leaf.is_carried else 0
                if number and leaf.type is not None and leaf.type.weak and not leaf.has_no_axes:
                    self.evolution[key, place] = steps.get(number), ends.get(number)
            for _ in range(slot.flagged):
                next(numbers)
        for one in self.split:
            one.undo()
        self.split, self.growing = [], []
        self._begin()

    def _moves_evenly(self) -> bool:
        """Return whether each turn adds the same to a number of the carry, which is no part of it then."""
        spoiled, FLOW.spoiled, FLOW.is_strict = FLOW.spoiled, None, False
        try:
            self._begin()
            steps = steps_of(*self._settled_body(), self._initial())
        except Exception:
            steps = {}
        finally:
            FLOW.spoiled, FLOW.is_strict = spoiled, True
        self._evolve(steps, {})
        if any(step for step, _ in self.evolution.values()):
            FLOW.spoiled = None
            return True
        return False

    def _limits(self, types: Sequence[TensorType], read: Sequence[TensorType]) -> dict[str, Any]:
        """Return what reverse mode may keep of a loop, given the types of its carry and of all that it reads."""
        if self.most is not None:
            return {"most": self.most}
        return {"max_bytes": _budget(types), "taped": bytes_of(read) > MOST_RESTARTED_BYTES}

    def _settled_body(self) -> tuple[Graph, list[Any]]:
        """Trace a turn until the carry is settled, starting from what an earlier draft of the block around found."""
        if FLOW.memory is None:
            return self._body()
        functions = self.loop.functions
        now = self.always, start_of(functions, self.loop.rows)
        is_known = self.entry.start is not None and is_at_least(now, self.entry.start)
        self.entry.start = None
        body = None
        if is_known:
            self._recall()
            try:
                body = self._body()
            except Exception:  # what is wrong without it, too, raises this again
                self._begin()
        body = body or self._body()
        remember(self.entry, functions, self.slots, self.raises)
        self.entry.start = now
        return body

    def _recall(self) -> None:
        self.raises = self.entry.raises
        for place, settled in recalled(self.entry, self.loop.functions):
            self.slots.setdefault(key_of(place), slot_of(place, self.always)).recall(settled)

    def _body(self) -> tuple[Graph, list[Any]]:
        for _ in range(_MOST_DRAFTS):
            memory, FLOW.memory = FLOW.memory, self.memory.begin()
            try:
                body, captured = self._draft()
            except GrowthError as problem:
                self._grow(problem)
                continue
            finally:
                FLOW.memory = memory
            if body is not None:
                return body, captured
        raise refusal("loop", "the types of its variables do not settle")

    # -- the carry: the number of the turn, the places, the number of an exception ----------------------------

    def _types(self) -> list[TensorType]:
        slots = [type_ for slot in self.slots.values() for type_ in slot.types()]
        return [
            COUNTER,
            *slots,
            *(type_ for one in self.growing for type_ in one.types),
            *([COUNTER] if self.raises else []),
            *([_FLAG] if self.entry.acts else []),
        ]

    def _initial(self) -> list[Any]:
        slots = [value for slot in self.slots.values() for value in slot.initial()]
        return [
            0,
            *slots,
            *(value for one in self.growing for value in one.initial()),
            *([0] if self.raises else []),
            *([self.going] if self.entry.acts else []),
        ]

    def _start(self, trace: GraphTrace, types: Sequence[TensorType], region: Region) -> tuple[Any, Any]:
        """Put all places into the state in which a turn begins; return its number, and whether it takes place."""
        inputs = iter([trace.new_input(type_) for type_ in types])
        number = next(inputs)
        for box in self.exchanged.values():
            region.without(box)
        for slot in self.slots.values():
            slot.start(inputs, region, number)
        for one in self.growing:
            one.start(inputs, number)
        link_seen(self.slots.values())
        link_shared(self.slots.values())
        freeze_made(self.slots.values())
        if self.raises:
            FLOW.code = next(inputs)
        return number, next(inputs) if self.entry.acts else True

    def _draft(self) -> tuple[Graph | None, list[Any]]:
        """Trace a turn, with what stands for the lists that grow; return no graph if the carry had to change."""
        is_strict = FLOW.is_strict
        FLOW.is_strict = is_strict and not self.is_relaxed
        try:
            with self._standing():
                return self._draft_of_turn(is_strict)
        finally:
            FLOW.is_strict = is_strict

    def _draft_of_turn(self, is_strict: bool) -> tuple[Graph | None, list[Any]]:
        names = [slot.place for slot in self.slots.values() if isinstance(slot.place, Variable)]
        others = [name for name in self.loop.names if key_of(name) not in self.slots]
        # Of a loop that may take no turn, operations on values from outside belong to the turns, too: else they would
        # raise an exception, or have a derivative, where Python does not get to them.
        inside = contextlib.nullcontext if self.always else recording
        # A draft that is not the last leaves equations on values from outside that nothing reads.
        with Region(self.loop.functions, [*names, *others]) as region, provisionally():
            with running(Turn(self.most)) as trace, inside(trace):
                number, _ = self._start(trace, self._types(), region)
                code, FLOW.code = FLOW.code, 0
                contents, _ = self._contents(region)
                going, problem = self._carried_out(number, region)
                if problem is not None and self.growing:
                    raise problem
                contents, found = self._contents(region) if problem is None else (contents, {})
                grown = [one.finish(self.loop.names) for one in self.growing]
                note_unread(trace, [*contents.values(), *map(content_at, found.values())])
                code = joined(code, FLOW.code if problem is None else joined(FLOW.code, number_of(problem)))
                sharing = Sharing(region, list(contents.values()))
                after = number + 1
                exchanged = {id(box): box for box in region.exchanged() if id(box) not in region.given_up}
            before = set(self.slots)
        whole = {key[1] for key in found if key[0] == "items"}
        for key in [key for key in self.slots if key[0] == "element" and key[1] in whole]:
            del self.slots[key]
            before.remove(key)
        for key, place in found.items():
            self.slots[key] = slot_of(place, self.always)
        changes = bool(exchanged) or bool(whole) or set(self.slots) != before
        self.exchanged.update(exchanged)
        before -= {("array", key) for key in exchanged}
        for key in exchanged:
            self.slots.pop(("array", key), None)
        for key in before:
            changes |= self.slots[key].finish(contents[key], sharing, region, self._is_counted())
        changes |= note_shared(self.slots.values()) | any(is_changed for _, is_changed in grown)
        if not changes and self.is_relaxed:
            self.is_relaxed, changes = False, is_strict
        if not self.raises and (isinstance(code, Box) or code):
            self.raises = changes = True
        for one in self.growing:
            one.ends_early = self._ends_early()
        if changes:
            return None, []
        results = [value for key, slot in self.slots.items() for value in slot.outputs(contents[key])]
        ends = [*([code] if self.raises else []), *([going] if self.entry.acts else [])]
        graph = trace.finish([after, *results, *(value for values, _ in grown for value in values), *ends])
        return graph, trace.captured

    def _carried_out(self, number: Any, region: Region) -> tuple[Any, Exception | None]:
        """Carry out a turn; return whether another one follows, or the exception that it raises in any case.

        A condition that changes something, or may raise an exception, is part of the turn before.
        """
        flags = [Fact(flag, False) for flag in self.loop.exits() if isinstance(flag, Box)]
        try:
            with assuming(*flags):  # else there is no turn
                self.turn(number)
                keep_lists(region)
            return self.loop.going(self._test) if self.entry.acts else True, None
        except Exception as error:
            problem = lost(error)
            raise_refusal(problem)
            if self.always:
                raise problem from None
            return False, problem

    def _contents(self, region: Region) -> tuple[dict[Any, Content], dict[Any, Place]]:
        """Return what the places hold after a turn, and further places that it changes."""
        whole = {key[1] for key in self.slots if key[0] == "items"}
        changed: list[Place] = [*region.arrays(), *region.elements(whole)]
        stands = {("growth", id(one.stand)) for one in self.growing}
        for place in changed:
            if isinstance(place, Growth) and place.is_longer and key_of(place) not in stands:
                raise grows(place.grown)
        taken = self.slots.keys() | stands
        found = {key_of(place): place for place in changed if key_of(place) not in taken}
        return {key: slot.fitted(content_at(slot.place)) for key, slot in self.slots.items()}, found

    @contextlib.contextmanager
    def _standing(self) -> Generator[None]:
        """Have what stands for lists in their place."""
        try:
            for one in self.growing:
                one.enter(self.loop.functions)
            yield
        finally:
            for one in self.growing:
                one.leave()

    def _condition(
        self, types: Sequence[TensorType], is_counted: bool = False
    ) -> tuple[Graph, list[Any]] | None:
        """Trace the condition; return nothing if it does more than that.

        Args:
            types: of the carry.
            is_counted: whether it counts the turns of a loop that raises nothing.
        """
        with self._standing():
            return self._condition_of_turn(types, is_counted)

    def _condition_of_turn(
        self, types: Sequence[TensorType], is_counted: bool
    ) -> tuple[Graph, list[Any]] | None:
        names = [slot.place for slot in self.slots.values() if isinstance(slot.place, Variable)]
        functions = self.loop.functions
        with Region(functions, names) as region, provisionally(), running(GraphTrace("loop")) as trace:
            number, going = self._start(trace, types, region)
            code, FLOW.code = FLOW.code, 0
            if not self.entry.acts:
                with Region(functions, names) as tested:
                    going = self._going(number)
                    if going is None or tested.has_changes() or isinstance(FLOW.code, Box):
                        return None
            if isinstance(code, Box) and not is_counted:
                fine = equal(code, 0)
                going = logical_and(fine, going) if isinstance(going, Box) else fine if going else False
        if not isinstance(going, Box) and going:
            raise refusal("while", "no turn ends the loop")
        return trace.finish([going]), trace.captured

    def _going(self, number: Any) -> Any:
        """Return whether another turn follows; None if the condition raises an exception."""
        if self.length is not None:
            return self.loop.going(lambda: number < self._length())
        try:
            return self.loop.going(self._test)
        except Exception as error:
            raise_refusal(lost(error))
            return None

    def _test(self) -> Any:
        found = truth(run(self.test))
        self.test_is_true = found is True
        return found

    def _is_counted(self) -> bool:
        """Return whether a counter alone ends the loop."""
        return self.test is None and not self._has_exits()

    def _length(self) -> Any:
        return self.count if self.count is not None else self.length

    def _end(self, results: Iterator[Any]) -> None:
        next(results)
        for slot in self.slots.values():
            slot.end(results, self._length())
        for one in self.growing:
            one.end(results)
        for one in self.split:
            one.end()
        names = self.loop.exits.__code__.co_freevars
        if self.test_is_true and len(names) == 1:  # nothing else ends the loop
            put(self.slots["variable", names[0]].place, True)
        link_shared(self.slots.values())
        freeze_made(self.slots.values())
        for box in self.exchanged.values():
            box.receive(box)
            give_up(box)
        if self.raises:
            note_number(next(results))
