"""Values of an ONNX graph under construction, and the writer of its nodes.

A lowering computes with values as with arrays: ``x * x + 1.0`` writes two nodes. Where onnxruntime has no kernel for a
dtype, the operands are converted to one that it has, and the result back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wengert.engine.core.dtypes import BOOL, INT64, Dtype
from wengert.engine.core.errors import UnsupportedError, message
from wengert.engine.core.shapes import Shape, size
from wengert.engine.ir.types import TensorType
from wengert.exporting.onnx.kernels import carrier
from wengert.exporting.onnx.problem import Problem

Number: TypeAlias = int | float
_BITS = {"And": "BitwiseAnd", "Or": "BitwiseOr", "Xor": "BitwiseXor", "Not": "BitwiseNot"}


class Node(NamedTuple):
    """One operator."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    """Numbers, texts, sequences of numbers, dtypes, or bodies."""
    location: str = ""
    """The user's line."""


@dataclass(eq=False)
class Body:
    """A graph: of the model, or inside a loop or a branch, where it also reads values of the graphs around it."""

    name: str
    inputs: list[Value] = field(default_factory=lambda: list[Value]())
    outputs: list[Value] = field(default_factory=lambda: list[Value]())
    nodes: list[Node] = field(default_factory=list[Node])


class Padded(NamedTuple):
    """A value with a number around it, for operators that pad themselves."""

    value: Value
    before: tuple[int, ...]
    after: tuple[int, ...]
    fill: float


class Made(NamedTuple):
    """An operator and its inputs, as far as they are values."""

    operator: str
    inputs: tuple[Value | None, ...]
    attributes: dict[str, Any]


class Writer:
    """Writes the nodes of a model."""

    def __init__(self, name: str) -> None:
        self.body = Body(name)
        self.initializers: dict[str, np.ndarray[Any, Any]] = {}
        self.made: dict[str, Made] = {}
        """The operator that made each value, by name."""
        self.padded: dict[str, Padded] = {}
        """The values that are others with a number around them, by name."""
        self.reshaped: dict[str, Value] = {}
        """The values that are others in another shape, by name."""
        self.unfolded: dict[str, tuple[Value, Problem]] = {}
        """The values that hold the elements of windows of others, by name, with the map of these."""
        self.location = ""
        """The user's line whose operations are written."""
        self._constants: dict[tuple[Any, ...], Value] = {}
        self._count = 0

    def fresh(self, stem: str = "v") -> str:
        """Return a name that no other value has."""
        self._count += 1
        return f"{stem}.{self._count}"

    def constant(self, value: Any, dtype: Dtype | None = None) -> Value:
        """Return a constant; equal ones are one initializer."""
        array = np.asarray(value, dtype)
        array = np.ascontiguousarray(array).reshape(array.shape)
        key = (array.dtype, array.shape, array.tobytes())
        if key not in self._constants:
            name = self.fresh("constant")
            self.initializers[name] = array
            self._constants[key] = Value(self, name, array.dtype, array.shape)
        return self._constants[key]

    def numbers(self, values: Sequence[int]) -> Value:
        """Return integers as an input of an operator: a shape, axes, positions."""
        return self.constant(np.array(values, np.int64))

    def nodes(
        self,
        operator: str,
        inputs: Sequence[Value | None],
        types: Sequence[tuple[Dtype, Shape]],
        **attributes: Any,
    ) -> list[Value]:
        """Write a node, and return its results, of the types given."""
        results = [Value(self, self.fresh(), dtype, tuple(shape)) for dtype, shape in types]
        names = tuple(x.name if x is not None else "" for x in inputs)
        self.made |= dict.fromkeys((x.name for x in results), Made(operator, tuple(inputs), attributes))
        self.body.nodes.append(
            Node(operator, names, tuple(x.name for x in results), attributes, self.location)
        )
        return results

    def node(
        self,
        operator: str,
        operands: Sequence[Value],
        shape: Sequence[int],
        *,
        others: Sequence[Value] = (),
        dtype: Dtype | None = None,
        **attributes: Any,
    ) -> Value:
        """Write a node with one result, which has the dtype of the operands by default.

        All operands have one dtype, for which onnxruntime must have a kernel; ``others`` are further inputs, such as
        axes.
        """
        mine = operands[0].dtype
        working = carrier(operator, mine)
        if working is None:
            requirement = f"ONNX's {operator} must have a kernel for the dtype"
            raise UnsupportedError(message("export", requirement, str(mine)))
        inputs = [x.cast(working) for x in operands]
        (result,) = self.nodes(operator, [*inputs, *others], [(dtype or working, tuple(shape))], **attributes)
        return result.cast(mine) if dtype is None else result

    @contextlib.contextmanager
    def inside(self, name: str) -> Generator[Body]:
        """Write the nodes of an inner graph."""
        outer, self.body = self.body, Body(self.fresh(name))
        try:
            yield self.body
        finally:
            self.body = outer

    def input(self, type_: TensorType, name: str = "") -> Value:
        """Add an input to the graph that is being written."""
        value = Value(self, name or self.fresh("input"), type_.dtype, type_.shape)
        self.body.inputs.append(value)
        return value

    def output(self, value: Value, name: str = "") -> None:
        """Add an output to the graph that is being written: a value that it computes, so a copy of any other."""
        result = Value(self, name or self.fresh("output"), value.dtype, value.shape)
        self.body.nodes.append(Node("Identity", (value.name,), (result.name,), {}))
        self.body.outputs.append(result)


