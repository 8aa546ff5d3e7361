"""Random programs that append to lists, pop from them, and read and write their elements; every one ends."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np

_HEAD = """def program(x, a, n, k):
    t = a
    m = k % 3
    out = {out}
    other = [0.5, a, a * 2.0]
    marks = [0] * 5
    grid = [[a, 1.0, 2.0], [x[0], x[1], x[2]]]
    rows = [x[:3] * 1.0, x[3:] * 2.0]
    s = x[:3].copy()
    path = {path}
"""


class Lists:
    """Writes one program.

    Args:
        seed: of the program.
        is_open: whether lists grow in branches, in loops that end early and in `while` statements, too.
        has_parts: whether programs take parts of lists, search them, and give their names other lists, too.
    """

    def __init__(self, seed: int, is_open: bool = False, has_parts: bool = False) -> None:
        self._random = random.Random(seed)
        self._lines: list[str] = []
        self._is_open, self._has_parts = is_open or has_parts, has_parts
        self._may_grow = True
        """Whether the present place is one where lists may grow."""

    def source(self) -> str:
        """Return the source of a function ``program(x, a, n, k)``."""
        start = self._pick("[]", "[a, a * a, 0.25]", "[1.0, a] * 3", "[0, 1, 2, 3, 4, 5]", "[a * 0.1] * 8")
        self._block(1, 0, self._random.randint(2, 4), [])
        ends = [
            "np.array(out).sum()" if self._is_open else "np.array(out)",
            "np.max(out) if len(out) else 1.0",
            "max(out) if out else 2.0",
            "sum(out)",
            "len(out)",
            "out[-1] if len(out) else 0.0",
            f"out[{self._index([])}]",
            "np.sum(path[-1]) if len(path) else 0.0",
            "grid[k % 2][m]",
            "rows[k % 2].sum()",
        ]
        # A program does not check what no result depends on.
        chosen = ["sum(out)", "np.array(other)", "sum(marks)", "np.array(path).sum()", "s", "np.array(grid)"]
        chosen += ["np.array(rows)", *self._random.sample(ends, 3)]
        head = _HEAD.format(out=start, path=self._pick("[]", "[]", "[s.copy()]", "[x[:3], x[3:]]"))
        return head + "\n".join(self._lines) + f"\n    return t, {', '.join(chosen)}\n"

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _pick(self, *options: str) -> str:
        return self._random.choice(options)

    def _index(self, counters: list[str]) -> str:
        if self._chance(0.5):
            return self._pick("-1", "-1", "0", "m - 3")
        near = [text for c in counters for text in (c, f"{c} - 1", f"{c} // 2", f"-{c} - 1", f"{c} % 3")]
        return self._pick("-2", "k", "m", "n // 3", *near)

    def _float(self, counters: list[str], depth: int = 0) -> str:
        i = self._index(counters)
        leaves = [
            "t",
            "a",
            f"{self._random.uniform(-1, 1):.2f}",
            f"out[{i}]",
            f"out[{i}]",
            f"other[{self._pick('m', 'k % 3', 'm - 3', *(f'{c} % 3' for c in counters))}]",
            f"grid[{self._pick('k % 2', '0', 'm % 2')}][{self._pick('m', '1', 'k % 3')}]",
            f"rows[{self._pick('k % 2', '1')}][{self._pick('m', '0')}]",
            "marks[k % 5] * 0.5",
            "len(out) * 0.1",
            "x[m]",
            *(f"{c} * 0.3" for c in counters),
        ]
        if self._is_open:
            bound = self._random.uniform(-0.5, 0.5)
            leaves.append(f"sum([v * 0.5 for v in out if v > {bound:.2f}])")
            leaves.append(f"len([v for v in other if v > {bound:.2f}]) * 0.2")
            if self._has_parts:
                leaves.append(self._of_part(counters))
        if depth > 1 or self._chance(0.5):
            return self._pick(*leaves)
        one, rest = self._float(counters, depth + 1), self._float(counters, depth + 1)
        return self._pick(f"np.tanh({one} + {rest})", f"({one} * {rest})", f"({one} - 0.5 * {rest})")

    def _of_part(self, counters: list[str]) -> str:
        """Return a number that a part of a list, a copy, or a search gives."""
        start, stop = (
            self._pick("", "1", "-2", "m", self._index(counters)),
            self._pick("", "3", "-1", "n // 2"),
        )
        part = f"out[{start}:{stop}{self._pick('', '', ':2', ':-1')}]"
        return self._pick(
            f"sum({part})",
            f"len({part}) * 0.3",
            f"sum({part} + [t, {self._index(counters)}])",
            "len([a] + out * 2) * 0.1",
            "(sorted(out)[0] if out else 0.4)",
            f"max({part}, default=0.25)",
            "min(out, default=t)",
            "(0.2 if t in out else 0.1)",
            "(0.3 if any(out) else 0.4)",
            "(0.2 if all(out) else 0.1)",
            "(0.7 if out == [] else 0.1)",
            "sum(out.copy()) * 0.5",
            "len(list(out)) * 0.1",
            "max(range(len(other)), key=lambda j: other[j]) * 0.3",
            "min(other, key=lambda v: abs(v - 0.4))",
            "sum([v * w for v, w in zip(out, other)])",
        )

    def _condition(self, counters: list[str]) -> str:
        known = [f"{c} % 3 == 1" for c in counters]
        return self._pick(f"{self._float(counters)} > 0.3", "k > 1", "len(out) > 3", "marks[m] > 0", *known)

    def _block(self, level: int, depth: int, count: int, counters: list[str]) -> None:
        for _ in range(count):
            self._statement(level, depth, counters)

    def _write(self, level: int, text: str) -> None:
        self._lines.append("    " * level + text)

    def _simple(self, counters: list[str]) -> str:
        value, i = self._float(counters), self._index(counters)
        place = self._pick("m", "k % 3", "1")
        if self._chance(0.4 if self._may_grow else 0.04):
            appends = [f"out.append({value})"] * 3
            return self._pick(
                *appends,
                f"out += [{value}]",
                "t = t * 0.5 + out.pop()",
                "path.append(s.copy())",
                "path.append(s)",
                *self._has_parts
                * ("del out[-1]", f"out.insert({i if i in ('0', '-1', '-2') else 1}, {value})"),
                *self._has_parts
                * ("out.clear()", "out = []", "out = out[1:]", "out = [v for v in out if v > 0.1]"),
                *self._has_parts
                * ("out.sort()", "out.sort(reverse=True)", "out.reverse()", "out = sorted(out)"),
                *self._has_parts * (f"out = out + [{value}]", f"(out if {value} > 0 else other).reverse()"),
            )
        return self._pick(
            f"t = {value}",
            f"out[{i}] = {value}",
            f"out[{i}] += {value}",
            f"other[{place}] = {value}",
            f"other[{place}] *= 0.5",
            f"marks[{self._pick('k % 5', 'm', *(f'({c} * {c}) % 5' for c in counters))}] += 1",
            f"grid[{self._pick('k % 2', '0')}][{place}] = {value}",
            f"rows[{self._pick('k % 2', '0')}][{place}] += {value}",
            f"s = s * 0.5 + {value}",
            f"s[{place}] += {value}",
            "s = s * 0.4 + (path[-1] * 0.5 if len(path) else 0.0)",
        )

    def _statement(self, level: int, depth: int, counters: list[str]) -> None:
        if depth < 2 and (depth == 0 or self._chance(0.25)):
            c = f"i{len(counters)}"
            turns = self._pick("range(7)", "range(1, 9)", "range(5)", "range(12)", "range(n)", "range(3)")
            may_grow, ends = self._may_grow, self._chance(0.1)
            self._may_grow = may_grow and (self._is_open or (turns != "range(n)" and not ends))
            self._write(level, f"for {c} in {turns}:")
            self._block(level + 1, depth + 1, self._random.randint(1, 4), [*counters, c])
            self._may_grow = may_grow
            if ends:
                self._write(level + 1, f"if {self._condition([*counters, c])}:")
                self._write(level + 2, "break")
        elif self._chance(0.2):
            self._write(level, f"if {self._condition(counters)}:")
            may_grow, self._may_grow = self._may_grow, self._is_open
            append = f"out.append({self._float(counters)})" if may_grow and self._chance(0.3) else ""
            self._write(level + 1, append or self._simple(counters))
            if append or self._chance(0.6):
                self._write(level, "else:")
                self._write(
                    level + 1, (append and f"out.append({self._float(counters)})") or self._simple(counters)
                )
            self._may_grow = may_grow
        elif depth == 0 and self._chance(0.2):
            if self._has_parts:
                self._through(level, counters)
            else:
                self._write(level, "for v in out:")
                self._write(level + 1, "t = t * 0.7 + v * v")
        elif self._is_open and self._chance(0.15):
            self._while(level, counters)
        else:
            self._write(level, self._simple(counters))

    def _through(self, level: int, counters: list[str]) -> None:
        """Write a loop through a list, which may become longer meanwhile."""
        kinds = "v in out", "j, v in enumerate(out)", "v, w in zip(out, [*other] * 4)", "v in reversed(out)"
        self._write(level, f"for {self._pick(kinds[0], *kinds)}:")
        self._write(level + 1, "t = t * 0.7 + v * v")
        if self._chance(0.2):
            test = self._pick("len(out) < 12", f"len(out) < 12 and {self._condition(counters)}")
            self._write(level + 1, f"if {test}:")
            self._write(level + 2, f"out.append({self._float(counters)})")

    def _while(self, level: int, counters: list[str]) -> None:
        """Write a loop that a list's length ends."""
        if self._chance(0.5):
            self._write(
                level, f"while len(out) < {self._pick('9', 'n', 'k + 4')} and {self._condition(counters)}:"
            )
            self._write(level + 1, f"out.append({self._float(counters)})")
        else:
            self._write(level, f"while {self._pick('out', 'len(out) > k', 'len(out) > 2')}:")
            self._write(level + 1, f"t = t * 0.5 + out.pop({self._pick('', '0', 'len(out) // 2', '-1')})")
        if self._chance(0.4):
            self._write(level + 1, f"if {self._condition(counters)}:")
            self._write(level + 2, self._pick("break", "s = s * 0.5", f"s[m] = {self._float(counters)}"))


def program_of(source: str, name: str) -> Callable[..., Any]:
    """Return the function of a source that a run can find."""
    filename = f"<{name}>"
    linecache.cache[filename] = len(source), None, source.splitlines(keepends=True), filename
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, filename, "exec"), scope)
    return scope["program"]
