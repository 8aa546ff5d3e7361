"""What a loop carries from step to step, and how its types settle."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any

from wengert.boxes import own
from wengert.control.programs import converted
from wengert.control.values import apart, fit, flatten_numbers, settle
from wengert.core import tree
from wengert.ir.graph import Graph
from wengert.ir.types import TensorType, type_of
from wengert.transforms.staging import provisionally, stage


class Carry:
    """What a loop carries from step to step: a container whose leaves keep their types.

    Args:
        operation: the name of the loop.
        value: what it carries first.
        counts: whether ``value`` is a pair: a number of the loop's own, and what the user gave.
    """

    def __init__(self, operation: str, value: Any, *, counts: bool = False) -> None:
        self.operation = operation
        self.counts = counts
        leaves, self.structure = flatten_numbers(operation, "what the loop carries", value)
        self.leaves = list(map(own, leaves))
        self.types = list(map(type_of, self.leaves))
        paths = tree.paths(self._given(self.structure), "carry")
        self.paths = ["number", *paths] if counts else paths

    @property
    def value(self) -> Any:
        """The container."""
        return tree.unflatten(self.structure, self.leaves)

    def _given(self, structure: tree.Structure) -> tree.Structure:
        """Return the containers of what the user gave."""
        return structure.children[1] if self.counts else structure

    def step(self, value: Any) -> None:
        """Take the container that a step returns."""
        leaves = self.flatten(value)
        types = list(map(type_of, leaves))
        if types != self.types:
            self.types = self.settle(types)
            leaves = [fit(leaf, type_) for leaf, type_ in zip(leaves, self.types, strict=True)]
        self.leaves = apart(leaves)

    def flatten(self, value: Any) -> list[Any]:
        """Return the leaves of what a step returns, or raise `ArgumentError` where its containers are others."""
        leaves, structure = flatten_numbers(self.operation, "what the loop carries", value)
        requirement = "the carry must keep the structure"
        tree.check_same(self.operation, self._given(self.structure), self._given(structure), requirement)
        return leaves

    def settle(self, types: Sequence[TensorType]) -> list[TensorType]:
        """Return the types that the leaves have from here on."""
        rows = zip(self.types, types, self.paths, strict=True)
        return [settle(self.operation, before, after, path) for before, after, path in rows]

    def stage(
        self, run: Callable[..., list[Any]], more: Sequence[TensorType] = ()
    ) -> tuple[Graph, list[Any]]:
        """Write down a step that returns the carry first, once the types of the carry have settled."""
        count, outer, for_good = len(self.types), _WRITING.draft, False
        while True:
            may_change = not for_good and any(type_.weak for type_ in self.types)
            draft = outer or (_Draft() if may_change else None)
            with _writing(draft), provisionally(draft is not None):
                graph, captured = stage(run, [*self.types, *more], self.operation)
            types = self.settle(graph.output_types[:count])
            for_good = types == self.types
            self.types = types
            self.leaves = [fit(leaf, type_) for leaf, type_ in zip(self.leaves, types, strict=True)]
            if outer is not None:
                outer.is_final = outer.is_final and for_good
            if outer is not None or (for_good and (draft is None or draft.is_final)):
                return converted(graph, [*types, *graph.output_types[count:]]), captured


class _Draft:
    """What is written down to learn its types: a loop inside of it does not write its step down twice.

    A loop's types are those that its step returns, so that the step is written down until they settle. If each loop
    inside of it did the same, the number of times would double with each level of nesting.
    """

    def __init__(self) -> None:
        self.is_final = True
        """Whether the types of all loops inside had settled already, so that nothing need be written down again."""


class _Writing(threading.local):
    draft: _Draft | None = None


_WRITING = _Writing()


@contextlib.contextmanager
def _writing(draft: _Draft | None) -> Generator[None, None, None]:
    """Write down a step, as a part of a draft or (None) for good."""
    before, _WRITING.draft = _WRITING.draft, draft
    try:
        yield
    finally:
        _WRITING.draft = before
