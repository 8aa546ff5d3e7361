"""Nested functions: each level is control flow around the next level, with its meaning in plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.engine.ir.graph import Equation, Graph

Function = Callable[..., Any]

calls: list[str] = []
"""The kind of each level that ran, which counts the calls of user functions."""


def _around(u: Any, x: Any) -> Any:
    """Return the result of a level, given the value ``u`` of the next level and its own argument."""
    return np.sin(1.1 * u) + 0.1 * x


def _cond(inner: Function) -> Function:
    return lambda x: wg.cond(x > -9.0, lambda x: _around(inner(x), x), lambda x: x * x, x)


def _cond_closing_over(inner: Function) -> Function:
    return lambda x: wg.cond(x > -9.0, lambda: _around(inner(x), x), lambda: x * x)


def _scan(inner: Function) -> Function:
    def level(x: Any) -> Any:
        last, rows = wg.scan(lambda c, y: (_around(inner(c), c) * y, c), x, np.array([1.0]))
        return last + 0.0 * rows[0]

    return level


def _sum(inner: Function) -> Function:
    """Carry a sum that begins with a Python number along rows that depend on the argument."""

    def level(x: Any) -> Any:
        rows = np.stack([x, x])
        return wg.scan(lambda total, row: (total + 0.5 * _around(inner(row), x), None), 0.0, rows)[0]

    return level


def _known_at_first(inner: Function) -> Function:
    """Carry a known value; the step closes over the argument."""
    return lambda x: wg.fori_loop(0, 2, lambda i, c: 0.0 * c + _around(inner(x), x), 0.0)


def _fori(inner: Function) -> Function:
    return lambda x: wg.fori_loop(0, 1, lambda i, c: _around(inner(c), c) + i, x)


def _while(inner: Function) -> Function:
    def level(x: Any) -> Any:
        step = lambda state: (state[0] + 1, _around(inner(state[1]), x))  # noqa: E731
        return wg.while_loop(lambda state: state[0] < 1, step, (0, x))[1]

    return level


def _checkpoint(inner: Function) -> Function:
    return wg.checkpoint(lambda x: _around(inner(x), x))


def _custom_jvp(inner: Function) -> Function:
    level = wg.custom_jvp(lambda x: _around(inner(x), x))

    @level.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        u, du = wg.jvp(inner, primals, tangents)
        return _around(u, primals[0]), 1.1 * np.cos(1.1 * u) * du + 0.1 * tangents[0]

    return level


def _custom_vjp(inner: Function) -> Function:
    level = wg.custom_vjp(lambda x: _around(inner(x), x))

    def forward(x: Any) -> Any:
        u, slope = wg.jvp(inner, (x,), (1.0,))
        return _around(u, x), (u, slope)

    def backward(kept: Any, cotangent: Any) -> Any:
        u, slope = kept
        return ((1.1 * np.cos(1.1 * u) * slope + 0.1) * cotangent,)

    level.defvjp(forward, backward)
    return level


#: Control flow with one step, which calls the next level once.
SINGLE: dict[str, Callable[[Function], Function]] = {
    "cond": _cond,
    "cond closing over": _cond_closing_over,
    "scan": _scan,
    "fori_loop": _fori,
    "checkpoint": _checkpoint,
    "custom_jvp": _custom_jvp,
    "custom_vjp": _custom_vjp,
}
#: Loops with several steps: their graphs are as long as with one, but running them takes exponential time.
SEVERAL: dict[str, Callable[[Function], Function]] = {"sum": _sum, "known at first": _known_at_first}
#: Reverse mode does not support it in a graph.
FORWARD: dict[str, Callable[[Function], Function]] = {"while_loop": _while}
LEVELS = {**SINGLE, **SEVERAL, **FORWARD}


def nest(kinds: Sequence[str]) -> Function:
    """Return a nest of the given kinds, the outermost first."""

    def count(kind: str, function: Function) -> Function:
        def counted(x: Any) -> Any:
            calls.append(kind)
            return function(x)

        return counted

    function: Function = np.sin
    for kind in reversed(kinds):
        function = count(kind, LEVELS[kind](function))
    return function


def mixture(names: Sequence[str], depth: int, seed: int) -> list[str]:
    """Return kinds drawn at random."""
    return random.Random(seed).choices(names, k=depth)


def expected(depth: int, x: float) -> tuple[float, float, float]:
    """Return the value of a nest and its first two derivatives, by the chain rule."""
    value, slope, bend = np.sin(x), np.cos(x), -np.sin(x)
    for _ in range(depth):
        sine, cosine = np.sin(1.1 * value), np.cos(1.1 * value)
        bend = 1.1 * cosine * bend - 1.21 * sine * slope * slope
        value, slope = sine + 0.1 * x, 1.1 * cosine * slope + 0.1
    return value, slope, bend


def distinct_equations(graph: Graph) -> int:
    """Return the number of equations of a graph, with each inner graph counted once."""
    return len({id(equation) for equation in _equations(graph, set())})


def _equations(graph: Graph, seen: set[int]) -> Iterator[Equation]:
    if id(graph) in seen:
        return
    seen.add(id(graph))
    for equation in graph.equations:
        yield equation
        for inner in equation.graphs():
            yield from _equations(inner, seen)
