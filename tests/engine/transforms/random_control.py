"""Random programs with nested branches and loops, exits, writes and short circuits; every one ends."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np

_HEAD = """def program(x, a, n):
    s = 0
    t = a
    k = 1
    y = np.zeros(6)
    z = x.copy()
"""


class Generator:
    """Writes one program.

    Args:
        seed: of the program.
        depth: the largest number of statements around a statement.
    """

    def __init__(self, seed: int, depth: int = 5) -> None:
        self._random = random.Random(seed)
        self._depth = depth
        self._count = 0
        self._lines: list[str] = []

    def source(self) -> str:
        """Return the source of a function ``program(x, a, n)``."""
        self._block(1, 0, self._random.randint(3, 6), [])
        end = "    return s + t * 0.5 + k + np.sum(y * x) + np.sum(z)"
        return _HEAD + "\n".join(self._lines) + "\n" + end + "\n"

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _pick(self, *options: str) -> str:
        return self._random.choice(options)

    def _number(self) -> str:
        return f"{self._random.uniform(-1.5, 1.5):.2f}"

    def _index(self, counters: list[str]) -> str:
        inside = [f"{self._random.randint(0, 5)}", "k % 6", "-1", *(f"{c} % 6" for c in counters)]
        return self._pick(*inside)

    def _float(self, counters: list[str], depth: int = 0) -> str:
        i = self._index(counters)
        leaves = ["s", "t", "a", f"x[{i}]", f"y[{i}]", f"z[{i}]", self._number(), "k * 0.25"]
        if depth > 1 or self._chance(0.4):
            return self._pick(*leaves)
        one, other = self._float(counters, depth + 1), self._float(counters, depth + 1)
        return self._pick(
            f"np.tanh({one} + {other})",
            f"(0.5 * {one} - {other})",
            f"np.sin({one}) * {self._number()}",
            f"({one} if {self._test(counters, depth + 1)} else {other})",
            f"min({one}, {other})",
            f"abs({one})",
        )

    def _test(self, counters: list[str], depth: int = 0) -> str:
        one, other = self._float(counters, 2), self._float(counters, 2)
        simple = [
            f"{one} > {other}",
            f"{one} <= {self._number()}",
            f"{self._number()} < {one} < {self._number()}",
            "k % 3 == 1",
            "k in (1, 4)",
            *(f"{c} == {self._random.randint(0, 4)}" for c in counters),
        ]
        if depth > 1 or self._chance(0.6):
            return self._pick(*simple)
        left, right = self._test(counters, depth + 1), self._test(counters, depth + 1)
        return self._pick(
            f"({left} and {right})",
            f"({left} or {right})",
            f"(not {left})",
            f"(k < 6 and x[k % 7] > {one})",
            f"(bool({left}) is {self._pick('True', 'not False', 'False', 'not True')})",
        )

    def _line(self, level: int, text: str) -> None:
        self._lines.append("    " * level + text)

    def _block(self, level: int, loops: int, count: int, counters: list[str]) -> None:
        for _ in range(count):
            self._statement(level, loops, counters)

    def _statement(self, level: int, loops: int, counters: list[str]) -> None:
        kind = self._random.random()
        if level <= self._depth and kind < 0.22:
            self._if(level, loops, counters)
        elif level <= self._depth and loops < 3 and kind < 0.36:
            self._for(level, loops, counters)
        elif level <= self._depth and loops < 3 and kind < 0.42:
            self._while(level, loops, counters)
        elif loops and kind < 0.48:
            self._line(level, f"if {self._test(counters)}:")
            self._line(level + 1, self._pick("break", "continue", "continue", "return s - t"))
        elif kind < 0.50:
            self._line(level, f"if {self._test(counters)} and s > 2:")
            self._line(level + 1, self._pick("return t", 'raise ValueError("too large")'))
        else:
            self._line(level, self._assignment(counters))

    def _assignment(self, counters: list[str]) -> str:
        value = self._float(counters)
        i = self._index(counters)
        return self._pick(
            f"s = 0.5 * s + {value}",
            f"s += {value}",
            f"t = {value}",
            f"t = np.tanh(t + {value})",
            "s, t = t, s",
            "k += 1",
            "k = (3 * k + 1) % 17",
            f"y[{i}] = {value}",
            f"y[{i}] += {value}",
            f"y[1:4] = 0.5 * y[1:4] + {value}",
            f"z[{i}] = np.tanh({value})",
            "z[:3] *= 0.5",
            f"z = 0.5 * z + {value}",
            "y, z = z.copy(), y.copy()",
        )

    def _if(self, level: int, loops: int, counters: list[str]) -> None:
        self._line(level, f"if {self._test(counters)}:")
        self._block(level + 1, loops, self._random.randint(1, 3), counters)
        if self._chance(0.3):
            self._line(level, f"elif {self._test(counters)}:")
            self._block(level + 1, loops, self._random.randint(1, 2), counters)
        if self._chance(0.5):
            self._line(level, "else:")
            self._block(level + 1, loops, self._random.randint(1, 2), counters)

    def _for(self, level: int, loops: int, counters: list[str]) -> None:
        self._count += 1
        name = f"i{self._count}"
        inside = self._pick(
            "range(n)",
            f"range({self._random.randint(1, 7)})",
            "range(1, 6, 2)",
            "range(k % 5)",
            *(
                f"range({self._pick('', '1, ', 'k % 3, ')}{c}{self._pick('', ' + 1', ' % 4')})"
                for c in counters
            ),
            *(f"range({c}, {self._pick('6', 'n')})" for c in counters),
        )
        if self._chance(0.2):
            self._line(level, f"for {name}, v in enumerate(x):")
            self._line(level + 1, "s += 0.1 * v")
        else:
            self._line(level, f"for {name} in {inside}:")
        self._block(level + 1, loops + 1, self._random.randint(1, 3), [*counters, name])
        if self._chance(0.2):
            self._line(level, "else:")
            self._line(level + 1, self._assignment(counters))

    def _while(self, level: int, loops: int, counters: list[str]) -> None:
        self._count += 1
        name = f"w{self._count}"
        self._line(level, f"{name} = 0")
        self._line(level, f"while {name} < {self._random.randint(2, 7)} and {self._test(counters)}:")
        self._line(level + 1, f"{name} += 1")
        self._block(level + 1, loops + 1, self._random.randint(1, 3), [*counters, name])


def written(seed: int, depth: int = 5) -> Any:
    """Return the random function of a seed, with its source in reach of `linecache`."""
    source = Generator(seed, depth).source()
    name = f"/random/control_{seed}.py"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    scope: dict[str, Any] = {"np": np, "__name__": f"random_control_{seed}"}
    exec(compile(source, name, "exec"), scope)
    return scope["program"]


def arguments(seed: int) -> tuple[Any, float, int]:
    """Return random arguments."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=6), float(rng.normal()), int(rng.integers(0, 7))
