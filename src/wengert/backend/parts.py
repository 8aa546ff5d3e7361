"""The functions of a program in parts, each an LLVM module: one is compiled while the next is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from wengert.backend import elementary
from wengert.backend.builder import Kind
from wengert.backend.target import Target

_SIZE = 70_000
"""Characters of a part, about: LLVM takes some 45 milliseconds for them, and 2 for what each part has to itself."""
_INTERNAL = re.compile(r"^define internal (void @[\w.]+\([^)]*\))", re.MULTILINE)


@dataclass
class Part:
    """Functions that are compiled together, and what they need."""

    texts: list[str] = field(default_factory=list[str])
    functions: set[tuple[str, Kind]] = field(default_factory=set[tuple[str, Kind]])
    """The elementary functions that they call."""
    declared: set[str] = field(default_factory=set[str])

    def module(self, target: Target, more: str = "", earlier: frozenset[str] = frozenset()) -> str:
        """Return the text of a module.

        Args:
            target: the processor.
            more: a function that follows.
            earlier: declarations of what other modules define.
        """
        text, declared = elementary.definitions(sorted(self.functions), target)
        return "\n".join([*sorted(declared | self.declared | earlier), text, *self.texts, more])


class Parts:
    """The functions of a program, as they are written one after the other.

    A function calls only what was written before it, in its own part or in one that is finished.

    Args:
        target: the processor.
        take: is given the module of each part that is finished before the last one. Without it there is one part.
    """

    def __init__(self, target: Target, take: Callable[[str], None] | None) -> None:
        self.current = Part()
        self._target = target
        self._take = take
        self._finished: list[Part] = []
        self._size = 0
        self._earlier: frozenset[str] = frozenset()

    def add(self, text: str) -> None:
        """Add a function, of which `current` knows what it needs; it may be the last one of its part."""
        self.current.texts.append(text)
        self._size += len(text)
        if self._take and self._size >= _SIZE:
            self._finish(self._take)

    def _finish(self, take: Callable[[str], None]) -> None:
        part, self.current, self._size = self.current, Part(), 0
        self._finished.append(part)
        take(_INTERNAL.sub(r"define \1", part.module(self._target, earlier=self._earlier)))
        heads = (head for text in part.texts for head in _INTERNAL.findall(text))
        self._earlier |= {f"declare {head}" for head in heads}

    def last(self, main: str) -> str:
        """Return the module of the last part, with the function that runs the program."""
        return self.current.module(self._target, main, self._earlier)

    def together(self, main: str) -> str:
        """Return the whole program as one module."""
        if not self._finished:
            return self.last(main)
        parts = [*self._finished, self.current]
        whole = Part()
        for part in parts:
            whole.texts += part.texts
            whole.functions |= part.functions
            whole.declared |= part.declared
        return whole.module(self._target, main)
