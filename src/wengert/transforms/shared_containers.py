"""Lists, tables, namespaces and slots whose elements have copies: what a program writes to them reaches the user's own.

A copy reads the elements as what stands for them. It writes to itself and to the object that it is a copy of.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from types import MemberDescriptorType, SimpleNamespace
from typing import Any

from wengert.core.tree import COPIED

Copier = Callable[[Any], Any]

_WRITES = "append extend insert remove pop popitem clear sort reverse update setdefault"
_OPERATORS = "__setitem__ __delitem__ __iadd__ __imul__ __ior__"


def _writing_to_both(kind: type) -> Callable[[type], type]:
    """Return a decorator that lets the methods of a container that write do so in the user's container as well."""

    def method(name: str) -> Any:
        write = getattr(kind, name)

        def write_both(self: Any, *arguments: Any, **options: Any) -> Any:
            write(self.users, *arguments, **options)
            return write(self, *arguments, **options)

        return write_both

    def decorate(subclass: type) -> type:
        for name in f"{_WRITES} {_OPERATORS}".split():
            if hasattr(kind, name):
                setattr(subclass, name, method(name))
        return subclass

    return decorate


@_writing_to_both(list)
class SharedList(list[Any]):
    """The copies of the elements of a list."""

    def __init__(self, users: list[Any], copies: Iterable[Any]) -> None:
        super().__init__(copies)
        self.users = users


@_writing_to_both(dict)
class SharedTable(dict[Any, Any]):
    """The keys of a table, with the copies of its values."""

    def __init__(self, users: dict[Any, Any], copies: Iterable[Any]) -> None:
        super().__init__(zip(users, copies, strict=True))
        self.users = users


class SharedNamespace(SimpleNamespace):
    """A namespace that reads the attributes of another one as their copies, and writes to it."""

    def __init__(self, users: SimpleNamespace, copy: Copier) -> None:
        object.__setattr__(self, "_users", users)
        object.__setattr__(self, "_copy", copy)

    def __getattribute__(self, name: str) -> Any:
        users = object.__getattribute__(self, "_users")
        return object.__getattribute__(self, "_copy")(getattr(users, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_users"), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(object.__getattribute__(self, "_users"), name)

    def __eq__(self, other: object) -> bool:
        return object.__getattribute__(self, "_users") == other

    def __repr__(self) -> str:
        return repr(object.__getattribute__(self, "_users"))


class SharedSlot:
    """A slot of a copied object, which is that of the object that it is a copy of."""

    def __init__(self, member: MemberDescriptorType, copy: Copier) -> None:
        self.member = member
        self.copy = copy

    def __get__(self, instance: Any, kind: Any = None) -> Any:
        return self.member if instance is None else self.copy(self.member.__get__(_users(instance)))

    def __set__(self, instance: Any, value: Any) -> None:
        self.member.__set__(_users(instance), value)

    def __delete__(self, instance: Any) -> None:
        self.member.__delete__(_users(instance))


def _users(instance: Any) -> Any:
    """Return the object that another one is a copy of; an object that the program made in the second run itself."""
    return object.__getattribute__(instance, "__dict__").get("_users_object", instance)


def with_slots_of(instance: Any, copied: Any) -> Any:
    """Return a copy of an object without ``__dict__``, of a class whose slots are shared."""
    made = object.__new__(copied)
    object.__getattribute__(made, "__dict__")["_users_object"] = instance
    return made


COPIED.update({SharedList: weakref.ref(list), SharedTable: weakref.ref(dict)})
