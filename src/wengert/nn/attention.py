"""Attention, rotary positions, and the cache of keys and values."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.control import stop_gradient
from wengert.engine.core.dtypes import BOOL, dtype_of
from wengert.engine.core.errors import ArgumentError, DtypeError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import static
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.engine.ops.indexing import check_bounds
from wengert.nn.checks import check_values, integers
from wengert.nn.display import Displayed
from wengert.nn.initialisers import Initialiser, Seed, generator, glorot_uniform
from wengert.nn.layers import Dense
from wengert.numpy.selecting import take
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
        DtypeError: the mask holds integers.

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
    if dtype_of(mask).kind in "iu":
        requirement, hint = "the mask must hold truth values or floats", "write mask.astype(bool)"
        raise DtypeError(message("attention", requirement, show(mask), hint))
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


def rotary(x: Any, start: Any = 0, *, base: float = 10_000.0) -> Any:
    """Rotate pairs of values by angles in proportion to their step: rotary positions (Su et al., 2021).

    With ``a = (start + step) base^(-2 i / size)``, the values i and i + size / 2 become ``x_i cos a - x_j sin a`` and
    ``x_i sin a + x_j cos a``. So the product of two rotated vectors depends on the difference of their steps alone.

    Args:
        x: (..., steps, size) with an even size.
        start: the number of the first step.
        base: the slowest pairs turn by about a radian in so many steps.

    Returns:
        An array of the shape of ``x``.

    Raises:
        ShapeError: the size is odd.

    Example:
        >>> q, k = np.array([[1.0, 2.0]]), np.array([[0.5, -1.0]])
        >>> [round(float(np.vdot(rotary(q, n + 3), rotary(k, n))), 6) for n in (0, 5)]
        [1.202749, 1.202749]
    """
    x = operand(x)
    shape = shape_of(x)
    if len(shape) < 2 or shape[-1] % 2:
        raise ShapeError(message("rotary", "(..., steps, size) with an even size is needed", show(x)))
    half, dtype = shape[-1] // 2, dtype_of(x)
    steps = np.expand_dims(start + np.arange(shape[-2]), -1)
    angles = steps * base ** (-np.arange(half) / half)
    cosine, sine = np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([first * cosine - second * sine, first * sine + second * cosine], axis=-1)


class KeyValueCache(NamedTuple):
    """The keys and the values of earlier steps, from `MultiHeadAttention.initial_cache`.

    Args:
        keys: (..., heads, length, size of a head).
        values: like the keys.
        count: the number of steps that the cache holds; the others are not used.

    Example:
        >>> cache = MultiHeadAttention(8, 2, seed=0, causal=True).initial_cache(3, 5)
        >>> cache.keys.shape, int(cache.count)
        ((3, 2, 5, 4), 0)
    """

    keys: Any
    values: Any
    count: Any


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
        rotary: the base of `rotary` positions of queries and keys; None: no positions.
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
    rotary: float | None = static()

    def __init__(
        self,
        size: int,
        heads: int,
        *,
        seed: Seed,
        key_size: int | None = None,
        value_size: int | None = None,
        causal: bool = False,
        rotary: float | None = None,
        bias: bool = True,
        initialise: Initialiser = glorot_uniform,
    ) -> None:
        size, heads = integers("MultiHeadAttention", "size and heads", (size, heads), 2, 1)
        if size % heads:
            got = f"{heads} heads for {size} values"
            raise ArgumentError(message("MultiHeadAttention", "the heads must divide the size", got))
        if rotary is not None and size // heads % 2:
            got = f"{size // heads}"
            raise ArgumentError(message("MultiHeadAttention", "rotary needs heads of an even size", got))
        key_size = size if key_size is None else key_size
        value_size = key_size if value_size is None else value_size
        rng = generator(seed)
        self.query, self.key, self.value, self.output = (
            Dense(width, size, seed=rng, bias=bias, initialise=initialise)
            for width in (size, key_size, value_size, size)
        )
        self.heads, self.causal, self.rotary = heads, causal, rotary

    def __call__(self, x: Any, keys: Any = None, values: Any = None, mask: Any = None) -> Any:
        """Apply the layer.

        Args:
            x: (..., steps, size), which makes the queries.
            keys: (..., other steps, key_size); ``x`` by default.
            values: (..., other steps, value_size); the keys by default.
            mask: broadcasts to (..., steps, other steps), the same for all heads; as for `attention`. The mask of
                padding after ``lengths`` (examples,) is ``np.arange(steps) < lengths[:, None, None]``. With one more
                axis than the inputs, it broadcasts to (..., heads, steps, other steps).

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
            rank = max(len(shape_of(x)), len(shape_of(keys)))
            mask = np.expand_dims(mask, -3) if 3 <= len(shape_of(mask)) <= rank else mask
        q, k, v = (self._split(layer(array)) for layer, array in inputs)
        return self._joined(
            attention(self._placed(q, 0), self._placed(k, 0), v, mask=mask, causal=self.causal)
        )

    def initial_cache(self, examples: int | Sequence[int], length: int) -> KeyValueCache:
        """Return an empty cache for `extend`.

        Args:
            examples: the number of sequences, or the leading axes of the inputs: () for a single sequence.
            length: the largest number of steps.
        """
        lead = tuple(examples) if isinstance(examples, Sequence) else (examples,)
        size = shape_of(self.key.weight)[1] // self.heads
        empty = np.zeros((*lead, self.heads, length, size), dtype_of(self.key.weight))
        return KeyValueCache(empty, empty, np.int64(0))

    def extend(self, x: Any, cache: KeyValueCache) -> tuple[Any, KeyValueCache]:
        """Apply a causal layer to the next steps of sequences whose earlier steps are in a cache.

        Args:
            x: (..., steps, size): none, one or more.
            cache: from `initial_cache`, or from the last call.

        Returns:
            (..., steps, size), as a call on all steps gives for these; and the cache with these steps.

        Raises:
            ArgumentError: the layer is not causal.
            ShapeError: the input or the cache does not fit.
            OutOfRangeError: the steps do not fit into the cache.
        """
        if not self.causal:
            requirement = "only a causal layer can be extended: its earlier steps do not change"
            raise ArgumentError(message("MultiHeadAttention", requirement, hint="make it with causal=True"))
        x = operand(x)
        check_values("MultiHeadAttention", x, "..., steps", 2, shape_of(self.query.weight)[0])
        steps, length = shape_of(x)[-2], shape_of(cache.keys)[-2]
        requirement = f"the cache has room for {length} steps: {steps} more must fit"
        room = max(length - steps + 1, 0)
        count = check_bounds(
            operand(cache.count), count=room, operation="MultiHeadAttention", requirement=requirement
        )
        q, k, v = (self._split(layer(x)) for layer in (self.query, self.key, self.value))
        if shape_of(k)[:-2] != shape_of(cache.keys)[:-2]:
            requirement = f"the cache is one for sequences {shape_of(cache.keys)[:-3]}"
            raise ShapeError(message("MultiHeadAttention", requirement, show(x)))
        place = np.arange(length) - count
        keys, values = (
            where(
                np.expand_dims(np.logical_and(place >= 0, place < steps), -1),
                take(new, np.clip(place, 0, steps - 1), axis=-2),
                old,
            )
            if steps
            else old
            for new, old in ((self._placed(k, count), cache.keys), (v, cache.values))
        )
        mask = place <= np.expand_dims(np.arange(steps), -1)
        y = attention(self._placed(q, count), keys, values, mask=mask)
        return self._joined(y), KeyValueCache(keys, values, count + steps)

    def _placed(self, x: Any, start: Any) -> Any:
        return x if self.rotary is None else rotary(x, start, base=self.rotary)

    def _joined(self, y: Any) -> Any:
        """Return the output for (..., heads, steps, size of a head)."""
        *lead, _, steps, _ = shape_of(y)
        flat = (*lead, steps, shape_of(self.output.weight)[0])
        return self.output(np.reshape(np.swapaxes(y, -2, -3), flat))

    def _split(self, x: Any) -> Any:
        """Return (..., heads, steps, size of a head)."""
        *lead, steps, size = shape_of(x)
        return np.swapaxes(np.reshape(x, (*lead, steps, self.heads, size // self.heads)), -2, -3)
