"""Patterns: they cover every nonzero derivative, and are as narrow as the accesses of the operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import HypothesisDraw, examples
from wengert.engine.core.dtypes import dtype_of, is_complex, is_inexact
from wengert.engine.primitive import REGISTRY, NonDifferentiable, Primitive

SMOOTH = [
    primitive
    for primitive in REGISTRY
    if primitive.samples is not None and not isinstance(primitive.derivative, NonDifferentiable)
]


def real_function(
    primitive: Primitive, operands: tuple[Any, ...], params: dict[str, Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """Return an operation as a function of the real and imaginary parts of its operands, and these parts."""
    parts: list[Any] = []
    rebuild: list[Callable[[list[Any]], Any]] = []
    for operand in operands:
        place = len(parts)
        if not is_inexact(dtype_of(operand)):
            rebuild.append(lambda given, operand=operand: operand)
        elif is_complex(dtype_of(operand)):
            parts += [np.real(operand), np.imag(operand)]
            rebuild.append(lambda given, place=place: given[place] + 1j * given[place + 1])
        else:
            parts.append(np.asarray(operand))
            rebuild.append(lambda given, place=place: given[place])

    def function(given: list[Any]) -> list[Any]:
        results = primitive(*(make(given) for make in rebuild), **params)
        results = results if isinstance(results, tuple) else (results,)
        floats = [result for result in results if is_inexact(dtype_of(result))]
        return [
            part for one in floats for part in ([one.real, one.imag] if is_complex(dtype_of(one)) else [one])
        ]

    return function, parts


def dense(function: Callable[[list[Any]], list[Any]], parts: list[Any], jacobian: Any) -> Any:
    """Return the Jacobian of a function of arrays as one matrix."""
    heights, widths = ([np.size(one) for one in values] for values in (function(parts), parts))
    result = np.zeros((sum(heights), sum(widths)))
    for row, height, top in zip(jacobian(function)(parts), heights, starts(heights), strict=True):
        for block, width, left in zip(row, widths, starts(widths), strict=True):
            result[top : top + height, left : left + width] = block.reshape(height, width)
    return result


def starts(sizes: list[int]) -> list[int]:
    return [sum(sizes[:place]) for place in range(len(sizes))]


@pytest.mark.parametrize("primitive", SMOOTH, ids=[primitive.name for primitive in SMOOTH])
@examples(12)
@given(data=st.data())
def test_pattern_of_an_operation_covers_its_jacobian(primitive: Primitive, data: st.DataObject) -> None:
    assert primitive.samples is not None
    operands, params = primitive.samples(HypothesisDraw(data, plain=True))
    function, parts = real_function(primitive, operands, params)
    pattern = wg.sparse_jacobian(function).pattern(parts).toarray()
    derivatives = dense(function, parts, wg.jacfwd)
    assert pattern.shape == derivatives.shape
    missed = (derivatives != 0) & ~pattern
    assert not missed.any()


N = 12
POSITIONS = np.array([3, 1, 2, 2])
STENCIL = np.eye(N) - np.eye(N, k=1)


def band(lower: int, upper: int) -> Any:
    offset = np.arange(N) - np.arange(N)[:, None]
    return (offset >= -lower) & (offset <= upper)


def written(x: Any) -> Any:
    y = 2 * x
    y[1:] += x[:-1] ** 2
    return y


def blocks(*shape: int) -> Any:
    return np.kron(np.eye(shape[0], dtype=bool), np.ones(shape[1:], bool))


EXACT: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "elementwise": (lambda x: np.sin(x) * x + x**2, band(0, 0)),
    "written": (written, band(1, 0)),
    "difference": (lambda x: np.diff(x), band(0, 1)[:-1]),
    "roll": (lambda x: np.roll(x, 1) * x, band(1, 0) | np.eye(N, k=N - 1, dtype=bool)),
    "positions": (lambda x: x[POSITIONS], np.eye(N, dtype=bool)[POSITIONS]),
    "step": (lambda x: x[::-3], np.eye(N, dtype=bool)[::-3]),
    "constant matrix": (lambda x: STENCIL @ x, STENCIL != 0),
    "constant mask": (lambda x: np.where(np.arange(N) < 4, x, 0.0), band(0, 0) & (np.arange(N) < 4)),
    "constant factor": (lambda x: (np.arange(N) % 2) * x, band(0, 0) & (np.arange(N) % 2 > 0)),
    "unknown mask": (lambda x: np.where(x > 0, x, 0.0) * x, band(0, 0)),
    "unknown branch": (
        lambda x: wg.cond(x[0] > 0, lambda x: x, lambda x: x[::-1], x),
        band(0, 0) | band(0, 0)[::-1],
    ),
    "convolution": (lambda x: np.convolve(x, [1.0, 2.0, 3.0], "same"), band(1, 1)),
    "running sum": (lambda x: np.cumsum(x), band(N, 0)),
    "running product": (lambda x: np.cumprod(x), band(N, 0)),
    "sum over rows": (lambda x: x.reshape(4, 3).sum(1), blocks(4, 1, 3)),
    "norm of rows": (lambda x: np.linalg.norm(x.reshape(4, 3), axis=1), blocks(4, 1, 3)),
    "sorted rows": (lambda x: np.sort(x.reshape(4, 3), 1), blocks(4, 3, 3)),
    "transform of rows": (lambda x: np.fft.irfft(np.fft.rfft(x.reshape(3, 4)), 4), blocks(3, 4, 4)),
    "solution of blocks": (
        lambda x: np.linalg.solve(np.eye(2) + 0.1 * x.reshape(3, 2, 2), np.ones((3, 2, 1))),
        blocks(3, 2, 4),
    ),
    "transpose": (lambda x: x.reshape(3, 4).T, np.eye(N, dtype=bool)[np.arange(N).reshape(3, 4).T.ravel()]),
    "minus the mean": (lambda x: x - x.mean(), np.ones((N, N), bool)),
    "scan": (lambda x: wg.scan(lambda c, v: (c + v, c * v), 1.0, x)[1], band(N, 0)),
    "scan in which rows depend on nothing": (
        lambda x: wg.scan(lambda c, v: (c, v * v), 0.0, np.concatenate([x[:1], np.ones(5), x[6:]]))[1],
        band(0, 0) & ((np.arange(N) < 1) | (np.arange(N) > 5)),
    ),
    "long scan that shifts": (
        lambda x: wg.scan(lambda c, _: (0.5 * np.concatenate([c[1:], c[:1]]), None), x, None, length=N + 3)[
            0
        ],
        np.roll(np.eye(N, dtype=bool), 3, 1),
    ),
    "long loop that reads its counter": (
        lambda x: wg.fori_loop(0, N, lambda i, c: c + x[i] * (np.arange(N) == i), np.zeros(N)),
        band(0, 0),
    ),
    "scan without a carry": (lambda x: wg.scan(lambda c, v: (c, v * v), 0.0, x)[1], band(0, 0)),
    "counted loop": (
        lambda x: wg.fori_loop(0, 2, lambda i, c: np.convolve(c * c, np.ones(3), "same"), x),
        band(2, 2),
    ),
    "loop that reads its counter": (
        lambda x: wg.fori_loop(0, 3, lambda i, c: c + x[i] * (np.arange(N) == 5), np.zeros(N)),
        np.outer(np.arange(N) == 5, np.arange(N) < 3),
    ),
    "stopped": (lambda x: wg.stop_gradient(x) * x[0], np.arange(N) + 0 * np.arange(N)[:, None] == 0),
    "rounded": (lambda x: np.floor(x) + x, band(0, 0)),
}


@pytest.mark.parametrize("name", EXACT)
def test_pattern_is_narrow(name: str) -> None:
    function, expected = EXACT[name]
    pattern = wg.sparse_jacobian(function).pattern(np.linspace(1.0, 2.0, N)).toarray()
    assert np.array_equal(pattern, expected)


def test_a_loop_without_end_may_reach_everything() -> None:
    def spread(x: Any) -> Any:
        return wg.while_loop(lambda y: y.sum() < 1000, lambda y: 2 * y + np.roll(y, 1), x)

    for count in (6, 60):  # the longer one is not followed to its end
        assert wg.sparse_jacobian(spread).pattern(np.ones(count)).toarray().all()


def test_a_loop_without_end_may_reach_no_more_than_its_turns_do() -> None:
    def double(x: Any) -> Any:
        return wg.while_loop(lambda y: y.sum() < 1000, lambda y: y * x, x)

    assert np.array_equal(
        wg.sparse_jacobian(double).pattern(np.full(5, 2.0)).toarray(), np.eye(5, dtype=bool)
    )


def test_an_unknown_position_may_be_any_along_its_axis_only() -> None:
    def chosen(x: Any) -> Any:
        grid = x.reshape(3, 4)
        return grid[np.arange(3), np.argmax(grid, 1)]

    assert np.array_equal(wg.sparse_jacobian(chosen).pattern(np.arange(12.0)).toarray(), blocks(3, 1, 4))


def test_a_value_written_at_an_unknown_position_may_be_anywhere() -> None:
    def put(x: Any) -> Any:
        y = 1.0 * x
        y[np.argmax(x)] = x[0] * 2
        return y

    expected = np.eye(5, dtype=bool)
    expected[:, 0] = True
    assert np.array_equal(wg.sparse_jacobian(put).pattern(np.arange(5.0)).toarray(), expected)
