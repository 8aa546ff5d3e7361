"""What an optimiser is: transforms of gradients, one after the other, and the step that they end in.

A transform changes the gradients, or what earlier transforms made of them, into a direction; an optimiser subtracts
the last direction from the parameters. Only floating-point parameters are trained; all others are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wengert.core.dtypes import check_known, dtype_of, is_float
from wengert.core.errors import ArgumentError, ShapeError, message
from wengert.core.shapes import shape_of
from wengert.core.tree import flatten, leaves, map_tree, paths, unflatten
from wengert.core.tree import show as show_tree
from wengert.ir.types import show
from wengert.ops.conversion import cast
from wengert.optim.schedules import Schedule

#: A number, or a function of the number of steps that have been taken.
Rate: TypeAlias = float | np.number[Any] | np.ndarray[Any, Any] | Schedule
#: A tree of truth values, or a function of one parameter: a tree is any container, so that this cannot be narrower.
Mask: TypeAlias = Any


class Transform(NamedTuple):
    """A part of an optimiser: how its state starts, and how it changes a direction."""

    init: Callable[[Any], Any]
    """``parameters -> state``."""
    update: Callable[[Any, Any, Any], tuple[Any, Any]]
    """``(direction, state, parameters) -> (direction, state)``."""


class Optimiser(NamedTuple):
    """An optimiser: how its state starts, and one step."""

    init: Callable[[Any], Any]
    """``parameters -> state``."""
    update: Callable[[Any, Any, Any], tuple[Any, Any]]
    """``(gradients, state, parameters) -> (parameters, state)``."""
    transform: Transform | None = None
    """What makes the direction, where the step is nothing but to subtract it."""


# -- leaves ----------------------------------------------------------------------------------------------


def each(rule: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a rule to each leaf and what belongs to it, which must have the leaf's shape."""

    def checked(*values: Any) -> Any:
        if any(shape_of(value) != shape_of(values[0]) for value in values):
            requirement = "gradients and state must have the shapes of the parameters"
            raise ShapeError(message("update", requirement, show(*values)))
        return rule(*values)

    return map_tree(checked, tree, *others)


def zeros_like(parameters: Any) -> Any:
    """Return zeros of the shapes and dtypes of parameters."""
    return map_tree(lambda p: np.zeros(shape_of(p), dtype_of(p)), parameters)


def in_dtype_of(value: Any, number: Any) -> Any:
    """Return a number, or a gradient, in the dtype of a value: a rate in float64 leaves float32 as it is."""
    dtype = dtype_of(value)
    same = type(number) in (int, float) or dtype_of(number) == dtype
    return number if same else cast(number, dtype=dtype)


def at_step(rate: Rate, step: Any) -> Any:
    """Return a rate after a number of steps."""
    return rate(step) if callable(rate) else rate


def chosen_of(tree: Any, chosen: Sequence[bool]) -> Any:
    """Return a tree with the chosen leaves only."""
    values, structure = flatten(tree)
    if all(chosen):
        return tree
    return unflatten(structure, [v if keep else None for v, keep in zip(values, chosen, strict=True)])


def merged(tree: Any, chosen: Sequence[bool], part: Any) -> Any:
    """Return a tree with its chosen leaves replaced."""
    if all(chosen):
        return part
    values, structure = flatten(tree)
    new = iter(leaves(part))
    return unflatten(structure, [next(new) if k else v for v, k in zip(values, chosen, strict=True)])


def trained_in(parameters: Any) -> list[bool]:
    """Tell of each leaf whether it is trained."""
    return [is_float(check_known("update", dtype_of(leaf))) for leaf in leaves(parameters)]


def belonging(gradients: Any, parameters: Any, trained: Sequence[bool]) -> Any:
    """Return the gradients of the parameters that are trained; the others may have any, or None."""
    structure = flatten(gradients)[1]
    if structure == flatten(chosen_of(parameters, trained))[1]:
        return gradients
    if flatten(parameters)[1] != structure:
        requirement = (
            f"gradients must have the structure of the parameters, {show_tree(flatten(parameters)[1])}"
        )
        hint = "the order is update(gradients, state, parameters)"
        raise ArgumentError(message("update", requirement, show_tree(structure), hint))
    return chosen_of(gradients, trained)


# -- optimisers ------------------------------------------------------------------------------------------


