"""Reads that the pass backward repeats in the arrays after all turns: gradients, and what is proven of later writes."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from tests.engine.control.writing import N, function, source
from wengert.engine.control import lasting
from wengert.engine.control.inequalities import Affine, Different, Fact, contradict, equal_to, unknown
from wengert.engine.core.errors import ShapeError
from wengert.engine.ir.graph import Graph
from wengert.engine.staged import loops, numbers
from wengert.engine.transforms.staging import evaluate


@pytest.fixture(autouse=True)
def staged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have short loops stay loops, and arrays of any size stand for what is read of them."""
    monkeypatch.setattr(numbers, "LEAST_BRANCHING", 0)
    monkeypatch.setattr(loops, "MOST_UNROLLED", 0)
    monkeypatch.setattr(lasting, "bytes_of", lambda types: 1)


def _arguments(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, N)), rng.normal(size=N)


def _check(program: Any, seed: int, tolerance: float = 1e-9) -> bool:
    """Compare the gradient as a graph with that of Python's loops; return False where an index or a length is wrong."""
    arguments = _arguments(seed)
    slope = wg.grad(program, (0, 1))
    try:
        expected = slope(*arguments)
    except (IndexError, ShapeError):
        return False
    found = evaluate(wg.trace(slope)(*arguments), *arguments)
    for value, item in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, item, rtol=tolerance, atol=tolerance)
    return True


@pytest.mark.parametrize("seed", range(many(16)))
def test_gradients_of_drawn_programs_are_those_of_python(seed: int) -> None:
    first = 100 * seed
    assert any(_check(function(source(drawn)), drawn) for drawn in range(first, first + 100))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_gradients_of_many_drawn_programs(first: int) -> None:
    assert sum(_check(function(source(seed)), seed) for seed in range(10_000 + first, 10_020 + first)) > 5


#: Loops over a matrix `m` and a vector `x`, with how many of their reads find the same elements after all turns.
BODIES = {
    "the element before": ("for i in range(1, n):\n x[i] = np.sin(x[i - 1]) + b[i]", 1),
    "the last element counted from the end": ("for i in range(n):\n x[i] = np.sin(x[i - 1]) + b[i]", 0),
    "the next element": ("for i in range(n - 1):\n x[i] = np.sin(x[i + 1]) * b[i]", 0),
    "the next element backward": ("for i in range(n - 2, -1, -1):\n x[i] = np.sin(x[i + 1]) * b[i]", 1),
    "the element itself": ("for i in range(n):\n x[i] = np.sin(x[i])", 0),
    "the element itself after the write": ("for i in range(n):\n x[i] = b[i]\n t += x[i] ** 2", 1),
    "an element two steps away": ("for i in range(2, n, 2):\n x[i] = x[i - 1] * x[i - 2]", 2),
    "a write far ahead": ("for i in range(n - 2):\n x[i + 2] = x[i] * x[i + 1]", 2),
    "a write behind": ("for i in range(2, n):\n x[i - 2] = x[i] * x[i - 1]", 0),
    "a part before": ("for i in range(n):\n x[i] = x[:i] @ x[:i] + b[i]", 2),
    "a part with the element": ("for i in range(n):\n x[i] = x[: i + 1] @ x[: i + 1] + b[i]", 0),
    "a part behind, backward": ("for i in range(n - 1, -1, -1):\n x[i] = x[i + 1 :] @ x[i + 1 :] + b[i]", 2),
    "a part behind": ("for i in range(n - 1):\n x[i] = x[i + 1 :] @ x[i + 1 :] + b[i]", 0),
    "a row before": ("for i in range(1, n):\n m[i] = np.sin(m[i - 1]) * m[i - 1, 0] * b[i]", 2),
    "a column before": ("for i in range(1, n):\n m[:, i] = np.sin(m[:, i - 1]) * b[i]", 1),
    "a row that later columns cross": ("for i in range(1, n):\n m[:, i] = np.sin(m[i - 1]) * b[i]", 0),
    "rows of a triangle": (
        "for i in range(n):\n for j in range(i + 1):\n  m[i, j] = np.sin(m[i, :j] @ m[j, :j] + a[i, j])",
        2,
    ),
    "rows of a square": (
        "for i in range(n):\n for j in range(n):\n  m[i, j] = np.sin(m[i, :j] @ m[j, :j] + a[i, j])",
        1,
    ),
    "the turn of the outer loop after": (
        "for i in range(n - 1):\n for j in range(n):\n  m[i + 1, j] = np.sin(m[i, j]) * m[i, 0]",
        2,
    ),
    "all rows again and again": (
        "for k in range(n):\n for i in range(1, n):\n  x[i] = np.sin(x[i - 1]) + b[i]",
        0,
    ),
    "an array of each turn": (
        "for k in range(n):\n y = 0.0 * b\n for i in range(1, n):\n  y[i] = np.sin(y[i - 1]) + b[k]\n t += y[n - 1]",
        1,
    ),
    "a loop that only reads": (
        "for i in range(n):\n s = b[i]\n for j in range(i):\n  s -= a[i, j] * x[j] * x[j]\n x[i] = s",
        2,
    ),
    "a loop that reads too much": (
        "for i in range(n):\n s = b[i]\n for j in range(i + 1):\n  s -= a[i, j] * x[j] * x[j]\n x[i] = s",
        0,
    ),
    "a later write of the same turn": ("for i in range(1, n):\n t += x[i - 1] ** 2\n x[i - 1] = b[i]", 0),
    "a branch that writes behind": (
        "for i in range(1, n):\n x[i] = np.sin(x[i - 1])\n if b[i] > 0.0:\n  x[i - 1] = b[i]",
        0,
    ),
    "a branch that writes ahead": (
        "for i in range(1, n):\n t += x[i - 1] ** 2\n if b[i] > 0.0:\n  x[i] = b[i]\n else:\n  x[i] = 0.5",
        1,
    ),
    "a part of an array that is read as a whole, too": (
        "for i in range(n - 2, -1, -1):\n x[i] *= b[i]\n t += np.sum(x**2) * (a[i, i + 1 :] @ x[i + 1 :])",
        1,
    ),
    "a branch that writes ahead or behind": (
        "for i in range(1, n):\n t += x[i - 1] ** 2\n if b[i] > 0.0:\n  x[i] = b[i]\n else:\n  x[i - 1] = 0.5",
        0,
    ),
    "halves": ("for i in range(n):\n x[i] = np.sin(x[i // 2]) + b[i]", 0),
    "halves from 1 on": ("for i in range(1, n):\n x[i] = np.sin(x[i // 2]) + b[i]", 1),
}


