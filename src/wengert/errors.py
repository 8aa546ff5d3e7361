"""Errors: one formatter, and classes that subclass the builtin a user would catch.

Every message names the operation, the requirement, what came, what to do, and the user's own line:

    matmul: inner dimensions must agree; got f64[3,4], f64[5,6]. [model.py:12]
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import numpy as np

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LOCATION = re.compile(r" \[[^\[\]]*\]$")
_COMMAND = _PACKAGE + "cli.py"
_OTHERS = tuple(os.sep + os.path.join("site-packages", name) + os.sep for name in ("numpy", "scipy", "click"))


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
    """Return the innermost frame of the user's own; None where there is none, as under the command line."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        code = frame.f_code
        if code.co_filename == _COMMAND:
            return None  # what runs the command is nobody's program
        if not _is_foreign(code.co_filename, code.co_name):
            return frame
        frame = frame.f_back
    return None


def calls_inside(package: str) -> list[str]:
    """Return the functions of another package that are running for the user's line, the innermost first.

    A library that turns what it is given into plain arrays fails deep inside; the user has called the last of these.
    """
    found: list[str] = []
    end, frame = user_frame(), sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame is not end:
        if frame.f_globals.get("__name__", "").split(".")[0] == package:
            found.append(frame.f_code.co_name)
        frame = frame.f_back
    return found


@functools.lru_cache(maxsize=4096)
def _is_foreign(filename: str, function: str) -> bool:
    """Tell whether code is Wengert's, another package's, or a constructor that `dataclasses` wrote."""
    generated = filename == "<string>" and function == "__init__"
    ours = filename.startswith(_PACKAGE) or filename == contextlib.__file__
    return ours or generated or any(other in filename for other in _OTHERS)


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


def raised_at(problem: BaseException) -> str:
    """Return the user's own line in which an error was raised as ``file.py:12``, or an empty string."""
    found, traceback = "", problem.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not _is_foreign(code.co_filename, code.co_name):
            found = _location(traceback.tb_frame, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def message(operation: str, requirement: str, got: str = "", hint: str = "") -> str:
    """Format one error: operation, requirement, what came, what to do, the user's line."""
    text = f"{operation}: {requirement}"
    if got:
        text += f"; got {got}"
    if hint:
        text += f"; {hint}"
    location = user_location()
    return f"{text}. [{location}]" if location else f"{text}."


def split_location(text: str) -> tuple[str, str]:
    """Return a message without the user's line, and that line as it stands at its end.

    Example:
        >>> split_location("exp: that does not work. [user.py:12]")
        ('exp: that does not work.', ' [user.py:12]')
    """
    found = _LOCATION.search(text)
    return (text[: found.start()], found[0]) if found else (text, "")


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
