"""Elements are not written again with what they hold, and what no turn of a loop changes is a constant of the loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.ir import Graph, verify
from wengert.engine.ir.parser import parse
from wengert.engine.passes.forward_writes import forward_writes
from wengert.engine.transforms.staging import evaluate

_X, _I, _J = np.array([1.5, -0.0, 3.0, -2.0]), np.int64(1), np.int64(-2)


def _text(lines: str, result: str = "v9, v1") -> Graph:
    return parse(f"graph(x: f64[4], i: i64[], j: i64[]) {{\n{lines}\n  return {result}\n}}")


READ_BACK = """  v1: f64[] = gather(x, i)
  v2: f64[] = sin(v1)
  v9: f64[4] = scatter(x, v1, i)"""
READ_ELSEWHERE = """  v1: f64[] = gather(x, j)
  v2: f64[] = sin(v1)
  v9: f64[4] = scatter(x, v1, i)"""
READ_BEFORE = """  v1: f64[] = gather(x, i)
  v2: f64[4] = sin(x)
  v9: f64[4] = scatter(v2, v1, i)"""
ADDED_TO_ZERO = """  v1: f64[] = gather(x, j)
  v2: f64[4] = scatter(x, 0.0, i)
  v9: f64[4] = add_at(v2, v1, i)"""
ADDED_ELSEWHERE = """  v1: f64[] = gather(x, j)
  v2: f64[4] = scatter(x, 0.0, i)
  v9: f64[4] = add_at(v2, v1, j)"""
ADDED_TO_ONE = """  v1: f64[] = gather(x, j)
  v2: f64[4] = scatter(x, 1.0, i)
  v9: f64[4] = add_at(v2, v1, i)"""


@pytest.mark.parametrize(
    ("lines", "result", "left"),
    [
        (READ_BACK, "v9, v2", "gather sin"),
        (READ_ELSEWHERE, "v9, v2", "gather sin scatter"),
        (READ_BEFORE, "v9, v2", "gather sin scatter"),
        (ADDED_TO_ZERO, "v9, v1", "gather scatter"),
        (ADDED_ELSEWHERE, "v9, v1", "gather scatter add_at"),
        (ADDED_TO_ONE, "v9, v1", "gather scatter add_at"),
    ],
)
def test_what_is_known_is_not_written(lines: str, result: str, left: str) -> None:
    graph = _text(lines, result)
    changed = forward_writes(graph)
    verify(changed)
    assert [equation.primitive for equation in changed.equations] == left.split()
    for one, other in zip(evaluate(changed, _X, _I, _J), evaluate(graph, _X, _I, _J), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_index_of_an_element_that_nothing_else_reads_is_checked() -> None:
    """Without the write nothing would report that the index lies outside."""
    graph = _text("  v1: f64[] = gather(x, i)\n  v9: f64[4] = scatter(x, v1, i)", "v9")
    assert forward_writes(graph) is graph


LOOP = """graph(x: f64[4], w: f64[]) {
  v1: f64[4], v2: f64[], v3: f64[], v4: f64[3] = scan[length=3, reverse=False, unroll=1,
      body=graph(w: f64[], x: f64[4], s: f64[], u: f64[]) {
    v1: f64[] = gather(x, 2)
    v2: f64[] = multiply(s, w)
    v3: f64[] = add(v2, v1)
    return x, v3, u, v3
  }, constants=1, carries=3](w, x, w, w)
  v5: f64[] = add(v2, v3)
  return v1, v5, v4
}"""


def test_carries_that_stay_are_constants() -> None:
    graph = parse(LOOP)
    changed = forward_writes(graph)
    verify(changed)
    (scan, _) = changed.equations
    assert (scan.params["constants"], scan.params["carries"], len(scan.outputs)) == (3, 1, 2)
    arguments: tuple[Any, ...] = (_X, np.float64(0.7))
    compiled = wg.jit(lambda *values: evaluate(graph, *values))(*arguments)
    for one, other, third in zip(
        evaluate(changed, *arguments), evaluate(graph, *arguments), compiled, strict=True
    ):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(third, other, rtol=1e-15)
