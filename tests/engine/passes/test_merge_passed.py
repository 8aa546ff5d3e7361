"""Loops and branches take each value once, and return each once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.ir import Graph, verify
from wengert.engine.ir.parser import parse
from wengert.engine.passes.simplify import simplify
from wengert.engine.transforms.staging import evaluate

_X = np.linspace(0.2, 1.3, 5)


def _loop(x: Any) -> Any:
    """Each turn reads an element several times."""

    def turn(k: Any, s: Any) -> Any:
        v = np.stack([np.sin(x[k] * s), s])
        return v[0] * v[1] + np.sin(v[0] * v[1])

    return wg.fori_loop(0, 5, turn, 0.3)


def _nested(x: Any) -> Any:
    def row(k: Any, s: Any) -> Any:
        return wg.fori_loop(0, 3, lambda j, t: np.sin(t) * np.cos(t) * x[j] + x[k] * t * t, s)

    return wg.fori_loop(0, 5, row, 0.3)


def _branch(x: Any) -> Any:
    def turn(k: Any, s: Any) -> Any:
        return wg.cond(s > 0.4, lambda: s * np.sin(x[k]) * np.sin(x[k]) + s * s, lambda: s + x[k] * x[k])

    return wg.fori_loop(0, 5, turn, 0.3)


def _search(x: Any) -> Any:
    def turn(state: Any) -> Any:
        k, s = state
        return k + 1, s * x[k] + x[k] * np.sin(s * x[0]) * x[0]

    return wg.while_loop(lambda state: state[0] < 5, turn, (0, 0.7), most=7)[1]


PROGRAMS = [_loop, _nested, _branch, _search]


def _repeats(graph: Graph) -> int:
    """Return how often loops and branches take or return a value again."""
    count = 0
    for equation in graph.equations:
        programs = list(equation.graphs())
        count += sum(map(_repeats, programs))
        if equation.primitive in ("scan", "bounded_scan"):
            body, params = programs[0], equation.params
            lead = len(equation.operands) - len(body.inputs)
            last = params["constants"] + params["carries"]
            operands = equation.operands[lead:][last:]
            rows = body.outputs[params["carries"] :]
            count += len(operands) - len(set(map(id, operands))) + len(rows) - len(set(map(id, rows)))
    return count


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_stay_and_pass_once(program: Any) -> None:
    graph = wg.trace(wg.grad(program))(_X)
    merged = simplify(graph)
    verify(merged)
    np.testing.assert_allclose(evaluate(merged, _X), evaluate(graph, _X), rtol=1e-14)
    np.testing.assert_allclose(wg.jit(wg.grad(program))(_X), wg.grad(program)(_X), rtol=1e-12)
    assert _repeats(merged) == 0


REPEATING = """
graph(x: f64[5], s: f64[], p: bool[]) {
  v1: f64[], v2: f64[5], v3: f64[5] = scan[body=graph(x1: f64[], x2: f64[], x3: f64[], x4: f64[], x5: f64[]) {
    v1: f64[] = multiply(x4, x5)
    v2: f64[] = multiply(x1, x2)
    v3: f64[] = multiply(x3, v2)
    v4: f64[] = add(v3, v1)
    return v4, v1, v1
  }, constants=2, carries=1, length=5, reverse=False, unroll=1](s, s, s, x, x)
  v5: f64[5], v6: f64[5] = cond[on_true=graph(x1: f64[5], x2: f64[5]) {
    v1: f64[5] = subtract(x1, x2)
    return v1, v1
  }, on_false=graph(x1: f64[5], x2: f64[5]) {
    v1: f64[5] = sin(x2)
    return v1, v1
  }](p, v2, v3)
  v7: f64[5] = add(v5, v6)
  return v1, v7
}
"""


@pytest.mark.parametrize("predicate", [True, False])
def test_what_passes_twice_passes_once(predicate: bool) -> None:
    graph, values = parse(REPEATING), (_X, np.float64(0.3), np.bool_(predicate))
    merged = simplify(graph)
    verify(merged)
    assert _repeats(graph) == 2
    assert _repeats(merged) == 0
    assert [len(equation.operands) for equation in merged.equations] == [3, 2, 2]
    for found, expected in zip(evaluate(merged, *values), evaluate(graph, *values), strict=True):
        np.testing.assert_array_equal(found, expected)
