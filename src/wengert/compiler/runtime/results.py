"""The results of a compiled function: what each call computes, and what is the same in all of them.

A leaf that is neither an array nor a number is a constant, and comes back as the object that it was when the function
was traced. What would tell of a traced value, or hold one, is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from wengert.array.array import shows_box
from wengert.boxes import CONSTANT, Box
from wengert.control.carry import objects_behind
from wengert.control.values import is_number
from wengert.core import tree
from wengert.core.dtypes import is_int64
from wengert.core.errors import ConcreteError, DtypeError, message


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
        if shows_box(value):
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
    return any(isinstance(one, Box) and one.owner is not CONSTANT for one in objects_behind(value))
