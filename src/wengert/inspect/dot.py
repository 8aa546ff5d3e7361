"""Pictures of graphs in Graphviz's language, and the program that draws them."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from wengert.engine.core.errors import ArgumentError, WengertError, message

_SOURCE = (".dot", ".gv")
_DRAWN = (".svg", ".png", ".pdf")
_FONTS = 'node [fontname="Helvetica"]; edge [fontname="Helvetica", fontsize=10]'
#: The style of each kind of node.
STYLES = {
    "variable": 'shape=ellipse, style=filled, fillcolor="#cfe2f3"',
    "constant": 'shape=plaintext, style=filled, fillcolor="#eeeeee"',
    "operation": 'shape=box, style="rounded,filled", fillcolor="#fff2cc"',
    "result": 'shape=ellipse, peripheries=2, style=filled, fillcolor="#d9ead3"',
}


class GraphvizError(WengertError, RuntimeError):
    """Graphviz is not installed, or it failed."""


class Node(NamedTuple):
    """A node; its label has several lines."""

    name: str
    kind: str
    label: tuple[str, ...]


class Edge(NamedTuple):
    """An edge between two nodes, by their names."""

    start: str
    end: str
    label: str
    dashed: bool


class Cluster:
    """Nodes, edges and clusters that belong together, in the order of their creation."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.items: list[Node | Edge | Cluster] = []


class Picture:
    """Nodes, edges and clusters, with nodes numbered in the order of their creation."""

    def __init__(self, name: str) -> None:
        self.whole = Cluster(name)
        self._nodes = 0
        self._open = [self.whole]

    def node(self, kind: str, *label: str) -> str:
        """Add a node with a line for each part of its label; return its name."""
        self._nodes += 1
        name = f"n{self._nodes}"
        self._open[-1].items.append(Node(name, kind, tuple(filter(None, label))))
        return name

    def edge(self, start: str, end: str, label: str = "", *, dashed: bool = False) -> None:
        """Add an edge."""
        self._open[-1].items.append(Edge(start, end, label, dashed))

    def begin(self, label: str) -> None:
        """Begin a cluster, which holds all items until its end."""
        cluster = Cluster(label)
        self._open[-1].items.append(cluster)
        self._open.append(cluster)

    def end(self) -> None:
        """End a cluster."""
        self._open.pop()

    def text(self) -> str:
        """Return the picture as Graphviz source."""
        numbers = itertools.count(1)
        lines = _lines(self.whole, 1, numbers)
        return "\n".join([f"digraph {quoted(self.whole.label)} {{", f"  {_FONTS}", *lines, "}", ""])


def _lines(cluster: Cluster, depth: int, numbers: Iterator[int]) -> Iterator[str]:
    """Yield the lines of the items of a cluster."""
    indent = "  " * depth
    for item in cluster.items:
        match item:
            case Node(name, kind, label):
                yield f"{indent}{name} [label={quoted(*label)}, {STYLES[kind]}]"
            case Edge(start, end, label, dashed):
                style = ", style=dashed, arrowhead=none" if dashed else ""
                yield f"{indent}{start} -> {end} [label={quoted(label)}{style}]"
            case Cluster():
                yield f"{indent}subgraph cluster{next(numbers)} {{"
                yield f"{indent}  label={quoted(item.label)}; style=dashed"
                yield from _lines(item, depth + 1, numbers)
                yield f"{indent}}}"


def quoted(*lines: str) -> str:
    r"""Write lines as one Graphviz string.

    Example:
        >>> print(quoted('say "x"', "2"))
        "say \"x\"\n2"
    """
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for line in lines)
    return '"' + "\\n".join(escaped) + '"'


def render(source: str, path: str | os.PathLike[str]) -> None:
    """Write a picture as Graphviz source, or drawn by Graphviz; the ending of the path decides."""
    suffix = Path(path).suffix.lower()
    if suffix in _SOURCE:
        Path(path).write_text(source, encoding="utf-8")
        return
    if suffix not in _DRAWN:
        requirement = f"the path must end in one of {', '.join((*_SOURCE, *_DRAWN))}"
        raise ArgumentError(message("draw", requirement, str(path)))
    program = shutil.which("dot")
    if program is None:
        hint = "install Graphviz (apt install graphviz, brew install graphviz), or draw to a .dot file"
        requirement = f"a {suffix} file needs Graphviz's program dot, which is not installed"
        raise GraphvizError(message("draw", requirement, hint=hint))
    command = [program, f"-T{suffix[1:]}", "-o", str(path)]
    done = subprocess.run(command, input=source, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise GraphvizError(
            message("draw", "Graphviz failed", done.stderr.strip() or f"exit code {done.returncode}")
        )
