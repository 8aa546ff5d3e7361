"""Warnings of random generators that draw while a function is traced: every later call gets the same numbers.

The search goes through the objects that the function can reach. A generator has drawn if its state has changed, and the
function's bytecode tells which lines use it.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import itertools
import os
import sys
import threading
import types
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from wengert.core.errors import FrozenRandomWarning, definition, is_users, name_of, user_frame

_MOST = 1000
"""Objects that the search visits at most: a function may reach all that there are."""
_DEPTH = 8
"""How deep the search goes."""
_ITEMS = 32
"""Items that the search visits of a container."""
_LINES = 3
"""Lines that a warning names."""
_NAMED = ("LOAD_ATTR", "LOAD_METHOD")


class Draws:
    """Warns, once for a function, that a generator has drawn while it was traced.

    Args:
        operation: what traces it.
        function: the user's.
    """

    def __init__(self, operation: str, function: Callable[..., Any]) -> None:
        self._operation = operation
        self._function = function
        self._has_told = False

    @contextlib.contextmanager
    def watched(self, *fixed: Any) -> Generator[None]:
        """Watch the generators that the function and its static arguments can reach."""
        if self._has_told:
            yield
            return
        search = _Search((self._function, *fixed))
        before = [_state(source.generator) for source in search.sources.values()]
        alone = _is_alone()
        yield
        pairs = zip(before, search.sources.values(), strict=True)
        moved = [source for state, source in pairs if state != _state(source.generator)]
        # Another thread may have drawn from a global generator that the code does not name.
        alone = alone and _is_alone()
        moved = [source for source in moved if alone or not source.is_global or search.uses(source)]
        if moved:
            self._has_told = True
            self._tell(moved, list(dict.fromkeys(line for one in moved for line in search.uses(one))))

    def _tell(self, moved: Iterable[_Source], lines: list[str]) -> None:
        who = " and ".join(dict.fromkeys(source.what for source in moved))
        where = f" [{', '.join(lines[:_LINES])}]" if lines else definition(self._function)
        text = (
            f"{self._operation}: {who} drew while {name_of(self._function)} was traced: the numbers are constants of "
            "the program, the same in every call; draw them with wengert.random, from a key that is an argument."
        )
        warnings.warn(text + where, FrozenRandomWarning, stacklevel=_level())


@dataclass
class _Source:
    """A generator, and the names by which the code reaches it."""

    generator: Any
    what: str
    is_global: bool = False
    names: set[str] = field(default_factory=set[str])


class _Search:
    """Looks for generators in a function's globals, its closure, and the objects that these lead to, breadth first."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self.sources: dict[int, _Source] = {}
        self._codes: list[types.CodeType] = []
        self._seen: dict[int, Any] = {}
        self._waiting = deque((root, "", 0) for root in roots)
        while self._waiting and len(self._seen) < _MOST:
            self._look_at(*self._waiting.popleft())
        for generator in _globals():
            self._add(generator, "")

    def _look_at(self, value: Any, name: str, depth: int) -> None:
        if issubclass(type(value), _kinds()):
            self._add(value, name)
        elif id(value) not in self._seen and depth < _DEPTH:
            self._seen[id(value)] = value
            with contextlib.suppress(
                Exception
            ):  # a class of the user's may do anything, and threads change containers
                for inner, child in self._inside(value):
                    self._waiting.append((child, inner or name, depth + 1))

    def _add(self, generator: Any, name: str) -> None:
        source = self.sources.get(id(generator))
        if source is None:
            is_global = any(generator is one for one in _globals())
            source = self.sources[id(generator)] = _Source(generator, _described(generator), is_global)
        if name:
            source.names.add(name)

    def _inside(self, value: Any) -> Iterable[tuple[str, Any]]:
        """Return the objects that a value holds, with the names by which code reaches them."""
        kind = cast("Any", type(value))
        if kind is types.FunctionType:
            return self._of_function(value)
        if kind in (types.MethodType, types.BuiltinMethodType):
            owner = value.__self__
            return [("", owner), ("", getattr(value, "__func__", None))] if not _is_module(owner) else []
        if kind is functools.partial:
            taken = getattr(getattr(value.func, "__code__", None), "co_varnames", ())
            given = itertools.zip_longest(taken[: len(value.args)], value.args, fillvalue="")
            return [("", value.func), *given, *value.keywords.items()]
        if issubclass(kind, dict):
            return [("", one) for one in itertools.islice(dict[Any, Any].values(value), _ITEMS)]
        if issubclass(kind, (tuple, list)):
            return [("", one) for one in value[:_ITEMS]]
        return _of_class(value) if issubclass(kind, type) else _of_object(value)

    def _of_function(self, function: Any) -> Iterator[tuple[str, Any]]:
        code: types.CodeType = function.__code__
        yield from function.__dict__.items()
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            with contextlib.suppress(ValueError):  # it is empty so far
                yield name, cell.cell_contents
        defaults = function.__defaults__ or ()
        yield from zip(code.co_varnames[code.co_argcount - len(defaults) :], defaults, strict=False)
        yield from (function.__kwdefaults__ or {}).items()
        if is_users(code):
            self._codes.append(code)
            names = {name for one in _codes_in(code) for name in one.co_names}
            yield from _among(function.__globals__, names)

    def uses(self, source: _Source) -> list[str]:
        """Return the lines that use a generator: those that take an attribute of it, or else all that load it."""
        found = {True: dict[str, None](), False: dict[str, None]()}
        for code in (inner for outer in self._codes for inner in _codes_in(outer)):
            instructions = list(dis.get_instructions(code))
            for one, following in itertools.pairwise(instructions):
                if one.opname.startswith("LOAD") and _names_of(one) & source.names:
                    line = one.positions.lineno if one.positions else None
                    asks = following.opname in _NAMED
                    found[asks][f"{os.path.basename(code.co_filename)}:{line or code.co_firstlineno}"] = None
        return list(found[True] or found[False])


