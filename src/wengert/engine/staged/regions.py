"""The state of a block: variables, arrays, elements and attributes that it changes; all is put back after its trace."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, cast

import numpy as np

from wengert.engine.boxes import OBSERVED, RUNNING, Box, Trace, boxed
from wengert.engine.control.values import is_number
from wengert.engine.core import tree
from wengert.engine.core.errors import StagingError
from wengert.engine.ir.types import show, type_of
from wengert.engine.staged.exchanged import give_up, is_given_up, refusal
from wengert.engine.staged.exits import RETURNED, VALUE

#: How many objects that a block reaches are compared.
_MOST = 4096
#: Python's containers, and NumPy's, of elements of any type.
_DICT, _LIST, _SET, _ARRAY = cast("tuple[Any, Any, Any, Any]", (dict, list, set, np.ndarray))
#: The packages whose objects are no part of a program.
_OWN = ("wengert.engine", "wengert.compiler")
#: A plain array of more bytes is compared by a checksum.
_LARGE = 1 << 20


class _Unbound:
    """Stands for the value of a variable that is not bound."""

    def __repr__(self) -> str:
        return "unbound"


UNBOUND = _Unbound()


class Unsure:
    """The value of a variable that a run may not have bound.

    Args:
        value: the value, or zeros.
        bound: a truth value that only a run knows.
    """

    __slots__ = ("bound", "value")

    def __init__(self, value: Any, bound: Any) -> None:
        self.value = value
        self.bound = bound


class Fact(NamedTuple):
    """A truth value that is known inside a branch."""

    box: Box
    """Holds the value."""
    value: bool


class _Flow(threading.local):
    """What a thread knows while it stages."""

    def __init__(self) -> None:
        self.code: Any = 0
        """The number of the exception that the program has raised; 0 for none."""
        self.texts: list[str] = []
        """The exceptions that it may raise, in the order of their numbers from 1."""
        self.facts: list[Fact] = []
        self.trying = 0
        """How many `try` statements are open."""
        self.probing = 0
        """How many loops are finding out whether they must be staged."""


FLOW = _Flow()


@contextmanager
def assuming(*facts: Fact) -> Generator[None]:
    """Know truth values inside the block."""
    FLOW.facts.extend(facts)
    try:
        yield
    finally:
        del FLOW.facts[len(FLOW.facts) - len(facts) :]


def known(value: Any) -> Any:
    """Return a value, or the truth value that is known of it here."""
    if isinstance(value, Box) and value.lens is None:
        for fact in reversed(FLOW.facts):
            if value.owner is fact.box.owner and value.state is fact.box.state:
                return fact.value
    return value


# -- variables -------------------------------------------------------------------------------------------


class Variable(NamedTuple):
    """A variable that a block binds."""

    name: str
    cell: CellType
    is_live: bool
    """Whether something behind the block may read it."""
    is_carried: bool
    """Whether a turn may read what an earlier turn wrote, or what it wrote may be read behind the loop."""

    @property
    def content(self) -> Any:
        """The value, or `UNBOUND`."""
        try:
            return self.cell.cell_contents
        except ValueError:
            return UNBOUND

    @content.setter
    def content(self, value: Any) -> None:
        if value is not UNBOUND:
            self.cell.cell_contents = value
        elif self.content is not UNBOUND:
            del self.cell.cell_contents

    @property
    def is_internal(self) -> bool:
        """Whether the rewriting made the variable: where it is not bound, its value does not matter."""
        return self.name in (RETURNED, VALUE) or self.name.startswith("__wengert_")


def variables(state: FunctionType, info: Any) -> list[Variable]:
    """Return the variables of a block.

    Args:
        state: a function that closes over them.
        info: rows of name, whether it is live, and whether loops carry it; and whether the block binds global names.
    """
    cells = dict(zip(state.__code__.co_freevars, state.__closure__ or (), strict=True))
    return [Variable(name, cells[name], *flags) for name, *flags in info[0] if name in cells]


# -- places ----------------------------------------------------------------------------------------------


class Array(NamedTuple):
    """The content of an array that a block writes."""

    box: Box
    is_live = True
    is_carried = True
    is_internal = False

    @property
    def name(self) -> str:
        """What messages call it."""
        return "an array"

    @property
    def content(self) -> Any:
        """The value as a box of its own, or as a plain array."""
        return self.box.owner.box(self.box.state) if not self.box.owner.plain else self.box.state.value

    def replace(self, value: Any) -> None:
        """Give the array a value; no trace of the write is kept."""
        made = boxed(value)
        self.box.owner, self.box.state = made.owner, made.state


class Element(NamedTuple):
    """An element of a list or a dict, or an attribute of an object."""

    container: Any
    key: Any
    is_live = True
    is_carried = True
    is_internal = False

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"[{self.key!r}] of a {type(self.container).__name__}"

    @property
    def content(self) -> Any:
        """The value, or `UNBOUND`."""
        is_dict = isinstance(self.container, _DICT)
        return (_DICT.__getitem__ if is_dict else _LIST.__getitem__)(self.container, self.key)

    def replace(self, value: Any) -> None:
        """Give the element a value."""
        is_dict = isinstance(self.container, _DICT)
        (_DICT.__setitem__ if is_dict else _LIST.__setitem__)(self.container, self.key, value)


Place = Variable | Array | Element


def key_of(place: Place) -> Any:
    """Return what tells a place from others."""
    match place:
        case Variable():
            return "variable", place.name
        case Array():
            return "array", id(place.box)
        case Element():
            return "element", id(place.container), place.key


def put(place: Place, value: Any) -> None:
    """Give a place a value."""
    if isinstance(place, Variable):
        place.content = value
    else:
        place.replace(value)


def show_value(value: Any) -> str:
    """Return what a message says of a value: the types of numbers, the classes of others."""
    if value is UNBOUND:
        return "unbound"
    if isinstance(value, Unsure):
        value = value.value
    leaves, structure = tree.flatten(value)
    if structure.kind is not None and not leaves:
        return repr(value)
    if all(map(is_number, leaves)):
        return show(*map(type_of, leaves)) if structure.kind is None else tree.show(structure)
    return type(value).__name__


# -- regions ---------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Region:
    """The run of a block whose changes are undone.

    Args:
        functions: the block.
        names: the variables that it binds.
    """

    functions: Sequence[FunctionType]
    names: Sequence[Variable]
    written: dict[int, tuple[Box, Trace, Any]] = field(default_factory=dict[int, tuple[Box, Trace, Any]])
    """The arrays that were written, with their owner and state before."""
    born: dict[int, Box] = field(default_factory=dict[int, Box])
    """The boxes made since the region began."""
    given_up: set[int] = field(default_factory=set[int])
    """The arrays that the block must not read."""

    def __enter__(self) -> Region:
        self._before = [variable.content for variable in self.names]
        self._containers = _contents(_reached(self.functions))
        self._outer = RUNNING.written, RUNNING.born
        RUNNING.written, RUNNING.born = self.written, self.born
        self._code, FLOW.code = FLOW.code, 0
        OBSERVED.append(self)
        return self

    def __exit__(self, *problem: object) -> None:
        RUNNING.written, RUNNING.born = self._outer
        if RUNNING.born is not None:
            RUNNING.born.update(self.born)
        FLOW.code = self._code
        OBSERVED.remove(self)
        for variable, content in zip(self.names, self._before, strict=True):
            variable.content = content
        for box, owner, state in self.written.values():
            box.owner, box.state = owner, state
        for container, before in self._containers:
            _restore(container, before)

    def arrays(self) -> list[Array]:
        """Return the arrays from outside that the block wrote."""
        inner = self.born.keys() | self.given_up
        written = (box for key, (box, _, _) in self.written.items() if key not in inner)
        return [Array(box) for box in written if not is_given_up(box)]

    def exchanged(self) -> list[Box]:
        """Return the arrays from outside that nothing may read after the block."""
        return [box for key, (box, _, _) in self.written.items() if key not in self.born and is_given_up(box)]

    def without(self, box: Box) -> None:
        """Let the block not read an array."""
        self.written.setdefault(id(box), (box, box.owner, box.state))
        self.given_up.add(id(box))
        give_up(box)

    def is_outer(self, root: Any) -> bool:
        """Return whether an array existed before the block."""
        return root is not None and not (isinstance(root, Box) and id(root) in self.born)

    def elements(self) -> list[Element]:
        """Return the elements and attributes that the block has changed; refuse a change of a plain array or a size."""
        return [element for container, before in self._containers for element in _changed(container, before)]


def _changed(container: Any, before: Any) -> list[Element]:
    """Return the elements of a container that differ from those before."""
    now = _content(container)
    if isinstance(container, _ARRAY):
        if not _have_equal_bytes(now, before):
            raise refusal(
                "staging", "a plain array is written where only a run knows whether", show(container)
            )
        return []
    if isinstance(container, _SET):
        if now != before:
            raise _grows(container)
        return []
    if isinstance(container, _LIST):
        now, before = _numbered(now), _numbered(before)
    if now.keys() != before.keys():
        raise _grows(container)
    return [Element(container, key) for key in before if now[key] is not before[key]]


def _numbered(items: Any) -> Any:
    made: Any = dict(enumerate(items))
    return made


def _grows(container: Any) -> StagingError:
    requirement = f"a {type(container).__name__} grows or shrinks where only a run knows how often"
    return refusal("staging", requirement, hint="write into an array of fixed size: np.zeros(n)")


def _contents(objects: Iterable[Any]) -> list[tuple[Any, Any]]:
    return [(item, _content(item)) for item in objects]


def _content(container: Any) -> Any:
    """Return a copy of what a container holds; a large array is told from others by a checksum."""
    if isinstance(container, _ARRAY):
        return container.copy() if container.nbytes <= _LARGE else zlib.crc32(container.tobytes())
    if isinstance(container, _DICT):
        return dict(_DICT.items(container))
    return (
        [*_LIST.__iter__(container)] if isinstance(container, _LIST) else frozenset(_SET.__iter__(container))
    )


def _have_equal_bytes(one: Any, other: Any) -> bool:
    return one == other if isinstance(one, int) else one.tobytes() == other.tobytes()


def _restore(container: Any, before: Any) -> None:
    now = _content(container)
    if isinstance(container, _ARRAY):
        if container.nbytes <= _LARGE and not _have_equal_bytes(now, before):
            container[...] = before
    elif isinstance(container, _DICT):
        if now.keys() != before.keys() or any(now[key] is not before[key] for key in before):
            _DICT.clear(container)
            _DICT.update(container, before)
    elif isinstance(container, _LIST):
        _LIST.__setitem__(container, slice(None), before)
    elif now != before:
        _SET.clear(container)
        _SET.update(container, before)


def _reached(functions: Sequence[FunctionType]) -> list[Any]:
    """Return the lists, dicts, sets, dicts of attributes and plain arrays that functions reach."""
    waiting: list[Any] = [*functions]
    seen: set[int] = set()
    found: list[Any] = []
    while waiting and len(seen) <= _MOST:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, (Box, str, int, float, type(None), type)):
            continue
        seen.add(id(item))
        if isinstance(item, (list, dict, set)) or (isinstance(item, np.ndarray) and _is_writeable(item)):
            found.append(item)
        waiting += parts_of(item)
    return found


def _is_writeable(array: Any) -> bool:
    return array.flags.writeable and array.dtype.kind in "biufc"


def parts_of(item: Any) -> Iterable[Any]:
    """Return what an object holds."""
    match item:
        case dict():
            return [*dict.values(cast("dict[Any, Any]", item))]
        case list() | set() | tuple() | frozenset():
            return cast("Iterable[Any]", item)
        case MethodType():
            return [item.__func__, item.__self__]
        case FunctionType():
            return _of_function(item)
        case np.ndarray() | CellType() | ModuleType():
            return []
        case _:
            return _attributes(item)


def _attributes(item: Any) -> Iterable[Any]:
    """Return the dict of an object's attributes; of Wengert's own objects the functions that they hold."""
    kind = cast("type[Any]", type(item))
    try:
        held = object.__getattribute__(item, "__dict__") if kind.__dictoffset__ else None
    except AttributeError:
        held = None
    if held is None or not kind.__module__.startswith(_OWN):
        return [] if held is None else [held]
    is_loop = kind.__module__.startswith(__package__ or "")
    return [
        value
        for value in held.values()
        if isinstance(value, (FunctionType, MethodType)) or (is_loop and hasattr(value, "functions"))
    ]


def _of_function(function: FunctionType) -> list[Any]:
    held: list[Any] = [*(function.__defaults__ or ())]
    for cell in function.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:
            continue
    scope = getattr(function.__globals__, "users", {})
    names = (name for name in function.__code__.co_names if name in scope)
    plain = (scope[name] for name in names)
    return [
        *held,
        *(value for value in plain if isinstance(value, (list, dict, set, np.ndarray, FunctionType))),
    ]


def root_of(value: Any) -> Any:
    """Return the array whose memory a value shows, or None."""
    if isinstance(value, Box):
        return (value.lens.root if value.lens is not None else value) if value.shape else None
    if not isinstance(value, _ARRAY) or not value.shape:
        return None
    while isinstance(value.base, _ARRAY):
        value = value.base
    return value
