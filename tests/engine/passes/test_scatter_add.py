"""Sums that scatter into zeros begin with what is added to them, through the loops that add them up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.ir import Graph, verify
from wengert.engine.ir.parser import parse
from wengert.engine.passes import scatter_add
from wengert.engine.passes.scatter_add import fuse_scatter_add
from wengert.engine.passes.simplify import simplify
from wengert.engine.transforms.staging import evaluate

_X = np.linspace(-1, 2, 12).reshape(4, 3)


def _rows_twice(x: Any) -> Any:
    """Each turn reads two rows, so the cotangent of `x` is a sum of two scatters a turn."""
    return wg.fori_loop(0, 4, lambda k, s: s + np.sin(x[k]) * x[(k + 1) % 4] @ np.ones(3), np.zeros(3)).sum()


def _elements(x: Any) -> Any:
    def row(k: Any, s: Any) -> Any:
        return wg.fori_loop(0, 3, lambda j, s: s + x[k, j] * np.sin(x[j, j]), s)

    return wg.fori_loop(0, 4, row, 0.0)


def _also_read_as_a_whole(x: Any) -> Any:
    """The cotangents of one turn and of the whole array meet."""
    return wg.fori_loop(0, 4, lambda k, s: s + np.sum(x * s) * 0.1 + x[k, 0], 1.0)


def _written(x: Any) -> Any:
    def row(k: Any, y: Any) -> Any:
        y = y.copy()
        y[k] = y[k - 1] * x[k] + y[k - 2]
        return y

    return np.sum(wg.fori_loop(2, 4, row, x * 2.0))


def _known_elements(x: Any) -> Any:
    """Turns read known elements and rows, some in one branch alone, one twice."""

    def turn(k: Any, s: Any) -> Any:
        s = wg.cond(s > 0.2, lambda: s * x[2, 1] - x[0, 0], lambda: s + x[2, 1] * x[1, 2])
        return s + np.sum(x[3] * s) * x[2, 1] * 0.1 + x[k, 0]

    return wg.fori_loop(0, 4, turn, 1.0)


def _one_of_branches(x: Any) -> Any:
    def turn(k: Any, s: Any) -> Any:
        return wg.cond(s > 0.2, lambda: s * 0.7, lambda: s + x[2, 1])

    return wg.fori_loop(0, 4, turn, 0.5)


PROGRAMS = [_rows_twice, _elements, _also_read_as_a_whole, _written, _known_elements, _one_of_branches]


def _names(graph: Graph) -> set[str]:
    inner = {name for line in graph.equations for part in line.graphs() for name in _names(part)}
    return inner | {line.primitive for line in graph.equations}


def test_a_branch_adds_to_the_element_that_it_reads() -> None:
    fused = fuse_scatter_add(simplify(wg.trace(wg.grad(_one_of_branches))(_X)))
    assert "add_at" in _names(fused)
    assert "embed" not in _names(fused)


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_stay(program: Any) -> None:
    graph = simplify(wg.trace(wg.grad(program))(_X))
    fused = fuse_scatter_add(graph)
    np.testing.assert_allclose(evaluate(fused, _X), evaluate(graph, _X), rtol=1e-13)
    np.testing.assert_allclose(wg.jit(wg.grad(program))(_X), wg.grad(program)(_X), rtol=1e-12)


@pytest.mark.parametrize("program", [_rows_twice, _elements])
def test_no_turn_fills_an_array_with_zeros(program: Any) -> None:
    graph = simplify(wg.trace(wg.grad(program))(_X))
    assert "scatter_add" in _names(graph)
    names = _names(fuse_scatter_add(graph))
    assert "add_at" in names
    assert "scatter_add" not in names


SHARED = """graph(x1: f64[4], x2: f64[], x3: i64[]) {
  v1: f64[4] = scatter_add[shape=(4,)](x2, x3)
  v2: f64[4] = add(x1, v1)
  return v2, v1
}"""
LATE = """graph(x1: f64[4], x2: f64[], x3: i64[]) {
  v1: f64[4] = scatter_add[shape=(4,)](x2, x3)
  v2: f64[4] = add_at(v1, x2, x3)
  v3: f64[4] = sin(x1)
  v4: f64[4] = add(v3, v2)
  return v4
}"""


@pytest.mark.parametrize(("text", "left"), [(SHARED, True), (LATE, False)])
def test_sums_that_others_read_stay(text: str, left: bool) -> None:
    graph, given = parse(text), (np.arange(4.0), 2.5, np.int64(1))
    fused = fuse_scatter_add(graph)
    verify(fused)
    assert ("scatter_add" in _names(fused)) is left
    for one, other in zip(evaluate(fused, *given), evaluate(graph, *given), strict=True):
        np.testing.assert_array_equal(one, other)


def _chosen(x: Any) -> Any:
    """Each turn reads an element of `x` in one of two branches, one of them in a loop that ends by a condition."""

    def turn(k: Any, s: Any) -> Any:
        s = wg.cond(s > 0.3, lambda s: s + x[k, 0] * x[k, 1], lambda s: s - np.sin(x[k, 2]), s)
        return wg.while_loop(lambda c: c[0] < k, lambda c: (c[0] + 1, c[1] + x[c[0], 1] * s), (0, s), most=4)[
            1
        ]

    return wg.fori_loop(0, 4, turn, 0.5)


def test_branches_and_bounded_loops_add_in_place() -> None:
    graph = simplify(wg.trace(wg.grad(_chosen))(_X))
    assert "scatter_add" in _names(graph)
    fused = fuse_scatter_add(graph)
    verify(fused)
    assert "scatter_add" not in _names(fused)
    np.testing.assert_allclose(evaluate(fused, _X), evaluate(graph, _X), rtol=1e-13)
    np.testing.assert_allclose(wg.jit(wg.grad(_chosen))(_X), wg.grad(_chosen)(_X), rtol=1e-12)


def test_the_time_is_linear_in_the_depth_of_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level asks for the sums of the levels inside."""
    walks = [0]
    run = scatter_add._Sums.run  # pyright: ignore[reportPrivateUsage]

    def counted(sums: Any) -> Graph:
        walks[0] += 1
        return run(sums)

    monkeypatch.setattr(scatter_add._Sums, "run", counted)  # pyright: ignore[reportPrivateUsage]

    def nested(depth: int) -> Any:
        def level(k: int, x: Any) -> Any:
            if k == 0:
                return x[0, 0] * 2
            return wg.cond(x[0, k % 3] > k, lambda x: x[1, 0] * x[2, k % 3], lambda x: level(k - 1, x), x)

        return lambda x: level(depth, x)

    found: list[int] = []
    for depth in (4, 8, 12):
        walks[0] = 0
        fuse_scatter_add(simplify(wg.trace(wg.grad(nested(depth)))(_X)))
        found.append(walks[0])
    assert found[2] - found[1] <= 1.5 * (found[1] - found[0])
