"""Drawn programs whose nested loops write elements, rows and parts of arrays, and read what they have written."""

from __future__ import annotations

import itertools
import linecache
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

N = 5
_numbers = itertools.count()

_HEAD = """def program(a, b):
    if b[0] < -1e300:
        raise ValueError("so small")
    m = {matrix}
    x = {vector}
    t = 0.0
"""
_RANGES = (
    "{n}",
    "1, {n}",
    "{n} - 1",
    "{n} - 1, -1, -1",
    "{n} - 2, -1, -1",
    "0, {n}, 2",
    "1, {n}, 2",
    "{n} - 1, 0, -2",
)
_INNER = (
    "{i}",
    "{i} + 1",
    "{i}, {n}",
    "{i} + 1, {n}",
    "{i} - 1, -1, -1",
    "{n} - 1, {i}, -1",
    "0, {i}, 2",
    "{i}, {n}, 2",
)
_WRITES = (
    *("m[{e}, {f}] = {v}", "x[{e}] = {v}", "m[{e}] = np.sin({r}) * {v}", "m[:, {e}] = 0.5 * {r} + {v}"),
    *("m[{e}, {f}] += 0.5 * {v}", "x[{e}] *= {v}", "m[{e}, {p}] = {v}"),
    *("x[{p}] = 0.5 * x[{p}] + {v}", "m[{e}, {p}] *= 0.5", "x = np.sin({r} + x)", "m[{p}, {e}] = {v}"),
)
_INDICES = (
    *("{i}",) * 8,
    "{i} - 1",
    "{i} - 1",
    "{i} + 1",
    "{n} - 1 - {i}",
    "({i} + 1) % {n}",
    "{i} // 2",
    "0",
)


class _Writer:
    """Writes a program, statement by statement."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.counters: list[str] = []
        self.lines: list[str] = []
        self.orderly = self.draw.choice((0.0, 0.5, 0.9, 0.97, 1.0, 1.0))
        """How often an index is a counter."""
        self.written, self.most = 0, self.draw.choice((1, 1, 2, 2, 3, 9))
        few = [self.draw.choice(_WRITES[:3]), *self.draw.sample(_WRITES, self.draw.randint(0, 1))]
        self.forms = _WRITES if self.draw.random() < 0.2 else (*few, "t += {v}")

    def one(self, choices: Sequence[str], **names: str) -> str:
        return self.draw.choice(choices).format(n=N, **names)

    def counter(self) -> str:
        return self.draw.choice([*self.counters, self.counters[-1]])

    def index(self) -> str:
        if self.draw.random() < self.orderly:
            return self.one(("{i}", "{i}", "{i}", "{i} - 1", "({i} + 1) % {n}"), i=self.counter())
        return self.one(_INDICES, i=self.counter())

    def part(self) -> str:
        return self.one((":{e}", "{e}:", ":{e} + 1", "{e} + 1:", ":"), e=self.counter())

    def row(self) -> str:
        """Return an expression of a vector of N elements, or of a part of one beside another of the same length."""
        e, p = self.index(), self.part()
        return self.one(("m[{e}]", "m[:, {e}]", "x", "a[{e}]", "b"), e=e, p=p)

    def number(self) -> str:
        e, f, p = self.index(), self.index(), self.part()
        reads = (
            *("m[{e}, {f}]", "x[{e}]", "m[{e}, {f}]", "x[{e}]", "a[{e}, {f}]", "b[{e}]"),
            *("m[{e}, {p}] @ m[{f}, {p}]", "m[{e}, {p}] @ x[{p}]", "m[{p}, {e}] @ m[{p}, {f}]"),
            *(
                "np.sum(x[{p}] ** 2)",
                "m[{e}] @ a[{f}]",
                "a[{e}, {p}] @ x[{p}]",
                "np.sum(np.sin(m[{p}, {e}]))",
            ),
        )
        return self.one(reads, e=e, f=f, p=p)

    def value(self) -> str:
        forms = (
            "np.tanh({u} * {v} + {w})",
            "np.sin({u} + {v})",
            "0.5 * {u}",
            "{u} / (2.0 + {v} * {v})",
            "{w}",
        )
        return self.one(forms, u=self.number(), v=self.number(), w=f"b[{self.index()}]")

    def target(self, outer: bool) -> str:
        if self.draw.random() < self.orderly:
            return self.counters[0] if outer else self.counters[-1]
        return self.index()

    def write(self) -> str:
        e, f = self.target(outer=True), self.target(outer=False)
        e, f = (e, f) if self.draw.random() < 0.7 else (f, e)
        p = self.part()
        is_enough = self.written >= self.most or (len(self.counters) == 1 and self.draw.random() < 0.4)
        forms = ("t += {v}",) if is_enough else self.forms
        self.written += not is_enough
        return self.one(forms, e=e, f=f, p=p, v=self.value(), r=self.row())

    def body(self, depth: int) -> None:
        inside = "    " * (depth + 1)
        count = self.draw.randint(1, 2)
        place = self.draw.randint(0, count) if depth < 3 and self.draw.random() < 0.8 / depth else -1
        for n in range(count + 1):
            if n == place:
                self.loop(depth + 1)
            if n < count and (place < 0 or self.draw.random() < 0.6):
                self.statement(inside)
        if place < 0:
            self.statement(inside)

    def statement(self, inside: str) -> None:
        kind = self.draw.random()
        if kind < 0.15:
            test = self.one(
                ("{i} == {j}", "{i} != {j}", "{i} < {j}", "b[{i}] > 0.0"),
                i=self.counters[0],
                j=self.counters[-1],
            )
            self.lines += [f"{inside}if {test}:", f"{inside}    {self.write()}"]
            if self.draw.random() < 0.5:
                self.lines += [f"{inside}else:", f"{inside}    {self.write()}"]
        else:
            self.lines.append(inside + self.write())

    def loop(self, depth: int) -> None:
        name, inside = "ijk"[depth - 1], "    " * depth
        ranges = (*_RANGES, *_INNER, *_INNER) if self.counters else _RANGES
        text = self.one(ranges, i=self.counter() if self.counters else "")
        self.lines.append(f"{inside}for {name} in range({text}):")
        self.counters.append(name)
        self.body(depth)
        self.counters.pop()

    def program(self) -> str:
        head = _HEAD.format(
            matrix=self.one(("np.zeros(({n}, {n}))", "a.copy()", "0.5 * a")),
            vector=self.one(("np.zeros({n})", "b.copy()")),
        )
        for _ in range(self.draw.choice((1, 1, 1, 2))):
            self.loop(1)
        weights = f"np.cos(np.arange({N * N}.0)).reshape({N}, {N})"
        return "\n".join((head + "\n".join(self.lines), f"    return t + np.sum(m * {weights}) + x @ b", ""))


def source(seed: int) -> str:
    """Return a drawn program of a matrix and a vector, as Python text."""
    return _Writer(seed).program()


def function(text: str) -> Callable[..., Any]:
    """Return the function of a text."""
    file = f"<drawn {next(_numbers)}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names: dict[str, Any] = {"np": np, "__name__": __name__}
    exec(compile(text, file, "exec"), names)
    return names["program"]
