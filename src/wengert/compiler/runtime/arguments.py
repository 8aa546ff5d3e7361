"""The arguments of a compiled function: flattened, keyed by type, and named in messages."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import textwrap
from collections.abc import Callable, Hashable, Iterator, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from wengert.compiler.runtime import donation
from wengert.engine.array.sparse import FROM_OUTSIDE, is_sparse
from wengert.engine.boxes import Box
from wengert.engine.core import tree
from wengert.engine.core.dtypes import DEFAULT_DTYPE, SEQUENCE, is_int64, is_plain, not_plain, show_integer
from wengert.engine.core.errors import ArgumentError, DtypeError, RangeError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.memory import strides_of
from wengert.engine.transforms.arguments import SETTING, is_number

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Named(NamedTuple):
    """A static argument that is given by name."""

    name: str
    value: Any


class Given(NamedTuple):
    """The arguments of a call, flattened."""

    leaves: list[Any]
    structure: tree.Structure
    """The containers of the arguments that are not static: those by position, those by name."""
    static: tuple[Any, ...]
    key: Any
    """Identifies types and fixed values: ``(types, (structure, static arguments, settings))``."""

    @property
    def outer_key(self) -> Any:
        """The key without the types of the leaves."""
        return self.key[1]


def key_of(leaves: Sequence[Any], outer_key: Any) -> Any:
    """Return the key of a call; `TypeError` where an argument cannot be part of it."""
    key = tuple(map(_type_key, leaves)), outer_key
    hash(key)
    return key


def outer_key_of(structure: tree.Structure, static: Sequence[Any]) -> Any:
    """Return the key of a call without the types of its leaves; it may not be hashable."""
    return structure, tuple(map(_exactly, static)), tuple(_settings(structure))


def _settings(structure: tree.Structure) -> Iterator[Any]:
    """Return the keys of the settings of dataclasses, and the keys of dicts in their order."""
    if structure.kind is not None and issubclass(structure.kind, dict):
        yield _exactly(tree.insertion_order(structure))
    for _, value in structure.fixed:
        yield _exactly(value)
    for child in structure.children:
        if child.children or child.fixed:
            yield from _settings(child)


def _exactly(value: Any) -> Any:
    """Return a key that differs for fixed values that Python calls equal: 1, 1.0 and True, 0.0 and -0.0."""
    if isinstance(value, (float, complex, np.generic)):
        return type(value), repr(value)
    if isinstance(value, tuple):
        return type(value), *map(_exactly, value)  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
    if isinstance(value, frozenset):
        return type(value), frozenset(map(_exactly, value))  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return value, *map(_exactly, _compared(value))
    return type(value), value


def _compared(value: Any) -> Iterator[Any]:
    """Return the hashable fields that the equality of a dataclass compares; others have a hash of their own."""
    if type(value).__dataclass_params__.eq:
        fields = (getattr(value, field.name, None) for field in dataclasses.fields(value) if field.compare)
        yield from (field for field in fields if isinstance(field, Hashable))


def is_same(x: Any, y: Any) -> bool:
    """Return whether static arguments are the very same objects."""
    if type(x) is Named and type(y) is Named:
        return x.name == y.name and x.value is y.value
    return x is y


def types_of(leaves: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return the keys of the types of some leaves; None if a leaf is not a number, or a value inside a transform."""
    if any(isinstance(leaf, Box) for leaf in leaves):
        return None
    try:
        return tuple(map(_type_key, leaves))
    except TypeError:
        return None


def _type_key(leaf: Any) -> Any:
    """Return a key of the type of a leaf, quickly."""
    kind = leaf.__class__
    if kind is np.ndarray:
        if not leaf.flags.c_contiguous:
            return leaf.dtype, leaf.shape, strides_of(leaf)
        return leaf.dtype, leaf.shape
    if kind in DEFAULT_DTYPE:
        if kind is int and not is_int64(leaf):
            raise TypeError
        return kind
    if not (is_number(leaf) and is_plain(leaf)):
        raise TypeError
    return type_of(leaf)


