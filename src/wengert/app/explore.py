"""``wengert explore``."""

from __future__ import annotations

import ast
import inspect
import os
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np

from wengert.engine.core.errors import WengertError
from wengert.engine.core.programs import ProgramError, UnreadableError, compiled, importing_from, run
from wengert.explorer import explore
from wengert.train.settings import SettingsError
from wengert.train.storage import RunError, writing

PAGE = "{name}.html"
_MARK = b'<meta name="generator" content="wengert explore">'


def write_exploration(place: str, inputs: Sequence[str], out: str | None) -> Path:
    """Write the page of a function in a Python file, by default as NAME.html, and return its path.

    The place is ``FILE.py:NAME``. Inputs are Python literals, or files of arrays (.npy, .npz).
    """
    file, colon, name = place.rpartition(":")
    if not (colon and name.isidentifier() and file.endswith(".py")):
        raise SettingsError(f"the function must be FILE.py:NAME; got {place!r}")
    path = Path(out) if out is not None else Path(PAGE.format(name=name))
    if path.suffix != ".html":
        raise SettingsError(f"--out must be named *.html; got {path}")
    _protect(path)
    with importing_from([Path(file).parent]):
        function = _function(Path(file), name)
        arguments = [_input(number, text) for number, text in enumerate(inputs, 1)]
        _check_number(function, name, arguments)
        try:
            page = explore(function)(*arguments)
        except WengertError:
            raise
        except Exception as problem:
            raise ExplorationError(f"{name} fails: {_told(problem)}") from problem
    with writing(path):
        page.save(path)
    return path


class ExplorationError(WengertError, RuntimeError):
    """The user's file or function fails."""


def _protect(path: Path) -> None:
    """Raise `RunError` if a file exists that is not a page of this command: the user may need it."""
    with writing(path):
        if path.exists() and _MARK not in path.read_bytes()[:2000]:
            raise RunError(
                f"{path} exists and is not a page of wengert explore: choose another file with --out"
            )


def _function(file: Path, name: str) -> Callable[..., Any]:
    """Run a file, and return the function of a name in it."""
    try:
        code = compiled(file)
    except (UnreadableError, ProgramError) as problem:
        raise SettingsError(str(problem)) from None
    try:
        module = run(code)
    except Exception as problem:
        raise ExplorationError(f"{file} fails: {_told(problem)}") from problem
    value = vars(module).get(name)
    if not callable(value):
        names = [key for key, member in vars(module).items() if _is_function_of(member, module)]
        has = f"it has {', '.join(names)}" if names else "it has no function"
        raise SettingsError(f"{file} has no function {name}: {has}")
    return value


def _is_function_of(value: Any, module: ModuleType) -> bool:
    return callable(value) and getattr(value, "__module__", None) == module.__name__


def _told(problem: Exception) -> str:
    """Return an error with the line of the user that it comes from."""
    lines = [frame for frame in traceback.extract_tb(problem.__traceback__) if frame.filename.endswith(".py")]
    where = f" [{os.path.basename(lines[-1].filename)}:{lines[-1].lineno}]" if lines else ""
    return f"{type(problem).__name__}: {problem}{where}"


def _input(number: int, text: str) -> Any:
    """Return an input: an array from a file, or a Python literal, of which lists are arrays."""
    if text.endswith((".npy", ".npz")):
        try:
            loaded = np.load(text, allow_pickle=False)
        except (OSError, ValueError, EOFError) as problem:
            raise SettingsError(f"input {number}: {text} cannot be read: {problem}") from None
        return {key: loaded[key] for key in loaded.files} if text.endswith(".npz") else loaded
    try:
        return _arrays(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        requirement = "must be a Python literal such as 2.0 or [1.0, 2.0], or a file *.npy or *.npz"
        raise SettingsError(f"input {number} {requirement}; got {text!r}") from None


def _arrays(value: Any) -> Any:
    if isinstance(value, list):
        return np.asarray(cast("list[Any]", value))
    if isinstance(value, dict):
        return {key: _arrays(part) for key, part in cast("dict[Any, Any]", value).items()}
    return tuple(map(_arrays, cast("tuple[Any, ...]", value))) if isinstance(value, tuple) else value


def _check_number(function: Callable[..., Any], name: str, arguments: Sequence[Any]) -> None:
    """Raise `SettingsError` where a function takes another number of inputs."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*arguments)
    except TypeError as problem:
        raise SettingsError(f"{name}{signature} got {len(arguments)} inputs: {problem}") from None
