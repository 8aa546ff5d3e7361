"""Bounds of variables and limits of constraints, as vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from wengert.engine.boxes import Box, concrete
from wengert.engine.core import tree
from wengert.engine.core.dtypes import SEQUENCE
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.transforms.vectors import joined
from wengert.optimize.flat import Flat

LOWER, UPPER = -np.inf, np.inf
"""The values of None among lower and among upper limits."""


def checked_number(
    operation: str,
    name: str,
    value: Any,
    hint: str = "",
    *,
    is_positive: bool = False,
    may_be_none: bool = False,
) -> None:
    """Raise `ArgumentError` unless a setting is a number that is not negative, or one that is positive and finite.

    A number that only a running program knows passes.
    """
    plain = concrete(value)
    if plain is None and (may_be_none or isinstance(value, Box)):
        return
    value = plain
    is_number = isinstance(value, (int, float, np.integer, np.floating)) or shape_of_array(value) == ()
    if is_number and (0 < value < np.inf if is_positive else value >= 0):
        return
    requirement = f"{name} must be a {'positive' if is_positive else 'nonnegative'} number"
    raise ArgumentError(message(operation, requirement, repr(value), hint))


def checked_options(operation: str, tol: Any, options: Any) -> Any:
    """Return the options of a solver of SciPy's, or raise `ArgumentError` if a tolerance is NaN: it ends any search."""
    if options is not None and not isinstance(options, Mapping):
        requirement = "options must be a dict of SciPy's options, or None"
        raise ArgumentError(message(operation, requirement, type(options).__name__))
    named: dict[str, Any] = {"tol": tol} | dict(cast("Mapping[str, Any]", options or {}))
    for name, value in named.items():
        if isinstance(value, (float, np.floating)) and np.isnan(value):
            raise ArgumentError(message(operation, f"{name} must be a number", "nan"))
    return cast("Any", options)


def flat_bounds(optimize: Any, flat: Flat, bounds: Any) -> Any:
    """Return SciPy's `Bounds` on the vector for bounds in any of the forms that `problem` takes; None for none.

    Raises:
        ArgumentError: the bounds do not fit the variables, or exclude each other.
    """
    if bounds is None:
        return None
    is_scipys = isinstance(bounds, optimize.Bounds)
    if is_scipys or _is_lower_and_upper(flat, bounds):
        lower, upper = lower_and_upper(optimize, flat, bounds)
    else:
        lower, upper = ordered(flat, *_columns(flat, bounds), "bound")
    return optimize.Bounds(lower, upper, bounds.keep_feasible if is_scipys else False)


def lower_and_upper(optimize: Any, flat: Flat, bounds: Any) -> tuple[Any, Any]:
    """Return a pair of lower and upper bounds, or SciPy's `Bounds`, as vectors; None has no bounds.

    Raises:
        ArgumentError: the bounds do not fit the variables, or exclude each other.
    """
    if isinstance(bounds, optimize.Bounds):
        bounds = bounds.lb, bounds.ub
    pair: Any = (None, None) if bounds is None else bounds
    if not isinstance(pair, (*SEQUENCE, np.ndarray)) or len(pair) != 2:
        requirement = "bounds must be a pair (lower, upper), scipy.optimize.Bounds, or None"
        raise ArgumentError(message(flat.operation, requirement, type(bounds).__name__))
    lower, upper = pair
    return ordered(flat, lower, upper, "bound")


def ordered(flat: Flat, lower: Any, upper: Any, name: str) -> tuple[Any, Any]:
    """Return lower and upper limits as vectors, or raise `ArgumentError` if a lower one exceeds the upper one."""
    low, high = limits(flat, lower, LOWER, f"lower {name}s"), limits(flat, upper, UPPER, f"upper {name}s")
    for position in np.flatnonzero(~(low <= high))[:1]:
        requirement = f"a lower {name} must not exceed the upper {name}"
        got = f"{low[position]:g} and {high[position]:g} for {flat.path_of(int(position))}"
        raise ArgumentError(message(flat.operation, requirement, got))
    return low, high


