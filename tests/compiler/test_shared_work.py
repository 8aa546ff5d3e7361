"""Programs whose loops threads share, drawn: convolutions, products and reductions, with their derivatives.

Each is a value and the gradient of a scalar of it for all operands, on two threads, compared with NumPy's in double
precision. `test_small_thresholds` draws small ones, for a compiler that takes them for large ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import check
from wengert import nn

Rng = np.random.Generator
Function = Callable[[Any, Any], Any]
Drawn = tuple[Function, tuple[Any, ...]]


@pytest.fixture(scope="module", autouse=True)
def two_threads() -> Iterator[None]:
    before = wg.get_threads()
    wg.set_threads(2)
    yield
    wg.set_threads(before)


def one(rng: Rng, *values: Any) -> Any:
    return values[rng.integers(len(values))]


def normal(rng: Rng, shape: tuple[int, ...], dtype: str) -> Any:
    """Return numbers in memory as a user has it: in either order, or a part of a larger array."""
    x = rng.standard_normal(shape).astype(dtype)
    wide = np.zeros([extent + 1 for extent in shape], dtype)
    part = wide[tuple(slice(extent) for extent in shape)]
    part[...] = x
    return one(rng, x, x, np.asfortranarray(x), part)


def convolution(rng: Rng, small: bool, dtype: str) -> Drawn:
    rank, groups = int(rng.integers(1, 3)), one(rng, 1, 1, 2, 4)
    examples = one(rng, 1, 2, 5) if small else one(rng, 3, 16, 32)
    channels, filters = (groups * one(rng, 1, 2, *([] if small else [8, 16])) for _ in range(2))
    settings: dict[str, Any] = {
        "stride": tuple(map(int, rng.integers(1, 4, rank))),
        "padding": tuple(map(int, rng.integers(0, 3, rank))),
        "dilation": tuple(map(int, rng.integers(1, 3, rank))),
        "groups": groups,
    }
    taps = tuple(map(int, rng.integers(1, 4, rank)))
    extents = tuple(map(int, rng.integers(6, 9 if small else 20, rank) * (1 if small or rank == 2 else 8)))
    if rng.random() < 0.5:
        arguments = (examples, channels, *extents), (filters, channels // groups, *taps)
        plain: Function = lambda x, w: nn.convolve(x, w, **settings)  # noqa: E731
        return plain, tuple(normal(rng, shape, dtype) for shape in arguments)
    arguments = (examples, channels, *extents), (channels, filters // groups, *taps)
    spans = [gap * (tap - 1) for gap, tap in zip(settings["dilation"], taps, strict=True)]
    settings["padding"] = tuple(map(min, settings["padding"], spans))
    transposed: Function = lambda y, w: nn.convolve_transposed(y, w, **settings)  # noqa: E731
    return transposed, tuple(normal(rng, shape, dtype) for shape in arguments)


def product(rng: Rng, small: bool, dtype: str) -> Drawn:
    rows, inner, columns = (int(rng.integers(1, 12 if small else 300)) for _ in range(3))
    batch = one(rng, (), (), (3,), (2, 3))
    x, y = normal(rng, (*batch, rows, inner), dtype), normal(rng, (*batch, inner, columns), dtype)
    turned = np.swapaxes(x, -1, -2).copy(), np.swapaxes(y, -1, -2).copy()
    forms: list[tuple[Function, tuple[Any, ...]]] = [
        (lambda x, y: np.tanh(x @ y), (x, y)),
        (lambda x, y: np.swapaxes(x, -1, -2) @ y, (turned[0], y)),
        (lambda x, y: x @ np.swapaxes(y, -1, -2), (x, turned[1])),
        (lambda x, y: np.einsum("...ij,...jk->...ki", x, y), (x, y)),
        (lambda x, y: x @ y + np.sum(x, -1, keepdims=True), (x, y)),
    ]
    return forms[rng.integers(len(forms))]


def reduction(rng: Rng, small: bool, dtype: str) -> Drawn:
    rank = int(rng.integers(1, 5))
    most = {1: 40, 2: 9, 3: 5, 4: 4} if small else {1: 400_000, 2: 700, 3: 90, 4: 30}
    shape = tuple(int(rng.integers(1, most[rank])) for _ in range(rank))
    axes = tuple(int(axis) for axis in rng.permutation(rank)[: rng.integers(1, rank + 1)])
    order = tuple(map(int, rng.permutation(rank)))
    x, y = normal(rng, shape, dtype), normal(rng, shape, dtype)
    forms: list[Function] = [
        lambda x, y: np.sum(np.transpose(x * y, order), axes),
        lambda x, y: np.var(x, axes) + np.mean(y, axes),
        lambda x, y: np.max(x, axes) * np.min(y, axes),
        lambda x, y: x / np.sqrt(1 + np.sum(y * y, axes, keepdims=True)),
        lambda x, y: np.cumsum(x, axes[0]) * np.exp(-np.abs(y)),
    ]
    return forms[rng.integers(len(forms))], (x, y)


KINDS = (convolution, convolution, product, reduction)


def with_gradient(function: Function) -> Function:
    loss: Function = lambda x, y: np.mean(function(x, y) ** 2)  # noqa: E731

    def both(x: Any, y: Any) -> Any:
        return function(x, y), wg.grad(loss, (0, 1))(x, y)

    return both


def check_draw(seed: int, *, small: bool) -> None:
    rng = np.random.default_rng((seed, small))
    dtype = one(rng, "float32", "float64")
    function, arguments = KINDS[seed % len(KINDS)](rng, small, dtype)
    both = with_gradient(function)
    double = [np.asarray(x, np.float64) for x in arguments]
    value, gradients = both(*double)
    actual, slopes = wg.jit(both)(*arguments)
    for got, expected in zip((actual, *slopes), (value, *gradients), strict=True):
        assert got.dtype == dtype
        size = np.max(np.abs(expected), initial=1e-30)
        np.testing.assert_allclose(got / size, expected / size, 0, 3e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("seed", range(16))
def test_large(seed: int) -> None:
    check_draw(seed, small=False)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(16, 166, 10))
def test_many_large(first: int) -> None:
    for seed in range(first, first + 10):
        check_draw(seed, small=False)


@pytest.mark.exhaustive
def test_a_loop_inside_a_loop() -> None:
    """The derivatives add up blocks of examples, each a product in blocks: in one of them both loops are shared."""
    rng = np.random.default_rng(0)
    x, w = normal(rng, (32, 32, 16, 16), "float32"), normal(rng, (64, 32, 3, 3), "float32")
    slopes = wg.grad(lambda w, x: np.mean(nn.convolve(x, w, 2, 1) ** 2), (0, 1))
    check(slopes, w, x, ulp=500, scale=1.0)
    assert "turns1" in wg.jit(slopes).llvm(w, x)
