"""Blocked products: factors in panels, sums in blocks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compiler.comparing import check
from tests.draws import examples
from wengert import nn
from wengert.compiler.jit import jit

DTYPES = st.sampled_from(["float32", "float64", "complex64", "complex128", "int32"])


def operand(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """Return an array of small integers: a product has the same bits in any order."""
    parts = rng.integers(-8, 9, (2, *shape))
    return (parts[0] + 1j * parts[1]).astype(dtype) if dtype.startswith("c") else parts[0].astype(dtype)


def product(left: bool, right: bool) -> Callable[..., Any]:
    """Return the product of two matrices of which some are given transposed."""
    return lambda x, y: (x.T if left else x) @ (y.T if right else y)


def factors(seed: int, extents: tuple[int, int, int], left: bool, right: bool, dtype: str) -> tuple[Any, Any]:
    """Return the two factors."""
    rng = np.random.default_rng(seed)
    rows, terms, columns = extents
    x = operand(rng, (terms, rows) if left else (rows, terms), dtype)
    return x, operand(rng, (columns, terms) if right else (terms, columns), dtype)


@examples(10)
@given(
    extents=st.tuples(st.integers(1, 70), st.integers(1, 90), st.integers(1, 70)),
    left=st.booleans(),
    right=st.booleans(),
    dtype=DTYPES,
    seed=st.integers(0, 1000),
)
def test_products_of_all_orders(
    small: None, extents: tuple[int, int, int], left: bool, right: bool, dtype: str, seed: int
) -> None:
    x, y = factors(seed, extents, left, right, dtype)
    np.testing.assert_array_equal(jit(product(left, right))(x, y), product(left, right)(x, y))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("extents", [(130, 450, 61), (70, 64, 128), (257, 700, 40)])
def test_products_in_blocks_of_the_caches(extents: tuple[int, int, int], dtype: str) -> None:
    x, y = factors(0, extents, True, True, dtype)
    np.testing.assert_array_equal(jit(product(True, True))(x, y), product(True, True)(x, y))


def layer(x: Any, w: Any, b: Any) -> Any:
    """Return two results of one product, neither of which is the sum itself."""
    sums = x @ w.T + b
    return np.maximum(sums, 0), sums > 0


def update(x: Any, w: Any, g: Any) -> Any:
    """Return what reads the place that it replaces."""
    return w - 0.5 * (x.T @ g)


def attention(q: Any, k: Any) -> Any:
    """Return products for each example and head, which are other axes than those of the product."""
    return np.einsum("bqhd,bkhd->bhqk", q, k)


def gram(x: Any) -> Any:
    """Return the product of a matrix with itself."""
    return x.T @ x


def cut_twice(x: Any, y: Any) -> Any:
    """Return a sum over two axes."""
    return np.einsum("ikl,klj->ij", x, y)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (layer, [(40, 90), (30, 90), (30,)]),
        (update, [(80, 24), (24, 36), (80, 36)]),
        (attention, [(2, 20, 3, 16), (2, 28, 3, 16)]),
        (gram, [(50, 34)]),
        (cut_twice, [(20, 12, 9), (12, 9, 26)]),
        (np.matmul, [(3, 20, 40), (3, 40, 24)]),
    ],
)
def test_results_made_of_blocked_products(
    small: None, function: Callable[..., Any], shapes: list[tuple[int, ...]]
) -> None:
    rng = np.random.default_rng(1)
    check(function, *(operand(rng, shape, "float32") for shape in shapes))


def test_no_element_beyond_the_blocks_counts(small: None) -> None:
    x, y = factors(2, (33, 41, 29), False, True, "float64")
    x[5, 7], y[3, 9] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(jit(product(False, True))(x, y), x @ y.T)


WINDOWS = {
    "images in turn": ((6, 16, 30, 34), (33, 16, 3, 3)),
    "rows of an image in turn": ((1, 40, 61, 64), (35, 40, 3, 3)),
    "images in turn, sums in blocks": ((5, 64, 17, 24), (40, 64, 5, 5)),
}


@pytest.mark.parametrize(("shape", "filters"), WINDOWS.values(), ids=WINDOWS)
def test_windows_take_turns(shape: tuple[int, ...], filters: tuple[int, ...]) -> None:
    """The copy of all windows of a convolution outgrows the caches: what a turn copies does not."""
    rng = np.random.default_rng(0)
    x, w = operand(rng, shape, "float32"), operand(rng, filters, "float32")

    def convolved(x: Any, w: Any) -> Any:
        return nn.convolve(x, w, 1, 1)

    compiled = jit(convolved)
    np.testing.assert_array_equal(compiled(x, w), convolved(x, w))
    report = compiled.report(x, w)
    windows = shape[0] * math.prod(shape[2:]) * math.prod(filters[1:]) * x.itemsize
    assert 0 < report.private < windows / 3
    assert report.arena < windows
