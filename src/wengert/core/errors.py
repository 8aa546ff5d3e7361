"""Errors: one formatter, and classes that subclass the builtin a user would catch.

Every message names the operation, the requirement, what came, what to do, and the user's own line:

    matmul: inner dimensions must agree; got f64[3,4], f64[5,6]. [model.py:12]

Where that line calls another package, which ran into the error, the line there follows in parentheses.
"""

from __future__ import annotations

import dis
import functools
import inspect
import os
import re
import sys
import sysconfig
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import numpy as np

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LOCATION = re.compile(r" \[[^\[\]]*\]$")
_COMMAND = _PACKAGE + "cli.py"
_PATHS = sysconfig.get_paths()
_STANDARD = (*{_PATHS[kind] + os.sep for kind in ("stdlib", "platstdlib")}, "<frozen ")
#: Where packages are installed: under the interpreter's own paths, or in an environment of any kind.
_SITES = re.compile(r".*[/\\](?:site|dist)-packages[/\\](.*)")


class WengertError(Exception):
    """Base of every error that Wengert raises on purpose."""


class FrozenRandomWarning(UserWarning):
    """Numbers that a generator drew while a function was traced, and that every call will use."""


class ShapeError(WengertError, ValueError):
    """Shapes that an operation cannot combine."""


class ScalarError(ShapeError, TypeError):
    """A scalar where something with elements is needed."""


class DtypeError(WengertError, TypeError):
    """A dtype that an operation does not accept."""


class IndexingError(WengertError, IndexError):
    """An index that is out of range or of the wrong kind."""


class OutOfRangeError(IndexingError, ValueError):
    """An integer that says which or how many, such as a label, beyond what there is."""


class AxisError(IndexingError, np.exceptions.AxisError):
    """An axis that an array does not have."""


class ConcreteError(WengertError, TypeError):
    """A concrete value was needed where only a traced one is known."""


class LostDerivativeError(WengertError, TypeError):
    """The program would have gone on without its derivative."""


class LeakError(WengertError, RuntimeError):
    """A value outlived the transform that made it."""


class UnsupportedError(WengertError, TypeError):
    """Something that Wengert does not do, with what to write instead."""


class GraphError(WengertError, ValueError):
    """A graph, or the text of one, that is not well formed."""


class RangeError(WengertError, OverflowError):
    """A Python integer that is none of the dtype that it is used with."""


class DivisionError(WengertError, ZeroDivisionError):
    """A sum to divide by that is zero."""


class MatrixError(WengertError, np.linalg.LinAlgError):
    """A matrix that has no inverse, no solution or no factor."""


class ArgumentError(WengertError, ValueError):
    """An argument of a transform that does not fit the function."""


class MissingExtraError(WengertError, ImportError):
    """A package that is needed only here, and is not installed."""


def user_frame() -> FrameType | None:
    """Return the innermost frame of the user's own; None where there is none, as under the command line.

    Where all code is installed, an application's too, it is the innermost that is not Wengert's or Python's.
    """
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    installed: FrameType | None = None
    while frame is not None:
        code = frame.f_code
        if code.co_filename == _COMMAND:
            return None  # what runs the command is nobody's program
        if not _is_foreign(code.co_filename, code.co_name):
            return frame
        if installed is None and _in_package(code.co_filename):
            installed = frame
        frame = frame.f_back
    return installed


def calls_inside() -> tuple[str, list[str]]:
    """Return the package that the user's line calls, and its functions that are running, the innermost first.

    A library that turns what it is given into plain arrays fails deep inside; the user has called the last of these.
    """
    package, found = "", list[str]()
    end, frame = user_frame(), sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame is not end:
        if place := _in_package(frame.f_code.co_filename):
            package = place.split("/")[0]
            if frame.f_code.co_name in frame.f_globals:  # and no wrapper
                found.append(frame.f_code.co_name)
        frame = frame.f_back
    return package, found


@functools.lru_cache(maxsize=4096)
def _is_foreign(filename: str, function: str) -> bool:
    """Tell whether code is Wengert's, Python's, an installed package's, or a constructor that `dataclasses` wrote."""
    generated = filename == "<string>" and function == "__init__"
    return generated or filename.startswith((_PACKAGE, *_STANDARD)) or _SITES.match(filename) is not None


