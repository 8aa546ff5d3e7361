"""Containers as JSON, without a reference to code: dicts, lists, tuples, named tuples, dataclasses and their settings.

A class of the user's is named, not stored. Where the reading process has imported its module, the container is of that
class; elsewhere it is of a class made for it, with the same name and fields.
"""

from __future__ import annotations

import builtins
import collections
import dataclasses
import functools
import operator
import pkgutil
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from wengert.engine.core import tree
from wengert.engine.core.dtypes import NUMPY_SCALAR
from wengert.engine.core.errors import ArgumentError, message

_BUILTIN: dict[str, type] = {
    "dict": dict,
    "list": list,
    "tuple": tuple,
    "OrderedDict": collections.OrderedDict,
    "defaultdict": collections.defaultdict,
}
#: Modules of the standard library whose functions compute and do nothing else: a file must not name ``os.abort``.
_HARMLESS = {"math", "cmath"}
_PLAIN = (type(None), bool, int, float, str)


def to_json(structure: tree.Structure) -> Any:
    """Return a structure as JSON: None for a leaf; `ArgumentError` for a key or a setting without a form in JSON."""
    kind = structure.kind
    if kind is None:
        return None
    parts: list[Any] = [to_json(child) for child in structure.children]
    if kind is type(None):
        return {"kind": "None"}
    facts: dict[str, Any] = {"kind": kind.__name__, "parts": parts}
    if structure.keys:
        facts["keys"] = [_value_to_json(key) for key in structure.keys]
        facts["order"] = [structure.keys.index(key) for key in tree.insertion_order(structure)]
    if structure.fixed:
        facts["settings"] = [[name, _value_to_json(value)] for name, value in structure.fixed]
    if _BUILTIN.get(kind.__name__) is not kind:
        facts |= {"module": kind.__module__, "name": kind.__qualname__}
        if tree.is_namedtuple(kind):
            facts["fields"] = list(kind._fields)
    return facts


def from_json(facts: Any) -> tree.Structure:
    """Return the structure that JSON describes."""
    if facts is None:
        return tree.LEAF
    if facts["kind"] == "None":
        return tree.flatten(None)[1]
    children = tuple(map(from_json, facts["parts"]))
    keys = tuple(map(_value_from_json, facts.get("keys", ())))
    settings = tuple((name, _value_from_json(value)) for name, value in facts.get("settings", ()))
    kind = _kind(facts, keys, settings)
    structure = tree.Structure(kind, keys, children, settings)
    order = facts.get("order", [])
    if issubclass(kind, dict) and order != sorted(order):
        return tree.flatten(_in_order(structure, order))[1]
    return structure


def _in_order(structure: tree.Structure, order: list[int]) -> Any:
    """Return a dict whose keys are in the order of the saved one, with structures of leaves as leaves."""
    items = {structure.keys[n]: tree.unflatten(structure.children[n], _leaves()) for n in order}
    settings = [value for _, value in structure.fixed]
    return structure.kind(*settings, items) if structure.kind else items


def _leaves() -> Any:
    while True:
        yield 0


def _kind(facts: Any, keys: tuple[Any, ...], settings: tuple[tuple[str, Any], ...]) -> type:
    if "module" not in facts:
        return _BUILTIN[facts["kind"]]
    imported = _imported(facts["module"], facts["name"])
    fields = tuple(facts.get("fields", ()))
    names = tuple(name for name, _ in settings)
    if isinstance(imported, type) and _has_fields(imported, fields, keys, names):
        return imported
    if fields:
        entries: Any = [(field, Any) for field in fields]
        return cast("type", NamedTuple(facts["kind"], entries))
    return _made(facts["kind"], keys, names)


def _has_fields(
    kind: type, fields: tuple[str, ...], keys: tuple[Any, ...], settings: tuple[str, ...]
) -> bool:
    """Return whether a class still has the fields of the saved container."""
    if fields:
        return getattr(kind, "_fields", None) == fields
    if dataclasses.is_dataclass(kind):
        return {field.name for field in dataclasses.fields(kind)} == {*keys, *settings}
    return issubclass(kind, (dict, list, tuple))


@functools.cache
def _made(name: str, keys: tuple[str, ...], settings: tuple[str, ...]) -> type:
    """Return a dataclass with the fields of one that is not here."""
    fields = [*((key, Any) for key in keys), *((setting, Any, tree.static(None)) for setting in settings)]
    return dataclasses.make_dataclass(name, fields, frozen=True)


def _imported(module: str, name: str) -> Any:
    """Return an object of a module that is imported, or is Wengert's own; None if there is none."""
    if module == "builtins":
        builtin = getattr(builtins, name, None)
        return builtin if isinstance(builtin, type) else None
    if module.partition(".")[0] in sys.stdlib_module_names - _HARMLESS:
        return None
    try:
        if module.startswith("wengert."):
            return pkgutil.resolve_name(f"{module}:{name}")
        return operator.attrgetter(name)(sys.modules.get(module))
    except (AttributeError, ImportError, ValueError):
        return None


def _value_to_json(value: Any) -> Any:
    """Return a key or a setting as JSON."""
    if type(value) in _PLAIN:
        return value
    if type(value) is tuple:
        return {"tuple": [_value_to_json(part) for part in cast("tuple[Any, ...]", value)]}
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if isinstance(value, NUMPY_SCALAR):
        return {"scalar": [value.dtype.str, value.item()]}
    # A ufunc of NumPy 2.0 says neither its module nor its qualified name.
    module = getattr(value, "__module__", "numpy")
    name = getattr(value, "__qualname__", getattr(value, "__name__", ""))
    if callable(value) and _imported(module, name) is value:
        return {"object": [module, name]}
    requirement = "keys and settings must be numbers, strings, tuples, dtypes or functions with a name"
    raise ArgumentError(message("export", requirement, repr(value)))


def _value_from_json(value: Any) -> Any:
    match value:
        case {"tuple": parts}:
            return tuple(map(_value_from_json, parts))
        case {"dtype": name}:
            return np.dtype(name)
        case {"scalar": [name, number]}:
            return np.dtype(name).type(number)
        case {"object": [module, name]}:
            function: Callable[..., Any] | None = _imported(module, name)
            return f"{module}.{name}" if function is None else function
        case _:
            return value


def rearranged(
    leaves: Sequence[Any], structure: tree.Structure, expected: tree.Structure
) -> list[Any] | None:
    """Return leaves in the order of a container with the same keys, of whatever class; None if keys differ.

    Example:
        >>> from wengert.engine.core.tree import flatten
        >>> leaves, structure = flatten({"b": 1.0, "a": 2.0})
        >>> rearranged(leaves, structure, structure)
        [2.0, 1.0]
    """
    if structure == expected:
        return list(leaves)
    if expected.kind is None or structure.kind is None or len(structure.children) != len(expected.children):
        return None
    start, parts = 0, dict[str, list[Any]]()
    structures = dict(zip(_names(structure), structure.children, strict=True))
    for name, child in structures.items():
        stop = start + child.leaf_count()
        parts[name], start = list(leaves[start:stop]), stop
    arranged: list[Any] = []
    for name, child in zip(_names(expected), expected.children, strict=True):
        part = rearranged(parts[name], structures[name], child) if name in parts else None
        if part is None:
            return None
        arranged += part
    return arranged


def _names(structure: tree.Structure) -> Sequence[str]:
    """Return the key of each part of a container: its number in a sequence."""
    if structure.kind is not None and tree.is_namedtuple(structure.kind):
        return structure.keys or cast("Any", structure.kind)._fields
    return [str(key) for key in structure.keys or range(len(structure.children))]
