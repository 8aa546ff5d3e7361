"""Arrays that the turns of a loop make shorter: the carry has the whole array, and what is left of its axes.

The elements stay where they stand. Of each axis that becomes shorter the carry says where the rest starts and stops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wengert.engine.boxes import Unsized
from wengert.engine.core import tree
from wengert.engine.staged.counted import sum_of
from wengert.engine.staged.spans import difference

Ends = tuple[tuple[Any, Any] | None, ...]


@dataclass(frozen=True, eq=False)
class Shrunk:
    """An array of a known shape, and what is left of it.

    Args:
        array: the whole array.
        ends: for each axis where the rest starts and stops; None for a whole axis.
    """

    array: Any
    ends: Ends


#: Returns the array that a program sees, given the whole one and the ends; `selected` enters it.
UNPACKING: list[Callable[[Any, Ends], Any]] = []


def packed(value: Any) -> Any:
    """Return an array of a size that only a run knows as a container of a whole array; other values as they are."""
    return value.packed() if isinstance(value, Unsized) else value


def unpacked(value: Any) -> Any:
    """Return the array that a program sees for a `Shrunk`; other values as they are."""
    if type(value) is not Shrunk:
        return value
    (unpack,) = UNPACKING
    return unpack(value.array, value.ends)


def moved(one: Any, other: Any) -> int | None:
    """Return how far an integer lies before another one; None if a counter does not tell."""
    found = difference(sum_of(other), sum_of(one))
    return found[1] if found is not None and not found[0] else None


# -- structures ------------------------------------------------------------------------------------------


def is_shrunk(structure: tree.Structure | None) -> bool:
    """Return whether a structure is that of a `Shrunk`."""
    return structure is not None and structure.kind is Shrunk


def _shortened(structure: tree.Structure, rank: int) -> list[bool]:
    """Return for each axis whether the structure has its ends."""
    if not is_shrunk(structure):
        return [False] * rank
    return [child.leaf_count() > 0 for child in structure.children[1].children]


def part_of(
    one: tree.Structure, whole: tuple[int, ...], other: tree.Structure, shape: tuple[int, ...]
) -> tree.Structure | None:
    """Return the structure of arrays that are parts of a whole one; None if there is none.

    Args:
        one: a structure.
        whole: the shape of its array.
        other: another one.
        shape: the shape of the array of the other one, which must fit into the whole.
    """
    if not all(part == tree.LEAF or is_shrunk(part) for part in (one, other)) or len(whole) != len(shape):
        return None
    if any(extent > most for extent, most in zip(shape, whole, strict=True)):
        return None
    differ = [extent != most for extent, most in zip(shape, whole, strict=True)]
    axes = zip(_shortened(one, len(whole)), _shortened(other, len(whole)), differ, strict=True)
    ends = tuple([(0, 0) if any(axis) else None for axis in axes])
    return tree.flatten(Shrunk(0.0, ends))[1] if any(ends) else one


def expanded(
    structure: tree.Structure,
    leaves: Sequence[Any],
    to: tree.Structure,
    shape: tuple[int, ...],
    constant: Callable[[int], Any],
) -> list[Any]:
    """Return the leaves of an array, or of a part of one, as those of a joined structure.

    Args:
        structure: of the value.
        leaves: its leaves.
        to: the joined structure.
        shape: the shape of the array.
        constant: makes the leaf of a known number.
    """
    rest: Iterator[Any] = iter(leaves)
    found = [next(rest)]
    for axis, (has_ends, needs_ends) in enumerate(
        zip(_shortened(structure, len(shape)), _shortened(to, len(shape)), strict=True)
    ):
        if has_ends:
            found += [next(rest), next(rest)]
        elif needs_ends:
            found += [constant(0), constant(shape[axis])]
    return found
