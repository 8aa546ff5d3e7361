"""Batching: `vmap` runs a function of one example on an axis of examples, without a loop."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np

from wengert.engine.boxes import Box, Trace, Unsized, concrete, own, rests_on, running, snapshot
from wengert.engine.core import tree
from wengert.engine.core.calls import advising
from wengert.engine.core.dtypes import INT64, Dtype, check_known, check_plain, dtype_of
from wengert.engine.core.errors import RETURNED, ArgumentError, message
from wengert.engine.core.raised import MADE
from wengert.engine.core.shapes import Shape, axis_index, shape_of
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.memory import is_in_rows, lay_as, memory_of
from wengert.engine.nest.lowering import Elementwise, check_integers, is_limited, range_of
from wengert.engine.ops.arithmetic import add, subtract
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.indexing import check_bounds
from wengert.engine.ops.shape import broadcast_to, concatenate, reshape, transpose
from wengert.engine.primitive import HigherOrder, Primitive
from wengert.engine.transforms.arguments import SETTING, named, refresh, release
from wengert.engine.transforms.substitution import attempt, current

#: Errors that the values of one example raise, and those of another one may not.
_OF_VALUES = (IndexError, ArithmeticError, np.linalg.LinAlgError)

P = ParamSpec("P")
R = TypeVar("R")


class Batched:
    """The state of a box under `vmap`: a value with a leading axis of examples.

    ``weak``: each example is a Python scalar. The array of all examples has a dtype, but promotes as they would.
    """

    __slots__ = ("value", "weak")

    def __init__(self, value: Any, weak: bool = False) -> None:
        self.value = value
        self.weak = weak

    @property
    def shape(self) -> Shape:
        """The shape of one example."""
        return shape_of(self.value)[1:]

    @property
    def dtype(self) -> Dtype:
        """The dtype."""
        return dtype_of(self.value)


class BatchTrace(Trace):
    """Batching: boxes hold values with a leading axis of ``size`` examples.

    Args:
        counts: a truth value for each example: the operations of another one raise no error. None: all count.
    """

    name = "vmap"
    batches: ClassVar[bool] = True

    def __init__(self, size: int, counts: Any = None) -> None:
        super().__init__()
        self.size = size
        self.counts = None if counts is None else self.box(Batched(counts))

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """Compute all examples."""
        self.check_open(primitive.name)
        if self.counts is not None:
            operands, params = primitive.without_errors(self.counts, operands, params)
        values: list[Any] = []
        batched: list[bool] = []
        weak = params.get("weak") is True  # a conversion to a number of Python's
        for operand in operands:
            mine = isinstance(operand, Box) and operand.owner is self
            batched.append(mine)
            if mine:
                values.append(operand.state.value)
                weak = weak or operand.state.weak
            else:
                values.append(snapshot(operand) if isinstance(operand, Box) else operand)
        try:
            if weak and not isinstance(
                primitive.derivative, HigherOrder
            ):  # graphs know which operands are weak
                result = self._promoted(primitive, list(map(type_of, operands)), values, batched, params)
            else:
                result = primitive.batch(primitive, self.size, values, batched, params)
        except _OF_VALUES:
            MADE.of_batches += 1
            raise
        return tuple(map(self._boxed, result)) if isinstance(result, tuple) else self._boxed(result)  # pyright: ignore[reportUnknownArgumentType]

    def _boxed(self, result: Any) -> Any:
        return self.box(result if isinstance(result, Batched) else Batched(result))

    def _promoted(
        self,
        primitive: Primitive,
        types: list[TensorType],
        values: list[Any],
        batched: list[bool],
        params: dict[str, Any],
    ) -> Any:
        """Compute with a Python scalar for each example, in the dtypes of a computation on one example."""
        inferred = primitive.infer(*types, **params)
        if isinstance(primitive.lowering, Elementwise):
            rows = zip(values, batched, types, primitive.lowering.dtypes(types, inferred), strict=True)
            values = [
                _cast(primitive.name, x, to) if flag and type_.weak else x for x, flag, type_, to in rows
            ]
        result = primitive.batch(primitive, self.size, values, batched, params)
        if isinstance(result, tuple):
            return tuple(map(_of_type, result, inferred))  # pyright: ignore[reportUnknownArgumentType]
        return _of_type(result, inferred)

    def value(self, result: Any) -> Any:
        """Return a value with a leading axis of examples; repeat a value that all examples share."""
        if isinstance(result, Box):
            result.refresh()
            if result.owner is self:
                return result.state.value
        return broadcast_to(result, shape=(self.size, *shape_of(result)))

    def result(self, output: Any, axis: int | None) -> Any:
        """Return a result for the user: with the axis of examples at ``axis``, in its own memory."""
        if isinstance(output, Unsized):
            output.refuse_result("vmap")
        if not (isinstance(output, Box) and output.owner is self):
            output = release(self, output)
            check_known("vmap", dtype_of(output))
            if axis is None:
                return output
        elif axis is None:
            requirement = "a result with out_axes=None must be the same for all examples"
            raise ArgumentError(message("vmap", requirement, show(output)))
        value = _from_front(self.value(output), axis)
        return own(value) if getattr(value, "base", None) is not None else value


def is_batched(value: Any) -> bool:
    """Return whether a value differs among the examples of a `vmap` that runs."""
    return rests_on(value, BatchTrace)


def _cast(operation: str, numbers: Any, dtype: Dtype) -> Any:
    """Convert Python scalars, one for each example, to the dtype that an operation computes in."""
    if dtype_of(numbers).kind == "i" and dtype.kind in "iu":
        if dtype == INT64 or not is_limited(operation, dtype):
            return numbers
        numbers = _check_range(operation, numbers, dtype)
    return numbers if dtype_of(numbers) == dtype else cast(numbers, dtype=dtype)


def _check_range(operation: str, numbers: Any, dtype: Dtype) -> Any:
    """Return Python integers; raise, now or in a call of the graph, if one is outside the range of the dtype."""
    values = concrete(numbers)
    if values is not None:
        if np.size(values):
            check_integers(operation, [int(np.min(values)), int(np.max(values))], [dtype, dtype])
        return numbers
    limits = np.iinfo(dtype)
    low, high = int(limits.min), min(int(limits.max), 2**63 - 1)
    above = subtract(numbers, low)
    inside = check_bounds(above, count=high - low + 1, operation=operation, requirement=range_of(dtype))
    return add(inside, low)


def _of_type(value: Any, type_: TensorType) -> Batched:
    """Return the state of a value of all examples, given the type of one example."""
    return Batched(value if dtype_of(value) == type_.dtype else cast(value, dtype=type_.dtype), type_.weak)


def _check_axes(**named: Any) -> None:
    for argument, axes in named.items():
        for axis in tree.leaves(axes):
            if axis is not None and (isinstance(axis, bool) or not isinstance(axis, (int, np.integer))):
                requirement = f"{argument} must hold integers and None alone"
                hint = "write wg.vmap(f)(x), not wg.vmap(f, x)"
                raise ArgumentError(message("vmap", requirement, show(axis), hint))


def _axes_for(argument: str, axes: Any, value: Any) -> list[Any]:
    """Return one axis for each leaf: ``axes`` is an integer, None, or a prefix of the value's containers."""
    if axes is None or isinstance(axes, (int, np.integer)):
        return [axes] * len(tree.leaves(value))
    axis_parts, parts = tree.children(axes), tree.children(value)
    if axis_parts is None or parts is None or axis_parts.keys() != parts.keys():
        raise ArgumentError(
            message("vmap", f"{argument} must match the containers of the values", repr(axes))
        )
    return [axis for key, part in parts.items() for axis in _axes_for(argument, axis_parts[key], part)]


