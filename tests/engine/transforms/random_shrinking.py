"""Random programs with loops in which an array becomes shorter."""

from __future__ import annotations

import random

_OF_VECTORS = (
    *("v[1:]", "v[:-1]", "v[1:-1]", "v[2:] * 0.9", "v[i % 2:]", "v[:len(v) - 1] + 0.1", "v[::-1][1:] * a"),
    *("v[1:] + a * v[:-1]", "v[:-1] * v[1:]", "np.sin(v[1:]) - v[:-1]", "np.maximum(v[1:], v[:-1])"),
    *("0.5 * (v[2:] + v[:-2]) - v[1:-1] * a", "(v[1:] - v[:-1]) / (1.0 + v[1:] ** 2)"),
)
_OF_MATRICES = (
    *("v[1:]", "v[:, :-1]", "v[1:, 1:] * a + v[:-1, :-1]", "v[:, 1:] - v[:, :-1]", "v[1:-1, :] + 0.0"),
    *("v[:-1] * v[1:]", "v[i % 2:]"),
)
_LOOPS = ("for i in range({turns}):", "for i in range(n):", "while i < n:", "while len(v) > n and i < 6:")
_WRITES = ("v[0] = a", "v[-1] += a", "v[1:] = 0.2", "v *= 1.1", "v = v.copy()", "w[3] = 0.5", "w += a")
_READS = (
    "s + np.sum(v) * 0.1",
    "s + np.sum(v[0])",
    "s + len(v) * 0.01",
    "s + np.max(v)",
    "s + np.sum(v[-1]) * a",
)
_ENDS = ("np.sum(v)", "np.sum(v[0]) * 2.0", "np.sum(v * v) + len(v)", "v.max()")


class Shrinking:
    """Writes one program.

    Args:
        seed: of the program.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def source(self) -> str:
        """Return the source of a function ``program(x, a, n)``."""
        is_matrix = self._random.random() < 0.3
        cuts = _OF_MATRICES if is_matrix else _OF_VECTORS
        loop = self._pick(_LOOPS).format(turns=self._random.randint(0, 6))
        lines = [
            "v = np.outer(x, np.cos(x))" if is_matrix else "v = x.copy()",
            "w = v",
            "s, i = 0.0, 0",
            loop,
        ]
        if "while" in loop:
            lines.append("    i = i + 1")
        for _ in range(self._random.randint(1, 2)):
            lines += [f"    {line}" for line in self._cut(cuts)]
            if self._random.random() < 0.2:
                lines.append(f"    {self._pick(_WRITES)}")
            if self._random.random() < 0.5:
                lines.append(f"    s = {self._pick(_READS)}")
        lines.append(f"return s + 0.3 * np.sum(w) + {self._pick(_ENDS)}")
        return "def program(x, a, n):\n" + "".join(f"    {line}\n" for line in lines)

    def _pick(self, among: tuple[str, ...]) -> str:
        return self._random.choice(among)

    def _cut(self, cuts: tuple[str, ...]) -> list[str]:
        one, other, kind = self._pick(cuts), self._pick(cuts), self._random.random()
        if kind < 0.2:
            return ["if s > 0.3:", f"    v = {one}", "else:", f"    v = {other}"]
        if kind < 0.35:
            return ["if i % 2 == 0:", f"    v = {one}"]
        return [f"v = {one}"]
