"""The user's source: the lines of the functions that a list comes from."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable, Mapping
from typing import Any

from wengert.engine.core.notebooks import readable_file
from wengert.engine.core.parsing import statements
from wengert.explorer.path import Place

_AROUND = 2
"""Lines shown around a line outside of any function."""


def excerpts(places: Mapping[str, Place]) -> list[dict[str, Any]]:
    """Return the parts of the user's files that a list comes from, in the order of the places.

    Each is ``{"file": name, "lines": [[number, text], ...]}``; a gap in the numbers is a part left out.
    """
    wanted: dict[str, set[int]] = {}
    for place in places.values():
        wanted.setdefault(place.file, set()).add(place.line)
    return [
        {"file": readable_file(file), "lines": _lines(linecache.getlines(file), numbers)}
        for file, numbers in wanted.items()
    ]


def _lines(text: list[str], numbers: set[int]) -> list[tuple[int, str]]:
    shown: set[int] = set()
    for first, last in _blocks(text, numbers):
        shown.update(range(max(first, 1), min(last, len(text)) + 1))
    while shown and not text[min(shown) - 1].strip():
        shown.remove(min(shown))
    return [(number, text[number - 1].rstrip("\n")) for number in sorted(shown)]


def _blocks(text: list[str], numbers: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Yield the first and the last line of the statement that holds each line: its function, or the lines around it."""
    functions: list[tuple[int, int]] = []
    try:
        nodes = (part for node in statements("".join(text)) for part in ast.walk(node))
    except SyntaxError:  # a notebook's cell with commands of its own
        nodes = iter(())
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min((decorator.lineno for decorator in node.decorator_list), default=node.lineno)
            functions.append((first, node.end_lineno or node.lineno))
    for number in numbers:
        around = [block for block in functions if block[0] <= number <= block[1]]
        yield max(around) if around else (number - _AROUND, number + _AROUND)
