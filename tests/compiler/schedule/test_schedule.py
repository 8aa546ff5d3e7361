"""Schedules: how many sums, and how many vectors of functions, go on at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.llvm.host import host


@pytest.mark.parametrize(
    ("function", "vectors"),
    [
        (np.sum, 4),
        (lambda x: np.sum(x * x), 4),
        (lambda x: np.sum((x - 0.3) ** 2), 4),
        (lambda x: np.sum(abs(2 * x - 1) * x * (1 - x)), 2),
        (lambda x: np.sum(np.polyval(np.arange(9, dtype=np.float32), x)), 1),
        (lambda x: np.sum(np.exp(x)), 4),
        (lambda x: np.sum(np.exp(-x * x) * np.sin(x) + np.sqrt(1 + x * x)), 4),
    ],
)
def test_a_sum_goes_on_in_as_many_parts_as_its_latency_needs(
    function: Callable[[Any], Any], vectors: int
) -> None:
    x = np.linspace(0, 1, 4096, dtype=np.float32)
    compiled = wg.jit(function)
    lanes = host().vector_bytes // 4 * vectors
    assert compiled.llvm(x).count(f"phi <{lanes} x float> [ splat") == 1
    np.testing.assert_allclose(compiled(x), function(x), rtol=1e-5)


@pytest.mark.parametrize(
    ("function", "vectors"),
    [
        (lambda x: np.tanh(x) * 2, True),
        (lambda x: np.where(x > 0.5, np.log1p(np.exp(x)), 0), True),
        (lambda x: np.sqrt(1 + x * x) / 3, False),
        (lambda x: np.tanh(np.max(x)) + x, False),
        (lambda x: np.cumsum(np.exp(x)), False),
    ],
    ids=["tanh", "a choice", "a root", "a function of one number", "one after another"],
)
def test_vectors_of_functions_are_computed_as_one(function: Callable[[Any], Any], vectors: bool) -> None:
    x = np.linspace(-1, 1, 4096, dtype=np.float32)
    compiled = wg.jit(function)
    wide = f"store <{host().vector_bytes} x float>"
    assert (wide in compiled.llvm(x)) is vectors
    np.testing.assert_allclose(compiled(x), function(x), rtol=1e-5, atol=1e-6)


def wave(x: Any) -> Any:
    return np.exp(-(np.tanh(x) ** 2)) + np.sin(x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_element_has_the_same_bits_wherever_it_stands(dtype: Any) -> None:
    x = np.linspace(-30, 30, 150).astype(dtype)
    compiled = wg.jit(wave)
    all_of_them = compiled(x)
    for count in (1, 3, 4, 7, 16, 31, 64, 65, 149):
        np.testing.assert_array_equal(compiled(x[:count]), all_of_them[:count])


@pytest.mark.parametrize(
    ("whole", "vectors"), [(1, 1), (2, 2), (3, 1), (4, 4), (5, 4), (6, 2), (7, 2), (8, 4)]
)
def test_as_many_vectors_as_leave_little(whole: int, vectors: int) -> None:
    x = np.ones(whole * host().vector_bytes // 4, np.float32)
    (nest,) = wg.jit(wave).report(x).nests
    assert nest.tile == (f"{vectors} vectors as one" if vectors > 1 else "")


def test_lanes_are_no_axis_whose_elements_are_fetched_one_by_one() -> None:
    """A mean over parts of rows has little to do for each element: the lanes stay in the rows."""

    def pooled(x: Any) -> Any:
        return np.mean(x.reshape(32, 8, 16, 2, 16, 2), axis=(3, 5))

    x = np.random.default_rng(2).normal(size=(32, 8, 32, 32)).astype(np.float32)
    compiled = wg.jit(wg.value_and_grad(lambda x: np.sum(pooled(x) ** 2)))
    (mean,) = (nest for nest in compiled.report(x).nests if nest.text.startswith("nest i<32 j<8"))
    assert mean.lanes.startswith("lanes l ")
    value, gradient = compiled(x)
    np.testing.assert_allclose(value, np.sum(pooled(x) ** 2), rtol=1e-4)
    np.testing.assert_allclose(
        gradient, np.repeat(np.repeat(pooled(x) / 2, 2, 2), 2, 3), rtol=1e-4, atol=1e-6
    )


def lane_extents(compiled: Any, *arguments: Any) -> set[int]:
    """Return the extents of the dimensions along the lanes of all nests."""
    found: set[int] = set()
    for nest in compiled.report(*arguments).nests:
        for name in nest.lanes.split()[1].split("*"):
            (extent,) = {int(shown) for shown in re.findall(rf"\b{name}<(\d+)", nest.text)}
            found.add(extent)
    return found


@pytest.mark.parametrize(
    ("shape", "axes", "other"),
    [((500, 32), (-1,), 500), ((500, 100), (-1,), 500), ((24, 37, 6, 7), (0, 2, 3), 37)],
)
def test_sums_run_along_the_rows_of_arguments(
    shape: tuple[int, ...], axes: tuple[int, ...], other: int
) -> None:
    """A normalisation and its derivative read what lies together as it lies, however many results there are."""

    def normalised(x: Any) -> Any:
        centred = x - np.mean(x, axis=axes, keepdims=True)
        return centred / np.sqrt(np.mean(centred**2, axis=axes, keepdims=True))

    def pulled(x: Any, y: Any) -> Any:
        return wg.vjp(normalised, x)[1](y)[0]

    x, y = np.random.default_rng(3).normal(size=(2, *shape)).astype(np.float32)
    compiled = wg.jit(pulled)
    assert other not in lane_extents(compiled, x, y)
    np.testing.assert_allclose(compiled(x, y), pulled(x, y), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("rows", "tile"), [(30, "tile i x 8"), (7, "tile i x 7"), (2, "tile i x 2"), (1, "")]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_chains_that_lie_apart_go_on_at_once(rows: int, tile: str, dtype: Any) -> None:
    """The step of a cumulative sum waits for the one before in its row, not for those of other rows."""

    def sums(x: Any) -> Any:
        return np.cumsum(x, axis=1)

    x = (10 * np.random.default_rng(4).normal(size=(rows, 50))).astype(dtype)
    compiled = wg.jit(sums)
    (nest,) = compiled.report(x).nests
    assert (nest.lanes, nest.tile) == ("", tile)
    np.testing.assert_array_equal(compiled(x), sums(x))


@pytest.mark.parametrize(
    ("dtype", "tile"), [(np.float32, ""), (np.float64, ""), (np.int32, "4 vectors as one")]
)
def test_masks_of_positions_are_those_of_one_vector(dtype: Any, tile: str) -> None:
    def best(x: Any) -> Any:
        return np.argmax(x, 1)

    x = (100 * np.random.default_rng(6).normal(size=(5, 4096))).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        x[3, 4000:4010] = np.nan
    compiled = wg.jit(best)
    (nest,) = compiled.report(x).nests
    assert nest.tile == tile
    np.testing.assert_array_equal(compiled(x), best(x))
