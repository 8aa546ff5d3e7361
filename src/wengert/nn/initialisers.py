"""Initialisers: the first values of weights, drawn from an explicit seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from wengert.engine.core.docstrings import documented
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import Shape

Seed: TypeAlias = int | np.random.Generator
Initialiser: TypeAlias = Callable[[Seed, Shape, int, int], Any]

_initialiser = documented(
    {
        "seed": "an integer >= 0, or a generator.",
        "shape": "the shape of the weights.",
        "fan_in": "the number of values that enter a unit.",
        "fan_out": "the number of values that leave it.",
    },
    Returns="The weights, float32.",
)


def generator(seed: Seed) -> np.random.Generator:
    """Return the generator of a seed; a generator is its own."""
    if isinstance(seed, np.random.Generator):
        return seed
    if not isinstance(seed, (int, np.integer)) or seed < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        hint = "give an integer >= 0 or a np.random.Generator"
        raise ArgumentError(message("initialiser", "an explicit seed is needed", repr(seed), hint))
    return np.random.default_rng(seed)


def _uniform(seed: Seed, shape: Shape, variance: float) -> Any:
    bound = math.sqrt(3 * variance)
    return generator(seed).uniform(-bound, bound, shape).astype(np.float32)


def _normal(seed: Seed, shape: Shape, variance: float) -> Any:
    return (math.sqrt(variance) * generator(seed).standard_normal(shape)).astype(np.float32)


@_initialiser
def glorot_uniform(seed: Seed, shape: Shape, fan_in: int, fan_out: int) -> Any:
    """Draw uniformly with variance ``2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010).

    Example:
        >>> glorot_uniform(0, (784, 300), 784, 300).shape
        (784, 300)
    """
    return _uniform(seed, shape, 2 / (fan_in + fan_out))


@_initialiser
def glorot_normal(seed: Seed, shape: Shape, fan_in: int, fan_out: int) -> Any:
    """Draw from a normal distribution with variance ``2 / (fan_in + fan_out)``.

    Example:
        >>> glorot_normal(0, (2, 3), 2, 3).dtype
        dtype('float32')
    """
    return _normal(seed, shape, 2 / (fan_in + fan_out))


@_initialiser
def he_uniform(seed: Seed, shape: Shape, fan_in: int, fan_out: int) -> Any:
    """Draw uniformly with variance ``2 / fan_in`` (He et al., 2015), for layers before a relu.

    Example:
        >>> he_uniform(0, (2, 3), 2, 3).dtype
        dtype('float32')
    """
    return _uniform(seed, shape, 2 / fan_in)


@_initialiser
def he_normal(seed: Seed, shape: Shape, fan_in: int, fan_out: int) -> Any:
    """Draw from a normal distribution with variance ``2 / fan_in``.

    Example:
        >>> he_normal(0, (2, 3), 2, 3).dtype
        dtype('float32')
    """
    return _normal(seed, shape, 2 / fan_in)


@_initialiser
def orthogonal(seed: Seed, shape: Shape, fan_in: int, fan_out: int) -> Any:
    """Draw a square orthogonal matrix (Saxe et al., 2014).

    Its elements have Glorot's variance, ``2 / (fan_in + fan_out)``, and repeated products neither grow nor vanish.

    Raises:
        ShapeError: the shape is not square.

    Example:
        >>> u = orthogonal(0, (4, 4), 4, 4)
        >>> bool(np.allclose(u @ u.T, np.eye(4), atol=1e-6))
        True
    """
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeError(message("orthogonal", "the matrix must be square", str(shape)))
    q, r = np.linalg.qr(generator(seed).standard_normal(shape))
    return (q * np.sign(np.diag(r))).astype(np.float32)  # the signs make the draw uniform


@_initialiser
def zeros(seed: Seed, shape: Shape, fan_in: int, fan_out: int) -> Any:
    """Return zeros.

    Example:
        >>> zeros(0, (2,), 1, 1)
        array([0., 0.], dtype=float32)
    """
    return np.zeros(shape, np.float32)


def normal(deviation: float) -> Initialiser:
    """Return an initialiser that draws from a normal distribution.

    Args:
        deviation: the standard deviation.

    Returns:
        An initialiser.

    Example:
        >>> normal(0.1)(0, (2, 3), 2, 3).shape
        (2, 3)
    """
    return lambda seed, shape, fan_in, fan_out: _normal(seed, shape, deviation**2)


def rescaled(initialise: Initialiser, factor: float) -> Initialiser:
    """Return an initialiser that multiplies the values of another.

    Args:
        initialise: the other initialiser.
        factor: the factor.

    Returns:
        An initialiser.

    Example:
        >>> float(rescaled(normal(1.0), 0.0)(0, (1,), 1, 1)[0])
        0.0
    """
    return lambda seed, shape, fan_in, fan_out: np.float32(factor) * initialise(seed, shape, fan_in, fan_out)
