"""Processes that end when their parent ends, however it ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1
_SECONDS_BETWEEN_LOOKS = 1.0


def end_with_parent() -> None:
    """Kill this process as soon as its parent ends, even by ``kill -9``.

    Linux does it; elsewhere a thread looks once a second.
    """
    parent = os.getppid()
    if sys.platform == "linux" and ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) == 0:
        if os.getppid() != parent:  # it ended meanwhile
            os.kill(os.getpid(), signal.SIGKILL)
        return
    threading.Thread(target=_watch, args=(parent,), name="wengert-parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)
