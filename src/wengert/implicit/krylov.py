"""Iterative solvers of linear equations ``A x = b`` that multiply by A alone.

Vectors lie along the last axis; the axes before it hold systems that are solved side by side. A system whose residual
is small enough stays as it is while others go on. All loops are `while_loop`, so they compile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.control.while_loop import while_loop
from wengert.engine.ops.comparison import require_end, where

Product = Callable[[Any], Any]

_RESTART = 30
"""The number of directions that GMRES keeps."""


def inner(x: Any, y: Any) -> Any:
    """Return the inner products of vectors, with an axis of length 1 in place of theirs."""
    return np.sum(x * y, axis=-1, keepdims=True)


def _ratio(x: Any, y: Any) -> Any:
    """Return x / y, and 0 where y is 0."""
    zero = y == 0
    return where(zero, 0.0, x) / where(zero, 1.0, y)


def conjugate_gradients(product: Product, b: Any, tolerance: float, most: int) -> Any:
    """Solve with a symmetric positive definite matrix (Hestenes and Stiefel, 1952)."""
    goal = tolerance**2 * inner(b, b)

    def unfinished(state: Any) -> Any:
        _, _, _, square, turn = state
        return np.any(square > goal) & (turn < most)

    def step(state: Any) -> Any:
        x, residual, direction, square, turn = state
        image = product(direction)
        length = where(square > goal, _ratio(square, inner(direction, image)), 0.0)
        x = x + length * direction
        residual = residual - length * image
        following = inner(residual, residual)
        direction = residual + _ratio(following, square) * direction
        return x, residual, direction, following, turn + 1

    return while_loop(unfinished, step, (np.zeros_like(b), b, b, inner(b, b), 0))[0]


def stabilised_biconjugate_gradients(product: Product, b: Any, tolerance: float, most: int) -> Any:
    """Solve with any matrix and little memory (van der Vorst, BiCGSTAB, 1992)."""
    goal = tolerance**2 * inner(b, b)

    def unfinished(state: Any) -> Any:
        residual, turn = state[1], state[-1]
        return np.any(inner(residual, residual) > goal) & (turn < most)

    def step(state: Any) -> Any:
        x, residual, direction, correlation, turn = state
        going = inner(residual, residual) > goal
        image = product(direction)
        length = _ratio(correlation, inner(b, image))
        middle = residual - length * image
        turned = product(middle)
        weight = _ratio(inner(turned, middle), inner(turned, turned))
        following = middle - weight * turned
        new = inner(b, following)
        factor = _ratio(new, correlation) * _ratio(length, weight)
        further = following + factor * (direction - weight * image)
        moved = x + length * direction + weight * middle
        return (
            where(going, moved, x),
            where(going, following, residual),
            where(going, further, direction),
            where(going, new, correlation),
            turn + 1,
        )

    return while_loop(unfinished, step, (np.zeros_like(b), b, b, inner(b, b), 0))[0]


def minimal_residuals(product: Product, b: Any, tolerance: float, most: int) -> Any:
    """Solve with any matrix: the residual is the smallest that the products so far allow (GMRES).

    The form is that of Jiranek and Rozloznik (Adaptive version of simpler GMRES, 2010): the images of the directions
    are orthonormal, and the next direction is the residual while it falls, or else the last image.
    """
    basis_size = min(_RESTART, b.shape[-1])
    shape = (basis_size, *b.shape)
    goal = tolerance**2 * inner(b, b)

    def unfinished(state: Any) -> Any:
        square, turn = state[4], state[-1]
        return np.any(square > goal) & (turn < most)

    def step(state: tuple[Any, ...]) -> Any:
        x, residual, directions, images, square, candidate, turn = state
        slot = turn % basis_size
        # A new cycle forgets the old directions.
        first = slot == 0
        images = where(first, 0.0, images)
        direction = where(first, residual, candidate)
        image = product(direction)
        for _ in range(2):  # twice is enough (Kahan)
            shares = np.sum(images * image, axis=-1, keepdims=True)
            image = image - np.sum(shares * images, axis=0)
            direction = direction - np.sum(shares * directions, axis=0)
        length = np.sqrt(inner(image, image))
        image, direction = _ratio(image, length), _ratio(direction, length)
        here = np.arange(basis_size).reshape(basis_size, *(1,) * b.ndim) == slot
        images, directions = where(here, image, images), where(here, direction, directions)
        share = where(square > goal, inner(image, residual), 0.0)
        x, residual = x + share * direction, residual - share * image
        following = inner(residual, residual)
        candidate = where(following < 0.81 * square, residual, image)
        return x, residual, directions, images, following, candidate, turn + 1

    start = (np.zeros_like(b), b, np.zeros(shape, b.dtype), np.zeros(shape, b.dtype), inner(b, b), b, 0)
    return while_loop(unfinished, step, start)[0]


METHODS = {
    "cg": conjugate_gradients,
    "bicgstab": stabilised_biconjugate_gradients,
    "gmres": minimal_residuals,
}


def solve(method: str, product: Product, b: Any, tolerance: float, most: int) -> Any:
    """Solve ``A x = b``, or have the program raise `LimitError` if the residual stays large."""
    x = METHODS[method](product, b, tolerance, most)
    residual = b - product(x)
    is_small = inner(residual, residual) <= (10 * tolerance) ** 2 * inner(b, b)
    hint = "give maxiter or tol, another solver, or look whether the matrix is singular"
    requirement = (
        f"{method} must reduce the residual to {10 * tolerance:g} of that of x = 0 in {most} turns; {hint}"
    )
    return require_end(x, is_small, operation="linear_solve", requirement=requirement)
