"""What rewritten branches call: Python's own statement for a known value, `cond` for one that only a run knows."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.engine.boxes import RUNNING, Box, boxed, concrete, recording, running
from wengert.engine.control.cond import aligned, cond_primitive
from wengert.engine.control.recording import Recorded, Recorder
from wengert.engine.control.subgraphs import convert_outputs, may_raise
from wengert.engine.control.values import zeros
from wengert.engine.core import tree
from wengert.engine.core.dtypes import BOOL
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import TensorType, promote, show, type_of
from wengert.engine.ops.cells import kind_of
from wengert.engine.ops.comparison import logical_and, logical_not, logical_or, not_equal
from wengert.engine.ops.conversion import python_number
from wengert.engine.ops.shape import reshape
from wengert.engine.staged.aliases import link
from wengert.engine.staged.columns import Columns
from wengert.engine.staged.contents import (
    NOTHING,
    Content,
    Leaf,
    Sharing,
    content_at,
    content_of,
    holds,
    is_same,
)
from wengert.engine.staged.counted import COUNTER, is_counted, limit
from wengert.engine.staged.exchanged import give_up, refusal
from wengert.engine.staged.growing import stand_for
from wengert.engine.staged.grown import Grown, Held
from wengert.engine.staged.nullable import Maybe, is_nullable, refused, settled, unified
from wengert.engine.staged.raising import (
    joined,
    keep_strict,
    lost,
    note,
    note_number,
    note_unread,
    number_of,
    raise_refusal,
    run,
)
from wengert.engine.staged.rebound import keep_lists
from wengert.engine.staged.regions import (
    FLOW,
    UNBOUND,
    Array,
    Element,
    Fact,
    Growth,
    GrowthError,
    Items,
    Place,
    Region,
    Unsure,
    Variable,
    assuming,
    key_of,
    known,
    put,
    show_value,
    variables,
    without_axes,
)
from wengert.engine.staged.shared import Made, freeze_shared
from wengert.engine.staged.shrunk import part_of, unpacked
from wengert.engine.staged.tables import Table
from wengert.engine.staged.texts import text_of
from wengert.engine.transforms.protocols import truth_of
from wengert.engine.transforms.staging import evaluate

#: A function that closes over variables, and what is known of them.
Shares = tuple[Any, Any] | None
#: A second operand of `and` or `or` with at most so many operations is evaluated in any case, if it raises no error.
_CHEAP = 16


# -- truth values ----------------------------------------------------------------------------------------


def truth(value: Any) -> Any:
    """Return a value as one truth value: a bool if it is known, else a box.

    Example:
        >>> truth([]), truth(2.0)
        (False, True)
    """
    value = known(value)
    if type(value) in (Grown, Columns, Table):
        value = value.is_filled()
    if type(value) is Maybe:
        value = settled(value)
        if type(value) is Maybe:
            return both_hold(value.some, lambda: value.value)
    if not isinstance(value, Box):
        found = truth_of(value)
        return bool(value) if found is None else truth(found)
    if size(value.shape) != 1 or concrete(value) is not None:
        return bool(value)
    value = value if value.shape == () else reshape(value, shape=())
    return value if value.dtype == np.bool_ else not_equal(value, 0)


#: The truth values whose negations were taken, by the identity of these.
_negated: dict[int, tuple[weakref.ref[Box], tuple[Box, ...]]] = {}


def _negation(value: Box, *of: Box) -> Box:
    key = id(value)
    _negated[key] = weakref.ref(value, lambda _: _negated.pop(key, None)), of
    return value


#: The first operands of `and`, with True, and of `or`, with False, by the identity of the truth value of both.
_joined: dict[int, tuple[weakref.ref[Box], Box, bool]] = {}


def _join(value: Box, first: Box, is_and: bool) -> Box:
    key = id(value)
    _joined[key] = weakref.ref(value, lambda _: _joined.pop(key, None)), first, is_and
    return value


def negation(value: Any) -> Any:
    """Return ``not value``, of which only the truth counts."""
    found = truth(value)
    return _negation(logical_not(found), found) if isinstance(found, Box) else not found


def opposite(value: Any) -> Any:
    """Return ``not value``, a truth value of Python's."""
    found = truth(value)
    return _negation(python_number(logical_not(found), bool), found) if isinstance(found, Box) else not found


