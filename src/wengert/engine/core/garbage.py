"""Python's garbage collector, which looks for cycles of objects."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Generator


@contextlib.contextmanager
def collector_paused() -> Generator[None]:
    """Keep the collector from running.

    A compilation makes many small objects that live to its end. The collector would visit all of them again and again,
    and find nothing: it took a third to a half of the time of long compilations.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
