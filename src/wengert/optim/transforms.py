"""Optimisers as chains of transforms.

A transform changes a direction, which starts as the gradients; an optimiser subtracts the last direction from the
parameters. Only floating-point parameters are trained; others stay as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from wengert.engine.core.calls import advising
from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import FLOAT64, check_known, dtype_of, is_float
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.other_libraries import OF_OPTIMISERS
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import flatten, leaves, map_tree, paths, unflatten
from wengert.engine.core.tree import show as show_tree
from wengert.engine.ir.types import show
from wengert.engine.ops.arithmetic import maximum, minimum
from wengert.engine.ops.comparison import where
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.special.error_and_gamma import length, root
from wengert.engine.transforms.arguments import is_number
from wengert.optim.schedules import Schedule

#: A number, or a function of the number of steps taken.
Rate: TypeAlias = float | np.number[Any] | np.ndarray[Any, Any] | Schedule
#: A tree of truth values, or a function of one parameter. A tree may be any container, so the type is not narrower.
Mask: TypeAlias = Any

TERMS = {
    "factor": "a number or a schedule.",
    "schedule": "``number of steps taken -> factor``.",
    "decay": "the factor.",
    "mask": "the parameters that decay (`masked`); by default all.",
    "limit": "the largest norm.",
    "nesterov": "whether to return ``u <- u + decay v`` instead.",
    "beta1": "the decay of the mean of the gradients.",
    "beta2": "the decay of the mean of their squares.",
    "epsilon": "keeps the quotient finite.",
    "amsgrad": "whether to divide by the largest s so far (Reddi et al., 2018).",
    "rate": "a factor or a schedule, which adds no operation to each element.",
    "centred": "whether to divide by the root of the variance, ``s - m^2`` with the mean m (Graves, 2013).",
    "initial": "the first s.",
}
_transform = functools.partial(documented, TERMS, Returns="A transform.")


class Transform(NamedTuple):
    """A part of an optimiser: a state, and a function that changes a direction.

    Args:
        init: ``parameters -> state``.
        update: ``(direction, state, parameters) -> (direction, state)``.

    Example:
        >>> halve = Transform(lambda parameters: (), lambda u, state, parameters: (u / 2, state))
        >>> chain(halve).update(2.0, ((),), 5.0)[0]
        4.0
    """

    init: Callable[[Any], Any]
    update: Callable[[Any, Any, Any], tuple[Any, Any]]


class Optimiser(NamedTuple):
    """An optimiser: a state, and a function that takes one step.

    Args:
        init: ``parameters -> state``.
        update: ``(gradients, state, parameters) -> (parameters, state)``.
        transform: makes the direction, if the step only subtracts it.

    Example:
        >>> descent = Optimiser(lambda p: (), lambda g, state, p: (p - 0.1 * g, state))
        >>> descent.update(2.0, descent.init(1.0), 1.0)
        (0.8, ())
    """

    init: Callable[[Any], Any]
    update: Callable[[Any, Any, Any], tuple[Any, Any]]
    transform: Transform | None = None

    if not TYPE_CHECKING:  # type checkers report such names themselves

        def __getattr__(self, name: str) -> Any:
            """Raise `AttributeError`, which says what to write for a method of PyTorch's optimisers."""
            text = f"an optimiser has no attribute {name!r}"
            instead = OF_OPTIMISERS.get(name)
            raise AttributeError(f"{text}; write {instead}" if instead else text, name=name, obj=self)


def check_fraction(operation: str, **numbers: Any) -> None:
    """Raise `ArgumentError` unless the numbers lie in [0, 1); traced numbers pass."""
    for name, value in numbers.items():
        if not is_number(value) or (isinstance(value, (int, float)) and not 0 <= value < 1):
            raise ArgumentError(message(operation, f"{name} must lie in [0, 1)", repr(value)))


def _check_positive(operation: str, limit: Any) -> None:
    if not is_number(limit) or (isinstance(limit, (int, float)) and not limit > 0):
        raise ArgumentError(message(operation, "limit must be positive", str(limit)))


# -- leaves ----------------------------------------------------------------------------------------------