def clear(*flags: Any) -> Any:
    """Return whether no flag is set."""
    waiting: list[Any] = []
    for flag in map(known, flags):
        if not isinstance(flag, Box):
            if flag:
                return False
        else:
            waiting.append(flag)
    if not waiting:
        return True
    either = waiting[0]
    for flag in waiting[1:]:
        either = logical_or(either, flag)
    return _negation(logical_not(either), *waiting)


def _facts(pred: Box, is_true: bool) -> list[Fact]:
    """Return what is known where a truth value holds, or does not."""
    found = [Fact(pred, is_true)]
    _, of = _negated.get(id(pred), (None, ()))
    if is_true or len(of) == 1:
        found += [fact for value in of for fact in _facts(value, not is_true)]
    _, first, holds_both = _joined.get(id(pred), (None, None, None))
    if first is not None and holds_both is is_true:
        found += _facts(first, is_true)
    return found


# -- statements and expressions --------------------------------------------------------------------------


def if_(test: Any, yes: Callable[[], Any], no: Callable[[], Any] | None, state: Any, info: Any) -> None:
    """Carry out an ``if`` statement.

    Args:
        test: the condition.
        yes: the block that runs if it holds.
        no: the other block, or None.
        state: a function that closes over the variables that the blocks bind.
        info: what is known of these.
    """
    pred = truth(test)
    if not isinstance(pred, Box):
        if pred:
            run(yes)
        elif no is not None:
            run(no)
        return
    if info[1]:
        raise refusal(
            "if", "a global variable is assigned where only a run knows whether", hint="return the value"
        )
    _staged(pred, (yes, no), variables(state, info))


def choice(test: Any, yes: Callable[[], Any], no: Callable[[], Any], shares: Shares = None) -> Any:
    """Return the value of ``yes() if test else no()``.

    Args:
        test: the condition.
        yes: the value if it holds.
        no: the other value.
        shares: the variables that these bind, as `if_` takes them, or None.
    """
    pred = truth(test)
    if not isinstance(pred, Box):
        return run(yes) if pred else run(no)
    return _staged(pred, (yes, no), _shared(shares))


def both(first: Any, *later: Callable[[], Any], shares: Shares = None) -> Any:
    """Return the value of ``first and later()``; ``shares`` are variables that later operands bind."""
    pred = truth(first)
    if not isinstance(pred, Box):
        return _next(both, later, shares) if pred else first
    return _staged(pred, (lambda: _next(both, later, shares), lambda: first), _shared(shares))


def either(first: Any, *later: Callable[[], Any], shares: Shares = None) -> Any:
    """Return the value of ``first or later()``; ``shares`` are variables that later operands bind."""
    pred = truth(first)
    if not isinstance(pred, Box):
        return first if pred else _next(either, later, shares)
    return _staged(pred, (lambda: first, lambda: _next(either, later, shares)), _shared(shares))


def _shared(shares: Shares) -> Sequence[Variable]:
    if shares is None:
        return ()
    if shares[1][1]:
        requirement = "a global variable is assigned where only a run knows whether"
        raise refusal("if", requirement, hint="return the value")
    return variables(*shares)


def _next(join: Callable[..., Any], later: Sequence[Callable[[], Any]], shares: Shares) -> Any:
    value = run(later[0])
    return join(value, *later[1:], shares=shares) if later[1:] else value


def both_hold(first: Any, *later: Callable[[], Any], shares: Shares = None) -> Any:
    """Return the truth value of ``first and later()``; ``shares`` are variables that later operands bind."""
    pred = truth(first)
    if not isinstance(pred, Box):
        return _next_truth(both_hold, later, shares) if pred else False
    return _joined_truth(pred, True, lambda: _next_truth(both_hold, later, shares), shares)


def either_holds(first: Any, *later: Callable[[], Any], shares: Shares = None) -> Any:
    """Return the truth value of ``first or later()``; ``shares`` are variables that later operands bind."""
    pred = truth(first)
    if not isinstance(pred, Box):
        return True if pred else _next_truth(either_holds, later, shares)
    return _joined_truth(pred, False, lambda: _next_truth(either_holds, later, shares), shares)


