"""Passes for large programs, carried out on small ones: as if every cache were tiny and every sum long."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.backend.comparing import check
from tests.backend.test_other_targets import CASES
from tests.backend.test_random_graphs import check_seed
from wengert.backend import blocks, compiled, independent, module, pack, partial, peel, steps
from wengert.backend.target import host

THRESHOLDS = (
    (independent, "_LONG", 2),
    (blocks, "_NESTS", 2),
    (blocks, "_LARGE", 50),
    (module, "SHORT", 10),
    (steps, "_SMALL", 10),
    (pack, "_LARGE", 50),
    (partial, "_LARGE", 50),
    (peel, "_LONG", 8),
)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name, least in THRESHOLDS:
        monkeypatch.setattr(owner, name, least)
    target = host()._replace(level1=256, level2=512, level3=1024)
    monkeypatch.setattr(compiled, "host", lambda: target)
    monkeypatch.setenv("WENGERT_CACHE", "off")  # which does not know of any of this


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
