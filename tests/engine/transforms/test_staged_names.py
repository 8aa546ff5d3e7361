"""Arrays that variables and lists share, with and without axes: compiled, writes reach each name, or are refused."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many
from tests.engine.transforms.random_lists import program_of
from wengert.errors import StagingError

_X = np.array([0.6, -0.4, 0.9, 0.2, -0.7, 0.3])


class Names:
    """Writes a program whose variables ``a``, ``b`` and ``c`` and list ``r`` hold arrays, some of which are one.

    Args:
        seed: of the program.
        array: makes an array of a number.
    """

    def __init__(self, seed: int, array: str) -> None:
        self._random = random.Random(seed)
        self._array = array
        self._lines: list[str] = []

    def source(self) -> str:
        """Return the source of a function ``program(x)``."""
        first = [self._new("x[0]"), "a", self._new("x[1]")]
        starts = zip("abc", self._random.sample(first, 3) if first[1] != "a" else first, strict=True)
        self._lines = [
            "def program(x):",
            *(f"    {name} = {value}" for name, value in starts),
            "    r = [a, c]",
        ]
        self._block(1, 4, "x[2]")
        self._lines.append(
            "    return a.sum() + 2 * b.sum() + 3 * c.sum() + 5 * r[0].sum() + 7 * r[-1].sum()"
        )
        return "\n".join(self._lines) + "\n"

    def _new(self, number: str) -> str:
        return self._array.format(number)

    def _simple(self, number: str) -> str:
        one, other = self._random.sample("abc", 2)
        return self._random.choice(
            [
                f"{one} = {other}",
                f"{one} += {number}",
                f"{one} += {number}",
                f"{one} = {one} * 0.5",
                f"{one} = {self._new(number)}",
                f"{one}, {other} = {other}, {one}",
                f"r.append({one})",
                f"r.append({one} * 1.0)",
                f"{one} = r[{self._random.choice(['0', '-1', 'k', 'len(r) // 2'])}]",
                f"r[{self._random.choice(['0', '-1', 'k'])}] = {one}",
                f"{one} = {one} if {number} > 0.1 else {other}",
            ]
        )

    def _block(self, level: int, count: int, number: str) -> None:
        space = "    " * level
        if level == 1:
            self._lines.append("    k = (x > 0.5).sum() - 1")
        for _ in range(count):
            kind = self._random.random()
            if level < 3 and kind < 0.3:
                self._lines.append(f"{space}if {number} > {self._random.uniform(-0.5, 0.7):.2f}:")
                self._block(level + 1, self._random.randint(1, 2), number)
                if self._random.random() < 0.5:
                    self._lines.append(f"{space}else:")
                    self._block(level + 1, 1, number)
            elif level == 1 and kind < 0.55:
                self._lines.append(f"{space}for i in range({self._random.choice(['3', '6'])}):")
                self._block(2, self._random.randint(1, 3), "x[i]")
            else:
                self._lines.append(space + self._simple(number))


@pytest.mark.parametrize("array", ["np.array({})", "{} * np.ones(2)"], ids=["without axes", "with an axis"])
@pytest.mark.parametrize("seed", range(many(60)))
def test_writes_reach_each_name_or_are_refused(seed: int, array: str) -> None:
    source = Names(seed, array).source()
    program = program_of(source, f"names {seed} {array}")
    compiled, slope = wg.jit(program), wg.jit(wg.grad(program))
    for x in (_X, -_X):
        try:
            found, gradient = compiled(x), slope(x)
        except StagingError:
            return
        np.testing.assert_allclose(found, program(x), rtol=1e-12, atol=1e-13, err_msg=source)
        np.testing.assert_allclose(gradient, wg.grad(program)(x), rtol=1e-12, atol=1e-13, err_msg=source)


def test_few_programs_are_refused() -> None:
    refused = 0
    for seed in range(20):
        program: Any = program_of(Names(seed, "np.array({})").source(), f"refused names {seed}")
        try:
            wg.jit(program)(_X)
        except StagingError:
            refused += 1
    assert refused < 15