def _next_truth(join: Callable[..., Any], later: Sequence[Callable[[], Any]], shares: Shares) -> Any:
    value = run(later[0])
    return join(value, *later[1:], shares=shares) if later[1:] else truth(value)


def _joined_truth(pred: Box, goes_on: bool, later: Callable[[], Any], shares: Shares) -> Any:
    """Return the truth value of a first operand that only a run knows, and of a second one."""
    functions = (later, lambda: False) if goes_on else (lambda: True, later)
    if shares is not None:
        made = _staged(pred, functions, _shared(shares))
        return _join(made, pred, goes_on) if isinstance(made, Box) else made
    _keep_counted(pred)
    side = _side(later, (), (later,), _facts(pred, goes_on))
    content = side.result
    is_plain = side.problem is None and not side.places and not isinstance(side.code, Box) and not side.code
    if is_plain and len(content.leaves) == 1:
        value = content.leaves[0].value
        if not isinstance(value, Box):
            if bool(value) is goes_on:
                return pred
            return not goes_on
        graph = side.trace.finish([value])
        if len(graph.equations) <= _CHEAP and not may_raise(graph) and not _programs(graph):
            (second,) = evaluate(graph, *side.trace.captured)
            return _join((logical_and if goes_on else logical_or)(pred, second), pred, goes_on)
    made = _staged(pred, functions, ())
    return _join(made, pred, goes_on) if isinstance(made, Box) else made


def _keep_counted(pred: Box) -> None:
    """End a run that is staged for its many turns alone, unless unrolling knows a condition."""
    if FLOW.is_strict and not is_counted(pred):
        keep_strict("a branch depends on what only a run knows", is_unknown=RUNNING.written is None)


def _programs(graph: Any) -> bool:
    return any(True for equation in graph.equations for _ in equation.graphs())


def chain(first: Any, *links: tuple[Callable[..., Any], Callable[[], Any]], shares: Shares = None) -> Any:
    """Return the value of a chain of comparisons, such as ``a < b < c``.

    Args:
        first: the first operand.
        links: each comparison with its second operand.
        shares: the variables that operands behind the second one bind, as `if_` takes them, or None.
    """
    (compare, operand), *rest = links
    second = run(operand)
    value = compare(first, second)
    if rest and isinstance(value, Box) and value.shape == () and value.dtype == np.bool_:
        return both_hold(value, lambda: chain(second, *rest, shares=shares), shares=shares)
    return both(value, lambda: chain(second, *rest, shares=shares), shares=shares) if rest else value


def sure(value: Any, name: str) -> Any:
    """Return the value of a variable; the program raises `UnboundLocalError` if a run has not bound it."""
    if not isinstance(value, Unsure):
        return value
    flag = known(value.bound)
    if flag is True:
        return value.value
    problem = UnboundLocalError(
        f"cannot access local variable {name!r} where it is not associated with a value"
    )
    if flag is False:
        raise problem
    note(problem, logical_not(flag))
    return value.value


def given(value: Any, name: str) -> Any:
    """Return the value of a variable in a use that None does not allow; the program raises `TypeError` for None."""
    value = settled(value)
    if type(value) is not Maybe:
        return value
    note(TypeError(f"{name!r} is None"), logical_not(value.some))
    return value.value


#: Functions of Python that raise `TypeError` for None.
_WITHOUT_NONE: Any = (abs, complex, divmod, float, int, len, max, min, range)


def argument(value: Any, name: str, function: Any = None) -> Any:
    """Return the value of a variable as an argument of a call, or as an operand that may be None.

    Args:
        value: the value.
        name: the variable.
        function: what is called, if known.
    """
    value = settled(value)
    if type(value) is not Maybe or function is None:
        return value
    is_number = getattr(function, "__module__", None) == "math" or isinstance(function, np.ufunc)
    return given(value, name) if is_number or function in _WITHOUT_NONE else value


def certain(value: Any) -> Any:
    """Return a value of which is known whether it is None."""
    value = settled(value)
    if type(value) is Maybe:
        raise refused("a test of the type")
    return value


