"""A list that grows or shrinks by as many elements in each turn of a loop: an array with room for all, and a length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.engine.boxes import Box
from wengert.engine.core.dtypes import PYTHON_TYPE
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.ops.cells import kind_of, strong
from wengert.engine.ops.comparison import greater, greater_equal, less, logical_and, where
from wengert.engine.ops.conversion import cast, python_number
from wengert.engine.ops.indexing import gather, scatter
from wengert.engine.staged.exchanged import refusal


class Held(NamedTuple):
    """What a list holds."""

    array: Any
    """The elements, with room for further ones."""
    base: Any
    """The length at the beginning of a turn: an integer of Python's, or a box of one."""
    change: int
    """By how much it has grown since."""


class Grown:
    """Stands for a list inside of a turn.

    Args:
        kind: the type of its elements.
        tools: what finds out about numbers of places, and keeps arrays from being written.
    """

    __slots__ = ("__weakref__", "held", "kind", "peak", "tools")

    def __init__(self, kind: TensorType, tools: Any) -> None:
        self.kind, self.tools = kind, tools
        self.held = Held(None, 0, 0)
        self.peak = 0
        """The largest change in a turn."""

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The class by which `isinstance` knows it."""
        return list

    def length(self) -> Any:
        """Return the number of elements, which only a run may know."""
        return self.held.base + self.held.change

    # -- what a turn may do ------------------------------------------------------------------------------

    def append(self, value: Any) -> None:
        """Append a number or an array."""
        kind = self._with(value)
        array, base, change = self.held
        self.tools.hold(value)
        array = scatter(self._typed(array, kind), strong(value, kind), base + change)
        self.held = Held(array, base, change + 1)
        self.peak = max(self.peak, change + 1)

    def extend(self, values: Iterable[Any]) -> None:
        """Append some numbers or arrays."""
        if type(values) not in (list, tuple):
            raise _refused("extend")
        for value in values:
            self.append(value)

    def __iadd__(self, values: Iterable[Any]) -> Grown:
        self.extend(values)
        return self

    def pop(self, index: Any = -1) -> Any:
        """Return the last element, and drop it."""
        if type(index) is not int or index != -1:
            raise _refused("pop")
        place = self._place(-1, "pop from empty list")
        self.held = self.held._replace(change=self.held.change - 1)
        return self._read(place)

    def __getitem__(self, index: Any) -> Any:
        return self._read(self._place(index, "list index out of range"))

    def __setitem__(self, index: Any, value: Any) -> None:
        place, kind = self._place(index, "list assignment index out of range"), self._with(value)
        self.tools.hold(value)
        array = scatter(self._typed(self.held.array, kind), strong(value, kind), place)
        self.held = self.held._replace(array=array)

    def _with(self, value: Any) -> TensorType:
        """Return the type of the elements together with another one."""
        kind = kind_of([value], self.kind)
        if kind is None:
            requirement = "a list that grows in a loop holds numbers, or arrays of one shape"
            try:
                got = f"{self.kind} and {show(type_of(value))}"
            except Exception:
                got = type(value).__name__
            raise refusal("list", requirement, got)
        if type_of(value) != self.kind:
            self.tools.widened()
        self.kind = kind
        return kind

    def _typed(self, array: Any, kind: TensorType) -> Any:
        return array if array.dtype == kind.dtype else cast(array, dtype=kind.dtype)

    def _read(self, place: Any) -> Any:
        value = gather(self.held.array, place)
        if self.kind.weak:
            return python_number(value, PYTHON_TYPE[self.kind.dtype.kind])
        self.tools.hold(value)
        return value

    def _place(self, index: Any, problem: str) -> Any:
        """Return the number of an element; the program raises `IndexError` if there is none."""
        if not self.tools.is_integer(index):
            raise _refused("an index that is no integer")
        length = self.length()
        index = python_number(index, int) if isinstance(index, Box) else int(index)
        low, high = self.tools.limits(index)
        if high is not None and high < 0:
            index = index + length
        elif low is None or low < 0:
            index = where(index < 0, index + length, index)
        low, _ = self.tools.limits(index)
        below, _ = self.tools.limits(length - index)
        is_inside = low is not None and low >= 0
        is_below = below is not None and below > 0
        if is_inside and is_below:
            return index
        holds: Any = True
        if not is_inside:
            holds = greater_equal(index, 0)
        if not is_below:
            holds = less(index, length) if holds is True else logical_and(holds, less(index, length))
        if not isinstance(holds, Box):
            if holds:
                return index
            raise IndexError(problem)
        return self.tools.guarded(where(holds, index, 0), holds, IndexError(problem))

    def is_filled(self) -> Any:
        """Return whether it has an element."""
        low, _ = self.tools.limits(self.length())
        return True if low is not None and low > 0 else greater(self.length(), 0)

    # -- what a turn may not do --------------------------------------------------------------------------

    def __len__(self) -> int:
        raise _refused("len")

    def __bool__(self) -> bool:
        raise _refused("its truth value")

    def __iter__(self) -> Any:
        raise _refused("iteration")

    def __contains__(self, value: Any) -> bool:
        raise _refused("in")

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise _refused("conversion to an array")

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        raise _refused("==")

    def __add__(self, other: Any) -> Any:
        raise _refused("+")

    __radd__ = __mul__ = __rmul__ = __lt__ = __le__ = __gt__ = __ge__ = __add__
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __delitem__(self, index: Any) -> None:
        raise _refused("del")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _refused(name)


def _refused(operation: str) -> Exception:
    requirement = (
        "a list that grows in a loop is read and written by index, appended to and popped from in a turn"
    )
    return refusal("list", requirement, operation, "write into an array: np.zeros(n)")
