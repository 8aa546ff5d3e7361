"""The Wengert list, recorded as the program runs.

Each operation on a followed value appends a `Node`. A node holds its parents and the values that its rule reads in
reverse mode. Node numbers increase, so the nodes that lead to a result, in decreasing order, are the list read
backwards. Nodes that no longer lead to a result are garbage collected, and so are values that no rule reads once the
user has released them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import numpy as np

from wengert.engine.boxes import OBSERVED, RUNNING, Box, State, Trace, is_sole, snapshot, unfollowed
from wengert.engine.boxes import concrete as concrete_value
from wengert.engine.core.dtypes import (
    FLOAT64,
    NDARRAY,
    check_known,
    complex_dtype,
    dtype_of,
    is_complex,
    is_inexact,
)
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.graph import Var
from wengert.engine.ir.types import TensorType, is_weak, type_of
from wengert.engine.ops.arithmetic import multiply_no_nan
from wengert.engine.ops.shape import place
from wengert.engine.primitive import (
    NUMPYS_ERRORS,
    PLAIN,
    HigherOrder,
    Linear,
    NonDifferentiable,
    Partials,
    Primitive,
)
from wengert.engine.transforms.snapshots import Snapshots
from wengert.engine.transforms.staging import stage

_numbers = itertools.count()

#: Arrays of at least this many bytes are not kept where no rule reads them.
_LARGE = 1 << 14

Values = Sequence[Any]
Reads = Sequence[bool]
"""Whether a rule reads the result, and each of the operands."""

_known_reads: dict[Any, Reads] = {}
#: The size at which the cache above is cleared; a program has some tens of entries.
_MAX_KNOWN = 4096


class Node(State):
    """One line of the list: ``value = primitive(operands)``; an input has no primitive.

    A type may stand for a value or operand that the rule does not read. The node of a small value is itself the state
    of the value's box.
    """

    __slots__ = ("__weakref__", "number", "operands", "params", "parents", "primitive")

    def __init__(
        self,
        value: Any,
        primitive: Primitive | None = None,
        operands: Any = (),
        parents: Sequence[Node | None] = (),
        params: Any = None,
    ) -> None:
        super().__init__(value)
        self.number = next(_numbers)
        self.primitive = primitive
        self.operands: Any = operands  # the pullback, for a higher-order primitive
        self.parents = parents
        self.params = params

    @property
    def node(self) -> Node:
        """The node of this state."""
        return self


_new = object.__new__
Parents = Sequence[Node | None]


class Part(Node):
    """One result of an operation with several results; its parent is the operation's node."""

    __slots__ = ("position",)

    def __init__(self, value: Any, whole: Node, position: int) -> None:
        super().__init__(value, parents=(whole,))
        self.position = position


class TapeState(State):
    """The state of the box of a large value, and the node that made it, which may not keep the value."""

    __slots__ = ("node",)

    def __init__(self, value: Any, node: Node) -> None:
        self.value = value
        self.node = node
        self.weak = False


def state_of_input(node: Node) -> State:
    """Return the state of the box of an input."""
    return TapeState(node.value, node) if _is_large(node.value) else node


def box_of(trace: Trace, node: Node) -> Any:
    """Return the box of an input."""
    return trace.box(state_of_input(node))


def _state(value: Any, node: Node) -> State:
    """Return the state of a box of a value."""
    return node if node.value is value else TapeState(value, node)


def boxes_of(trace: Trace, values: Values, nodes: Parents) -> list[Any]:
    """Return values, with the boxes of their nodes for those that have one."""
    return [x if node is None else box_of(trace, node) for x, node in zip(values, nodes, strict=True)]


