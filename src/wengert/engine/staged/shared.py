"""Containers that a branch or a loop makes anew: they stand for one of several, which other variables may show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from wengert.engine.staged.aliases import is_seen
from wengert.engine.staged.frozen import mutable_parts
from wengert.engine.staged.regions import FLOW


class Made:
    """A tree that was made anew.

    Args:
        value: the tree.
        of: the trees for one of which it stands.
    """

    def __init__(self, value: Any, of: Iterable[Any]) -> None:
        self.parts = mutable_parts(value)
        self.of = [part for one in of for part in mutable_parts(one)] if self.parts else []


def freeze_shared(made: Sequence[Made]) -> list[Made]:
    """Let containers not change if the program can see several that may be one; return those."""
    counts = Counter(name for one in made for name in {id(part) for part in one.of})
    found = [one for one in made if one.of and _is_shared(one.of, counts)]
    for one in found:
        FLOW.frozen.add([*one.parts, *one.of])
    return found


def _is_shared(parts: Sequence[Any], counts: Counter[int]) -> bool:
    is_double = any(counts[id(part)] > 1 or part in FLOW.frozen for part in parts)
    return is_double or is_seen(parts)
