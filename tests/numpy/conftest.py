"""Checks of a function: value and dtype against NumPy's, derivatives in both modes, batched, staged."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert.numpy  # noqa: F401  (registers the implementations)
from wengert.compiler.jit import jit
from wengert.engine.boxes import CONSTANT, Box, Trace, concrete, running
from wengert.engine.core import tree
from wengert.engine.core.errors import WengertError
from wengert.engine.ir.types import TensorType
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.reverse_mode import vjp
from wengert.engine.transforms.staging import evaluate, stage
from wengert.testing import check_grads

EXAMPLES = 3


def leaves(result: Any) -> list[Any]:
    return [concrete(leaf) if isinstance(leaf, Box) else leaf for leaf in tree.leaves(result)]


def same(actual: Any, expected: Any, what: str, rtol: float = 1e-12, atol: float = 1e-12) -> None:
    """Assert that values, dtypes and shapes agree, leaf by leaf."""
    actual, expected = leaves(actual), leaves(expected)
    assert len(actual) == len(expected), what
    for value, other in zip(actual, expected, strict=True):
        value, other = np.asarray(value), np.asarray(other)
        assert value.dtype == other.dtype, f"{what}: dtype {value.dtype}, NumPy's is {other.dtype}"
        np.testing.assert_allclose(value, other, rtol=rtol, atol=atol, err_msg=what)  # also compares shapes


def boxed(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function, as a transform does, with boxes that hold the arrays."""
    with running(Trace()):
        return function(*(CONSTANT.constant(np.asarray(argument)) for argument in arguments))


def staged(function: Callable[..., Any], *arguments: Any) -> Any:
    """Trace a function to a graph, and evaluate it."""
    structures: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        outputs, structure = tree.flatten(function(*values))
        structures.append(structure)
        return outputs

    types = [TensorType(np.asarray(argument).dtype, np.shape(argument)) for argument in arguments]
    graph, captured = stage(flat, types)
    outputs = evaluate(graph, *captured, *map(np.asarray, arguments))
    for output, inferred in zip(outputs, graph.output_types, strict=True):
        assert np.shape(output) == inferred.shape
        assert np.asarray(output).dtype == inferred.dtype
    return tree.unflatten(structures[0], outputs)


def batched(function: Callable[..., Any], *arguments: Any) -> None:
    """Compare `vmap` with a loop."""
    rng = np.random.default_rng(EXAMPLES)
    rows = [
        np.stack([argument + 1e-2 * rng.standard_normal(np.shape(argument)) for _ in range(EXAMPLES)])
        for argument in map(np.asarray, arguments)
    ]
    actual = tree.leaves(vmap(function)(*rows))
    looped = [tree.leaves(function(*(row[number] for row in rows))) for number in range(EXAMPLES)]
    for position, value in enumerate(actual):
        expected = np.stack([np.asarray(leaves[position]) for leaves in looped])
        np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-12, err_msg="vmap against a loop")


def check(
    function: Callable[..., Any],
    *arguments: Any,
    order: int = 2,
    concrete_only: bool = False,
    rtol: float = 1e-12,
) -> None:
    """Check a function of floating-point arrays in every mode."""
    expected = function(*arguments)
    same(boxed(function, *arguments), expected, "on boxes", rtol)
    same(vjp(function, *arguments)[0], expected, "in reverse mode", rtol)
    if order:
        check_grads(function, arguments, order=order)
    if not concrete_only:
        same(staged(function, *arguments), expected, "staged", rtol)
        batched(function, *arguments)


def values(function: Callable[..., Any], *arguments: Any, rtol: float = 1e-12) -> None:
    """Check only values and dtypes: on boxes, and staged."""
    expected = function(*arguments)
    same(boxed(function, *arguments), expected, "on boxes", rtol)
    same(staged(function, *arguments), expected, "staged", rtol)


def _outcome(run: Callable[..., Any], function: Callable[..., Any], arguments: Any) -> Any:
    """Return the leaves of a result, or the error."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return [np.asarray(leaf) for leaf in leaves(run(function, *map(np.array, arguments)))]
    except Exception as problem:
        return problem


def agrees(function: Callable[..., Any], *arguments: Any, rtol: float = 1e-12, compiled: bool = True) -> None:
    """Check that the result is NumPy's, with the signs of zeros, or an error of the class that NumPy raises."""
    expected = _outcome(lambda function, *given: function(*given), function, arguments)
    ways: dict[str, Callable[..., Any]] = {"on boxes": boxed}
    if compiled:
        ways["compiled"] = lambda function, *given: jit(function)(*given)
    if all(np.asarray(argument).dtype.kind == "f" for argument in arguments):
        ways["in reverse mode"] = lambda function, *given: vjp(function, *given)[0]
    for what, run in ways.items():
        actual = _outcome(run, function, arguments)
        if isinstance(expected, Exception):
            assert isinstance(actual, WengertError), f"{what}: {actual}, where NumPy raises {expected!r}"
            assert isinstance(actual, type(expected)), f"{what}: {actual!r}, where NumPy raises {expected!r}"
            continue
        if isinstance(actual, Exception):
            raise AssertionError(f"{what}, where NumPy gives {expected}") from actual
        same(actual, expected, what, rtol)
        for value, other in zip(actual, expected, strict=True):
            zeros = other == 0
            np.testing.assert_array_equal(np.signbit(value[zeros]), np.signbit(other[zeros]), err_msg=what)


@pytest.fixture(name="check")
def _check() -> Callable[..., None]:
    return check


@pytest.fixture(name="values")
def _values() -> Callable[..., None]:
    return values


@pytest.fixture(name="agrees", scope="session")
def _agrees() -> Callable[..., None]:
    return agrees
