"""Lowerings of primitives: the forms that the statement of a primitive chooses from.

=================  ================================================================================
`Elementwise`      one scalar operation on operands that broadcast
`Pointwise`        an element of the result as an expression of elements of the operands
`OnHost`           no native form: the compiled program calls the NumPy evaluation, or a short program, if there is one
`Routine`          calls of a routine of BLAS or LAPACK
`Sorting`          the elements along an axis in order, or their positions
`ControlFlow`    holds programs: the compiler turns it into steps
`InParts`          a pass over the graph replaces complex values by their real and imaginary parts
=================  ================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.engine.core.dtypes import BOOL, INT64, Dtype, show_integer
from wengert.engine.core.errors import RangeError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.records import record
from wengert.engine.core.shapes import Shape
from wengert.engine.ir.types import TensorType
from wengert.engine.nest.expression import Apply, Buffer, Const, Expression, Guard, Iota, Load, zero
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.routine import Routine


@record
class Section:
    """A part of a buffer: its first axes at fixed indices, such as a row at a loop's counter."""

    buffer: Buffer
    lead: tuple[Index, ...]


@record
class View:
    """Elements of a buffer at affine functions of the indices, such as the rows that the turns of a loop read."""

    buffer: Buffer
    indices: tuple[Index, ...]
    axes: tuple[Dim, ...]
    """The dimensions for which the indices stand."""

    def at(self, indices: Sequence[Index]) -> Load:
        """Return the element at indices."""
        values: dict[Any, Index] = dict(zip(self.axes, indices, strict=True))
        return Load(self.buffer, tuple(index.substitute(values.get) for index in self.indices))

    def row(self, index: Index) -> View:
        """Return the part at an index of the first axis."""
        values: dict[Any, Index] = {self.axes[0]: index}
        changed = tuple(x.substitute(values.get) for x in self.indices)
        return View(self.buffer, changed, self.axes[1:])


@record
class Grid:
    """A constant array whose elements are an affine function of their indices, such as ``arange``."""

    offset: Index
    strides: tuple[int, ...]
    dtype: Dtype


@record
class Diagonal:
    """A constant array that is one number on a part of a diagonal of two axes, and zero elsewhere: ``eye``."""

    rows: int
    columns: int
    """The two axes."""
    offset: int
    """``index[columns] - index[rows]`` on the diagonal."""
    first: int
    count: int
    """The rows on which the diagonal is not zero."""
    value: Const

    def at(self, indices: Sequence[Index]) -> Expression:
        """Return the element at indices."""
        dtype = self.value.dtype
        distance = Iota(indices[self.columns] - indices[self.rows] - self.offset)
        on_it = Apply("equal", (distance, zero(INT64)), BOOL)
        element = Apply("where", (on_it, self.value, zero(dtype)), dtype)
        row = indices[self.rows] - self.first
        return Guard(((row, self.count),), element, zero(dtype))


#: Where the elements of a value come from.
Source: TypeAlias = Buffer | Const | Section | View | Grid | Diagonal


@record(eq=True)
class Operand:
    """An operand as a rule sees it: a type, and an expression for each element."""

    type: TensorType
    source: Source

    @property
    def shape(self) -> Shape:
        """Its shape."""
        return self.type.shape

    @property
    def dtype(self) -> Dtype:
        """Its dtype."""
        return self.type.dtype

    def at(self, indices: Sequence[Index]) -> Expression:
        """Return the element at indices."""
        match self.source:
            case Const() as number:
                return number
            case Diagonal() | View() as pattern:
                return pattern.at(indices)
            case Buffer() as buffer:
                return Load(buffer, tuple(indices))
            case Section(buffer=buffer, lead=lead):
                return Load(buffer, (*lead, *indices))
            case Grid(offset=offset, strides=strides, dtype=dtype):
                position = offset
                for index, stride in zip(indices, strides, strict=True):
                    position += index * stride
                return Iota(position, dtype)

    def broadcast_at(self, indices: Sequence[Index]) -> Expression:
        """Return the element that broadcasting brings to indices."""
        mine = indices[len(indices) - len(self.shape) :] if self.shape else ()
        return self.at([Index(0) if e == 1 else i for i, e in zip(mine, self.shape, strict=True)])


@record
class Definition:
    """A result as a nest of its own, where an expression for each element does not say it.

    At each point of ``dims``, ``value`` goes to ``indices``, combined with what stands there; before that the whole
    result is ``initial``.
    """

    dims: tuple[Dim, ...]
    indices: tuple[Index, ...]
    value: Expression
    combiner: str = ""
    initial: Callable[[Sequence[Index]], Expression] | None = None
    sequential: frozenset[Dim] = frozenset()


@record
class Pieces:
    """A result as one nest that stores several of its elements at each point, which may share parts of their values.

    Together they are all elements, each once.
    """

    dims: tuple[Dim, ...]
    stores: tuple[tuple[tuple[Index, ...], Expression], ...]
    """The indices of an element, and its value."""


@record
class Turns:
    """Stages repeated in order for each value of a counter, up or (reverse) down: steps of a recurrence."""

    counter: Dim
    stages: tuple[Stage, ...]
    reverse: bool = False


#: A nest and the buffer that it writes, or such nests in a loop.
Stage: TypeAlias = "tuple[Buffer, Pieces] | Turns"


@record
class Stages:
    """A result as several nests, one after the other, each of which writes a buffer; the last one writes the result.

    All of them run once in each turn of loops, whose turns are independent of each other.
    """

    counters: tuple[Dim, ...]
    """The counters of the loops, outermost first."""
    nests: tuple[Stage, ...]
    remainder: Stages | None = None
    """The stages of the elements of the result that these leave out."""


