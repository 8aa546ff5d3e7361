"""The printer: a graph as text that says everything and reads like a program.

    graph(x1: f64[], x2: f64[]) {
      v1: f64[] = log(x1)          # user.py:12
      v2: f64[] = multiply(x1, x2) # user.py:12
      return v2
    }

Parameters stand in brackets, programs inside an equation are graphs among its parameters. A Python scalar is written as
in Python (``2.0``), a NumPy scalar with its dtype (``f32(2.0)``). Constants are written as nested lists, larger ones as
the base64 of their bytes in a section of data at the end.
"""

from __future__ import annotations

import base64
import keyword
import math
from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from wengert.engine.core.dtypes import SHORT_NAMES
from wengert.engine.core.markup import in_notebook, short_table
from wengert.engine.core.notebooks import readable
from wengert.engine.core.shapes import size
from wengert.engine.ir.graph import Atom, Equation, Graph, Literal, Var
from wengert.engine.ir.opaque import register
from wengert.engine.ir.types import TensorType

#: Constants up to this many elements are written as lists.
LISTED = 16
#: Constants of more elements are summed up where a graph is shown.
SHOWN = 4096
_COMMENT_COLUMN = 64
#: Words of the language, which no value is called.
RESERVED = {*keyword.kwlist, *SHORT_NAMES.values(), "graph", "data", "summary", "inf", "nan"}


def text(graph: Graph, full: bool = False) -> str:
    """Write a graph down; a ``full`` text has all constants, as in `Graph.text`, and locations as they are.

    Example:
        >>> from wengert.engine.ir.types import type_of
        >>> x = Var(type_of(1.0), "angle")
        >>> print(text(Graph((x,), (), (Equation("sin", (x,), (y := Var(x.type),)),), (y,))))
        graph(angle: f64*[]) {
          v1: f64*[] = sin(angle)
          return v1
        }
    """
    data: list[str] = []
    lines = _Writer(graph, data, full).block("")
    if data:
        lines += ["data {", *(f'  {number}: "{entry}"' for number, entry in enumerate(data, 1)), "}"]
    return "\n".join(lines)


def table(graph: Graph) -> str:
    """Write a graph as a table, in HTML: a row for each value.

    Example:
        >>> from wengert.engine.ir.types import type_of
        >>> x = Var(type_of(1.0), "angle")
        >>> "<td" in table(Graph((x,), (), (Equation("sin", (x,), (y := Var(x.type),)),), (y,)))
        True
    """
    data: list[str] = []
    writer = _Writer(graph, data, False)
    rows = [(writer.names[var], str(var.type), "argument", "") for var in graph.inputs]
    rows += [
        (writer.names[var], str(var.type), writer.constant(value), "constant")
        for var, value in graph.constants
    ]
    for equation in graph.equations:
        results = ", ".join(writer.names[var] for var in equation.outputs)
        types = ", ".join(str(var.type) for var in equation.outputs)
        rows.append((results, types, writer.call(equation, ""), readable(equation.location)))
    results = f"returns {', '.join(map(writer.atom, graph.outputs))}"
    count = len(graph.equations)
    caption = f"graph of {count:,} operation{'' if count == 1 else 's'}, {results}"
    return in_notebook(short_table(caption, ("value", "type", "operation", "line"), rows, texts=4))


Graph.writer = staticmethod(text)
Graph.html_writer = staticmethod(table)


def names(graph: Graph) -> dict[Var, str]:
    """Return the name of each value of a graph: the user's own, else x1, c1, v1 for inputs, constants and the rest.

    Example:
        >>> from wengert.engine.ir.types import type_of
        >>> x = Var(type_of(1.0))
        >>> list(names(Graph((x,), (), (), (x,))).values())
        ['x1']
    """
    labels: dict[Var, str] = {}
    taken = set(RESERVED)
    for number, var in enumerate(graph.inputs, 1):
        labels[var] = _unused(var.name if var.name.isidentifier() else f"x{number}", taken)
    _enumerate("c", (var for var, _ in graph.constants), labels, taken)
    _enumerate("v", (var for equation in graph.equations for var in equation.outputs), labels, taken)
    return labels


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _enumerate(letter: str, variables: Iterable[Var], labels: dict[Var, str], taken: set[str]) -> None:
    number = 0
    for var in variables:
        number += 1
        while f"{letter}{number}" in taken:
            number += 1
        labels[var] = f"{letter}{number}"


