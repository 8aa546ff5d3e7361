"""Slices whose ends depend on counters: views of known extent where nothing is cut off; else parts of unknown size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.ir.graph import Graph

_X = np.random.default_rng(0).normal(size=20)


def _primitives(graph: Graph) -> set[str]:
    found = {line.primitive for line in graph.equations}
    return found.union(*(_primitives(inner) for line in graph.equations for inner in line.graphs()))


def _check(program: Callable[..., Any]) -> None:
    np.testing.assert_allclose(wg.jit(program)(_X), program(_X), rtol=1e-12)
    slope = wg.grad(program)
    np.testing.assert_allclose(wg.jit(slope)(_X), slope(_X), rtol=1e-11, atol=1e-13)


def products(x: Any) -> Any:
    s = 0.0
    for i in range(15):
        s = s + np.sum(x[i : i + 5] * x[:5]) if s < 3 else s * 0.5
    return s


def written_later(x: Any) -> Any:
    s, y = x[0], x.copy()
    for i in range(2, 15):
        v = y[i - 2 : i + 1]
        if s < 3:
            y[i] = s * 0.5
        s = s + np.sum(v * v)
    return s + np.sum(y)


def of_two_counters(x: Any) -> Any:
    s = 0.0
    for i in range(4):
        for j in range(6):
            s = s + np.sum(x[3 * i + j : j + 3 * i + 3]) if s < 3 else s * 0.5
    return s


def of_a_matrix(x: Any) -> Any:
    m, s = np.outer(x[:6], x[:6]), 0.0
    for i in range(6):
        for j in range(3):
            v, w = m[i, j : j + 3], m[j : j + 3, i]
            s = s + np.sum(v * w) if s < 2 else s * 0.5
    return s


def of_a_window(x: Any) -> Any:
    s = 0.0
    for i in range(6):
        v = x[i : i + 3][1:]
        s = s + np.sum(v[::-1] * x[:2]) if s < 2 else s * 0.5
    return s


def of_two_axes(x: Any) -> Any:
    m, s = np.outer(x[:6], x[:7]), 0.0
    for i in range(4):
        for j in range(6):
            v = m[i : i + 3, j : j + 2]
            m[i, j] = 0.5 * s
            s = s + np.sum(v * x[:6].reshape(3, 2)) if s < 2 else s * 0.5
    return s + np.sum(m)


def written_along_two_axes(x: Any) -> Any:
    m, s = np.outer(x[:6], x[:7]), 0.0
    for i in range(4):
        for j in range(5):
            if s < 2:
                m[i : i + 2, j : j + 3] += s * x[2:8].reshape(2, 3)
            m[i + 1 : i + 3, j][:1] *= 0.5
            s = s + m[i, j + 1]
    return s + np.sum(m * m)


def of_three_axes(x: Any) -> Any:
    m, s = np.reshape(np.outer(x, x[:12]), (2, 10, 3, 4)), 0.0
    for k in range(2):
        for i in range(8):
            for j in range(2):
                v = m[k, i : i + 2, :2][..., j : j + 3] if j else m[k, i : i + 3, j : j + 2, 1:3]
                w = m[k, i : i + 3, j : j + 2, j : j + 2]
                s = s + np.sum(np.sin(v)) - np.sum(w * w) if s < 2 else s * 0.5
    return s


def two_axes(x: Any) -> Any:
    m, s = np.outer(x[:6], x[:6]), 0.0
    for i in range(5):
        s = s + np.sum(m[i : i + 2, i : i + 2]) if s < 3 else s * 0.5
    return s


VIEWS = [
    *(products, written_later, of_two_counters, of_a_matrix, of_a_window),
    *(two_axes, of_two_axes, written_along_two_axes, of_three_axes),
]


@pytest.mark.parametrize("program", VIEWS)
def test_windows_are_views(program: Callable[..., Any]) -> None:
    assert "scan" in _primitives(wg.trace(program)(_X))
    _check(program)


def cut_off(x: Any) -> Any:
    s = 0.0
    for i in range(20):
        s = s + np.sum(x[i : i + 5]) if s < 3 else s * 0.5
    return s


def negative(x: Any) -> Any:
    s = 0.0
    for i in range(5):
        s = s + np.sum(x[i - 2 : i + 1]) if s < 3 else s * 0.5
    return s


def growing(x: Any) -> Any:
    s = 0.0
    for i in range(6):
        s = s + np.sum(x[:i]) if s < 3 else s * 0.5
    return s


def beside_a_list(x: Any) -> Any:
    m, s = np.outer(x[:6], x[:6]), 0.0
    for i in range(5):
        s = s + np.sum(m[i : i + 2, [0, 1]] * m[:i, [0, 1]][:2].sum()) if s < 3 else s * 0.5
    return s


def window_written(x: Any) -> Any:
    s, y = 0.0, x.copy()
    for i in range(5):
        y[i : i + 3] *= 0.5
        s = s + y[i] if s < 3 else s * 0.5
    return s + np.sum(y)


@pytest.mark.parametrize("program", [cut_off, negative, growing, window_written])
def test_other_slices_are_parts_of_unknown_size(program: Callable[..., Any]) -> None:
    assert "scan" in _primitives(wg.trace(program)(_X))
    _check(program)


def test_an_index_array_beside_such_a_slice_is_unrolled() -> None:
    assert "scan" not in _primitives(wg.trace(beside_a_list)(_X))
    _check(beside_a_list)


def behind_a_loop(x: Any) -> Any:
    k = 0
    while x[k] < 1:
        k = k + 1
    return np.sum(x[k : k + 2])


def test_a_slice_whose_ends_only_a_run_knows() -> None:
    _check(behind_a_loop)


def test_a_loop_of_many_windows_is_staged() -> None:
    def program(x: Any) -> Any:
        s = 0.0
        for i in range(100_000):
            s = s * 0.9 + np.sum(x[i : i + 3])
        return s

    x = np.ones(100_010)
    assert len(wg.trace(program)(x).equations) < 10
    np.testing.assert_allclose(wg.jit(program)(x), 30.0, rtol=1e-12)
