"""Handlers of the user's program that catch an error of Wengert: `except` clauses, and contexts such as `suppress`."""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import linecache
from collections.abc import Iterable
from types import FrameType, ModuleType
from typing import Any

from wengert.engine.core.dtypes import SEQUENCE
from wengert.engine.core.errors import WengertError, is_users


def is_swallowed(problem: BaseException) -> bool:
    """Return whether the user's code caught an error without a name of Wengert's, by ``except TypeError`` for example.

    Python adds a frame to the traceback of an error when the error leaves it or is caught in it: the first frame of a
    traceback is the one whose handler caught it. A handler that names a class of Wengert's means its error.
    """
    caught = problem.__traceback__
    if caught is None or not is_users(caught.tb_frame.f_code):
        return False
    return not _names_wengert(problem, caught.tb_frame, caught.tb_lineno)


def _names_wengert(problem: BaseException, frame: FrameType, line: int) -> bool:
    """Return whether the innermost handler around a line that catches an error names a class of Wengert's."""
    text = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    for handler in _handlers(text, line):
        kinds = list(_classes(handler, frame))
        if any(isinstance(problem, kind) for kind in kinds):
            return any(isinstance(problem, kind) and issubclass(kind, WengertError) for kind in kinds)
    return False


@functools.lru_cache(maxsize=256)
def _handlers(text: str, line: int) -> list[ast.expr | None]:
    """Return what the handlers around a line catch, the innermost first; None stands for all errors."""
    around = [
        node
        for node in ast.walk(_parsed(text))
        if isinstance(node, ast.Try | ast.TryStar | ast.With | ast.AsyncWith)
        and node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0)
    ]
    caught: list[ast.expr | None] = []
    for node in sorted(around, key=lambda node: node.lineno, reverse=True):
        if isinstance(node, ast.Try | ast.TryStar):
            caught += [handler.type for handler in node.handlers]
        else:
            calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
            caught += [ast.Tuple(call.args) for call in calls]
    return caught


@functools.lru_cache(maxsize=16)
def _parsed(text: str) -> ast.AST:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _classes(expression: ast.expr | None, frame: FrameType) -> Iterable[type[BaseException]]:
    """Return the classes of errors that an expression names."""
    if expression is None:
        return [BaseException]
    if isinstance(expression, ast.Tuple):
        return [kind for part in expression.elts for kind in _classes(part, frame)]
    value = _value(expression, frame)
    kinds: list[Any] = [*value] if isinstance(value, SEQUENCE) else [value]
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseException)]


def _value(expression: ast.expr, frame: FrameType) -> Any:
    """Return the value of a name such as ``TypeError`` or ``wg.WengertError``; None for other expressions."""
    if isinstance(expression, ast.Name):
        for names in (frame.f_locals, frame.f_globals, vars(builtins)):
            with contextlib.suppress(KeyError):  # the globals of a second run look names up elsewhere
                return names[expression.id]
    if isinstance(expression, ast.Attribute):
        owner = _value(expression.value, frame)
        return getattr(owner, expression.attr, None) if isinstance(owner, ModuleType) else None
    return None
