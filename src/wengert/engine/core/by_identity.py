"""Facts about objects that are equal to others or have no hash, such as code: one for each object while it lives."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

ValueT = TypeVar("ValueT")


class ByIdentity(Generic[ValueT]):
    """A table from objects to facts, by identity; an entry goes when its object goes.

    Example:
        >>> lengths = ByIdentity(len)
        >>> lengths.of(frozenset([1, 2]))
        2
    """

    def __init__(self, make: Callable[..., ValueT]) -> None:
        self._make = make
        self._entries: dict[int, tuple[weakref.ref[Any], ValueT]] = {}

    def of(self, owner: Any, *others: Any) -> ValueT:
        """Return the fact of an object; others are arguments with which it is computed the first time."""
        key = id(owner)
        entry = self._entries.get(key)
        if entry is None:
            value = self._make(owner, *others)
            # Not weakref.finalize: its first use imports a module, which fails while the interpreter ends.
            entry = self._entries[key] = weakref.ref(owner, lambda _: self._entries.pop(key, None)), value
        return entry[1]
