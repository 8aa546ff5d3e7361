"""The size of the code, and the work of the passes, are linear in the size of the program: drawn chains of writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import check

Write = Callable[[Any, Any, int, int], None]


def row(c: Any, x: Any, i: int, n: int) -> None:
    c[i, i:] = x[i] * x[i:]


def row_and_column(c: Any, x: Any, i: int, n: int) -> None:
    c[i:, i] = c[i, i:] = np.cos(x[i]) * x[i:]


def added_row(c: Any, x: Any, i: int, n: int) -> None:
    c[i, : i + 1] += x[: i + 1] * x[i]


def column(c: Any, x: Any, i: int, n: int) -> None:
    c[i:, i] = c[i:, i] * x[i] + x[i:]


def every_second(c: Any, x: Any, i: int, n: int) -> None:
    c[i, i % 2 :: 2] = x[i % 2 :: 2] - c[i, i % 2 :: 2]


def backward(c: Any, x: Any, i: int, n: int) -> None:
    c[n - 1 - i, ::-1] = c[i] + x[i]


def block(c: Any, x: Any, i: int, n: int) -> None:
    c[i:, i:] += 0.1 * x[i:, None] * x[i:]


def rank_one(c: Any, x: Any, i: int, n: int) -> None:
    c[i + 1 :, i + 1 :] -= 0.1 * c[i + 1 :, i : i + 1] * c[i : i + 1, i + 1 :]


def scaled(c: Any, x: Any, i: int, n: int) -> None:
    c[:] = 0.9 * c
    c[i, 0] = x[i]


def elements(c: Any, x: Any, i: int, n: int) -> None:
    for j in range(max(0, i - 3), i + 1):
        c[i, j] = (x[i] * x[j] - np.sum(c[i, :j] * c[j, :j])) / (2.0 + x[j] ** 2)


def cholesky(c: Any, x: Any, i: int, n: int) -> None:
    c[i, i] = np.sqrt(2.0 + x[i] ** 2 + np.sum(c[i, :i] ** 2))
    for j in range(i + 1, min(i + 4, n)):
        c[j, i] = (x[i] * x[j] - np.sum(c[j, :i] * c[i, :i])) / c[i, i]


def symmetric_rank(c: Any, x: Any, i: int, n: int) -> None:
    factor = x[:, None] * x[:3]
    c[i, : i + 1] = factor[i] @ factor[: i + 1].T


WRITES: tuple[Write, ...] = (
    row,
    row_and_column,
    added_row,
    column,
    every_second,
    backward,
    block,
    rank_one,
    scaled,
    elements,
    cholesky,
    symmetric_rank,
)


#: The first programs are in the quick run.
SEEDS = [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 40))]


def program_of(writes: Sequence[Write], n: int) -> Callable[[Any], Any]:
    """Return a program that carries out some writes in each turn."""

    def program(x: Any) -> Any:
        c = np.zeros((n, n)) + 0.0 * x[0]
        for i in range(n):
            for write in writes:
                write(c, x, i, n)
        return c

    return program


def drawn(seed: int, n: int) -> Callable[[Any], Any]:
    """Return the program of a seed: one to three writes in each turn, and for two seeds of three its gradient."""
    rng = np.random.default_rng(seed)
    program = program_of([WRITES[seed % len(WRITES)], *rng.choice(np.array(WRITES), rng.integers(0, 3))], n)
    if seed % 3 == 0:
        return program
    return wg.value_and_grad(lambda x: np.sum(np.sin(program(x))))


def argument(n: int) -> Any:
    return np.linspace(-0.8, 0.9, n)


def measured(seed: int, n: int) -> tuple[int, int, float]:
    """Return the operations, the lines of LLVM IR, and the seconds of the processor for all passes."""
    compiled, x = wg.jit(drawn(seed, n)), argument(n)
    start = time.process_time()
    text = compiled.llvm(x)
    seconds = time.process_time() - start
    operations = str(compiled.graph(x)).partition("\ndata {")[0].count(" = ")
    return operations, len(text.splitlines()), seconds


def check_size(seed: int) -> None:
    """Compare a program with one of about twice the operations."""
    operations, lines, seconds = measured(seed, 6)
    more, longer, later = measured(seed, 12)
    grown = more / operations
    assert more >= 1.5 * operations
    assert lines <= 40 * operations + 400
    assert longer <= 40 * more + 400
    assert longer <= 1.5 * grown * lines + 400
    assert later <= 3 * grown * seconds + 1, "the passes take more than linear time"


@pytest.mark.parametrize("seed", SEEDS)
def test_lines(seed: int) -> None:
    check_size(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_values(seed: int) -> None:
    check(drawn(seed, 7), argument(7), ulp=2000, scale=1.0)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.exhaustive
def test_each_write(write: Write) -> None:
    check(program_of([write], 4), argument(4), ulp=200, scale=1.0)


@pytest.mark.exhaustive
def test_the_old_array_is_read_later() -> None:
    """A version of the array that a later step reads stays as it was."""

    def program(x: Any) -> Any:
        c = np.zeros((12, 12)) + x
        versions: list[Any] = [c[0, 0]]
        for i in range(12):
            old = c.copy()
            c[i, i:] = x[i] * old[11 - i, i:]
            if i % 4 == 3:
                versions.append(old)
        return np.sin(versions[1] @ c) + np.cos(versions[2] @ c) @ versions[3]

    check(program, argument(12), ulp=100, scale=1.0)


if __name__ == "__main__":
    for number in range(40):
        for extent in (8, 16, 32):
            count, length, spent = measured(number, extent)
            print(
                number, extent, count, f"{length / count:.1f} lines, {1e3 * spent / count:.2f} ms", flush=True
            )