def _is_truth(value: Any) -> bool:
    """Return whether a value is True or False of Python's, each of which is one object; refuse NumPy's.

    A number that is Python's on one path and NumPy's on another counts as NumPy's.
    """
    if isinstance(value, Box) and value.type == TensorType(BOOL, ()):
        hint = "write if x, or bool(x) is True"
        raise refusal("is", "NumPy's truth values are other objects than True and False", "x is True", hint)
    return isinstance(value, bool) or (isinstance(value, Box) and value.type == TensorType(BOOL, (), True))


def same(one: Any, other: Any) -> Any:
    """Return the value of ``one is other``."""
    one, other = settled(one), settled(other)
    found = next((value for value in (one, other) if type(value) is Maybe), None)
    if found is None:
        one, other = (one, other) if isinstance(one, Box) else (other, one)
        if not (
            isinstance(one, Box) and isinstance(other, bool | Box) and _is_truth(one) and _is_truth(other)
        ):
            return one is other
        return one == other if isinstance(other, Box) else one if other else opposite(one)
    if one is not None and other is not None:
        raise refused("is")
    return opposite(found.some)


def result(state: Any) -> Any:
    """Return what a function returns, given its two variables."""
    returned, value = variables(
        state, ((("__wengert_returned__", True, True), ("__wengert_value__", True, True)), False)
    )
    flag = known(returned.content)
    if flag is True:
        content = value.content
        return content.value if isinstance(content, Unsure) else content
    if flag is False:
        return None
    content = value.content
    return Maybe(flag, certain(content.value if isinstance(content, Unsure) else content))


# -- staging ---------------------------------------------------------------------------------------------


@dataclass
class Side:
    """A branch that was traced."""

    trace: Recorder
    places: dict[Any, Place]
    """What the branch changes, beside the variables."""
    contents: dict[Any, Content]
    """What all places hold at its end."""
    result: Content
    """What it returns."""
    code: Any
    """The number of the exception that it raises, 0 for none; a box if only a run knows."""
    exchanged: list[Box]
    """The arrays from outside that nothing may read after it."""
    problem: Exception | None
    """The exception that it raises in any case."""
    sharing: Sharing
    growth: dict[int, Held]
    """What lists hold whose length only a run knows, or that a loop makes longer, by what stands for them."""


def _side(
    function: Callable[[], Any] | None,
    names: Sequence[Variable],
    functions: Sequence[Any],
    facts: list[Fact],
    whole: Collection[int] = (),
) -> Side:
    problem: Exception | None = None
    value: Any = None
    given = [block for block in functions if block is not None]
    with assuming(*facts), Region(given, names) as region:  # noqa: SIM117 (the second line would be too long)
        with running(Recorder()) as trace, recording(trace):
            try:
                value = run(function) if function is not None else None
                keep_lists(region)
            except Exception as error:
                problem = lost(error)
                raise_refusal(problem)
            found: list[Place] = [*region.arrays(), *region.elements(whole)] if problem is None else []
            places = {key_of(place): place for place in found}
            # The other branch may give an element another value, where this one changes what it holds.
            shown = region.showing(found)
            contents = {key_of(place): content_at(place) for place in (*shown, *names, *found)}
            outcome = content_of(value)
            live = (contents[key_of(place)] for place in (*names, *found) if place.is_live)
            note_unread(trace, [*live, outcome])
            code = FLOW.code if problem is None else joined(FLOW.code, number_of(problem))
            sharing = Sharing(region, [*contents.values(), outcome])
            exchanged = region.exchanged()
            growth = {id(x.grown): x.grown.held for x in found if isinstance(x, Growth)}
    return Side(trace, places, contents, outcome, code, exchanged, problem, sharing, growth)


def _sides(pred: Box, functions: Sequence[Callable[[], Any] | None], names: Sequence[Variable]) -> list[Side]:
    """Trace both branches, with what stands for lists that one of them makes longer, and room for it."""
    while True:
        try:
            sides = [
                _side(f, names, functions, _facts(pred, flag))
                for f, flag in zip(functions, (True, False), strict=True)
            ]
        except GrowthError as problem:
            if FLOW.probing:
                raise
            stand_for(problem, [block for block in functions if block is not None])
            continue
        enlarged = [
            place.grown.make_room(shape_of(side.contents[key].leaves[0].value)[0])
            for side in sides
            for key, place in side.places.items()
            if isinstance(place, Growth)
        ]
        if not any(enlarged):
            return sides


