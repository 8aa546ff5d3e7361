"""Helper threads, without which their caller still works."""

from __future__ import annotations

import sys
import threading


def start(helper: threading.Thread) -> str:
    """Start an optional thread; return the reason if it did not start, or an empty string.

    The system may have no more threads. An ending interpreter refuses new threads since Python 3.12; in earlier
    versions the new thread would wait for Python's lock forever, and its caller for the thread.

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
