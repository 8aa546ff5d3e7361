"""Methods of the user's that Python's operations call, such as ``__len__``: only a run may know what they return."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from wengert.engine.boxes import Box, class_of
from wengert.engine.core.copied_files import is_copied_class
from wengert.engine.core.tree import original_class
from wengert.engine.ops.comparison import greater_equal
from wengert.engine.ops.conversion import python_number
from wengert.engine.transforms.math_errors import guarded


def method_of(value: Any, name: str) -> Callable[..., Any] | None:
    """Return a method that a class of the user's has for operations of Python's; None for other objects.

    Args:
        value: any object.
        name: of the method.
    """
    function = None if isinstance(value, Box) else getattr(type(value), name, None)
    if not isinstance(function, FunctionType) or not is_copied_class(original_class(type(value))):
        return None
    return MethodType(function, value)


def truth_of(value: Any) -> Any:
    """Return what an object's own ``__bool__``, or ``__len__``, says of its truth; None if it has neither."""
    method = method_of(value, "__bool__")
    if method is None:
        return length_of(value)
    found = method()
    is_pythons = type(found) is bool or (isinstance(found, Box) and class_of(found) is bool)
    if not is_pythons:
        name = class_of(found).__name__ if isinstance(found, Box) else type(found).__name__
        raise TypeError(f"__bool__ should return bool, returned {name}")
    return found


def iterated(value: Any) -> Any:
    """Return what an object's own ``__iter__`` returns, if it is no generator; other objects as they are."""
    method = method_of(value, "__iter__")
    is_generator = method is not None and inspect.isgeneratorfunction(method)
    return value if method is None or is_generator else method()


def length_of(value: Any) -> Any:
    """Return what an object's own ``__len__`` says; None if it has none."""
    method = method_of(value, "__len__")
    if method is None:
        return None
    found = method()
    problem = ValueError("__len__() should return >= 0")
    if isinstance(found, Box):
        return guarded(python_number(found, int), greater_equal(found, 0), problem)
    if operator.index(found) < 0:
        raise problem
    return operator.index(found)