class Elementwise:
    """One scalar operation on elements.

    Args:
        operation: its name among the scalar operations of the backend; by default the primitive's.
        inputs: ``(operand types, result type) -> dtypes`` that the operands are converted to first; by default the
            dtype of the result.
        param: the name of a parameter that the operation takes.
        program: ``(*operands, **params) -> result``: the operation as a composition of other primitives, where the
            backend has no scalar operation of that name.
        checked: ``(operands, location) -> operands``, with the checks of what the operation requires of them.
    """

    def __init__(
        self,
        operation: str = "",
        inputs: Callable[[Sequence[TensorType], TensorType], Sequence[Dtype]] | None = None,
        param: str = "",
        program: Callable[..., Any] | None = None,
        checked: Callable[[Sequence[Expression], str], Sequence[Expression]] | None = None,
    ) -> None:
        self.operation = operation
        self.inputs = inputs
        self.param = param
        self.program = program
        self.checked = checked

    def dtypes(self, types: Sequence[TensorType], result: TensorType) -> Sequence[Dtype]:
        """Return the dtypes that the operation works on."""
        return self.inputs(types, result) if self.inputs else [result.dtype] * len(types)


class Pointwise:
    """An element of the result, as an expression of elements of the operands.

    Args:
        rule: ``(indices, result, *operands, **params) -> Expression``, a `Definition`, `Pieces` or `Stages`;
            ``result`` is the result as an operand, whose buffer stages write, and sequential definitions read.
    """

    def __init__(self, rule: Callable[..., Expression | Definition | Pieces | Stages]) -> None:
        self.rule = rule


class Expansion(NamedTuple):
    """A program of other primitives that carries an operation out."""

    program: Callable[..., Any]
    """``(*operands, **params) -> result``"""
    length: Callable[..., int]
    """``(*types) -> int``: about how many operations it has for operands of these types; 0 without a program."""


class OnHost:
    """The compiled program calls the primitive's ``evaluate(*operands, **params)``, as eager mode does.

    Args:
        reason: the reason against a native form.
        expansion: the program that replaces the call where it is short.
    """

    def __init__(self, reason: str, expansion: Expansion | None = None) -> None:
        self.reason = reason
        self.expansion = expansion


class Sorting:
    """The operand along the parameter ``axis`` in NumPy's order, equal elements in the order in which they stand.

    Args:
        positions: whether the result is the positions of the elements, not the elements.
    """

    def __init__(self, *, positions: bool) -> None:
        self.positions = positions


class ControlFlow:
    """The primitive holds programs.

    Args:
        program: ``(**params) -> graph``: the program that carries it out, where the compiler has no steps of its own;
            None where it has.
        joint: ``(earlier, equation) -> graphs``: the programs of both an equation and the one that makes its first
            operand, if they are better carried out together: the further results of the first program are further
            inputs of the second one. None where that does not hold.
    """

    def __init__(
        self, program: Callable[..., Any] | None = None, joint: Callable[[Any, Any], Any] | None = None
    ) -> None:
        self.program = program
        self.joint = joint


class InParts:
    """The operation is about the parts of complex numbers, which are values of their own in a compiled program."""


Lowering = Elementwise | Pointwise | OnHost | Routine | Sorting | ControlFlow | InParts


_WIDEN = "convert the array first"
_OF_ANY_INTEGER = frozenset(
    [
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "cast",
        "where",
        "multiply_no_nan",
    ]
)


def check_integers(operation: str, values: Sequence[Any], dtypes: Sequence[Dtype]) -> None:
    """Raise, as NumPy does, where a Python integer does not fit the dtype that it is used with.

    Args:
        operation: its name; comparisons, conversions and choices take any integer.
        values: the operands, None for those that are not known.
        dtypes: the dtypes they are converted to.
    """
    for value, dtype in zip(values, dtypes, strict=True):
        if type(value) is int and is_limited(operation, dtype):
            limits = np.iinfo(dtype)
            if not limits.min <= value <= limits.max:
                raise RangeError(message(operation, range_of(dtype), show_integer(value), _WIDEN))


def is_limited(operation: str, dtype: Dtype) -> bool:
    """Return whether a Python integer must be one of a dtype to be an operand of that dtype."""
    return dtype.kind in "iu" and operation not in _OF_ANY_INTEGER


def range_of(dtype: Dtype) -> str:
    """Return what is required of a Python integer that is used with a dtype."""
    limits = np.iinfo(dtype)
    return f"a Python integer must be one of {dtype}, from {limits.min} to {limits.max}"


def fitting(operation: str, number: Expression, dtype: Dtype) -> Expression:
    """Return a Python integer that only a call knows, as a dtype, or have the call raise `RangeError`."""
    limits = np.iinfo(dtype)
    low, high = int(limits.min), min(int(limits.max), 2**63 - 1)
    start = Const(np.int64(low), INT64)
    above = Apply("subtract", (number, start), INT64)
    requirement = f"{operation}: {range_of(dtype)}; {_WIDEN}"
    inside = Apply("bounded", (above,), INT64, high - low + 1, requirement=requirement)
    return converted(Apply("add", (inside, start), INT64), dtype)


def converted(expression: Expression, dtype: Dtype) -> Expression:
    """Return an expression converted to a dtype."""
    if expression.dtype == dtype:
        return expression
    if isinstance(expression, Const):
        return Const(dtype.type(expression.value), dtype)
    return Apply("cast", (expression,), dtype)


def choice(condition: Expression, yes: Expression, no: Expression) -> Expression:
    """Return one of two values by a truth value."""
    assert condition.dtype == BOOL
    return Apply("where", (condition, yes, no), yes.dtype)
