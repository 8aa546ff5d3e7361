"""Tests of the compiler compile: what earlier processes left in the user's cache says nothing about this code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import wengert as wg
from tests.compiler.entries import POINT, gradient, rosenbrock
from tests.compiler.entries import compiled as entry_of
from wengert.compiler import compiled, specialisation
from wengert.compiler.codegen import module, module_parts
from wengert.compiler.llvm.host import host
from wengert.compiler.machine import costs
from wengert.compiler.passes import (
    block_batches,
    fuse_map_reduce,
    independence,
    split_index_sets,
    split_reductions,
)
from wengert.compiler.schedule import delay_stores, fuse_updates, pack_operands, register_tile

#: Thresholds of passes for large programs, and what they are for tests.
THRESHOLDS = (
    (independence, "_LONG", 2),
    (block_batches, "_NESTS", 2),
    (block_batches, "_LARGE", 50),
    (module, "SHORT", 10),
    (delay_stores, "_STEPS", 1),
    (delay_stores, "_TILES", 1),
    (costs, "PARALLEL", 10),
    (pack_operands, "_LARGE", 50),
    (module_parts, "_SIZE", 3000),
    (split_reductions, "_LARGE", 50),
    (split_reductions, "_LONG", 60),
    (split_reductions, "_PART", 16),
    (split_index_sets, "_LONG", 8),
    (split_index_sets, "_PIECE", 2),
    (fuse_updates, "_ROWS", 2),
    (fuse_updates, "_TERMS", 2),
    (fuse_map_reduce, "_LARGE", 20),
    (fuse_map_reduce, "_ROWS", 2),
    (fuse_map_reduce, "_TERMS", 2),
    (register_tile, "_PAGE", 64),
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
        for owner in (compiled, specialisation):
            patch.setattr(owner, "host", lambda: target)
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
