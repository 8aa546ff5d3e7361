"""Reverse mode: the walk back along the Wengert list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from wengert.boxes import Box
from wengert.core.dtypes import dtype_of
from wengert.core.shapes import shape_of
from wengert.ir.types import TensorType
from wengert.ops.conversion import cast
from wengert.ops.reduction import reduce_sum
from wengert.ops.shape import reshape, zeros_along
from wengert.primitive import Explicit, Linear, Partials
from wengert.transforms.forward import numeric, passed
from wengert.transforms.staging import Walk
from wengert.transforms.tape import LinearTrace, Node, Part, start_of

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
            term = passed(cotangent, partial(*values, **node.params))
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
    tangents = [None if start is None else start_of(trace, start) for start in starts]
    out = rule.jvp(node.operands, tangents, node.value, **node.params)
    followed = [
        (parent, start) for parent, start in zip(node.parents, starts, strict=True) if start is not None
    ]
    if not (isinstance(out, Box) and out.owner is trace):
        return
    found = walk_back([(out.state.node, match(cotangent, out.state.value))], [start for _, start in followed])
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
