"""Elements side by side: pairs that are read whole, and stores that are joined, for all extents and strides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import check
from wengert.compiler.schedule.layout import row_major
from wengert.compiler.schedule.strides import joined_stores, pair_place
from wengert.engine.nest.expression import Buffer, Const, Load
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.nest import Nest, Store

RNG = np.random.default_rng(0)
F64 = np.dtype(np.float64)


def test_pairs_are_read_whole_where_all_lie_inside() -> None:
    x, odd, i, j = Buffer(F64, (10, 2)), Buffer(F64, (19,)), Dim(10), Dim(3)
    layouts = {x: row_major(x.shape), odd: row_major(odd.shape)}
    along = Index.of(i)
    assert [pair_place(layouts, Load(x, (along, Index(part))), i) for part in range(2)] == [0, 1]
    assert pair_place(layouts, Load(odd, (along * 2,)), i) is None  # the last one has no neighbour
    assert pair_place(layouts, Load(odd, (Index.of(Dim(9)) * 2,)), i) is None  # it does not follow the lanes
    assert pair_place(layouts, Load(x, (Index.of(j) + 1, Index(0))), i) is None


@pytest.mark.parametrize("stride", [2, 3, 5, 8, 6])
def test_stores_are_joined_where_they_leave_no_gap(stride: int) -> None:
    y, i, value = Buffer(F64, (40 * stride,)), Dim(40), Const(1.0, F64)
    stores = [Store(y, (Index.of(i) * stride + place,), value) for place in range(stride)]
    layouts = {y: row_major(y.shape)}
    groups = joined_stores(Nest((i,), tuple(reversed(stores))), i, layouts)
    assert groups == ([] if stride == 6 else [tuple(stores)])
    assert joined_stores(Nest((i,), tuple(stores[1:])), i, layouts) == []


def test_arrays_that_are_read_backwards() -> None:
    for count in (1, 7, 8, 9, 37):
        x = RNG.normal(size=(5, count))
        check(
            lambda x: (
                x[:, ::-1] * 2.0 + x,
                x[:, ::-2] + 1.0,
                x[:, -1::-2] * 3.0,
                (x[:, ::-1] > 0) & (x > 0),
            ),
            x,
        )
        check(lambda x: x[:, ::-1] + 1, (x * 100).astype("int32"))


def _products(z: Any, w: Any) -> Any:
    return z * w + z, np.exp(z) * w, z.real * w, z[..., ::-1] * w, z[..., ::2] * 2.0, (z.T * w.T).imag


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "shape", [(1,), (3,), (8,), (9,), (37,), (5, 6), (3, 17), (17, 3), (2, 3, 4)], ids=str
)
def test_complex_arrays_of_every_extent(shape: tuple[int, ...], dtype: str) -> None:
    z, w = ((RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype) for _ in range(2))
    check(_products, z, w, ulp=100.0, scale=1.0)


def test_a_complex_program_reads_and_writes_each_pair_once() -> None:
    z = RNG.normal(size=64) + 1j * RNG.normal(size=64)
    fast = wg.jit(lambda z: z * z + 1.0)
    assert len(fast.report(z).nests) == 1
    assert "gather" not in (text := fast.llvm(z))
    assert "scatter" not in text
