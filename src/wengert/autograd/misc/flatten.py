"""Containers as flat vectors, and back."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.autograd.numpy.numpy_vjps import match_complex
from wengert.engine.core import tree
from wengert.engine.core.shapes import shape_of, size


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the numbers of containers as one vector, and the function that puts a vector into such containers.

    Example:
        >>> vector, unflatten = flatten({"w": np.ones((1, 2)), "b": 3.0})
        >>> print(vector, unflatten(2.0 * vector))
        [3. 1. 1.] {'w': array([[2., 2.]]), 'b': np.float64(6.0)}
    """
    leaves, structure = tree.flatten(value)
    shapes = [shape_of(leaf) for leaf in leaves]
    ends = [*itertools.accumulate(map(size, shapes))]

    def unflatten(vector: Any) -> Any:
        parts = [vector[end - size(shape) : end] for shape, end in zip(shapes, ends, strict=True)]
        rows = zip(leaves, parts, shapes, strict=True)
        shaped = [
            match_complex(leaf, part.reshape(shape) if shape else part[0]) for leaf, part, shape in rows
        ]
        return tree.unflatten(structure, shaped)

    return np.concatenate([np.ravel(leaf) for leaf in leaves]) if leaves else np.zeros(0), unflatten


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Callable[..., Any], Any, Any]:
    """Return a function of containers as one of vectors, the way back to containers, and the example as a vector.

    Example:
        >>> flat, unflatten, vector = flatten_func(lambda pair: [pair[1], pair[0]], [1.0, 2.0])
        >>> flat(vector)
        array([2., 1.])
    """
    vector, unflatten = flatten(example)

    def of_vector(x: Any, *args: Any) -> Any:
        return flatten(func(unflatten(x), *args))[0]

    return of_vector, unflatten, vector