def _program(body: str) -> Any:
    lines = ["m, x, t, n = np.sin(a), np.cos(b), 0.0, len(b)", *body.splitlines()]
    head = 'def program(a, b):\n    if b[0] < -1e300:\n        raise ValueError("so small")\n'
    end = "    return t + np.sum(m * np.cos(a)) + np.sum(x * np.sin(b))\n"
    return function(head + "".join(f"    {line}\n" for line in lines) + end)


def _rereads(graph: Graph) -> int:
    """Return how many reads of the outermost loops of a graph are lasting."""
    count = 0
    for equation in graph.equations:
        if equation.primitive == "scan":
            body, fixed, carries, length = (
                equation.params[name] for name in ("body", "constants", "carries", "length")
            )
            starts = [getattr(x, "value", None) for x in equation.operands[fixed : fixed + carries]]
            known = [x if isinstance(x, int) else None for x in starts]
            found = lasting.lasting_reads(body, fixed, length, known)
            count += sum(map(len, found.rereads.values()))
    return count


@pytest.mark.parametrize("name", BODIES)
def test_what_is_proven(name: str) -> None:
    body, expected = BODIES[name]
    program = _program(body)
    assert _rereads(wg.trace(program)(*_arguments(1))) == expected
    assert _check(program, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_second_derivatives_are_those_of_python(name: str) -> None:
    program = _program(BODIES[name][0])
    a, b = _arguments(2)

    def along(b: Any) -> Any:
        return wg.grad(program, 1)(a, b) @ np.cos(np.arange(float(N)))

    product = wg.grad(along)

    np.testing.assert_allclose(evaluate(wg.trace(product)(b), b)[0], product(b), rtol=1e-8, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_compiled_and_batched_gradients_are_those_of_python(name: str) -> None:
    slope = wg.grad(_program(BODIES[name][0]), (0, 1))
    a, b = (np.stack(pair) for pair in zip(_arguments(3), _arguments(4), strict=True))
    expected = [slope(*pair) for pair in zip(a, b, strict=True)]
    for place in (0, 1):
        found = [wg.jit(slope)(*pair)[place] for pair in zip(a, b, strict=True)]
        items = [item[place] for item in expected]
        np.testing.assert_allclose(found, items, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(wg.jit(wg.vmap(slope))(a, b)[place], items, rtol=1e-9, atol=1e-11)


def test_a_factorisation_keeps_its_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    def factor(a: Any) -> Any:
        n = len(a)
        f = np.zeros_like(a)
        for i in range(n):
            for j in range(i):
                f[i, j] = (a[i, j] - f[i, :j] @ f[j, :j]) / f[j, j]
            f[i, i] = np.sqrt(a[i, i] - f[i, :i] @ f[i, :i])
        return np.sum(np.sin(f))

    n = 40
    graph = wg.trace(wg.grad(factor))(np.eye(n))
    arrays = [var for equation in graph.equations for var in equation.outputs]
    assert max(np.prod(var.shape) for var in arrays) <= n * n


def test_an_array_larger_than_what_is_read_of_it_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    lines = ["for i in range(1, 9):", " y = np.zeros(99)", " y[0] = t", " for j in range(1, 20):"]
    lines += ["  y[j] = np.sin(y[j - 1])", " t += y[19] + b[0]"]
    program = _program("\n".join(lines))
    assert not _rereads(wg.trace(program)(*_arguments(1)))


def _holds(facts: list[Fact], values: dict[Any, int]) -> bool:
    def total(row: Affine) -> int:
        return row.constant + sum(values[name] * factor for name, factor in row.terms.items())

    return all(total(x) <= 0 if isinstance(x, Affine) else total(x.sum) != 0 for x in facts)


@pytest.mark.parametrize("seed", range(many(60)))
def test_a_contradiction_has_no_solution(seed: int) -> None:
    draw = random.Random(seed)
    names = [("a loop", n) for n in range(3)]
    for _ in range(20):
        facts: list[Fact] = [Affine({name: sign}, -3) for name in names for sign in (1, -1)]
        for _ in range(draw.randint(1, 5)):
            terms = {name: draw.randint(-3, 3) for name in names}
            row = Affine({k: v for k, v in terms.items() if v}, draw.randint(-4, 8))
            facts.append(Different(row) if draw.random() < 0.3 else row)
        points = itertools.product(range(-3, 4), repeat=3)
        has_solution = any(_holds(facts, dict(zip(names, point, strict=True))) for point in points)
        assert not (contradict(facts) and has_solution)


def test_numbers_that_differ_are_apart() -> None:
    i, j = unknown(("a loop", "i")), unknown(("a loop", "j"))
    assert not contradict(equal_to(i, j))
    assert contradict([*equal_to(i, j), Different(i.plus(j, -1))])