def scalar(value: Any) -> str:
    """Write the number behind a NumPy scalar with as few digits as give it back."""
    if value.dtype.kind == "c":
        return f"complex({scalar(value.real)}, {scalar(value.imag)})"
    if value.dtype.kind != "f" or np.isnan(value):
        return _number(value.item())
    short = str(value)
    with np.errstate(over="ignore"):
        exact = value.dtype.type(float(short)) == value
    return short if exact else repr(value.item())


def _number(value: Any) -> str:
    if isinstance(value, complex):
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    return "-nan" if value != value and math.copysign(1, value) < 0 else repr(value)


def literal(value: Any) -> str:
    """Write a scalar: a Python number as in Python, a NumPy scalar with its dtype."""
    return f"{SHORT_NAMES[value.dtype]}({scalar(value)})" if hasattr(value, "dtype") else _number(value)


def listed(value: Any) -> str:
    """Write an array as nested lists."""
    if value.ndim == 0:
        return scalar(value[()])
    return f"[{', '.join(map(listed, value))}]"


class _Writer:
    """Writes one graph; graphs inside it have names of their own, and share its section of data."""

    def __init__(self, graph: Graph, data: list[str], full: bool) -> None:
        self.graph = graph
        self.data = data
        self.full = full
        self.names = names(graph)

    def block(self, indent: str) -> list[str]:
        """Return the lines of the graph, the first of which is not indented."""
        inside = indent + "  "
        lines = [f"graph({', '.join(map(self.declared, self.graph.inputs))}) {{"]
        for var, value in self.graph.constants:
            lines.append(f"{inside}{self.declared(var)} = {self.constant(value)}")
        written = [inside + self.equation(equation, inside) for equation in self.graph.equations]
        pairs = zip(written, self.graph.equations, strict=True)
        widths = (len(line) for line, equation in pairs if equation.location and "\n" not in line)
        column = max((width for width in widths if width <= _COMMENT_COLUMN), default=0)
        for line, equation in zip(written, self.graph.equations, strict=True):
            width = len(indent) if "\n" in line else column
            location = equation.location if self.full else readable(equation.location)
            lines.append(f"{line:{width}} # {_location(location)}" if location else line)
        lines.append(f"{inside}return {', '.join(map(self.atom, self.graph.outputs))}".rstrip())
        lines.append(indent + "}")
        return lines

    def declared(self, var: Var) -> str:
        return f"{self.names[var]}: {var.type}"

    def atom(self, atom: Atom) -> str:
        return literal(atom.value) if isinstance(atom, Literal) else self.names[atom]

    def equation(self, equation: Equation, indent: str) -> str:
        results = ", ".join(map(self.declared, equation.outputs))
        return f"{results} = {self.call(equation, indent)}"

    def call(self, equation: Equation, indent: str) -> str:
        params = ", ".join(f"{name}={self.param(value, indent)}" for name, value in equation.params.items())
        call = f"{equation.primitive}[{params}]" if params else equation.primitive
        return f"{call}({', '.join(map(self.atom, equation.operands))})"

    def param(self, value: Any, indent: str) -> str:
        if value is None or isinstance(value, (bool, int, float, complex, str, np.generic)):
            return literal(value)
        if isinstance(value, np.dtype):
            return SHORT_NAMES[cast("np.dtype[Any]", value)]
        if isinstance(value, TensorType):
            return str(value)
        if isinstance(value, Graph):
            return "\n".join(_Writer(value, self.data, self.full).block(indent))
        if type(value) is tuple:
            parts = [self.param(part, indent) for part in cast("tuple[Any, ...]", value)]
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        return f"@{register(value)}"

    def constant(self, value: Any) -> str:
        count = size(value.shape)
        if count > SHOWN and not self.full:
            return f"summary({_summary(value)})"
        if count <= LISTED and _canonical(value):
            return listed(value)
        self.data.append(base64.b64encode(value.tobytes()).decode())
        return f"data {len(self.data)}"


def _canonical(value: Any) -> bool:
    """Return whether NaN, if any, is the one that the word for it means."""
    if value.dtype.kind == "c":
        return _canonical(value.real) and _canonical(value.imag)
    if value.dtype.kind != "f":
        return True
    nans = np.abs(value[np.isnan(value)])
    return nans.tobytes() == np.full_like(nans, np.nan).tobytes()


def _summary(value: Any) -> str:
    low, high = scalar(value.min()), scalar(value.max())
    return f"all {low}" if low == high else f"{low} to {high}"


def _location(location: str) -> str:
    plain = location.isprintable() and location == location.strip() and location[0] not in "'\""
    return location if plain else repr(location)
