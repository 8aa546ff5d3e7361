"""Reductions over axes and dtypes, cumulative sums, and elementwise programs over memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from areas.families import Case, Draw, family

Axes = tuple[int, ...]
AXES: tuple[Axes, ...] = ((0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2))
SHAPES = ((3, 4, 5), (64, 100, 300), (1000, 30, 40))
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "variance": lambda xp, x, axis: xp.mean((x - xp.mean(x, axis=axis, keepdims=True)) ** 2, axis=axis),
    "logsumexp": lambda xp, x, axis: xp.logsumexp(x, axis),
    "norm": lambda xp, x, axis: xp.sqrt(xp.sum(x * x, axis=axis)),
    "maximum": lambda xp, x, axis: xp.amax(x, axis=axis),
}


@family(dtype=("f4", "f8", "i4"), shape=SHAPES, axes=AXES)
def sum_of(draw: Draw, dtype: str, shape: Axes, axes: Axes) -> Case:
    return Case(lambda xp, x: xp.sum(x, axis=axes), (draw(*shape, dtype=dtype),), tolerance=1e-3)


@family(kind=tuple(REDUCTIONS), shape=SHAPES[:2], axes=((1,), (0, 2), (0, 1, 2)), derivative=("", "pullback"))
def reduction(draw: Draw, kind: str, shape: Axes, axes: Axes, derivative: str) -> Case:
    x = draw(*shape)
    cotangent = draw(*np.sum(x, axis=axes).shape)
    program = REDUCTIONS[kind]
    arguments = (x, cotangent) if derivative else (x,)
    return Case(lambda xp, x: program(xp, x, axes), arguments, derivative, tolerance=1e-3)


@family(axis=(0, 1), shape=((4, 5), (1000, 300), (30, 20000)), kind=("cumsum", "argmax"))
def along_an_axis(draw: Draw, axis: int, shape: Axes, kind: str) -> Case:
    return Case(lambda xp, x: getattr(xp, kind)(x, axis), (draw(*shape, dtype="f8"),))


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "polynomial": lambda xp, x, y: 1 + x * (2 + x * (3 + x * y)),
    "elementary": lambda xp, x, y: xp.exp(-x * x) * xp.sin(y) + xp.log1p(y * y),
    "branches": lambda xp, x, y: xp.where(x > y, xp.sqrt(1 + x * x), xp.tanh(y)),
    "transposed": lambda xp, x, y: x.T + y,
    "rows and columns": lambda xp, x, y: x * y[0] + y[:, :1],
    "shifted": lambda xp, x, y: x[1:, 1:] - y[:-1, :-1],
    "concatenated": lambda xp, x, y: xp.concatenate([x, 2 * y, x + y], axis=1),
    "outer difference": lambda xp, x, y: xp.abs(x[:, :, None] - y[0, :16]),
}


@family(kind=tuple(ELEMENTWISE), size=(10, 100, 1000), derivative=("", "gradient"))
def elementwise(draw: Draw, kind: str, size: int, derivative: str) -> Case:
    function = ELEMENTWISE[kind]
    program = (lambda xp, x, y: xp.mean(function(xp, x, y) ** 2)) if derivative else function
    arguments = (draw(size, size, scale=0.5), draw(size, size, scale=0.5))
    return Case(program, arguments, derivative, (0, 1), tolerance=1e-3)