def _staged(pred: Box, functions: Sequence[Callable[[], Any] | None], names: Sequence[Variable]) -> Any:
    _keep_counted(pred)
    sides = _sides(pred, functions, names)
    whole = {
        id(place.container) for side in sides for place in side.places.values() if isinstance(place, Items)
    }
    for n, side in enumerate(sides):
        if any(isinstance(x, Element) and id(x.container) in whole for x in side.places.values()):
            sides[n] = _side(functions[n], names, functions, _facts(pred, not n), whole)
    yes, no = sides
    merge = _Merge(pred, yes, no)
    if yes.problem is not None and no.problem is not None:  # what follows is never carried out
        code = merge.number(yes.code, no.code)
        note_number(code(merge.carried_out()) if code is not None else 0)
        raise yes.problem
    places: dict[Any, Place] = {**{key_of(name): name for name in names}, **yes.places, **no.places}
    exchanged = {id(box): box for side in sides for box in side.exchanged}
    places = {key: place for key, place in places.items() if not (key[0] == "array" and key[1] in exchanged)}
    made = {key: merge.place(place) for key, place in places.items() if place.is_live}
    value = merge.content("the value", yes.result, no.result, False)
    code = merge.number(yes.code, no.code)
    results = merge.carried_out()
    for key, place in places.items():
        if key in made:
            _put(place, made[key](results))
        else:
            put(place, UNBOUND)
    for box in exchanged.values():
        box.receive(box)
        give_up(box)
    if code is not None:
        note_number(known(code(results)))
    outcome = value(results)
    freeze_shared(merge.made)
    return outcome


def _put(place: Place, value: Any) -> None:
    if isinstance(place, Array):
        if value is not place.box:
            place.box.receive(boxed(value))
    elif value is not place.content:
        put(place, value)


Taking = Callable[[Sequence[Any]], Any]


