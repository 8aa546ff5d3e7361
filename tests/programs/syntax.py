"""Programs: trees of statements, and their Python source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

HEADER = "import numpy as np\n\nimport wengert as wg\nimport wengert.numpy as wnp\n"
TOTAL = '''
def total({names}):
    """Return one number that every result has a part in."""
    results = [r for r in program({names}) if wnp.asarray(r).dtype.kind == "f"]
    weights = [np.cos(1.0 + np.arange(np.size(r))).reshape(np.shape(r)) for r in results]
    return sum((np.sum(w * r) for w, r in zip(weights, results)), 0.0)
'''
SHOWN = """
if __name__ == "__main__":
    floats = {floats}
    print(program({names}))
    print(wg.jit(program)({names}))
    print(wg.grad(total, floats)({names}))
    print(wg.jit(wg.grad(total, floats))({names}))
"""


@dataclass(frozen=True)
class Line:
    """A statement without a body."""

    text: str


@dataclass(frozen=True)
class Block:
    """A header that ends in a colon, and its body."""

    head: str
    body: tuple[Node, ...]


@dataclass(frozen=True)
class Group:
    """Statements that were drawn together, such as a function and its call."""

    nodes: tuple[Node, ...]
    features: frozenset[str] = frozenset()


Node = Line | Block | Group


def render(nodes: Iterable[Node], indent: int = 0) -> list[str]:
    """Return the lines of statements."""
    lines: list[str] = []
    for node in nodes:
        if isinstance(node, Line):
            lines.append("    " * indent + node.text)
        elif isinstance(node, Block):
            lines += ["    " * indent + node.head, *render(node.body, indent + 1)]
        else:
            lines += render(node.nodes, indent)
    return lines


def features(nodes: Iterable[Node]) -> Iterator[str]:
    """Yield the features of statements, with repetitions."""
    for node in nodes:
        if isinstance(node, Block):
            yield from features(node.body)
        elif isinstance(node, Group):
            yield from node.features
            yield from features(node.nodes)


def depth(nodes: Iterable[Node]) -> int:
    """Return the depth of nested functions and blocks."""
    return max(
        (
            1 + depth(node.body)
            if isinstance(node, Block)
            else depth(node.nodes)
            if isinstance(node, Group)
            else 0
            for node in nodes
        ),
        default=0,
    )


@dataclass(frozen=True)
class Program:
    """A function of named inputs: floating-point ones first, then integers.

    Args:
        seed: its seed.
        inputs: the values to run it on.
        nodes: its statements.
        results: the variables that it returns.
        step: how far inputs may move without crossing a kink or a jump.
    """

    seed: int
    inputs: Mapping[str, Any]
    nodes: tuple[Node, ...]
    results: tuple[str, ...]
    step: float
    features: frozenset[str] = field(default=frozenset())

    @property
    def floats(self) -> tuple[int, ...]:
        """The positions of the differentiated inputs."""
        kinds = [np.asarray(value).dtype.kind for value in self.inputs.values()]
        return tuple(i for i, kind in enumerate(kinds) if kind == "f")

    def function(self) -> str:
        """Return the source of the function ``program``."""
        head = f"def program({', '.join(self.inputs)}):"
        body = (*self.nodes, Line(f"return ({', '.join(self.results)},)"))
        return "\n".join(render([Block(head, body)])) + "\n"

    def definitions(self) -> str:
        """Return the source of ``program`` and of the scalar ``total`` of its results."""
        return self.function() + "\n" + TOTAL.format(names=", ".join(self.inputs))

    def source(self, reason: str) -> str:
        """Return the text of an executable file."""
        values = "".join(f"{name} = {literal(value)}\n" for name, value in self.inputs.items())
        shown = SHOWN.format(names=", ".join(self.inputs), floats=self.floats)
        text = reason.replace("\\", "/").replace('"""', "'''")
        return f'"""Seed {self.seed}: {text}"""\n\n{HEADER}\n{values}\n\n{self.definitions()}\n{shown}'


def literal(value: Any) -> str:
    """Return the source of a value."""
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()}, dtype=np.{value.dtype.name})"
    if isinstance(value, np.generic):
        return f"np.{value.dtype.name.replace('bool', 'bool_')}({value.item()!r})"
    return repr(value)
