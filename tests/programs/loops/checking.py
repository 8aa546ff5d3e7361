"""A program's value and gradient: in Python, by differences, eagerly and compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from tests.programs.loops.cases import Program


def leaves(result: Any) -> list[Any]:
    """Return the arrays and numbers of a result."""
    return (
        [leaf for part in result for leaf in leaves(part)] if isinstance(result, (tuple, list)) else [result]
    )


class Checked:
    """A program at a size: its arguments, and what each mode makes of it."""

    def __init__(self, program: Program, size: int) -> None:
        self.program = program
        self.arguments = program.arguments(size)

    @functools.cached_property
    def value(self) -> Any:
        """What Python computes."""
        return self.program.function(*self.arguments)

    @functools.cached_property
    def weights(self) -> list[Any]:
        """The weights of the numbers of each result in `loss`; None for integers."""
        return [
            np.cos(1.0 + place + np.arange(np.size(leaf))) if np.asarray(leaf).dtype.kind == "f" else None
            for place, leaf in enumerate(leaves(self.value))
        ]

    def loss(self, *arguments: Any) -> Any:
        """Return a sum of the numbers of the result with different weights; integers do not count."""
        terms: Any = 0.0
        for leaf, weights in zip(leaves(self.program.function(*arguments)), self.weights, strict=True):
            if weights is not None:
                terms = terms + np.sum(np.reshape(leaf, -1) * weights)
        return terms

    def compiled(self, function: Callable[..., Any]) -> Any:
        return wg.jit(function, static_argnums=self.program.static)

    def gradient(self) -> Callable[..., Any]:
        assert self.weights  # no transform sees how they are made
        return wg.grad(self.loss, argnums=self.program.wrt)

    def slope(self, step: float = 1e-4) -> float:
        """Return the slope along `direction`, by central differences of fourth order."""

        def at(distance: float) -> float:
            moved = list(self.arguments)
            for place, direction in zip(self.program.wrt, self.direction(), strict=True):
                moved[place] = moved[place] + distance * direction
            return float(self.loss(*moved))

        return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step)

    def direction(self) -> list[Any]:
        """Return a direction for the arguments of the gradient; symmetric where they are symmetric."""
        rng = np.random.default_rng(0)
        found: list[Any] = []
        for place in self.program.wrt:
            shape = np.shape(self.arguments[place])
            drawn = rng.normal(size=shape)
            square = len(shape) == 2 and shape[0] == shape[1]
            if square and np.array_equal(self.arguments[place], np.transpose(self.arguments[place])):
                drawn = drawn + np.transpose(drawn)
            found.append(drawn if shape else float(drawn))
        return found


def same(actual: Any, expected: Any, tolerance: float) -> bool:
    """Return whether two results agree, relative to the largest number of each array."""
    pairs = list(zip(leaves(actual), leaves(expected), strict=True))
    return all(
        np.shape(a) == np.shape(b)
        and np.asarray(a).dtype == np.asarray(b).dtype
        and np.allclose(
            a, b, rtol=tolerance, atol=tolerance * float(np.max(np.abs(b), initial=0.0)), equal_nan=True
        )
        for a, b in pairs
    )
