"""Families of programs over grids of shapes: the statement of a workload.

A family is a function from a point of its grid to a `Case`. A case's program takes a namespace `xp` and arrays. The
namespace is NumPy in Wengert, and a peer's own in a peer, each with the functions that `areas.libraries` adds.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    """A program at one point of a grid, and what is computed of it.

    `derivative` is "" for the value; "gradient" for the value and the gradient of a scalar; "pullback" for the product
    of the Jacobian with a cotangent, the last argument; "jacfwd", "jacrev" or "hessian". `torch` replaces the program
    and its derivative in PyTorch, which has functions for some derivatives alone.
    """

    program: Callable[..., Any]
    arguments: tuple[Any, ...]
    derivative: str = ""
    wrt: tuple[int, ...] = (0,)
    torch: Callable[..., Any] | None = None
    tolerance: float | None = None


class Draw:
    """Arrays for the arguments of a case."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def __call__(self, *shape: int, dtype: str = "f4", scale: float = 1.0) -> Any:
        """Return normal numbers, or integers below 100 for a dtype of integers."""
        if np.dtype(dtype).kind == "i":
            return self._rng.integers(-100, 100, shape).astype(dtype)
        return (scale * self._rng.normal(size=shape)).astype(dtype)

    def weights(self, *shape: int, dtype: str = "f4") -> Any:
        """Return normal numbers that keep the scale of what they are multiplied with."""
        return self(
            *shape, dtype=dtype, scale=float(np.prod(shape[1:]) if len(shape) > 2 else shape[0]) ** -0.5
        )

    def integers(self, high: int, *shape: int) -> Any:
        """Return indices below a bound."""
        return self._rng.integers(0, high, shape)

    def positive_definite(self, *shape: int, dtype: str = "f8") -> Any:
        """Return symmetric matrices with eigenvalues of at least 1."""
        a = self(*shape, dtype="f8")
        return (a @ np.swapaxes(a, -1, -2) / shape[-1] + np.eye(shape[-1])).astype(dtype)


def _label(value: Any) -> str:
    return " x ".join(map(str, value)) if type(value) is tuple else str(value)


class Workload(NamedTuple):
    """A point of a family's grid."""

    area: str
    name: str
    family: Callable[..., Case]
    point: dict[str, Any]

    def case(self) -> Case:
        """Return the program and its arguments, the same ones in every process."""
        return self.family(Draw(zlib.crc32(self.name.encode())), **self.point)

    def held_out(self, seed: int) -> bool:
        """Return whether a seed puts the workload into the half that nobody tunes to."""
        return bool(zlib.crc32(f"{seed} {self.name}".encode()) >> 16 & 1)


class Family(NamedTuple):
    """A function from points of a grid to cases."""

    function: Callable[..., Case]
    axes: dict[str, tuple[Any, ...]]

    def workload(self, values: tuple[Any, ...]) -> Workload:
        """Return the workload at a point."""
        area = self.function.__module__.rpartition(".")[2]
        name = ", ".join(filter(None, [self.function.__name__.replace("_", " "), *map(_label, values)]))
        return Workload(area, name, self.function, dict(zip(self.axes, values, strict=True)))

    def workloads(self) -> Iterator[Workload]:
        """Return the workloads at all points."""
        return map(self.workload, itertools.product(*self.axes.values()))

    def smallest(self) -> Workload:
        """Return the workload at the first value of each axis, which is small: the short form of the benchmark."""
        return self.workload(tuple(values[0] for values in self.axes.values()))


FAMILIES: list[Family] = []


def family(**axes: tuple[Any, ...]) -> Callable[[Callable[..., Case]], Callable[..., Case]]:
    """Declare a family over the product of axes."""

    def declare(function: Callable[..., Case]) -> Callable[..., Case]:
        FAMILIES.append(Family(function, axes))
        return function

    return declare
