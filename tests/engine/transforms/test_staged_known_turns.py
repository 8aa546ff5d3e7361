"""Loops of which Python knows each turn are loops of the program, whatever they count and go through."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.ir.graph import equations_of

#: Starts, conditions and moves of counters, with the number of turns as n.
COUNTERS = {
    "up": ("k = 0", "k < n", "k += 1"),
    "up to": ("k = 1", "k <= n", "k += 1"),
    "down": ("k = n", "k", "k -= 1"),
    "down to": ("k = n - 1", "k >= 0", "k = k - 1"),
    "two": ("k, m = 0, 3 * n", "k < m and m > 0", "k += 1; m = m - 2"),
    "difference": ("k = 0", "n - k > 0", "k = 3 + k"),
    "not equal": ("k = 3", "k != 3 + 2 * n", "k += 2"),
    "square": ("k = 0", "k * k <= n * n", "k += 1"),
    "doubling": ("k = 1", "k < 2 ** (n // 8)", "k *= 2"),
    "halving": ("k = 2 ** (n // 8)", "k > 0", "k //= 2"),
    "remainder": ("k = 1", "k % (n + 1) != 0", "k = k + 1"),
    "time": ("k, t = 0, 0.0", "t < 0.1 * n", "k += 1; t += 0.1"),
    "either": ("k, m = 0, n", "k < n or m > 0", "k += 1; m -= 1"),
    "negation": ("k = 0", "not k > n", "k += 1"),
    "chain": ("k = 0", "-1 < k < n", "k += 1"),
    "step of a variable": ("k, d = 0, 2", "k < n", "k += d"),
    "break behind": ("k = 0", "True", "k += 1\n        if k > n: break"),
    "break before": ("k = 0", "True", "if k == n: break\n        k += 1"),
    "continue": ("k = 0", "True", "k += 1\n        if k < n: continue\n        break"),
}
#: Turns on the state s, the array x and the buffer y.
TURNS = (
    "if x[k % 7] > s: s = s + x[k % 7]\n        else: s = 0.5 * s",
    "y[k % 5] = y[k % 5] + x[k % 7] * s\n        s = s + (y[0] if y[0] > y[1] else 0.25)",
    "j = 0\n        while j < 3 and s < 2.0:\n            s, j = s + 0.1 * abs(x[j]), j + 1\n        s = s * 0.7",
    "s = np.sin(s) + x[k % 7]\n        found.append(s) if s > 0 else None",
)
COUNTS = itertools.count()
#: What loops go through that bind the number k or v, with n elements.
ROWS = (
    "v in [0.01 * q for q in range(n)]",
    "v in tuple(0.01 * q for q in range(n))",
    "v, k in zip([0.01 * q for q in range(n)], [q % 11 for q in range(n)])",
    "k, v in enumerate([0.01 * q for q in range(n)])",
    "v in reversed([0.01 * q for q in range(n)])",
    "k, v in {q: 0.1 * q for q in range(n)}.items()",
    "k in {q: 0.1 * q for q in range(n)}",
    "k, v, w in [(q % 5, 0.1 * q, True) for q in range(n)]",
    "k, v in itertools.product(range(n // 4), range(4))",
    "v, k in np.ndindex(n // 4, 4)",
    "k in iter(range(n))",
    "_ in [None] * n",
)


def program(counter: str, turn: str, folder: Path) -> Any:
    """Return the function of a drawn loop; k is part of what it returns."""
    start, test, move = COUNTERS[counter]
    loop = f"{start}\n    while {test}:\n        {turn}\n        {move}"
    return made(loop, "np.ones(max(k % 4, 1)).sum() * x[0] + 0.01 * k", folder)


def made(loop: str, end: str, folder: Path) -> Any:
    """Return the function of a loop."""
    source = f"""
import itertools
import numpy as np
def program(x, n):
    s, y, found = 0.0, np.zeros(5), []
    {loop}
    return s + y.sum() + len(found) + {end}
