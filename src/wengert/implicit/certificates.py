"""Certificates: whether a point is a solution, as far as the function near it says.

A point x of ``F(x) = 0`` is certified if the Newton step is small beside a radius r, which is small beside x, and F
changes by a move of the length r, forth and back, as its derivative says, to a factor of two. Then there is one root
within r (Newton and Kantorovich), and the residual is small relative to the values around it. F that is flat, that only
falls towards a root far away, whose roots coincide, or whose rounding errors hide the root does not pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.control.while_loop import while_loop
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import LimitError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ops.comparison import require_end, where
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.forward_mode import jvp

#: ``(product, right sides) -> solutions`` of linear equations.
LinearSolves = Callable[[Callable[[Any], Any], list[Any]], list[Any]]

_RADII = np.array([1e2, 1e1, 1.0])
"""The radii to try, in tolerances: large ones for functions with rounding errors, small ones for those that bend."""
_WIDEST = 1e-2
_SHARE = 0.5
"""The largest Newton step, in radii."""
_BEND = 0.5
"""The largest difference between F and its linear model, after Newton's step, in radii."""
_MOST_TURNS, _FEW_TURNS = 32, 4
"""Of conjugate gradients that look for a negative curvature: by second derivatives, and by differences."""
_FLAT = 1e-6
"""The share of the largest curvature below which one is measured by this share: it may be a rounding error."""


class Certificate(NamedTuple):
    """The certificate of a point: its residual and its Newton step."""

    holds: Any
    residual: Any
    """Its largest magnitude."""
    step: Any
    """The largest magnitude of Newton's step."""


def generic(like: Any) -> Any:
    """Return a vector like another without a pattern, of magnitudes of 1/2 to 3/2: no symmetry of a function has it."""
    places = np.arange(1.0, shape_of(like)[0] + 1)
    magnitudes, signs = 0.5 + places * 0.6180339887498949 % 1, places * 0.7548776662466927 % 1 < 0.5
    return np.where(signs, magnitudes, -magnitudes).astype(dtype_of(like))


def certified(
    operation: str,
    residual: Callable[[Any], Any],
    solves: LinearSolves,
    x: Any,
    tolerance: float,
    *,
    is_minimum: bool = False,
) -> Any:
    """Return x, or have the program raise `LimitError` where x is not a certified root (with a gradient: minimum)."""
    x = require_certified(operation, x, certificate(residual, solves, x, tolerance))
    if not is_minimum:
        return x
    requirement = "the curvature at the end must be positive in every direction"
    hint = "it is a saddle or a maximum; begin elsewhere"
    convex = is_convex(residual, x)
    return require_certified(operation, x, Certificate(convex, largest(residual(x)), 0.0), requirement, hint)


def certificate(
    residual: Callable[[Any], Any], solves: LinearSolves, x: Any, tolerance: float
) -> Certificate:
    """Return whether a vector is a root, to at most a hundred tolerances relative to its elements.

    An element near zero may have a scale of its own, that of the largest element, or 1.
    """
    value, size = residual(x), shape_of(x)
    moves = generic(x)
    magnitudes = np.abs(x)
    own = where(magnitudes > 0.0, magnitudes, 1.0)
    scales = np.stack([own, np.maximum(magnitudes, 1.0), np.broadcast_to(largest(x), size)])
    radii = np.minimum(np.maximum(tolerance, 4 * epsilon_of(x)) * _RADII, _WIDEST).astype(dtype_of(x))
    choices = np.reshape(radii[:, None] * scales[:, None], (-1, *size))

    def product(vector: Any) -> Any:
        return jvp(residual, (x,), (vector,))[1]

    def going(state: Any) -> Any:
        holds, turn = state[0], state[-1]
        return ~holds & (turn < len(choices))

    def trial(state: Any) -> Any:
        _, _, choices, turn = state
        radius = choices[turn]
        move = radius * moves
        image = product(move)
        forth, back = residual(x + move) - value - image, value - residual(x - move) - image
        step, *bends = solves(product, [value, forth, back])
        holds = np.all(np.abs(step) <= _SHARE * radius)
        for bend in bends:
            holds = holds & np.all(np.abs(bend) <= _BEND * np.abs(move))
        return holds, largest(step), choices, turn + 1

    first = (np.bool_(False), 0.0 * largest(value), choices, 0)
    holds, step, _, _ = while_loop(going, trial, first)
    return Certificate(holds, largest(value), step)


def is_convex(gradient: Callable[[Any], Any], x: Any) -> Any:
    """Return whether no curvature is negative; complete for as many unknowns as turns."""

    def product(vector: Any) -> Any:
        return jvp(gradient, (x,), (vector,))[1]

    return conjugate_gradients(product, generic(x), _MOST_TURNS)[1] > -_noise(x)


def _noise(x: Any) -> float:
    """Return the relative curvature that counts as a rounding error."""
    return max(1e-6, 4 * epsilon_of(x) / _FLAT)


