"""The Wengert list, recorded as the program runs.

Each operation on a followed value appends a `Node`; a node knows its parents and what its rule will read on the way
back, and numbers count up, so that the nodes reachable from a result, in falling order, are the list read backwards.
What no longer leads to a result is forgotten by itself, and so is a value that no rule will read once the user has let
go of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from wengert.boxes import Box, Trace, snapshot
from wengert.boxes import concrete as concrete_value
from wengert.core.dtypes import NDARRAY, check_known, dtype_of, is_float
from wengert.core.shapes import Shape, shape_of
from wengert.ir.types import TensorType
from wengert.ops.arithmetic import multiply_no_nan
from wengert.primitive import HigherOrder, Linear, NonDifferentiable, Partials, Primitive
from wengert.transforms.reads import reads_of

_numbers = itertools.count()


#: Bytes of an array from which on it is not kept where no rule reads it; less is not worth to be told.
_LARGE = 1 << 14


class Node:
    """One line of the list: ``value = primitive(operands)``; an input has no primitive.

    Of the value and of operands that the rule does not read there may be the types only.
    """

    __slots__ = ("__weakref__", "number", "operands", "params", "parents", "primitive", "value")

    def __init__(
        self,
        value: Any,
        primitive: Primitive | None = None,
        operands: Any = (),
        parents: Sequence[Node | None] = (),
        params: Any = None,
    ) -> None:
        self.number = next(_numbers)
        self.value = value
        self.primitive = primitive
        self.operands: Any = operands  # of an operation that holds programs: the pullback
        self.parents = parents
        self.params = params


class Part(Node):
    """One result of an operation that has several; its parent is the operation's node."""

    __slots__ = ("position",)

    def __init__(self, value: Any, whole: Node, position: int) -> None:
        super().__init__(value, parents=(whole,))
        self.position = position


class Followed:
    """A value, and the line of the list that made it."""

    __slots__ = ("is_large", "node", "value")

    def __init__(self, value: Any, node: Node) -> None:
        self.value = value
        self.node = node
        self.is_large = _is_large(value)

    @property
    def shape(self) -> Shape:
        """The shape of the value."""
        return shape_of(self.value)

    @property
    def dtype(self) -> Any:
        """The dtype of the value."""
        return dtype_of(self.value)

    @property
    def weak(self) -> bool:
        """Whether the value is a Python scalar."""
        return type(self.value) is float or getattr(self.value, "weak", False)


def start_of(trace: Trace, node: Node) -> Any:
    """Return the box of an input."""
    return trace.box(Followed(node.value, node))


