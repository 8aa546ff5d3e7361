"""Trees: nested containers of arrays, flattened into leaves and unflattened again.

Containers are dict, list, tuple, namedtuple, dataclass and None (which is empty). An array with labels is a container
of its values. Everything else is a leaf.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import is_
from typing import Any, cast

from wengert.engine.core.calls import UNSET
from wengert.engine.core.dtypes import NDARRAY, SEQUENCE
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.core.labelled import Labels, is_labelled, values_of
from wengert.engine.core.named_tuples import NamedTuple


class Structure(NamedTuple):
    """The containers of a tree without its leaves; hashable and comparable."""

    kind: type | None
    """The container's type; None for a leaf."""
    keys: tuple[Any, ...] = ()
    children: tuple[Structure, ...] = ()
    fixed: tuple[tuple[str, Any], ...] = ()
    """Settings: static fields of a dataclass, the default factory of a `defaultdict`, labels."""

    def leaf_count(self) -> int:
        """Return the number of leaves."""
        return 1 if self.kind is None else sum(child.leaf_count() for child in self.children)


LEAF = Structure(None)
Maker = Callable[[Iterator[Any]], Any]
#: The size of the caches of classes, because a program may make any number of classes.
_CLASSES = 1024
_NONE = Structure(type(None))


def is_namedtuple(kind: type) -> bool:
    """Return whether ``namedtuple`` or ``NamedTuple`` made ``kind``."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


#: The name by which the copy of a class, in a run with substitutes, holds the user's: trees of both have one structure.
ORIGINAL = "__users_class__"
_namespace: Any = type.__dict__["__dict__"]


def static(default: Any = UNSET) -> Any:
    """Declare a dataclass field as a setting: part of the structure, never a leaf.

    Args:
        default: the default of the field.

    Returns:
        A dataclass field.

    Example:
        >>> import dataclasses
        >>> @dataclasses.dataclass
        ... class Scaled:
        ...     weight: float
        ...     power: int = static(2)
        >>> leaves(Scaled(3.0))
        [3.0]
    """
    return dataclasses.field(
        default=dataclasses.MISSING if default is UNSET else default, metadata={"static": True}
    )


def _fields(value: Any) -> tuple[tuple[str, ...], tuple[tuple[str, Any], ...]]:
    dynamic, fixed = _field_names(cast("type[Any]", type(value)))
    return dynamic, tuple((name, getattr(value, name)) for name in fixed)


@functools.lru_cache(maxsize=_CLASSES)
def _field_names(kind: type[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of a dataclass's fields: trees and settings."""
    fields = dataclasses.fields(kind)
    dynamic = tuple(field.name for field in fields if not field.metadata.get("static"))
    return dynamic, tuple(field.name for field in fields if field.metadata.get("static"))


@functools.lru_cache(maxsize=_CLASSES)
def _container(kind: type[Any]) -> str:
    """Return the category of a type: empty, mapping, sequence, dataclass, labelled, or leaf."""
    if kind is type(None):
        return "empty"
    if issubclass(kind, dict):
        return "mapping"
    if issubclass(kind, SEQUENCE):
        return "sequence"
    if dataclasses.is_dataclass(kind):
        return "dataclass"
    return "labelled" if is_labelled(kind) else "leaf"


def original_class(kind: type[Any]) -> type[Any]:
    """Return the user's class for a copy of it; other classes stay as they are."""
    users = _namespace.__get__(kind).get(ORIGINAL)
    return kind if users is None else users() or kind


class _Keys(tuple[Any, ...]):
    """The sorted keys of a dict, with its own order as an attribute: equal for dicts that differ in order only."""

    order: tuple[Any, ...]


def insertion_order(structure: Structure) -> tuple[Any, ...]:
    """Return the keys of a dict in its own order."""
    return getattr(structure.keys, "order", structure.keys)


