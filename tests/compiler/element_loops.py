"""Random loops over elements: reads and writes at distances, sums in place, branches, values of a turn alone."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np

#: The length of the arrays.
LENGTH = 13


class Loops:
    """Writes one program.

    Args:
        seed: of the program.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._made: list[str] = []
        self._counter = "i"

    def source(self) -> str:
        """Return the source of a function ``program(x, a)`` of two arrays."""
        lines = ["def program(x, a):", "    if x[0] < -1e300:", "        raise ValueError('so small')"]
        lines += ["    y, z, s, t, u, v = np.zeros(13), a.copy(), 0.0, 0.0, 0.1, 0.2"]
        for _ in range(self._random.randint(1, 3)):
            lines += self._loop()
        return "\n".join([*lines, "    return y, z, s, t"]) + "\n"

    def _pick(self, *options: str) -> str:
        return self._random.choice(options)

    def _loop(self) -> list[str]:
        low, high = self._random.randint(0, 3), self._random.randint(9, 13)
        backwards = f"range({high - 1}, {low - 1}, -1)"
        counter = self._pick(
            f"range({low}, {high})", f"range({low}, {high})", backwards, f"range({low}, {high}, 2)"
        )
        self._made = []
        body = [line for _ in range(self._random.randint(1, 4)) for line in self._statement(0)]
        if self._random.random() < 0.4:
            body += self._inner()
        return [f"    for i in {counter}:", *("        " + line for line in body)]

    def _inner(self) -> list[str]:
        """Return a loop inside the turns of another, whose bounds may be those of a triangle."""
        self._counter = "j"
        if self._random.random() < 0.4:
            place = self._pick("0", "i", "(3 * j + i) % 13", "(j * j + 2) % 13")
            test = f"while j < 13 and {self._pick('y', 'z')}[{place}] < {self._value(1)}:"
            lines = [line for _ in range(self._random.randint(1, 3)) for line in self._statement(1)]
            self._counter = "i"
            return ["j = 0", test, *("    " + line for line in lines), "    j += 1"]
        turns = self._pick("range(4)", "range(i)", "range(i, 13)", "range(i - 1, -1, -1)", "range(2, 9)")
        lines = [line for _ in range(self._random.randint(1, 3)) for line in self._statement(1)]
        self._counter = "i"
        return [f"for j in {turns}:", *("    " + line for line in lines)]

    def _index(self) -> str:
        distance = self._random.choice([0, 0, 0, -1, 1, -2, 2, 3])
        return self._pick(
            "i",
            f"(i + {distance}) % 13",
            f"i - {abs(distance)}",
            f"{LENGTH - 1} - i",
            f"{distance}",
            self._counter,
        )

    def _value(self, depth: int = 0) -> str:
        leaves = ["x", "a", "y", "z"]
        leaf = self._pick(
            *(f"{self._pick(*leaves)}[{self._index()}]" for _ in range(3)), "0.3", *self._made * 2
        )
        if depth > 1 or self._random.random() < 0.3:
            return leaf
        one, other = self._value(depth + 1), self._value(depth + 1)
        return self._pick(
            f"({one} + {other})",
            f"({one} - 0.5 * {other})",
            f"0.7 * {one}",
            f"abs({one})",
            f"min({one}, {other})",
        )

    def _statement(self, depth: int) -> list[str]:
        kind = self._random.random()
        if kind < 0.25:
            name = self._pick("u", "v")
            line = f"{name} = {self._value()}"
            if depth == 0 and name not in self._made:
                self._made.append(name)
            return [line]
        if kind < 0.5:
            return [f"{self._pick('y', 'z')}[{self._index()}] = {self._value()}"]
        if kind < 0.75:
            return [f"{self._pick('y', 'z')}[{self._index()}] += {self._value(1)}"]
        if kind < 0.79:
            array, one, other = self._pick("y", "z"), self._index(), self._index()
            return [f"{array}[{one}], {array}[{other}] = {array}[{other}], {array}[{one}]"]
        if kind < 0.85:
            return [self._pick(f"s += {self._value(1)}", f"t = {self._value()}")]
        if depth > 1:
            return [f"z[i] = {self._value()}"]
        yes, no = ([("    " + x) for x in self._statement(depth + 1)] for _ in range(2))
        test = f"if {self._value(1)} > {self._pick('0.0', self._value(1))}:"
        return [test, *yes, "else:", *no] if self._random.random() < 0.6 else [test, *yes]


def written(seed: int) -> Any:
    """Return the random function of a seed, with its source in reach of `linecache`."""
    source = Loops(seed).source()
    name = f"/random/elements_{seed}.py"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    scope: dict[str, Any] = {"np": np, "__name__": f"random_elements_{seed}"}
    exec(compile(source, name, "exec"), scope)
    return scope["program"]