# -- names -----------------------------------------------------------------------------------------------


def _signature(
    function: Callable[..., Any], *, follow_wrapped: bool = True
) -> list[inspect.Parameter] | None:
    """Return the parameters of a function; None for one written in C that does not name them."""
    try:
        return list(inspect.signature(function, follow_wrapped=follow_wrapped).parameters.values())
    except (ValueError, TypeError):
        return None


def _parameters(function: Callable[..., Any], *, follow_wrapped: bool = True) -> tuple[list[str], bool]:
    """Return the names of the positional parameters, and whether there are no others."""
    parameters = _signature(function, follow_wrapped=follow_wrapped)
    if parameters is None:
        return [], False
    more = any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters)
    return [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL], not more


def check_positions(
    function: Callable[..., Any], option: str, positions: Sequence[int], passed: int | None = None
) -> None:
    """Raise `ArgumentError` where an option names the position of an argument that does not exist.

    A call with ``passed`` arguments by position may have more than the signature of the function names.
    """
    names, is_all = _parameters(function, follow_wrapped=passed is not None)
    if passed is None and not is_all:
        return
    count = max(passed or 0, len(names))
    beyond = [position for position in positions if position >= count]
    if beyond:
        takes = (
            "there is no argument"
            if passed is None
            else f"the call has {passed} by position, and no argument"
        )
        got = f"{option}={beyond[0] if len(beyond) == 1 else tuple(beyond)}"
        raise ArgumentError(message("jit", f"{takes} {beyond[0]}", got, "positions count from 0"))


