"""Errors: one formatter, and classes that subclass the builtin error that a user would catch.

Every message names the operation, the requirement, the value, a hint, and the user's own line:

    matmul: inner dimensions must agree; got f64[3,4], f64[5,6]. [model.py:12]

In a notebook the line is that of a cell: ``[cell 3, line 2: y = A @ x]``.

If that line calls another package, which raised the error, the line in the package follows in parentheses.
"""

from __future__ import annotations

import dis
import functools
import inspect
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any

import numpy as np

from wengert.engine.core import notebooks
from wengert.engine.core.notebooks import readable, source_line

_PACKAGE = os.path.abspath(__file__).removesuffix(os.path.join("engine", "core", "errors.py"))
#: The user's line at the end of a message; a cell of a notebook with its source.
_LOCATION = r" \[(?:cell \d+, line \d+: .*|[^\[\]]*)\]$"
#: The command line, which is not the user's code.
_COMMAND = os.path.join(_PACKAGE, "app", "cli.py")
_STANDARD = (os.path.dirname(os.__file__) + os.sep, "<frozen ")
#: Wengert's files, whose frames a search for the user's passes: a trace has a hundred of them above each operation.
_passed: set[str] = set()
#: Files of installed packages, under the interpreter's own paths or in an environment.
_SITES = r".*[/\\](?:site|dist)-packages[/\\](.*)"


class WengertError(Exception):
    """Base of every error that Wengert raises on purpose.

    IPython and notebooks show the user's lines alone in its traceback; with ``WENGERT_TRACEBACK=full`` in the
    environment they show Wengert's, too, as plain Python always does.
    """

    def _render_traceback_(self) -> list[str]:
        """Return the lines of the traceback, for IPython."""
        return notebooks.rendered(self)


class FrozenRandomWarning(UserWarning):
    """A generator drew numbers while a function was traced: they are constants of every call."""


class GapWarning(UserWarning):
    """The derivative of eigenvectors divides by a gap that is a rounding error."""


class KinkWarning(UserWarning):
    """A derivative that is a choice, as that of ``abs(x)`` at 0, was differentiated again."""


class KinkError(WengertError, FloatingPointError):
    """A derivative that is a choice was differentiated again, under ``WENGERT_CHECK=kink``."""


class UncompiledWarning(UserWarning):
    """A solver runs a function as a NumPy program, though a change of one line would let it be compiled."""


class ForgottenReturnWarning(UserWarning):
    """A compiled function returns nothing, so that a call of it does nothing: what it writes is lost."""


class DoubtfulResultWarning(UserWarning):
    """A solver returns a result that its own checks call doubtful; the result says why."""


class ShapeError(WengertError, ValueError):
    """An operation cannot combine these shapes."""


class ScalarError(ShapeError, TypeError):
    """A scalar was given where elements are needed."""


class DtypeError(WengertError, TypeError):
    """An operation does not accept this dtype."""


class IndexingError(WengertError, IndexError):
    """An index is out of range or of the wrong kind."""


class OutOfRangeError(IndexingError, ValueError):
    """An integer that selects or counts, such as a label, is out of range."""


class AxisError(IndexingError, np.exceptions.AxisError):
    """An array does not have this axis."""


class ArrayAttributeError(WengertError, AttributeError):
    """An array inside a transform does not have this attribute, or it cannot be set."""


class ConcreteError(WengertError, TypeError):
    """A concrete value is needed where only the type is known."""

    is_traced = False
    """Whether a trace on types alone raised it."""


class StagingError(ConcreteError):
    """Control flow on values that only a run knows cannot become part of the program."""


class UncountedError(StagingError):
    """A run that is staged for its many turns alone needs a value that a run without stages does not have, either."""


class LostDerivativeError(WengertError, TypeError):
    """The program would continue without its derivative."""


class LeakError(WengertError, RuntimeError):
    """A value outlived the transform that made it."""


class UnsupportedError(WengertError, TypeError):
    """Wengert does not support this; the message names an alternative."""