class TapeTrace(Trace):
    """Reverse mode: boxes hold values and their nodes of the list."""

    name = "grad"
    evaluates: ClassVar[bool] = True
    """Whether the values of nodes are numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.snapshots = Snapshots()

    def process(self, primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Compute, and append a node to the list."""
        if not self.open:
            self.check_open(primitive.name)
        rule = primitive.derivative
        values, parents, evaluate, is_large = self._read(primitive, operands)
        if type(rule) is HigherOrder:
            return self.higher_order(rule, primitive, values, parents, params)
        try:
            value = evaluate(*values, **params) if evaluate else self.evaluate(primitive, values, params)
        except NUMPYS_ERRORS as problem:
            raise primitive.explained(problem, values, params) from None
        if type(rule) is not Partials:
            if type(rule) is NonDifferentiable:
                return unfollowed(value)
            if type(rule) is Linear and dtype_of(value).kind not in "fc":
                check_known(primitive.name, dtype_of(value))
                return unfollowed(value)
        box = self._recorded(primitive, value, values, parents, params)
        if is_large or type(box.state) is TapeState or not evaluate:
            box.state = self._with_less(rule, is_large, box.state)
        return box

    def _read(self, primitive: Primitive, operands: tuple[Any, ...]) -> Any:
        """Return the values of operands, their nodes, the evaluation of plain values, and whether one is large."""
        rule = primitive.derivative
        is_large, is_plain, evaluate = False, self.evaluates, primitive.evaluate
        values: list[Any] = []
        parents: list[Node | None] = []
        for operand in operands:
            value, parent = operand, None
            if type(operand) is NDARRAY or (type(operand) not in PLAIN and not isinstance(operand, Box)):
                if rule.reads and (type(rule) is not Linear or rule.reads_operand(len(values))):
                    value = self.snapshots.of(operand)  # no write may change a value that a rule reads later
            elif type(operand) not in PLAIN:
                if operand.owner is self:
                    parent = operand.state
                    value = parent.value
                    if type(parent) is TapeState:
                        parent, is_large = parent.node, True
                else:
                    value = snapshot(operand)
            if type(value) is NDARRAY:
                evaluate = primitive.of_arrays
            elif type(value) not in PLAIN:
                is_plain = is_plain and not isinstance(value, Box)
            values.append(value)
            parents.append(parent)
        return values, parents, evaluate if is_plain else None, is_large

    def _recorded(
        self, primitive: Primitive, value: Any, values: Values, parents: Parents, params: dict[str, Any]
    ) -> Any:
        """Append a node, and return the box of its value."""
        # Calls of `Node` and `box` would take three times as long.
        node = _new(Node)
        node.number, node.primitive, node.params = next(_numbers), primitive, params
        node.value, node.operands, node.parents = value, values, parents
        box = _new(self.box_class)
        box.owner, box.state, box.lens, box.memory = self, node, None, None
        if OBSERVED and RUNNING.born is not None:
            RUNNING.born[id(box)] = box
        if type(value) is NDARRAY:
            node.weak = False
            if value.nbytes >= _LARGE or (value.base is not None and _is_large(value)):
                box.state = TapeState(value, node)
        else:
            node.weak = is_weak(value)
        return box

    def evaluate(self, primitive: Primitive, values: Values, params: dict[str, Any]) -> Any:
        """Return the value of a node on values of older traces."""
        return primitive.apply(tuple(values), params)

    def _with_less(self, rule: Any, is_large: bool, state: Any) -> Any:
        """Return a state whose node keeps no value that its rule does not read."""
        node = state.node
        # The slope of a small array takes no less time here than in the walk back, which silences its warnings.
        if type(rule) is Partials and rule.at_once:
            node = self.with_slope(rule, node.value, node.operands, node.parents)
        is_value_large = type(state) is TapeState
        if is_large or is_value_large:
            value = node.value
            _release_unread(node)
            return TapeState(value, node) if is_value_large else node
        return node

    def with_slope(self, rule: Partials, value: Any, values: Values, parents: Parents) -> Node:
        """Return a node with a known slope: to first order it multiplies its operand by the slope."""
        (partial,) = rule.partials
        assert callable(partial)
        with np.errstate(all="ignore"):
            slope = partial(value, *values)
        return Node(value, multiply_no_nan, [*values, slope], [*parents, None], {})

    def higher_order(
        self, rule: HigherOrder, primitive: Primitive, values: Any, parents: Parents, params: Any
    ) -> Any:
        """Record a higher-order primitive: its rule returns the pullback to keep."""
        active = [parent is not None for parent in parents]
        outputs, pullback = rule.pull(values, active, **params)
        if not isinstance(outputs, tuple):
            node = Node(_kept(outputs, False), primitive, pullback, parents, params)
            return self.box(_state(outputs, node)) if is_inexact(dtype_of(outputs)) else outputs
        results = cast("tuple[Any, ...]", outputs)
        reached = [1] * len(results) if rule.reach is None else rule.reach(list(map(int, active)), **params)
        saved = tuple(_kept(value, False) for value in results)
        node = Node(saved, primitive, pullback, parents, params)
        return tuple(
            self.box(_state(value, Part(saved[position], node, position)))
            if reached[position] and is_inexact(dtype_of(value))
            else value
            for position, value in enumerate(results)
        )

    def concrete(self, state: Any) -> Any:
        """Return the array behind a node."""
        return concrete_value(state.value)

    def overwrite(self, cell: Box, part: Any, index: Any, selection: Any) -> bool:
        """Write into an array that nothing else refers to, and append the node of the write.

        Small arrays stand in the nodes that made them, so this serves large ones, whose copies would be slow.
        """
        value, parent = part, None
        if isinstance(part, Box) and part.owner is self:
            value, parent = part.state.value, part.state.node
        if isinstance(value, Box) or type(cell.state) is not TapeState:
            return False
        if not (self.open and is_sole(cell, "value")):
            return False
        array, before = cell.state.value, cell.state.node
        array[selection] = value
        type_ = TensorType(array.dtype, array.shape)
        operands = [type_, TensorType(array.dtype, shape_of(value))]
        cell.state = TapeState(array, Node(type_, place, operands, [before, parent], {"index": index}))
        return True


