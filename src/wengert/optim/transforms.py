"""The parts of optimisers: each changes a direction, given its state and the parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.core.dtypes import FLOAT64
from wengert.core.tree import leaves, map_tree
from wengert.numpy.norms import root
from wengert.ops.arithmetic import maximum, minimum
from wengert.ops.conversion import cast
from wengert.optim.chain import Mask, Rate, Transform, at_step, each, in_dtype_of, masked, zeros_like
from wengert.optim.checks import check_fraction, check_positive


def _stateless(rule: Callable[..., Any]) -> Transform:
    """Return the transform ``(direction, parameters) -> direction`` that remembers nothing."""
    return Transform(
        lambda parameters: (), lambda direction, state, parameters: (rule(direction, parameters), state)
    )


# -- factors, decay and limits ---------------------------------------------------------------------------


def scale(factor: Rate) -> Transform:
    """Return ``u <- factor u``; a factor that is a schedule is `scale_by_schedule`.

    Example:
        >>> scale(0.5).update(4.0, (), 1.0)
        (2.0, ())
    """
    if callable(factor):
        return scale_by_schedule(factor)
    return _stateless(lambda direction, parameters: map_tree(lambda u: in_dtype_of(u, factor) * u, direction))


def scale_by_schedule(schedule: Callable[[Any], Any]) -> Transform:
    """Return ``u <- schedule(t) u`` where t counts the steps, from 0. The state is t.

    Example:
        >>> scale_by_schedule(lambda t: 1 / (t + 1)).update(4.0, 1, 1.0)
        (2.0, 2)
    """

    def update(direction: Any, step: Any, parameters: Any) -> tuple[Any, Any]:
        factor = schedule(step)
        return map_tree(lambda u: in_dtype_of(u, factor) * u, direction), step + 1

    return Transform(lambda parameters: np.int64(0), update)


def add_decayed_weights(decay: float, mask: Mask = None) -> Transform:
    """Return ``u <- u + decay p``: before the other transforms, the gradient of ``decay |p|^2 / 2``.

    Behind them it is the decoupled decay of Loshchilov and Hutter (2019).

    Args:
        decay: the factor.
        mask: which parameters decay (`masked`); by default all.

    Example:
        >>> add_decayed_weights(0.1).update(2.0, (), 10.0)
        (3.0, ())
    """

    def rule(direction: Any, parameters: Any) -> Any:
        return each(lambda u, p: u + in_dtype_of(p, decay) * p, direction, parameters)

    return _stateless(rule) if mask is None else masked(_stateless(rule), mask)


def global_norm(tree: Any) -> Any:
    """Return the root of the sum of the squares of all elements of all leaves, in float64.

    Its derivative at 0 is taken as 0.

    Example:
        >>> float(global_norm([3.0, (4.0,)]))
        5.0
    """
    return root(_square_norm(tree))


def _square_norm(tree: Any) -> Any:
    # In float64, where no square of a float32 overflows.
    return sum((np.sum(np.square(cast(u, dtype=FLOAT64))) for u in leaves(tree)), np.float64(0))


def clip_by_norm(limit: float) -> Transform:
    """Return ``u <- u min(1, limit / |u|)``, the norm taken over all parameters together (Pascanu et al., 2013).

    Raises:
        ArgumentError: the limit is not positive.

    Example:
        >>> print(*clip_by_norm(2.5).update([3.0, 4.0], (), [0.0, 0.0])[0])
        1.5 2.0
    """
    check_positive("clip_by_norm", limit=limit)

    def rule(direction: Any, parameters: Any) -> Any:
        square = _square_norm(direction)
        over = square > limit * limit
        factor = np.where(over, limit / np.sqrt(np.where(over, square, 1.0)), 1.0)
        return map_tree(lambda u: in_dtype_of(u, factor) * u, direction)

    return _stateless(rule)


def clip_by_value(limit: float) -> Transform:
    """Return ``u <- max(-limit, min(limit, u))``, element by element.

    Raises:
        ArgumentError: the limit is not positive.

    Example:
        >>> clip_by_value(1.0).update([3.0, -0.5], (), [0.0, 0.0])[0]
        [1.0, -0.5]
    """
    check_positive("clip_by_value", limit=limit)

    def clipped(u: Any) -> Any:
        bound = in_dtype_of(u, limit)
        return maximum(minimum(u, bound), -bound)

    return _stateless(lambda direction, parameters: map_tree(clipped, direction))


# -- running sums and means ------------------------------------------------------------------------------


def _mean(decay: Any, means: Any, values: Any) -> Any:
    def rule(m: Any, v: Any) -> Any:
        # Not m + (1 - d) (v - m), which forgets v where m is much larger, and makes NaN of an infinite m.
        kept = in_dtype_of(m, decay)
        return kept * m + (1 - kept) * v

    return each(rule, means, values)


def _mean_square(decay: Any, means: Any, values: Any) -> Any:
    return _mean(decay, means, map_tree(lambda v: v * v, values))


def _quotient(u: Any, s: Any, epsilon: Any) -> Any:
    return u / (np.sqrt(s) + in_dtype_of(s, epsilon))


def trace(decay: float = 0.9, nesterov: bool = False) -> Transform:
    """Return momentum: ``v <- decay v + u``, then ``u <- v``; with ``nesterov``, ``u <- u + decay v``. The state is v.

    Example:
        >>> trace(0.5).update(2.0, 8.0, 1.0)
        (6.0, 6.0)
        >>> trace(0.5, nesterov=True).update(2.0, 8.0, 1.0)
        (5.0, 6.0)
    """
    check_fraction("trace", decay=decay)

    def update(direction: Any, velocity: Any, parameters: Any) -> tuple[Any, Any]:
        velocity = each(lambda v, u: in_dtype_of(v, decay) * v + u, velocity, direction)
        if nesterov:
            return each(lambda u, v: u + in_dtype_of(v, decay) * v, direction, velocity), velocity
        return velocity, velocity

    return Transform(zeros_like, update)


class AdamState(NamedTuple):
    """The running means of Adam."""

    step: Any
    mean: Any
    square: Any
    largest: Any = None
    """With ``amsgrad``, the largest mean square so far."""


def scale_by_adam(
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    amsgrad: bool = False,
    rate: Rate = 1.0,
) -> Transform:
    """Return the direction of Adam (Kingma and Ba, 2015).

    ``m <- b1 m + (1 - b1) u``, ``s <- b2 s + (1 - b2) u^2``, ``u <- rate m' / (sqrt(s') + epsilon)`` with
    ``m' = m / (1 - b1^t)`` and ``s' = s / (1 - b2^t)`` at step t.

    Args:
        beta1: of the mean of the gradients.
        beta2: of the mean of their squares.
        epsilon: what keeps the quotient finite.
        amsgrad: divide by the largest s so far (Reddi et al., 2018).
        rate: a factor, or a schedule, that costs no further operation.

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
        largest = each(maximum, state.largest, square) if amsgrad else None
        # The quotient expanded by the root of s's correction (the paper, section 2): one division an element.
        root = np.sqrt(1 - beta2**step)
        factor, least = at_step(rate, state.step) * root / (1 - beta1**step), epsilon * root

        def move(m: Any, s: Any) -> Any:
            # In the dtype of the parameter: the corrections are float64 scalars.
            return in_dtype_of(m, factor) * m / (np.sqrt(s) + in_dtype_of(m, least))

        after = AdamState(step, mean, square, largest)
        return each(move, mean, largest if amsgrad else square), after

    return Transform(init, update)


