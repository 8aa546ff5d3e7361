"""Branches on counters are decided, and programs compute the same numbers and raise the same errors."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many

N = 23


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_VERIFY", "1")
    monkeypatch.setenv("WENGERT_CACHE", "off")


class _Branches:
    """Writes a program of nested loops, whose branches compare counters with numbers."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def source(self) -> str:
        """Return the source of ``program(x)`` of a matrix."""
        lines = ["def program(x):", "    if x[0, 0] < -1e300:", "        raise ValueError('so small')"]
        lines += ["    y, s = x.copy(), 0.0", f"    for i in {self._turns()}:"]
        lines += ["        " + line for line in self._body("i", "0")]
        lines += [f"        for j in {self._turns()}:"]
        lines += ["            " + line for _ in range(2) for line in self._body("i", "j")]
        return "\n".join([*lines, "    return y, s"]) + "\n"

    def _pick(self, *options: str) -> str:
        return self._random.choice(options)

    def _turns(self) -> str:
        low, high = self._random.randint(0, 1), N - self._random.randint(0, 1)
        return self._pick(f"range({low}, {high})", f"range({high - 1}, {low - 1}, -1)", f"range({high - 2})")

    def _test(self, counter: str) -> str:
        sign = self._pick("<", "<=", ">", ">=", "==", "!=")
        number = self._pick("0", "0", "1", f"{N - 1}", f"{N - 1}", f"{N - 2}", "5", "-1", f"{N}")
        return self._pick(
            f"{counter} {sign} {number}", f"{number} {sign} {counter}", f"{counter} - 1 {sign} {number} - 1"
        )

    def _place(self, i: str, j: str) -> str:
        return f"{i}{self._shift()}, {j}{self._shift() if j != '0' else ''}"

    def _shift(self) -> str:
        return self._pick("", "", "", " - 1", " - 1", " + 1")

    def _read(self, i: str, j: str) -> str:
        return f"{self._pick('x', 'y')}[{self._place(i, j)}]"

    def _write(self, i: str, j: str) -> list[str]:
        read = self._read(i, j)
        place = f"y[{i}, {j}]" if self._random.random() < 0.8 else f"y[{self._place(i, j)}]"
        return [
            self._pick(
                f"{place} = min({place}, {read} + 0.3)",
                f"{place} = 0.5 * {place} + {read}",
                f"{place} += 0.3 * {read}",
                f"s += {read}",
            )
        ]

    def _body(self, i: str, j: str) -> list[str]:
        counter = i if j == "0" else self._pick(i, j, j)
        yes, no = (["    " + line for line in self._write(i, j)] for _ in range(2))
        lines = [f"if {self._test(counter)}:", *yes]
        if self._random.random() < 0.4:
            lines += ["else:", *no]
        return lines if self._random.random() < 0.8 else self._write(i, j)


def _written(seed: int) -> Any:
    source = _Branches(seed).source()
    name = f"/random/branches_{seed}.py"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    scope: dict[str, Any] = {"np": np, "__name__": f"random_branches_{seed}"}
    exec(compile(source, name, "exec"), scope)
    return scope["program"]


def _outcome(function: Any, x: Any) -> Any:
    try:
        y, s = function(x)
    except IndexError:
        return None
    return [*np.ravel(y), s]


def compare(seed: int) -> None:
    """Compare a drawn program with Python."""
    program, x = _written(seed), np.random.default_rng(seed).normal(size=(N, N))
    with np.errstate(all="ignore"):
        expected, found = _outcome(program, x), _outcome(wg.jit(program), x)
    assert (found is None) == (expected is None)
    if expected is not None:
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("seed", range(many(80)))
def test_random_loops(seed: int) -> None:
    compare(seed)


def test_the_ends_of_a_loop_run_apart() -> None:
    def program(x: Any) -> Any:
        if x[0] < -1e300:
            raise ValueError("so small")
        y, s = x.copy(), 0.0
        for i in range(len(x)):
            if i > 0:
                y[i] = min(y[i], y[i - 1] + 0.5)
            if i < len(x) - 1 and y[i] > 0.0:
                s += y[i] * x[i + 1]
            if i >= 0:
                s -= 1.0
        return y, s

    x, compiled = np.random.default_rng(3).normal(size=N), wg.jit(program)
    text = str(compiled.nests(x))
    assert "position" not in text
    for found, expected in zip(compiled(x), program(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_branch_in_the_middle_stays() -> None:
    def program(x: Any) -> Any:
        if x[0] < -1e300:
            raise ValueError("so small")
        y, s = x.copy(), 0.0
        for i in range(1, len(x)):
            if i > 11:
                y[i] = 0.5 * y[i - 1] + np.sin(s)
            s += y[i]
        return y, s

    x, compiled = np.random.default_rng(3).normal(size=N), wg.jit(program)
    assert str(compiled.nests(x)).count("for ") == 1
    for found, expected in zip(compiled(x), program(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
