"""Loops over elements end at the error with which Python's own end, and compute the same without one."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many

LENGTH = 9


class _While:
    """Writes a program of loops that end by conditions, whose indices may lie outside of their arrays."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def source(self) -> str:
        """Return the source of ``program(x, n, m)`` of an array and two integers."""
        start, step = self._random.choice((0, 1, -3, 8)), self._random.choice((1, 1, 2, -1, 3))
        lines = [
            "def program(x, n, m):",
            f"    y, s, i, k = x.copy(), x[0], {start}, 0",
            f"    while {self._condition()}:",
            *("        " + line for line in self._body(0)),
            f"        i += {step}",
            "        k += 1",
            f"    {self._access()} = s",
            "    return y, s, i, k",
        ]
        return "\n".join(lines) + "\n"

    def _pick(self, *options: str) -> str:
        return self._random.choice(options)

    def _index(self) -> str:
        return self._pick("i", "i", "i + 1", "i - 1", "k", "m", "2 * i - 3", "i + m", "n - i", "-i")

    def _access(self) -> str:
        return f"y[{self._index()}]"

    def _read(self) -> str:
        return f"{self._pick('x', 'y')}[{self._index()}]"

    def _condition(self) -> str:
        more = self._pick("i < n", "n > k", f"i >= 0 and {self._read()} < 1.5", f"{self._read()} > -1.5")
        return f"k < 20 and {more}"

    def _body(self, depth: int) -> list[str]:
        return [line for _ in range(self._random.randint(1, 3)) for line in self._statement(depth)]

    def _statement(self, depth: int) -> list[str]:
        kind = self._random.random()
        if kind < 0.3 or depth > 1:
            return [f"{self._access()} = {self._read()} + 0.5 * s"]
        if kind < 0.5:
            return [f"s = 0.5 * s + {self._read()}"]
        if kind < 0.6:
            return [f"{self._access()} += s"]
        if kind < 0.75:
            lines = [
                f"for j in range({self._pick('3', 'm', 'k')}):",
                f"    y[{self._pick('j', 'i + j', 'i - j')}] *= 0.5",
            ]
            return [*lines, f"    s += x[{self._pick('j', 'i + j', 'j - i')}]"]
        yes = [f"    {line}" for line in self._body(depth + 1)]
        if self._random.random() < 0.3:
            yes.append("    break")
        return [f"if {self._read()} > {self._pick('0.0', 's', self._read())}:", *yes]


def _written(seed: int) -> Any:
    source = _While(seed).source()
    name = f"/random/errors_{seed}.py"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    scope: dict[str, Any] = {"np": np, "__name__": f"random_errors_{seed}"}
    exec(compile(source, name, "exec"), scope)
    return scope["program"]


def _outcome(function: Any, *arguments: Any) -> Any:
    try:
        y, s, i, k = function(*arguments)
    except IndexError:
        return "index"
    return [*map(float, y), float(s), int(i), int(k)]


@pytest.mark.parametrize("seed", range(many(100)))
def test_random_loops_raise_what_python_raises(seed: int) -> None:
    program = _written(seed)
    compiled = wg.jit(program)
    for turn in range(4):
        rng = np.random.default_rng(10 * seed + turn)
        arguments = rng.normal(size=LENGTH), int(rng.integers(0, 14)), int(rng.integers(-3, 5))
        with np.errstate(all="ignore"):
            expected, found = _outcome(program, *arguments), _outcome(compiled, *arguments)
        assert type(found) is type(expected), (arguments, expected, found)
        if found != "index":
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def _of_elements(x: Any, n: float) -> Any:
    s, i = 0.0, 0
    while s < n:
        s += x[i]
        i += 1
    return s


def _of_rows(x: Any, n: float) -> Any:
    s, i = 0.0, 0
    while s < n:
        s += np.sum(x[np.arange(100) + i])
        i += 1
    return s


def _of_lanes(x: Any, n: float) -> Any:
    y, i = np.zeros(100), 0
    while np.sum(y) < n:
        y += x[np.arange(100) + i]
        i += 1
    return y


def _of_numpy(x: Any, n: float) -> Any:
    s, i = 0.0, 0
    while s < n:
        s += np.max(np.abs(np.linalg.eigvals(np.reshape(x, (25, 25)) / (2.0 - i)))) * 0.0
        i += 1
    return s


@pytest.mark.parametrize("program", [_of_elements, _of_rows, _of_lanes])
def test_an_error_ends_a_loop_that_would_not_end(program: Any) -> None:
    with pytest.raises(IndexError):
        program(np.zeros(625), 1.0)
    with pytest.raises(IndexError, match=f"{program.__name__}|test_errors_in_loops"):
        wg.jit(program)(np.zeros(625), 1.0)


@pytest.mark.filterwarnings("ignore:(divide|invalid)")
def test_an_error_in_numpy_ends_a_loop_that_would_not_end() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        wg.jit(_of_numpy)(np.ones(625), 1.0)


def test_the_first_error_is_reported() -> None:
    def program(x: Any, i: int, j: int) -> Any:
        s = 0.0
        for k in range(20):
            s += x[i + k]
            s += x[j + k]
        return s

    line = program.__code__.co_firstlineno
    for i, j, place in ((-5, 0, 4), (0, -5, 3), (0, 0, 3), (-7, -8, 3), (-8, -7, 4)):
        with pytest.raises(IndexError, match=rf"test_errors_in_loops.py:{line + place}\]"):
            wg.jit(program)(np.ones(9), i, j)
