"""Copies of the user's classes and objects for a second run.

A copy of a class has the copies of its bases, of its metaclass and of its methods. So Python itself gives ``super()``,
``__mro__`` and ``type(self)`` the meaning that they have in the program. The copy of an object shares its attributes.
"""

from __future__ import annotations

import contextlib
import copyreg
import functools
import weakref
from abc import ABCMeta
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import EnumMeta
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any, cast

from wengert.engine.core import tree
from wengert.engine.transforms.originals import Runs, original
from wengert.engine.transforms.shared_containers import SharedSlot, View

#: The attributes that a copy of a class has of its own.
_OWN = ("__dict__", "__weakref__", "_abc_impl")
_METHODS = (staticmethod, classmethod, property, functools.cached_property, functools.partialmethod)
_object_attribute: Any = object.__getattribute__


@dataclass
class _Copy:
    """The copy of a class: the run that it was last brought up to date for, and the parts of its attributes then."""

    made: Any
    run: int = -1
    parts: dict[str, tuple[Any, ...]] = field(default_factory=dict[str, tuple[Any, ...]])


#: The copies of classes; they refer to the user's weakly.
_classes: weakref.WeakKeyDictionary[type, _Copy] = weakref.WeakKeyDictionary()


#: The function that copies any object: `wengert.engine.transforms.substitution` enters it.
COPIERS: list[Callable[[Any], Any]] = []


def _copy(value: Any) -> Any:
    return COPIERS[0](value)


class _Quiet:
    """Stands before the bases while a copy is made: it is not a new subclass of theirs."""

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        pass


class _Attributes:
    """Stands before `object` in the order of copied classes: the attributes of their objects hold originals."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__" and not Runs.active():  # it has slots that Python does not give back
            return tree.original_class(type(self))
        return _read(self, name, _object_attribute(self, name))

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, original(value))


def _read(instance: Any, name: str, value: Any) -> Any:
    """Return what stands for the value of an attribute, unless the class gave it, which has copies."""
    if name == "__dict__" and type(value) is dict:
        return View(cast("dict[str, Any]", value), _copy)
    if type(value) in (list, dict, set):
        return _copy(value)
    try:
        is_own = name in _object_attribute(instance, "__dict__")
    except AttributeError:  # it has slots
        return value
    return _copy(value) if is_own else value


def _original(cls: Any) -> Any:
    return tree.original_class(cls)


class _ClassOfCopies(type):
    """The class of copied classes, and of the classes that a program derives from them in a second run.

    ``super()`` would take a copied metaclass, which is both an object and a subclass of this class, for the latter.
    """

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        made = super().__new__(cls, *arguments, **options)
        Runs.made(made)
        return made

    def mro(cls) -> list[type]:
        own, *others = (kind for kind in type.mro(cls) if kind is not _Attributes)
        if "_is_new" in vars(cls):
            others = [_Quiet, *others]
        is_copied = any(tree.original_class(kind) is not kind for kind in (own, *others))
        return [own, *others[:-1], _Attributes, object] if is_copied else [own, *others]

    @property
    def __mro__(cls) -> tuple[type, ...]:
        order = type.__dict__["__mro__"].__get__(cls)
        return tuple(kind for kind in order if kind is not _Attributes)

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        if isinstance(cls, EnumMeta):
            return EnumMeta.__call__(cls, *arguments, **options)
        instance = type.__call__(cls, *arguments, **options)
        Runs.made(instance)
        return instance

    def __instancecheck__(cls, instance: Any) -> bool:
        users = _original(cls)
        if _plain(cls).__instancecheck__(cls, instance):
            return True
        kind = tree.original_class(type(instance))
        return users is not cls and (isinstance(original(instance), users) or issubclass(kind, users))

    def __subclasscheck__(cls, subclass: type) -> bool:
        users = _original(cls)
        is_natural = _plain(cls).__subclasscheck__(cls, subclass)
        return is_natural or (users is not cls and issubclass(tree.original_class(subclass), users))

    def __subclasses__(cls) -> list[type]:
        subclasses = type.__subclasses__(cls)
        copied = [_copy(kind) for kind in tree.original_class(cls).__subclasses__()]
        return [*copied, *(kind for kind in subclasses if kind not in copied)]

    def __getitem__(cls, item: Any) -> Any:
        users: Any = _original(cls)
        return _copy(users[item]) if users is not cls else users.__class_getitem__(item)

    def __eq__(cls, other: object) -> bool:
        return isinstance(other, type) and tree.original_class(cls) is tree.original_class(other)

    def __hash__(cls) -> int:
        return type.__hash__(tree.original_class(cls))

    def __setattr__(cls, name: str, value: Any) -> None:
        users = _original(cls)
        if users is not cls and not name.startswith("_abc_") and name != "__abstractmethods__":
            setattr(users, name, original(value))
            _classes[users].parts.pop(name, None)
        type.__setattr__(cls, name, value)

    def __delattr__(cls, name: str) -> None:
        users = _original(cls)
        if users is not cls:
            delattr(users, name)
            _classes[users].parts.pop(name, None)
        type.__delattr__(cls, name)


def _plain(cls: type) -> Any:
    return ABCMeta if isinstance(cls, ABCMeta) else type


def by_name(kind: type) -> type:
    """Return what a pickle of a copied class refers to: the user's class; in a second run its copy."""
    return _copy(kind) if Runs.active() else kind


