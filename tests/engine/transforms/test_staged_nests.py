"""Nests of loops: a body is traced about twice for each loop around it, and results, types included, are Python's."""

from __future__ import annotations

import linecache
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

_I = np.array([1, 2, 3, 4, 5, 6])
_X = np.array([0.3, -1.2, 0.7, 2.5, -0.4, 0.9])


def _program(kind: str, depth: int, note: Any, before: str, body: str) -> Callable[..., Any]:
    """Return a program of nested loops of one kind.

    Args:
        kind: of the loops: `for` or `while`.
        depth: how many there are.
        note: what the innermost body calls.
        before: a statement before each inner loop.
        body: the innermost statement.
    """
    lines, pad = ["def program(x):", "    s, u = 0 if x[0] > 0 else 1, x * 1"], "    "
    k = ""
    for level in range(depth):
        k = f"k{level}"
        head = (
            [f"for {k} in range(6):"] if kind == "for" else [f"{k} = 0", f"while {k} < 6 and s < 1e3 * x[3]:"]
        )
        lines += [pad + line for line in head]
        pad += "    "
        lines += [f"{pad}{before.format(k=k)}", *([f"{pad}{k} += 1"] if kind == "while" else [])]
    lines += [f"{pad}note(0)", f"{pad}{body.format(k=k)}", "    return s + np.sum(u)"]
    text = "\n".join(lines) + "\n"
    name = f"<nest {hash(text)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    scope: dict[str, Any] = {"np": np, "note": note, "__name__": "nests"}
    exec(compile(text, name, "exec"), scope)
    return scope["program"]


@pytest.mark.parametrize("kind", ["for", "while"])
@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("pass", "s = s + 0.01 * x[1]"),
        ("w{k} = np.zeros(3)", "w{k}[1] = s; s = w{k}[1] + 0.01 * x[1]"),
        ("u = u * 0.9", "u[{k} % 5] = s; s = s + 0.5"),
        ("h = [s, 1]", "h[1] = h[0] + x[2] * 0.01; s = h[1]"),
    ],
)
def test_visits_of_a_body_grow_with_the_depth_alone(kind: str, before: str, body: str) -> None:
    for depth in (1, 2, 5):
        visits = array("b")  # a list would be one that the program makes longer
        program = _program(kind, depth, visits.append, before, body)
        wg.trace(program)(_X)
        # The elements of a list become one array at first.
        most = depth * (depth + 5) // 2 if before.startswith("h") else 3 * depth + 2
        assert 0 < len(visits) <= max(most, 5)


@pytest.mark.parametrize("kind", ["for", "while"])
def test_nests_equal_python(kind: str) -> None:
    before, body = "w{k} = u * 0.5", "w{k}[{k} % 5] = s; s = s + 0.01 * w{k}[1]; u = w{k} + s"
    program = _program(kind, 3, id, before, body)
    np.testing.assert_allclose(wg.jit(program)(_X), program(_X), rtol=1e-13)


def _total(start: Any, values: Any) -> Any:
    for value in values:
        start = start + value
    return start


def _power(start: Any, factor: Any) -> Any:
    for _ in range(6):
        start = start * factor
    return start


def integers_and_floats_by_one_function(x: Any, i: Any) -> Any:
    """Drafts meet the calls in another order: the first turn knows `k`, later ones do not."""
    k, s, n = 0, 0.0, 0
    while s < 5 * x[3]:
        if k > 0:
            n = n + _total(0, i) // 2
        s = s + abs(_total(0, x)) + _power(1, 2) // 5
        k += 1
    return n, s, k


def floats_and_integers_by_one_function(x: Any, i: Any) -> Any:
    """As before: what the calls before the integers were is no state of the integers."""
    k, s, n = 0, 0.0, 0
    while s < 5 * x[3]:
        if k > 0:
            s = s + abs(_total(0, x))
        n = n + _total(0, i) // 2 + _power(1, i[1]) // 3
        s = s + 1 + 0.1 * _power(1, x[0])
        k += 1
    return n, s, k


def types_that_widen_from_draft_to_draft(x: Any, i: Any) -> Any:
    a: Any = 0
    b, c, d = a, a, a
    for m in range(6):
        for k in range(7):
            for _ in range(5):
                d = d + c
                c = c + b
                b = b + a
            a = a + 1 if x[k % 5] > 0 else a + 2
            if m > 3:
                a = a + i[k % 5] * 0.5
    return a, b, c, d


def exchanges_in_a_nest(x: Any, i: Any) -> Any:
    u, v = x * 1, x * 2
    for _ in range(6):
        for k in range(5):
            for j in range(1, 5):
                v[j] = 0.5 * (u[j - 1] + u[j + 1]) + (0.1 if x[k] > 0 else 0.2)
            u, v = v, u
    return u


def known_turns_inside(x: Any, i: Any) -> Any:
    """A known loop inside depends on a counter that the first draft knows."""
    n, s = 0, 0
    while s < 30 * x[3]:
        t = 0
        for k in range(n, n + 3):
            t = t + k // 2
        n += 1
        s = s + t
    return s, n


PROGRAMS = [
    integers_and_floats_by_one_function,
    floats_and_integers_by_one_function,
    types_that_widen_from_draft_to_draft,
    exchanges_in_a_nest,
    known_turns_inside,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_types_and_values_of_nests_are_those_of_python(program: Callable[..., Any]) -> None:
    found, expected = wg.jit(program)(_X, _I), program(_X, _I)
    for one, other in zip(found, expected, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=1e-12)
