"""Processes that end when their parent ends, however it ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1
_SYNCHRONIZE, _INFINITE = 0x00100000, 0xFFFFFFFF
_SECONDS_BETWEEN_LOOKS = 1.0
_KILL: int = getattr(signal, "SIGKILL", signal.SIGTERM)
"""The signal that ends a process at once; Windows has one for both."""


def end_with_parent(parent: int | None = None, number: int = _KILL) -> None:
    """Send this process a signal as soon as its parent ends, even by ``kill -9``.

    Linux does it, when the thread ends that started this process; elsewhere a thread waits for the parent. A parent
    that is named may have ended already.
    """
    parent = os.getppid() if parent is None else parent
    if sys.platform == "linux" and ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number)) == 0:
        if os.getppid() != parent:  # it ended meanwhile
            os.kill(os.getpid(), number)
        return
    threading.Thread(target=_watch, args=(parent, number), name="wengert-parent", daemon=True).start()


def _watch(parent: int, number: int) -> None:
    if sys.platform == "win32":
        import _winapi

        try:
            handle = _winapi.OpenProcess(_SYNCHRONIZE, False, parent)
        except OSError:  # it ended meanwhile
            pass
        else:
            _winapi.WaitForSingleObject(handle, _INFINITE)
    else:
        while os.getppid() == parent:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
    os.kill(os.getpid(), number)
