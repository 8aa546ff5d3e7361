"""Ctrl-C and the system's request to end, which wait for a good moment."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

_LISTENED = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


class Interrupts:
    """While in force, the first signal to end is only noted, so that the run can end between two steps.

    A second one is not. Where a signal means something else already (another handler, or nothing in the background), it
    goes on to do so.
    """

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        """The one that came."""
        self._before: dict[signal.Signals, Any] = {}

    @property
    def noted(self) -> bool:
        """Whether the run is asked to end."""
        return self.signal is not None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():  # no other thread may listen
            for number, usual in _LISTENED.items():
                if signal.getsignal(number) is usual:
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.noted:
            raise KeyboardInterrupt
        self.signal = signal.Signals(number)