class GraphError(WengertError, ValueError):
    """A graph, or its text, is not well formed."""


class RangeError(WengertError, OverflowError):
    """A Python integer is outside the range of a dtype."""


class DivisionError(WengertError, ZeroDivisionError):
    """A divisor is zero."""


class MatrixError(WengertError, np.linalg.LinAlgError):
    """A matrix has no inverse, no solution or no factor."""


class LimitError(WengertError, RuntimeError):
    """A loop needs more turns, or more memory, than it may take."""


class ArgumentError(WengertError, ValueError):
    """An argument does not fit the function."""


class MissingExtraError(WengertError, ImportError):
    """An optional package is needed and not installed."""


_IN_PLACES = (ArgumentError, DivisionError, DtypeError, IndexingError, MatrixError, RangeError, ShapeError)


def is_of_program(problem: Exception) -> bool:
    """Return whether plain Python raises an exception, too, or one of NumPy's in whose place Wengert's stands."""
    return not isinstance(problem, WengertError) or isinstance(problem, _IN_PLACES)


def user_frame() -> FrameType | None:
    """Return the innermost frame of the user's code; None without one, as under the command line.

    If all code is installed, even the application, it is the innermost frame outside of Wengert and Python.
    """
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    installed: FrameType | None = None
    while frame is not None:
        code = frame.f_code
        if code.co_filename not in _passed:
            if code.co_filename == _COMMAND:
                return None
            if not _is_foreign(code.co_filename, code.co_name):
                return frame
            if code.co_filename.startswith(_PACKAGE):
                _passed.add(code.co_filename)
            elif installed is None and installed_file(code.co_filename):
                installed = frame
        frame = frame.f_back
    return installed


def users_level() -> int:
    """Return the ``stacklevel`` of `warnings.warn` in the caller's function that names the user's line."""
    wanted, level = user_frame(), 1
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame is not wanted:
        frame, level = frame.f_back, level + 1
    return level if frame is not None else 1


def _package_frames() -> Iterator[tuple[str, FrameType]]:
    """Yield the frames of packages that the user's line calls, the innermost first, with their files."""
    frame, end = sys._getframe(1), user_frame()  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame is not end:
        if file := installed_file(frame.f_code.co_filename):
            yield file, frame
        frame = frame.f_back


def calls_inside() -> tuple[str, list[Any]]:
    """Return the package that the user's line calls, and its running functions, the innermost first.

    A library that converts its arguments to plain arrays fails in an inner function; the user called the last one.
    """
    package, functions = "", list[Any]()
    for file, frame in _package_frames():
        package = file.split("/")[0]
        if frame.f_code.co_name in frame.f_globals:  # not a wrapper
            functions.append(frame.f_globals[frame.f_code.co_name])
    return package, functions


def methods_inside() -> list[tuple[Any, str]]:
    """Return the objects whose methods the user's line runs in packages, and their names, the innermost first."""
    return [
        (frame.f_locals["self"], frame.f_code.co_name)
        for _, frame in _package_frames()
        if "self" in frame.f_locals
    ]


@functools.lru_cache(maxsize=4096)
def _is_foreign(filename: str, function: str) -> bool:
    """Return whether code is of Wengert, Python, an installed package, or a constructor that `dataclasses` wrote."""
    generated = filename == "<string>" and function == "__init__"
    return generated or filename.startswith((_PACKAGE, *_STANDARD)) or re.match(_SITES, filename) is not None


@functools.lru_cache(maxsize=4096)
def installed_file(filename: str) -> str:
    """Return a file's path in an installed package, or an empty string; NumPy does not count as a package."""
    match = None if filename.startswith(_PACKAGE) else re.match(_SITES, filename)
    file = "" if match is None else match[1].replace(os.sep, "/")
    return "" if file.startswith("numpy/") else file


def is_foreign_file(filename: str) -> bool:
    """Return whether a file is of Wengert, Python or an installed package."""
    return _is_foreign(filename, "")


