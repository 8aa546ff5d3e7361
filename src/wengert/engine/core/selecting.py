"""Subscripts that select elements of which only a run knows how many there are: what carries them out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.engine.core.named_tuples import NamedTuple


class Selecting(NamedTuple):
    """What carries out subscripts that select elements of which only a run knows how many there are."""

    taken: Callable[[Any, Any], Any]
    """Returns ``value[index]``."""
    put: Callable[[Any, Any, Any], None]
    """Carries out ``value[index] = new``."""
    positions: Callable[[Any], tuple[Any, ...]]
    """Returns the positions at which a mask holds, as `np.nonzero` does."""


#: `wengert.engine.staged` enters one.
SELECTING: list[Selecting] = []
