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


@contextlib.contextmanager
def loading_modules() -> Generator[None]:
    """Keep the collector from running while modules load, and from visiting them all once it runs again.

    What lives by then counts as old. Only `gc.freeze` moves objects so far without visiting them; ``gc.unfreeze`` would
    also release what a program froze itself, which is therefore left alone.
    """
    with collector_paused():
        yield
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
