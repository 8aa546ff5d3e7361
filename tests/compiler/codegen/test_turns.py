"""Loops take no more turns than the compiler says, and loops that may take more check for Ctrl-C."""

from __future__ import annotations

import linecache
import random
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from wengert.compiler.codegen import program
from wengert.compiler.codegen.turns import may_take_long, most_turns
from wengert.engine.nest.nest import While

N, MOST = 7, 1000


@pytest.fixture
def bounds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The turns of the loops that are compiled, at most."""
    found: list[float] = []

    def noted(loop: Any) -> bool:
        if isinstance(loop, While):
            found.append(most_turns(loop))
        return may_take_long(loop)

    monkeypatch.setenv("WENGERT_CACHE", "off")
    monkeypatch.setattr(program, "may_take_long", noted)
    return found


class _Turns:
    """Writes a program of a loop, whose carries may grow by the same number in each turn, and may be indices."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def source(self) -> str:
        """Return the source of ``program(x, i, j, k, most)``."""
        body = [self._statement() for _ in range(self._random.randint(2, 5))]
        lines = ["turns = 0", f"while turns < most{self._pick('', '', ' and x[0] < 9.0')}:"]
        lines += ["    turns += 1", *(f"    {line}" for line in body), "return x, i, j, turns"]
        return "def program(x, i, j, k, most):\n" + "".join(f"    {line}\n" for line in lines)

    def _pick(self, *options: str) -> str:
        return self._random.choice(options)

    def _statement(self) -> str:
        carry = self._pick("i", "i", "j")
        number = self._pick("1", "2", "3", "k", "turns")
        step = self._pick(
            f"{carry} {self._pick('+=', '-=')} {number}",
            f"{carry} = {carry} {self._pick('+', '-')} {number}",
            f"{carry} = ({carry} + {number}) % {N}",
            f"{carry} = {self._pick('i', 'j')} - {number}",
            f"{carry} = {number} - {self._pick('i', 'j')}",
        )
        index = self._pick("i", "j", "i - 1", "i + j", "k - i", "turns", f"i % {N}", "i - j")
        use = self._pick(f"x[{index}] += 0.5", f"x[0] -= x[{index}]", f"x[{index}] = x[{index} - k]")
        return self._pick(step, use, use, f"if x[{self._pick('0', index)}] > 0.5: {self._pick(step, use)}")


def _written(seed: int) -> Any:
    source, name = _Turns(seed).source(), f"/random/turns_{seed}.py"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    scope: dict[str, Any] = {}
    exec(compile(source, name, "exec"), scope)
    return scope["program"]


def _turns(function: Callable[..., Any], *arguments: Any) -> tuple[int, bool]:
    """Return the turns of a drawn program, and whether it ends without an error."""
    try:
        return int(function(np.linspace(-1.0, 1.0, N), *arguments, MOST)[-1]), True
    except IndexError as error:
        [*_, (frame, _)] = traceback.walk_tb(error.__traceback__)
        return frame.f_locals.get("turns", 0), False


@pytest.mark.parametrize("seed", range(many(150)))
@pytest.mark.filterwarnings("ignore:overflow")
def test_no_loop_takes_more_turns(seed: int, bounds: list[float]) -> None:
    function = _written(seed)
    arguments = random.Random(seed).choice([(0, 0, 1), (6, 2, 1), (3, 3, 2), (-7, 6, 0)])
    turns, ends = _turns(function, *arguments)
    assert _turns(wg.jit(function), *arguments) == (turns if ends else 0, ends)
    assert turns <= min(bounds)


def forwards(x: Any, i: int, end: int) -> Any:
    total = 0.0
    for k in range(i, end):
        total += x[k]
    return total


def backwards(x: Any, i: int, end: int) -> Any:
    while x[i] > 0.0:
        x[i] = x[i - 3]
        i -= 3
    return x


def in_a_circle(x: Any, i: int, end: int) -> Any:
    while x[i] > 0.0:
        i = (i + 1) % end
    return i


def without_an_index(x: Any, i: int, end: int) -> Any:
    while i < end:
        i += 1
    return x[0] + i


def towards_each_other(x: Any, i: int, end: int) -> Any:
    j = 0
    while x[i + j] > 0.0:
        i += 1
        j = -i
    return i


def where_it_grows(x: Any, i: int, end: int) -> Any:
    while x[i] < 9.0:
        x[i] += 1.0
        if x[i] > 5.0:
            i += 1
    return x


@pytest.mark.parametrize(
    ("function", "most"),
    [
        (forwards, 2 * N + 2),
        (backwards, 2 * N // 3 + 2),
        (in_a_circle, np.inf),
        (without_an_index, np.inf),
        (towards_each_other, np.inf),
        (where_it_grows, np.inf),
    ],
)
def test_loops_that_end_with_the_array_do_not_check(function: Any, most: float, bounds: list[float]) -> None:
    text = wg.jit(function).llvm(np.ones(N), 0, N)
    assert bounds == [most]
    assert ("readcyclecounter" in text) == (most == np.inf)


@pytest.mark.parametrize("count", [65, 127, 128, 997])
def test_loops_between_checks_take_all_turns(count: int, bounds: list[float]) -> None:
    def halved(x: Any) -> Any:
        total = x[0] * 0.0
        for k in range(count):
            y = x[k]
            while y > 1.0:
                y = y * 0.5
            total = total * 0.99 + y * y
        return total

    x = np.random.default_rng(count).uniform(1.0, 9.0, count)
    np.testing.assert_allclose(wg.jit(halved)(x), halved(x), rtol=1e-12)
    np.testing.assert_allclose(wg.jit(wg.grad(halved))(x), wg.grad(halved)(x), rtol=1e-12)
    assert np.inf in bounds
