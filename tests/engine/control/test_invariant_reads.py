"""Reads that move in front of the loop that leaves alone what they read: which ones do, and gradients."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from tests.engine.control.writing import function
from wengert.engine.control.invariant_reads import with_invariant_reads
from wengert.engine.ir.graph import Graph
from wengert.engine.ir.verify import verify
from wengert.engine.staged import loops, numbers
from wengert.engine.transforms.staging import evaluate

N = 4


@pytest.fixture(autouse=True)
def staged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have short loops stay loops."""
    monkeypatch.setattr(numbers, "LEAST_BRANCHING", 0)
    monkeypatch.setattr(loops, "MOST_UNROLLED", 0)


def _program(lines: list[str]) -> Any:
    head = 'def program(a, b):\n    if b[0] < -1e300:\n        raise ValueError("so small")\n'
    lines = ["m, x, t, n = np.sin(a), np.cos(b), 0.0, len(b)", *lines]
    end = "    return t + np.sum(m * np.cos(a)) + np.sum(x * np.sin(b))\n"
    return function(head + "".join(f"    {line}\n" for line in lines) + end)


def _arguments(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, N)), rng.normal(size=N)


def _moved(graph: Graph) -> int:
    """Return how many operands the loops inside of the outermost ones gain."""
    count = 0
    for equation in graph.equations:
        if equation.primitive == "scan":
            fixed, carries = equation.params["constants"], equation.params["carries"]
            starts = [getattr(x, "value", None) for x in equation.operands[fixed : fixed + carries]]
            known = [x if isinstance(x, int) else None for x in starts]
            body = equation.params["body"]
            following = with_invariant_reads(body, fixed, equation.params["length"], known)
            verify(following)
            count += _constants(following) - _constants(body)
    return count


def _constants(graph: Graph) -> int:
    own = sum(x.params.get("constants", 0) for x in graph.equations)
    return own + sum(_constants(inner) for x in graph.equations for inner in x.graphs())


def _check(program: Any, seed: int) -> None:
    arguments = _arguments(seed)
    slope: Any = wg.grad(program, (0, 1))
    found = evaluate(wg.trace(slope)(*arguments), *arguments)
    for value, item in zip(found, slope(*arguments), strict=True):
        np.testing.assert_allclose(value, item, rtol=1e-10, atol=1e-11)


