"""Tests of the compiler compile every program: code that earlier processes cached does not stand in for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import wengert as wg
from tests.compiler.entries import POINT, gradient, rosenbrock
from tests.compiler.entries import compiled as entry_of
from wengert.compiler import specialisation
from wengert.compiler.llvm.host import host
from wengert.engine.machine import costs

#: The cost model of a compiler for which small programs are large.
SMALL = replace(
    costs.COSTS,
    blocked_sum_terms=2,
    blocked_nests=2,
    block_reads_share=100.0,
    blocked_loop_work=50,
    matrix_block_examples=2,
    split_reduction_work=50,
    long_sum_terms=60,
    swept_column=9,
    swept_row_bytes=32,
    swept_rows=4,
    prefetched_row_bytes=32,
    prefetched_rows=1,
    partial_sum_terms=16,
    split_extent=8,
    split_piece_extent=2,
    streamed_map_elements=20,
    map_reduce_rows=2,
    map_reduce_terms=2,
    parallel_nest_work=10,
    packed_product_work=50,
    bordered_sum_work=50,
    bordered_copy_work=1,
    packed_side=2,
    update_rows=2,
    row_sum_terms=2,
    streamed_row_bytes=64,
    delayed_store_steps=1,
    delayed_store_tiles=1,
    fused_writes=1,
    parallel_program_work=10,
    module_part_characters=3000,
)


@pytest.fixture(scope="module", autouse=True)
def no_cache() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WENGERT_CACHE", "off")
        yield


@pytest.fixture(scope="module")
def small() -> Iterator[None]:
    """Make every cache tiny and every sum long: small programs take the passes for large ones."""
    target = host()._replace(level1=256, level2=512)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "COSTS", SMALL)
        patch.setattr(specialisation, "host", lambda: target)
        patch.setenv("WENGERT_CACHE", "off")  # it does not depend on the cost model
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


@pytest.fixture
def restored_threads() -> Iterator[None]:
    before = wg.get_threads()
    yield
    wg.set_threads(before)
