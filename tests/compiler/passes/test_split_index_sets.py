"""Split index sets: concatenations, and gradients of splits, are computed piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import assert_same
from wengert import nn

RNG = np.random.default_rng(4)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def gates(x: Any, c: Any) -> Any:
    i, f, g, o = np.split(x, 4, axis=1)
    c = nn.sigmoid(f) * c + nn.sigmoid(i) * np.tanh(g)
    return np.sum(nn.sigmoid(o) * np.tanh(c))


def blocks(x: Any, y: Any) -> Any:
    rows = [np.concatenate([x, y], axis=1), np.concatenate([y, x * x], axis=1)]
    return np.concatenate(rows) + 1


def reversed_pieces(x: Any, y: Any) -> Any:
    return np.concatenate([x, y], axis=1)[:, ::-1] * 2


def integers(x: Any, y: Any) -> Any:
    return np.concatenate([x.astype(int), np.arange(7 * 40).reshape(7, 40), y > 0], axis=1)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "joined": (lambda x, y: np.concatenate([x, y, x], axis=1) - 1, (normal(7, 40), normal(7, 33))),
    "joined rows": (lambda x, y: np.concatenate([x, y]) / 3, (normal(40, 9), normal(33, 9))),
    "blocks": (blocks, (normal(70, 40), normal(70, 33))),
    "backwards": (reversed_pieces, (normal(7, 40), normal(7, 33))),
    "dtypes": (integers, (normal(7, 40), normal(7, 40))),
    "derivative of a split": (wg.grad(gates), (normal(5, 128), normal(5, 32))),
    "derivative of a difference": (wg.grad(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2)), (normal(100),)),
    "in a loop": (
        lambda x, y: wg.fori_loop(0, 3, lambda i, z: np.concatenate([z[:, 40:], y + i], axis=1), x),
        (normal(7, 80), normal(7, 40)),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_left_to_decide(name: str) -> None:
    function, given = PROGRAMS[name]
    compiled = wg.jit(function)
    assert " if " not in str(compiled.nests(*given))
    assert_same(compiled(*given), function(*given), scale=8)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (lambda x, y: np.concatenate([x, y], axis=1) + 1, (normal(3, 100), normal(3, 12))),
        (
            lambda x, y, z: np.concatenate([x, y], axis=1) * (z @ z.T),
            (normal(80, 40), normal(80, 40), normal(80, 9)),
        ),
        (lambda *pieces: np.concatenate(pieces) + 1, tuple(normal(16) for _ in range(17))),
    ],
    ids=["a piece of few elements", "sums", "many pieces"],
)
def test_conditions_that_stay(function: Callable[..., Any], given: tuple[Any, ...]) -> None:
    compiled = wg.jit(function)
    assert " if " in str(compiled.nests(*given))
    assert_same(compiled(*given), function(*given), scale=8)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", PROGRAMS)
def test_pieces_of_a_few_elements(name: str) -> None:
    function, given = PROGRAMS[name]
    assert_same(wg.jit(function)(*given), function(*given), scale=8)


def test_a_nest_becomes_few_nests_along_all_dimensions() -> None:
    x = normal(150, 150)

    def rows_and_columns(x: Any) -> Any:
        rows = np.concatenate([x[30 * i : 30 * i + 30] * (i + 2) for i in range(5)])
        return rows + np.concatenate([x[:, 30 * i : 30 * i + 30] * (i + 3) for i in range(5)], axis=1)

    compiled = wg.jit(rows_and_columns)
    assert str(compiled.nests(x)).count("nest ") == 5
    assert_same(compiled(x), rows_and_columns(x), scale=8)


def test_bytes_are_those_of_the_pieces() -> None:
    x, y = normal(7, 80), normal(7, 40)
    report = wg.jit(lambda x, y: np.concatenate([x, y], axis=1) * 2).report(x, y)
    assert len(report.nests) == 2
    assert report.bytes == 2 * (x.nbytes + y.nbytes)


def test_a_write_of_a_few_elements_leaves_the_others_alone() -> None:
    def program(x: Any, n: int) -> Any:
        y = x.copy()
        for i in range(n):
            y[1:] -= 0.1 * y[:-1]
            y[0] += x[3] * i
            y[5:7] = x[0]
        return y

    x, compiled = normal(90).astype(float), wg.jit(program)
    text = str(compiled.nests(x, 3))
    assert " if " not in text
    assert "[0] = " in text
    np.testing.assert_allclose(compiled(x, 3), program(x, 3), rtol=1e-13)
