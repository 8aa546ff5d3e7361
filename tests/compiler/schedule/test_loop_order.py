"""The order of loops: operands that caches keep, and results that stream through them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.llvm.host import host
from wengert.compiler.schedule.layout import row_major
from wengert.compiler.schedule.loop_order import loop_order
from wengert.engine.core.dtypes import FLOAT32
from wengert.engine.nest.expression import Apply, Buffer, Load, Reduce
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.nest import Nest, Store


def order(rows: int, terms: int, columns: int) -> str:
    """Return the order of the loops of a product, ``rows columns`` or the other way round."""
    i, k, j = Dim(rows, "rows"), Dim(terms, "terms"), Dim(columns, "columns")
    x, y, z = (Buffer(FLOAT32, shape) for shape in ((rows, terms), (terms, columns), (rows, columns)))
    factors = Load(x, (Index.of(i), Index.of(k))), Load(y, (Index.of(k), Index.of(j)))
    product = Reduce("add", (k,), Apply("multiply", factors, FLOAT32), FLOAT32)
    nest = Nest((i, j), (Store(z, (Index.of(i), Index.of(j)), product),))
    layouts = {buffer: row_major(buffer.shape) for buffer in (x, y, z)}
    target = host()._replace(level1=48 << 10, level2=1 << 20)
    found = loop_order(nest, j, {i: 6, j: 4}, 16, layouts, target)
    return " ".join(dim.name for dim in found)


def test_what_is_read_most_stays() -> None:
    assert order(128, 256, 256) == "columns rows", (
        "64 columns of the second factor stay, not six rows of the first"
    )


def test_results_that_pass_through_the_caches_are_written_in_a_row() -> None:
    assert order(784, 128, 256) == "rows columns"
    assert order(784, 4096, 256) == "columns rows", "the second factor would pass through them, too"


def test_few_tiles_leave_the_front_to_a_dimension_with_more() -> None:
    assert order(6, 256, 2048) == "columns rows"


@pytest.mark.parametrize("shape", [(300, 64, 600), (1000, 20, 257), (257, 1, 1025)])
def test_large_results(shape: tuple[int, int, int]) -> None:
    rows, terms, columns = shape
    rng = np.random.default_rng(0)
    x, y, w = (
        rng.integers(-9, 9, s).astype(np.float32) for s in ((rows, terms), (terms, columns), (rows, columns))
    )

    def update(w: Any, x: Any, y: Any) -> Any:
        return w - 2 * (x @ y), w * w

    for found, expected in zip(wg.jit(update)(w, x, y), update(w, x, y), strict=True):
        np.testing.assert_array_equal(found, expected)
