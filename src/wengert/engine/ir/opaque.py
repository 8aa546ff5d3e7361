"""Objects that a graph refers to by name: the rules of custom derivatives, which text cannot hold.

The registry keeps no object alive. A name in a text resolves as long as the program that wrote it, or one that
registered the same rules, holds the object.
"""

from __future__ import annotations

import re
import weakref
from typing import Any

from wengert.engine.core.errors import GraphError, message

_objects: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()


def register(target: Any, name: str = "") -> str:
    """Give an object a name in the text of graphs, and return that name.

    Args:
        target: a hashable object that weak references reach.
        name: its name; by default the object's own, with a number if that is taken.

    Raises:
        GraphError: the object cannot be referred to weakly, or the name stands for another object.

    Example:
        >>> def rule(x):
        ...     return x
        >>> register(rule, "clip_gradient")
        'clip_gradient'
        >>> find("clip_gradient") is rule
        True
    """
    current = next((name for name, holder in list(_objects.items()) if holder is target), "")
    if current and name in ("", current):
        return current
    own = getattr(target, "__qualname__", repr(target))
    wanted = re.sub(r"[^\w.]+", "_", name or own).strip("_")
    chosen, number = wanted, 1
    while chosen in _objects and not name:
        number += 1
        chosen = f"{wanted}.{number}"
    if _objects.get(chosen, target) is not target:
        raise GraphError(message("register", "a name may stand for one object only", chosen))
    try:
        _objects[chosen] = target
    except TypeError:
        requirement = "a parameter must be a number, string, dtype, tuple, graph or a weakly referable rule"
        raise GraphError(message("print", requirement, repr(target))) from None
    return chosen


def find(name: str) -> Any:
    """Return the object of a name, or raise `GraphError`."""
    try:
        return _objects[name]
    except KeyError:
        hint = "parse it in the program that wrote it, or register the rule first"
        raise GraphError(message("parse", "no object of this name is registered", f"@{name}", hint)) from None
