"""Questions about the type of a value that no box can answer: ``type(x) is np.ndarray``, ``hasattr(x, "__len__")``.

`isinstance`, `np.isscalar` and ``case float():`` ask a box for its class. `type` and `hasattr` ask Python alone, so a
function that asks them needs substitutes from the beginning.
"""

from __future__ import annotations

import collections.abc
import dis
import functools
import itertools
import sys
import types
import weakref
from collections import ChainMap, UserDict, UserList
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

import numpy as np

from wengert.core.copied_files import is_copied_file
from wengert.transforms.shared_containers import KINDS

#: What only some arrays and numbers have.
_ATTRIBUTES = {name for kind in (np.ndarray, float) for name in dir(kind)} - set(dir(object))
#: Abstract classes that look for methods.
_ABSTRACT = {name for name in dir(collections.abc) if name[:1] != "_"}
#: How many objects that a function reaches are looked at, and how many elements of each container.
_MOST, _ELEMENTS = 512, 64
_asking: weakref.WeakKeyDictionary[CodeType, bool] = weakref.WeakKeyDictionary()
_named_by: weakref.WeakKeyDictionary[CodeType, tuple[str, ...]] = weakref.WeakKeyDictionary()
_WRAPPERS = (staticmethod, classmethod, functools.singledispatchmethod, functools.cached_property)
_CODE = (FunctionType, MethodType, functools.partial, functools._lru_cache_wrapper, property, *_WRAPPERS)  # pyright: ignore[reportPrivateUsage]
_DATA = {int, float, str, bool, type(None), np.ndarray, np.ufunc, types.BuiltinFunctionType, ModuleType}
_CONTAINERS = (*KINDS, tuple, frozenset, types.MappingProxyType)
_HOLDERS = (UserDict, UserList, ChainMap, types.SimpleNamespace)


def asks_for_types(function: Any) -> bool:
    """Return whether a function of the user's, or what it reaches, asks for the type of a value past its box.

    Args:
        function: any object.

    Example:
        >>> asks_for_types(abs)
        False
    """
    return any(map(_asks, itertools.islice(_reached(function), _MOST)))


def _reached(function: Any) -> Iterator[CodeType | None]:
    """Yield the code of what a function reaches by names, closures, attributes and elements; None for other objects."""
    waiting, seen = [function], set[int]()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, FunctionType):
            is_copied = is_copied_file(value.__code__.co_filename)
            yield value.__code__ if is_copied else None
            found = _of_function(value) if is_copied else getattr(value, "registry", {}).values()
        else:
            yield None
            found = _parts(value)
        waiting += [part for part in found if _is_code(part)]


def _is_code(value: Any) -> bool:
    kind = cast("type[Any]", type(value))
    if kind in _DATA:
        return False
    if kind in _CODE or kind in _CONTAINERS or kind in _HOLDERS:
        return True
    module = value.__module__ if isinstance(value, type) else kind.__module__
    file = getattr(sys.modules.get(module), "__file__", None)
    return module == "__main__" or (isinstance(file, str) and is_copied_file(file))


def _parts(value: Any) -> Any:
    """Return what an object that is no function holds."""
    if isinstance(value, MethodType):
        return value.__func__, value.__self__
    if isinstance(value, functools.partial):
        return value.func, *value.args, *value.keywords.values()  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    if isinstance(value, property):
        return value.fget, value.fset
    if isinstance(value, functools._lru_cache_wrapper):  # pyright: ignore[reportPrivateUsage]
        return (value.__wrapped__,)
    if isinstance(value, _WRAPPERS):
        return (getattr(value, "__func__", None) or value.func,)  # pyright: ignore
    if type(value) in _CONTAINERS:
        return itertools.islice(value.values() if hasattr(value, "values") else value, _ELEMENTS)
    if isinstance(value, type):
        return *vars(value).values(), *value.__bases__
    try:
        return type(value), *object.__getattribute__(value, "__dict__").values()
    except AttributeError:  # it has slots
        return (type(value),)


def _of_function(function: FunctionType) -> list[Any]:
    """Return what a function names: global variables, attributes of modules, its closure and its defaults."""
    scope, values = function.__globals__, list[Any]()
    names = _names(function.__code__)
    for name in names:
        value = scope.get(name)
        if isinstance(value, ModuleType):
            inside = vars(value)
            values += [inside[other] for other in names if other in inside]
        elif value is not None:
            values.append(value)
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            continue
    return [*values, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


def _names(code: CodeType) -> tuple[str, ...]:
    known = _named_by.get(code)
    if known is None:
        inner = [name for inside in code.co_consts if isinstance(inside, CodeType) for name in _names(inside)]
        known = _named_by[code] = tuple(dict.fromkeys([*code.co_names, *inner]))
    return known


def _asks(code: CodeType | None) -> bool:
    """Return whether code, or a function inside of it, asks for the type or an attribute of what may be a box."""
    if code is None:
        return False
    known = _asking.get(code)
    if known is None:
        names, inner = code.co_names, [inside for inside in code.co_consts if isinstance(inside, CodeType)]
        texts = {text for text in code.co_consts if isinstance(text, str)}
        known = _asking[code] = (
            ("type" in names and _asks_type(code))
            or (("hasattr" in names or "getattr" in names) and not texts.isdisjoint(_ATTRIBUTES))
            or (not _ABSTRACT.isdisjoint(names) and ("isinstance" in names or "issubclass" in names))
            or any(map(_asks, inner))
        )
    return known


def _asks_type(code: CodeType) -> bool:
    """Return whether code uses `type` for anything but ``type(self)`` and ``type(cls)``."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("PUSH_NULL", "CACHE")]
    return any(
        step.argval == "type" and step.opname.startswith("LOAD") and after.argval not in ("self", "cls")
        for step, after in itertools.pairwise(steps)
    )