def map_leaves(rule: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a rule to the leaves of trees; leaves at the same place must have the same shape."""

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
    """Return a number, or a gradient, in the dtype of a value, so that a float64 rate leaves float32 as it is."""
    dtype = dtype_of(value)
    same = type(number) in (int, float) or dtype_of(number) == dtype
    return number if same else cast(number, dtype=dtype)


def select(tree: Any, chosen: Sequence[bool]) -> Any:
    """Return a tree with None in the place of leaves that are not chosen."""
    values, structure = flatten(tree)
    if all(chosen):
        return tree
    return unflatten(structure, [v if keep else None for v, keep in zip(values, chosen, strict=True)])


def replace(tree: Any, chosen: Sequence[bool], part: Any) -> Any:
    """Return a tree with the leaves of ``part`` in the place of its chosen leaves."""
    if all(chosen):
        return part
    values, structure = flatten(tree)
    new = iter(leaves(part))
    return unflatten(structure, [next(new) if k else v for v, k in zip(values, chosen, strict=True)])


def trainable(parameters: Any) -> list[bool]:
    """Return whether each leaf is trained."""
    return [is_float(check_known("update", dtype_of(leaf), real=True)) for leaf in leaves(parameters)]


def select_gradients(gradients: Any, parameters: Any, trained: Sequence[bool]) -> Any:
    """Return the gradients of the trained parameters; those of others may be anything, or None."""
    structure = flatten(gradients)[1]
    if structure == flatten(select(parameters, trained))[1]:
        return gradients
    expected = flatten(parameters)[1]
    if structure != expected:
        requirement = f"gradients must have the structure of the parameters, {show_tree(expected)}"
        hint = "the order is update(gradients, state, parameters)"
        raise ArgumentError(message("update", requirement, show_tree(structure), hint))
    return select(gradients, trained)


# -- optimisers ------------------------------------------------------------------------------------------


def optimiser(transform: Transform) -> Optimiser:
    """Return the optimiser that subtracts the direction that a transform makes of the gradients."""

    def init(parameters: Any) -> Any:
        return transform.init(select(parameters, trainable(parameters)))

    @advising("parameters, state = optimiser.update(gradients, state, parameters)")
    def update(gradients: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        trained = trainable(parameters)
        gradients = select_gradients(gradients, parameters, trained)
        before = select(parameters, trained)
        if state is None and transform.init(before) is not None:
            requirement = "the state must be that of this optimiser"
            hint = "begin with optimiser.init(parameters): update(gradients, state, parameters)"
            raise ArgumentError(message("update", requirement, "None", hint))
        direction, state = transform.update(map_leaves(in_dtype_of, before, gradients), state, before)
        return replace(parameters, trained, map_leaves(lambda p, d: p - d, before, direction)), state

    return Optimiser(init, update, transform)


def chain(*parts: Transform | Optimiser) -> Optimiser:
    """Return the optimiser whose direction goes through several transforms, in the given order.

    Args:
        *parts: transforms, and optimisers made of transforms.

    Returns:
        An optimiser, which may be a part of another chain. Its state is a tuple of the states of its parts.

    Raises:
        ArgumentError: a part is neither, or does more than subtract a direction (`accumulate`, `averaged`).

    Example:
        >>> from wengert import optim
        >>> careful = chain(optim.clip_by_norm(1.0), optim.adam(1e-3))
    """
    transforms = [_as_transform(part) for part in parts]

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


def _as_transform(part: Any) -> Transform:
    transform = part.transform if isinstance(part, Optimiser) else part
    if not isinstance(transform, Transform):
        hint = "put accumulate and averaged around the chain"
        got = "an optimiser that is not a chain" if isinstance(part, Optimiser) else type(part).__name__
        raise ArgumentError(message("chain", "the parts must be transforms", got, hint))
    return transform


def masked(part: Transform | Optimiser, mask: Mask) -> Transform:
    """Return a transform of some of the parameters; it leaves the directions of the others as they are.

    Args:
        part: the transform, or an optimiser made of transforms.
        mask: ``parameter -> bool``, or a tree of truth values that has the structure of the parameters.

    Returns:
        A transform.

    Raises:
        ArgumentError: the mask has no value for a parameter.

    Example:
        >>> from wengert.optim import chain, scale, sgd
        >>> slow = masked(scale(0.1), lambda p: np.ndim(p) == 1)  # biases
        >>> chain(slow, sgd(1.0)).update([2.0, np.array([2.0])], ((), ()), [1.0, np.array([1.0])])[0]
        [-1.0, array([0.8])]
    """
    inner = _as_transform(part)

    def init(parameters: Any) -> Any:
        return inner.init(select(parameters, _truths(mask, parameters)))

    def update(direction: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        chosen = _truths(mask, parameters)
        some, state = inner.update(select(direction, chosen), state, select(parameters, chosen))
        return replace(direction, chosen, some), state

    return Transform(init, update)


def _truths(mask: Mask, parameters: Any) -> list[bool]:
    if callable(mask):
        return [bool(mask(leaf)) for leaf in leaves(parameters)]
    values, structure = flatten(mask)
    truths = dict(zip(paths(structure), values, strict=True))
    names = paths(flatten(parameters)[1])
    if unknown := [name for name in names if name not in truths]:
        raise ArgumentError(message("masked", "the mask must have a value for each parameter", unknown[0]))
    return [bool(truths[name]) for name in names]


def _stateless(rule: Callable[..., Any]) -> Transform:
    """Return the transform of a rule ``(direction, parameters) -> direction``, without a state."""

    def update(direction: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        return rule(direction, parameters), state

    return Transform(lambda parameters: (), update)


def _times(direction: Any, factor: Any) -> Any:
    return map_tree(lambda u: in_dtype_of(u, factor) * u, direction)


# -- factors, decay and limits ---------------------------------------------------------------------------


@_transform()
def scale(factor: Rate) -> Transform:
    """Return ``u <- factor u``; a schedule is passed to `scale_by_schedule`.

    Example:
        >>> scale(0.5).update(4.0, (), 1.0)
        (2.0, ())
    """
    if callable(factor):
        return scale_by_schedule(factor)
    return _stateless(lambda direction, parameters: _times(direction, factor))


@_transform()
def scale_by_schedule(schedule: Callable[[Any], Any]) -> Transform:
    """Return ``u <- schedule(t) u``, where t counts the steps, from 0. The state is t.

    Example:
        >>> scale_by_schedule(lambda t: 1 / (t + 1)).update(4.0, 1, 1.0)
        (2.0, 2)
    """

    def update(direction: Any, step: Any, parameters: Any) -> tuple[Any, Any]:
        return _times(direction, schedule(step)), step + 1

    return Transform(lambda parameters: np.int64(0), update)


@_transform()
def add_decayed_weights(decay: float, mask: Mask = None) -> Transform:
    """Return ``u <- u + decay p``.

    As the first transform it adds the gradient of ``decay |p|^2 / 2``; after the others it is the decoupled decay of
    Loshchilov and Hutter (2019).

    Example:
        >>> add_decayed_weights(0.1).update(2.0, (), 10.0)
        (3.0, ())
    """

    def rule(direction: Any, parameters: Any) -> Any:
        return map_leaves(lambda u, p: u + in_dtype_of(p, decay) * p, direction, parameters)

    return _stateless(rule) if mask is None else masked(_stateless(rule), mask)


def global_norm(tree: Any) -> Any:
    """Return the root of the sum of the squares of all elements of all leaves, in float64.

    Its derivative at 0 is 0.

    Args:
        tree: a container of arrays and numbers.

    Returns:
        A scalar.

    Example:
        >>> float(global_norm([3.0, (4.0,)]))
        5.0
    """

    def squares(scale: float) -> Any:
        numbers = (scale * cast(u, dtype=FLOAT64) for u in leaves(tree))
        return sum((np.sum(np.square(u)) for u in numbers), np.float64(0))

    has_doubles = any(
        dtype_of(u) == FLOAT64 for u in leaves(tree)
    )  # squares of other numbers are in its range
    return length(squares) if has_doubles else root(squares(1.0))


@_transform()
def clip_by_norm(limit: float) -> Transform:
    """Return ``u <- u min(1, limit / |u|)``, with the norm over all parameters together (Pascanu et al., 2013).

    Raises:
        ArgumentError: the limit is not positive.

    Example:
        >>> print(*clip_by_norm(2.5).update([3.0, 4.0], (), [0.0, 0.0])[0])
        1.5 2.0
    """
    _check_positive("clip_by_norm", limit)

    def rule(direction: Any, parameters: Any) -> Any:
        norm = global_norm(direction)
        over = norm > limit
        divisor = where(over, norm, 1.0)

        def clipped(u: Any) -> Any:
            # The derivative of limit / norm underflows where that of a component of the unit vector does not.
            return where(over, cast(limit * (cast(u, dtype=FLOAT64) / divisor), dtype=dtype_of(u)), u)

        return map_tree(clipped, direction)

    return _stateless(rule)


@_transform(limit="the largest absolute value.")
def clip_by_value(limit: float) -> Transform:
    """Return ``u <- max(-limit, min(limit, u))``, element by element.

    Raises:
        ArgumentError: the limit is not positive.

    Example:
        >>> clip_by_value(1.0).update([3.0, -0.5], (), [0.0, 0.0])[0]
        [1.0, -0.5]
    """
    _check_positive("clip_by_value", limit)

    def clipped(u: Any) -> Any:
        bound = in_dtype_of(u, limit)
        return maximum(minimum(u, bound), -bound)

    return _stateless(lambda direction, parameters: map_tree(clipped, direction))


# -- running sums and means ------------------------------------------------------------------------------


def _mean(decay: Any, means: Any, values: Any) -> Any:
    def rule(m: Any, v: Any) -> Any:
        # Not m + (1 - d) (v - m), which loses v where m is much larger, and turns an infinite m into NaN.
        weight = in_dtype_of(m, decay)
        return weight * m + (1 - weight) * v

    return map_leaves(rule, means, values)


def _mean_square(decay: Any, means: Any, values: Any) -> Any:
    return _mean(decay, means, map_tree(lambda v: v * v, values))


def _quotient(u: Any, s: Any, epsilon: Any) -> Any:
    return u / (np.sqrt(s) + in_dtype_of(s, epsilon))


@_transform(decay="the factor of the velocity.")
def trace(decay: float = 0.9, nesterov: bool = False) -> Transform:
    """Return momentum: ``v <- decay v + u``, then ``u <- v``. The state is v.

    Example:
        >>> trace(0.5).update(2.0, 8.0, 1.0)
        (6.0, 6.0)
        >>> trace(0.5, nesterov=True).update(2.0, 8.0, 1.0)
        (5.0, 6.0)
    """
    check_fraction("trace", decay=decay)

    def update(direction: Any, velocity: Any, parameters: Any) -> tuple[Any, Any]:
        velocity = map_leaves(lambda v, u: in_dtype_of(v, decay) * v + u, velocity, direction)
        if nesterov:
            return map_leaves(lambda u, v: u + in_dtype_of(v, decay) * v, direction, velocity), velocity
        return velocity, velocity

    return Transform(zeros_like, update)


class AdamState(NamedTuple):
    """The running means of Adam."""

    step: Any
    mean: Any
    square: Any
    largest: Any = None
    """With ``amsgrad``, the largest mean square so far."""


@_transform()
def scale_by_adam(
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, amsgrad: bool = False, rate: Rate = 1.0
) -> Transform:
    """Return the direction of Adam (Kingma and Ba, 2015).

    ``m <- b1 m + (1 - b1) u``, ``s <- b2 s + (1 - b2) u^2``, ``u <- rate m' / (sqrt(s') + epsilon)`` with
    ``m' = m / (1 - b1^t)`` and ``s' = s / (1 - b2^t)`` at step t.

    Example:
        >>> adam = scale_by_adam()
        >>> float(adam.update(2.0, adam.init(1.0), 1.0)[0])
        0.99999999...
    """
    check_fraction("scale_by_adam", beta1=beta1, beta2=beta2)

    def init(parameters: Any) -> AdamState:
        largest = zeros_like(parameters) if amsgrad else None
        return AdamState(np.int64(0), zeros_like(parameters), zeros_like(parameters), largest)

    def update(direction: Any, state: AdamState, parameters: Any) -> tuple[Any, AdamState]:
        step = state.step + 1
        mean, square = _mean(beta1, state.mean, direction), _mean_square(beta2, state.square, direction)
        largest = map_leaves(maximum, state.largest, square) if amsgrad else None
        # Multiplied by the root of the correction of s (the paper, section 2), the quotient needs one division.
        root = np.sqrt(1 - beta2**step)
        factor, least = (
            (rate(state.step) if callable(rate) else rate) * root / (1 - beta1**step),
            epsilon * root,
        )

        def move(m: Any, s: Any) -> Any:
            # The corrections are float64 scalars; the result has the dtype of the parameter.
            return in_dtype_of(m, factor) * m / (np.sqrt(s) + in_dtype_of(m, least))

        after = AdamState(step, mean, square, largest)
        return map_leaves(move, mean, largest if amsgrad else square), after

    return Transform(init, update)


class RMSState(NamedTuple):
    """The running means of RMSprop."""

    square: Any
    mean: Any = None
    """The mean of the gradients, if centred."""


@_transform(decay="the decay of the mean of the squares.")
def scale_by_rms(decay: float = 0.99, epsilon: float = 1e-8, centred: bool = False) -> Transform:
    """Return ``s <- decay s + (1 - decay) u^2``, then ``u <- u / (sqrt(s) + epsilon)`` (Hinton, 2012).

    Example:
        >>> print(scale_by_rms(0.75).update(2.0, RMSState(0.0), 1.0)[0].round(6))
        2.0
    """
    check_fraction("scale_by_rms", decay=decay)

    def init(parameters: Any) -> RMSState:
        return RMSState(zeros_like(parameters), zeros_like(parameters) if centred else None)

    def update(direction: Any, state: RMSState, parameters: Any) -> tuple[Any, RMSState]:
        square = _mean_square(decay, state.square, direction)
        if not centred:
            return map_leaves(lambda u, s: _quotient(u, s, epsilon), direction, square), RMSState(square)
        mean = _mean(decay, state.mean, direction)

        def move(u: Any, s: Any, m: Any) -> Any:
            return _quotient(u, maximum(s - m * m, 0.0), epsilon)  # rounding may make the variance negative

        return map_leaves(move, direction, square, mean), RMSState(square, mean)

    return Transform(init, update)


@_transform()
def scale_by_adagrad(epsilon: float = 1e-10, initial: float = 0.0) -> Transform:
    """Return ``s <- s + u^2``, then ``u <- u / (sqrt(s) + epsilon)`` (Duchi et al., 2011). The state is s.

    Example:
        >>> direction, state = scale_by_adagrad(0.0).update(3.0, 16.0, 1.0)
        >>> print(direction, state)
        0.6 25.0
    """

    def update(direction: Any, total: Any, parameters: Any) -> tuple[Any, Any]:
        total = map_leaves(lambda s, u: s + u * u, total, direction)
        return map_leaves(lambda u, s: _quotient(u, s, epsilon), direction, total), total

    def init(parameters: Any) -> Any:
        return map_tree(lambda z: z + in_dtype_of(z, initial), zeros_like(parameters))

    return Transform(init, update)


@_transform(beta1="the weight of the mean in the direction.", beta2="the decay of the mean.")
def scale_by_lion(beta1: float = 0.9, beta2: float = 0.99) -> Transform:
    """Return ``sign(b1 m + (1 - b1) u)``, then ``m <- b2 m + (1 - b2) u`` (Chen et al., 2023). The state is m.

    Example:
        >>> direction, state = scale_by_lion().update(2.0, -0.1, 1.0)
        >>> print(direction, round(state, 3))
        1.0 -0.079
    """
    check_fraction("scale_by_lion", beta1=beta1, beta2=beta2)

    def update(direction: Any, mean: Any, parameters: Any) -> tuple[Any, Any]:
        signs = map_tree(np.sign, _mean(beta1, mean, direction))
        return signs, _mean(beta2, mean, direction)

    return Transform(zeros_like, update)


@_transform()
def scale_by_sign() -> Transform:
    """Return ``u <- sign(u)`` (Bernstein et al., 2018).

    Example:
        >>> float(scale_by_sign().update(-3.0, (), 1.0)[0])
        -1.0
    """
    return _stateless(lambda direction, parameters: map_tree(np.sign, direction))
