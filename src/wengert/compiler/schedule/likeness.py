"""Likeness: nests share their code if they differ only in the identity of dimensions, buffers and expressions.

The unrolled turns of a Python loop, and the layers of a network, are such nests. A key lists everything that the
schedule and the code of a nest depend on, with dimensions, buffers and expressions numbered in order of appearance;
nests with equal keys are alike, number by number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wengert.compiler.schedule.layout import Layout, linear
from wengert.engine.nest.expression import Apply, Buffer, Const, Expression, Guard, Iota, Load, Reduce
from wengert.engine.nest.index import Computed, Digit, Dim, Index
from wengert.engine.nest.nest import Nest

#: Stands in the key before an object at its first use; at later uses its number stands there.
_NEW = "new"


class Likeness:
    """The key of a nest under construction, and the numbers of the objects in it.

    Offsets in a buffer count from the element in ``starts``, or else from the first.
    """

    def __init__(self, layouts: Mapping[Buffer, Layout], starts: Mapping[Buffer, int] | None = None) -> None:
        self.layouts = layouts
        self.starts = starts or {}
        self.elements: dict[tuple[int, tuple[Index, ...]], int] = {}
        self.entries: list[Any] = []
        self.numbers: dict[int, int] = {}
        self.met: list[Any] = []
        """The dimensions, buffers and expressions, by their numbers."""

    @property
    def key(self) -> tuple[Any, ...]:
        """The key so far."""
        return tuple(self.entries)

    def add_nest(self, nest: Nest) -> None:
        """Add a nest to the key."""
        self.add_dims(nest.dims)
        self.entries.append(len(nest.stores))
        for store in nest.stores:
            self.entries += ["store", store.combiner]
            self._element(store.buffer, store.indices)
            self.add_dims(store.along)
            self._expression(store.value)
        self.entries.append(frozenset(map(self.number, nest.sequential)))

    def number(self, thing: object) -> int:
        """Return the number of an object in the key; -1 for other objects."""
        return self.numbers.get(id(thing), -1)

    def _met(self, thing: object) -> bool:
        """Add an object to the key by its number, and return whether it had one before."""
        number = self.numbers.get(id(thing))
        if number is None:
            self.numbers[id(thing)] = len(self.numbers)
            self.met.append(thing)
        self.entries.append(_NEW if number is None else number)
        return number is not None

    def add_dims(self, dims: Sequence[Dim]) -> None:
        """Add dimensions to the key."""
        self.entries += ["dims", len(dims)]
        for dim in dims:
            if not self._met(dim):
                self.entries.append(dim.extent)
                if dim.parts != (dim,):
                    self.add_dims(dim.parts)

    def _element(self, buffer: Buffer, indices: tuple[Index, ...]) -> None:
        """Add an element: its offset from the start of the nest, and the facts that depend on single axes.

        A load may run into the padding of an axis that a dimension follows from its beginning. A load that may lie
        outside has a condition. Two elements are the same one if their indices are.
        """
        layout = self.layouts[buffer]
        if not self._met(buffer):
            self.entries += [buffer.dtype, buffer.shape, layout]
        self.entries.append(linear(layout, indices).offset - self.starts.get(buffer, 0))
        self.entries.append(self.elements.setdefault((id(buffer), indices), len(self.elements)))
        for index, extent in zip(indices, buffer.shape, strict=True):
            low, high = index.bounds
            self.entries += [index.offset == 0, low < 0, high >= extent]
            self._terms(index)

    def _index(self, index: Index) -> None:
        self.entries.append(index.offset)
        self._terms(index)

    def _terms(self, index: Index) -> None:
        self.entries.append(len(index.terms))
        for term, coefficient in index.terms:
            self.entries.append(coefficient)
            match term:
                case Dim():
                    self.add_dims((term,))
                case Digit():
                    self.entries += ["part", term.divisor, term.modulus]
                    self._index(term.index)
                case Computed():
                    self.entries += ["computed", term.extent]
                    self._expression(term.expression)

    def _expression(self, node: Expression) -> None:
        if self._met(node):
            return
        match node:
            case Const():
                self.entries += ["const", node.dtype, node.dtype.type(node.value).tobytes()]
            case Iota():
                self.entries += ["iota", node.dtype]
                self._index(node.index)
            case Load():
                self.entries.append("load")
                self._element(node.buffer, node.indices)
            case Apply():  # no check, so that what it requires and where it stands do not count
                self.entries += [node.operation, node.dtype, node.param, len(node.operands)]
                for operand in node.operands:
                    self._expression(operand)
            case Guard():
                self.entries += ["guard", len(node.conditions)]
                for index, extent in node.conditions:
                    self.entries.append(extent)
                    self._index(index)
                self._expression(node.body)
                self._expression(node.otherwise)
            case Reduce():
                self.entries += ["reduce", node.combiner, node.dtype]
                self.add_dims(node.dims)
                self._expression(node.body)
