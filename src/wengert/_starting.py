"""Ctrl-C while the command loads its modules: it ends at once, with nothing to save and nothing to say.

To import this module is enough. In other programs than the command it does nothing.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import PurePath
from types import FrameType

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 and the number of SIGINT."""


def _leave(number: int, frame: FrameType | None) -> None:
    # An exception could be caught, or turned into another, by whatever is being imported.
    os._exit(INTERRUPTED)


def _is_command() -> bool:
    """Tell whether this process is ``wengert`` or ``python -m wengert``, whose modules are being imported."""
    program: str = next(iter(getattr(sys, "argv", ())), "")  # another program may hold Python, and have none
    if program == "-m":  # what it is until the module has been found
        return "-m" in sys.orig_argv and sys.orig_argv[sys.orig_argv.index("-m") + 1 :][:1] == ["wengert"]
    return PurePath(program).name in ("wengert", "wengert.exe", "wengert-script.py")


def leave_in_order() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` again: there is somebody who catches it."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a job in the background ignores it
if _usual and _is_command() and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, _leave)
