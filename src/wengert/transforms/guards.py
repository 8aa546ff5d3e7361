"""Questions about the type of a value that no box can answer: ``type(x) is np.ndarray``.

`isinstance`, `np.isscalar` and ``case float():`` ask a box for its class. `type` asks Python alone, so a function that
compares a type needs substitutes from the beginning.
"""

from __future__ import annotations

import dis
import weakref
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from wengert.core.errors import is_users

_CLASSES = {
    "ndarray",
    "float",
    "int",
    "complex",
    "bool",
    "float64",
    "float32",
    "complex128",
    "generic",
    "number",
}
_COMPARING = ("IS_OP", "COMPARE_OP", "CONTAINS_OP")
#: How many instructions lie between a call of `type` and a comparison of its result with a class or a tuple of them.
_NEAR = 16
#: How many functions that a function names are read.
_MOST = 64
_known: weakref.WeakKeyDictionary[CodeType, bool] = weakref.WeakKeyDictionary()
_own: weakref.WeakKeyDictionary[CodeType, bool] = weakref.WeakKeyDictionary()


def asks_for_types(function: Any) -> bool:
    """Return whether a function of the user's, or one that it names, compares the type of a value with NumPy's.

    Args:
        function: any function.

    Example:
        >>> asks_for_types(abs)
        False
    """
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or not is_users(code):
        return False
    known = _known.get(code)
    if known is None:
        found = zip(_reached(function), range(_MOST), strict=False)
        known = _known[code] = any(_compares(inner.__code__) for inner, _ in found)
    return known


def _reached(function: Any) -> Iterator[FunctionType]:
    """Yield the user's functions that a function names, and those that these name, in turn."""
    waiting, seen = [function], set[int]()
    while waiting:
        inner = waiting.pop()
        inner = inner.__func__ if isinstance(inner, MethodType) else inner
        if id(inner) in seen:
            continue
        seen.add(id(inner))
        if isinstance(inner, FunctionType) and is_users(inner.__code__):
            yield inner
            waiting += _named(inner)
        elif isinstance(inner, type):
            waiting += [value for value in vars(inner).values() if isinstance(value, FunctionType)]


def _named(function: FunctionType) -> list[Any]:
    values: list[Any] = []
    for name in _names(function.__code__):
        value = function.__globals__.get(name)
        values.append(value)
        if isinstance(value, ModuleType):
            values += [vars(value).get(other) for other in function.__code__.co_names]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            continue
    return [value for value in values if isinstance(value, (FunctionType, MethodType))]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _compares(code: CodeType) -> bool:
    """Return whether code, or a function inside of it, compares ``type(x)`` with a class of numbers or arrays."""
    known = _own.get(code)
    if known is None:
        known = any(_compares(inner) for inner in code.co_consts if isinstance(inner, CodeType))
        _own[code] = known = known or ("type" in code.co_names and _compares_here(code))
    return known


def _compares_here(code: CodeType) -> bool:
    steps = list(dis.get_instructions(code))
    for start, step in enumerate(steps):
        if step.argval != "type" or not step.opname.startswith("LOAD"):
            continue
        near = steps[start + 1 : start + _NEAR]
        end = next((n for n, other in enumerate(near) if other.opname in _COMPARING), None)
        if end is not None and any(
            other.argval in _CLASSES for other in near[:end] if isinstance(other.argval, str)
        ):
            return True
    return False
