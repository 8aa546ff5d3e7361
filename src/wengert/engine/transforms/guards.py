"""Questions about the type of a value that no box can answer: ``type(x) is np.ndarray``, ``hasattr(x, "__len__")``.

`isinstance`, `np.isscalar` and ``case float():`` ask a box for its class. `type` and `hasattr` ask Python alone, so a
function that asks them needs substitutes from the beginning.
"""

from __future__ import annotations

import collections.abc
import dis
import functools
import itertools
import weakref
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np

from wengert.engine.core.by_identity import ByIdentity
from wengert.engine.core.copied_files import is_copied_class, is_copied_file
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.transforms.originals import HOLDERS
from wengert.engine.transforms.shared_containers import CONTAINERS, LOOKED_AT

#: The attributes that only some arrays and numbers have.
_ATTRIBUTES = {name for kind in (np.ndarray, float) for name in dir(kind)} - set(dir(object))
#: Abstract classes that look for methods.
_ABSTRACT = {name for name in dir(collections.abc) if name[:1] != "_"}
#: The number of objects, of those that a function reaches, that are looked at.
_MOST = 512
#: Types of values that hold no functions.
_DATA = {int, float, str, bool, type(None), np.ndarray, np.ufunc, BuiltinFunctionType, ModuleType}

_Parts = Callable[[Any], Iterable[Any]]


class _Facts(NamedTuple):
    """Facts from the code of a function."""

    is_copied: bool
    """Whether it has a copy in a second run."""
    asks: bool
    """Whether it asks for the type or an attribute of what may be a box."""
    names: tuple[str, ...]
    """The global variables and attributes that it names."""


def asks_for_types(*roots: Any) -> bool:
    """Return whether one of the user's functions that objects reach asks for the type of a value past its box.

    It runs at each call of a transform: names, attributes and elements may hold other functions than before.

    Example:
        >>> asks_for_types(abs)
        False
    """
    waiting = [*roots]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        value = waiting.pop()
        parts = _parts_of(type(value))
        if parts is None or id(value) in seen:
            continue
        seen.add(id(value))
        if parts is _of_function and _facts.of(value.__code__).asks:
            return True
        waiting += [part for part in parts(value) if type(part) not in _DATA]
    return False


def _parts_of(kind: type[Any]) -> _Parts | None:
    """Return the rule for the parts of objects of a class; None for data."""
    try:
        return _rules[kind]
    except KeyError:
        pass
    rule: _Parts | None = None
    if issubclass(kind, type):
        rule = _of_class
    elif is_copied_class(kind):
        rule = next((_rules[base] for base in kind.__mro__ if base in _WRAPPERS), _of_object)
    _rules[kind] = rule
    return rule


def _of_function(function: FunctionType) -> Iterable[Any]:
    """Return what a function names: global variables, attributes of modules, its closure and its defaults."""
    is_copied, _, names = _facts.of(function.__code__)
    if not is_copied:
        return getattr(function, "registry", {}).values()  # of `functools.singledispatch`
    values: list[Any] = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    scope = function.__globals__
    for name in names:
        value = scope.get(name)
        if isinstance(value, ModuleType):
            inside = vars(value)
            values += [inside[attribute] for attribute in names if attribute in inside]
        elif value is not None:
            values.append(value)
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            continue
    return values


def _of_class(kind: type[Any]) -> Iterable[Any]:
    return (*vars(kind).values(), *kind.__bases__) if is_copied_class(kind) else ()


def _of_object(value: Any) -> Iterable[Any]:
    kind = cast("type[Any]", type(value))
    try:
        return [kind, *object.__getattribute__(value, "__dict__").values()]
    except Exception:  # it has slots, or a property of the user's instead
        return [kind]


def _elements(container: Any) -> Iterable[Any]:
    return itertools.islice(container, LOOKED_AT)


def _values(table: Any) -> Iterable[Any]:
    return itertools.islice(table.values(), LOOKED_AT)


#: The parts of objects of Python's own classes that hold functions.
_WRAPPERS: dict[type[Any], _Parts] = {
    functools.partial: lambda bound: (bound.func, *bound.args, *bound.keywords.values()),
    property: lambda member: (member.fget, member.fset),
    **dict.fromkeys((staticmethod, classmethod), lambda member: (member.__func__,)),
    **dict.fromkeys(
        (functools.singledispatchmethod, functools.cached_property), lambda member: (member.func,)
    ),
}
_rules: weakref.WeakKeyDictionary[type[Any], _Parts | None] = weakref.WeakKeyDictionary(
    {
        **dict.fromkeys(_DATA),
        FunctionType: _of_function,
        MethodType: lambda method: (method.__func__, method.__self__),
        functools._lru_cache_wrapper: lambda cached: (cached.__wrapped__,),  # pyright: ignore[reportPrivateUsage]
        **_WRAPPERS,
        **{kind: _values if hasattr(kind, "values") else _elements for kind in CONTAINERS},
        **dict.fromkeys((*HOLDERS, SimpleNamespace), _of_object),
    }
)


def _facts_of(code: CodeType) -> _Facts:
    return _read(code) if is_copied_file(code.co_filename) else _Facts(False, False, ())


#: By identity, because Python hashes code by all of its instructions.
_facts = ByIdentity(_facts_of)


def _read(code: CodeType) -> _Facts:
    """Return the facts of code with the functions inside of it."""
    names, inner = code.co_names, [_read(inside) for inside in code.co_consts if isinstance(inside, CodeType)]
    texts = {text for text in code.co_consts if isinstance(text, str)}
    asks = (
        ("type" in names and _asks_type(code))
        or (("hasattr" in names or "getattr" in names) and not texts.isdisjoint(_ATTRIBUTES))
        or (not _ABSTRACT.isdisjoint(names) and ("isinstance" in names or "issubclass" in names))
        or any(facts.asks for facts in inner)
    )
    return _Facts(
        True, asks, tuple(dict.fromkeys([*names, *(name for facts in inner for name in facts.names)]))
    )


def _asks_type(code: CodeType) -> bool:
    """Return whether code uses `type` for anything but ``type(self)`` and ``type(cls)``."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("PUSH_NULL", "CACHE")]
    return any(
        step.argval == "type" and step.opname.startswith("LOAD") and after.argval not in ("self", "cls")
        for step, after in itertools.pairwise(steps)
    )