def _reduced(made: type) -> Any:
    users = tree.original_class(made)
    return made.__qualname__ if users is made else (by_name, (users,))


@functools.cache
def _metaclass(kind: Any) -> Any:
    """Return the class of the copies of the classes of a metaclass of Python's."""
    if kind is type:
        made: Any = _ClassOfCopies
    else:
        bases = (*map(_metaclass, kind.__bases__), kind)
        made = type(kind.__name__, bases, {"__module__": kind.__module__})
    copyreg.pickle(made, _reduced)  # pyright: ignore[reportArgumentType]
    return made


def alias_copy(alias: Any) -> Any:
    """Return the copy of a class with parameters, such as ``Stack[float]``."""
    copied = _copy(alias.__origin__)
    return alias if copied is alias.__origin__ else type(alias)(copied, alias.__args__)


def class_copy(kind: Any) -> Any:
    """Return the copy of a class of the user's, with the present attributes."""
    if tree.original_class(kind) is not kind:
        return kind
    entry = _classes.get(kind)
    if entry is None:
        entry = _classes.setdefault(kind, _Copy(_new_class(kind)))
    if entry.run != Runs.number:
        entry.run = Runs.number  # before the attributes, because they may refer to the class
        for base in kind.__bases__:
            _copy(base)
        _bring_up_to_date(entry, kind)
    return entry.made


def _new_class(kind: Any) -> Any:
    """Return a class without attributes: Python's own constructor does without those of metaclasses and bases."""
    is_meta = issubclass(kind, type)
    bases = tuple(_of_copy(base, is_meta) for base in kind.__bases__)
    meta = _of_copy(type(kind), True)
    names: dict[str, Any] = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    names |= {"_is_new": True, tree.ORIGINAL: weakref.ref(kind)}
    present: dict[str, Any] = dict(vars(kind))
    slots = [name for name, value in present.items() if _is_slot(kind, value)]
    if "__slots__" in present:
        names["__slots__"] = slots + [name for name in ("__dict__", "__weakref__") if name in present]
    taken = (name for name in present.keys() - names if hasattr(type(getattr(meta, name, None)), "__set__"))
    names |= {name: _copy(present[name]) for name in taken if name not in (*vars(type), *slots)}
    new: Any = ABCMeta.__new__ if issubclass(meta, ABCMeta) else type.__new__
    made = new(meta, kind.__name__, bases, names)
    type.__delattr__(made, "_is_new")
    type.__setattr__(made, "__bases__", bases)  # Python now finds the order of the classes without `_Quiet`
    if is_meta:
        copyreg.pickle(made, _reduced)
    return made