@functools.lru_cache(maxsize=4096)
def _in_package(filename: str) -> str:
    """Return a file by its place in a package that is installed, or an empty string; NumPy stands for its callers."""
    found = None if filename.startswith(_PACKAGE) else _SITES.match(filename)
    place = "" if found is None else found[1].replace(os.sep, "/")
    return "" if place.startswith("numpy/") else place


def is_users(code: CodeType) -> bool:
    """Tell whether code is the user's own."""
    return not _is_foreign(code.co_filename, code.co_name)


def name_of(function: Callable[..., Any]) -> str:
    """Return what the user calls a function; for what a transform made, such as ``grad(loss)``."""
    kind = "__name__" if hasattr(function, "__wrapped__") else "__qualname__"
    return getattr(function, kind, repr(function))


def definition(function: Callable[..., Any]) -> str:
    """Return where a function begins, as `` [file.py:12]``; nothing for one that is written in C."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f" [{os.path.basename(code.co_filename)}:{code.co_firstlineno}]" if code else ""


def user_location() -> str:
    """Return the user's own line as ``file.py:12``, or an empty string where there is none."""
    frame = user_frame()
    return _location(frame, frame.f_lineno) if frame else ""


def _location(frame: FrameType, line: int) -> str:
    return f"{os.path.basename(frame.f_code.co_filename)}:{line}"


def _in_between() -> str:
    """Return the line of another package that the user's line is running, as ``scipy/optimize/_root.py:12``."""
    frame, end = sys._getframe(1), user_frame()  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame is not end:
        if found := _in_package(frame.f_code.co_filename):
            return f"{found}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def raised_at(problem: BaseException) -> str:
    """Return the user's own line in which an error was raised as ``file.py:12``, or an empty string."""
    found, traceback = "", problem.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not _is_foreign(code.co_filename, code.co_name):
            found = _location(traceback.tb_frame, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def is_raised_by_user(problem: BaseException) -> bool:
    """Tell whether a ``raise`` statement of the user's raised an error, and not what one of his lines called."""
    traceback = problem.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return False
    code = traceback.tb_frame.f_code
    is_raise = dis.opname[code.co_code[traceback.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")
    return is_raise and not _is_foreign(code.co_filename, code.co_name)


def is_installed(problem: BaseException) -> bool:
    """Tell whether an error was raised in an installed package, or in code in C that it called."""
    traceback, found = problem.__traceback__, ""
    while traceback is not None:
        found = _in_package(traceback.tb_frame.f_code.co_filename)
        traceback = traceback.tb_next
    return bool(found)


def message(operation: str, requirement: str, got: str = "", hint: str = "") -> str:
    """Format one error: operation, requirement, what came, what to do, the user's line."""
    text = f"{operation}: {requirement}"
    if got:
        text += f"; got {got}"
    if hint:
        text += f"; {hint}"
    location, other = user_location(), _in_between()
    return f"{text}. [{location}{other and f' ({other})'}]" if location else f"{text}."


def split_location(text: str) -> tuple[str, str]:
    """Return a message without the user's line, and that line as it stands at its end.

    Example:
        >>> split_location("exp: that does not work. [user.py:12]")
        ('exp: that does not work.', ' [user.py:12]')
    """
    found = _LOCATION.search(text)
    return (text[: found.start()], found[0]) if found else (text, "")


def line_of(text: str) -> str:
    """Return the user's line that a message names, as ``file.py:12``, or an empty string.

    Example:
        >>> line_of("exp: that does not work. [user.py:12 (pandas/core/frame.py:99)]")
        'user.py:12'
    """
    return split_location(text)[1].strip(" []").partition(" (")[0]


_LISTED = "write it with operators and what wengert.numpy and wengert.special list"
OTHERWISE = f"{_LISTED}, or give it a rule: wg.custom_vjp"
UNFOLLOWED = f"{_LISTED}, or compute it outside and give the result as an argument"


def unsupported(function: Any, what: str, requirement: str, hint: str) -> UnsupportedError:
    """Return the error for a function of NumPy's, or a part of it, that Wengert does not know."""
    name = f"{function.__name__}{what}"
    is_numpys = getattr(np, function.__name__, None) is function
    module = getattr(function, "__module__", None) or ("numpy" if is_numpys else "")
    if module.split(".")[0] == "numpy":
        name = f"np{module.removeprefix('numpy')}.{name}"
    return UnsupportedError(message(name, requirement, hint=hint))
