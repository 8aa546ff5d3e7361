"""The results of a compiled function: some are computed in each call, others are constants.

A leaf that is neither an array nor a number is a constant: every call returns the same object. It must not contain a
traced value, or text made from one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import GeneratorType
from typing import Any

from wengert.engine.array.array import shows_box
from wengert.engine.boxes import Box, Unsized
from wengert.engine.core import tree
from wengert.engine.core.dtypes import is_int64
from wengert.engine.core.errors import YIELDED, ConcreteError, DtypeError, message
from wengert.engine.transforms.arguments import is_number
from wengert.engine.transforms.closures import objects_behind


def constants(leaves: Sequence[Any], structure: tree.Structure) -> dict[int, Any]:
    """Return the results that are constants, by position; refuse text made from traced values, and iterators."""
    fixed = {number: leaf for number, leaf in enumerate(leaves) if _is_constant(leaf)}
    if fixed:
        names = tree.paths(structure, "the result")
        for number, leaf in fixed.items():
            _check(leaf, names[number])
    for value in _settings(structure):
        _check(value, "a setting of the result")
    return fixed


def _is_constant(leaf: Any) -> bool:
    return isinstance(leaf, str) or not is_number(leaf) or (type(leaf) is int and not is_int64(leaf))


def _settings(structure: tree.Structure) -> Iterator[Any]:
    """Yield the values of the containers that are not leaves."""
    for _, value in structure.fixed:
        yield value
    for child in structure.children:
        yield from _settings(child)


def _check(value: Any, name: str) -> None:
    if isinstance(value, str):
        if shows_box(value):
            requirement = "text cannot show a value of which only the type is known"
            hint = "return the value, and write the text outside of the compiled function"
            raise ConcreteError(message("jit", requirement, f"{value!r} as {name}", hint))
        return
    if isinstance(value, Unsized):
        value.refuse_result("jit", name)
    got = f"{type(value).__name__} as {name}"
    if isinstance(value, Iterator):
        requirement = "results must be arrays, numbers, containers of them or constants, and an iterator ends"
        hint = YIELDED if isinstance(value, GeneratorType) else "return a list or a tuple"
        raise DtypeError(message("jit", requirement, got, hint))
    # A traced value may be out of sight: in an attribute, say, or in the closure of a function.
    if any(isinstance(held, Box) and not held.owner.plain for held in objects_behind(value)):
        requirement = (
            "results must be arrays, numbers, containers of them or constants, and this holds a traced value"
        )
        hint = "return the arrays in it, and make it of them outside of the compiled function"
        raise DtypeError(message("jit", requirement, got, hint))
