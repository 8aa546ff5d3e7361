"""Orders that only a run knows: sorts by keys, comparisons of tuples, heaps and bisections, drawn and compared."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import CASES
from wengert.engine.transforms.staging import evaluate

#: Lists of the elements v of x and their numbers i, and keys of their elements e; the last ones have ties.
LISTS = {
    "v": ("abs(e - 0.2)", "-e", "(e > 0, e)", "round(e)"),
    "(v, i)": ("e[0]", "-e[0]", "(abs(e[0]), -e[1])", "(round(e[0]), e[1])", "e[1] % 2"),
    "(i % 2, v, i)": ("e[1] * e[1]", "(e[0], -e[1])", "e[0]"),
    "i": ("x[e]", "(x[e] > 0.5, -e)", "round(2.0 * x[e])"),
}
#: Sorts of a list l by a key.
SORTS = (
    "l = sorted(l, key=lambda e: KEY, reverse=REVERSE)",
    "l.sort(key=lambda e: KEY, reverse=REVERSE)",
    "l = sorted(l, reverse=REVERSE)",
    "l.sort()",
    "l = [min(l, key=lambda e: KEY), max(l, key=lambda e: KEY)]",
    "l = [min(l), max(l)]",
    "l = heapq.nsmallest(2, l) + heapq.nlargest(2, l, key=lambda e: KEY)",
    "heapq.heapify(l)\n    l = [heapq.heappop(l) for _ in range(3)]",
)
#: How the list is made; the second way has a length that only a run knows.
WAYS = (
    "l = [ELEMENT for i, v in enumerate(x)]",
    "l = []\n    for i, v in enumerate(x):\n        if v > -0.6:\n            l.append(ELEMENT)",
)
NUMBERS = itertools.count()


def made(source: str, folder: Path) -> Any:
    """Return the function of a module, which can be read again from its file."""
    file = folder / f"program{next(NUMBERS)}.py"
    file.write_text(f"import bisect, heapq\nimport numpy as np\n\n{source}")
    scope: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    return scope["program"]


def drawn(draw: random.Random, folder: Path) -> Any:
    """Return the function of a drawn program."""
    element = draw.choice([*LISTS])
    is_open = draw.random() < 0.4
    sorts = [sort for sort in SORTS if not is_open or sort.startswith(("l = sorted", "l.sort"))]
    total = "e" if element == "v" else "x[e]" if element == "i" else "e[0] + 0.1 * e[1]"
    lines = f"""
def program(x):
    {WAYS[is_open].replace("ELEMENT", element)}
    {draw.choice(sorts)}
    s = 0.0
    for k, e in enumerate(l):
        s = s + (1.0 + 0.3 * k) * ({total})
    return s
"""
    lines = lines.replace("KEY", draw.choice(LISTS[element])).replace(
        "REVERSE", draw.choice(["True", "False"])
    )
    return made(lines, folder)


@pytest.mark.parametrize("number", range(12))
def test_drawn_orders(number: int, tmp_path: Path) -> None:
    draw = random.Random(12 * CASES + number)
    function = drawn(draw, tmp_path)
    x = np.random.default_rng(number).normal(size=7)
    x[draw.randrange(7)] = x[draw.randrange(7)]
    assert wg.jit(function)(x) == pytest.approx(function(x), rel=1e-14)
    slope = wg.jit(wg.grad(function))(x)
    np.testing.assert_allclose(slope, wg.grad(function)(x), rtol=1e-13)


HEAPS = {
    "queue": """
def program(x):
    heap, s, k = [], 0.0, 1
    for i, v in enumerate(x):
        heapq.heappush(heap, (v * v, i))
    while heap:
        d, i = heapq.heappop(heap)
        s = 0.5 * s + k * d * x[i]
        k += 1
    return s
""",
    "shortest paths": """
def program(x):
    n = 5
    w = np.abs(np.outer(x[:5], x[2:])) + 0.1
    dist = np.full(n, np.inf)
    dist[0] = 0.0
    heap = [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > dist[u]:
            continue
        for v in range(n):
            if d + w[u, v] < dist[v]:
                dist[v] = d + w[u, v]
                heapq.heappush(heap, (dist[v], v))
    return dist @ np.arange(5.0)
""",
    "insertion": """
def program(x):
    l = []
    for v in x:
        bisect.insort(l, v)
    return sum(v * k for k, v in enumerate(l)) + bisect.bisect_left(l, x[1]) + bisect.bisect([0.0, 0.5], x[0])
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HEAPS)
def test_heaps_and_bisections(name: str, tmp_path: Path) -> None:
    function = made(HEAPS[name], tmp_path)
    compiled = wg.jit(wg.value_and_grad(function))
    for seed in (0, 1):
        x = np.random.default_rng(seed).normal(size=7)
        value, slope = compiled(x)
        assert value == pytest.approx(function(x), rel=1e-14)
        np.testing.assert_allclose(slope, wg.grad(function)(x), rtol=1e-12)


def test_values_of_a_heap(tmp_path: Path) -> None:
    x = np.random.default_rng(2).normal(size=7)
    function = made(HEAPS["insertion"], tmp_path)
    assert wg.jit(function)(x) == pytest.approx(function(x), rel=1e-14)


def test_comparisons_of_tuples_are_those_of_python() -> None:
    @wg.jit
    def program(x: Any) -> Any:
        a, b, c = (x[0], x[1]), (x[0], x[2]), (x[0], x[1], 1.0)
        found = [a < b, a <= b, a > b, a >= b, a == b, a != b, a < c, c > a, (x[3], a) < (x[3], b), a <= a]
        return sum(2.0**k for k, holds in enumerate(found) if holds)

    for x in itertools.product([0.0, 1.0, np.nan], repeat=4):
        assert program(np.array(x)) == program.__wrapped__(np.array(x)), x


def test_a_sort_with_nan_and_one_of_several_kinds_are_refused() -> None:
    def program(x: Any) -> Any:
        return sorted(x, key=lambda v: -v)[0]

    x = np.array([1.0, np.nan, 2.0])
    with pytest.raises(wg.errors.LimitError, match="NaN"):
        evaluate(wg.trace(program)(x), x)
    assert wg.jit(program)(x) == program(x)
    with pytest.raises(wg.errors.StagingError, match="numbers"):
        wg.jit(lambda x: len(sorted([(x[0],), (x[1], 2.0)])[0]) * x[0])(np.ones(2))
