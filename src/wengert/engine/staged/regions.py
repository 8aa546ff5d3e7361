"""The state of a block: variables, arrays, elements and attributes that it changes; all is put back after its trace."""

from __future__ import annotations

import threading
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CellType, FunctionType
from typing import Any
from typing import cast as cast_to

from wengert.engine.boxes import OBSERVED, RUNNING, WITHOUT_AXES, Box, Lens, Trace, Unsized, boxed
from wengert.engine.core import tree
from wengert.engine.core.errors import StagingError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.ops.cells import are_cells, cells, kind_of, packed
from wengert.engine.ops.conversion import cast
from wengert.engine.staged.columns import structure_of
from wengert.engine.staged.exchanged import give_up, is_given_up, refusal
from wengert.engine.staged.exits import RETURNED, VALUE
from wengert.engine.staged.frozen import Frozen, mutable_parts
from wengert.engine.staged.grown import Grown, Held
from wengert.engine.staged.objects import (
    ARRAY,
    DICT,
    LIST,
    content_of_object,
    is_unchanged,
    reached,
    restore,
)
from wengert.engine.staged.tables import width_of
from wengert.engine.staged.texts import text_of
from wengert.engine.transforms.arguments import is_number


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
        self.outer: dict[Any, Any] = {}
        """The number at the beginning of each trace in which one was noted."""
        self.texts: list[str] = []
        """The exceptions that it may raise, in the order of their numbers from 1."""
        self.facts: list[Fact] = []
        self.trying = 0
        """How many `try` statements are open."""
        self.probing = 0
        """How many loops are finding out whether they must be staged."""
        self.is_strict = False
        """Whether only loops of a known number of turns may be staged, as many turns alone are the reason."""
        self.loops = 0
        """How many loops were staged."""
        self.has_windows = False
        """Whether a slice has ends that only a run knows."""
        self.is_widened = False
        """Whether a number is one of Python's after one branch, and one of NumPy's after the other."""
        self.limits: dict[Any, tuple[int, int]] = {}
        """The least and the greatest integer that a variable may be, where a loop tells."""
        self.ends: list[tuple[Any, int, Any]] = []
        """For each loop outside of others: the trace, how many equations it had at the end, and the results."""
        self.memory: Any = None
        """What earlier drafts of the block that is traced found of the loops inside; None outside of drafts."""
        self.passed: list[Any] = []
        """What `for` statements go through at the moment, from the outermost to the innermost."""
        self.plain: list[Any] = []
        """Lists of lists for which nothing can stand."""
        self.held: list[Any] = []
        """What keeps arrays from being written that lists hold."""
        self.frozen = Frozen()
        """The objects that may be one, as only a run knows."""
        self.spoiled: Exception | None = None
        """The error of a change that could not be undone."""
        self.caught: Exception | None = None
        """The error of a value that only a run knows that a handler of the program may have caught."""


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


@contextmanager
def going_through(*items: Any) -> Generator[None]:
    """Note inside the block what a ``for`` statement goes through: no list there may be exchanged."""
    count = len(FLOW.passed)
    FLOW.passed.extend(items)
    try:
        yield
    finally:
        del FLOW.passed[count:]


# -- variables -------------------------------------------------------------------------------------------


def _cell_content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


def _fill_cell(cell: CellType, value: Any) -> None:
    if value is not UNBOUND:
        cell.cell_contents = value
    elif _cell_content(cell) is not UNBOUND:
        del cell.cell_contents


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
        return _cell_content(self.cell)

    @content.setter
    def content(self, value: Any) -> None:
        _fill_cell(self.cell, value)

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
        if isinstance(self.container, CellType):
            return "a variable of an enclosing function"
        return f"[{text_of(self.key)}] of a {type(self.container).__name__}"

    @property
    def content(self) -> Any:
        """The value, or `UNBOUND`."""
        if isinstance(self.container, CellType):
            return _cell_content(self.container)
        is_dict = isinstance(self.container, DICT)
        return (DICT.__getitem__ if is_dict else LIST.__getitem__)(self.container, self.key)

    def replace(self, value: Any) -> None:
        """Give the element a value."""
        if isinstance(self.container, CellType):
            _fill_cell(self.container, value)
            return
        is_dict = isinstance(self.container, DICT)
        (DICT.__setitem__ if is_dict else LIST.__setitem__)(self.container, self.key, value)


