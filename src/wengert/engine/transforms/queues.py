"""What stands for `collections.deque` in a program that is staged: its elements are those of a list, behind a place."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from wengert.engine.core.errors import StagingError, message
from wengert.engine.core.tree import original_class

_METHODS = frozenset(dir(deque))


class Queue:
    """Stands for a deque; its methods are staged like those of the user's classes.

    Args:
        iterable: its first elements.
        maxlen: how many elements it keeps; None for all.
    """

    def __init__(self, iterable: Iterable[Any] = (), maxlen: int | None = None) -> None:
        self.items: list[Any] = []
        """The elements, behind those that have left at the beginning."""
        self.size = 0
        """How many there are: a number that Python knows where as many come as leave."""
        self.maxlen = maxlen
        self.extend(iterable)

    def __repr__(self) -> str:
        return "a deque"

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[k] for k in range(self.size)])

    def __contains__(self, value: Any) -> bool:
        return value in self.items[len(self.items) - self.size :]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Queue) or self.size != other.size:
            return False
        for k in range(self.size):  # noqa: SIM110
            if self[k] != other[k]:
                return False
        return True

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = object.__hash__

    def __array__(self, *given: Any, **options: Any) -> Any:
        raise _refused("an array")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in _METHODS:
            raise AttributeError(f"'collections.deque' object has no attribute {name!r}")
        raise _refused(name)

    def _place(self, index: int) -> int:
        """Return where an element stands in the list."""
        if index < 0:
            index += self.size
        if index < 0 or index >= self.size:
            raise IndexError("deque index out of range")
        return len(self.items) - self.size + index

    def __getitem__(self, index: int) -> Any:
        return self.items[self._place(index)]

    def __setitem__(self, index: int, value: Any) -> None:
        self.items[self._place(index)] = value

    def __delitem__(self, index: int) -> None:
        del self.items[self._place(index)]
        self.size -= 1

    def append(self, value: Any) -> None:
        """Append an element; the first one leaves a full deque."""
        self.items.append(value)
        if self.maxlen is None or self.size < self.maxlen:
            self.size += 1

    def appendleft(self, value: Any) -> None:
        """Put an element before the first; the last one leaves a full deque."""
        if self.maxlen == 0:
            return
        if self.maxlen is not None and self.size == self.maxlen:
            self.pop()
        place = len(self.items) - self.size - 1
        if place >= 0:
            self.items[place] = value
        else:
            self.items.insert(0, value)
        self.size += 1

    def extend(self, iterable: Iterable[Any]) -> None:
        """Append some elements."""
        for value in iterable:
            self.append(value)

    def extendleft(self, iterable: Iterable[Any]) -> None:
        """Put some elements before the first, one after the other."""
        for value in iterable:
            self.appendleft(value)

    def __iadd__(self, iterable: Iterable[Any]) -> Queue:
        self.extend(iterable)
        return self

    def pop(self) -> Any:
        """Return the last element, and drop it."""
        if self.size == 0:
            raise IndexError("pop from an empty deque")
        self.size -= 1
        return self.items.pop()

    def popleft(self) -> Any:
        """Return the first element, and drop it."""
        if self.size == 0:
            raise IndexError("pop from an empty deque")
        value = self.items[len(self.items) - self.size]
        self.size -= 1
        return value

    def rotate(self, n: int = 1) -> None:
        """Move n elements from the end to the beginning."""
        if self.size > 0:
            for _ in range(n):
                self.appendleft(self.pop())
            for _ in range(-n):
                self.append(self.popleft())

    def clear(self) -> None:
        """Drop all elements."""
        self.items.clear()
        self.size = 0

    def copy(self) -> Queue:
        """Return another deque of the elements."""
        return Queue(self.items[len(self.items) - self.size :], self.maxlen)


def _refused(operation: str) -> StagingError:
    requirement = "this operation of a deque is not part of a program"
    return StagingError(message("deque", requirement, operation, "make it a list: list(queue)"))


def is_queue(value: Any) -> bool:
    """Return whether an object stands for a deque."""
    return original_class(type(value)) is Queue
