"""Loops of a program's source: whether a line runs in one, itself or in a function that a loop calls."""

from __future__ import annotations

import ast
import functools
import linecache
import os

from wengert.engine.core.parsing import statements

_LOOPS = (ast.For, ast.While, ast.AsyncFor, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def in_loop(file: str, line: int) -> bool:
    """Return whether a loop repeats a line of a file, or calls the function around it; False without source.

    Args:
        file: the path.
        line: its number.

    Example:
        >>> in_loop(__file__, 1)
        False
    """
    loops, functions = _read(file, "".join(linecache.getlines(file)))
    if any(first <= line <= last for first, last, _ in loops):
        return True
    around = [name for name, first, last in functions if first <= line <= last]
    return any(name in called for name in around for _, _, called in loops)


@functools.lru_cache(maxsize=8)
def _read(file: str, source: str) -> tuple[list[tuple[int, int, frozenset[str]]], list[tuple[str, int, int]]]:
    """Return the lines of loops with the names that they call, and the functions with their lines."""
    try:
        program = statements(source)
    except (SyntaxError, ValueError):
        return [], []
    loops: list[tuple[int, int, frozenset[str]]] = []
    functions: list[tuple[str, int, int]] = []
    for node in (part for statement in program for part in ast.walk(statement)):
        if isinstance(node, _LOOPS):
            called = frozenset(_called(one) for one in ast.walk(node) if isinstance(one, ast.Call))
            loops.append((node.lineno, node.end_lineno or node.lineno, called))
        elif isinstance(node, _FUNCTIONS):
            functions.append((getattr(node, "name", ""), node.lineno, node.end_lineno or node.lineno))
    return loops, functions


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "-")


def is_in_one_of(files: set[str], location: str) -> bool:
    """Return whether a loop repeats a line.

    Args:
        files: the files of which one has the line.
        location: the line as messages name it, ``file.py:12``.
    """
    name, _, number = location.rpartition(":")
    return number.isdigit() and any(
        in_loop(file, int(number)) for file in files if os.path.basename(file) == name
    )