class RMSState(NamedTuple):
    """The running means of RMSprop."""

    square: Any
    mean: Any = None
    """Of the gradients, if centred."""


def scale_by_rms(decay: float = 0.99, epsilon: float = 1e-8, centred: bool = False) -> Transform:
    """Return ``s <- decay s + (1 - decay) u^2``, then ``u <- u / (sqrt(s) + epsilon)`` (Hinton, 2012).

    Args:
        decay: of the mean of the squares.
        epsilon: what keeps the quotient finite.
        centred: divide by the root of the variance, ``s - m^2`` with the mean m (Graves, 2013).

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
            return each(lambda u, s: _quotient(u, s, epsilon), direction, square), RMSState(square)
        mean = _mean(decay, state.mean, direction)

        def move(u: Any, s: Any, m: Any) -> Any:
            return _quotient(u, maximum(s - m * m, 0.0), epsilon)  # rounding may make it negative

        return each(move, direction, square, mean), RMSState(square, mean)

    return Transform(init, update)


def scale_by_adagrad(epsilon: float = 1e-10, initial: float = 0.0) -> Transform:
    """Return ``s <- s + u^2``, then ``u <- u / (sqrt(s) + epsilon)`` (Duchi et al., 2011). The state is s.

    Args:
        epsilon: what keeps the quotient finite.
        initial: the first s.

    Example:
        >>> direction, state = scale_by_adagrad(0.0).update(3.0, 16.0, 1.0)
        >>> print(direction, state)
        0.6 25.0
    """

    def update(direction: Any, total: Any, parameters: Any) -> tuple[Any, Any]:
        total = each(lambda s, u: s + u * u, total, direction)
        return each(lambda u, s: _quotient(u, s, epsilon), direction, total), total

    def init(parameters: Any) -> Any:
        return map_tree(lambda z: z + in_dtype_of(z, initial), zeros_like(parameters))

    return Transform(init, update)


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


def scale_by_sign() -> Transform:
    """Return ``u <- sign(u)`` (Bernstein et al., 2018).

    Example:
        >>> float(scale_by_sign().update(-3.0, (), 1.0)[0])
        -1.0
    """
    return _stateless(lambda direction, parameters: map_tree(np.sign, direction))