class _Merge:
    """The results of a `cond`: what both branches leave in each place."""

    def __init__(self, pred: Box, yes: Side, no: Side) -> None:
        self._pred = pred
        self._sides = yes, no
        self._pairs: list[tuple[Any, Any]] = []
        self._types: list[TensorType] = []
        self._shared: dict[int, list[Any]] = {}
        self._without_axes: set[int] = set()
        self.made: list[Made] = []
        """The containers that stand for those of either branch."""

    def place(self, place: Place) -> Taking:
        """Add what a place holds; a branch that does not name it leaves it as it was."""
        key = key_of(place)
        if isinstance(place, Items):
            return self._items(place)
        if isinstance(place, Growth):
            return self._growth(place)
        before = content_of(place.content)
        if isinstance(place, Array):
            before = Content(place.box, tree.LEAF, [Leaf(place.content, place.box, None)], True)
        yes, no = (side.contents.get(key, before) for side in self._sides)
        if isinstance(place, Array):
            yes, no = _without_roots(yes), _without_roots(no)
        return self.content(place.name, yes, no, place.is_internal, before, isinstance(place, Variable))

    def _items(self, place: Items) -> Taking:
        """Add the elements of a list."""
        key = key_of(place)
        for side in self._sides:
            other = side.places.get(key)
            if isinstance(other, Items):
                place.kind = kind_of((), place.kind, other.kind) or place.kind
        before = content_at(place)
        yes, no = (side.contents.get(key, before) for side in self._sides)
        if any(side.problem is not None for side in self._sides):
            return self.content(place.name, yes, no, False, before)
        type_ = TensorType(place.kind.dtype, (len(place.container), *place.kind.shape))
        return self._leaf(place.name, yes.leaves[0], no.leaves[0], type_)

    def _growth(self, place: Growth) -> Taking:
        """Add the elements of a list, and its length where the branches make it longer by different numbers."""
        grown, before, key = place.grown, place.grown.held, key_of(place)
        ends = [before if x.problem is not None else x.growth.get(id(grown), before) for x in self._sides]
        going = [end for end, side in zip(ends, self._sides, strict=True) if side.problem is None]
        low, high = min(end.low for end in going), max(end.high for end in going)
        content = content_at(place)
        yes, no = (content if x.problem is not None else x.contents.get(key, content) for x in self._sides)
        type_ = TensorType(grown.kind.dtype, shape_of(content.value))
        taken = self._leaf(place.name, yes.leaves[0], no.leaves[0], type_)
        number: Taking = lambda _: None  # noqa: E731
        if low != high or any(end.number is not None for end in going):
            one, other = (Leaf(end.length, end.length, None) for end in ends)
            number = self._leaf("the length of a list", one, other, COUNTER)

        def value(results: Sequence[Any]) -> Any:
            held = before._replace(low=low, high=high)
            grown.held = held._replace(number=limit(number(results), *held.limits))
            return taken(results)

        return value

    def content(
        self,
        name: str,
        yes: Content,
        no: Content,
        is_internal: bool,
        before: Content = NOTHING,
        may_be_none: bool = True,
    ) -> Taking:
        """Add what a place holds after both branches; one that raises an exception leaves nothing."""
        problems = [side.problem is not None for side in self._sides]
        if any(problems):
            going = no if problems[0] else yes
            if going.value is before.value and going.flag is True:
                return lambda _: going.value
            nothing = Content(UNBOUND, tree.LEAF, [], False)
            yes, no = (nothing, no) if problems[0] else (yes, nothing)
            is_internal = is_internal or going.flag is True
        if yes.value is no.value and yes.flag is True and no.flag is True:
            value = yes.value
            return lambda _: value
        if not (yes.is_bound or no.is_bound):
            return lambda _: UNBOUND
        flag = None if is_internal else self._flag(yes.flag, no.flag)
        value = self._value(name, yes, no, may_be_none)
        if flag is None:
            return value

        def unsure(results: Sequence[Any]) -> Any:
            bound = known(flag(results))
            return value(results) if bound is True else Unsure(value(results), bound)

        return unsure

    def _flag(self, yes: Any, no: Any) -> Taking | None:
        if yes is True and no is True:
            return None
        if yes is True and no is False:
            return lambda _: self._pred
        if yes is False and no is True:
            return lambda _: negation(self._pred)
        return self._leaf("", Leaf(yes, yes, None), Leaf(no, no, None))

    def number(self, yes: Any, no: Any) -> Taking | None:
        """Add the number of an exception."""
        if type(yes) is int and type(no) is int and not (yes or no):
            return None
        return self._leaf("", Leaf(yes, yes, None), Leaf(no, no, None))

    def _value(self, name: str, yes: Content, no: Content, may_be_none: bool) -> Taking:
        whole: tuple[int, ...] = ()
        if yes.is_bound and no.is_bound and (yes.structure, yes.shape) != (no.structure, no.shape):
            common, whole = _common_structure(yes, no) if may_be_none else (None, ())
            if common is None and yes.structure == no.structure:
                common = yes.structure
            if common is None:
                got = f"{show_value(yes.value)} and {show_value(no.value)}"
                raise refusal("if", f"both branches must give {name} the same containers", got)
            yes, no = yes.widened(common), no.widened(common)
        structure = (yes if yes.is_bound else no).structure
        paths = tree.paths(structure, name)
        pairs = [
            *zip(paths, yes.leaves or [None] * len(paths), no.leaves or [None] * len(paths), strict=True)
        ]
        made: list[Taking] = []
        if is_nullable(structure) and yes.leaves and no.leaves:
            made.append(self._flag(yes.leaves[0].value, no.leaves[0].value) or (lambda _: True))
            del pairs[0]
        elif whole:
            path, one, other = pairs.pop(0)
            made.append(self._leaf(path, one, other, whole=whole))
        made += [self._leaf(path, one, other) for path, one, other in pairs]
        of = [content.value for content in (yes, no) if content.is_bound]

        def value(results: Sequence[Any]) -> Any:
            found = tree.unflatten(structure, [leaf(results) for leaf in made])
            self.made.append(Made(found, of))
            return settled(unpacked(found))

        return value

    def _leaf(
        self,
        path: str,
        yes: Leaf | None,
        no: Leaf | None,
        type_: TensorType | None = None,
        whole: tuple[int, ...] = (),
    ) -> Taking:
        if yes is None or no is None:
            one = yes or no
            assert one is not None
            if not (one.is_number and isinstance(one.object, (Box, np.ndarray))):
                return lambda _: one.object
        elif is_same(yes, no):
            return lambda _: yes.object
        elif not (yes.is_number and no.is_number):
            got = f"{_shown(yes)} and {_shown(no)}"
            hint = "give it a number or an array in both branches"
            raise refusal("if", f"both branches must give {path} the same value, or numbers", got, hint)
        position = len(self._pairs)
        if type_ is None:
            types = [type_of(leaf.value) for leaf in (yes, no) if leaf is not None]
            type_ = _common(path, [one._replace(shape=whole) for one in types] if whole else types)
        for leaf in (yes, no):
            if leaf is not None and not holds(type_, leaf):
                raise refusal(
                    "if",
                    f"{path} has a number that its type in the other branch cannot hold",
                    *_both(leaf, type_),
                )
        self._types.append(type_)
        self._pairs.append(
            (zeros(type_) if yes is None else yes.value, zeros(type_) if no is None else no.value)
        )
        pairs = zip((yes, no), self._sides, strict=True)
        shared = [root for leaf, side in pairs if leaf is not None for root in side.sharing.others(leaf)]
        if shared:
            self._shared[position] = shared
        if any(leaf is not None and leaf.has_no_axes for leaf in (yes, no)):
            self._without_axes.add(position)
        return lambda results: results[position]

    def carried_out(self) -> Sequence[Any]:
        """Return the results."""
        if not self._pairs:
            return ()
        columns = zip(*self._pairs, strict=True)
        branches = [
            Recorded(side.trace.finish(list(column)), side.trace.captured, [])
            for side, column in zip(self._sides, columns, strict=True)
        ]
        (yes, no), captured = aligned(*branches)
        yes, no = convert_outputs(yes, self._types), convert_outputs(no, self._types)
        results = cond_primitive(self._pred, *captured, on_true=yes, on_false=no)
        found = [without_axes(x) if n in self._without_axes else x for n, x in enumerate(results)]
        for position, roots in self._shared.items():
            link(found[position], roots)
        return found


