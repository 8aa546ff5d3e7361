"""What decides is computed in one way: compiled programs of kinks take the sides that eager ones take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.kinked import kinked
from tests.draws import CASES

PROGRAMS, MANY = 8, 1500
#: How far compiled gradients may be from eager ones, in units of the largest element.
TOLERANCE = {np.float64: 1e-9, np.float32: 3e-3}


def gradient(f: Callable[..., Any], x: Any, v: Any) -> Any:
    return wg.jit(wg.grad(f))(x)


def value_and_gradient(f: Callable[..., Any], x: Any, v: Any) -> Any:
    return wg.jit(wg.value_and_grad(f))(x)[1]


def fast(f: Callable[..., Any], x: Any, v: Any) -> Any:
    return wg.jit(wg.grad(f), fastmath=True)(x)


def of_checkpoint(f: Callable[..., Any], x: Any, v: Any) -> Any:
    return wg.jit(wg.grad(wg.checkpoint(f)))(x)


def mapped(f: Callable[..., Any], x: Any, v: Any) -> Any:
    return wg.jit(wg.vmap(wg.grad(f)))(np.stack([x, x]))[1]


def eager_mapped(f: Callable[..., Any], x: Any, v: Any) -> Any:
    return wg.vmap(wg.grad(f))(np.stack([x, x]))[1]


def tangent(f: Callable[..., Any], x: Any, v: Any) -> Any:
    return wg.jit(lambda x, v: wg.jvp(f, (x,), (v,))[1])(x, v)


GRADIENTS = (gradient, value_and_gradient, fast, of_checkpoint, mapped, eager_mapped)


def check(seed: int) -> None:
    program, x = kinked(seed)
    draw = np.random.default_rng(seed)
    f, dtype = program.function, (np.float64, np.float32)[seed % 2]
    expected = wg.grad(f)(x)
    size = np.max(np.abs(expected))
    v = draw.standard_normal(program.size)
    slope, step = np.dot(expected, v), 1e-7
    moved = (f(x + step * v) - f(x - step * v)) / (2 * step)
    assert abs(slope - moved) < 1e-3 * size * np.sqrt(x.size), f"eager\n{program.source}"
    close = TOLERANCE[dtype] * size
    x, v = x.astype(dtype), v.astype(dtype)
    for mode in (gradient, GRADIENTS[1 + seed % 5]):
        error = np.max(np.abs(mode(f, x, v) - expected))
        assert error < close, f"{mode.__name__}: {error}\n{program.source}"
    if seed % 3 == 0:
        assert abs(tangent(f, x, v) - slope) < 10 * close * np.sqrt(x.size), f"tangent\n{program.source}"


@pytest.mark.parametrize("seed", range(PROGRAMS * (CASES - 1), PROGRAMS * CASES))
@pytest.mark.exhaustive
def test_compiled_programs_decide_as_eager_ones(seed: int) -> None:
    check(seed)


@pytest.mark.slow
def test_many_compiled_programs_decide_as_eager_ones() -> None:
    for seed in range(1000, 1000 + MANY):
        check(seed)