def _sorted_keys(value: dict[Any, Any]) -> tuple[Any, ...]:
    order = tuple(value)
    try:
        ordered = sorted(order)
    except TypeError:  # keys of mixed types
        ordered = sorted(order, key=lambda key: (type(key).__name__, repr(key)))
    if (keys := tuple(ordered)) == order:
        return order
    keys = _Keys(keys)
    keys.order = order
    return keys


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """Flatten a tree into its leaves and its structure.

    Args:
        tree: any value; it is a leaf unless it is a container.

    Returns:
        ``(leaves, structure)``, with the items of dicts in the order of their sorted keys.

    Example:
        >>> flatten({"w": 1.0, "b": (2.0, 3.0)})[0]
        [2.0, 3.0, 1.0]
    """
    if _container(type(tree)) == "leaf":
        return [tree], LEAF
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: list[Any]) -> Structure:
    kind = cast("type[Any]", type(tree))
    category, kind = _container(kind), original_class(kind)
    match category:
        case "leaf":
            leaves.append(tree)
            return LEAF
        case "sequence":
            parts, settings = _attributes(tree)
            if not parts and not settings:
                return Structure(kind, (), _flatten_all(tree, leaves))
            keys = (*tree._fields, *parts)
            return Structure(
                kind, keys, _flatten_all((*tree, *parts.values()), leaves), tuple(settings.items())
            )
        case "dataclass":
            names, fixed = _fields(tree)
            return Structure(
                kind, names, _flatten_all([getattr(tree, name) for name in names], leaves), fixed
            )
        case "mapping":
            keys = _sorted_keys(tree)
            fixed = (("default_factory", tree.default_factory),) if isinstance(tree, defaultdict) else ()
            return Structure(kind, keys, _flatten_all([tree[key] for key in keys], leaves), fixed)
        case "labelled":
            leaves.append(values_of(tree))
            return Structure(kind, (), (LEAF,), (("labels", Labels(tree)),))
        case _:
            return _NONE