def _common_structure(yes: Content, no: Content) -> tuple[tree.Structure | None, tuple[int, ...]]:
    """Return the structure of what either branch leaves, and the shape of an array of which both leave a part."""
    found = unified(yes.structure, no.structure) if yes.structure != no.structure else None
    if found is not None or not yes.shape or len(yes.shape) != len(no.shape):
        return found, ()
    whole = tuple(map(max, yes.shape, no.shape))
    found = part_of(yes.structure, whole, no.structure, no.shape)
    return (found and part_of(found, whole, yes.structure, yes.shape)), whole


def _without_roots(content: Content) -> Content:
    return Content(
        content.value, content.structure, [leaf._replace(root=None) for leaf in content.leaves], content.flag
    )


def _shown(leaf: Leaf) -> str:
    return show(type_of(leaf.value)) if leaf.is_number else text_of(leaf.object)


def _both(leaf: Leaf, type_: TensorType) -> tuple[str, str]:
    return f"{_shown(leaf)} and {show(type_)}", "convert it in both branches: int, float, astype"


def _common(path: str, types: Sequence[TensorType]) -> TensorType:
    dtype, weak = promote(*types)
    if len(set(types)) > 1:  # unrolling keeps the type of the branch that is taken
        if any(type_._replace(weak=False) != types[0]._replace(weak=False) for type_ in types):
            keep_strict(f"{path} has another type in each branch")
        FLOW.is_widened = True
    is_one = len({type_.shape for type_ in types}) == 1
    if not is_one or any(type_.dtype != dtype for type_ in types if not type_.weak):
        hint = "convert it in one branch: x.astype, np.broadcast_to"
        got = " and ".join(map(show, types))
        raise refusal("if", f"both branches must give {path} the same type", got, hint)
    return TensorType(dtype, types[0].shape, weak)
