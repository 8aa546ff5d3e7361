"""The functions of a program in parts, each an LLVM module: one is compiled while the next is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from wengert.compiler import mathlib
from wengert.compiler.llvm.ir_builder import Kind
from wengert.compiler.machine import costs
from wengert.compiler.machine.target import Target

_INTERNAL = "define internal void @"
_NAME = re.compile(r"@([\w.]+)\(")
#: What is given the module of a part, and the names of the functions that it defines for later parts.
Take: TypeAlias = Callable[[str, Sequence[str]], None]


@dataclass
class Part:
    """Functions that are compiled together, and what they need."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    """By their names."""
    functions: set[tuple[str, Kind]] = field(default_factory=set[tuple[str, Kind]])
    """The elementary functions that they call."""
    declared: set[str] = field(default_factory=set[str])
    """The declarations of all functions that they call."""

    def module(self, target: Target, *more: str) -> str:
        """Return the text of a module, with functions that follow."""
        text, declared = mathlib.definitions(sorted(self.functions), target)
        declared |= {line for line in self.declared if _NAME.findall(line)[0] not in self.texts}
        return "\n".join([*sorted(declared), text, *self.texts.values(), *more])


class Parts:
    """The functions of a program, as they are written one after the other.

    A function calls only what was written before it, in its own part or in one that is finished.

    Args:
        target: the processor.
        take: is given each part that is finished before the last one. Without it there is one part.
    """

    def __init__(self, target: Target, take: Take | None) -> None:
        self.current = Part()
        self._target = target
        self._take = take
        self._size = 0

    def add(self, name: str, text: str) -> None:
        """Add a function, of which `current` knows what it needs; it may be the last one of its part."""
        self.current.texts[name] = text
        self._size += len(text)
        if self._take and self._size >= costs.COSTS.module_part_characters:
            part, self.current, self._size = self.current, Part(), 0
            module = part.module(self._target).replace(_INTERNAL, "define void @")
            self._take(module, list(part.texts))

    def last(self, main: str) -> str:
        """Return the module of the last part, with the function that runs the program."""
        return self.current.module(self._target, main)
