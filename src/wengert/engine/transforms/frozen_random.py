"""Warnings about random generators that draw while a function is traced: every later call gets the same numbers.

A search visits the objects that the function can reach. A generator has drawn if its state has changed; the function's
bytecode shows the lines that use it.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import itertools
import sys
import threading
import types
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from wengert.engine.core.errors import FrozenRandomWarning, definition, is_users, name_of, place, users_level
from wengert.engine.core.notebooks import readable

_MAX_OBJECTS = 1000
"""Objects that the search visits at most."""
_MAX_DEPTH = 8
"""The depth of the search."""
_MAX_ITEMS = 32
"""Items of a container that the search visits at most."""
_MAX_LINES = 3
"""Lines that a warning names at most."""
_ATTRIBUTE_OPCODES = ("LOAD_ATTR", "LOAD_METHOD")


class Draws:
    """Warns, once for a function, that a generator drew numbers while the function was traced."""

    def __init__(self, operation: str, function: Callable[..., Any]) -> None:
        self._operation = operation
        self._function = function
        self._has_warned = False

    @contextlib.contextmanager
    def watched(self, *fixed: Any) -> Generator[None]:
        """Watch the generators that the function and its static arguments can reach."""
        if self._has_warned:
            yield
            return
        search = _Search((self._function, *fixed))
        before = [_state(source.generator) for source in search.sources.values()]
        alone = _is_alone()
        yield
        pairs = zip(before, search.sources.values(), strict=True)
        moved = [source for state, source in pairs if state != _state(source.generator)]
        # Another thread may have drawn from a global generator that the function does not use.
        alone = alone and _is_alone()
        moved = [source for source in moved if alone or not source.is_global or search.uses(source)]
        if moved:
            self._has_warned = True
            self._warn(moved, list(dict.fromkeys(line for source in moved for line in search.uses(source))))

    def _warn(self, moved: Iterable[_Source], lines: list[str]) -> None:
        names = " and ".join(dict.fromkeys(source.description for source in moved))
        where = f" [{', '.join(lines[:_MAX_LINES])}]" if lines else definition(self._function)
        text = (
            f"{self._operation}: {names} drew while {name_of(self._function)} was traced: the numbers are constants of "
            "the program, the same in every call; draw them with wengert.random, from a key that is an argument."
        )
        warnings.warn(text + where, FrozenRandomWarning, stacklevel=users_level())


@dataclass
class _Source:
    """A generator, and the names by which code loads it."""

    generator: Any
    description: str
    is_global: bool = False
    names: set[str] = field(default_factory=set[str])


class _Search:
    """A breadth-first search for generators from a function's globals and closure."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self.sources: dict[int, _Source] = {}
        self._codes: list[types.CodeType] = []
        self._seen: dict[int, Any] = {}
        self._waiting = deque((root, "", 0) for root in roots)
        while self._waiting and len(self._seen) < _MAX_OBJECTS:
            self._visit(*self._waiting.popleft())
        for generator in _globals():
            self._add(generator, "")

    def _visit(self, value: Any, name: str, depth: int) -> None:
        if issubclass(type(value), _kinds()):
            self._add(value, name)
        elif id(value) not in self._seen and depth < _MAX_DEPTH:
            self._seen[id(value)] = value
            with contextlib.suppress(Exception):  # user classes may raise anything; threads change containers
                for inner, child in self._inside(value):
                    self._waiting.append((child, inner or name, depth + 1))

    def _add(self, generator: Any, name: str) -> None:
        source = self.sources.get(id(generator))
        if source is None:
            is_global = any(generator is candidate for candidate in _globals())
            source = self.sources[id(generator)] = _Source(generator, _describe(generator), is_global)
        if name:
            source.names.add(name)

    def _inside(self, value: Any) -> Iterable[tuple[str, Any]]:
        """Return the objects that a value holds, with the names by which code loads them."""
        kind = cast("Any", type(value))
        if kind is types.FunctionType:
            return self._of_function(value)
        if kind in (types.MethodType, types.BuiltinMethodType):
            owner = value.__self__
            return [("", owner), ("", getattr(value, "__func__", None))] if not _is_module(owner) else []
        if kind is functools.partial:
            taken = getattr(getattr(value.func, "__code__", None), "co_varnames", ())
            pairs = itertools.zip_longest(taken[: len(value.args)], value.args, fillvalue="")
            return [("", value.func), *pairs, *value.keywords.items()]
        if issubclass(kind, dict):
            return [("", item) for item in itertools.islice(dict[Any, Any].values(value), _MAX_ITEMS)]
        if issubclass(kind, (tuple, list)):
            return [("", item) for item in value[:_MAX_ITEMS]]
        return _of_class(value) if issubclass(kind, type) else _of_object(value)

    def _of_function(self, function: Any) -> Iterator[tuple[str, Any]]:
        code: types.CodeType = function.__code__
        yield from function.__dict__.items()
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            with contextlib.suppress(ValueError):  # an empty cell
                yield name, cell.cell_contents
        defaults = function.__defaults__ or ()
        yield from zip(code.co_varnames[code.co_argcount - len(defaults) :], defaults, strict=False)
        yield from (function.__kwdefaults__ or {}).items()
        if is_users(code):
            self._codes.append(code)
            names = {name for inner in _codes_in(code) for name in inner.co_names}
            yield from _among(function.__globals__, names)

    def uses(self, source: _Source) -> list[str]:
        """Return the lines that take an attribute of a generator, or else all lines that load it."""
        lines = {True: dict[str, None](), False: dict[str, None]()}
        for code in (inner for outer in self._codes for inner in _codes_in(outer)):
            for load, following in itertools.pairwise(dis.get_instructions(code)):
                if load.opname.startswith("LOAD") and _names_of(load) & source.names:
                    line = load.positions.lineno if load.positions else None
                    takes_attribute = following.opname in _ATTRIBUTE_OPCODES
                    where = readable(place(code.co_filename, line or code.co_firstlineno))
                    lines[takes_attribute][where] = None
        return list(lines[True] or lines[False])