class Value:
    """A tensor in a graph under construction; operators write nodes."""

    __slots__ = ("dtype", "name", "shape", "writer")

    def __init__(self, writer: Writer, name: str, dtype: Dtype, shape: Shape) -> None:
        self.writer, self.name, self.dtype, self.shape = writer, name, dtype, shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def known(self) -> Any:
        """The value of a constant; None of anything else."""
        return self.writer.initializers.get(self.name)

    def like(self, number: Value | Number | bool) -> Value:
        """Return a number as a constant of the dtype of this value."""
        return number if isinstance(number, Value) else self.writer.constant(number, self.dtype)

    def unary(self, operator: str, dtype: Dtype | None = None, **attributes: Any) -> Value:
        """Apply an operator to each element."""
        return self.writer.node(operator, [self], self.shape, dtype=dtype, **attributes)

    def binary(
        self, operator: str, right: Value | Number, dtype: Dtype | None = None, **attributes: Any
    ) -> Value:
        """Apply an operator to elements of two values that broadcast."""
        operand = self.like(right)
        shape = np.broadcast_shapes(self.shape, operand.shape)
        return self.writer.node(operator, [self, operand], shape, dtype=dtype, **attributes)

    def logical(self, operator: str, right: Value | None = None) -> Value:
        """Apply an operator on truth values, or on the bits of integers."""
        name = operator if self.dtype == BOOL else _BITS[operator]
        return self.unary(name) if right is None else self.binary(name, right)

    def cast(self, dtype: Dtype) -> Value:
        """Return the value in another dtype; integers wrap around."""
        if dtype == self.dtype:
            return self
        if self.known is not None and self.dtype.kind != "f":
            return self.writer.constant(self.known.astype(dtype))
        if self.known is not None and dtype.kind == "f":
            with np.errstate(all="ignore"):
                return self.writer.constant(self.known.astype(dtype))
        (result,) = self.writer.nodes("Cast", [self], [(dtype, self.shape)], to=dtype)
        return result

    # -- shapes ------------------------------------------------------------------------------------------

    def reshape(self, shape: Sequence[int]) -> Value:
        """Return the elements in another shape, in row-major order."""
        shape = tuple(map(int, shape))
        source = self.writer.reshaped.get(self.name, self)
        if shape == source.shape or shape == self.shape:
            return source if shape == source.shape else self
        if source.known is not None:
            return self.writer.constant(source.known.reshape(shape))
        numbers = self.writer.numbers(shape)
        result = self.writer.node("Reshape", [source], shape, others=[numbers], allowzero=1)
        self.writer.reshaped[result.name] = source
        return result

    def transpose(self, permutation: Sequence[int]) -> Value:
        """Return the axes in another order."""
        order = list(permutation)
        if order == list(range(self.ndim)):
            return self
        if self.known is not None:
            return self.writer.constant(self.known.transpose(order))
        return self.writer.node("Transpose", [self], [self.shape[axis] for axis in order], perm=order)

    def expand(self, shape: Sequence[int]) -> Value:
        """Return the value repeated along new axes and axes of extent one."""
        if tuple(shape) == self.shape:
            return self
        return self.writer.node("Expand", [self], shape, others=[self.writer.numbers(shape)])

    def taken(self, starts: Sequence[int], counts: Sequence[int], steps: Sequence[int]) -> Value:
        """Return elements from a start at a step along each axis."""
        numbers = self.writer.numbers
        moved = [
            axis
            for axis, (extent, *part) in enumerate(zip(self.shape, starts, counts, steps, strict=True))
            if part != [0, extent, 1]
        ]
        if not moved:
            return self
        ends = [starts[a] + counts[a] * steps[a] for a in moved]
        ends = [end if end >= 0 else -self.shape[a] - 1 for a, end in zip(moved, ends, strict=True)]
        inputs = [numbers([starts[a] for a in moved]), numbers(ends), numbers(moved)]
        inputs.append(numbers([steps[a] for a in moved]))
        return self.writer.node("Slice", [self], counts, others=inputs)

    def reduce(self, operator: str, axes: Sequence[int]) -> Value:
        """Return a reduction over axes."""
        if not axes:
            return self
        shape = [extent for axis, extent in enumerate(self.shape) if axis not in axes]
        inputs = [self.writer.numbers(sorted(axes))]
        return self.writer.node(operator, [self], shape, others=inputs, keepdims=0)

    def at(self, positions: Value, axis: int = 0) -> Value:
        """Return the elements at positions along an axis."""
        shape = (*self.shape[:axis], *positions.shape, *self.shape[axis + 1 :])
        return self.writer.node("Gather", [self], shape, others=[positions.cast(INT64)], axis=axis)

    def made_by(self, operator: str) -> Sequence[Value]:
        """Return the inputs of the operator that made this value; none if it was another operator."""
        made = self.writer.made.get(self.name)
        if made is None or made.operator != operator:
            return ()
        return [value for value in made.inputs if value is not None]

    @property
    def flat(self) -> Value:
        """The elements in one axis."""
        return self.reshape((size(self.shape),))

    # -- arithmetic --------------------------------------------------------------------------------------

    def __add__(self, other: Value | Number) -> Value:
        return self.binary("Add", other)

    def __radd__(self, other: Number) -> Value:
        return self.like(other) + self

    def __sub__(self, other: Value | Number) -> Value:
        return self.binary("Sub", other)

    def __rsub__(self, other: Number) -> Value:
        return self.like(other) - self

    def __mul__(self, other: Value | Number) -> Value:
        return self.binary("Mul", other)

    def __rmul__(self, other: Number) -> Value:
        return self.like(other) * self

    def __truediv__(self, other: Value | Number) -> Value:
        return self.binary("Div", other)

    def __rtruediv__(self, other: Number) -> Value:
        return self.like(other) / self

    def __neg__(self) -> Value:
        return self.unary("Neg")

    def __abs__(self) -> Value:
        return self.unary("Abs")

    def __lt__(self, other: Value | Number) -> Value:
        return self.binary("Less", other, BOOL)

    def __le__(self, other: Value | Number) -> Value:
        return self.binary("LessOrEqual", other, BOOL)

    def __gt__(self, other: Value | Number) -> Value:
        return self.binary("Greater", other, BOOL)

    def __ge__(self, other: Value | Number) -> Value:
        return self.binary("GreaterOrEqual", other, BOOL)

    def equals(self, right: Value | Number) -> Value:
        """Tell where elements are equal."""
        return self.binary("Equal", right, BOOL)

    def __and__(self, other: Value) -> Value:
        return self.logical("And", other)

    def __or__(self, other: Value) -> Value:
        return self.logical("Or", other)

    def __xor__(self, other: Value) -> Value:
        return self.logical("Xor", other)

    def __invert__(self) -> Value:
        return self.logical("Not")

    def choose(self, yes: Value | Number, no: Value | Number) -> Value:
        """Return elements of one of two values by this truth value."""
        like = yes if isinstance(yes, Value) else no
        assert isinstance(like, Value)
        yes, no = like.like(yes), like.like(no)
        shape = np.broadcast_shapes(self.shape, yes.shape, no.shape)
        working = carrier("Where", like.dtype)
        assert working is not None
        inputs = [self, yes.cast(working), no.cast(working)]
        return self.writer.nodes("Where", inputs, [(working, shape)])[0].cast(like.dtype)
