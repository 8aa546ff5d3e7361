"""What the transforms share: which arguments are followed, and values on their way in and out."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.boxes import CONSTANT, Box, Trace, inside_transform, snapshot
from wengert.core import tree
from wengert.core.dtypes import (
    NDARRAY,
    SEQUENCE,
    as_float,
    check_known,
    check_plain,
    dtype_of,
    is_float,
)
from wengert.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.core.shapes import shape_of, size
from wengert.ir.types import show

_NUMBERS: Any = (Box, np.ndarray, np.generic, bool, int, float)


class Followed(NamedTuple):
    """The leaves that a transform follows, and the function of these alone."""

    leaves: list[Any]
    structure: tree.Structure
    """Of the followed arguments: a tree for one argnum, a tuple of trees for several."""
    call: Callable[[Sequence[Any]], Any]
    """Calls the function with other values for the leaves."""


def check_function(transform: str, fun: Any) -> None:
    """Raise `DtypeError`, a `TypeError`, where something else than a function is to be transformed."""
    if not callable(fun):
        hint = f"write wg.{transform}(f)(x), not wg.{transform}(f(x))"
        raise DtypeError(message(transform, "a function is needed", type(fun).__name__, hint))


def follow(
    operation: str, fun: Callable[..., Any], argnums: Any, arguments: tuple[Any, ...], options: Any
) -> Followed:
    """Select the arguments named by ``argnums`` and check that derivatives exist for them."""
    check_function(operation, fun)
    positions = _positions(operation, argnums, len(arguments))
    chosen = tuple(arguments[position] for position in positions)
    several = isinstance(argnums, SEQUENCE)
    leaves, structure = tree.flatten(chosen if several else chosen[0])
    try:
        leaves = [differentiable(operation, leaf) for leaf in leaves]
    except DtypeError:
        for position, argument in zip(positions, chosen, strict=True):
            inside, form = tree.flatten(argument)
            for leaf, path in zip(inside, tree.paths(form), strict=True):
                differentiable(operation, leaf, f"argument {position}", path)
        raise

    def call(values: Sequence[Any]) -> Any:
        replaced = tree.unflatten(structure, values)
        parts = replaced if several else (replaced,)
        inside = list(arguments)
        for position, part in zip(positions, parts, strict=True):
            inside[position] = part
        return fun(*inside, **options)

    return Followed(leaves, structure, call)


def _positions(operation: str, argnums: Any, count: int) -> list[int]:
    """Return which arguments ``argnums`` names, counted from the front, or raise `ArgumentError`."""
    try:
        numbers = [
            operator.index(number) for number in (argnums if isinstance(argnums, SEQUENCE) else [argnums])
        ]
    except TypeError:
        requirement = "argnums must be an integer or a tuple of integers"
        raise ArgumentError(message(operation, requirement, repr(argnums))) from None
    if not all(-count <= number < count for number in numbers):
        requirement = f"argnums must name one of the {count} positional arguments"
        hint = "" if count else "give by position what is to be differentiated"
        raise ArgumentError(message(operation, requirement, str(argnums), hint))
    positions = [number % count for number in numbers]
    if len(set(positions)) != len(positions):
        raise ArgumentError(message(operation, "argnums must name each argument once", str(argnums)))
    return positions


def differentiable(operation: str, leaf: Any, argument: str = "", path: str = "") -> Any:
    """Return a leaf that may carry a derivative, or raise `DtypeError`, which names its argument and its path there."""
    if type(leaf) is float:
        return leaf
    where = f" in {argument}{path}" if argument else ""
    if not isinstance(leaf, _NUMBERS):
        requirement = "arguments must be arrays, numbers or containers of them"
        raise DtypeError(message(operation, requirement, type(leaf).__name__ + where))
    dtype = check_known(operation, dtype_of(leaf))
    if not is_float(dtype):
        hint = "write 2.0 for 2, x.astype(float) for an array, or choose other argnums"
        if path:
            hint = f"{hint}; keep what has no derivative in another argument, or in a wengert.core.tree.static() field"
        requirement = "derivatives need floating-point arguments"
        raise DtypeError(message(operation, requirement, show(leaf) + where, hint))
    if isinstance(leaf, Box):
        return snapshot(leaf)
    if isinstance(leaf, float) and not isinstance(leaf, np.generic):  # of a class of the user's own
        return float(leaf)
    check_plain(operation, leaf)
    return leaf if leaf.dtype == dtype else leaf.astype(dtype)


def release(trace: Trace, value: Any) -> Any:
    """Return what a box of a transform that ends holds; other values stay as they are."""
    if isinstance(value, Box):
        value.refresh()
        if value.owner is trace:
            state = value.state
            return state.value if hasattr(state, "value") else state.primal
        if value.owner is CONSTANT and not inside_transform():
            return np.array(value.state.value)
        value.owner.check_open("return")
    return value


def own(values: Sequence[Any], leaves: Sequence[Any], directions: Sequence[Any] = ()) -> list[Any]:
    """Return derivatives as the user gets them: of the kind of their leaf, sharing no memory with one another.

    Nor with the user's ``directions``, which linear operations may hand on as they are.
    """
    given: list[Any] = []
    taken = set(map(id, directions))
    for value, leaf in zip(values, leaves, strict=True):
        if value is None:
            value = np.zeros(shape_of(leaf), dtype_of(leaf))[()]
        if isinstance(value, Box):
            value.refresh()
            given.append(value.owner.box(value.state))
            continue
        if type(leaf) is float:
            given.append(float(value))
            continue
        if isinstance(leaf, np.generic):
            value = value[()]
        elif isinstance(value, NDARRAY) and (
            value.base is not None or not value.flags.writeable or id(value) in taken
        ):
            value = value.copy()
        taken.add(id(value))
        given.append(np.asarray(value) if isinstance(leaf, NDARRAY) else value)
    return given


def matching(operation: str, requirement: str, direction: Any, like: Any) -> Any:
    """Return a tangent or cotangent with the dtype of the value it belongs to; shapes must agree."""
    check_plain(operation, direction)
    if not hasattr(direction, "dtype"):
        direction = np.asarray(as_float(operation, direction) if type(direction) is int else direction)[()]
    if shape_of(direction) != shape_of(like):
        raise ShapeError(message(operation, requirement, show(direction, like)))
    dtype = dtype_of(like)
    if dtype_of(direction) == dtype or not is_float(dtype):
        return direction
    check_known(operation, dtype_of(direction))
    return direction.astype(dtype)


def single_output(operation: str, output: Any) -> Any:
    """Return the output of a function whose gradient is wanted, one number, or raise what is wrong with it.

    An array of one element is such a number, too, as for SciPy's optimisers.
    """
    single = size(shape_of(output)) == 1
    if not single or not is_float(dtype_of(output)):
        hint = "reduce it (np.sum, np.mean), or use wg.jacobian for the derivative of an array"
        if single:
            hint = "what is no float has no derivative"
        raise ArgumentError(
            message(operation, "the function must return a floating-point scalar", show(output), hint)
        )
    return output


def take_apart(operation: str, result: Any, has_aux: bool) -> tuple[list[Any], tree.Structure, Any]:
    """Return the outputs of a function, their containers, and what comes along; while its transform still runs."""
    aux: Any = None
    if has_aux:
        if not (isinstance(result, tuple) and len(result) == 2):  # pyright: ignore[reportUnknownArgumentType]
            requirement = "with has_aux=True the function must return (output, aux)"
            raise ArgumentError(message(operation, requirement, type(result).__name__))  # pyright: ignore[reportUnknownArgumentType]
        pair: Any = result  # pyright: ignore[reportUnknownVariableType]
        result, aux = pair
        for value in tree.leaves(aux):
            if isinstance(value, Box):
                value.refresh()
    outputs, structure = tree.flatten(result)
    for value in outputs:
        if isinstance(value, Box):
            value.refresh()
        elif not isinstance(value, _NUMBERS):
            requirement = "the function must return arrays, numbers or containers of them"
            hint = "return what else there is along with them: (output, aux), has_aux=True"
            raise DtypeError(message(operation, requirement, type(value).__name__, hint))
    return outputs, structure, aux
