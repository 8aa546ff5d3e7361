"""The globals of the copies of a second run: names of the user's module, with what stands for their objects."""

from __future__ import annotations

import builtins
import weakref
from typing import Any

from wengert.engine.transforms.builtin_names import BUILTINS
from wengert.engine.transforms.class_copies import COPIERS
from wengert.engine.transforms.originals import original

#: What Python itself reads from the globals of a function.
OWN_NAMES = (
    *("__name__", "__file__", "__package__", "__spec__", "__loader__", "__doc__", "__warningregistry__"),
)


def _with_substitutes(value: Any) -> Any:
    (copy,) = COPIERS
    return copy(value)


class Globals(dict[str, Any]):
    """The globals of a copy: it looks each name up in the user's module, and returns what stands for the object.

    Python writes the names of a `global` statement into this dictionary itself, until `give_back`.
    """

    def __init__(self, users: dict[str, Any]) -> None:
        super().__init__({name: users[name] for name in OWN_NAMES if name in users})
        self.users = users
        self["__builtins__"] = _Builtins(self)

    def __missing__(self, name: str) -> Any:
        if name in self.users:
            return _with_substitutes(self.users[name])
        return BUILTINS.get(name) or vars(builtins)[name]

    def assigned(self) -> list[str]:
        """Return the names that copies have assigned."""
        return [name for name in self if name not in (*OWN_NAMES, "__builtins__")]

    def give_back(self) -> None:
        """Move what copies assigned to the user's module."""
        for name in self.assigned():
            self.users[name] = original(self[name])
            self.pop(name, None)


class _Builtins(dict[str, Any]):
    """The builtins of a copy: the body of a class and `eval` look a name up here, past the method of the globals."""

    def __init__(self, scope: Globals) -> None:
        super().__init__({"__import__": _import})
        self.scope = scope

    def __missing__(self, name: str) -> Any:
        return self.scope[name]


def _import(*arguments: Any) -> Any:
    # The user's own import statement.
    return _with_substitutes(vars(builtins)["__import__"](*arguments))


#: The globals of copies by the identity of the user's, which they hold.
GLOBALS: weakref.WeakValueDictionary[int, Globals] = weakref.WeakValueDictionary()


def scope_of(users: dict[str, Any]) -> dict[str, Any]:
    """Return the globals of the copies of a module's functions, given the globals of either."""
    return users if isinstance(users, Globals) else GLOBALS.setdefault(id(users), Globals(users))
