"""The results of a compiled function: what each call computes, and what is the same in all of them.

A leaf that is neither an array nor a number is a constant, and comes back as the object that it was when the function
was traced. What would tell of a traced value, or hold one, is none.
"""

from __future__ import annotations

import gc
import types
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from wengert import tree
from wengert.array import tells_of_box
from wengert.boxes import CONSTANT, Box
from wengert.control.values import is_number
from wengert.dtypes import is_int64
from wengert.errors import ConcreteError, DtypeError, message

_MOST_OBJECTS = 10_000
"""Objects behind a constant, the nearest first, among which a traced value is looked for."""


def constants(leaves: Sequence[Any], structure: tree.Structure) -> dict[int, Any]:
    """Return the results that are constants, by their position.

    Args:
        leaves: what the traced function returned.
        structure: the containers that they were in.

    Raises:
        ConcreteError: a result is a text that was made of a traced value.
        DtypeError: a result can be gone through only once, or holds a traced value out of sight.
    """
    found = {number: leaf for number, leaf in enumerate(leaves) if _is_constant(leaf)}
    if found:
        names = tree.paths(structure, "the result")
        for number, leaf in found.items():
            _check(leaf, names[number])
    for value in _settings(structure):
        _check(value, "a setting of the result")
    return found


def _is_constant(leaf: Any) -> bool:
    return isinstance(leaf, str) or not is_number(leaf) or (type(leaf) is int and not is_int64(leaf))


def _settings(structure: tree.Structure) -> Iterator[Any]:
    """Go through what the containers hold besides leaves."""
    for _, value in structure.fixed:
        yield value
    for child in structure.children:
        yield from _settings(child)


def _check(value: Any, name: str) -> None:
    if isinstance(value, str):
        if tells_of_box(value):
            requirement = "a text cannot tell of a value of which only the type is known"
            hint = "return the value, and write the text outside of the compiled function"
            raise ConcreteError(message("jit", requirement, f"{value!r} as {name}", hint))
        return
    got = f"{type(value).__name__} as {name}"
    if isinstance(value, Iterator):
        requirement = "results must be arrays, numbers, containers of them or constants, and an iterator ends"
        raise DtypeError(message("jit", requirement, got, "return a list or a tuple"))
    if _holds_box(value):
        requirement = (
            "results must be arrays, numbers, containers of them or constants, and this holds a traced value"
        )
        hint = "return the arrays in it, and make it of them outside of the compiled function"
        raise DtypeError(message("jit", requirement, got, hint))


def _holds_box(value: Any) -> bool:
    """Tell whether a traced value is reached from an object: by what a function closes over, say, or an attribute."""
    waiting, seen = deque([value]), {id(value): value}
    for _ in range(_MOST_OBJECTS):
        if not waiting:
            break
        one = waiting.popleft()
        if isinstance(one, Box) and one.owner is not CONSTANT:
            return True
        for other in _referents(one):
            if id(other) not in seen:
                seen[id(other)] = other
                waiting.append(other)
    return False


def _referents(value: Any) -> Sequence[Any]:
    """Return the objects that one is made of; what it only knows of by name is none of them."""
    if isinstance(value, (type, types.ModuleType, types.CodeType)):
        return ()
    if isinstance(value, types.FunctionType):
        return value.__closure__ or (), value.__defaults__ or (), value.__kwdefaults__ or ()
    return gc.get_referents(value)
