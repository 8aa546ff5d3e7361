"""Native sorts: the bits of NumPy's stable sort for every dtype, along every axis, by both methods."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.compiler.comparing import check
from wengert.engine.machine import costs

DTYPES = [
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "bool",
    "float32",
    "float64",
]
SHAPES = [(1,), (2,), (37,), (150,), (700,), (4, 7), (30, 3), (2, 40, 5), (19, 1), (0, 3), (3, 0)]
METHODS = {
    "network": {"network_bytes": 1 << 20, "network_positions": 1 << 20},
    "digits": {"network_bytes": 20, "network_positions": 20},
    "long digits": {"network_bytes": 2, "network_positions": 2, "long_digit_words": 0},
}
NUMBERS = [0.0, -0.0, 1.0, -1.0, 1e-310, np.nan, np.copysign(np.nan, -1), np.inf, -np.inf, 3.5, 1e9, -2e30]


def elements(x: Any) -> Any:
    """Return the sorted elements along each axis."""
    return [np.sort(x, axis=axis) for axis in range(np.ndim(x))]


def positions(x: Any) -> Any:
    """Return the positions of the sorted elements along each axis."""
    return [np.argsort(x, axis=axis, kind="stable") for axis in range(np.ndim(x))]


def reference(x: Any) -> Any:
    """Return the elements and the positions by NumPy's stable sort."""
    found = positions(x)
    return [np.take_along_axis(x, order, axis) for axis, order in enumerate(found)], found


def drawn(r: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an array with ties; floats have zeros of both signs, infinities and several NaNs."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        special = r.choice(NUMBERS, size=shape)
        return np.where(r.random(shape) < 0.4, special, np.round(r.normal(size=shape), 1)).astype(dtype)
    if dtype.kind == "b":
        return r.random(shape) < 0.5
    limits = np.iinfo(dtype)
    wide = r.integers(limits.min, limits.max, size=shape, dtype=dtype, endpoint=True)
    return np.where(r.random(shape) < 0.5, wide, wide % 5).astype(dtype)


def assert_bits(actual: Any, expected: Any) -> None:
    for one, other in zip(wg.tree.leaves(actual), wg.tree.leaves(expected), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_are_those_of_numpys_stable_sort(
    dtype: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, **METHODS[method]))
    r = np.random.default_rng(DTYPES.index(dtype))
    arrays = [drawn(r, shape, dtype) for shape in SHAPES]
    compiled = wg.jit(
        lambda xs, ys, zs: (
            [(elements(x), positions(x)) for x in xs],
            list(map(elements, ys)),
            list(map(positions, zs)),
        )
    )
    assert not compiled.report(arrays, arrays, arrays).hosts
    expected = list(map(reference, arrays))
    assert_bits(compiled(arrays, arrays, arrays), (expected, *map(list, zip(*expected, strict=True))))


ROWS = wg.jit(lambda x: (elements(x), positions(x)))


@given(st.lists(st.lists(st.sampled_from(NUMBERS), min_size=23, max_size=23), min_size=6, max_size=6))
def test_zeros_and_nans_keep_their_order(rows: list[list[float]]) -> None:
    x = np.array(rows)
    assert_bits(ROWS(x), reference(x))


@given(st.lists(st.sampled_from([-0.0, 0.0, np.nan, 2.0, -1.0, np.inf]), min_size=1, max_size=8))
def test_eager_sorts_are_stable(numbers: list[float]) -> None:
    (x,) = wg.vmap(lambda x: (np.sort(x),))(np.array([numbers]))
    assert_bits([x[0]], [np.sort(numbers, kind="stable")])


def test_digits_that_all_words_share_are_left_out() -> None:
    x = (np.arange(3000)[::-1] % 200) << 40
    assert_bits(ROWS(x), reference(x))


def test_high_digits_that_depend_on_one_another_do_not_suffice() -> None:
    r = np.random.default_rng(5)
    byte = r.integers(0, 120, 3000)
    x = r.integers(0, 1 << 24, 3000) + sum(byte << 8 * digit for digit in range(3, 8))
    assert_bits(ROWS(x), reference(x))
    y = x.view(np.float64)
    assert_bits(ROWS(y), reference(y))


@pytest.mark.parametrize("mode", ["gradient", "tangent", "hessian", "batch", "batch of gradients"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_derivatives_and_batches_are_those_of_eager_mode(axis: int, mode: str) -> None:
    x = np.round(np.random.default_rng(1).normal(size=(4, 5, 3)), 1)
    w = np.random.default_rng(2).normal(size=x.shape)

    def f(x: Any) -> Any:
        return np.sum(np.sort(x, axis=axis) * w)

    def statistics(x: Any) -> Any:
        return np.median(x, axis=0), np.quantile(x, 0.3, axis=-1), np.argsort(x, axis=-1, kind="stable")

    functions = {
        "gradient": wg.value_and_grad(f),
        "tangent": lambda x: wg.jvp(f, (x,), (w,)),
        "hessian": wg.hessian(lambda x: np.sum(np.sort(x, axis=0)[0] ** 3)),
        "batch": wg.vmap(statistics),
        "batch of gradients": wg.vmap(wg.grad(lambda x: np.sum(np.sort(x, axis=0)[1:] ** 2))),
    }
    check(functions[mode], x[0] if mode == "hessian" else x)


def test_elements_and_positions_come_from_one_sort() -> None:
    compiled = wg.jit(wg.value_and_grad(lambda x: np.sum(np.sort(x) ** 2)))
    text = str(compiled.nests(np.ones(9)))
    assert text.count("sort[axis=0]") == 1
    assert "= sort, argsort[axis=0](x1)" in text


def test_sorts_in_loops_and_threads() -> None:
    def f(x: Any) -> Any:
        return wg.scan(lambda c, row: (np.sort(c + row), np.argsort(row, kind="stable")), x[0], x)

    check(f, np.random.default_rng(3).normal(size=(20, 40)))
    check(lambda x: np.sort(np.tanh(x), axis=1)[:, ::-1], np.random.default_rng(4).normal(size=(300, 90)))
