"""Random numbers as functions of a key: the same eagerly, compiled, batched, in loops and on any number of threads.

A key is a plain number (uint64), and the only state: the same key gives the same numbers, so every draw needs a key of
its own, from `split` or `fold_in`.

Example:
    >>> first, second = split(key(0))
    >>> print(uniform(first, 3).round(4), randint(second, 4, 0, 10))
    [0.9699 0.3152 0.6611] [0 9 7 5]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.engine.core.other_libraries import absent_from
from wengert.random.keys import bits, fold_in, key, split, threefry
from wengert.random.sampling import (
    bernoulli,
    categorical,
    choice,
    exponential,
    gumbel,
    normal,
    permutation,
    randint,
    uniform,
)

__all__ = [
    "bernoulli", "bits", "categorical", "choice", "exponential", "fold_in", "gumbel", "key", "normal",
    "permutation", "randint", "split", "threefry", "uniform",
]  # fmt: skip
__dir__ = __all__.copy


if not TYPE_CHECKING:  # type checkers report such names themselves
    __getattr__ = absent_from(__name__)
