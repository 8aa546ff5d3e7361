"""The values that enter and leave the graphs of control flow: their leaves, predicates and types."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import Box, below, concrete, own
from wengert.engine.core import tree
from wengert.engine.core.dtypes import PYTHON_TYPE, check_plain, dtype_of, is_inexact
from wengert.engine.core.errors import ArgumentError, DtypeError, GraphError, ShapeError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.graph import Graph
from wengert.engine.ir.types import TensorType, promote, show, type_of
from wengert.engine.ops.arithmetic import multiply
from wengert.engine.ops.comparison import not_equal
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.shape import concatenate, reshape
from wengert.engine.transforms.arguments import is_number


def program_types(operation: str, program: Graph, types: Sequence[TensorType]) -> tuple[TensorType, ...]:
    """Return the types of the results of a program, or raise `GraphError` if it takes other types than these."""
    check_same_types(operation, "the operands of its program", program.input_types, types)
    return program.output_types


def check_same_types(
    operation: str, what: str, actual: Sequence[TensorType], expected: Sequence[TensorType]
) -> None:
    """Raise `GraphError` where types differ in more than whether they are weak."""
    if [type_[:2] for type_ in actual] != [type_[:2] for type_ in expected]:
        raise GraphError(message(operation, f"{what} must be {show(*expected)}", show(*actual)))


def is_followable(leaf: Any) -> bool:
    """Return whether a leaf can carry a derivative, or is a box of a transform."""
    return isinstance(leaf, Box) or (is_number(leaf) and is_inexact(dtype_of(leaf)))


class Packed(NamedTuple):
    """A tree without its chosen leaves, which other values can replace."""

    structure: tree.Structure
    others: list[Any]
    """All leaves of the tree, None for the chosen ones."""
    positions: list[int]
    """The positions of the chosen leaves."""

    def rebuild(self, values: Sequence[Any], others: Sequence[Any] | None = None) -> Any:
        """Return the tree with ``values`` for the chosen leaves, and ``others`` for the others."""
        leaves = list(self.others if others is None else others)
        for position, value in zip(self.positions, values, strict=True):
            leaves[position] = value
        return tree.unflatten(self.structure, leaves)


def pack(arguments: Any, chosen: Callable[[Any], bool]) -> tuple[list[Any], Packed]:
    """Return the chosen leaves of a tree, and the tree without them."""
    leaves, structure = tree.flatten(arguments)
    positions = [position for position, leaf in enumerate(leaves) if chosen(leaf)]
    values = [leaves[position] for position in positions]
    for position in positions:
        leaves[position] = None
    return values, Packed(structure, leaves, positions)


def flatten_numbers(operation: str, name: str, value: Any) -> tuple[list[Any], tree.Structure]:
    """Flatten a tree, or raise `DtypeError` if a leaf is neither an array nor a number."""
    leaves, structure = tree.flatten(value)
    for leaf in leaves:
        if not is_number(leaf):
            requirement = f"{name} must be an array, a number or a container of them"
            raise DtypeError(message(operation, requirement, type(leaf).__name__))
        check_plain(operation, leaf)
    return leaves, structure


def separate(values: Sequence[Any]) -> list[Any]:
    """Copy views and repeated values, so that a write into one value reaches no other."""
    separated: list[Any] = []
    for value in values:
        is_view = value.lens if isinstance(value, Box) else getattr(value, "base", None) is not None
        separated.append(own(value) if is_view or any(value is earlier for earlier in separated) else value)
    return separated


def largest(value: Any) -> int | None:
    """Return the largest of an integer for all examples of all transforms; None if it is not known."""
    while isinstance(value, Box):
        value = below(value)
    return None if value is None else int(np.max(value, initial=0))


def predicate(operation: str, value: Any) -> Any:
    """Return a condition as one truth value, a bool if it is known, or raise `ShapeError`."""
    if not is_number(value) or shape_of(value) != ():
        got = show(value) if is_number(value) else type(value).__name__
        requirement = "the predicate must be one truth value"
        raise ShapeError(message(operation, requirement, got, "reduce it: np.all, np.any"))
    if isinstance(value, Box):
        truth = concrete(value)
        if truth is None:
            return value if value.dtype == np.bool_ else not_equal(value, 0)
        value = truth
    return bool(value)


def zeros(type_: TensorType) -> Any:
    """Return zeros of a type."""
    made = np.zeros(type_.shape, type_.dtype)[()]
    return made.item() if type_.weak and not type_.shape else made


def padded(value: Any, shape: tuple[int, ...]) -> Any:
    """Return an array with zeros behind its elements, so that it has a shape."""
    own = shape_of(value)
    return (
        value
        if own == shape
        else np.pad(value, [(0, more - size) for size, more in zip(own, shape, strict=True)])
    )


def bytes_of(types: Iterable[TensorType]) -> int:
    """Return the bytes of values of some types."""
    return sum(size(type_.shape) * type_.dtype.itemsize for type_ in types)


def strong(type_: TensorType) -> TensorType:
    """Return the type of a tangent or cotangent, which is never weak."""
    return TensorType(type_.dtype, type_.shape)


def fit(value: Any, type_: TensorType) -> Any:
    """Convert a value to a type of the same shape."""
    own_type = type_of(value)
    if own_type.dtype == type_.dtype and own_type.weak == type_.weak:
        return value
    if type_.weak and own_type.weak:
        return multiply(value, PYTHON_TYPE[type_.dtype.kind](1))
    return cast(value, dtype=type_.dtype, **({"weak": True} if type_.weak else {}))


def unify(operation: str, requirement: str, where: str, *types: TensorType) -> TensorType:
    """Return the common type of values that must agree; only Python scalars are converted.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ, even without Python scalars.
    """
    got = f"{where}: {' and '.join(map(show, types))}"
    if len({type_.shape for type_ in types}) > 1:
        raise ShapeError(message(operation, requirement, got))
    dtype, weak = promote(*types)
    if any(type_.dtype != dtype for type_ in types if not type_.weak):
        raise DtypeError(message(operation, requirement, got, "convert it with astype"))
    return TensorType(dtype, types[0].shape, weak)


def checked_limit(operation: str, name: str, limit: int | None) -> int | None:
    """Return a limit of a loop as an integer, None for none, or raise `ArgumentError`."""
    return None if limit is None else checked_count(operation, name, limit)


def checked_count(operation: str, name: str, count: int, least: int = 0) -> int:
    """Return a number that counts something as an integer, or raise `ArgumentError`."""
    try:
        number = operator.index(count)
    except TypeError:
        raise ArgumentError(message(operation, f"{name} must be an integer", repr(count))) from None
    if number < least:
        requirement = f"{name} must be at least {least}" if least else f"{name} must not be negative"
        raise ArgumentError(message(operation, requirement, str(number)))
    return number


def settle(operation: str, before: TensorType, after: TensorType, where: str) -> TensorType:
    """Return the type of a carry, given its type before and after a step.

    A Python scalar takes the type of the next value; every other type must stay.
    """
    if before == after:
        return before
    if before.weak and before.shape == after.shape:
        dtype, weak = promote(before, after)
        return TensorType(dtype, before.shape, weak)
    return unify(operation, "the carry must keep its type", where, before, after)


def stack(values: Sequence[Any]) -> Any:
    """Stack values of one shape along a new leading axis."""
    values = [
        value.state.value if isinstance(value, Box) and value.owner.plain else value for value in values
    ]
    if not any(isinstance(value, Box) for value in values):
        return np.stack([np.asarray(value) for value in values])
    return concatenate(*(reshape(value, shape=(1, *shape_of(value))) for value in values), axis=0)
