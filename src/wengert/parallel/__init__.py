"""Work shared among processes and machines.

Nothing of this room loads with ``import wengert``; ``wengert.parallel`` loads it on first use.
"""

from __future__ import annotations

from wengert.parallel.group import Group, GroupError
from wengert.parallel.journal import JournalError
from wengert.parallel.mapping import map
from wengert.parallel.sweep import MapError, WorkerError

__all__ = ["Group", "GroupError", "JournalError", "MapError", "WorkerError", "map"]
__dir__ = __all__.copy
