"""Records: frozen dataclasses that a module makes quickly, because their methods are compiled at their first call.

`dataclasses` compiles up to seven methods of each class when its module is imported, which took longer than all else
that some modules do. Most processes use few of the classes.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")
_SET = object.__setattr__
_MISSING: Any = dataclasses.MISSING


@overload
def record(cls: type[T], /) -> type[T]: ...


@overload
def record(*, eq: bool = ..., slots: bool = ...) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, eq_default=False)
def record(cls: Any = None, /, *, eq: bool = False, slots: bool = True) -> Any:
    """Return a class as a frozen dataclass.

    Its fields are those of `dataclasses.fields`, and `dataclasses.replace` takes its instances.

    Args:
        cls: the class, whose fields are annotated; without it, `record` returns a decorator.
        eq: whether instances are equal, and have equal hashes, if they are of one class and their fields are equal.
            Otherwise each is equal to itself alone.
        slots: whether instances have no other attributes.

    Example:
        >>> @record(eq=True)
        ... class Point:
        ...     "A point."
        ...
        ...     x: int
        ...     y: int = 0
        >>> Point(1), Point(1) == Point(1, 0), hash(Point(2, 3)) == hash((2, 3))
        (Point(x=1, y=0), True, True)
        >>> Point(1).x = 2
        Traceback (most recent call last):
        dataclasses.FrozenInstanceError: cannot assign to field 'x'
    """
    if cls is None:
        return functools.partial(_made, eq=eq, slots=slots)
    return _made(cls, eq=eq, slots=slots)


def _made(cls: Any, *, eq: bool, slots: bool) -> Any:
    """Return a class as a record."""
    # With these options, `dataclasses` finds the fields and compiles nothing.
    made: Any = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots)
    methods: dict[str, Any] = {
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
        "__init__": _compiled_later(made, "__init__", _init_source),
    }
    if "__signature__" not in vars(made):
        made.__signature__ = _Signature(made)
    if slots:
        methods |= {"__getstate__": _state, "__setstate__": _restore}
    if made.__repr__ is object.__repr__:
        methods["__repr__"] = _shown
    if eq:
        methods["__eq__"] = _compiled_later(made, "__eq__", _eq_source)
        methods["__hash__"] = _compiled_later(made, "__hash__", _hash_source)
    for name, method in methods.items():
        if name not in vars(made) or name == "__init__" or vars(made)[name] is None:
            setattr(made, name, method)
    return made


class _Signature:
    """The signature of a record, which `inspect` asks for: the method that is compiled later has none of its own."""

    def __init__(self, record: Any) -> None:
        self._record = record

    def __get__(self, instance: Any, cls: Any) -> inspect.Signature:
        if cls.__init__ is not self._record.__init__:
            raise AttributeError("__signature__")
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [
            inspect.Parameter(field.name, kind, default=_default(field), annotation=field.type)
            for field in dataclasses.fields(cls)
            if field.init
        ]
        return inspect.Signature(parameters)


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not _MISSING:
        return field.default_factory
    return inspect.Parameter.empty if field.default is _MISSING else field.default


def _compiled_later(cls: Any, name: str, source: Callable[[Any], str]) -> Callable[..., Any]:
    """Return a method that takes the place of itself when it is first called."""

    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        scope: dict[str, Any] = {"_set": _SET, "_cls": cls, "_missing": _MISSING}
        for field in dataclasses.fields(cls):
            scope[f"_default_{field.name}"] = field.default
            scope[f"_make_{field.name}"] = field.default_factory
        exec(f"def {name}{source(cls)}", scope)
        compiled = scope[name]
        compiled.__qualname__, compiled.__module__ = f"{cls.__qualname__}.{name}", cls.__module__
        setattr(cls, name, compiled)
        return compiled(self, *args, **kwargs)

    method.__name__, method.__qualname__, method.__module__ = (
        name,
        f"{cls.__qualname__}.{name}",
        cls.__module__,
    )
    return method


def _init_source(cls: Any) -> str:
    parameters, body = ["self"], [""]
    for field in dataclasses.fields(cls):
        name = field.name
        if not field.init:
            made = f"_default_{name}" if field.default is not _MISSING else f"_make_{name}()"
            body.append(f" _set(self, {name!r}, {made})")
            continue
        if field.default is not _MISSING:
            parameters.append(f"{name}=_default_{name}")
        elif field.default_factory is not _MISSING:
            parameters.append(f"{name}=_missing")
            body.append(f" if {name} is _missing: {name} = _make_{name}()")
        else:
            parameters.append(name)
        body.append(f" _set(self, {name!r}, {name})")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    return f"({', '.join(parameters)}):" + "\n".join([*body, " return None"])


def _values(owner: str, cls: Any) -> str:
    """Return the source of the tuple of an instance's fields."""
    return f"({''.join(f'{owner}.{field.name},' for field in dataclasses.fields(cls))})"


def _eq_source(cls: Any) -> str:
    same = f"{_values('self', cls)} == {_values('other', cls)}"
    return f"(self, other): return {same} if other.__class__ is self.__class__ else NotImplemented"


def _hash_source(cls: Any) -> str:
    return f"(self): return hash({_values('self', cls)})"


def _shown(self: Any) -> str:
    shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self))
    return f"{type(self).__qualname__}({shown})"


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: Iterable[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        _SET(self, field.name, value)