@dataclass(eq=False)
class Items:
    """The elements of a list of numbers as one array, where one of them is written as only a run knows which.

    Args:
        container: the list.
        kind: the type of an element; numbers of Python's may take another one.
    """

    container: Any
    kind: TensorType
    is_live = True
    is_carried = True
    is_internal = False

    @property
    def name(self) -> str:
        """What messages call it."""
        return "a list"

    @property
    def content(self) -> Any:
        """The array."""
        kind = kind_of(self.container, self.kind)
        if kind is None:
            got = show(*map(type_of, self.container), self.kind)
            raise refusal("list", "the elements must be numbers of one type", got)
        self.kind = kind
        return packed(self.container, kind)

    def replace(self, value: Any) -> None:
        """Give the list the elements of an array."""
        LIST.__setitem__(self.container, slice(None), cells(value, self.kind.weak))


@dataclass(eq=False)
class Growth:
    """The elements of a list that grows in a turn around.

    Args:
        grown: stands for the list.
        is_longer: whether its length differs from that before the block.
    """

    grown: Grown
    is_longer: bool
    is_live = True
    is_carried = True
    is_internal = False
    name = "a list that grows"

    @property
    def container(self) -> Any:
        """What stands for the list."""
        return self.grown

    @property
    def kind(self) -> TensorType:
        """The type of an element."""
        return self.grown.kind

    @property
    def content(self) -> Any:
        """The array."""
        array = self.grown.held.array
        return array if array.dtype == self.grown.kind.dtype else cast(array, dtype=self.grown.kind.dtype)

    def replace(self, value: Any) -> None:
        """Give the list other elements."""
        self.grown.held = self.grown.held._replace(array=value)


Place = Variable | Array | Element | Items | Growth


def key_of(place: Place) -> Any:
    """Return what tells a place from others."""
    match place:
        case Variable():
            return "variable", place.name
        case Array():
            return "array", id(place.box)
        case Element():
            return "element", id(place.container), place.key
        case Items():
            return "items", id(place.container)
        case Growth():
            return "growth", id(place.grown)


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
        return text_of(value)
    if all(map(is_number, leaves)):
        return show(*map(type_of, leaves)) if structure.kind is None else tree.show(structure)
    return type(value).__name__


# -- regions ---------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Region:
    """The run of a block whose changes are undone."""

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
        own = {id(variable.cell) for variable in self.names}
        found = [item for item in reached(self.functions) if id(item) not in own]
        self._containers = [(item, content_of_object(item)) for item in found]
        self._outer = RUNNING.written, RUNNING.born
        RUNNING.written, RUNNING.born = self.written, self.born
        self._code, FLOW.code = FLOW.code, 0
        self._caught, FLOW.caught = FLOW.caught, None
        self._frozen = FLOW.frozen.names()
        OBSERVED.append(self)
        return self

    def __exit__(self, *problem: object) -> None:
        RUNNING.written, RUNNING.born = self._outer
        if RUNNING.born is not None:
            RUNNING.born.update(self.born)
        FLOW.code = self._code
        OBSERVED.remove(self)
        for variable, content in self.bindings():
            variable.content = content
        for box, owner, state in self.written.values():
            box.owner, box.state = owner, state
        changed, FLOW.caught = FLOW.caught, self._caught
        try:
            FLOW.frozen.check()
        except StagingError as found:
            changed = found
        for container, before in self._containers:
            if not restore(container, before):
                FLOW.spoiled = _changes(container)
        FLOW.frozen.renew(self._frozen)
        if changed is not None and problem[0] is None:
            raise changed

    def arrays(self) -> list[Array]:
        """Return the arrays from outside that the block wrote."""
        inner = self.born.keys() | self.given_up
        written = (box for key, (box, _, _) in self.written.items() if key not in inner)
        return [Array(box) for box in written if not is_given_up(box)]

    def showing(self, places: Sequence[Place]) -> list[Element]:
        """Return the elements and attributes that hold arrays or containers that the block has changed inside."""
        changed = {id(place.box) for place in places if isinstance(place, Array)}
        changed |= {id(place.container) for place in places if isinstance(place, Element)}
        if not changed:
            return []
        elements = [Element(container, key) for container, _ in self._containers for key in _keys(container)]
        return [element for element in elements if _shows(element.content, changed)]

    def has_changes(self) -> bool:
        """Return whether the block has changed anything from outside so far."""
        is_bound = any(variable.content is not before for variable, before in self.bindings())
        return is_bound or bool(self.arrays() or self.exchanged() or self.elements())

    def bindings(self) -> Iterable[tuple[Variable, Any]]:
        """Return the variables, with what they held before the block."""
        return zip(self.names, self._before, strict=True)

    def has_effects(self) -> bool:
        """Return whether the block has changed any object so far."""
        return bool(self.written) or not all(is_unchanged(*pair) for pair in self._containers)

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

    def holds(self, container: Any) -> bool:
        """Return whether a container existed before the block."""
        return any(item is container for item, _ in self._containers)

    def elements(self, whole: Collection[int] = ()) -> list[Element | Items | Growth]:
        """Return the elements and attributes that the block has changed; refuse a change of a plain array or a size.

        Args:
            whole: the identities of lists whose elements are one array.
        """
        return [
            element
            for container, before in self._containers
            for element in _changed(container, before, id(container) in whole)
        ]