def _attributes(tree: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a named tuple holds beside its fields, as SciPy's results do: trees, and settings."""
    kind = cast("type[Any]", type(tree))
    held = cast("dict[str, Any]", vars(tree) if kind.__dictoffset__ and is_namedtuple(kind) else {})
    parts = {name: value for name, value in held.items() if _is_part(value)}
    return parts, {name: value for name, value in held.items() if name not in parts}


def _is_part(value: Any) -> bool:
    """Return whether an attribute is a number, an array or a container, and no setting such as a text or a module."""
    is_number = isinstance(value, (int, float, complex)) or hasattr(value, "dtype")
    return not isinstance(value, type) and (is_number or _container(type(value)) != "leaf")


def _flatten_all(parts: Iterable[Any], leaves: list[Any]) -> tuple[Structure, ...]:
    """Flatten the parts of a container; arrays, the common case, cost no call."""
    children: list[Structure] = []
    for part in parts:
        if type(part) is NDARRAY:
            leaves.append(part)
            children.append(LEAF)
        else:
            children.append(_flatten(part, leaves))
    return tuple(children)


def taker(structure: Structure) -> Callable[[Any, list[Any]], bool]:
    """Return a function that flattens trees of one structure, in a fraction of the time of `flatten`.

    It appends the leaves to a list, and returns whether the tree has the structure. Settings and keys must be the same
    objects. A container in the place of a leaf is not detected.

    Example:
        >>> take, leaves = taker(flatten({"w": 1.0, "b": (2.0, 3.0)})[1]), []
        >>> take({"w": 4.0, "b": (5.0, 6.0)}, leaves), leaves
        (True, [5.0, 6.0, 4.0])
        >>> take({"w": 4.0, "b": (5.0,)}, leaves)
        False
    """
    kind, parts = structure.kind, [None if child == LEAF else taker(child) for child in structure.children]
    if kind is None:
        return lambda tree, leaves: leaves.append(tree) is None
    read, count, has_only_leaves = _reader_of_parts(structure), len(parts), not any(parts)

    def take(tree: Any, leaves: list[Any]) -> bool:
        if type(tree) is not kind or (values := read(tree)) is None or len(values) != count:
            return False
        if has_only_leaves:
            leaves += values
            return True
        for value, part in zip(values, parts, strict=True):
            if part is None:
                leaves.append(value)
            elif not part(value, leaves):
                return False
        return True

    return take


def _reader_of_parts(structure: Structure) -> Callable[[Any], Sequence[Any] | None]:
    """Return a function that reads the parts of a container; it returns None for another structure."""
    kind, keys, order, fixed = structure.kind, structure.keys, insertion_order(structure), structure.fixed
    assert kind is not None

    def fields(tree: Any) -> Sequence[Any] | None:
        try:
            for name, setting in fixed:
                if getattr(tree, name) is not setting:
                    return None
            return [getattr(tree, name) for name in keys]
        except AttributeError:
            return None

    def items(tree: Any) -> Sequence[Any] | None:
        # The same key objects: 1 is not True, and `__missing__` must not make any.
        if len(tree) != len(order) or not all(map(is_, tree, order)):
            return None
        if any(getattr(tree, name) is not setting for name, setting in fixed):
            return None
        return [tree[key] for key in keys]

    match _container(kind):
        case "empty":
            return lambda tree: ()
        case "sequence":
            return _reader_of_record(structure) if keys or fixed else lambda tree: tree
        case "dataclass":
            return fields
        case "labelled":
            return lambda tree: [values_of(tree)]
        case _:
            return items


def _reader_of_record(structure: Structure) -> Callable[[Any], Sequence[Any] | None]:
    """Return a function that reads the parts of a named tuple with attributes."""

    def read(tree: Any) -> Sequence[Any] | None:
        held, names = cast("dict[str, Any]", vars(tree)), structure.keys[len(tree) :]
        if any(held.get(name, UNSET) is not setting for name, setting in structure.fixed):
            return None
        return [*tree, *(held[name] for name in names)] if held.keys() >= set(names) else None

    return read


def children(container: Any) -> dict[Any, Any] | None:
    """Return the parts of a container by key, position or field, in the order of the leaves.

    Args:
        container: any value.

    Returns:
        A dict of the parts; None for a leaf or an empty container.

    Example:
        >>> children((1.0, [2.0]))
        {0: 1.0, 1: [2.0]}
    """
    kind = cast("Any", type(container))  # a leaf may say that it is of another class
    if issubclass(kind, dict):
        return {key: container[key] for key in _sorted_keys(container)}
    if issubclass(kind, SEQUENCE):
        return {**dict(enumerate(container)), **_attributes(container)[0]}
    if dataclasses.is_dataclass(container) and not isinstance(container, type):
        return {name: getattr(container, name) for name in _fields(container)[0]}
    return None


def unflatten(structure: Structure, values: Iterable[Any]) -> Any:
    """Put leaves into a structure: the inverse of `flatten`.

    Args:
        structure: from `flatten`.
        values: the leaves, in order.

    Returns:
        The tree.

    Example:
        >>> values, structure = flatten([1, (2, 3)])
        >>> unflatten(structure, [10, 20, 30])
        [10, (20, 30)]
    """
    return next(iter(values)) if structure.kind is None else maker(structure)(iter(values))


def maker(structure: Structure) -> Maker:
    """Return a function that puts the next leaves into a structure, for repeated use.

    Example:
        >>> maker(flatten([1, (2, 3)])[1])(iter([10, 20, 30]))
        [10, (20, 30)]
    """
    kind = structure.kind
    if kind is None:
        return next
    parts: list[Maker] = [next if child.kind is None else maker(child) for child in structure.children]
    make = cast("Callable[..., Any]", kind)
    match _container(kind):
        case "sequence" if not hasattr(kind, "_fields"):
            return lambda values: make([part(values) for part in parts])
        case "sequence" if structure.keys or structure.fixed:
            return _record_maker(structure, parts)
        case "sequence":
            return lambda values: make(*[part(values) for part in parts])
        case "mapping":
            return _mapping_maker(structure, parts)
        case "dataclass":
            return _dataclass_maker(structure, parts)
        case "labelled":
            labels: Labels = structure.fixed[0][1]
            return lambda values: labels.on(next(values))
        case _:
            return lambda values: None


def _mapping_maker(structure: Structure, parts: Sequence[Maker]) -> Maker:
    keys, order = structure.keys, insertion_order(structure)
    make, settings = cast("Callable[..., Any]", structure.kind), [setting for _, setting in structure.fixed]

    def mapping(values: Iterator[Any]) -> Any:
        items = {key: part(values) for key, part in zip(keys, parts, strict=True)}
        if order is not keys:
            items = {key: items[key] for key in order}
        return items if make is dict else make(*settings, items)

    return mapping


def _record_maker(structure: Structure, parts: Sequence[Maker]) -> Maker:
    """Return a function that makes a named tuple with attributes, without its ``__init__``, which may want them all."""
    kind = cast("Any", structure.kind)
    count, names = len(kind._fields), structure.keys[len(kind._fields) :]

    def record(values: Iterator[Any]) -> Any:
        found = [part(values) for part in parts]
        made: Any = tuple.__new__(kind, found[:count])
        vars(made).update(structure.fixed, **dict(zip(names, found[count:], strict=True)))
        return made

    return record


def _dataclass_maker(structure: Structure, parts: Sequence[Maker]) -> Maker:
    """Return a function that makes a dataclass without ``__init__``, which may check or convert boxes."""
    kind, named, fixed = structure.kind, tuple(zip(structure.keys, parts, strict=True)), structure.fixed
    new, write = cast("Callable[..., Any]", object.__new__), object.__setattr__

    def instance(values: Iterator[Any]) -> Any:
        value = new(kind)
        for name, part in named:
            write(value, name, part(values))
        for name, setting in fixed:
            write(value, name, setting)
        return value

    return instance


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of a tree, in order.

    Args:
        tree: any value.

    Returns:
        A list of the leaves.

    Example:
        >>> leaves([1.0, (2.0, None)])
        [1.0, 2.0]
    """
    return flatten(tree)[0]


def map_tree(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a function to the leaves of trees of one structure.

    Args:
        function: called with one leaf of each tree.
        tree: the tree whose structure the result has.
        others: trees of the same structure.

    Returns:
        The tree of the results.

    Raises:
        ArgumentError: the structures differ.

    Example:
        >>> map_tree(lambda p, g: p - 0.5 * g, {"w": 1.0}, {"w": 2.0})
        {'w': 0.0}
    """
    values, structure = flatten(tree)
    columns = [values]
    for partner in others:
        other_values, other_structure = flatten(partner)
        check_same("map_tree", structure, other_structure)
        columns.append(other_values)
    return unflatten(structure, [function(*row) for row in zip(*columns, strict=True)])


def check_same(
    operation: str,
    expected: Structure,
    got: Structure,
    requirement: str = "containers must have the structure",
) -> None:
    """Raise `ArgumentError` if two structures differ."""
    if expected != got:
        raise ArgumentError(message(operation, f"{requirement} {show(expected)}", show(got)))


def show(structure: Structure) -> str:
    """Write a structure with ``*`` for each leaf.

    Args:
        structure: from `flatten`.

    Returns:
        The text.

    Example:
        >>> show(flatten({"w": 1.0, "b": (2.0, 3.0)})[1])
        "{'b': (*, *), 'w': *}"
    """
    kind = structure.kind
    if kind is None:
        return "*"
    if kind is type(None):
        return "None"
    if is_labelled(kind):
        return kind.__name__
    children = [show(child) for child in structure.children]
    if structure.keys or issubclass(kind, dict):
        pairs = zip(structure.keys, children, strict=True)
        inside = ", ".join(f"{key!r}: {child}" for key, child in pairs)
        return f"{{{inside}}}" if issubclass(kind, dict) else f"{kind.__name__}({inside})"
    inside = ", ".join(children)
    if issubclass(kind, list):
        return f"[{inside}]"
    return f"({inside},)" if len(children) == 1 else f"({inside})"


def words(structure: Structure) -> str:
    """Say what kind of container a structure is, for a message about a whole result."""
    kind = structure.kind
    if kind is None or kind is type(None):
        return "None" if kind else "a number or an array"
    keys = f" with the keys {', '.join(map(repr, structure.keys))}" if issubclass(kind, dict) else ""
    return f"a {kind.__name__}{keys or f' of {len(structure.children)}'}"


def written_order(structure: Structure) -> list[int]:
    """Return the numbers of the leaves in the order in which the containers were written, dicts in their own order.

    Example:
        >>> written_order(flatten({"w": 1.0, "b": (2.0, 3.0)})[1])
        [2, 0, 1]
    """
    if structure.kind is None:
        return [0]
    first, parts = 0, list[list[int]]()
    for child in structure.children:
        parts.append([first + number for number in written_order(child)])
        first += child.leaf_count()
    if issubclass(structure.kind, dict):
        of_key = dict(zip(structure.keys, parts, strict=True))
        parts = [of_key[key] for key in insertion_order(structure)]
    return [number for part in parts for number in part]


def paths(structure: Structure, prefix: str = "", *, fields: bool = False) -> list[str]:
    """Return the path to each leaf, such as ``['layers'][0].weight``.

    Args:
        structure: from `flatten`.
        prefix: the beginning of each path.
        fields: write the parts of a named tuple by name, not by number.

    Returns:
        A path for each leaf.

    Example:
        >>> paths(flatten({"w": 1.0, "b": (2.0, 3.0)})[1], "params")
        ["params['b'][0]", "params['b'][1]", "params['w']"]
    """
    if structure.kind is None:
        return [prefix]
    if is_labelled(structure.kind):
        return [prefix]
    names: list[str] = []
    keys = structure.keys
    if fields and is_namedtuple(structure.kind):
        keys = cast("Any", structure.kind)._fields
    attributes = keys and not issubclass(structure.kind, dict)
    for position, child in enumerate(structure.children):
        key = keys[position] if keys else position
        names += paths(child, prefix + (f".{key}" if attributes else f"[{key!r}]"), fields=fields)
    return names
