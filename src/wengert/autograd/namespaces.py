"""Modules whose names are those of NumPy's and SciPy's, as functions that transforms follow and that may have rules."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wengert.autograd.primitives import Primitive
from wengert.engine.array.substitutes import substitute_for
from wengert.scipy.registry import others_of


class _Followed(Primitive):
    """A function that transforms follow, until it has rules of the user's."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        super().__init__(fun)
        self.is_followed = True

    def __reduce__(self) -> Any:
        return followed, (self.fun,)


@functools.cache
def followed(fun: Callable[..., Any]) -> Primitive:
    """Return a function that transforms follow as one that may have rules: the same object in each call."""
    return _Followed(fun)


def names_of(namespace: dict[str, Any], find: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module, which keeps what it finds."""
    own: str = namespace["__name__"]

    def attribute(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {own!r} has no attribute {name!r}", name=name)
        value = find(name)
        is_function = callable(value) and not isinstance(value, type) and hasattr(value, "__name__")
        if is_function and not isinstance(value, Primitive):
            value = followed(value)
        namespace[name] = value
        return value

    return attribute


def scipys(namespace: dict[str, Any], name: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module for one of SciPy's."""
    theirs = others_of(f"wengert.scipy.{name}")

    def find(attribute: str) -> Any:
        value = theirs(attribute)
        return substitute_for(value) or value

    return names_of(namespace, find)
