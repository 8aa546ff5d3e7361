"""Exceptions of the user's own that a compiled program raises, by the text that stands for each in the program."""

from __future__ import annotations

import builtins
import contextlib
import copy
import threading
from types import TracebackType

from wengert.engine.core.errors import LimitError
from wengert.engine.core.named_tuples import NamedTuple


class _Origin(NamedTuple):
    """An exception, and where the program raises it."""

    problem: Exception
    file: str
    line: int
    function: str
    of_math: bool


#: The attribute of an exception that a program of the user's raises.
_MARK = "__wengert_raised__"
#: The attribute of an exception that ends the trace of rewritten control flow.
_STAGED_MARK = "__wengert_staged__"
_origins: dict[str, _Origin] = {}


class _Made(threading.local):
    count = 0
    """How many exceptions `user_error` has made in this thread."""
    of_batches = 0
    """How many errors the values of single examples have raised in it."""


MADE = _Made()


def enter(text: str, problem: Exception, file: str, line: int, function: str, of_math: bool = False) -> None:
    """Enter an exception under a text.

    Args:
        text: stands for the exception in programs.
        problem: the exception; its frames are dropped.
        file: the user's file that raises it, or an empty string.
        line: its line there.
        function: the user's function that raises it.
        of_math: whether a function of `math` that it calls does, so that the program may catch the exception, or
            whether it returns None.
    """
    kept = _copied(problem)
    kept.__traceback__ = kept.__cause__ = kept.__context__ = None
    _origins[text] = _Origin(kept, file, line, function, of_math)


def is_users_own(problem: BaseException) -> bool:
    """Return whether an exception is of the user's program, or of code that this calls."""
    return bool(getattr(problem, _MARK, False))


def mark_as_users(problem: Exception) -> None:
    """Mark an exception of code that is not Wengert's: no message of ours takes its place."""
    setattr(problem, _MARK, "foreign")


def is_of_math(problem: BaseException) -> bool:
    """Return whether `user_error` made an exception in whose place Python may return a result."""
    return getattr(problem, _MARK, "") == "math"


def note_staged(problem: Exception) -> None:
    """Note that an exception ends the trace of rewritten control flow: Python may raise another one before."""
    with contextlib.suppress(Exception):
        setattr(problem, _STAGED_MARK, True)


def is_staged(problem: Exception) -> bool:
    """Return whether an exception has ended the trace of rewritten control flow."""
    return bool(getattr(problem, _STAGED_MARK, False))


def _copied(problem: Exception) -> Exception:
    try:
        made = copy.copy(problem)
    except Exception:
        return problem
    return made if type(made) is type(problem) else problem


def _of_text(text: str) -> Exception:
    """Return an exception of Python's own that a text names; another class is not known here."""
    name, _, requirement = text.partition(": ")
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        with contextlib.suppress(TypeError):  # some take more than a text
            problem = kind(requirement)
            setattr(problem, _MARK, "raise")
            return problem
    return LimitError(text)


def user_error(text: str) -> Exception:
    """Return the exception that a text stands for, with a traceback that ends at the user's line.

    Args:
        text: the text under which it was entered.
    """
    MADE.count += 1
    origin = _origins.get(text)
    if origin is None:  # of a program that another process wrote
        return _of_text(text)
    problem = _copied(origin.problem)
    with contextlib.suppress(Exception):
        setattr(problem, _MARK, "math" if origin.of_math else "raise")
    if not origin.file:
        return problem
    source = compile("\n" * (origin.line - 1) + "raise problem", origin.file, "exec")
    source = source.replace(co_name=origin.function, co_qualname=origin.function)
    try:
        exec(source, {"problem": problem})
    except Exception as raised:
        found = raised.__traceback__
        assert found is not None
        return raised.with_traceback(found.tb_next)
    return problem


def is_raised_in(traceback: TracebackType | None, prefix: str) -> bool:
    """Return whether an error passed through a module whose name begins so."""
    while traceback is not None:
        if traceback.tb_frame.f_globals.get("__name__", "").startswith(prefix):
            return True
        traceback = traceback.tb_next
    return False