def public_module(module: str) -> str:
    """Return the module in which a program finds what a private module defines.

    Example:
        >>> public_module("scipy.optimize._zeros_py")
        'scipy.optimize'
        >>> public_module("scipy.sparse.linalg._dsolve.linsolve")
        'scipy.sparse.linalg'
    """
    return re.sub(r"\._.*", "", module)


def is_own(code: CodeType) -> bool:
    """Return whether code is Wengert's."""
    return code.co_filename.startswith(_PACKAGE)


def is_users(code: CodeType) -> bool:
    """Return whether code is the user's own."""
    return not _is_foreign(code.co_filename, code.co_name)


def name_of(function: Callable[..., Any]) -> str:
    """Return the user's name for a function, such as ``grad(loss)`` for a transformed function."""
    kind = "__name__" if hasattr(function, "__wrapped__") else "__qualname__"
    return getattr(function, kind, "") or getattr(function, "__name__", repr(function))


def definition(function: Callable[..., Any]) -> str:
    """Return where a function begins, as `` [file.py:12]``; an empty string for a function written in C."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f" [{readable(place(code.co_filename, code.co_firstlineno))}]" if code else ""


def user_location() -> str:
    """Return the user's own line as ``file.py:12``, or an empty string."""
    frame = user_frame()
    return place(frame.f_code.co_filename, frame.f_lineno) if frame else ""


@functools.lru_cache(maxsize=4096)
def place(file: str, line: int) -> str:
    """Return a line of a file as ``file.py:12``."""
    return f"{os.path.basename(file)}:{line}"


def _in_between() -> str:
    """Return the line of a package that the user's line calls, as ``scipy/optimize/_root.py:12``."""
    return next((f"{file}:{frame.f_lineno}" for file, frame in _package_frames()), "")


def _tracebacks(problem: BaseException) -> list[TracebackType]:
    tracebacks: list[TracebackType] = []
    traceback = problem.__traceback__
    while traceback is not None:
        tracebacks.append(traceback)
        traceback = traceback.tb_next
    return tracebacks


def frames_of(problem: BaseException) -> list[FrameType]:
    """Return the frames that an error has passed, the outermost first."""
    return [traceback.tb_frame for traceback in _tracebacks(problem)]


def raised_at(problem: BaseException) -> str:
    """Return the user's own line that raised an error as messages name it, or an empty string."""
    users = [tb for tb in _tracebacks(problem) if is_users(tb.tb_frame.f_code)]
    return readable(place(users[-1].tb_frame.f_code.co_filename, users[-1].tb_lineno)) if users else ""


def users_call(problem: BaseException) -> tuple[Any, ...]:
    """Return the part of the source that raised an error, or called what raised it, with the line in its message."""
    users = [tb for tb in _tracebacks(problem) if is_users(tb.tb_frame.f_code)]
    if not users:
        return (line_of(str(problem)),)
    code, step = users[-1].tb_frame.f_code, users[-1].tb_lasti // 2
    position = next(itertools.islice(code.co_positions(), step, None), None)
    return line_of(str(problem)), code.co_filename, position


def is_raised_by_user(problem: BaseException) -> bool:
    """Return whether a ``raise`` statement of the user raised an error, and not a function that he called."""
    tracebacks = _tracebacks(problem)
    if not tracebacks:
        return False
    code = tracebacks[-1].tb_frame.f_code
    is_raise = dis.opname[code.co_code[tracebacks[-1].tb_lasti]] in ("RAISE_VARARGS", "RERAISE")
    return is_raise and is_users(code)


def is_installed(problem: BaseException) -> bool:
    """Return whether an installed package raised an error, or C code that it called."""
    return any(installed_file(tb.tb_frame.f_code.co_filename) for tb in _tracebacks(problem)[-1:])


def package_function(problem: BaseException) -> str:
    """Return the function of an installed package that the user's line called; an empty string without one."""
    for traceback in reversed(_tracebacks(problem)):
        if is_users(traceback.tb_frame.f_code):
            break
    else:
        return ""
    while (traceback := traceback.tb_next) is not None:
        frame = traceback.tb_frame
        if installed_file(frame.f_code.co_filename):
            return f"{public_module(frame.f_globals.get('__name__', ''))}.{frame.f_code.co_name}"
    return ""


