"""Ctrl-C that waits for a good moment."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any


class Interrupts:
    """While in force, the first Ctrl-C is only noted, so that the run can end between two steps; a second one is not.

    Where Ctrl-C means something else already (another handler, or nothing in the background), it goes on to do so.
    """

    def __init__(self) -> None:
        self.noted = False
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.noted:
            raise KeyboardInterrupt
        self.noted = True