def optimiser(transform: Transform) -> Optimiser:
    """Return the optimiser that subtracts what a transform makes of the gradients.

    Example:
        >>> from wengert.optim.transforms import scale
        >>> optimiser(scale(0.1)).update(2.0, (), 1.0)
        (0.8, ())
    """

    def init(parameters: Any) -> Any:
        return transform.init(chosen_of(parameters, trained_in(parameters)))

    def update(gradients: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        trained = trained_in(parameters)
        gradients = belonging(gradients, parameters, trained)
        before = chosen_of(parameters, trained)
        if state is None and transform.init(before) is not None:
            requirement = "the state must be that of this optimiser"
            hint = "begin with optimiser.init(parameters): update(gradients, state, parameters)"
            raise ArgumentError(message("update", requirement, "None", hint))
        direction, state = transform.update(each(in_dtype_of, before, gradients), state, before)
        return merged(parameters, trained, each(lambda p, d: p - d, before, direction)), state

    return Optimiser(init, update, transform)


def chain(*parts: Transform | Optimiser) -> Optimiser:
    """Return the optimiser whose direction goes through several transforms, in this order.

    Args:
        parts: transforms, and optimisers made of transforms.

    Returns:
        An optimiser, which may be a part of another chain. Its state is the tuple of the states of its parts.

    Raises:
        ArgumentError: a part is neither, or does more than to subtract a direction (`accumulate`, `averaged`).

    Example:
        >>> from wengert import optim
        >>> careful = chain(optim.clip_by_norm(1.0), optim.adam(1e-3))
    """
    transforms = [_transform(part) for part in parts]

    def init(parameters: Any) -> tuple[Any, ...]:
        return tuple(part.init(parameters) for part in transforms)

    def update(direction: Any, state: Any, parameters: Any) -> tuple[Any, tuple[Any, ...]]:
        if not isinstance(state, tuple) or len(state) != len(transforms):
            requirement = f"the state must be that of this optimiser's {len(transforms)} parts"
            raise ArgumentError(message("update", requirement, hint="begin with optimiser.init(parameters)"))
        states: list[Any] = []
        for part, before in zip(transforms, state, strict=True):  # pyright: ignore[reportUnknownVariableType]
            direction, after = part.update(direction, before, parameters)
            states.append(after)
        return direction, tuple(states)

    return optimiser(Transform(init, update))


def _transform(part: Any) -> Transform:
    found = part.transform if isinstance(part, Optimiser) else part
    if not isinstance(found, Transform):
        hint = "put accumulate and averaged around the chain"
        got = "an optimiser that is no chain" if isinstance(part, Optimiser) else type(part).__name__
        raise ArgumentError(message("chain", "the parts must be transforms", got, hint))
    return found


def masked(part: Transform | Optimiser, mask: Mask) -> Transform:
    """Return a transform for some of the parameters, which leaves the directions of the others as they are.

    Args:
        part: the transform, or an optimiser made of transforms.
        mask: ``parameter -> bool``, or a tree of truth values that has the structure of the parameters.

    Raises:
        ArgumentError: the mask has no value for a parameter.

    Example:
        >>> import numpy as np
        >>> from wengert.optim import chain, scale, sgd
        >>> slow = masked(scale(0.1), lambda p: np.ndim(p) == 1)  # biases
        >>> chain(slow, sgd(1.0)).update([2.0, np.array([2.0])], ((), ()), [1.0, np.array([1.0])])[0]
        [-1.0, array([0.8])]
    """
    inner = _transform(part)

    def init(parameters: Any) -> Any:
        return inner.init(chosen_of(parameters, _truths(mask, parameters)))

    def update(direction: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        chosen = _truths(mask, parameters)
        some, state = inner.update(chosen_of(direction, chosen), state, chosen_of(parameters, chosen))
        return merged(direction, chosen, some), state

    return Transform(init, update)


def _truths(mask: Mask, parameters: Any) -> list[bool]:
    if callable(mask):
        return [bool(mask(leaf)) for leaf in leaves(parameters)]
    values, structure = flatten(mask)
    known = dict(zip(paths(structure), values, strict=True))
    names = paths(flatten(parameters)[1])
    if unknown := [name for name in names if name not in known]:
        raise ArgumentError(message("masked", "the mask must have a value for each parameter", unknown[0]))
    return [bool(known[name]) for name in names]