def places_of(
    function: Callable[..., Any], option: str, names: str | Sequence[str]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the positions of the arguments that an option names, and the names of those without a position."""
    every: tuple[Any, ...] = tuple(names) if isinstance(names, SEQUENCE) else (names,)
    if not all(isinstance(name, str) for name in every):
        raise ArgumentError(message("jit", f"{option} must be names of arguments", repr(names)))
    if not every:
        return (), ()
    parameters = _signature(function)
    if parameters is not None and all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in parameters):
        accepted = {parameter.name for parameter in parameters if parameter.kind in _BY_NAME}
        for name in every:
            if name not in accepted:
                raise ArgumentError(message("jit", f"there is no argument {name!r}", f"{option}={names!r}"))
    positions, _ = _parameters(function)
    others = tuple(name for name in every if name not in positions)
    return tuple(positions.index(name) for name in every if name in positions), others


def names_at(function: Callable[..., Any], positions: Sequence[int]) -> tuple[str, ...]:
    """Return the names by which the arguments at some positions can be given."""
    parameters = (_signature(function) or []) if positions else []
    positional = [parameter for parameter in parameters if parameter.kind in _POSITIONAL]
    chosen = [positional[position] for position in positions if position < len(positional)]
    return tuple(parameter.name for parameter in chosen if parameter.kind in _BY_NAME)


def names_of(function: Callable[..., Any], structure: tree.Structure, static: Sequence[int]) -> list[str]:
    """Return the name of each leaf of the arguments, such as ``argument 0 (params)['w']``."""
    positional, named = structure.children
    parameters, _ = _parameters(function)
    names: list[str] = []
    numbers = (number for number in itertools.count() if number not in static)
    for child, number in zip(positional.children, numbers, strict=False):
        name = f" ({parameters[number]})" if number < len(parameters) else ""
        names += tree.paths(child, f"argument {number}{name}")
    for key, child in zip(named.keys, named.children, strict=True):
        names += tree.paths(child, f"argument {key}")
    return names


def paths_of(function: Callable[..., Any], structure: tree.Structure, static: Sequence[int]) -> list[str]:
    """Return the place of each leaf of the arguments, such as ``params['w']``, or ``x0['w']`` without a parameter."""
    positional, named = structure.children
    parameters, _ = _parameters(function)
    paths: list[str] = []
    numbers = (number for number in itertools.count() if number not in static)
    for child, number in zip(positional.children, numbers, strict=False):
        paths += tree.paths(
            child, parameters[number] if number < len(parameters) else f"x{number}", fields=True
        )
    for key, child in zip(named.keys, named.children, strict=True):
        paths += tree.paths(child, key, fields=True)
    return paths


def unusable(
    function: Callable[..., Any],
    leaves: Sequence[Any],
    structure: tree.Structure,
    static: Sequence[Any],
    positions: Sequence[int],
) -> Exception:
    """Return the error for arguments without a key: a static one without a hash, or an object that is not a number."""
    for argument in static:
        try:
            hash(argument)
        except TypeError:
            requirement = "a static argument must be hashable"
            value = argument.value if isinstance(argument, Named) else argument
            hint = "pass a tuple, say, or let the function take it from outside"
            hint = FROM_OUTSIDE if is_sparse(value) else hint
            return ArgumentError(message("jit", requirement, type(value).__name__, hint))
    for leaf, name in zip(leaves, names_of(function, structure, positions), strict=True):
        if not is_number(leaf):
            requirement = "arguments must be arrays, numbers or containers of them"
            hint = "name other arguments in static_argnums or static_argnames"
            hint = f"{hint}; {SETTING}" if not name.endswith(")") else hint
            hint = "write wg.jit(f), not wg.jit(...)(f)" if isinstance(leaf, FunctionType) else hint
            if name.endswith("(self)"):
                hint = "make the class a dataclass of arrays, or write static_argnums=0 where no attribute changes"
            hint = FROM_OUTSIDE if is_sparse(leaf) else hint
            return DtypeError(message("jit", requirement, f"{type(leaf).__name__} in {name}", hint))
        if not is_plain(leaf):
            return not_plain("jit", f"{type(leaf).__name__} in {name}")
        if type(leaf) is int and not is_int64(leaf):
            requirement = "a Python integer must be one of 64 bits"
            hint = "give a float, or name the argument in static_argnums"
            return RangeError(message("jit", requirement, f"{show_integer(leaf)} in {name}", hint))
    requirement = "settings of dataclasses and keys of dicts must be hashable"
    return ArgumentError(message("jit", requirement, tree.show(structure), "a tuple is, say"))


# -- messages about types --------------------------------------------------------------------------------


def show_types(leaves: Sequence[Any]) -> str:
    """Return the types of arguments as text."""
    return ", ".join(map(donation.describe, leaves))


def _shown(key: Any) -> str:
    """Return the text of a type key."""
    if isinstance(key, type):
        return key.__name__
    return show(key if isinstance(key, TensorType) else TensorType(*key[:2]))


def difference(function: Callable[..., Any], last: Any, request: Given, static: Sequence[int]) -> str:
    """Return the text that explains how a call differs from an earlier one with the key ``last``."""
    types, (structure, fixed, _) = last
    if structure != request.structure:
        return f"the containers are now {tree.show(request.structure)}, before {tree.show(structure)}"
    names = names_of(function, request.structure, static)
    for before, leaf, name in zip(types, request.leaves, names, strict=True):
        if before != _type_key(leaf):
            now, then = donation.describe(leaf), _shown(before)
            return f"{name} is now {now}, before {then if now != then else 'in another order in memory'}"
    if len(fixed) != len(request.static):
        return "another number of static arguments is given"
    for number, (before, value) in enumerate(zip(fixed, request.static, strict=True)):
        if before != _exactly(value):
            name, now = value if isinstance(value, Named) else (f"argument {static[number]}", value)
            return f"{name}, which is static, is now {textwrap.shorten(repr(now), 60)}"
    return "the keys of a dict come in another order, or a setting of a dataclass has another value"