def conjugate_gradients(product: Callable[[Any], Any], right: Any, most: int) -> tuple[Any, Any]:
    """Return the solution after some turns, and the least curvature, relative to the lengths of direction and image.

    With as many turns as unknowns the directions span the space: by Sylvester's law of inertia a negative curvature
    is then found. A flat direction beside others has a relative curvature of 0, and a flat function one of -1.
    """
    turns, square = min(most, *shape_of(right)), np.sum(right * right)
    enough = (
        max(1e-12, (100 * epsilon_of(right)) ** 2) * square
    )  # what is left is noise where the matrix is singular

    def going(state: Any) -> Any:
        square, least, turn = state[-3:]
        return (least > -1.0) & (square > enough) & (turn < turns)

    def onward(state: Any) -> Any:
        solution, direction, residual, scale, square, least, turn = state
        image = product(direction)
        length, reached = np.sqrt(np.sum(direction**2)), np.sqrt(np.sum(image**2))
        scale = np.maximum(scale, _FLAT * reached / length)
        curvature, product_of_lengths = (
            np.sum(direction * image),
            length * np.maximum(reached, scale * length),
        )
        is_flat = product_of_lengths == 0.0
        relative = where(is_flat, -1.0, curvature / where(is_flat, 1.0, product_of_lengths))
        share = square / where(curvature == 0.0, np.inf, curvature)
        residual = residual - share * image
        following = np.sum(residual * residual)
        return (
            solution + share * direction,
            residual + following / square * direction,
            residual,
            scale,
            following,
            np.minimum(least, relative),
            turn + 1,
        )

    last = while_loop(going, onward, (0.0 * right, right, right, 0.0 * square, square, 0.0 * square + 1.0, 0))
    return last[0], last[-2]


def looks_least(
    gradient: Callable[[Any], Any],
    x: Any,
    slope: Any,
    direction: Any,
    reach: Any,
    step: Any,
    mapped: Callable[..., Any] = vmap,
) -> Any:
    """Return whether the end of a descent looks like a minimum, by some gradients: where second derivatives cost much.

    The slope along the next direction must change its sign within a reach, relative to x, or to 1; no Newton step by
    differences of gradients may be longer than a step, and no curvature negative. A slope that is NaN is a wall.
    ``mapped`` maps over rows; a gradient that only takes known numbers cannot have `vmap`.
    """
    scale = np.maximum(1.0, largest(x))
    length = np.sqrt(np.sum(direction * direction))
    toward = direction / where(length > 0.0, length, 1.0)
    passes = ~(np.sum(gradient(x + reach * scale * toward) * toward) < 0.0)
    own = np.maximum(np.abs(x), 1e-3 * scale)

    def product(vector: Any) -> Any:
        share = 1e-2 / np.maximum(largest(vector), 1e-300)
        return own * (gradient(x + share * own * vector) - slope) / share

    rights = np.stack([generic(x), own * slope])
    steps, least = mapped(lambda right: conjugate_gradients(product, right, _FEW_TURNS))(rights)
    return passes & np.all(least > -_noise(x)) & (largest(own * steps[1]) <= step * scale)


def looks_far(gradient: Callable[[Any], Any], x: Any, slope: Any, step: Any) -> Any:
    """Return whether curvatures are positive, and a Newton step is longer than a step, relative to x, or to 1.

    A narrow valley hides that from differences; these curvatures are exact, of unknowns on scales of their own.
    """
    scale = np.maximum(1.0, largest(x))
    own = np.maximum(np.abs(x), 1e-8 * scale)

    def product(vector: Any) -> Any:
        return own * jvp(gradient, (x,), (own * vector,))[1]

    solution, least = conjugate_gradients(product, own * slope, _MOST_TURNS)
    return (least > 0.0) & (largest(own * solution) > step * scale)


def require_certified(
    operation: str, x: Any, certificate: Certificate, requirement: str = "", hint: str = ""
) -> Any:
    """Return x, or have the program raise `LimitError` where it is not certified; with the numbers where known."""
    requirement = requirement or (
        "at the end the Newton step must be small beside x, and the residual small beside the values near x"
    )
    hint = hint or (
        "begin nearer, scale unknowns and equations, give another tol; a multiple root, a function that is flat "
        "or has a kink there is not certified"
    )
    holds, residual, step = map(concrete, certificate)
    if holds is not None and not np.all(holds):
        worst = np.flatnonzero(~np.ravel(holds))[0]
        got = f"a residual of {np.ravel(residual)[worst]:.3g} and a step of {np.ravel(step)[worst]:.3g}"
        raise LimitError(message(operation, requirement, got, hint))
    return require_end(x, certificate.holds, operation=operation, requirement=f"{requirement}; {hint}")


def largest(x: Any) -> Any:
    """Return the largest magnitude in a vector."""
    return np.max(np.abs(x), initial=0.0)


def epsilon_of(x: Any) -> float:
    """Return the relative rounding error of the dtype of a vector."""
    return float(np.finfo(dtype_of(x)).eps)
