"""Mutable objects that may be one, as only a run knows: while the function is staged, none of them may change."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.engine.core import tree
from wengert.engine.staged.exchanged import refusal
from wengert.engine.staged.objects import attributes, content_of_object, is_unchanged


class Frozen:
    """Objects that must hold what they hold until the function ends."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[Any, Any]] = {}

    def __contains__(self, item: Any) -> bool:
        return id(item) in self._held

    def add(self, items: Iterable[Any]) -> None:
        """Add objects with what they hold now."""
        for item in items:
            self._held.setdefault(id(item), (item, content_of_object(item)))

    def names(self) -> set[int]:
        """Return the identities of the objects."""
        return {*self._held}

    def check(self) -> None:
        """Raise an error if an object has changed."""
        for item, before in self._held.values():
            if not is_unchanged(item, before):
                kind = "array" if isinstance(item, np.ndarray) else type(item).__name__
                requirement = f"a {kind} changes that, as only a run knows, another variable may show"
                hint = "copy it where the names part: x = y.copy()"
                raise refusal("staging", requirement, hint=hint)

    def keep(self, names: set[int]) -> None:
        """Let all other objects change."""
        self._held = {name: entry for name, entry in self._held.items() if name in names}

    def renew(self, names: set[int]) -> None:
        """Note what objects hold now, but for some."""
        for name in self._held.keys() - names:
            item = self._held[name][0]
            self._held[name] = item, content_of_object(item)


def mutable_parts(value: Any) -> list[Any]:
    """Return the lists, the dicts and the attributes of data classes that a tree consists of."""
    found: list[Any] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        parts = tree.children(item)
        if parts is None:
            continue
        waiting += parts.values()
        if isinstance(item, (list, dict)):
            found.append(item)
        elif dataclasses.is_dataclass(item):
            found.append(attributes(item) or item)
    return found