def _names_of(instruction: dis.Instruction) -> set[Any]:
    value = instruction.argval
    return set(value) if isinstance(value, tuple) else {value} if isinstance(value, str) else set()


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _codes_in(value)


def _among(space: Mapping[str, Any], names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield the values of names in a namespace; for a module, the values of these names in the module."""
    names = set(names)
    for name in names & space.keys():
        value = space[name]
        if value is np and "random" in names:
            value = np.random  # NumPy imports it on first use
        if not _is_module(value):
            yield name, value
        elif value.__dict__ is not space:
            yield from _among(value.__dict__, names - {name})


def _is_module(value: Any) -> bool:
    return issubclass(type(value), types.ModuleType)


def _of_class(kind: Any) -> list[tuple[str, Any]]:
    if kind.__module__.split(".")[0] in ("builtins", "numpy", "wengert"):
        return []
    return [*vars(kind).items(), *(("", base) for base in kind.__bases__)]


def _of_object(value: Any) -> Iterator[tuple[str, Any]]:
    kind = cast("Any", type(value))
    inside: dict[str, Any] = getattr(value, "__dict__", None) or {}
    for name, item in list(inside.items()):
        if not (name.startswith("_") and kind.__module__.startswith("wengert")):
            yield name, item
    yield "", kind
    slots: Any = getattr(kind, "__slots__", ())
    for name in (slots,) if isinstance(slots, str) else slots:
        with contextlib.suppress(AttributeError):  # an empty slot
            yield name, object.__getattribute__(value, name)


# -- generators ------------------------------------------------------------------------------------------


def _modules() -> tuple[Any, Any]:
    """Return NumPy's and Python's modules of generators, None if not loaded."""
    return sys.modules.get("numpy.random"), sys.modules.get("random")


def _kinds() -> tuple[type, ...]:
    numpys, pythons = _modules()
    kinds = [] if numpys is None else [numpys.Generator, numpys.RandomState, numpys.BitGenerator]
    return (*kinds, *([] if pythons is None else [pythons.Random]))


def _globals() -> list[Any]:
    numpys, pythons = _modules()
    owners = (getattr(numpys, "rand", None), getattr(pythons, "random", None))
    return [owner.__self__ for owner in owners if owner is not None]


def _describe(generator: Any) -> str:
    is_pythons = not type(generator).__module__.startswith("numpy")
    if any(generator is candidate for candidate in _globals()):
        return "Python's random module" if is_pythons else "NumPy's global generator, np.random,"
    return f"a generator {'random' if is_pythons else 'np.random'}.{type(generator).__name__}"


def _state(generator: Any) -> Any:
    """Return the state of a generator in a comparable form; None if it has no state."""
    try:
        if hasattr(generator, "getstate"):
            return generator.getstate()
        if hasattr(generator, "get_state"):
            return _comparable(generator.get_state(legacy=False))
        return _comparable(getattr(generator, "bit_generator", generator).state)
    except Exception:  # user classes may raise anything
        return None


def _comparable(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: _comparable(value) for key, value in state.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(state, tuple):
        return tuple(map(_comparable, state))  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    return state.tobytes() if isinstance(state, np.ndarray) else state


def _is_alone() -> bool:
    others = set(threading.enumerate()) - {threading.current_thread()}
    return all(thread.name.startswith("wengert") for thread in others)
