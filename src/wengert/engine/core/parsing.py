"""Python's parser, for programs of several threads.

CPython counts the depth of the trees that all threads build in one place, and raises `SystemError` where one thread
goes on in the tree of another. So one thread at a time parses here; others of other libraries may, too.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import linecache
import os
import threading
from collections.abc import Iterable
from types import FrameType
from typing import Literal

_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_lock = threading.Lock()
#: How often a source is parsed at most.
_ATTEMPTS = 5


def statements(source: str | bytes) -> list[ast.stmt]:
    """Return the statements of a source.

    Example:
        >>> [type(node).__name__ for node in statements("x = 1; print(x)")]
        ['Assign', 'Expr']
    """
    module = _parsed(source, "exec")
    assert isinstance(module, ast.Module)
    return module.body


def expression(source: str | bytes) -> ast.expr:
    """Return the expression that a source is.

    Example:
        >>> ast.unparse(expression("(x)  +  1"))
        'x + 1'
    """
    tree = _parsed(source, "eval")
    assert isinstance(tree, ast.Expression)
    return tree.body


def expression_of(frame: FrameType) -> ast.expr | None:
    """Return the expression that a frame evaluates; None without source, as in an interactive session."""
    positions = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    first, last, begin, end = positions
    if first is None or last is None or begin is None or end is None:
        return None
    source = linecache.getlines(frame.f_code.co_filename, frame.f_globals)[first - 1 : last]
    lines = [line.encode() for line in source]
    if len(lines) != last - first + 1:
        return None
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][begin:]
    try:
        return expression(b"(" + b"".join(lines) + b"\n)")
    except (SyntaxError, ValueError):
        return None


def in_loop(location: str, files: Iterable[str]) -> bool:
    """Return whether a loop repeats a line, or calls the function around it.

    Args:
        location: the line as messages name it, ``file.py:12``.
        files: the paths of files of which one has the line.
    """
    name, _, number = location.rpartition(":")
    path = next((file for file in files if os.path.basename(file) == name), "")
    with contextlib.suppress(SyntaxError, ValueError):
        line, program = int(number), statements("".join(linecache.getlines(path)))
        nodes = [node for statement in program for node in ast.walk(statement)]
        around = {
            n for n in nodes if getattr(n, "lineno", line + 1) <= line <= (getattr(n, "end_lineno", 0) or 0)
        }
        names = {node.name for node in around if isinstance(node, ast.FunctionDef)}
        loops = [node for node in nodes if isinstance(node, _LOOPS)]
        calls = [node.func for loop in loops for node in ast.walk(loop) if isinstance(node, ast.Call)]
        called = {getattr(function, "attr", getattr(function, "id", "")) for function in calls}
        return not around.isdisjoint(loops) or not names.isdisjoint(called)
    return False


def _parsed(source: str | bytes, mode: Literal["exec", "eval"]) -> ast.AST:
    with _lock:
        for _ in range(_ATTEMPTS - 1):
            try:
                return ast.parse(source, mode=mode)
            except SystemError:
                continue
        return ast.parse(source, mode=mode)
