"""`solve_sde`: stochastic differential equations in steps of one size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.control.scan import scan
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import Shape, shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.engine.transforms.forward_mode import jvp
from wengert.integrate.fixed_steps import grid, places, state_of_start
from wengert.numpy.creation import asarray
from wengert.random import fold_in, normal

METHODS = ("euler_maruyama", "milstein")


class SdeResult(NamedTuple):
    """A path of a stochastic differential equation."""

    t: Any
    """The times, of shape (m,)."""
    y: Any
    """The states at these times, of shape (n, m)."""
    w: Any
    """The Brownian motions at these times, which are zero at the start, of shape (noises, m)."""


@with_callbacks
def solve_sde(
    drift: Callable[..., Any],
    diffusion: Callable[..., Any],
    t_span: Sequence[Any],
    y0: Any,
    key: Any,
    *,
    steps: int,
    method: str = "euler_maruyama",
    t_eval: Any = None,
    args: Sequence[Any] = (),
) -> SdeResult:
    """Solve Ito's equation ``dy = drift(t, y) dt + diffusion(t, y) dW``, ``y(t0) = y0``, for one path of the noise.

    "euler_maruyama" has the strong order 1/2, or 1 where the diffusion does not depend on y. "milstein" has the strong
    order 1 for diagonal noise, in which each noise moves one component, and depends on no other (Kloeden and Platen,
    "Numerical Solution of Stochastic Differential Equations", 1992, chapter 10); its derivative of the diffusion comes
    from Wengert. The derivatives are those of the path: with respect to y0, ``args``, both times and whatever the
    functions close over, with the noise of each step fixed up to the root of its length.

    Args:
        drift: ``(t, y, *args) -> dy/dt``, of the shape of y.
        diffusion: ``(t, y, *args)`` of the shape of y for diagonal noise, or of shape (n, noises) for any.
        t_span: t0 and t1, t0 < t1.
        y0: the state at t0, of shape (n,).
        key: the key of the path (`wengert.random.key`); another key is another path.
        steps: the number of steps from t0 to t1.
        method: "euler_maruyama" or "milstein".
        t_eval: the times of the results, in any order; by default the ends of the steps, t0 included. A step ends at
            each of them, so that other times are another path.
        args: more arguments of both functions.

    Returns:
        The fields t, y and w.

    Raises:
        ArgumentError: the method is unknown, or "milstein" meets noise that is not diagonal; t_eval is outside of
            t_span; there is no step.
        ShapeError: y0 or the result of a function has the wrong shape.

    Example:
        >>> import wengert as wg
        >>> from wengert import random
        >>> stock = lambda rate: solve_sde(
        ...     lambda t, y: rate * y, lambda t, y: 0.2 * y, (0, 1), [1.0], random.key(0), steps=100
        ... ).y[0, -1]
        >>> round(float(stock(0.05)), 4), round(float(wg.grad(stock)(0.05)), 4)
        (1.079, 1.0784)
    """
    if method not in METHODS:
        raise ArgumentError(
            message("solve_sde", f"the method must be one of {', '.join(METHODS)}", repr(method))
        )
    y = state_of_start("solve_sde", y0)
    edges = grid("solve_sde", t_span, steps, t_eval)
    rates = _Rates(drift, diffusion, args, shape_of(y))
    noises = rates.noises(edges[0], y)
    if method == "milstein" and not rates.is_diagonal:
        requirement = "milstein needs diagonal noise, a diffusion of the shape of y"
        raise ArgumentError(
            message("solve_sde", requirement, f"{noises} noises for {shape_of(y)[0]} components")
        )

    def step(state: Any, row: Any) -> Any:
        y, w = state
        number, t, h = row
        # The root has no derivative where two times are the same.
        root = where(h > 0, np.sqrt(where(h > 0, h, 1.0)), 0.0)
        dw = root * normal(fold_in(key, number), noises)
        spread = rates.diffusion(t, y)
        following = y + rates.drift(t, y) * h + rates.times(spread, dw)
        if method == "milstein":
            change = jvp(lambda y: rates.diffusion(t, y), (y,), (spread,))[1]
            following = following + 0.5 * change * (dw**2 - h)
        after = following, w + dw
        return after, after

    count = shape_of(edges)[0] - 1
    start = y, np.zeros(noises)
    _, (states, motions) = scan(step, start, (np.arange(count), edges[:-1], np.diff(edges)))
    rows = places(edges, t_eval)
    path = np.concatenate([y[None], states])
    motion = np.concatenate([np.zeros((1, noises)), motions])
    if rows is None:
        return SdeResult(edges, path.T, motion.T)
    return SdeResult(edges[rows], path[rows].T, motion[rows].T)


class _Rates:
    """The functions of an equation, with results of known shapes."""

    def __init__(
        self, drift: Callable[..., Any], diffusion: Callable[..., Any], args: Sequence[Any], shape: Shape
    ) -> None:
        self._drift = drift
        self._diffusion = diffusion
        self._args = args
        self._shape = shape
        self.is_diagonal = True

    def noises(self, t: Any, y: Any) -> int:
        """Return the number of noises, and note whether each moves one component."""
        shape = shape_of(asarray(self._diffusion(t, y, *self._args)))
        self.is_diagonal = shape == self._shape
        if not self.is_diagonal and (len(shape) != 2 or shape[0] != self._shape[0]):
            requirement = "diffusion must return the shape of y, or (n, noises)"
            raise ShapeError(message("solve_sde", requirement, f"{shape} for {self._shape}"))
        return shape[-1]

    def drift(self, t: Any, y: Any) -> Any:
        """Return the drift."""
        result = asarray(self._drift(t, y, *self._args)) * 1.0
        if shape_of(result) != self._shape:
            raise ShapeError(message("solve_sde", "drift must return the shape of y", show(result, y)))
        return result

    def diffusion(self, t: Any, y: Any) -> Any:
        """Return the diffusion."""
        return asarray(self._diffusion(t, y, *self._args)) * 1.0

    def times(self, diffusion: Any, dw: Any) -> Any:
        """Return the product with the noises of a step."""
        return diffusion * dw if self.is_diagonal else diffusion @ dw