class LinearTrace(TapeTrace):
    """A list of linear operations on types, to be transposed."""

    name = "linearize"
    evaluates = False

    def evaluate(self, primitive: Primitive, values: Values, params: dict[str, Any]) -> Any:
        """Return the type of a node."""
        return primitive.infer(*map(type_of, values), **params)

    def higher_order(
        self, rule: HigherOrder, primitive: Primitive, values: Any, parents: Parents, params: Any
    ) -> Any:
        """Record a higher-order primitive, with zeros for the unknown operands: a linear pullback ignores them."""
        arrays = [np.zeros(v.shape, v.dtype) if isinstance(v, TensorType) else v for v in values]
        result: Any = super().higher_order(rule, primitive, arrays, parents, params)
        return tuple(map(self._unknown, result)) if isinstance(result, tuple) else self._unknown(result)

    def _unknown(self, result: Any) -> Any:
        """Replace a value that was computed from zeros by its type."""
        if not (isinstance(result, Box) and result.owner is self):
            return result
        node = result.state.node
        node.value = TensorType(result.dtype, result.shape)
        return box_of(self, node)

    def concrete(self, state: Any) -> Any:
        """Return None: only types are known."""
        return None


# -- memory ----------------------------------------------------------------------------------------------


def _is_large(value: Any) -> bool:
    """Return whether an array, or the array that it is a view of, takes much memory."""
    if not isinstance(value, NDARRAY):
        return False
    return value.nbytes >= _LARGE or (isinstance(value.base, NDARRAY) and value.base.nbytes >= _LARGE)


def _kept(value: Any, is_read: bool) -> Any:
    """Return the value, or its type if no rule reads the numbers of a large array."""
    return value if is_read or not _is_large(value) else TensorType(value.dtype, value.shape)


def _release_unread(node: Node) -> None:
    """Drop the values that the rule of a node does not read."""
    assert node.primitive is not None
    parents, operands = node.parents, node.operands
    is_read = _reads_of(node.primitive, node.params, parents, node.value, operands)
    node.value = _kept(node.value, is_read[0])
    for position, parent in enumerate(parents):
        if not is_read[position + 1]:
            operands[position] = _kept(operands[position], False) if parent is None else parent.value


def _reads_of(primitive: Primitive, params: Any, parents: Parents, value: Any, operands: Values) -> Reads:
    """Return which of its result and operands the rule of an operation reads."""
    rule, active = primitive.derivative, tuple(map(bool, parents))
    if not rule.reads:
        return (False,) * (1 + len(active))
    key: Any = (primitive, active)
    if isinstance(rule, Partials):  # of complex values a partial may read others than of real ones
        kinds = [dtype_of(x).kind == "c" for x in (value, *operands)]
        key = (*key, *kinds, *params.items())
    reads = _known_reads.get(key)
    if reads is None:
        if isinstance(rule, Partials):
            reads = _read_by_partials(rule, params, active, list(map(_scalar, (value, *operands))))
        elif isinstance(rule, Linear):
            reads = _read_by_transposes(rule, active)
        else:
            reads = [True] * (1 + len(active))
        if len(_known_reads) >= _MAX_KNOWN:
            _known_reads.clear()
        _known_reads[key] = reads
    return reads


def _read_by_transposes(rule: Linear, active: Reads) -> Reads:
    """Return which operands the transposes read: the nonlinear ones, and the other factors of a product."""
    factors = not rule.jointly and sum(active) > 1
    are_read = [
        not rule.linear_in(position) or factors or (not rule.jointly and not is_active)
        for position, is_active in enumerate(active)
    ]
    return [False, *are_read]


def _read_by_partials(rule: Partials, params: Any, active: Reads, types: Sequence[TensorType]) -> Reads:
    """Stage the partial derivatives: they read the inputs that the graph uses."""
    pairs = zip(rule.partials, active, strict=True)
    partials = [partial for partial, is_active in pairs if is_active and callable(partial)]
    graph, _ = stage(lambda *values: [partial(*values, **params) for partial in partials], types)
    atoms = (*graph.outputs, *(atom for equation in graph.equations for atom in equation.operands))
    used = {atom for atom in atoms if isinstance(atom, Var)}
    return [var in used for var in graph.inputs]


def _scalar(value: Any) -> TensorType:
    """Return the type of one element, because the number of elements does not change which values are read."""
    dtype = dtype_of(value)
    if is_complex(dtype):
        return TensorType(complex_dtype(FLOAT64), ())
    return TensorType(FLOAT64 if is_inexact(dtype) else dtype, ())
