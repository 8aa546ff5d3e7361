"""Minibatches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.tree import leaves, map_tree


def batches(
    n: int, size: int, *, rng: np.random.Generator | None, shuffle: bool = True, drop_last: bool = False
) -> Iterator[np.ndarray[Any, Any]]:
    """Iterate over the minibatches of one epoch, which hold each of ``n`` samples once.

    Args:
        n: The number of samples.
        size: Samples in a batch; the last one has fewer unless ``size`` divides ``n``.
        rng: Draws the order; may be None if ``shuffle`` is false.
        shuffle: Whether the order is random.
        drop_last: Whether to omit a last batch with fewer samples.

    Returns:
        An iterator over integer arrays of shape (size,): the indices of the samples.

    Raises:
        ArgumentError: ``n`` is negative, ``size`` is not positive, or ``rng`` is missing.

    Example:
        >>> [batch.tolist() for batch in batches(5, 2, rng=None, shuffle=False)]
        [[0, 1], [2, 3], [4]]
    """
    if n < 0 or size < 1:
        raise ArgumentError(message("batches", "n >= 0 and size >= 1 are required", f"n={n}, size={size}"))
    if shuffle and rng is None:
        raise ArgumentError(message("batches", "shuffling needs rng", "None", "pass a np.random.Generator"))
    order = rng.permutation(n) if shuffle and rng is not None else np.arange(n)
    stop = n - n % size if drop_last else n
    return (order[start : start + size] for start in range(0, stop, size))


def count_of(examples: Any) -> int:
    """Return the number of examples in an array, or in a container of arrays (examples, ...).

    Example:
        >>> count_of({"x": np.zeros((5, 2)), "y": np.zeros(5)})
        5
    """
    return len(leaves(examples)[0])


def rows(examples: Any, index: Any) -> Any:
    """Return some examples of an array, or of a container of arrays.

    Example:
        >>> rows((np.arange(5), ()), slice(3))
        (array([0, 1, 2]), ())
    """
    return map_tree(lambda column: column[index], examples)


def consecutive(n: int, size: int) -> list[slice]:
    """Split ``n`` examples in order into parts of ``size``; the last may be smaller.

    Example:
        >>> [list(range(5))[part] for part in consecutive(5, 2)]
        [[0, 1], [2, 3], [4]]
    """
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