def _of_copy(kind: type, is_meta: bool) -> Any:
    """Return a base or the metaclass of a copy."""
    copied = _copy(kind)
    return copied if is_copied(copied) else _metaclass(kind) if is_meta else kind


def _is_slot(kind: type, value: Any) -> bool:
    return isinstance(value, MemberDescriptorType) and value.__objclass__ is kind


def _reading(read: Any) -> Any:
    """Return the copy of a ``__getattribute__`` of the user's."""

    @functools.wraps(read)
    def copied(self: Any, name: str) -> Any:
        return _read(self, name, read(self, name))

    return copied


def _parts(value: Any) -> tuple[Any, ...]:
    """Return what has a copy in an attribute of a class."""
    if isinstance(value, MemberDescriptorType):
        return ()
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    if isinstance(value, (staticmethod, classmethod)):
        return (cast("Any", value).__func__,)
    if isinstance(value, (functools.cached_property, functools.partialmethod)):
        return (cast("Any", value).func,)
    return (value,)


def _bring_up_to_date(entry: _Copy, kind: type) -> None:
    """Give the copy of a class the present attributes."""
    made, present = entry.made, dict(vars(kind))
    for name in entry.parts.keys() - present.keys():
        type.__delattr__(made, name)
        del entry.parts[name]
    for name, value in present.items():
        if name in _OWN or isinstance(value, GetSetDescriptorType):
            continue
        parts: tuple[Any, ...] = (cast("Any", type(value)), *map(_copy, _parts(value)))
        before = entry.parts.get(name, ())
        if len(before) == len(parts) and all(map(_is, before, parts)):
            continue
        entry.parts[name] = parts
        with contextlib.suppress(AttributeError):  # a read-only property of the metaclass: see `_new_class`
            type.__setattr__(made, name, _attribute(made, name, value, parts[1:]))


def _is(left: Any, right: Any) -> bool:
    return left is right


def _attribute(made: Any, name: str, value: Any, parts: tuple[Any, ...]) -> Any:
    """Return the copy of an attribute of a class, given the copies of its parts."""
    if name == "__getattribute__" and isinstance(value, FunctionType):
        return _reading(parts[0])
    if _is_slot(_original(made), value):
        own = cast("Any", vars(made)[name])
        return own if isinstance(own, SharedSlot) else SharedSlot(own, _copy)
    if not isinstance(value, _METHODS):
        return parts[0]
    if isinstance(value, functools.partialmethod):
        return functools.partialmethod(*parts, *map(_copy, value.args), **value.keywords)  # pyright: ignore[reportUnknownArgumentType,reportUnknownMemberType]
    options = {"doc": value.__doc__} if isinstance(value, property) else {}
    attribute: Any = _copy(type(value))(*parts, **options)
    if isinstance(value, functools.cached_property):
        attribute.__set_name__(made, value.attrname)  # pyright: ignore
    return attribute


def object_copy(instance: Any) -> Any:
    """Return a second object, of the copied class, with the same attributes: a write to either reaches both."""
    kind = cast("type[Any]", type(instance))
    copied: Any = class_copy(kind)
    existing = Runs.copy_of(instance)
    if existing is not None:
        return existing
    try:
        if isinstance(instance, tuple):
            made: Any = tuple.__new__(copied, map(_copy, cast("tuple[Any, ...]", instance)))
        elif isinstance(instance, str):  # a member of an enumeration
            made = str.__new__(copied, str.__str__(instance))
        elif isinstance(instance, (int, float)):
            made = (int if isinstance(instance, int) else float).__new__(copied, instance)
        else:
            made = object.__new__(copied)
        if kind.__dictoffset__:
            object.__setattr__(made, "__dict__", _object_attribute(instance, "__dict__"))
    except (TypeError, AttributeError):  # parts of it are made in C
        return cast("Any", instance)
    return Runs.enter(instance, made)


def is_copied(kind: type) -> bool:
    """Return whether a class belongs to a second run: a copy, or a class derived from one."""
    return isinstance(kind, _ClassOfCopies)
