"""Lists, tables, sets, namespaces and slots with copies of their elements: a write to them reaches the user's own.

A copy reads the elements as what stands for them. It writes to itself, and their originals to the object that it
stands for.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MemberDescriptorType, SimpleNamespace
from typing import Any, cast

from wengert.core.tree import ORIGINAL, original_class
from wengert.transforms.originals import Runs, original

Copier = Callable[[Any], Any]

_ELEMENT = "append insert remove pop popitem clear reverse setdefault add discard __delitem__ __imul__"
_ELEMENTS = (
    "extend update difference_update intersection_update symmetric_difference_update __setitem__ __iadd__ __ior__ "
    "__iand__ __isub__ __ixor__"
)


def _originals(value: Any) -> Any:
    """Return an argument of a method that writes several elements, with the originals of these."""
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {original(key): original(item) for key, item in items}
    if isinstance(value, (set, frozenset)):
        return set(map(original, cast("Iterable[Any]", value)))
    is_several = isinstance(value, (list, tuple))
    return [*map(original, cast("Iterable[Any]", value))] if is_several else original(value)


def _writing_to_both(kind: type) -> Callable[[type], type]:
    """Return a decorator that lets the methods of a container that write do so in the user's container as well."""

    def method(name: str, of_users: Callable[[Any], Any]) -> Any:
        write = getattr(kind, name)

        def write_both(self: Any, *arguments: Any, **options: Any) -> Any:
            arguments = tuple(list(value) if isinstance(value, Iterator) else value for value in arguments)  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
            result = write(self, *arguments, **options)
            named = {name: original(value) for name, value in options.items()}
            if name != "pop" or kind is not set:
                write(self.users, *map(of_users, arguments), **named)
            else:
                self.users.discard(original(result))
            return self if result is self else result

        return write_both

    def sort(self: Any, **options: Any) -> None:
        list.sort(self, **options)
        self.users[:] = map(original, self)

    def decorate(subclass: type) -> type:
        of_users = {
            **dict.fromkeys(_ELEMENT.split(), original),
            **dict.fromkeys(_ELEMENTS.split(), _originals),
        }
        for name in of_users.keys() & vars(kind).keys():
            setattr(subclass, name, method(name, of_users[name]))
        if kind is list:
            subclass.sort = sort  # pyright: ignore[reportAttributeAccessIssue]
        subclass.__reduce_ex__ = lambda self, protocol: (kind, (kind(self),))  # pyright: ignore[reportAttributeAccessIssue]
        return subclass

    return decorate


@_writing_to_both(list)
class SharedList(list[Any]):
    """The copies of the elements of a list."""

    users: list[Any]


@_writing_to_both(dict)
class SharedTable(dict[Any, Any]):
    """The copies of the keys and the values of a table."""

    users: dict[Any, Any]


@_writing_to_both(set)
class SharedSet(set[Any]):
    """The copies of the elements of a set."""

    users: set[Any]


def shared(users: Any, copy: Copier) -> Any:
    """Return the copy of a list, a table or a set, which may contain itself."""
    kind = cast("type[Any]", type(users))
    made: Any = Runs.enter(users, {list: SharedList, dict: SharedTable, set: SharedSet}[kind]())
    made.users = users
    if kind is dict:
        dict.update(made, {copy(key): copy(value) for key, value in users.items()})
    elif kind is list:
        list.extend(made, map(copy, users))
    else:
        set.update(made, map(copy, users))
    return made


class SharedNamespace(SimpleNamespace):
    """A namespace that reads the attributes of another one as their copies, and writes to it."""

    def __init__(self, users: SimpleNamespace, copy: Copier) -> None:
        object.__setattr__(self, "_users", users)
        object.__setattr__(self, "_copy", copy)

    def __getattribute__(self, name: str) -> Any:
        users = object.__getattribute__(self, "_users")
        return object.__getattribute__(self, "_copy")(getattr(users, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_users"), name, original(value))

    def __delattr__(self, name: str) -> None:
        delattr(object.__getattribute__(self, "_users"), name)

    def __eq__(self, other: object) -> bool:
        return object.__getattribute__(self, "_users") == other

    def __repr__(self) -> str:
        return repr(object.__getattribute__(self, "_users"))


class SharedSlot:
    """A slot of a copied class: of a copy it is that of the object that it stands for.

    Args:
        own: the slot of the copied class.
        copy: returns what stands for an object.
    """

    def __init__(self, own: MemberDescriptorType, copy: Copier) -> None:
        self._own = own
        self._copy = copy
        self.__name__ = own.__name__
        self.__objclass__ = own.__objclass__

    def _users(self) -> Any:
        return vars(original_class(self.__objclass__))[self.__name__]

    def __get__(self, instance: Any, kind: Any = None) -> Any:
        if instance is None:
            return self
        users = Runs.original_of(instance)
        return self._copy(self._own.__get__(instance) if users is None else self._users().__get__(users))

    def __set__(self, instance: Any, value: Any) -> None:
        users = Runs.original_of(instance)
        if users is None:
            self._own.__set__(instance, value)
        else:
            self._users().__set__(users, original(value))

    def __delete__(self, instance: Any) -> None:
        users = Runs.original_of(instance)
        if users is None:
            self._own.__delete__(instance)
        else:
            self._users().__delete__(users)


for _kind, _of_python in ((SharedList, list), (SharedTable, dict), (SharedSet, set)):
    setattr(_kind, ORIGINAL, weakref.ref(_of_python))
