"""The carry of a loop: its types, and whether its steps depend on a graph."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any

from wengert.engine.boxes import on_graph, own
from wengert.engine.control.subgraphs import convert_outputs, dependents
from wengert.engine.control.values import fit, flatten_numbers, separate, settle
from wengert.engine.core import tree
from wengert.engine.core.errors import ConcreteError
from wengert.engine.ir.graph import Graph, Var
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.transforms.staging import provisionally, stage

Staged = tuple[Graph, list[Any]]
"""A graph, and the values that it closes over."""


class Carry:
    """The carry of a loop: a container whose leaves keep their types.

    Args:
        counts: whether ``value`` is a pair: the loop's own counter, and the user's carry.
    """

    def __init__(self, operation: str, value: Any, *, counts: bool = False) -> None:
        self.operation = operation
        self.counts = counts
        leaves, self.structure = flatten_numbers(operation, "the carry", value)
        self.leaves = list(map(own, leaves))
        self.types: list[TensorType] = list(map(type_of, self.leaves))
        paths = tree.paths(self._users(self.structure), "carry")
        self.paths = ["number", *paths] if counts else paths

    @property
    def value(self) -> Any:
        """The container."""
        return tree.unflatten(self.structure, self.leaves)

    def _users(self, structure: tree.Structure) -> tree.Structure:
        return structure.children[1] if self.counts else structure

    def step(self, value: Any) -> None:
        """Set the carry that a step returns."""
        leaves = self.flatten(value)
        types = list(map(type_of, leaves))
        if types != self.types:
            self.types = self.settle(types)
            leaves = self._fit(leaves)
        self.leaves = separate(leaves)

    def flatten(self, value: Any) -> list[Any]:
        """Return the leaves of a step's result, or raise `ArgumentError` if its containers differ."""
        leaves, structure = flatten_numbers(self.operation, "the carry", value)
        requirement = "the carry must keep the structure"
        tree.check_same(self.operation, self._users(self.structure), self._users(structure), requirement)
        return leaves

    def settle(self, types: Sequence[TensorType]) -> list[TensorType]:
        """Return the types of the leaves, given those that a step returns."""
        rows = zip(self.types, types, self.paths, strict=True)
        return [settle(self.operation, before, after, path) for before, after, path in rows]

    def _fit(self, leaves: Sequence[Any]) -> list[Any]:
        return [fit(leaf, type_) for leaf, type_ in zip(leaves, self.types, strict=True)]

    def stage(self, run: Callable[..., list[Any]], more: Sequence[TensorType] = ()) -> Staged:
        """Stage a step, whose first results are the carry, with types that the step keeps."""
        count, outer, is_final = len(self.types), _STAGING.draft, False
        while True:
            may_change = not is_final and any(type_.weak for type_ in self.types)
            draft = outer or (_Draft() if may_change else None)
            with _staging(draft), provisionally() if draft else contextlib.nullcontext():
                graph, captured = stage(run, [*self.types, *more], self.operation)
            types = self.settle(graph.output_types[:count])
            is_final = types == self.types
            self.types = types
            self.leaves = self._fit(self.leaves)
            if outer is not None:
                outer.is_final = outer.is_final and is_final
            if outer is not None or (is_final and (draft is None or draft.is_final)):
                return convert_outputs(graph, [*types, *graph.output_types[count:]]), captured

    def stage_first(self, stage_all: Callable[[], list[Staged]]) -> list[Staged] | None:
        """Stage the graphs of a loop before its first step; return None if the loop can run in Python.

        Once a step's results depend on a graph, the rest of the loop is staged. To find out by running the first step
        would stage the step twice, and a loop inside it four times. The loop runs in Python if its step does not depend
        on the graph, or needs concrete values that only a first step has.
        """
        types, leaves = self.types, self.leaves
        try:
            with provisionally():
                graphs = stage_all()
        except ConcreteError:
            graphs = []
        if any(_depends_on_graph(*staged) for staged in graphs):
            return graphs
        self.types, self.leaves = types, leaves
        return None


def _depends_on_graph(graph: Graph, captured: Sequence[Any]) -> bool:
    on = [var for var, value in zip(graph.inputs, captured, strict=False) if on_graph(value)]
    return not dependents(graph, on).isdisjoint(atom for atom in graph.outputs if isinstance(atom, Var))


class _Draft:
    """A staging that finds out types only: loops inside it do not stage their steps twice.

    A loop stages its step until the types settle. If each inner loop did the same, the number of stagings would double
    with each level of nesting.
    """

    def __init__(self) -> None:
        self.is_final = True
        """Whether the types of all inner loops had settled, so that the draft can be used."""


class _Staging(threading.local):
    draft: _Draft | None = None


_STAGING = _Staging()


@contextlib.contextmanager
def _staging(draft: _Draft | None) -> Generator[None]:
    before, _STAGING.draft = _STAGING.draft, draft
    try:
        yield
    finally:
        _STAGING.draft = before
