"""Attention."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.control import stop_gradient
from wengert.engine.core.dtypes import BOOL, dtype_of
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import static
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.nn.checks import check_values, integers
from wengert.nn.display import Displayed
from wengert.nn.initialisers import Initialiser, Seed, generator, glorot_uniform
from wengert.nn.layers import Dense
from wengert.special import softmax

_numpy: Any = np  # the stubs of np.max give no element type


def attention(
    queries: Any,
    keys: Any,
    values: Any,
    mask: Any = None,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> Any:
    """Return the mean of the values for each query, weighted by the products of the query with the keys.

    ``y = softmax(scale queries keys^T + mask) values`` over the keys (Vaswani et al., 2017). A query that may attend to
    no key gets zeros, and no derivative.

    Args:
        queries: (..., queries, size).
        keys: (..., keys, size).
        values: (..., keys, width).
        mask: broadcasts to (..., queries, keys): truth values, True where a query may attend to a key; or numbers that
            are added to the scores, -inf where it may not.
        causal: whether query i may attend to keys 0 ... i only.
        scale: the factor of the products; ``1 / sqrt(size)`` by default.

    Returns:
        (..., queries, width).

    Raises:
        ShapeError: the shapes do not fit.

    Example:
        >>> q = k = np.zeros((3, 4))
        >>> print(attention(q, k, np.array([[1.0], [3.0], [8.0]]), causal=True).ravel())
        [1. 2. 4.]
    """
    queries, keys, values = operand(queries), operand(keys), operand(values)
    q, k, v = shape_of(queries), shape_of(keys), shape_of(values)
    if min(map(len, (q, k, v))) < 2 or q[-1] != k[-1] or k[-2] != v[-2]:
        requirement = "queries (..., n, size), keys (..., m, size) and values (..., m, width) are needed"
        raise ShapeError(message("attention", requirement, show(queries, keys, values)))
    factor = 1 / math.sqrt(q[-1]) if scale is None else scale
    scores = np.matmul(queries * factor, np.swapaxes(keys, -1, -2))
    allowed = None
    if mask is not None:
        scores, allowed = _masked(scores, operand(mask))
    if causal:
        earlier = np.arange(k[-2]) <= np.arange(q[-2])[:, np.newaxis]
        allowed = earlier if allowed is None else np.logical_and(allowed, earlier)
    return np.matmul(_weights(scores, allowed), values)


def _masked(scores: Any, mask: Any) -> tuple[Any, Any]:
    """Return the scores with a mask of numbers added, and the truth values of the mask."""
    dtype, shape = dtype_of(scores), shape_of(scores)
    pairs = zip(shape_of(mask)[::-1], shape[::-1], strict=False)
    if len(shape_of(mask)) > len(shape) or any(extent not in (1, full) for extent, full in pairs):
        raise ShapeError(message("attention", f"the mask must broadcast to {shape}", show(mask)))
    if dtype_of(mask) == BOOL:
        return scores, mask
    allowed = mask > -np.inf
    added = where(allowed, mask, 0.0)
    return scores + (added if dtype_of(mask) == dtype else added.astype(dtype)), allowed


def _weights(scores: Any, allowed: Any) -> Any:
    """Return the softmax over the allowed elements of the last axis; zeros where none is allowed."""
    if allowed is None:
        return softmax(scores, axis=-1)
    if not shape_of(scores)[-1]:
        return scores
    lowest = float(np.finfo(dtype_of(scores)).min)
    largest = stop_gradient(_numpy.max(where(allowed, scores, lowest), axis=-1, keepdims=True))
    # The exponential sees 0 where its result is not used, so that it neither overflows nor passes a derivative.
    terms = where(allowed, np.exp(where(allowed, scores - largest, 0.0)), 0.0)
    total = np.sum(terms, axis=-1, keepdims=True)
    return terms / where(total > 0, total, 1.0)


@dataclasses.dataclass(init=False)
class MultiHeadAttention(Displayed):
    """Several attentions side by side, each on its own projection of the input (Vaswani et al., 2017).

    Called with one sequence, the layer attends to that sequence; called with keys and values, to these.

    Args:
        size: the number of values of a step, of the input and of the output.
        heads: the number of attentions, which divides ``size``.
        seed: an integer or a generator, which draws the weights.
        key_size: the number of values of a step of the keys; ``size`` by default.
        value_size: the number of values of a step of the values; ``key_size`` by default.
        causal: whether a step may attend to itself and to earlier steps only.
        bias: whether the projections add a bias.
        initialise: draws the weights; Glorot uniform by default.

    Raises:
        ArgumentError: the heads do not divide the size.
        ShapeError: a number is not a positive integer, or an input does not fit.

    Example:
        >>> MultiHeadAttention(8, 2, seed=0)(np.ones((3, 5, 8), "f4")).shape
        (3, 5, 8)
    """

    query: Dense
    key: Dense
    value: Dense
    output: Dense
    heads: int = static()
    causal: bool = static()

    def __init__(
        self,
        size: int,
        heads: int,
        *,
        seed: Seed,
        key_size: int | None = None,
        value_size: int | None = None,
        causal: bool = False,
        bias: bool = True,
        initialise: Initialiser = glorot_uniform,
    ) -> None:
        size, heads = integers("MultiHeadAttention", "size and heads", (size, heads), 2, 1)
        if size % heads:
            got = f"{heads} heads for {size} values"
            raise ArgumentError(message("MultiHeadAttention", "the heads must divide the size", got))
        key_size = size if key_size is None else key_size
        value_size = key_size if value_size is None else value_size
        rng = generator(seed)
        self.query, self.key, self.value, self.output = (
            Dense(width, size, seed=rng, bias=bias, initialise=initialise)
            for width in (size, key_size, value_size, size)
        )
        self.heads, self.causal = heads, causal

    def __call__(self, x: Any, keys: Any = None, values: Any = None, mask: Any = None) -> Any:
        """Apply the layer.

        Args:
            x: (..., steps, size), which makes the queries.
            keys: (..., other steps, key_size); ``x`` by default.
            values: (..., other steps, value_size); the keys by default.
            mask: broadcasts to (..., steps, other steps), the same for all heads; as for `attention`. The mask of
                padding after ``lengths`` (examples,) is ``np.arange(steps) < lengths[:, None, None]``.

        Returns:
            (..., steps, size).
        """
        x = operand(x)
        keys = x if keys is None else operand(keys)
        values = keys if values is None else operand(values)
        inputs = ((self.query, x), (self.key, keys), (self.value, values))
        for layer, array in inputs:
            check_values("MultiHeadAttention", array, "..., steps", 2, shape_of(layer.weight)[0])
        if mask is not None:
            mask = operand(mask)
            mask = mask if len(shape_of(mask)) < 3 else np.expand_dims(mask, -3)
        heads = [self._split(layer(array)) for layer, array in inputs]
        y = np.swapaxes(attention(*heads, mask=mask, causal=self.causal), -2, -3)
        *lead, steps, _, _ = shape_of(y)
        return self.output(np.reshape(y, (*lead, steps, shape_of(self.output.weight)[0])))

    def _split(self, x: Any) -> Any:
        """Return (..., heads, steps, size of a head)."""
        *lead, steps, size = shape_of(x)
        return np.swapaxes(np.reshape(x, (*lead, steps, self.heads, size // self.heads)), -2, -3)
