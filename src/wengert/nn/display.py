"""The display of a layer: its layers, their arrays and settings, and how many numbers they hold."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

from wengert.engine.core import tree
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.markup import in_notebook, short_table
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.transforms.arguments import is_number

_SCREEN = 40
"""Lines of a printed layer: a larger one is shown without its innermost layers."""


class Displayed:
    """A layer that prints as a table of its layers, and that a notebook shows as a table of its arrays."""

    def __str__(self) -> str:
        rows = list(_rows(self, "", 0))
        depth = max(row.depth for row in rows)
        while depth and sum(row.depth <= depth for row in rows) > _SCREEN:
            depth -= 1
        shown = [row for row in rows if row.depth <= depth]
        left_out = len(rows) - len(shown)
        cells = [("layer", "arrays", "settings", "parameters"), *(row.cells for row in shown)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        columns = [n for n in range(4) if any(row[n] for row in cells[1:])]
        lines = [
            "  ".join(f"{row[n]:{'>' if n == 3 else '<'}{widths[n]}}" for n in columns).rstrip()
            for row in cells
        ]
        numbers = _numbers(self)
        end = f"{_total(numbers):,} parameters, {_memory(numbers):,} bytes"
        rule = "─" * max(map(len, lines))
        return "\n".join(
            [lines[0], rule, *lines[1:], rule, end + f", {left_out} inner layers" * bool(left_out)]
        )

    def _repr_html_(self) -> str:
        leaves, structure = tree.flatten(self)
        arrays = [
            (path.lstrip("."), leaf)
            for path, leaf in zip(tree.paths(structure), leaves, strict=True)
            if is_number(leaf)
        ]
        rows = [(path, show(leaf), f"{size(shape_of(leaf)):,}") for path, leaf in arrays]
        numbers = _numbers(self)
        count = _total(numbers)
        title = (
            f"{type(self).__name__}: {count:,} number{'' if count == 1 else 's'}, {_memory(numbers):,} bytes"
        )
        return in_notebook(short_table(title, ("array", "type", "numbers"), rows, texts=2))


def _numbers(value: Any) -> list[Any]:
    return [leaf for leaf in tree.leaves(value) if is_number(leaf)]


def _total(numbers: list[Any]) -> int:
    return sum(size(shape_of(leaf)) for leaf in numbers)


def _memory(numbers: list[Any]) -> int:
    return sum(size(shape_of(leaf)) * dtype_of(leaf).itemsize for leaf in numbers)


class _Row(NamedTuple):
    depth: int
    cells: tuple[str, str, str, str]


def _rows(value: Any, path: str, depth: int) -> Iterator[_Row]:
    """Yield a row for each layer of a model; each layer comes before the layers inside it."""
    parts = tree.children(value) or {}
    if is_layer := dataclasses.is_dataclass(value):
        arrays = ", ".join(f"{name} {show(part)}" for name, part in parts.items() if is_number(part))
        count = _total(_numbers(value))
        name = f"{'  ' * depth}{path.lstrip('.')}{': ' * bool(path)}{_name(value)}"
        yield _Row(depth, (name, arrays, _settings(value), f"{count:,}" if count else ""))
    for key, part in parts.items():
        inner = f".{key}" if is_layer else f"[{key!r}]"
        yield from _rows(part, inner if is_layer else path + inner, depth + is_layer)


def _name(layer: Any) -> str:
    kind = type(layer).__name__
    return getattr(layer.function, "__name__", kind) if kind == "Lambda" else kind


def _settings(layer: Any) -> str:
    """Return the settings of a layer that differ from their defaults."""
    if type(layer).__name__ == "Lambda":
        return ""
    defaults = {
        name: parameter.default for name, parameter in inspect.signature(type(layer)).parameters.items()
    }
    values = {
        field.name: getattr(layer, field.name)
        for field in dataclasses.fields(layer)
        if field.metadata.get("static")
    }
    return ", ".join(
        f"{name} {getattr(value, '__name__', value)}"
        for name, value in values.items()
        if value is not defaults.get(name) and value != defaults.get(name)
    )
