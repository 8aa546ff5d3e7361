"""The operations that `benchmarks/eager.py` measures: programs that apply an operation again and again.

A program keeps the shape of its argument, so the time of its gradient, divided by the number of repetitions, is that of
an operation forward and backward; the sum at the end and the transform's own work are a small part of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

REPETITIONS = 20
#: The rows and columns of the arrays: 100 elements, where the time is Python's, and 10,000.
EXTENTS = (10, 100)


class Operation(NamedTuple):
    """An operation of a table.

    Args:
        name: as in the table.
        apply: takes a library's namespace, the value and the constants of `constants`; returns a value of equal shape.
        torch: the same, where torch spells it otherwise.
    """

    name: str
    apply: Callable[[Any, Any, Any], Any]
    torch: Callable[[Any, Any, Any], Any] | None = None


class Constants(NamedTuple):
    """The arrays that operations take beside the value."""

    other: Any
    row: Any
    mask: Any
    orthogonal: Any
    positions: Any
    rows: Any
    columns: Any


def constants(extent: int, convert: Callable[[Any], Any]) -> Constants:
    """Return the constants for a square array, converted to arrays of a library."""
    rng = np.random.default_rng(1)
    square = (extent, extent)
    arrays = Constants(
        other=rng.standard_normal(square),
        row=rng.standard_normal(extent),
        mask=rng.integers(0, 2, square) > 0,
        orthogonal=np.linalg.qr(rng.standard_normal(square))[0],
        positions=rng.integers(0, extent, extent),
        rows=rng.integers(0, extent, square),
        columns=rng.integers(0, extent, square),
    )
    return Constants(*map(convert, arrays))


OPERATIONS = [
    Operation("x + c", lambda xp, x, c: x + c.other),
    Operation("x + row", lambda xp, x, c: x + c.row),
    Operation("x - 0.5 * x", lambda xp, x, c: x - 0.5 * x),
    Operation("x * c", lambda xp, x, c: x * c.other),
    Operation("x / 2.0", lambda xp, x, c: x / 2.0),
    Operation("sqrt(x**2)", lambda xp, x, c: xp.sqrt(x**2)),
    Operation("-x", lambda xp, x, c: -x),
    Operation("exp(-x)", lambda xp, x, c: xp.exp(-x)),
    Operation("log(exp(x))", lambda xp, x, c: xp.log(xp.exp(x))),
    Operation("sin", lambda xp, x, c: xp.sin(x)),
    Operation("tanh", lambda xp, x, c: xp.tanh(x)),
    Operation("abs", lambda xp, x, c: xp.abs(x)),
    Operation("maximum", lambda xp, x, c: xp.maximum(x, c.other)),
    Operation("maximum(x, 0)", lambda xp, x, c: xp.maximum(x, 0.0), lambda xp, x, c: xp.clamp(x, min=0.0)),
    Operation("where", lambda xp, x, c: xp.where(c.mask, x, c.other)),
    Operation("x @ c", lambda xp, x, c: x @ c.orthogonal),
    Operation("dot(c, x)", lambda xp, x, c: xp.dot(c.orthogonal, x), lambda xp, x, c: c.orthogonal @ x),
    Operation("einsum", lambda xp, x, c: xp.einsum("ij,kj->ik", x, c.orthogonal)),
    Operation("x[rows]", lambda xp, x, c: x[c.positions]),
    Operation("x[rows, columns]", lambda xp, x, c: x[c.rows, c.columns]),
    Operation("x[1:], x[:1], concatenate", lambda xp, x, c: xp.concatenate((x[1:], x[:1]))),
    Operation("x[:, 1:], x[:, :1], hstack", lambda xp, x, c: xp.hstack((x[:, 1:], x[:, :1]))),
    Operation("x + x[0]", lambda xp, x, c: x + x[0]),
    Operation("x + x[:, :1]", lambda xp, x, c: x + x[:, :1]),
    Operation("stack, [0]", lambda xp, x, c: xp.stack((x, c.other))[0]),
    Operation("x - sum(x)", lambda xp, x, c: x - xp.sum(x)),
    Operation(
        "x - mean(x, axis=1, keepdims=True)",
        lambda xp, x, c: x - xp.mean(x, axis=1, keepdims=True),
    ),
    Operation(
        "x / sum(x * x, axis=0, keepdims=True)",
        lambda xp, x, c: x / xp.sum(x * x, axis=0, keepdims=True),
    ),
    Operation(
        "x - max(x, axis=1, keepdims=True)",
        lambda xp, x, c: x - xp.max(x, axis=1, keepdims=True),
        lambda xp, x, c: x - xp.amax(x, dim=1, keepdim=True),
    ),
    Operation("x.T", lambda xp, x, c: x.T),
    Operation("x[::-1]", lambda xp, x, c: x[::-1], lambda xp, x, c: xp.flip(x, (0,))),
    Operation("reshape(x.T, shape)", lambda xp, x, c: xp.reshape(x.T, x.shape)),
    Operation("x[:, None, :], reshape", lambda xp, x, c: xp.reshape(x[:, None, :], x.shape)),
    Operation(
        "swapaxes, ravel, reshape", lambda xp, x, c: xp.reshape(xp.ravel(xp.swapaxes(x, 0, 1)), x.shape)
    ),
]


def program(operation: Operation, xp: Any, extent: int, convert: Callable[[Any], Any]) -> Any:
    """Return the function of x that sums the last of the repetitions."""
    fixed = constants(extent, convert)
    apply = operation.torch if xp.__name__ == "torch" and operation.torch else operation.apply

    def repeated(x: Any) -> Any:
        for _ in range(REPETITIONS):
            x = apply(xp, x, fixed)
        return xp.sum(x)

    return repeated