class TapeTrace(Trace):
    """Reverse mode: boxes hold values and their nodes of the list."""

    name = "grad"

    def process(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Compute, and append a line to the list."""
        if not self.open:
            self.check_open(primitive.name)
        rule = primitive.derivative
        reads, is_large = rule.reads, False
        values: list[Any] = []
        parents: list[Node | None] = []
        for operand in operands:
            if isinstance(operand, Box) and operand.owner is self:
                state = operand.state
                values.append(state.value)
                parents.append(state.node)
                is_large = is_large or state.is_large
            else:
                # What a rule will read on the way back must not change under it; a cell is never kept itself.
                keep = isinstance(operand, Box) or (reads and isinstance(operand, np.ndarray))
                values.append(snapshot(operand) if keep else operand)
                parents.append(None)
        if isinstance(rule, HigherOrder):
            return self.structured(rule, primitive, values, parents, params)
        value = self.evaluate(primitive, values, params)
        if isinstance(rule, NonDifferentiable):
            return value
        if isinstance(rule, Linear) and not is_float(dtype := dtype_of(value)):
            check_known(primitive.name, dtype)
            return value
        node = (
            self.with_slope(rule, value, values, parents)
            if isinstance(rule, Partials) and rule.at_once
            else Node(value, primitive, values, parents, params)
        )
        followed = Followed(value, node)
        if is_large or followed.is_large:
            _forget(node)
        return self.box(followed)

    def evaluate(self, primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
        """Return the value of a line of the list."""
        return primitive(*values, **params)

    def with_slope(
        self, rule: Partials, value: Any, values: Sequence[Any], parents: Sequence[Node | None]
    ) -> Node:
        """Return a line whose slope is known: to first order it multiplies its operand by that."""
        (partial,) = rule.partials
        assert callable(partial)
        with np.errstate(all="ignore"):
            slope = partial(value, *values)
        return Node(value, multiply_no_nan, [*values, slope], [*parents, None], {})

    def structured(
        self,
        rule: HigherOrder,
        primitive: Primitive,
        values: Any,
        parents: Sequence[Node | None],
        params: Any,
    ) -> Any:
        """Record a line that holds programs: its rule says what to keep for the way back."""
        active = [parent is not None for parent in parents]
        outputs, pullback = rule.pull(values, active, **params)
        if not isinstance(outputs, tuple):
            node = Node(_kept(outputs, False), primitive, pullback, parents, params)
            return self.box(Followed(outputs, node)) if is_float(dtype_of(outputs)) else outputs
        results = cast("tuple[Any, ...]", outputs)
        reached = [1] * len(results) if rule.reach is None else rule.reach(list(map(int, active)), **params)
        kept = tuple(_kept(value, False) for value in results)
        node = Node(kept, primitive, pullback, parents, params)
        return tuple(
            self.box(Followed(value, Part(kept[position], node, position)))
            if reached[position] and is_float(dtype_of(value))
            else value
            for position, value in enumerate(results)
        )

    def concrete(self, state: Any) -> Any:
        """Return the array behind a node."""
        return concrete_value(state.value)


class LinearTrace(TapeTrace):
    """A list of linear operations of which only the types are known: what is to be transposed."""

    name = "linearize"

    def evaluate(self, primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
        """Return the type of a line of the list."""
        types = [
            v if isinstance(v, TensorType) else TensorType(dtype_of(v), shape_of(v), _weak(v)) for v in values
        ]
        return primitive.infer(*types, **params)

    def structured(
        self,
        rule: HigherOrder,
        primitive: Primitive,
        values: Any,
        parents: Sequence[Node | None],
        params: Any,
    ) -> Any:
        """Transpose an operation that holds programs."""
        # The way back through what is linear does not depend on where: zeros stand for what is not known.
        known = [np.zeros(v.shape, v.dtype) if isinstance(v, TensorType) else v for v in values]
        found: Any = super().structured(rule, primitive, known, parents, params)
        return tuple(map(self._unknown, found)) if isinstance(found, tuple) else self._unknown(found)

    def _unknown(self, result: Any) -> Any:
        """Return a result as a type: what was computed from zeros is not its value."""
        if not (isinstance(result, Box) and result.owner is self):
            return result
        node = result.state.node
        node.value = TensorType(result.dtype, result.shape)
        return self.box(Followed(node.value, node))

    def concrete(self, state: Any) -> Any:
        """Return None: only types are known."""
        return None


def _weak(value: Any) -> bool:
    return type(value) in (bool, int, float) or getattr(value, "weak", False)


def _is_large(value: Any) -> bool:
    """Tell whether an array takes much memory, or keeps that of which it is a view."""
    if not isinstance(value, NDARRAY):
        return False
    return value.nbytes >= _LARGE or (isinstance(value.base, NDARRAY) and value.base.nbytes >= _LARGE)


def _forget(node: Node) -> None:
    """Let go of what the rule of a line does not read."""
    assert node.primitive is not None
    parents, operands = node.parents, node.operands
    is_read = reads_of(node.primitive, node.params, parents, node.value, operands)
    node.value = _kept(node.value, is_read[0])
    for position, parent in enumerate(parents):
        if not is_read[position + 1]:
            operands[position] = _kept(operands[position], False) if parent is None else parent.value


def _kept(value: Any, is_read: bool) -> Any:
    """Return what the list keeps of a value: the type, where no rule will read the numbers."""
    return value if is_read or not _is_large(value) else TensorType(value.dtype, value.shape)
