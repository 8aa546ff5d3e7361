"""Tests of the compiler compile: what earlier processes left in the user's cache says nothing about this code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import wengert as wg
from tests.backend.entries import POINT, gradient, rosenbrock
from tests.backend.entries import compiled as entry_of
from wengert.backend import (
    blocks,
    compiled,
    independent,
    late,
    layout,
    module,
    pack,
    partial,
    parts,
    pieces,
    sweep,
    tally,
    tiling,
)
from wengert.backend.target import host

#: Thresholds of passes for large programs, and what they are for tests.
THRESHOLDS = (
    (independent, "_LONG", 2),
    (blocks, "_NESTS", 2),
    (blocks, "_LARGE", 50),
    (module, "SHORT", 10),
    (late, "_STEPS", 1),
    (late, "_TILES", 1),
    (layout, "_SMALL", 10),
    (pack, "_LARGE", 50),
    (parts, "_SIZE", 3000),
    (partial, "_LARGE", 50),
    (partial, "_LONG", 60),
    (partial, "_PART", 16),
    (pieces, "_LONG", 8),
    (pieces, "_PIECE", 2),
    (sweep, "_ROWS", 2),
    (sweep, "_TERMS", 2),
    (tally, "_LARGE", 20),
    (tally, "_ROWS", 2),
    (tally, "_TERMS", 2),
    (tiling, "_PAGE", 64),
)


@pytest.fixture(scope="module", autouse=True)
def no_cache() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WENGERT_CACHE", "off")
        yield


@pytest.fixture(scope="module")
def small() -> Iterator[None]:
    """Make every cache tiny and every sum long, so that small programs go through the passes for large ones."""
    target = host()._replace(level1=256, level2=512)
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, least in THRESHOLDS:
            patch.setattr(owner, name, least)
        patch.setattr(compiled, "host", lambda: target)
        patch.setenv("WENGERT_CACHE", "off")  # which does not know of any of this
        yield


@pytest.fixture(scope="module")
def wengert_entry() -> Any:
    return entry_of(gradient, 2.0, 5.0)


@pytest.fixture(scope="module")
def rosenbrock_entry() -> Any:
    return entry_of(wg.value_and_grad(rosenbrock), POINT)


@pytest.fixture(scope="module")
def scalars() -> Any:
    return entry_of(lambda number, truth, value: (number, truth, value), 1, True, 1.0)
