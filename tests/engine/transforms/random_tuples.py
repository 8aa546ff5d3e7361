"""Random programs with a list of pairs of an integer and a number, which grows and shrinks; every one ends."""

from __future__ import annotations

import random

_HEAD = """def program(x, a, n):
    t = a
    c = n % 3
    rows = {rows}
    pair = (c, t)
"""


class Tuples:
    """Writes one program.

    Args:
        seed: of the program.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lines: list[str] = []

    def source(self) -> str:
        """Return the source of a function ``program(x, a, n)``."""
        for _ in range(self._random.randint(2, 4)):
            self._outer()
        start = self._pick("[]", "[(0, a)]", "[(1, 0.5), (n, a)]")
        ends = [
            "len(rows)",
            "rows[-1][1] if rows else 1.0",
            "rows[-1] if len(rows) else (0, 1.0)",
            "pair",
            "rows[c][0] if len(rows) > c else 7",
            "(2, 1) in [(i, 1) for i, _ in rows]",
            "any(v > 0.2 for _, v in rows)",
            "pair == (1, 0.5)",
            "sum([v * i for i, v in rows])",
            "np.array(rows).sum() if len(rows) else 0.0",
        ]
        chosen = self._random.sample(ends, 4)
        return _HEAD.format(rows=start) + "\n".join(self._lines) + f"\n    return t, c, {', '.join(chosen)}\n"

    def _pick(self, *options: str) -> str:
        return self._random.choice(options)

    def _write(self, level: int, text: str) -> None:
        self._lines.append("    " * level + text)

    def _number(self) -> str:
        return self._pick("t", "a", "x[c]", "pair[1]", "t * 0.5 - x[n % 6]", "np.tanh(t + a)")

    def _condition(self) -> str:
        return self._pick(
            f"{self._number()} > {self._random.uniform(-1, 1):.2f}",
            "len(rows) > 2",
            "rows and rows[-1][1] > 0.1",
            "c > 1",
        )

    def _simple(self) -> str:
        index = self._pick("0", "-1", "c", "n % 2")
        row = f"({self._pick('c', 'len(rows)', 'n')}, {self._number()})"
        return self._pick(
            *[f"rows.append({row})"] * 4,
            f"rows[{index}] = {row}",
            f"t = 0.5 * t + rows[{index}][1]",
            "c, t = rows.pop()",
            "pair = rows[-1]",
            "pair = rows.pop(0)",
            f"rows.insert({self._pick('0', '-1')}, {row})",
            "rows.clear()",
            "del rows[-1]",
            "rows = rows[1:]",
            "rows = []",
            "c = (c + 1) % 3",
        )

    def _guarded(self, level: int) -> None:
        """Write a statement, mostly where the list has an element, or a branch."""
        text = self._simple()
        if "append" in text or "clear" in text or "= []" in text or "c = " in text:
            test = self._condition()
        else:
            test = self._pick("rows", "len(rows) > 2", "rows != []", f"len(rows) > c and {self._condition()}")
        if self._random.random() < 0.85:
            self._write(level, f"if {test}:")
            self._write(level + 1, text)
            if self._random.random() < 0.3:
                self._write(level, "else:")
                self._write(level + 1, f"rows.append((c, {self._number()}))")
        else:
            self._write(level, text)

    def _outer(self) -> None:
        kind = self._random.random()
        if kind < 0.6:
            self._write(1, f"for i in range({self._pick('6', 'n', '7')}):")
            self._write(2, f"t = 0.8 * t + x[{self._pick('i % 6', '(i * c) % 6')}]")
            for _ in range(self._random.randint(1, 3)):
                self._guarded(2)
        elif kind < 0.75:
            self._write(1, "while rows and c < 9:")
            self._write(2, "k, v = rows.pop()")
            self._write(2, "t = 0.5 * t + v * k")
            self._write(2, f"if {self._number()} > 0:")
            self._write(3, "c += 1")
            self._write(3, "rows.append((k + c, v * 0.5))")
        elif kind < 0.9:
            self._write(1, self._pick("for i, v in rows:", "for i, v in reversed(rows):"))
            self._write(2, "t = 0.6 * t + v * i")
        else:
            self._guarded(1)
