"""What decides has one value: compiled programs of kinks take the sides that eager ones take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.kinked import kinked
from tests.draws import CASES

PROGRAMS, MANY = 5, 600
#: How far compiled slopes may be from eager ones, in units of the largest element of the gradient.
TOLERANCE = {np.float64: 1e-9, np.float32: 3e-3}

#: The gradient of a function at x, or its product with v.
MODES: dict[str, Callable[..., Any]] = {
    "gradient": lambda f, x, v: wg.jit(wg.grad(f))(x),
    "value and gradient": lambda f, x, v: wg.jit(wg.value_and_grad(f))(x)[1],
    "tangent": lambda f, x, v: wg.jit(lambda x, v: wg.jvp(f, (x,), (v,))[1])(x, v),
    "checkpoint": lambda f, x, v: wg.jit(wg.grad(wg.checkpoint(f)))(x),
    "batch": lambda f, x, v: wg.jit(wg.vmap(wg.grad(f)))(np.stack([x, x]))[1],
    "eager batch": lambda f, x, v: wg.vmap(wg.grad(f))(np.stack([x, x]))[1],
    "fast": lambda f, x, v: wg.jit(wg.grad(f), fastmath=True)(x),
}


def check(seed: int) -> None:
    program, x = kinked(seed)
    f, dtype = program.function, (np.float64, np.float32)[seed % 2]
    expected = wg.grad(f)(x)
    size = np.max(np.abs(expected))
    v = np.random.default_rng(seed).standard_normal(program.size)
    slope, step, length = np.dot(expected, v), 1e-7, np.sqrt(program.size)
    moved = (f(x + step * v) - f(x - step * v)) / (2 * step)
    assert abs(slope - moved) < 1e-3 * size * length, f"differences\n{program.source}"
    name = list(MODES)[seed % len(MODES)]
    found = MODES[name](f, x.astype(dtype), v.astype(dtype))
    error = np.max(np.abs(found - expected)) if np.ndim(found) else abs(found - slope) / length
    assert error < TOLERANCE[dtype] * size, f"{name}, {dtype.__name__}: {error}\n{program.source}"


@pytest.mark.parametrize("seed", range(PROGRAMS * (CASES - 1), PROGRAMS * CASES))
@pytest.mark.exhaustive
def test_compiled_programs_decide_as_eager_ones(seed: int) -> None:
    check(seed)


@pytest.mark.slow
def test_many_compiled_programs_decide_as_eager_ones() -> None:
    for seed in range(1000, 1000 + MANY):
        check(seed)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("size", [5, 64, 1001])
def test_a_product_is_rounded_for_all_its_uses_or_for_none(dtype: Any, size: int) -> None:
    x, y = np.random.default_rng(size).standard_normal((2, size)).astype(dtype)

    def program(x: Any, y: Any) -> Any:
        product, square = x * y, x**2
        largest = np.max(product)
        return product, product - largest, largest - product, square - np.flip(np.flip(square)), product[0]

    product, below, above, zeros, first = wg.jit(program)(x, y)
    np.testing.assert_array_equal(product, x * y)
    np.testing.assert_array_equal(below, product - np.max(product))
    np.testing.assert_array_equal(above, -below)
    np.testing.assert_array_equal(zeros, 0)
    assert first == product[0]


def expensive(x: Any) -> tuple[Any, Any]:
    return np.tanh(x) * 0.7, np.sin(x) * 0.6


#: The kink, of values that a second nest computes again from stored ones.
KINKS: dict[str, Callable[..., Any]] = {
    "maximum": lambda p, q: np.maximum((p - q) * 0.8, q),
    "minimum": lambda p, q: np.minimum((p - q) * 0.8, q),
    "fmax": lambda p, q: np.fmax((p - q) * 0.8, 0.1),
    "clip": lambda p, q: np.clip((p - q) * 0.8, -0.1, q),
    "reduction": lambda p, q: np.max(((p - q) * 0.8).reshape(8, -1), axis=0).repeat(8) * q,
    "pooling": lambda p, q: wg.nn.max_pool(((p - q) * 0.8).reshape(1, 1, -1), 2).reshape(-1).repeat(2) * p,
    "choice": lambda p, q: np.where((p - q) * 0.8 == np.maximum((p - q) * 0.8, q), p, q),
}


@pytest.mark.parametrize("kink", KINKS)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("fastmath", [False, True])
def test_the_derivative_of_a_kink_finds_its_operand_again(kink: str, dtype: Any, fastmath: bool) -> None:
    def loss(x: Any) -> Any:
        p, q = expensive(x)
        return np.var(KINKS[kink](p, q) * p * q) * p.size

    x: Any = np.random.default_rng(1).standard_normal(512)
    expected = wg.grad(loss)(x)
    found = wg.jit(wg.grad(loss), fastmath=fastmath)(x.astype(dtype))
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[dtype] * np.max(np.abs(expected)))