#: What two loops do in a turn of both, with how many reads move in front of the inner one.
BODIES = {
    "rows behind": ("i + 1, n", ["m[j] -= m[i] * (m[j, i] / (2.0 + m[i, i] ** 2))"], 2),
    "rows before": ("0, i", ["m[j] -= m[i] * m[j, i]"], 1),
    "all other rows": ("n", ["if j != i:", "    m[j] -= m[i] * m[j, i]"], 1),
    "all other rows, the other way round": (
        "n",
        ["if j == i:", "    t += b[j]", "else:", "    m[j] *= m[i]"],
        1,
    ),
    "all rows": ("n", ["m[j] -= m[i] * m[j, i]"], 0),
    "the row itself in a branch": (
        "n",
        ["if j == i:", "    m[j] *= 0.5", "m[j] += b[j]", "t += np.sum(m[i] ** 2)"],
        0,
    ),
    "a condition of the read alone": (
        "n",
        ["if j != i:", "    t += np.sum(m[i] ** 2)", "m[j] += b[j]"],
        0,
    ),
    "another condition": ("n", ["if j != i - 1:", "    m[j] *= m[i]"], 0),
    "elements of other rows": ("n", ["if j != i:", "    x[j] *= np.sin(x[i])"], 1),
    "a row that a part of the turns writes": ("i, n", ["m[j] *= np.sin(m[i])"], 0),
    "a column": ("i + 1, n", ["m[:, j] *= np.sin(m[:, i])"], 0),
    "an index that a turn changes": ("i + 1, n", ["m[j] *= np.sin(m[j - 1])"], 0),
    "an index that may lie outside": ("i + 1, n", ["x[i] += np.sin(x[i + 1]) * b[j]"], 0),
    "a later element": ("0, i - 1", ["x[j] += np.sin(x[i - 1]) * b[j]"], 1),
    "a read in a branch on a value": ("i + 1, n", ["if b[j] > 0.0:", "    x[j] += np.sin(x[i])"], 1),
    "an array that the branches change": (
        "i + 1, n",
        ["if b[j] > 0.0:", "    x[j] += np.sin(x[i])", "else:", "    x[i] = 0.5"],
        0,
    ),
    "a read in a loop inside": (
        "i + 1, n",
        ["for k in range(i + 1, n):", "    m[j, k] -= np.sin(m[i, i]) * m[j, i]"],
        3,
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_what_moves(name: str) -> None:
    turns, body, expected = BODIES[name]
    lines = ["for i in range(n):", f"    for j in range({turns}):", *(f"        {line}" for line in body)]
    assert _moved(wg.trace(_program(lines))(*_arguments(1))) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_compiled_and_batched_gradients_are_those_of_python(name: str) -> None:
    turns, body, _ = BODIES[name]
    lines = ["for i in range(n):", f"    for j in range({turns}):", *(f"        {line}" for line in body)]
    slope: Any = wg.grad(_program(lines), (0, 1))
    a, b = (np.stack(pair) for pair in zip(_arguments(3), _arguments(4), strict=True))
    expected = [slope(*pair) for pair in zip(a, b, strict=True)]
    batched: Any = wg.jit(wg.vmap(slope))(a, b)
    for place in (0, 1):
        items = [item[place] for item in expected]
        found = [wg.jit(slope)(*pair)[place] for pair in zip(a, b, strict=True)]
        np.testing.assert_allclose(found, items, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(batched[place], items, rtol=1e-9, atol=1e-11)


_TURNS = "n", "i + 1, n", "0, i", "i, n", "n - 1", "1, n", "n - 1, i, -1", "0, n, 2"
_TESTS = "j != i", "j == i", "j < i", "j > i", "i != j + 1", "b[j] > 0.0", "j != 1", "i != 2"
_PLACES = "i", "i", "i", "j", "n - 1", "0", "(i + 1) % n", "(j + 1) % n"


def _drawn(seed: int) -> list[str]:
    """Return loops whose turns write rows and elements on conditions, and read others."""
    draw = random.Random(seed)

    def read() -> str:
        e, f = draw.choices(_PLACES, k=2)
        return draw.choice((f"m[{e}]", f"m[{e}, {f}]", f"x[{e}]", f"m[:, {e}]", f"m[{e}, {f}]"))

    def write() -> str:
        e, f = draw.choice(("j", "j", "j", "j", *_PLACES)), draw.choice(_PLACES)
        value = f"0.5 * np.sin({read()} + {read()} * {read()})"
        number = draw.choice((f"np.sum({value})", f"np.sum({read()} * {read()})"))
        forms = f"m[{e}] += {value}", f"m[{e}, {f}] += {number}", f"x[{e}] = {number}", f"t += {number}"
        return draw.choice((*forms[:3], *forms))

    lines = ["for i in range(n):", f"    for j in range({draw.choice(_TURNS)}):"]
    for _ in range(draw.choice((1, 1, 2))):
        if draw.random() < 0.6:
            lines += [f"        if {draw.choice(_TESTS)}:", f"            {write()}"]
            lines += ["        else:", f"            {write()}"] if draw.random() < 0.3 else []
        else:
            lines.append(f"        {write()}")
    return lines


@pytest.mark.parametrize("seed", range(many(6)))
def test_gradients_of_drawn_programs_are_those_of_python(seed: int) -> None:
    _check(_program(_drawn(seed)), seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 1_200, 20))
def test_gradients_of_many_drawn_programs_are_those_of_python(first: int) -> None:
    for seed in range(first, first + 20):
        _check(_program(_drawn(seed)), seed)


@pytest.mark.slow
def test_reads_of_drawn_programs_move() -> None:
    graphs = (wg.trace(_program(_drawn(seed)))(*_arguments(seed)) for seed in range(1_000, 1_060))
    assert sum(_moved(graph) > 0 for graph in graphs) > 5
