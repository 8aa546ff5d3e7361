"""The ways in which one program runs: on plain arrays, and inside each transform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.engine.core import tree
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import type_of
from wengert.engine.transforms.staging import evaluate, stage

Array = np.ndarray[Any, Any]


def on_tape(function: Callable[..., Any], *arguments: Any) -> Any:
    return wg.vjp(function, *arguments)[0]


def on_duals(function: Callable[..., Any], *arguments: Any) -> Any:
    return wg.jvp(function, arguments, tuple(np.ones(shape_of(x), dtype_of(x))[()] for x in arguments))[0]


def in_batch(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run on a batch of the same example twice."""
    twice = [np.stack([np.asarray(x)] * 2) for x in arguments]
    result = wg.vmap(function)(*twice)
    return tree.map_tree(lambda value: value[1], result)


def in_graph(function: Callable[..., Any], *arguments: Any) -> Any:
    structures: list[Any] = []

    def flat(*boxes: Any) -> list[Any]:
        leaves, structure = tree.flatten(function(*boxes))
        structures.append(structure)
        return leaves

    graph, captured = stage(flat, [type_of(x) for x in arguments])
    assert not captured
    return tree.unflatten(structures[0], evaluate(graph, *arguments))


#: Modes with known values, and modes with types only.
EAGER = (on_tape, on_duals)
TYPED = (in_batch, in_graph)


def assert_same(actual: Any, expected: Any, rtol: float = 0.0) -> None:
    """Compare values, shapes and dtypes, leaf by leaf."""
    leaves, structure = tree.flatten(actual)
    expected_leaves, expected_structure = tree.flatten(expected)
    assert structure == expected_structure
    for leaf, other in zip(leaves, expected_leaves, strict=True):
        assert (shape_of(leaf), dtype_of(leaf)) == (shape_of(other), dtype_of(other))
        np.testing.assert_allclose(leaf, other, rtol=rtol)


def gradient_by_differences(function: Callable[[Array], Any], x: Array, step: float = 2.0**-10) -> Array:
    """Return the gradient of a scalar function by central differences, extrapolated once."""

    def central(index: tuple[int, ...], size: float) -> float:
        after, before = x.copy(), x.copy()
        after[index] += size
        before[index] -= size
        return float(function(after) - function(before)) / (2 * size)

    result = np.zeros(x.shape)
    for index in np.ndindex(*x.shape):
        result[index] = (4 * central(index, step) - central(index, 2 * step)) / 3
    return result


def assert_gradient(
    function: Callable[[Array], Any],
    x: Array,
    modes: Sequence[str] = ("reverse", "forward"),
    rtol: float = 1e-6,
) -> None:
    """Compare the gradient of a scalar function with differences."""
    expected = gradient_by_differences(function, x)
    atol = rtol * max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    for mode in modes:
        actual = {"reverse": wg.grad, "forward": wg.jacfwd}[mode](function)(x)
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)
