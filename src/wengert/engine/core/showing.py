"""Whether the text of a value can only be shown: no branch and no number of the program depends on it."""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
from types import FrameType
from typing import Any

from wengert.engine.core.errors import is_users
from wengert.engine.core.parsing import statements

#: Names of functions that write a text for the user.
WRITING = {"print", "debug", "info", "warning", "error", "exception", "critical", "log"}


def writes(function: Any) -> bool:
    """Return whether a function writes its arguments for the user, and nothing else can come of them.

    Args:
        function: what the program calls.
    """
    return function is builtins.print or getattr(function, "__module__", None) == "logging"


#: Modules of Python's library that make texts for a program; others show values, such as a debugger.
_MAKING = {
    "string",
    "textwrap",
    "json",
    "decimal",
    "fractions",
    "statistics",
    "csv",
    "functools",
    "re",
    "collections",
}


def is_shown(frame: FrameType) -> bool:
    """Return whether a text that a frame asks for is shown alone; where there is no source, it counts as shown.

    Args:
        frame: of a program, of Python's library, which may make it for the program, or of one that shows values.
    """
    while not is_users(frame.f_code):
        module = frame.f_globals.get("__name__", "").partition(".")[0]
        if module not in _MAKING or frame.f_back is None:
            return True
        frame = frame.f_back
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    match _statement("".join(lines), frame.f_lineno):
        case None | ast.Raise() | ast.Assert():
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            scopes = (frame.f_locals, frame.f_globals, vars(builtins))
            return writes(next((names[name] for names in scopes if name in names), None))
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return name in WRITING
        case _:
            return False


@functools.lru_cache(maxsize=64)
def _statement(source: str, line: int) -> ast.stmt | None:
    """Return the innermost statement that holds a line."""
    try:
        inside = statements(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    found: ast.stmt | None = None
    while around := [node for node in inside if node.lineno <= line <= (node.end_lineno or 0)]:
        found = around[-1]
        inside = [
            node
            for part in ast.iter_child_nodes(found)
            for node in ([part] if isinstance(part, ast.stmt) else ast.walk(part))
            if isinstance(node, ast.stmt)
        ]
    return found
