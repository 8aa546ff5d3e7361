"""What places hold at the end of a block, taken apart into leaves before the changes of the block are undone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.engine.boxes import Box, concrete, own
from wengert.engine.control.values import padded
from wengert.engine.core import tree
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.staged import shrunk
from wengert.engine.staged.aliases import linked
from wengert.engine.staged.nullable import Maybe, expanded, settled
from wengert.engine.staged.regions import UNBOUND, Growth, Items, Place, Region, Unsure, known, root_of
from wengert.engine.staged.shrunk import is_shrunk, packed
from wengert.engine.transforms.arguments import is_number


class Leaf(NamedTuple):
    """A leaf of a value."""

    value: Any
    """A box or number that later writes do not reach; a setting such as a string."""
    object: Any
    """The leaf as the program has it."""
    root: Any
    """The array whose memory it shows, or None."""

    @property
    def is_number(self) -> bool:
        """Whether it is an array or a number."""
        return is_number(self.value)

    @property
    def has_no_axes(self) -> bool:
        """Whether it is an array without axes, which is no number: others may show its memory."""
        return self.root is not None and not shape_of(self.value)


@dataclass
class Content:
    """What a place holds."""

    value: Any
    """As the program has it; `UNBOUND` for nothing."""
    structure: tree.Structure
    leaves: list[Leaf]
    flag: Any
    """Whether it holds anything: a truth value."""

    def widened(self, structure: tree.Structure, whole: tuple[int, ...] = ()) -> Content:
        """Return the content with leaves of a structure in which a value may be None, or a part of an array.

        Args:
            structure: the structure.
            whole: the shape of the array of which it is a part; () where only the structure counts.
        """
        if is_shrunk(structure):
            array, *ends = shrunk.expanded(self.structure, self.leaves, structure, self.shape, _number)
            if whole:
                array = array._replace(value=padded(array.value, whole))
            return Content(self.value, structure, [array, *ends], self.flag)
        leaves = expanded(self.structure, self.leaves, structure, lambda some: Leaf(some, some, None))
        return Content(self.value, structure, leaves, self.flag)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its first leaf; () if that is no array."""
        return shape_of(self.leaves[0].value) if self.leaves and self.leaves[0].is_number else ()

    @property
    def is_bound(self) -> bool:
        """Whether it may hold something."""
        return self.flag is not False


def _number(number: int) -> Leaf:
    return Leaf(number, number, None)


NOTHING = Content(UNBOUND, tree.LEAF, [], False)


def content_at(place: Place) -> Content:
    """Return what a place holds now."""
    if not isinstance(place, (Items, Growth)):
        return content_of(place.content)
    array = place.content
    return Content(array, tree.LEAF, [Leaf(array, array, None)], True)


def content_of(value: Any) -> Content:
    """Return what a place holds, given its value, `UNBOUND` or an `Unsure`."""
    if value is UNBOUND:
        return NOTHING
    flag = True
    if isinstance(value, Unsure):
        value, flag = value.value, known(value.bound)
    if type(value) is Maybe and not isinstance(value.some, Box):
        value = settled(value)
    leaves, structure = tree.flatten(packed(value))
    return Content(value, structure, [_leaf(leaf) for leaf in leaves], flag)


def _leaf(leaf: Any) -> Leaf:
    if not isinstance(leaf, Box):
        return Leaf(leaf.copy() if isinstance(leaf, np.ndarray) else leaf, leaf, root_of(leaf))
    fact = known(leaf)
    if fact is not leaf:
        return Leaf(fact, fact, None)
    root = root_of(leaf)
    detached = own(leaf)
    return Leaf(detached.state.value if detached.owner.plain else detached, leaf, root)


def is_same(one: Leaf, other: Leaf) -> bool:
    """Return whether two leaves are one object, or equal settings or numbers."""
    x, y = one.object, other.object
    if x is y:
        return True
    if type(x) is not type(y) or isinstance(x, (Box, np.ndarray)):
        return False
    if isinstance(x, (bool, int, float, complex, str, bytes, np.generic)):
        return repr(x) == repr(y)
    try:
        return bool(x == y) and not is_number(x)
    except Exception:
        return False


class Sharing:
    """Which arrays at the end of a block others may show, too."""

    def __init__(self, region: Region, contents: list[Content]) -> None:
        self._region = region
        self._seen = Counter(id(leaf.root) for content in contents for leaf in content.leaves)

    def is_shared(self, leaf: Leaf) -> bool:
        """Return whether another variable may show the array of a leaf."""
        return leaf.root is not None and (self._region.is_outer(leaf.root) or self._seen[id(leaf.root)] > 1)

    def others(self, leaf: Leaf) -> list[Any]:
        """Return the arrays that a leaf may be, as only a run knows, or that others may show."""
        found = [root for root in linked(leaf.root) if self._region.is_outer(root) or self._seen[id(root)]]
        return [*([leaf.root] if self.is_shared(leaf) else []), *found]


def holds(type_: TensorType, leaf: Leaf) -> bool:
    """Return whether a type can hold a number of Python's, which would keep its own one in Python.

    Args:
        type_: what a branch or a loop gives a variable.
        leaf: what the variable holds on one path.
    """
    own, dtype = type_of(leaf.value), type_.dtype
    if type_.weak or not own.weak or own.dtype == dtype or own.dtype.kind == "b":
        return True
    number = concrete(leaf.value) if isinstance(leaf.value, Box) else leaf.value
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return number is not None and int(limits.min) <= number <= int(limits.max)
    if dtype.kind == "f" and number is not None and np.isfinite(number):
        return abs(number) <= float(np.finfo(dtype).max)
    return True
