"""Ctrl-C while the command loads its modules: the process exits at once, without a message.

An import of this module suffices. It has an effect only in the ``wengert`` command.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import PurePath
from types import FrameType

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 plus the number of SIGINT."""


def _exit(number: int, frame: FrameType | None) -> None:
    # An importing module could catch an exception, or turn it into another.
    os._exit(INTERRUPTED)


def _is_command() -> bool:
    """Return whether this process is ``wengert`` or ``python -m wengert``, and still imports its modules."""
    program: str = next(iter(getattr(sys, "argv", ())), "")  # an embedded Python may have no argv
    if program == "-m":  # until the module has been found
        return "-m" in sys.orig_argv and sys.orig_argv[sys.orig_argv.index("-m") + 1 :][:1] == ["wengert"]
    return PurePath(program).name in ("wengert", "wengert.exe", "wengert-script.py")


def restore_interrupts() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` again, once the command can catch it."""
    if signal.getsignal(signal.SIGINT) is _exit:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a background job ignores it
if _usual and _is_command() and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, _exit)
