"""Copies of a second run and their originals: a copy stands for an object, and reaches copies alone.

The program's own storage (attributes, elements, global variables) holds originals. A read gives the copy, and a write
stores the original. At the end of the outermost run, copies and new objects of copied classes become objects of the
user's classes.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import threading
import weakref
from collections import ChainMap, UserDict, UserList, defaultdict
from collections.abc import Generator
from types import FunctionType, MemberDescriptorType, MethodType
from typing import Any, cast

from wengert.engine.core import tree

#: The original of each copied function.
FUNCTIONS: weakref.WeakKeyDictionary[FunctionType, weakref.ref[FunctionType]] = weakref.WeakKeyDictionary()


class Runs:
    """The runs under way, in all threads; between runs the user may change closures, defaults and methods."""

    number = 0
    """Of the newest run."""
    _numbers = itertools.count(1)
    _lock = threading.Lock()
    _active = 0
    _copies: dict[int, tuple[Any, Any]] = {}  # noqa: RUF012
    _originals: dict[int, Any] = {}  # noqa: RUF012
    _made: list[Any] = []  # noqa: RUF012
    _kept: dict[int, Any] = {}  # noqa: RUF012

    @classmethod
    @contextlib.contextmanager
    def run(cls) -> Generator[None]:
        """Count a run; what it copied is given back when no run is left."""
        with cls._lock:
            cls._active += 1
            cls.number = next(cls._numbers)
        try:
            yield
        finally:
            with cls._lock:
                cls._active -= 1
                if not cls._active:
                    cls._give_back()

    @classmethod
    def _give_back(cls) -> None:
        seen = 0
        while seen < len(cls._kept):  # a container may hold others
            new = list(cls._kept.values())[seen:]
            seen += len(new)
            for container in new:
                _hold_originals(container)
        for made in cls._made:
            made = made() if isinstance(made, weakref.ref) else made  # pyright: ignore[reportUnknownVariableType]
            _of_users_class(made)
        for users, made in list(cls._copies.values()):
            _of_users_class(made, users)
        cls._made, cls._copies, cls._originals, cls._kept = [], {}, {}, {}

    @classmethod
    def active(cls) -> bool:
        """Return whether a run is under way."""
        return cls._active > 0

    @classmethod
    def copy_of(cls, users: Any) -> Any:
        """Return the copy of an object in this run, or None."""
        entry = cls._copies.get(id(users))
        return None if entry is None else entry[1]

    @classmethod
    def enter(cls, users: Any, made: Any) -> Any:
        """Enter the copy of an object, and return it."""
        cls._copies[id(users)] = users, made
        cls._originals[id(made)] = users
        return made

    @classmethod
    def made(cls, instance: Any) -> None:
        """Note a new object of a copied class."""
        try:
            cls._made.append(weakref.ref(instance))
        except TypeError:  # an object without weak references
            cls._made.append(instance)

    @classmethod
    def keep(cls, container: Any) -> None:
        """Note a container of the run's own that the program keeps: it holds originals when no run is left."""
        if cls._active or cls._kept:
            cls._kept[id(container)] = container

    @classmethod
    def original_of(cls, made: Any) -> Any:
        """Return the object that a copy stands for; None for an object that the program made in the run itself."""
        return cls._originals.get(id(made))


def _of_users_class(made: Any, users: Any = None) -> None:
    """Make a copy, or a new object of a copied class, an object of the user's class."""
    kind = cast("type[Any]", type(made))
    if isinstance(made, type):
        with contextlib.suppress(TypeError):
            type.__setattr__(made, "__bases__", tuple(map(tree.original_class, made.__bases__)))
        return
    own = tree.original_class(kind)
    if own is kind:
        return
    with contextlib.suppress(TypeError, AttributeError):  # a container, or parts of it are made in C
        object.__setattr__(made, "__class__", own)
        if users is not None:
            for base in own.__mro__:
                for member in vars(base).values():
                    if isinstance(member, MemberDescriptorType):
                        with contextlib.suppress(AttributeError):
                            member.__set__(made, member.__get__(users))


#: The classes of the copies of each kind of container; `wengert.engine.transforms.shared_containers` enters them.
SHARED: dict[type, Any] = {}
#: Classes of Python's library, written in Python, that hold containers.
HOLDERS = (UserDict, UserList, ChainMap)


def _hold_originals(container: Any) -> None:
    """Put the originals of its elements into a container."""
    if isinstance(container, HOLDERS):
        container = vars(container)
    if isinstance(container, defaultdict):
        container.default_factory = original(container.default_factory)  # pyright: ignore[reportUnknownMemberType]
    is_table = hasattr(container, "items")
    held: list[Any] = list(container.items() if is_table else container)
    items = [*map(original, held)]
    if all(map(operator.is_, items, held)):
        return
    container.clear()
    if is_table:
        for key, value in items:
            container[key] = value
    else:
        write: Any = getattr(container, "extend", None) or getattr(container, "update", None)
        write(items)


def original(value: Any) -> Any:
    """Return the object that a copy stands for; other objects stay as they are.

    Example:
        >>> original(1.0)
        1.0
    """
    if isinstance(value, type):
        return tree.original_class(value)
    if isinstance(value, FunctionType):
        reference = FUNCTIONS.get(value)
        return (reference and reference()) or value
    if isinstance(value, MethodType):
        function, owner = original(value.__func__), original(value.__self__)
        is_same = function is value.__func__ and owner is value.__self__
        return value if is_same else MethodType(function, owner)
    if type(value) is tuple:
        values = tuple(map(original, cast("tuple[Any, ...]", value)))
        return values if any(new is not old for new, old in zip(values, value, strict=True)) else value  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    if type(value) in SHARED or type(value) in HOLDERS:
        Runs.keep(value)
    users = Runs.original_of(value)
    return value if users is None else users


def contents(value: Any) -> Any:
    """Return a result with the originals of what its tuples, lists and tables hold."""
    kind = cast("type[Any]", type(value))
    if kind is list and any(original(item) is not item for item in value):
        return [*map(original, value)]
    if kind is dict and any(original(item) is not item for item in value.values()):
        return {original(key): original(item) for key, item in value.items()}
    return original(value)
