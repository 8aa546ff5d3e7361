"""Functions of Python's library that it has in C and in Python: a program that is staged runs the second ones."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from types import ModuleType
from typing import Any

#: Modules of Python's library, each with its part in C.
TWINS = {"heapq": "_heapq", "bisect": "_bisect"}


def in_python(function: Any) -> Any:
    """Return the function of Python's library that does the same and is written in Python.

    Args:
        function: of a module among `TWINS`, or of its part in C.

    Example:
        >>> import heapq
        >>> in_python(heapq.heappush).__code__.co_varnames
        ('heap', 'item')
    """
    name = function.__module__.lstrip("_")
    return getattr(_without_c(sys.modules[name]), function.__name__, function)


@functools.cache
def _without_c(module: ModuleType) -> ModuleType:
    """Return a module of Python's library that does not import its part in C."""
    body = [part for part in ast.parse(inspect.getsource(module)).body if not isinstance(part, ast.Try)]
    made = ModuleType(module.__name__)
    exec(compile(ast.Module(body, []), str(module.__file__), "exec"), vars(made))
    if module.__name__ == "heapq":  # which are defined by a sort, and go through an iterator in several loops
        vars(made).update(nsmallest=_nsmallest, nlargest=_nlargest)
    return made


def _nsmallest(n: int, iterable: Any, key: Any = None) -> Any:
    return sorted(iterable, key=key)[: max(n, 0)]


def _nlargest(n: int, iterable: Any, key: Any = None) -> Any:
    return sorted(iterable, key=key, reverse=True)[: max(n, 0)]
