"""The times of solvers whose steps are given: equal steps, broken at the times of the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.numpy.creation import asarray


def state_of_start(operation: str, y0: Any) -> Any:
    """Return the state at the start as a vector of floats."""
    y = asarray(y0)
    if len(shape_of(y)) != 1:
        raise ShapeError(message(operation, "y0 must have one axis", show(y)))
    return y * 1.0 if dtype_of(y).kind in "iub" else y


def grid(operation: str, t_span: Sequence[Any], steps: int, t_eval: Any) -> Any:
    """Return the ends of equal steps, and the times of the results among them."""
    if steps < 1:
        raise ArgumentError(message(operation, "there must be at least one step", f"steps={steps}"))
    start, stop = (t * 1.0 for t in t_span)
    ends = concrete(start), concrete(stop)
    if None not in ends and ends[0] >= ends[1]:
        raise ArgumentError(message(operation, "t_span must rise", f"{ends[0]} to {ends[1]}"))
    edges = start + (stop - start) * (np.arange(steps + 1) / steps)
    if t_eval is None:
        return edges
    times = asarray(t_eval) * 1.0
    if len(shape_of(times)) != 1:
        raise ShapeError(message(operation, "t_eval must have one axis", show(times)))
    plain = concrete(times)
    if plain is None or None in ends:
        return np.sort(np.concatenate([edges, times]))
    if np.any(plain < ends[0]) or np.any(plain > ends[1]):
        got = f"{np.min(plain)} to {np.max(plain)}"
        raise ArgumentError(message(operation, f"t_eval must lie between {ends[0]} and {ends[1]}", got))
    return np.sort(np.concatenate([edges, times]))


def places(edges: Any, t_eval: Any) -> Any:
    """Return the rows of the times of the results, None for all rows."""
    if t_eval is None:
        return None
    times: Any = asarray(t_eval) * 1.0
    return np.searchsorted(edges, times)  # pyright: ignore[reportUnknownVariableType]
