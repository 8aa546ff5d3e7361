"""Whether a matrix of derivatives is sparse: what a solver gets where it takes sparse matrices."""

from __future__ import annotations

import math
from typing import Any

from wengert.engine.core.errors import ArgumentError, ConcreteError, UnsupportedError, message
from wengert.sparse.derivatives import SparseDerivative

LEAST_VARIABLES = 200
"""The fewest variables for which the pattern is looked at, where the user does not decide."""
MOST_FULL = 0.1
"""The greatest share of elements of the pattern of a matrix that counts as sparse."""


def checked_choice(operation: str, sparse: Any) -> Any:
    """Return the user's choice: True, False or "auto"; or raise `ArgumentError`."""
    if sparse is True or sparse is False or sparse == "auto":
        return sparse
    raise ArgumentError(message(operation, "sparse must be True, False or 'auto'", repr(sparse)))


def is_sparse(derivative: SparseDerivative, choice: Any, size: int, *arguments: Any) -> bool:
    """Return whether a matrix is to be sparse, by the choice True, False or "auto" (by its pattern)."""
    if choice is not True and (choice is False or size < LEAST_VARIABLES):
        return False
    try:
        pattern = derivative.pattern(*arguments)
    except (ConcreteError, UnsupportedError):
        if choice is True:
            raise
        return False
    return choice is True or pattern.nnz <= MOST_FULL * math.prod(pattern.shape)
