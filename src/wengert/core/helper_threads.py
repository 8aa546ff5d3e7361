"""Helper threads: their caller works alone where the system starts none."""

from __future__ import annotations

import sys
import threading


def start(helper: threading.Thread) -> str:
    """Start a thread that the caller can do without; return why it did not start, an empty text if it did.

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