def _names_of(instruction: dis.Instruction) -> set[Any]:
    """Return the names that an instruction loads; some of Python's newer ones load two."""
    value = instruction.argval
    return set(value) if isinstance(value, tuple) else {value} if isinstance(value, str) else set()


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the code of a function, and that of the functions and comprehensions that it makes."""
    yield code
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _codes_in(value)


def _among(space: Mapping[str, Any], names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield the values of some names; for a module, the values of the same names in it."""
    names = set(names)
    for name in names & space.keys():
        value = space[name]
        if value is np and "random" in names:
            value = np.random  # which NumPy loads when it is first asked for
        if not _is_module(value):
            yield name, value
        elif value.__dict__ is not space:
            yield from _among(value.__dict__, names - {name})


def _is_module(value: Any) -> bool:
    return issubclass(type(value), types.ModuleType)


def _of_class(kind: Any) -> list[tuple[str, Any]]:
    """Return the methods, other attributes and bases of a class of the user's."""
    if kind.__module__.split(".")[0] in ("builtins", "numpy", "wengert"):
        return []
    return [*vars(kind).items(), *(("", base) for base in kind.__bases__)]


def _of_object(value: Any) -> Iterator[tuple[str, Any]]:
    kind = cast("Any", type(value))
    inside: dict[str, Any] = getattr(value, "__dict__", None) or {}
    for name, one in list(inside.items()):
        if not (name.startswith("_") and kind.__module__.startswith("wengert")):
            yield name, one
    yield "", kind
    slots: Any = getattr(kind, "__slots__", ())
    for name in (slots,) if isinstance(slots, str) else slots:
        with contextlib.suppress(AttributeError):  # it is empty so far
            yield name, object.__getattribute__(value, name)


# -- generators ------------------------------------------------------------------------------------------


def _kinds() -> tuple[type, ...]:
    """Return the classes of generators in the modules that are loaded."""
    numpys, pythons = sys.modules.get("numpy.random"), sys.modules.get("random")
    found = [] if numpys is None else [numpys.Generator, numpys.RandomState, numpys.BitGenerator]
    return (*found, *([] if pythons is None else [pythons.Random]))


def _globals() -> list[Any]:
    """Return the global generators of NumPy and Python, if their modules are loaded."""
    numpys, pythons = sys.modules.get("numpy.random"), sys.modules.get("random")
    owners = (getattr(numpys, "rand", None), getattr(pythons, "random", None))
    return [owner.__self__ for owner in owners if owner is not None]


def _described(generator: Any) -> str:
    """Return what a user calls a generator."""
    is_pythons = not type(generator).__module__.startswith("numpy")
    if any(generator is one for one in _globals()):
        return "Python's random module" if is_pythons else "NumPy's global generator, np.random,"
    return f"a generator {'random' if is_pythons else 'np.random'}.{type(generator).__name__}"


def _state(generator: Any) -> Any:
    """Return the state of a generator in a form that can be compared; None if it has no state."""
    try:
        if hasattr(generator, "getstate"):
            return generator.getstate()
        if hasattr(generator, "get_state"):
            return _comparable(generator.get_state(legacy=False))
        return _comparable(getattr(generator, "bit_generator", generator).state)
    except Exception:  # a class of the user's may do anything
        return None


def _comparable(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: _comparable(value) for key, value in state.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(state, tuple):
        return tuple(map(_comparable, state))  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    return state.tobytes() if isinstance(state, np.ndarray) else state


def _is_alone() -> bool:
    """Tell whether the user has no other thread, which might have drawn."""
    others = set(threading.enumerate()) - {threading.current_thread()}
    return all(one.name.startswith("wengert") for one in others)


def _level() -> int:
    """Return the ``stacklevel`` at which a warning names the user's line."""
    wanted, level = user_frame(), 1
    frame: types.FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame is not wanted:
        frame, level = frame.f_back, level + 1
    return level if frame is not None else 1