@advising("wg.vmap(f, in_axes=0)(xs)")
def vmap(
    fun: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None
) -> Callable[P, R]:
    """Return a function that maps ``fun`` over an axis of its arguments.

    ``vmap(f)(xs)[i] = f(xs[i])`` for every i, computed at once.

    Args:
        fun: a function of one example.
        in_axes: the axis of each argument that runs over the examples; None for an argument that all examples share. An
            integer for all arguments, or a tuple with an entry for each positional argument: an integer, None or a
            container of these.
        out_axes: the position of the axis of examples in the results, in the same form.
        axis_size: the number of examples; needed if no argument has an axis of examples.

    Returns:
        A function of the arguments of ``fun`` with an axis of examples, whose results have one, too.

    Raises:
        ArgumentError: the arguments disagree on the number of examples, or none has an axis of examples; an axis is no
            integer.

    Example:
        >>> import numpy as np
        >>> vmap(lambda x, w: np.dot(x, w), in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
        array([3., 4.])
    """
    _check_axes(in_axes=in_axes, out_axes=out_axes)

    def batched(*arguments: Any, **options: Any) -> Any:
        axes: Any = in_axes if not isinstance(in_axes, list) else tuple(in_axes)  # pyright: ignore[reportUnknownVariableType]
        leaves, structure = tree.flatten((arguments, options))
        for leaf in leaves:
            check_plain("vmap", leaf)
        positional = _axes_for("in_axes", axes, arguments)
        leaf_axes = positional + [0] * (len(leaves) - len(positional))
        size = _size(leaves, leaf_axes, axis_size)

        def run() -> tuple[BatchTrace, list[Any], tree.Structure]:
            nonlocal failed
            failed = MADE.of_batches
            with running(BatchTrace(size)) as trace:
                boxes = [
                    leaf if axis is None else _example(trace, leaf, axis)
                    for leaf, axis in zip(leaves, leaf_axes, strict=True)
                ]
                inside, options_inside = tree.unflatten(structure, boxes)
                result = current(fun, inside, options_inside)(*inside, **options_inside)
                outputs, out_structure = tree.flatten(_returned(result))
                refresh(outputs)
            return trace, outputs, out_structure

        raised, failed = MADE.count, MADE.of_batches
        found: tuple[BatchTrace, list[Any], tree.Structure] | None = None
        try:
            found = attempt(fun, run)
        except Exception:
            if MADE.count == raised:
                raise
        # The function may have caught an exception of one example.
        if found is None or MADE.count != raised or MADE.of_batches != failed:
            run_again = MADE.count, MADE.of_batches
            result = _one_by_one(fun, structure, leaves, leaf_axes, size, out_axes)
            MADE.count += raised - run_again[0]  # what is left concerns the examples of a vmap around
            MADE.of_batches += failed - run_again[1]
            return result
        trace, outputs, out_structure = found
        destinations = _axes_for("out_axes", out_axes, tree.unflatten(out_structure, outputs))
        results = [trace.result(output, axis) for output, axis in zip(outputs, destinations, strict=True)]
        results = [own(value) if any(value is leaf for leaf in leaves) else value for value in results]
        return tree.unflatten(out_structure, results)

    return named(batched, "vmap", fun)


