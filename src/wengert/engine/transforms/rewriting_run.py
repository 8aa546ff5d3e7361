"""The run of a user's function with rewritten control flow, of which `wengert.engine.staged` knows how."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import CodeType
from typing import Any

from wengert.engine.core.named_tuples import NamedTuple


class Staging(NamedTuple):
    """A third run, with copies whose control flow may become part of a traced program."""

    code: Callable[[CodeType, dict[str, Any]], CodeType | None]
    """Returns the code of a copy, given the user's and its globals."""
    scope: Callable[[bool], contextlib.AbstractContextManager[None]]
    """Surrounds the call of the user's function, given whether loops of a known number of turns alone are staged."""
    checked: Callable[[Any], Any]
    """Returns its result, which depends on that no exception is raised."""


#: The third run: `wengert.engine.staged` enters it.
STAGING: list[Staging] = []
#: Functions that load `wengert.engine.staged`.
STAGING_LOADERS: list[Callable[[], Any]] = []
