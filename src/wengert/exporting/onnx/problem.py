"""A contraction without its dimensions of extent one."""

from __future__ import annotations

from typing import NamedTuple

from wengert.engine.core.shapes import Shape
from wengert.engine.kernels.affine import Access, drop_units


class Problem(NamedTuple):
    """The iteration space of a contraction, and the maps of its operands and its output."""

    extents: Shape
    accesses: tuple[Access, ...]
    out: Access
    shape: Shape

    @classmethod
    def of(cls, extents: Shape, accesses: tuple[Access, ...], out: Access, shape: Shape) -> Problem:
        """Return the problem of the parameters of `contract`."""
        maps = tuple(drop_units(access, extents) for access in accesses)
        return cls(extents, maps, drop_units(out, extents), shape)
