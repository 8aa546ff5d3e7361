"""Lines of C in nested blocks, names in them, and the sources of the user's lines."""

from __future__ import annotations

import inspect
import itertools
import linecache
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from wengert.compiler.freestanding.names import RESERVED
from wengert.engine.core.notebooks import readable
from wengert.exporting.c_source.operations import is_reserved

_WIDTH = 100
_ADJOINT = "adjoint of "
_MOST_LINES = 4
"""The lines of Python in one comment."""
_COUNTERS = "ijklmnpqrsuvw"
_BREAK = re.compile(r" (?=(?:\+|-|\*|/|&&|\|\||\?|:|==|<|>|<=|>=|!=) )|(?<=,) ")
_PLACE = re.compile(r"(.*?)([^ ]+\.py):(\d+)$")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\s*(?:[-+*/@%]|//|\*\*)?=(?!=)")


class Names:
    """The names of a function of C: what stands in a block is free again after it."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = [set(taken)]

    @property
    def block(self) -> set[str]:
        """The names of the innermost block."""
        return self._taken[-1]

    def open(self) -> set[str]:
        """Begin a block, and return its names."""
        self._taken.append(set())
        return self.block

    def close(self) -> None:
        """End a block."""
        self._taken.pop()

    def new(self, wanted: str, block: set[str] | None = None) -> str:
        """Return a name that nothing around has, such as ``sum``, ``sum2``: of a block that is open."""
        name, number = wanted, 2
        while self._is_taken(name):
            name, number = f"{wanted}{number}", number + 1
        (self.block if block is None else block).add(name)
        return name

    def counter(self) -> str:
        """Return the name of a counter."""
        free = next((name for name in _COUNTERS if not self._is_taken(name)), "i")
        return self.new(free)

    def numbered(self, first: str, block: set[str] | None = None) -> str:
        """Return ``t1``, ``t2`` and so on."""
        number = 1
        while self._is_taken(f"{first}{number}"):
            number += 1
        return self.new(f"{first}{number}", block)

    def _is_taken(self, name: str) -> bool:
        return name in RESERVED or is_reserved(name) or any(name in names for names in self._taken)


def indented(lines: Iterable[str]) -> list[str]:
    """Return lines of a block."""
    return [f"    {line}" if line else "" for line in lines]


def arguments(taken: Sequence[str]) -> str:
    """Return parameters, one a line."""
    return ",".join(f"\n    {one}" for one in taken) or "void"


def wrapped(line: str) -> Iterator[str]:
    """Yield a line of C in parts that are not too long, each but the first indented more."""
    indent, continued = len(line) - len(line.lstrip()), False
    while len(line) > _WIDTH and not line.lstrip().startswith(("/*", '"')):
        places = [match.start() for match in _BREAK.finditer(line, indent + 8, _WIDTH)]
        if not places:
            break
        depths = list(itertools.accumulate((sign in "([") - (sign in ")]") for sign in line))
        late = [place for place in places if place > (indent + _WIDTH) // 2] or places
        best = min(late, key=lambda place: (depths[place], -place))
        yield line[:best]
        indent, continued = indent if continued else indent + 4, True
        line = " " * indent + line[best:].lstrip()
    yield line


class Sources:
    """The lines of Python behind the places in a graph."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        own = inspect.unwrap(fun)
        code = getattr(own, "__code__", None) or getattr(type(own).__call__, "__code__", None)
        self._own = code.co_filename if code else ""

    def line(self, location: str) -> str:
        """Return the text of a line, without the space around it; "" if it is not known."""
        match = _PLACE.match(location)
        if match is None:
            return ""
        files = {self._own} if os.path.basename(self._own) == match[2] else _files(match[2])
        return linecache.getline(files.pop(), int(match[3])).strip() if len(files) == 1 else ""

    def comment(self, locations: Iterable[str]) -> list[str]:
        """Return the lines of a comment on places: their texts, those of a derivative behind the others."""
        ordered = sorted({*locations} - {""}, key=lambda place: (place.count(_ADJOINT), _number(place)))
        texts = [f"{readable(place)}{(text := self.line(place)) and f':  {text}'}" for place in ordered]
        texts = [*texts[:_MOST_LINES], *["..."] * (len(texts) > _MOST_LINES)]
        lines = [f"{'   ' if n else '/* '}{harmless(text)}" for n, text in enumerate(texts)]
        return [*lines[:-1], f"{lines[-1]} */"] if lines else []

    def variable(self, location: str) -> str:
        """Return the variable that a line assigns, if it assigns one."""
        match = None if _ADJOINT in location else _ASSIGNED.match(self.line(location))
        return match[1].strip("_") if match and match[1].isascii() else ""


def _number(location: str) -> tuple[str, int]:
    file, _, line = location.rpartition(":")
    return file, int(line) if line.isdigit() else 0


def harmless(text: str) -> str:
    """Return a text that a comment may hold."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


def _files(name: str) -> set[str]:
    """Return the files with a name that Python has read."""
    modules = (getattr(module, "__file__", None) or "" for module in [*sys.modules.values()])
    return {file for file in (*modules, *linecache.cache) if os.path.basename(file) == name}
