"""Helpers for tests of control flow: run a program in every way, against Python's own control flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.engine.core import tree
from wengert.engine.ir.graph import Graph
from wengert.engine.ir.parser import parse
from wengert.engine.ir.types import type_of
from wengert.engine.ir.verify import verify
from wengert.engine.transforms.staging import evaluate, stage

Function = Callable[..., Any]


def write_down(function: Function, *arguments: Any) -> tuple[Graph, list[Any], tree.Structure]:
    """Return a function as a verified graph, its captured values, and the structure of its result."""
    leaves, structure = tree.flatten(arguments)
    structures: list[tree.Structure] = []

    def flat(*values: Any) -> list[Any]:
        outputs, out_structure = tree.flatten(function(*tree.unflatten(structure, values)))
        structures.append(out_structure)
        return outputs

    graph, captured = stage(flat, list(map(type_of, leaves)))
    verify(graph)
    return graph, captured, structures[0]


def staged(function: Function) -> Function:
    """Return a function that is staged to a graph, which is then evaluated."""

    def run(*arguments: Any) -> Any:
        return staged_once(function, *arguments)(*arguments)

    return run


def staged_once(function: Function, *arguments: Any) -> Function:
    """Return a function as a graph that is evaluated at any arguments of the given types."""
    graph, captured, structure = write_down(function, *arguments)
    return lambda *given: tree.unflatten(structure, evaluate(graph, *captured, *tree.leaves(given)))


def printed_and_parsed(graph: Graph) -> Graph:
    """Return a graph, printed and parsed."""
    text = graph.text(full=True)
    again = parse(text)
    assert again.text(full=True) == text
    return again


def names(graph: Graph) -> list[str]:
    """Return the operations of a graph and of the graphs inside it."""
    actual: list[str] = []
    for equation in graph.equations:
        actual.append(equation.primitive)
        for inner in equation.graphs():
            actual += names(inner)
    return actual


def assert_close(actual: Any, expected: Any, what: str = "") -> None:
    leaves, structure = tree.flatten(actual)
    expected_leaves, expected_structure = tree.flatten(expected)
    assert structure == expected_structure, what
    for leaf, other in zip(leaves, expected_leaves, strict=True):
        np.testing.assert_allclose(leaf, other, rtol=1e-9, atol=1e-12, err_msg=what)


def assert_equal_in_norm(actual: Any, expected: Any) -> None:
    """Check that compiled code differs from NumPy by rounding alone: sums in another order, and fused products."""
    scale = max(1.0, float(np.linalg.norm(expected)))
    assert float(np.linalg.norm(np.subtract(actual, expected))) <= 1e-14 * scale


def _along(function: Function) -> Function:
    """Return the derivative in a direction that differs from element to element."""

    def pushed(*arguments: Any) -> Any:
        directions = tree.map_tree(
            lambda x: np.cos(np.arange(np.size(x)) + 1.0).reshape(np.shape(x))[()], arguments
        )
        return wg.jvp(function, arguments, directions)

    return pushed


def _every(transform: Function) -> Callable[[Function], Function]:
    def apply(function: Function) -> Function:
        def run(*arguments: Any) -> Any:
            return transform(function, argnums=tuple(range(len(arguments))))(*arguments)

        return run

    return apply


#: Transforms of a function with a scalar result.
TRANSFORMS: dict[str, Callable[[Function], Function]] = {
    "value": lambda function: function,
    "grad": _every(wg.grad),
    "jvp": _along,
    "forward over reverse": _every(wg.hessian),
    "reverse over reverse": lambda function: wg.jacrev(wg.grad(function)),
    "reverse over forward": lambda function: wg.jacrev(wg.jacfwd(function)),
    "forward over forward": lambda function: wg.jacfwd(wg.jacfwd(function)),
}


def check_everywhere(
    function: Function,
    reference: Function,
    examples: Sequence[tuple[Any, ...]],
    only: Sequence[str] = tuple(TRANSFORMS),
) -> None:
    """Check a function against a reference under every transform: eagerly, in a graph, and for many examples.

    Args:
        function: the function to test.
        reference: the same function in Python's own control flow.
        examples: arguments of one structure, floating-point.
        only: the transforms that apply.
    """
    columns = [np.stack([np.asarray(x) for x in column]) for column in zip(*examples, strict=True)]
    for name in only:
        transform = TRANSFORMS[name]
        expected = [transform(reference)(*arguments) for arguments in examples]
        in_a_graph = staged_once(transform(function), *examples[0])
        of_a_graph = transform(staged_once(function, *examples[0]))
        for arguments, leaf in zip(examples, expected, strict=True):
            assert_close(transform(function)(*arguments), leaf, f"{name}")
            assert_close(in_a_graph(*arguments), leaf, f"{name} in a graph")
            assert_close(of_a_graph(*arguments), leaf, f"{name} of a graph")
        stacked = tree.map_tree(lambda *rows: np.stack(rows), *expected)
        assert_close(wg.vmap(transform(function))(*columns), stacked, f"vmap of {name}")
        assert_close(staged(wg.vmap(transform(function)))(*columns), stacked, f"vmap of {name} in a graph")
        assert_close(wg.vmap(in_a_graph)(*columns), stacked, f"vmap of {name} of a graph")

    if not {"value", "grad"}.intersection(only):
        return

    def total(*batches: Any) -> Any:
        return np.sum(wg.vmap(function)(*batches))

    slopes = [TRANSFORMS["grad"](reference)(*arguments) for arguments in examples]
    stacked = tree.map_tree(lambda *rows: np.stack(rows), *slopes)
    if "value" in only:
        assert_close(TRANSFORMS["grad"](total)(*columns), stacked, "grad of vmap")
    if "grad" in only:
        assert_close(staged(TRANSFORMS["grad"](total))(*columns), stacked, "grad of vmap in a graph")
