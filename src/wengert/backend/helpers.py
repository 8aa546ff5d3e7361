"""Threads that help the one that calls. It does without where there are none to have."""

from __future__ import annotations

import sys
import threading


def start(helper: threading.Thread) -> str:
    """Start a thread that may be done without, and return why it was not started; nothing if it was.

    The system may have no more threads. An interpreter that ends refuses them from Python 3.12 on; before, the new
    thread would wait for Python's lock for ever, and its caller for the thread.

    Example:
        >>> helper = threading.Thread(target=print, args=("here",))
        >>> start(helper) or helper.join()
        here
    """
    if sys.is_finalizing():
        return "the interpreter is ending"
    try:
        helper.start()
    except RuntimeError as problem:
        return str(problem)
    return ""
