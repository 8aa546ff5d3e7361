"""Modules whose names are those of NumPy's and SciPy's, as functions that transforms follow and that may have rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.autograd.primitives import Primitive
from wengert.engine.array.substitutes import substitute_for
from wengert.scipy.registry import others_of


def names_of(namespace: dict[str, Any], find: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module, which keeps what it finds.

    Args:
        namespace: the module's globals.
        find: returns the object of a name, or raises `AttributeError`.

    Returns:
        A function of the name.
    """
    own: str = namespace["__name__"]

    def attribute(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {own!r} has no attribute {name!r}", name=name)
        value = find(name)
        is_function = callable(value) and not isinstance(value, type) and hasattr(value, "__name__")
        if is_function and not isinstance(value, Primitive):
            value = Primitive(value, is_followed=True)
            value.__module__, value.__qualname__ = own, name
        namespace[name] = value
        return value

    return attribute


def scipys(namespace: dict[str, Any], name: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module for one of SciPy's.

    Args:
        namespace: the module's globals.
        name: of the module below ``scipy``.

    Returns:
        A function of the name.
    """

    theirs = others_of(f"wengert.scipy.{name}")

    def find(attribute: str) -> Any:
        value = theirs(attribute)
        return substitute_for(value) or value

    return names_of(namespace, find)
