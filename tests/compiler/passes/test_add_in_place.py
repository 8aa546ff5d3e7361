"""What turns add to rows of zeros, which are added to an array, they add to the array."""

from __future__ import annotations

import itertools
import linecache
import random
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import many


def walks(drift: float, noise: Any, barrier: float) -> Any:
    total = 0.0
    for path in noise:
        x = 0.0
        for z in path:
            x += drift * z
            if x > barrier:
                total += x * z
                break
            if x < -barrier:
                total -= 0.5 * (x + barrier) ** 2
                break
        else:
            total += 0.1 * x
    return total


def _staged(function: Any) -> Any:
    def program(drift: Any, noise: Any, barrier: Any) -> Any:
        if drift < -1e300:
            raise ValueError("so small")
        return function(drift, noise, barrier)

    return program


def test_no_row_is_cleared() -> None:
    arguments = 0.7, np.random.default_rng(0).normal(size=(20, 37)), 2.5
    gradient = wg.jit(wg.grad(_staged(walks), argnums=(0, 1, 2)))
    lines = str(gradient.nests(*arguments)).splitlines()
    cleared = [line for line, after in itertools.pairwise(lines) if "<37:" in line and "= 0.0" in after]
    assert len(cleared) == 1, cleared  # the whole array
    for found, expected in zip(gradient(*arguments), wg.grad(walks, (0, 1, 2))(*arguments), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def _drawn(seed: int) -> Any:
    """Return a program that reads elements of rows in loops that end by a condition, and other parts of the array."""
    draw = random.Random(seed)
    index = draw.choice(["j", "(2 * j + i) % 9", "8 - j", "j // 2"])
    row = draw.choice(["i", "(i + 1) % 6", "5 - i", "i // 2"])
    more = draw.choice(["", "total += row[3] * row[-1]", "row = row * 1.5", "total += x[i, 0] * x[0, i]"])
    end = draw.choice(["s > 1.0", "j > i", "s * s > 2.0"])
    rest = draw.choice(["", "total += np.sum(x[i] ** 2)", "total += row[j % 9] * s", "x = x * 1.01"])
    lines = [
        "def program(x):",
        "    if x[0, 0] < -1e300:",
        "        raise ValueError('so small')",
        "    total = 0.0",
    ]
    lines += [
        "    for i in range(6):",
        f"        row = x[{row}]",
        f"        {more or 'pass'}",
        "        s, j = 0.1, 0",
    ]
    lines += [
        "        while j < 9:",
        f"            s += row[{index}] * s",
        f"            if {end}:",
        "                break",
    ]
    lines += ["            j += 1", "        total += s", f"        {rest or 'pass'}", "    return total"]
    source = "\n".join(lines) + "\n"
    names: dict[str, Any] = {"np": np}
    name = f"<rows {seed}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    exec(compile(source, name, "exec"), names)
    return names["program"]


@pytest.mark.parametrize("seed", range(many(20)))
def test_drawn_loops_over_rows(seed: int) -> None:
    program, x = _drawn(seed), np.random.default_rng(seed).normal(size=(6, 9))
    slope = wg.grad(program)
    np.testing.assert_allclose(wg.jit(slope)(x), slope(x), rtol=1e-11, atol=1e-12)


def steepest(a: Any, b: Any) -> Any:
    x = np.zeros(len(b))
    for _ in range(30):
        if x @ x > 8.0:
            break
        if x[0] > 0.2:
            x = x + 0.3 * (b - a @ x)
        elif x[1] < 0.9:
            x = b - 0.3 * np.sin(a @ x)
        else:
            x = 1.1 * x
    return x


def test_branches_add_what_they_make() -> None:
    rng = np.random.default_rng(0)
    a, b, weights = np.eye(7) + 0.05 * rng.normal(size=(7, 7)), rng.normal(size=7), rng.normal(size=7)

    def weighted(a: Any, b: Any) -> Any:
        return steepest(a, b) @ weights

    gradient = wg.grad(weighted, (0, 1))
    fast = wg.jit(gradient)
    lines = str(fast.nests(a, b)).splitlines()
    cleared = [
        line for line, after in itertools.pairwise(lines) if line.count("<7") == 2 and "= 0.0" in after
    ]
    assert len(cleared) == 1, cleared
    for found, expected in zip(fast(a, b), gradient(a, b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