def limits(flat: Flat, limit: Any, absent: float, name: str) -> Any:
    """Return limits of the leaves of a container as one vector.

    Args:
        flat: the container.
        limit: a number for all leaves, a vector of all elements, or a container like that of the leaves, with numbers
            or arrays that broadcast; None for none, in the place of any part.
        absent: what stands for None.
        name: for messages.
    """
    if shape_of_array(limit) == (flat.size,):
        return _numbers(flat, limit, name, name)
    collected: list[Any] = []
    _collect(flat, flat.container(np.zeros(flat.size)), limit, absent, name, name, collected)
    return joined(collected)


def shape_of_array(value: Any) -> Any:
    """Return the shape of an array; None for other values."""
    return shape_of(value) if isinstance(value, np.ndarray) else None


def _collect(
    flat: Flat, variables: Any, limit: Any, absent: float, name: str, path: str, collected: list[Any]
) -> None:
    """Append the limits of each leaf of a part of the variables."""
    parts = tree.children(variables)
    if parts is None:
        values = _numbers(flat, absent if limit is None else limit, name, path)
        try:
            collected.append(np.broadcast_to(values, shape_of(variables)))
        except ValueError:
            requirement = f"{path} must broadcast with {flat.name} to the shape {shape_of(variables)}"
            raise ArgumentError(message(flat.operation, requirement, show(values))) from None
        return
    children = tree.children(limit)
    if children is None:
        children = dict.fromkeys(parts, limit)
    if children.keys() != parts.keys():
        requirement = f"{name} must have the containers of {flat.name}, {tree.show(flat.structure)}"
        raise ArgumentError(message(flat.operation, requirement, tree.show(tree.flatten(limit)[1])))
    for key, part in parts.items():
        _collect(flat, part, children[key], absent, name, f"{path}[{key!r}]", collected)


def _numbers(flat: Flat, limit: Any, name: str, path: str) -> Any:
    if isinstance(limit, SEQUENCE) and any(part is None for part in cast("Sequence[Any]", limit)):
        requirement, hint = f"{path} must be numbers", "write -np.inf or np.inf for no bound"
        raise ArgumentError(message(flat.operation, requirement, f"None in {limit!r}", hint))
    try:
        return np.asarray(limit, np.float64)
    except (TypeError, ValueError):
        requirement = f"{name} must be numbers, arrays of them, None, or containers like {flat.name}"
        raise ArgumentError(
            message(flat.operation, requirement, f"{type(limit).__name__} in {path}")
        ) from None


def _is_lower_and_upper(flat: Flat, bounds: Any) -> bool:
    """Return whether bounds are a pair of lower and upper ones; SciPy takes a sequence for a vector as pairs.

    A tuple of two pairs of Python's for two variables is SciPy's; one of two arrays is a pair.
    """
    if type(bounds) is not tuple:
        return False
    pair = cast("tuple[Any, ...]", bounds)
    if len(pair) != 2:
        return False
    return not flat.is_vector or flat.size != 2 or not any(isinstance(x, SEQUENCE) for x in pair)


def _columns(flat: Flat, bounds: Any) -> tuple[Any, Any]:
    """Return the lower and the upper bounds of a sequence of pairs, as SciPy takes it."""
    pairs = list(bounds) if isinstance(bounds, (*SEQUENCE, np.ndarray, zip)) else None
    others = [(n, pair) for n, pair in enumerate(pairs or ()) if _length(pair) != 2]
    if pairs is None or len(pairs) != flat.size or others:
        requirement = (
            f"bounds must be {flat.size} pairs (lower, upper), scipy.optimize.Bounds, or a tuple of lower and upper "
            f"bounds: numbers, None or containers like {flat.name}"
        )
        got = f"{type(bounds).__name__}" if pairs is None else f"{len(pairs)} entries"
        if pairs is not None and len(pairs) == flat.size:
            got = f"{others[0][1]!r} at place {others[0][0]}"
        hint = "write (None, None) for no bounds" if others and others[0][1] is None else ""
        raise ArgumentError(message(flat.operation, requirement, got, hint))
    columns = zip(*pairs, strict=True)
    return tuple(
        _numbers(flat, [absent if limit is None else limit for limit in column], "bounds", "bounds")
        for column, absent in zip(columns, (LOWER, UPPER), strict=True)
    )  # pyright: ignore[reportReturnType]


def _length(pair: Any) -> int:
    return len(pair) if isinstance(pair, SEQUENCE) or shape_of_array(pair) else 0
