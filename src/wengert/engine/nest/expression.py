"""Expressions, the values of a nest at one point: loads, scalar operations, guards and reductions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from wengert.engine.core.dtypes import INT64, Dtype
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.records import record
from wengert.engine.core.shapes import Shape
from wengert.engine.nest.index import Computed, Digit, Dim, Index, Term


class Buffer:
    """An array of a program: an argument, a constant, or what a nest stores.

    It has no axis order yet, unless it is ``ordered``: its last axis lies along the lanes then.
    """

    __slots__ = ("dtype", "name", "ordered", "shape")

    def __init__(self, dtype: Dtype, shape: Shape, name: str = "", *, ordered: bool = False) -> None:
        self.dtype = dtype
        self.shape = shape
        self.name = name
        self.ordered = ordered

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def __repr__(self) -> str:
        return f"{self.name or 'b'}[{','.join(map(str, self.shape))}]"


class Facts(NamedTuple):
    """Cached properties of an expression."""

    children: tuple[Expression, ...]
    """The expressions directly inside it, those in computed indices included."""
    depth: int
    """The number of nodes that lie one inside another."""
    buffers: tuple[Buffer, ...]
    """The loads, each once, computed indices included."""
    dims: frozenset[Dim]
    """The dimensions in its indices and of its reductions."""
    has_reductions: bool
    has_digits: bool
    """Whether an index takes digits of another."""


class Node:
    """A node of an expression. Nodes are immutable, so that their facts are computed once."""

    __slots__ = ("_facts",)
    _facts: Facts

    @property
    def facts(self) -> Facts:
        """The facts about the node and everything inside it."""
        try:
            return self._facts
        except AttributeError:
            facts = _facts_of(self)  # pyright: ignore[reportArgumentType]
            object.__setattr__(self, "_facts", facts)
            return facts


@record
class Const(Node):
    """A number."""

    value: Any
    dtype: Dtype


def zero(dtype: Dtype) -> Const:
    """Return the zero of a dtype."""
    return Const(dtype.type(0), dtype)


def is_zero(expression: Expression) -> bool:
    """Return whether an expression is the number zero, of either sign."""
    return isinstance(expression, Const) and not expression.value


def is_positive_zero(expression: Expression) -> bool:
    """Return whether an expression is the number zero, and not the one with a minus sign."""
    return isinstance(expression, Const) and not expression.value and not np.signbit(expression.value)


@record
class Iota(Node):
    """An index as a number."""

    index: Index
    dtype: Dtype = INT64


@record
class Load(Node):
    """An element of a buffer."""

    buffer: Buffer
    indices: tuple[Index, ...]

    @property
    def dtype(self) -> Dtype:
        """The dtype of the element."""
        return self.buffer.dtype


#: Operations that report what is wrong with a value, and return it: a ``position`` in ``[0, param)``, counted from the
#: end where nothing is required; a number that must be ``bounded`` like that; a value of which something else is
#: ``required``; a value that an operation must not have ``made``, say a NaN.
CHECKS = (
    "position",
    "bounded",
    "required",
    "ended",
    "fitting",
    "smooth",
    "raised",
    "made_nan",
    "made_subnormal",
)
#: The checks whose second operand is the condition that must hold.
CONDITIONS = CHECKS[2:]


@record
class Apply(Node):
    """A scalar operation; its operands have been converted to what it works on."""

    operation: str
    operands: tuple[Expression, ...]
    dtype: Dtype
    param: int = 0
    location: str = ""
    requirement: str = ""
    """The message of a check (one of `CHECKS`) that fails."""


#: The sums whose ``param`` tells which operand, counted from 1, is a product that they take without rounding it.
SUMS = ("add", "subtract")
PRODUCTS = ("multiply", "square", "integer_power")


def factors(node: Expression) -> tuple[Expression, Expression] | None:
    """Return the factors of a product of two floats."""
    if not isinstance(node, Apply) or node.operation not in PRODUCTS or node.dtype.kind != "f":
        return None
    if node.operation == "integer_power" and node.param != 2:
        return None
    return node.operands[0], node.operands[-1]


@record
class Guard(Node):
    """``body`` where ``0 <= index < extent`` for every condition, ``otherwise`` elsewhere.

    Where a condition fails, nothing that the body names is read.
    """

    conditions: tuple[tuple[Index, int], ...]
    body: Expression
    otherwise: Expression
    absent: bool = False
    """Whether ``otherwise`` is zero because nothing depends on anything there, as in the transpose of a slice: then
    a sum of products has no term there, also if the other factor is infinite or NaN."""

    @property
    def dtype(self) -> Dtype:
        """The dtype of either value."""
        return self.body.dtype


@record
class Reduce(Node):
    """The values of the body over dimensions, combined by ``combiner``.

    It is one of ``add multiply maximum minimum logical_and logical_or argmax argmin``; the last two give the position
    along their one dimension.
    """

    combiner: str
    dims: tuple[Dim, ...]
    body: Expression
    dtype: Dtype

    @property
    def returns_index(self) -> bool:
        """Whether it gives a position, not one of the values."""
        return self.combiner.startswith("arg")


Expression: TypeAlias = "Const | Iota | Load | Apply | Guard | Reduce"


def is_same(x: Expression, y: Expression) -> bool:
    """Return whether two expressions are one, or compute the same in the same way."""
    if x is y:
        return True
    match x, y:
        case Const(), Const():
            return x.dtype == y.dtype and x.dtype.type(x.value).tobytes() == y.dtype.type(y.value).tobytes()
        case Iota(), Iota():
            return x.dtype == y.dtype and _is_same_index(x.index, y.index)
        case Load(), Load():
            return is_same_element(x, y)
        case Apply(), Apply():
            own = x.operation, x.dtype, x.param, x.requirement
            return own == (y.operation, y.dtype, y.param, y.requirement) and all(
                map(is_same, x.operands, y.operands)
            )
        case _:
            return False


def is_same_element(x: Load, y: Load) -> bool:
    """Return whether two loads read one element."""
    return x.buffer is y.buffer and all(map(_is_same_index, x.indices, y.indices))


def _is_same_index(x: Index, y: Index) -> bool:
    if x == y:
        return True
    pairs = list(zip(x.terms, y.terms, strict=False))
    return (
        x.offset == y.offset
        and len(x.terms) == len(y.terms) == len(pairs)
        and all(a == b and _is_same_term(s, t) for (s, a), (t, b) in pairs)
    )


def _is_same_term(x: Term, y: Term) -> bool:
    if isinstance(x, Computed) and isinstance(y, Computed):
        return x.extent == y.extent and is_same(x.expression, y.expression)
    return x == y


def children(expression: Expression) -> Sequence[Expression]:
    """Return the expressions directly inside another, those in computed indices included."""
    return expression.facts.children


def _children(node: Expression) -> tuple[Expression, ...]:
    match node:
        case Apply(operands=operands):
            return operands
        case Guard(body=body, otherwise=otherwise):
            return (body, otherwise, *computed(indices_of(node)))
        case Reduce(body=body):
            return (body,)
        case _:
            return tuple(computed(indices_of(node)))


def computed(indices: Iterable[Index]) -> Iterator[Expression]:
    """Yield the expressions that stand in indices."""
    for index in indices:
        for term, _ in index.terms:
            if isinstance(term, Computed):
                yield term.expression
            elif isinstance(term, Digit):
                yield from computed((term.index,))


def walk(
    expression: Expression, *closed: type[Expression], seen: set[int] | None = None
) -> Iterator[Expression]:
    """Yield every node once, parents first, but not what nodes of some kinds hold, nor what was seen before."""
    seen = set() if seen is None else seen
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            if not (closed and isinstance(node, closed)):
                waiting += node.facts.children


def _facts_of(node: Expression) -> Facts:
    children = _children(node)
    inside = [child.facts for child in children]
    if isinstance(node, Apply) and len(inside) == 1:
        return inside[0]._replace(children=children, depth=1 + inside[0].depth)
    buffers = dict.fromkeys(buffer for facts in inside for buffer in facts.buffers)
    indices = list(indices_of(node))
    dims = {dim for index in indices for dim in index.dims()}
    if isinstance(node, Load):
        buffers = {node.buffer: None, **buffers}
    elif isinstance(node, Reduce):
        dims.update(node.dims)
    return Facts(
        children,
        1 + max((facts.depth for facts in inside), default=0),
        tuple(buffers),
        frozenset(dims).union(*(facts.dims for facts in inside)),
        isinstance(node, Reduce) or any(facts.has_reductions for facts in inside),
        any(isinstance(term, Digit) for index in indices for term, _ in index.terms)
        or any(facts.has_digits for facts in inside),
    )


def loads(expression: Expression, *closed: type[Expression]) -> list[Load]:
    """Return every load, those in computed indices included, but not those that nodes of some kinds hold."""
    return [node for node in walk(expression, *closed) if isinstance(node, Load)]


def loads_of(buffer: Buffer, expression: Expression) -> Iterator[Load]:
    """Yield every load of a buffer once, those in computed indices included."""
    seen: set[int] = set()
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen and buffer in node.facts.buffers:
            seen.add(id(node))
            if isinstance(node, Load) and node.buffer is buffer:
                yield node
            waiting += node.facts.children


def may_lie_outside(expression: Expression) -> bool:
    """Return whether what is loaded may lie outside its buffer, and so must not be where a condition holds."""
    return any(
        index.bounds[0] < 0 or index.bounds[1] >= extent
        for load in loads(expression)
        for index, extent in zip(load.indices, load.buffer.shape, strict=True)
    )


def is_check(node: Expression) -> bool:
    """Return whether a node reports what is wrong with a value."""
    return isinstance(node, Apply) and node.operation in CHECKS


def may_report(expression: Expression) -> bool:
    """Return whether there is a check in an expression, which must not be made where a condition holds."""
    return any(map(is_check, walk(expression)))


def indices_of(node: Expression) -> Iterator[Index]:
    """Yield the indices that stand in a node itself."""
    match node:
        case Load(indices=indices):
            yield from indices
        case Iota(index=index):
            yield index
        case Guard(conditions=conditions):
            for index, _ in conditions:
                yield index
        case _:
            return


def free_dims(expression: Expression) -> set[Dim]:
    """Return the dimensions that the value of an expression depends on."""
    free: set[Dim] = set()
    bound: set[Dim] = set()
    for node in walk(expression):
        for index in indices_of(node):
            free.update(index.dims())
        if isinstance(node, Reduce):
            bound.update(node.dims)
    return free - bound


class Rewriter:
    """Rebuilds expressions from the leaves up; what does not change stays the same object, what is shared stays shared.

    A guard whose conditions are decided at the new indices gives way to the value that they choose.

    Args:
        change: called with each rebuilt node; what it returns takes the node's place.
        replace_term: the index that stands for a term of indices; None keeps it.
        concerns: whether there may be something to change in a node with these facts; None for every node.
    """

    def __init__(
        self,
        change: Callable[[Expression], Expression] = lambda node: node,
        replace_term: Callable[[Term], Index | None] = lambda term: None,
        concerns: Callable[[Facts], bool] | None = None,
    ) -> None:
        self.change = change
        self.replace_term = replace_term
        self.concerns = concerns
        self._done: dict[int, tuple[Expression, Expression]] = {}

    def __call__(self, node: Expression) -> Expression:
        """Return the expression rebuilt."""
        entry = self._done.get(id(node))
        if entry is None:
            new = self._changed(node) if self.concerns is None or self.concerns(node.facts) else node
            entry = self._done[id(node)] = (node, new)
        return entry[1]

    def index(self, index: Index) -> Index:
        """Return an index rebuilt."""
        return index.substitute(self._term)

    def _term(self, term: Term) -> Index | None:
        if isinstance(term, Computed):
            inner = self(term.expression)
            return None if inner is term.expression else Index.of(replace(term, expression=inner))
        return self.replace_term(term)

    def _changed(self, node: Expression) -> Expression:
        if isinstance(node, Guard):
            return self._guard(node)
        return self.change(self._rebuild(node))

    def _rebuild(self, node: Expression) -> Expression:
        match node:
            case Apply(operands=operands):
                new = tuple(map(self, operands))
                same = all(a is b for a, b in zip(new, operands, strict=True))
                return node if same else replace(node, operands=new)
            case Load(indices=indices):
                rebuilt = tuple(map(self.index, indices))
                same = all(a is b for a, b in zip(rebuilt, indices, strict=True))
                return node if same else replace(node, indices=rebuilt)
            case Iota(index=index):
                changed = self.index(index)
                return node if changed is index else replace(node, index=changed)
            case Reduce(body=body):
                inner = self(body)
                return node if inner is body else replace(node, body=inner)
            case _:
                return node

    def _guard(self, node: Guard) -> Expression:
        """Rebuild and change a guard, or what is left of it where its conditions are decided at the new indices."""
        tests = tuple((self.index(index), extent) for index, extent in node.conditions)
        same = all(a is b for (a, _), (b, _) in zip(tests, node.conditions, strict=True))
        if not same:
            bounds = [(*index.bounds, extent) for index, extent in tests]
            if any(high < 0 or low >= extent for low, high, extent in bounds):
                return self(node.otherwise)
            undecided = [low < 0 or high >= extent for low, high, extent in bounds]
            tests = tuple(itertools.compress(tests, undecided))
            if not tests:
                return self(node.body)
        body, otherwise = self(node.body), self(node.otherwise)
        if same and body is node.body and otherwise is node.otherwise:
            return self.change(node)
        return self.change(replace(node, conditions=tests, body=body, otherwise=otherwise))


def instantiate(expression: Expression, dims: Sequence[Dim], indices: Sequence[Index]) -> Expression:
    """Return an expression at other indices; its reductions get dimensions of their own."""
    replacements: dict[Any, Index] = dict(zip(dims, indices, strict=True))
    renamed: dict[Dim, Dim] = {}
    if expression.facts.has_reductions:
        for node in walk(expression):
            if isinstance(node, Reduce):
                renamed.update({dim: Dim(dim.extent, dim.name) for dim in node.dims})
        replacements.update({old: Index.of(new) for old, new in renamed.items()})
    return _renaming(replacements, renamed)(expression)


def _renaming(replacements: Mapping[Any, Index], renamed: Mapping[Dim, Dim]) -> Rewriter:
    def change(node: Expression) -> Expression:
        if isinstance(node, Reduce) and renamed:
            return replace(node, dims=tuple(renamed.get(dim, dim) for dim in node.dims))
        return node

    return Rewriter(change, replacements.get, lambda facts: not facts.dims.isdisjoint(replacements))
