"""A program with its arguments, and the half to which it belongs."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Program(NamedTuple):
    """A function in plain NumPy and Python, and how to call it."""

    function: Callable[..., Any]
    arguments: Callable[[int], tuple[Any, ...]]
    """Returns the arguments of a size."""
    small: int
    """The size of the tests."""
    large: int
    """The size of the benchmark."""
    wrt: tuple[int, ...] = (0,)
    """The arguments that the gradient is of."""
    static: tuple[int, ...] = ()
    """The arguments that decide shapes."""

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def kind(self) -> str:
        return self.function.__module__.rpartition(".")[2]

    @property
    def held_out(self) -> bool:
        """Whether the program is in the half that nobody tunes to."""
        return bool(zlib.crc32(f"25 {self.name}".encode()) >> 16 & 1)


def draw(seed: int) -> Any:
    """Return a generator of the numbers of arguments."""
    return np.random.default_rng(seed)


def positive_definite(n: int) -> Any:
    """Return a symmetric matrix whose eigenvalues are at least 1."""
    a = draw(n).normal(size=(n, n))
    return a @ a.T / n + np.eye(n)
