"""Random programs with a list of lists of one length, which loops read, write and make longer; every one ends."""

from __future__ import annotations

import random

_HEAD = """def program(x, a, n):
    t = a
    c = n % 3
    rows = {rows}
    other = {other}
    row = [0.5, a, 1.0]
"""


class Tables:
    """Writes one program.

    Args:
        seed: of the program.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lines: list[str] = []
        self._names = ["rows", "rows", "rows", "other"]

    def source(self) -> str:
        """Return the source of a function ``program(x, a, n)``."""
        for _ in range(self._random.randint(2, 4)):
            self._outer()
        table = "[[0.0] * 3 for _ in range(6)]"
        start = self._pick(table, table, "[[a, i, x[i]] for i in range(6)]", "[[0] * 3 for _ in range(7)]")
        other = self._pick("[[1.0, x[0], a] for _ in range(6)]", "[[0.0, 0.0, 0.0] for _ in range(9)]")
        other = other if self._random.random() < 0.9 else "rows"
        ends = ["sum(sum(r) for r in rows)", "len(rows)", "sum(row)", "sum(sum(r) for r in other)", "t", "c"]
        ends += [self._pick("rows[-1][c] if rows else 1.0", "rows[c][1] if len(rows) > c else 2.0")]
        head = _HEAD.format(rows=start, other=other)
        return head + "\n".join(self._lines) + f"\n    return {', '.join(ends)}\n"

    def _pick(self, *options: str) -> str:
        return self._random.choice(options)

    def _write(self, level: int, text: str) -> None:
        self._lines.append("    " * level + text)

    def _row(self, i: str) -> str:
        return self._pick(i, i, i, f"{i} - 1", "c", "-1", "n % 5", f"({i} * c) % 5", "0")

    def _column(self, j: str) -> str:
        return (
            self._pick(j, j, "c", "-1", "0", "1", f"2 - {j}", f"{j} - 1")
            if j
            else self._pick("c", "-1", "0", "1")
        )

    def _number(self, i: str, j: str) -> str:
        rows = self._random.choice(self._names)
        read = f"{rows}[{self._row(i)}][{self._column(j)}]"
        return self._pick(
            read,
            read,
            f"max({read}, {self._random.uniform(-1, 1):.2f})",
            f"0.5 * {read} + x[n % 6]",
            "t",
            "a",
            f"x[{i} % 6]",
            f"max({rows}[{self._row(i)}])",
            f"sum({rows}[{self._row(i)}])",
            "row[c]",
            f"len({rows}[{self._row(i)}])",
            "np.tanh(t)",
        )

    def _condition(self, i: str, j: str) -> str:
        return self._pick(
            f"{self._number(i, j)} > {self._random.uniform(-1, 1):.2f}", "c > 1", f"{i} % 2", "len(rows) > 4"
        )

    def _simple(self, i: str, j: str) -> list[str]:
        rows, number = self._random.choice(self._names), self._number(i, j)
        one, two = self._row(i), self._row(i)
        place = f"{rows}[{one}][{self._column(j)}]"
        kind = self._random.random()
        if kind < 0.5:
            return [self._pick(f"{place} = {number}", f"{place} += {number}", f"{place} = t")]
        if kind < 0.6:
            return [f"w = {rows}[{one}]", f"w[{self._column(j)}] = {number}", f"t = 0.5 * t + {place} + w[c]"]
        if kind < 0.66:
            name = self._pick("row", "z", "z")
            return [
                f"{name} = [t, {number}, 1.0]",
                self._pick(f"{rows}[{one}] = {name}", f"{rows}.append({name})"),
            ]
        if kind < 0.7:
            return [f"{rows}.append([t, {number}, a])"]
        if kind < 0.74:
            return [f"{rows}[{one}], {rows}[{two}] = {rows}[{two}], {rows}[{one}]"]
        if kind < 0.78:
            return [f"u = {self._pick('list(', '[*')}{rows}[{one}]", f"u[c] = {number}", "t = 0.5 * t + u[0]"]
        if kind < 0.8:
            return ["row[c] = t"]
        return [self._pick(f"t = 0.6 * t + 0.1 * {number}", "c = (c + 1) % 3", f"t = 0.5 * {number}")]

    def _block(self, level: int, i: str, j: str) -> None:
        for _ in range(self._random.randint(1, 3)):
            lines = [*map(self._closed, self._simple(i, j))]
            if self._random.random() < 0.4:
                self._write(level, f"if {self._condition(i, j)}:")
                for line in lines:
                    self._write(level + 1, line)
            else:
                for line in lines:
                    self._write(level, line)

    @staticmethod
    def _closed(line: str) -> str:
        """Return a line whose copy of a row has its end."""
        if line.startswith("u = list("):
            return line + ")"
        return line + "]" if line.startswith("u = [*") else line

    def _outer(self) -> None:
        kind = self._random.random()
        if kind < 0.6:
            self._write(1, f"for i in range({self._pick('6', 'n', '1, 6', 'n - 1')}):")
            if self._random.random() < 0.6:
                self._write(2, f"for j in range({self._pick('3', '3', 'c', '5')}):")
                self._block(3, "i", "j % 3")
            else:
                self._block(2, "i", "")
        elif kind < 0.75:
            self._write(1, "k = 0")
            self._write(1, f"while k < {self._pick('6', 'n', '5')}{self._pick('', ' and t < 3.0')}:")
            self._block(2, "k", "")
            self._write(2, "k += 1")
        elif kind < 0.88:
            self._write(1, f"for r in {self._random.choice(self._names)}:")
            self._write(2, self._pick("t = 0.7 * t + r[c]", "r[c] = t", "t = 0.5 * t + 0.1 * sum(r)"))
        else:
            self._block(1, self._pick("0", "c", "n % 5"), "")
