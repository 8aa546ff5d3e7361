"""Reverse mode: the Wengert list, recorded as the program runs, and the walk back along it.

Each operation on a followed value appends a `Node`; a node knows its value, operands and parents, and numbers count up,
so that the nodes reachable from a result, in falling order, are the list read backwards. What no longer leads to
a result is forgotten by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from wengert.boxes import Box, Trace, snapshot
from wengert.boxes import concrete as concrete_value
from wengert.dtypes import check_known, dtype_of, is_float
from wengert.ir.types import TensorType
from wengert.ops.conversion import cast
from wengert.ops.reduction import reduce_sum
from wengert.ops.shape import reshape, zeros_along
from wengert.primitive import Explicit, Linear, NonDifferentiable, Partials, Primitive, Structured
from wengert.shapes import Shape, shape_of
from wengert.transforms.forward import numeric, passed
from wengert.transforms.staging import Walk

_numbers = itertools.count()


class Node:
    """One line of the list: ``value = primitive(operands)``; an input has no primitive."""

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


class Part(Node):
    """One result of an operation that has several; its parent is the operation's node."""

    __slots__ = ("position",)

    def __init__(self, value: Any, whole: Node, position: int) -> None:
        super().__init__(value, parents=(whole,))
        self.position = position


class TapeTrace(Trace):
    """Reverse mode: boxes hold nodes of the list."""

    name = "grad"

    def process(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Compute, and append a line to the list."""
        if not self.open:
            self.check_open(primitive.name)
        rule = primitive.derivative
        reads = rule.reads
        values: list[Any] = []
        parents: list[Node | None] = []
        for operand in operands:
            if isinstance(operand, Box) and operand.owner is self:
                node = operand.state
                values.append(node.value)
                parents.append(node)
            else:
                # What a rule will read on the way back must not change under it; a cell is never kept itself.
                keep = isinstance(operand, Box) or (reads and isinstance(operand, np.ndarray))
                values.append(snapshot(operand) if keep else operand)
                parents.append(None)
        if isinstance(rule, Structured):
            return self.structured(rule, primitive, values, parents, params)
        value = self.evaluate(primitive, values, params)
        if isinstance(rule, NonDifferentiable):
            return value
        if isinstance(rule, Linear) and not is_float(dtype := dtype_of(value)):
            check_known(primitive.name, dtype)
            return value
        return self.box(Node(value, primitive, values, parents, params))

    def evaluate(self, primitive: Primitive, values: Sequence[Any], params: dict[str, Any]) -> Any:
        """Return the value of a line of the list."""
        return primitive(*values, **params)

    def structured(
        self, rule: Structured, primitive: Primitive, values: Any, parents: Sequence[Node | None], params: Any
    ) -> Any:
        """Record a line that holds programs: its rule says what to keep for the way back."""
        active = [parent is not None for parent in parents]
        outputs, pullback = rule.pull(values, active, **params)
        node = Node(outputs, primitive, pullback, parents, params)
        if not isinstance(outputs, tuple):
            return self.box(node) if is_float(dtype_of(outputs)) else outputs
        return tuple(
            self.box(Part(value, node, position)) if is_float(dtype_of(value)) else value
            for position, value in enumerate(outputs)  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
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
        self, rule: Structured, primitive: Primitive, values: Any, parents: Sequence[Node | None], params: Any
    ) -> Any:
        """Transpose an operation that holds programs."""
        # The way back through what is linear does not depend on where: zeros stand for what is not known.
        known = [np.zeros(v.shape, v.dtype) if isinstance(v, TensorType) else v for v in values]
        return super().structured(rule, primitive, known, parents, params)

    def concrete(self, state: Any) -> Any:
        """Return None: only types are known."""
        return None


def _weak(value: Any) -> bool:
    return type(value) in (bool, int, float) or getattr(value, "weak", False)


# -- the walk back ---------------------------------------------------------------------------------------


class Cotangents:
    """The cotangents met so far; sums are kept in buffers of our own and added to in place."""

    __slots__ = ("_own", "_values")

    def __init__(self) -> None:
        self._values: dict[Node, Any] = {}
        self._own: set[Node] = set()

    def add(self, node: Node, cotangent: Any) -> None:
        """Add a cotangent to those of a node."""
        before = self._values.get(node)
        if before is None:
            self._values[node] = cotangent
        elif node in self._own and not isinstance(cotangent, Box):
            before += cotangent
            self._values[node] = before  # a box of a scalar is not changed in place
        else:
            total = before + cotangent
            self._values[node] = total
            if isinstance(total, np.ndarray):
                self._own.add(node)

    def sum(self, node: Node) -> Any:
        """Return the cotangent of a node as far as it is known; None where it is zero."""
        return self._values.get(node)

    def set(self, node: Node, cotangent: Any) -> None:
        """Give a node another cotangent."""
        self._own.discard(node)
        self._values[node] = cotangent

    def buffer(self, node: Node) -> Any:
        """Return the cotangent of a node as a plain array to add to, or None where it is a box."""
        before = self._values.get(node)
        if node in self._own:
            return before
        if isinstance(before, Box):
            return None
        value = node.value
        fresh = zeros_along(value, shape_of(value), dtype_of(value)) if before is None else np.array(before)
        self._values[node] = fresh
        self._own.add(node)
        return fresh

    def take(self, node: Node) -> Any:
        """Remove and return the cotangent of a node; None where it is zero."""
        self._own.discard(node)
        return self._values.pop(node, None)


def walk_back(seeds: Iterable[tuple[Node, Any]], inputs: Sequence[Node]) -> list[Any]:
    """Return the cotangents of ``inputs`` (None: zero), given those of some results.

    Reverse accumulation: for each line of the list, last to first, ``cotangent_i += partial_i * cotangent``.
    """
    cotangents = Cotangents()
    roots: list[Node] = []
    for node, cotangent in seeds:
        cotangents.add(node, cotangent)
        roots.append(node)
    wanted = set(inputs)
    with np.errstate(all="ignore"), Walk() as walk:
        for node in reachable(roots):
            if node in wanted:
                continue
            cotangent = cotangents.take(node)
            if cotangent is not None:
                if isinstance(node.value, Box):
                    walk.at(node.value, cotangent)
                _pull(node, cotangent, cotangents)
        found = [cotangents.take(node) for node in inputs]
        for node, cotangent in zip(inputs, found, strict=True):
            if isinstance(node.value, Box):
                walk.at(node.value, cotangent)
    return found


def reachable(roots: Iterable[Node]) -> list[Node]:
    """Return the nodes that lead to ``roots``, last first."""
    seen: set[Node] = set(roots)
    stack = list(seen)
    while stack:
        for parent in stack.pop().parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=_number, reverse=True)


def _number(node: Node) -> int:
    return node.number


def _pull(node: Node, cotangent: Any, cotangents: Cotangents) -> None:
    """Hand a node's cotangent on to its parents."""
    primitive = node.primitive
    if primitive is None:
        if isinstance(node, Part):
            whole = node.parents[0]
            assert whole is not None
            cotangents.add(whole, _Parts(len(whole.value), node.position, cotangent))
        return
    rule = primitive.derivative
    if isinstance(rule, Partials):
        _pull_partials(rule, node, cotangent, cotangents)
    elif isinstance(rule, Linear):
        _pull_linear(rule, node, cotangent, cotangents)
    elif isinstance(rule, Explicit):
        _pull_explicit(rule, node, cotangent, cotangents)
    else:
        parts = cotangent.values if isinstance(cotangent, _Parts) else cotangent
        for parent, own in zip(node.parents, node.operands(parts), strict=True):
            if parent is not None and own is not None:
                cotangents.add(parent, match(own, parent.value))


class _Parts:
    """The cotangents of several results, gathered one by one."""

    __slots__ = ("values",)

    def __init__(self, count: int, position: int, cotangent: Any) -> None:
        self.values: list[Any] = [None] * count
        self.values[position] = cotangent

    def __add__(self, other: _Parts) -> _Parts:
        for position, cotangent in enumerate(other.values):
            if cotangent is not None:
                self.values[position] = cotangent
        return self


def _pull_partials(rule: Partials, node: Node, cotangent: Any, cotangents: Cotangents) -> None:
    values = (node.value, *node.operands)
    if rule.singular:
        values = numeric(values)
    for position, parent in enumerate(node.parents):
        partial = rule.partials[position] if parent is not None else None
        if parent is None or partial is None:
            continue
        if callable(partial):
            term = passed(rule, cotangent, partial(*values, **node.params))
        else:
            term = cotangent if partial == 1.0 else -cotangent if partial == -1.0 else cotangent * partial
        cotangents.add(parent, match(term, parent.value))


def _pull_linear(rule: Linear, node: Node, cotangent: Any, cotangents: Cotangents) -> None:
    for position, parent in enumerate(node.parents):
        if parent is None or not rule.linear_in(position):
            continue
        if position == 0 and _pull_into(rule, node, parent, cotangent, cotangents):
            continue
        term = rule.transpose(position, cotangent, node.operands, node.params)
        cotangents.add(parent, match(term, parent.value))


def _pull_into(rule: Linear, node: Node, parent: Node, cotangent: Any, cotangents: Cotangents) -> bool:
    """Add the cotangent of the first operand to those met before, element by element, if the rule says how."""
    if rule.accumulate is not None and _all_plain(cotangent, node.operands[1:]):
        buffer = cotangents.buffer(parent)
        if buffer is not None:
            rule.accumulate(buffer, cotangent, *node.operands, **node.params)
            return True
    before = cotangents.sum(parent)
    if rule.onto is None or before is None or dtype_of(before) != dtype_of(cotangent):
        return False
    cotangents.set(parent, rule.onto(before, cotangent, *node.operands, **node.params))
    return True


def _all_plain(cotangent: Any, indices: Sequence[Any]) -> bool:
    return not isinstance(cotangent, Box) and not any(isinstance(index, Box) for index in indices)


def _pull_explicit(rule: Explicit, node: Node, cotangent: Any, cotangents: Cotangents) -> None:
    """Write down the rule for the tangents as a list of linear operations, and walk back along that."""
    if rule.linear is not None and all(
        parent is None or rule.linear.linear_in(position) for position, parent in enumerate(node.parents)
    ):
        _pull_linear(rule.linear, node, cotangent, cotangents)
        return
    trace = LinearTrace()
    starts = [None if parent is None else Node(type_of_value(parent.value)) for parent in node.parents]
    tangents = [None if start is None else trace.box(start) for start in starts]
    out = rule.jvp(node.operands, tangents, node.value, **node.params)
    followed = [
        (parent, start) for parent, start in zip(node.parents, starts, strict=True) if start is not None
    ]
    if not (isinstance(out, Box) and out.owner is trace):
        return
    found = walk_back([(out.state, match(cotangent, out.state.value))], [start for _, start in followed])
    for (parent, _), term in zip(followed, found, strict=True):
        if parent is not None and term is not None:
            cotangents.add(parent, match(term, parent.value))


def type_of_value(value: Any) -> TensorType:
    """Return the type of a value, or the type that stands for it in a linear list."""
    return value if isinstance(value, TensorType) else TensorType(dtype_of(value), shape_of(value))


def match(cotangent: Any, operand: Any) -> Any:
    """Give a cotangent the shape and dtype of its operand: broadcasting undone by summing."""
    shape = shape_of(operand)
    if (own := shape_of(cotangent)) != shape:
        extra = len(own) - len(shape)
        axes = tuple(
            axis for axis in range(len(own)) if axis < extra or (shape[axis - extra] == 1 and own[axis] != 1)
        )
        if axes:
            cotangent = reduce_sum(cotangent, axes=axes)
        if shape_of(cotangent) != shape:
            cotangent = reshape(cotangent, shape=shape)
    if dtype_of(cotangent) != (dtype := dtype_of(operand)):
        cotangent = cast(cotangent, dtype=dtype)
    return cotangent
