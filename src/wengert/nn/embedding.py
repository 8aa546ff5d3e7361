"""Embedding: rows of a matrix, chosen by numbers."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from wengert.array.array import operand
from wengert.core.dtypes import dtype_of
from wengert.core.errors import ArgumentError, DtypeError, message
from wengert.core.shapes import shape_of
from wengert.core.tree import static
from wengert.ir.types import show
from wengert.nn.checks import integers
from wengert.nn.initialisers import Initialiser, Seed, normal
from wengert.numpy.selecting import take
from wengert.ops.comparison import where
from wengert.ops.indexing import check_bounds


@dataclasses.dataclass(init=False)
class Embedding:
    """A vector for each of so many symbols: ``y[...] = weight[indices[...]]``.

    The derivative adds what arrives for a symbol to its row.

    Args:
        count: of symbols, which are numbered from 0.
        size: of the vectors.
        seed: of the weights: an integer or a generator.
        padding: a symbol that stands for nothing: its vector is zero, and has no derivative.
        initialise: draws the vectors; normal with deviation 1 by default.

    Raises:
        ShapeError: a size is not a positive integer.
        ArgumentError: the padding is no symbol.
        DtypeError: the indices are not integers.
        OutOfRangeError: an index is no symbol.

    Example:
        >>> import numpy as np
        >>> layer = Embedding(10, 4, seed=0, padding=0)
        >>> y = layer(np.array([[3, 1, 0]]))
        >>> y.shape, float(abs(y[0, 2]).max())
        ((1, 3, 4), 0.0)
    """

    weight: Any
    padding: int | None = static()

    def __init__(
        self,
        count: int,
        size: int,
        *,
        seed: Seed,
        padding: int | None = None,
        initialise: Initialiser = normal(1.0),  # noqa: B008
    ) -> None:
        count, size = integers("Embedding", "count and size", (count, size), 2, 1)
        if padding is not None and not 0 <= padding < count:
            requirement = f"padding must be a symbol, in [0, {count})"
            raise ArgumentError(message("Embedding", requirement, repr(padding)))
        self.weight = initialise(seed, (count, size), count, size)
        self.padding = padding
        if padding is not None:
            self.weight[padding] = 0

    def __call__(self, indices: Any) -> Any:
        """Return (..., size) for indices (...)."""
        indices = operand(indices)
        rows = take(self.weight, _checked(indices, shape_of(self.weight)[0]), axis=0)
        if self.padding is None:
            return rows
        return where(np.expand_dims(indices == self.padding, -1), 0.0, rows)


def _checked(indices: Any, count: int) -> Any:
    """Return indices that are symbols, or become an error where they are not."""
    if dtype_of(indices).kind not in "iu":
        raise DtypeError(message("Embedding", "indices must be integers", show(indices)))
    requirement = f"indices must lie in [0, {count})"
    return check_bounds(indices, count=count, operation="Embedding", requirement=requirement)
