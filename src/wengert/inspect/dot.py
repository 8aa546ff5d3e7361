"""Pictures of graphs in Graphviz's language, and the program that draws them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from wengert.errors import ArgumentError, WengertError, message

_SOURCE = (".dot", ".gv")
_DRAWN = (".svg", ".png", ".pdf")
_FONTS = 'node [fontname="Helvetica"]; edge [fontname="Helvetica", fontsize=10]'
#: How each kind of node looks.
STYLES = {
    "variable": 'shape=ellipse, style=filled, fillcolor="#cfe2f3"',
    "constant": 'shape=plaintext, style=filled, fillcolor="#eeeeee"',
    "operation": 'shape=box, style="rounded,filled", fillcolor="#fff2cc"',
    "result": 'shape=ellipse, peripheries=2, style=filled, fillcolor="#d9ead3"',
}


class GraphvizError(WengertError, RuntimeError):
    """Graphviz is needed and is not there, or it fails."""


class Picture:
    """Nodes, edges and clusters, numbered in the order in which they are added."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lines: list[str] = []
        self._nodes = 0
        self._clusters = 0
        self._depth = 1

    def _add(self, line: str) -> None:
        self._lines.append("  " * self._depth + line)

    def node(self, kind: str, *label: str) -> str:
        """Add a node with a line for each part of its label; return what it is called."""
        self._nodes += 1
        name = f"n{self._nodes}"
        self._add(f"{name} [label={quoted(*filter(None, label))}, {STYLES[kind]}]")
        return name

    def edge(self, start: str, end: str, label: str = "", *, dashed: bool = False) -> None:
        """Add an edge."""
        style = ", style=dashed, arrowhead=none" if dashed else ""
        self._add(f"{start} -> {end} [label={quoted(label)}{style}]")

    def begin(self, label: str) -> None:
        """Begin a cluster: what is added next belongs to it."""
        self._clusters += 1
        self._add(f"subgraph cluster{self._clusters} {{")
        self._depth += 1
        self._add(f"label={quoted(label)}; style=dashed")

    def end(self) -> None:
        """End a cluster."""
        self._depth -= 1
        self._add("}")

    def text(self) -> str:
        """Return the picture as Graphviz source."""
        return "\n".join([f"digraph {quoted(self.name)} {{", f"  {_FONTS}", *self._lines, "}", ""])


def quoted(*lines: str) -> str:
    r"""Write lines as one string of Graphviz's.

    Example:
        >>> print(quoted('say "x"', "2"))
        "say \"x\"\n2"
    """
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for line in lines)
    return '"' + "\\n".join(escaped) + '"'


def render(source: str, path: str | os.PathLike[str]) -> None:
    """Write a picture, by the ending of the path as Graphviz source or drawn by Graphviz."""
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
        requirement = f"a {suffix} takes Graphviz's program dot, which is not installed"
        raise GraphvizError(message("draw", requirement, hint=hint))
    command = [program, f"-T{suffix[1:]}", "-o", str(path)]
    done = subprocess.run(command, input=source, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise GraphvizError(
            message("draw", "Graphviz failed", done.stderr.strip() or f"exit code {done.returncode}")
        )
