"""Containers, namespaces and slots with copies of their elements: a write to them reaches the user's own.

A copy reads the elements as what stands for them. It writes to itself, and their originals to the object that it
stands for.
"""

from __future__ import annotations

import weakref
from collections import Counter, OrderedDict, UserDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType, MemberDescriptorType, SimpleNamespace
from typing import Any, cast

from wengert.engine.core.tree import ORIGINAL, original_class
from wengert.engine.transforms.originals import SHARED, Runs, original

Copier = Callable[[Any], Any]

_ELEMENT = (
    "append appendleft insert remove pop popleft popitem clear reverse rotate move_to_end setdefault add discard "
    "__delitem__ __imul__"
)
_ELEMENTS = (
    "extend extendleft update difference_update intersection_update symmetric_difference_update __iadd__ __ior__ "
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


def _listed(value: Any) -> Any:
    return list(cast("Iterator[Any]", value)) if isinstance(value, Iterator) else value


def _elements(*arguments: Any) -> tuple[Any, ...]:
    return tuple(map(_originals, arguments))


def _assigned(key: Any, value: Any) -> tuple[Any, Any]:
    return original(key), _originals(value) if isinstance(key, slice) else original(value)


#: The arguments that the methods that write give to the user's container.
_WRITES: dict[str, Callable[..., tuple[Any, ...]]] = {
    **dict.fromkeys(_ELEMENT.split(), lambda *arguments: tuple(map(original, arguments))),
    **dict.fromkeys(_ELEMENTS.split(), _elements),
    "__setitem__": _assigned,
}


def _writing_to_both(kind: type) -> Callable[[type], type]:
    """Return a decorator that lets the methods of a container that write do so in the user's container as well."""

    def method(name: str, of_users: Callable[..., tuple[Any, ...]]) -> Any:
        write = getattr(kind, name)

        def write_both(self: Any, *arguments: Any, **options: Any) -> Any:
            if of_users is _elements:
                arguments = tuple(map(_listed, arguments))
            result = write(self, *arguments, **options)
            named = {name: original(value) for name, value in options.items()}
            if name != "pop" or kind is not set:
                write(self.users, *of_users(*arguments), **named)
            else:
                self.users.discard(original(result))
            return self if result is self else result

        return write_both

    def sort(self: Any, **options: Any) -> None:
        list.sort(self, **options)
        self.users[:] = map(original, self)

    def decorate(subclass: type) -> type:
        for name in _WRITES.keys() & set(dir(kind)):
            setattr(subclass, name, method(name, _WRITES[name]))
        if kind is list:
            subclass.sort = sort  # pyright: ignore[reportAttributeAccessIssue]
        return _entered(kind, subclass)

    return decorate


def _mirrored(kind: type) -> Callable[[type], type]:
    """Return a decorator for a container whose methods are written in Python, and call one another."""

    def method(name: str) -> Any:
        write = getattr(kind, name)

        def write_both(self: Any, *arguments: Any, **options: Any) -> Any:
            result, is_table = write(self, *arguments, **options), hasattr(self, "items")
            if hasattr(self, "users"):  # not in the constructor
                self.users.clear()
                for key in list(self):
                    if is_table:
                        self.users[original(key)] = original(self[key])
                    else:
                        self.users.add(original(key))
            return result

        return write_both

    def decorate(subclass: type) -> type:
        for name in {*_WRITES, "subtract"} & set(dir(kind)):
            setattr(subclass, name, method(name))
        return _entered(kind, subclass)

    return decorate


def _entered(kind: type, subclass: Any) -> Any:
    """Enter a class of copies: what `pickle` and `copy` make of one is a container of Python's class."""

    def reduce(self: Any, protocol: Any) -> Any:
        return kind, _arguments(kind, self, kind(*_arguments(kind, self, self)))

    subclass.__reduce_ex__ = reduce
    subclass.copy = subclass.__copy__ = _plain
    for name in _OPERATORS & set(dir(kind)):
        setattr(subclass, name, _on_plain(name))
    setattr(subclass, ORIGINAL, weakref.ref(kind))
    SHARED[kind] = subclass
    return subclass


def _plain(shared: Any) -> Any:
    """Return a container of Python's class with the elements of a copy."""
    kind, arguments = shared.__reduce_ex__(4)
    return kind(*arguments)


def _on_plain(name: str) -> Any:
    def operate(self: Any, *others: Any) -> Any:
        return getattr(_plain(self), name)(*others)

    return operate


#: The methods that return a new container.
_OPERATORS = {"union", "intersection", "difference", "symmetric_difference"} | {
    f"__{side}{name}__" for side in ("", "r") for name in ("add", "mul", "or", "and", "sub", "xor")
}


def _arguments(kind: type, container: Any, elements: Any) -> tuple[Any, ...]:
    """Return the arguments that make a container like another one, with other elements."""
    if kind is deque:
        return elements, container.maxlen
    return (container.default_factory, elements) if kind is defaultdict else (elements,)


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


@_writing_to_both(deque)
class SharedQueue(deque[Any]):
    """The copies of the elements of a queue."""

    users: deque[Any]


@_writing_to_both(defaultdict)
class SharedDefaults(defaultdict[Any, Any]):
    """The copies of the keys and the values of a table, and of the function that fills it."""

    users: defaultdict[Any, Any]


@_mirrored(OrderedDict)
class SharedOrder(OrderedDict[Any, Any]):
    """The copies of the keys and the values of an ordered table."""

    users: OrderedDict[Any, Any]


@_mirrored(Counter)
class SharedCounts(Counter[Any]):
    """The counts of the copies of what a counter counts."""

    users: Counter[Any]


@_mirrored(weakref.WeakKeyDictionary)
class SharedWeakKeys(weakref.WeakKeyDictionary[Any, Any]):
    """The copies of the keys and the values of a table with weak keys."""

    users: weakref.WeakKeyDictionary[Any, Any]


@_mirrored(weakref.WeakValueDictionary)
class SharedWeakValues(weakref.WeakValueDictionary[Any, Any]):
    """The copies of the keys and the values of a table with weak values."""

    users: weakref.WeakValueDictionary[Any, Any]


@_mirrored(weakref.WeakSet)
class SharedWeakSet(weakref.WeakSet[Any]):
    """The copies of the elements of a weak set."""

    users: weakref.WeakSet[Any]


#: The classes of containers.
CONTAINERS = (*SHARED, tuple, frozenset, MappingProxyType)
#: The number of elements of a container that show whether it holds functions or objects.
LOOKED_AT = 64


def shared(users: Any, copy: Copier) -> Any:
    """Return the copy of a container, which may contain itself."""
    kind: Any = cast("type[Any]", type(users))
    own: Any = SHARED[kind]
    made: Any = Runs.enter(users, own(*map(copy, _arguments(kind, users, ()))))
    if isinstance(users, Mapping):
        items: Any = {copy(key): copy(value) for key, value in cast("Any", users).items()}
        for key, value in items.items():
            kind.__setitem__(made, key, value)
    elif kind in (list, deque):
        own.__base__.extend(made, map(copy, users))
    else:
        own.__base__.update(made, map(copy, users))
    made.users = users
    return made


class View(UserDict[Any, Any]):
    """The attributes of an object or a module, or `sys.modules`: it gives copies, and keeps originals."""

    def __init__(self, users: dict[Any, Any], copy: Copier) -> None:
        self.data = users
        self._copy = copy

    def __getitem__(self, key: Any) -> Any:
        return self._copy(self.data[key])

    def __setitem__(self, key: Any, item: Any) -> None:
        self.data[key] = original(item)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (dict(self),)


class SharedNamespace(SimpleNamespace):
    """A namespace that reads the attributes of another one as their copies, and writes to it."""

    def __init__(self, users: SimpleNamespace, copy: Copier) -> None:
        object.__setattr__(self, "_users", users)
        object.__setattr__(self, "_copy", copy)

    def __getattribute__(self, name: str) -> Any:
        users, copy = object.__getattribute__(self, "_users"), object.__getattribute__(self, "_copy")
        return View(vars(users), copy) if name == "__dict__" else copy(getattr(users, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_users"), name, original(value))

    def __delattr__(self, name: str) -> None:
        delattr(object.__getattribute__(self, "_users"), name)

    def __eq__(self, other: object) -> bool:
        return object.__getattribute__(self, "_users") == other

    def __repr__(self) -> str:
        return repr(object.__getattribute__(self, "_users"))


class SharedSlot:
    """A slot of a copied class: of a copy it is that of the object that it stands for."""

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