"""
    file = folder / f"program{next(COUNTS)}.py"
    file.write_text(source)
    scope: dict[str, Any] = {}
    exec(compile(source, str(file), "exec"), scope)
    return scope["program"]


@pytest.mark.parametrize("counter", COUNTERS)
def test_values_and_gradients(counter: str, tmp_path: Path) -> None:
    draw = random.Random(counter)
    function = program(counter, draw.choice(TURNS), tmp_path)
    x = np.random.default_rng(draw.randrange(1000)).normal(size=7)
    for n in (3, 24):
        compiled = wg.jit(function, static_argnums=1)
        assert compiled(x, n) == pytest.approx(function(x, n), rel=1e-13)
        slope = wg.jit(wg.grad(function), static_argnums=1)(x, n)
        np.testing.assert_allclose(slope, wg.grad(function)(x, n), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("counter", COUNTERS)
def test_equations_do_not_grow_with_the_turns(counter: str, tmp_path: Path) -> None:
    function = program(counter, TURNS[0], tmp_path)
    x = np.arange(7.0)
    lengths = [len([*equations_of(wg.trace(lambda x, n=n: function(x, n))(x))]) for n in (80, 480)]
    assert lengths[0] == lengths[1]


@pytest.mark.parametrize("rows", ROWS)
def test_loops_through_known_numbers(rows: str, tmp_path: Path) -> None:
    draw = random.Random(rows)
    turn = draw.choice(TURNS).replace("* s\n", "* v\n")
    function = made(f"k, v = 1, 0.3\n    for {rows}:\n        {turn}", "0.01 * v", tmp_path)
    x = np.random.default_rng(draw.randrange(1000)).normal(size=7)
    assert wg.jit(function, static_argnums=1)(x, 40) == pytest.approx(function(x, 40), rel=1e-13)
    slope = wg.jit(wg.grad(function), static_argnums=1)(x, 40)
    np.testing.assert_allclose(slope, wg.grad(function)(x, 40), rtol=1e-12, atol=1e-14)
    lengths = [len([*equations_of(wg.trace(lambda x, n=n: function(x, n))(x))]) for n in (80, 480)]
    assert lengths[0] == lengths[1]


def test_a_list_that_its_own_loop_changes() -> None:
    def function(x: Any) -> Any:
        c, s = [0.1 * q for q in range(40)], 0.0
        for k, v in enumerate(c):
            if k < 38:
                c[k + 2] = v * 0.5
            s = s + v * x[0] if s < 2.0 else 0.5 * s
        return s

    x = np.array([0.7, 0.2])
    assert wg.jit(function)(x) == pytest.approx(function(x), rel=1e-13)


def test_what_follows_knows_the_counter() -> None:
    def function(x: Any) -> Any:
        k, s = 0, 0.0
        while k < 40:
            s = s + x[k % 3] if x[k % 3] > s else 0.9 * s
            k += 2
        return s * np.arange(k)[-1] + np.zeros(k - 38).shape[0]

    x = np.array([0.1, -0.3, 0.7])
    assert wg.jit(function)(x) == pytest.approx(function(x), rel=1e-14)


def test_integers_beyond_a_program_are_those_of_python() -> None:
    def function(x: Any) -> Any:
        k, s = 1, x
        while k < 10**30:
            s = s + 1.0 if s < 3.0 else 0.5 * s
            k *= 7
        return s + float(k % 1000)

    assert wg.jit(function)(0.3) == function(0.3)


@pytest.mark.parametrize("known", [False, True])
def test_a_handler_of_the_program_gets_the_exception_of_a_turn(known: bool) -> None:
    def by_rows(x: Any) -> Any:
        k, s = 0, 0.0
        try:
            for k in [q for q in range(40)]:  # noqa: C416 (a list)
                v = x[k]
                s = s + v if s < 2.0 else 0.5 * s
        except IndexError:
            s = s + 100.0 * k
        return s

    def by_counter(x: Any) -> Any:
        k, s = 0, 0.0
        try:
            while k < 30:
                v = x[k]
                s = s + v if s < 2.0 else 0.5 * s
                k += 1
        except IndexError:
            s = s + 100.0 * k
        return s

    function, x = by_rows if known else by_counter, np.linspace(-0.2, 0.8, 9)
    assert wg.jit(function)(x) == function(x)
    np.testing.assert_array_equal(wg.jit(wg.grad(function))(x), wg.grad(function)(x))


def warming_up(x):
    m, n = 0.0, 0
    for v in x:
        n += 1  # noqa: SIM113
        m = m + (v - m) / n if n <= 10 else 0.9 * m + 0.1 * v
    return m


def every_third(x):
    s, left = 0.0, 1
    for v in x:
        if left % 3 == 1:
            s += v * v
        else:
            s -= 0.5 * v
        left += 2
    return s


def down_to_zero(x):
    s, waiting = 0.0, 40
    for v in x:
        waiting -= 1
        if waiting < 0:
            s = 0.5 * s + v
    return s


@pytest.mark.parametrize("program", [warming_up, every_third, down_to_zero])
def test_branches_on_a_counter_of_the_programs_own_leave_a_loop(program: Any) -> None:
    x = np.random.default_rng(0).random(4000)
    short, long = (str(wg.trace(program)(x[:length])).count("\n") for length in (2000, 4000))
    assert short == long
    np.testing.assert_allclose(wg.jit(program)(x), program(x), rtol=1e-12)
    np.testing.assert_allclose(wg.jit(wg.grad(program))(x), wg.grad(program)(x), rtol=1e-10)