def _keys(container: Any) -> list[Any]:
    if isinstance(container, CellType):
        return [""]
    if isinstance(container, DICT):
        return [*container]
    is_list = isinstance(container, LIST) and type(container) is not Grown
    return [*range(len(container))] if is_list else []


def _shows(value: Any, changed: set[int]) -> bool:
    """Return whether a value shows one of some arrays and containers."""
    if isinstance(value, (Box, Unsized)):
        return id(root_of(value)) in changed
    if value is UNBOUND or tree.children(value) is None:
        return False
    parts = mutable_parts(value)
    return any(id(part) in changed for part in parts) or any(
        id(root_of(leaf)) in changed for leaf in tree.leaves(value)
    )


def _changed(container: Any, before: Any, is_whole: bool) -> Sequence[Element | Items | Growth]:
    """Return the elements of a container that differ from those before."""
    if is_unchanged(container, before):
        return []
    if type(container) is Grown:
        return [Growth(container, not container.held.is_as_long_as(Held(*before)))]
    if isinstance(container, ARRAY):
        raise refusal("staging", "a plain array is written where only a run knows whether", show(container))
    if isinstance(container, CellType):
        return [Element(container, "")]
    if not isinstance(container, (dict, list)):
        raise _changes(container)
    now: Any = content_of_object(container)
    if isinstance(container, LIST):
        now, before = _numbered(now), _numbered(before)
    if now.keys() != before.keys():
        raise grows(container, len(now) - len(before), [*now.values(), *before.values()])
    if isinstance(container, LIST) and (is_whole or are_cells(cast_to("list[Any]", container))):
        kind = kind_of([*container, *before.values()])
        if kind is not None:
            return [Items(container, kind)]
    return [Element(container, key) for key in before if now[key] is not before[key]]


def _numbered(items: Any) -> Any:
    made: dict[int, Any] = dict(enumerate(items))
    return made


class GrowthError(StagingError):
    """A block makes a container longer or shorter, for which nothing stands yet."""

    container: Any
    change: int
    kind: TensorType | None
    """The type of the elements, if they are numbers or arrays of one type."""
    structure: tree.Structure | None
    """The structure of the elements, if they are tuples of numbers of one form."""
    rows: list[Any] | None
    """The elements, if they are lists of numbers of one length."""


def grows(container: Any, change: int = 0, elements: Sequence[Any] = ()) -> GrowthError:
    """Return the error of a container whose length only a run knows.

    Args:
        container: the container.
        change: by how much it has grown in a block.
        elements: what it holds before and after the block.
    """
    name = "list" if isinstance(container, LIST) else type(container).__name__
    requirement = f"a {name} grows or shrinks where only a run knows how often"
    hint = "write into an array of fixed size, np.zeros(n), or make the number known: wg.jit(f, static_argnums=...)"
    problem = GrowthError(message(name, requirement, hint=hint))
    problem.container, problem.change = container, change
    is_list = isinstance(container, LIST) and elements
    problem.kind = container.kind if type(container) is Grown else kind_of(elements) if is_list else None
    problem.structure = structure_of(elements) if is_list else None
    found = {id(element): element for element in elements} if is_list else {}
    rows: list[Any] = [*found.values()]
    is_plain = any(container is item for item in FLOW.plain)
    problem.rows = rows if not is_plain and width_of(rows) is not None else None
    return problem


def _changes(item: Any) -> StagingError:
    name = f"class {item.__name__}" if isinstance(item, type) else type(item).__name__
    requirement = f"an object changes where only a run knows whether: {name}"
    return refusal("staging", requirement, hint="hold its numbers in variables, a list or an array")


def has_no_axes(value: Any) -> bool:
    """Return whether a value is an array without axes, which is no number: a view of one element."""
    return isinstance(value, Box) and type(value.lens) is Lens and not value.shape


def without_axes(number: Any) -> Any:
    """Return a new array without axes."""
    (make,) = WITHOUT_AXES
    return make(number)


def root_of(value: Any) -> Any:
    """Return the array whose memory a value shows, or None."""
    if isinstance(value, Box):
        # The shape of an element that is pending makes it a value.
        if not (value.shape or has_no_axes(value)):
            return None
        return value if value.lens is None else value.lens.root
    if isinstance(value, Unsized):
        return root_of(value.array)
    if not isinstance(value, ARRAY) or not value.shape:
        return None
    while isinstance(value.base, ARRAY):
        value = value.base
    return value
