"""Passes for large programs, carried out on small ones: as if every cache were tiny and every sum long."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import check
from tests.compiler.test_other_targets import CASES
from tests.compiler.test_random_graphs import check_seed
from tests.compiler.test_shared_work import check_draw

pytestmark = pytest.mark.usefixtures("small")


@pytest.mark.parametrize("name", CASES)
def test_programs(name: str) -> None:
    function, arguments = CASES[name]
    check(function, *arguments, ulp=300, scale=4.0)


@pytest.mark.parametrize("seed", range(3, 15))
def test_random_graphs(seed: int) -> None:
    check_seed(seed)


def shifted(x: Any) -> Any:
    for _ in range(6):
        y = np.tanh(x)
        x = np.exp(-y * y) + np.concatenate([y[4:], np.zeros(4)])
    return x


def test_neighbours() -> None:
    x = np.random.default_rng(0).normal(size=3 * 2**6)
    check(wg.value_and_grad(lambda x: np.sum(shifted(x) ** 2)), x, ulp=500, scale=1.0)


@pytest.mark.usefixtures("restored_threads")
@pytest.mark.parametrize("seed", range(16))
def test_shared_work(seed: int) -> None:
    wg.set_threads(2)
    check_draw(seed, small=True)


@pytest.mark.slow
@pytest.mark.usefixtures("restored_threads")
@pytest.mark.parametrize("first", range(16, 166, 10))
def test_more_shared_work(first: int) -> None:
    wg.set_threads(2)
    for seed in range(first, first + 10):
        check_draw(seed, small=True)