def _returned(result: Any) -> Any:
    if result is None:
        raise ArgumentError(message("vmap", "the function must return its result", "None", RETURNED))
    return result


def _one_by_one(
    fun: Callable[..., Any],
    structure: tree.Structure,
    leaves: Sequence[Any],
    axes: Sequence[int | None],
    size: int,
    out_axes: Any,
) -> Any:
    """Call a function with one example after another: Python's exceptions, and its handlers, are of one example."""
    rows: list[list[Any]] = []
    made: Any = None
    found: tree.Structure | None = None
    for n in range(size):
        values = [x if axis is None else _to_front(x, axis)[n] for x, axis in zip(leaves, axes, strict=True)]
        inside, options = tree.unflatten(structure, values)
        made = attempt(fun, functools.partial(_call, fun, inside, options))
        before = found
        row, found = tree.flatten(made)
        if before not in (None, found):
            got = "None and others" if made is None or not rows[-1] else "others"
            raise ArgumentError(message("vmap", "all examples must return the same containers", got))
        rows.append(row)
    destinations = _axes_for("out_axes", out_axes, made)
    columns = [list(column) for column in zip(*rows, strict=True)]
    results = [
        column[0] if axis is None else _from_front(_stacked(column), axis)
        for column, axis in zip(columns, destinations, strict=True)
    ]
    return tree.unflatten(tree.flatten(made)[1], results)


def _call(fun: Callable[..., Any], inside: Any, options: Any) -> Any:
    return current(fun, inside, options)(*inside, **options)


def _stacked(values: Sequence[Any]) -> Any:
    return concatenate(*(reshape(x, shape=(1, *shape_of(x))) for x in values), axis=0)


def _size(leaves: list[Any], axes: list[Any], stated: int | None) -> int:
    mapped = [(leaf, axis) for leaf, axis in zip(leaves, axes, strict=True) if axis is not None]
    for leaf, _ in mapped:
        if shape_of(leaf) == ():
            hint = "give in_axes=None for an argument that all examples share"
            hint = hint if dtype_of(leaf).kind in "biufc" else SETTING
            raise ArgumentError(message("vmap", "a scalar has no axis of examples", show(leaf), hint))
    sizes = {shape_of(leaf)[axis_index("vmap", axis, len(shape_of(leaf)))] for leaf, axis in mapped}
    if stated is not None:
        sizes.add(stated)
    if not sizes:
        hint = "give in_axes, or axis_size"
        raise ArgumentError(message("vmap", "an argument must have an axis of examples", hint=hint))
    if len(sizes) > 1:
        got = f"{sorted(sizes)} in {show(*(leaf for leaf, _ in mapped))}"
        raise ArgumentError(message("vmap", "all arguments must have the same number of examples", got))
    return sizes.pop()


def _example(trace: BatchTrace, leaf: Any, axis: int) -> Any:
    """Return a box of all examples, which lies in memory as one example does."""
    box = trace.box(Batched(_to_front(leaf, axis)))
    if axis == 0 and is_in_rows(leaf):
        return box
    memory = memory_of(leaf)
    return lay_as(box, memory[(slice(None),) * (axis % memory.ndim) + (0,)]) if memory.size else box


def _to_front(value: Any, axis: int) -> Any:
    order = [*range(len(shape_of(value)))]
    order.insert(0, order.pop(axis_index("vmap", axis, len(order))))
    return _permuted(value, order)


def _from_front(value: Any, axis: int) -> Any:
    order = [*range(len(shape_of(value)))]
    order.insert(axis_index("vmap", axis, len(order)), order.pop(0))
    return _permuted(value, order)


def _permuted(value: Any, order: list[int]) -> Any:
    return value if order == sorted(order) else transpose(value, permutation=tuple(order))