def is_refused_by_standard(problem: BaseException, kind: type[Any]) -> bool:
    """Return whether a function of Python's library raised an error, and an argument of it is of a class."""
    tracebacks = _tracebacks(problem)
    code = tracebacks[-1].tb_frame.f_code if tracebacks else None
    if code is None or not code.co_filename.startswith(_STANDARD) or installed_file(code.co_filename):
        return False
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    values = tracebacks[-1].tb_frame.f_locals
    return any(isinstance(values.get(name), kind) for name in arguments)


def is_standard_class(problem: BaseException) -> bool:
    """Return whether a module of Python's library defines the class of an error, such as ``struct.error``."""
    module = type(problem).__module__.partition(".")[0]
    return module != "builtins" and module in sys.stdlib_module_names


def is_asked_by_package(problem: BaseException) -> bool:
    """Return whether an installed package asked Wengert for what raised an error."""
    files = [tb.tb_frame.f_code.co_filename for tb in _tracebacks(problem)]
    callers = [file for file in files if not file.startswith(_PACKAGE)]
    return callers != files and any(map(installed_file, callers[-1:]))


def message(operation: str, requirement: str, got: str = "", hint: str = "") -> str:
    """Format an error message: operation, requirement, value, hint, the user's line."""
    text = f"{operation}: {requirement}"
    if got:
        text += f"; got {got}"
    if hint:
        text += f"; {hint}"
    location, between = user_location(), _in_between()
    return f"{text}.{_bracketed(location, between and f' ({between})')}"


def _bracketed(location: str, between: str = "") -> str:
    """Return the user's line as the end of a message; with its source if it is in a cell of a notebook."""
    location = readable(location)
    source = source_line(location)
    return f" [{location}{source and f': {source}'}{between}]" if location else ""


def split_location(text: str) -> tuple[str, str]:
    """Split a message into its text and the user's line at its end.

    Example:
        >>> split_location("exp: that does not work. [user.py:12]")
        ('exp: that does not work.', ' [user.py:12]')
    """
    match = re.search(_LOCATION, text)
    return (text[: match.start()], match[0]) if match else (text, "")


def located(text: str, location: str) -> str:
    """Return a message that ends with a line, in the place of the user's line where it was written.

    Example:
        >>> located("exp: that does not work. [other.py:3]", "user.py:12")
        'exp: that does not work. [user.py:12]'
    """
    return split_location(text)[0] + _bracketed(location)


def line_of(text: str) -> str:
    """Return the user's line in a message, as ``file.py:12``, or an empty string.

    Example:
        >>> line_of("exp: that does not work. [user.py:12 (pandas/core/frame.py:99)]")
        'user.py:12'
    """
    return split_location(text)[1].strip(" []").partition(" (")[0].partition(": ")[0]


_SUPPORTED = "write it with operators and the functions of wengert.numpy and wengert.special"
OTHERWISE = f"{_SUPPORTED}, or give it a rule: wg.custom_vjp"
#: The hint for a function that returns None.
RETURNED = "its last line may lack return; a function that writes into an argument returns it"
YIELDED = "a function with yield returns a generator: put its values into a list, and return that"
UNFOLLOWED = f"{_SUPPORTED}, or compute it outside and pass the result as an argument"


def unsupported(function: Any, part: str, requirement: str, hint: str) -> UnsupportedError:
    """Return the error for a NumPy function, or a part of it, that Wengert does not support."""
    name = f"{function.__name__}{part}"
    is_numpys = getattr(np, function.__name__, None) is function
    module = getattr(function, "__module__", None) or ("numpy" if is_numpys else "")
    if module.split(".")[0] == "numpy":
        name = f"np{module.removeprefix('numpy')}.{name}"
    return UnsupportedError(message(name, requirement, hint=hint))
