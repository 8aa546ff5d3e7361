"""Digests that tell whether a function and its arguments are those of an earlier process."""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

import numpy as np

from wengert.engine.core.errors import is_users
from wengert.engine.core.tree import children
from wengert.parallel.packing import global_names

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


def digest(value: Any) -> str:
    """Return a digest of a value by its content: arrays, containers, functions with their code and closures.

    The user's own functions and classes count with the global variables that they use, functions among them; those of
    Wengert, Python and installed packages with their names. What a function takes from a module (``settings.rate``) is
    not seen.

    Example:
        >>> def scaled(factor):
        ...     return lambda x: factor * x
        >>> digest(scaled(2)) == digest(scaled(2)), digest(scaled(2)) == digest(scaled(3))
        (True, False)
    """
    writer = _Digest()
    writer.add(value)
    return writer.sha.hexdigest()


class _Digest:
    def __init__(self, seen: dict[int, int] | None = None) -> None:
        self.sha = hashlib.sha256()
        self._seen = dict(seen or {})
        self._kept: list[Any] = []

    def _text(self, *parts: Any) -> None:
        for part in parts:
            content = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
            self.sha.update(len(content).to_bytes(8, "little") + content)

    def add(self, value: Any) -> None:
        """Add a value; an object that has been added before, such as one inside of itself, adds its number."""
        if isinstance(value, _PLAIN):
            self._text(type(value).__name__, repr(value))
            return
        if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
            self._text("array", value.dtype.str, value.shape)
            self.sha.update(
                np.ascontiguousarray(value).view(np.uint8).data if value.ndim else value.tobytes()
            )
            return
        if id(value) in self._seen:
            self._text("again", self._seen[id(value)])
            return
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)  # an id is unique as long as the value lives
        self._add_new(value)

    def _add_new(self, value: Any) -> None:
        if isinstance(value, functools.partial):
            self._add_all("partial", (value.func, value.args, value.keywords))
        elif isinstance(value, MethodType):
            self._add_all("method", (value.__func__, value.__self__))
        elif isinstance(value, FunctionType):
            self._add_function(value)
        elif isinstance(value, CodeType):
            self._add_code(value)
        elif isinstance(value, type):
            self._add_class(cast("type[Any]", value))
        elif isinstance(value, (ModuleType, BuiltinFunctionType, np.ufunc)):
            module, name = getattr(value, "__module__", ""), getattr(value, "__qualname__", value.__name__)
            self._text("name", module, name)
        elif isinstance(value, (set, frozenset)):
            self._add_set(cast("set[Any]", value))
        elif (parts := children(value)) is not None:
            self._add_all("container", (type(value), *(part for pair in parts.items() for part in pair)))
        else:
            self._add_object(value)

    def _add_all(self, name: str, parts: Iterable[Any]) -> None:
        self._text("(", name)
        for part in parts:
            self.add(part)
        self._text(")")

    def _add_set(self, values: Iterable[Any]) -> None:
        """Add the digests of the elements, sorted: the order of a set differs between processes."""
        digests: list[str] = []
        for value in values:
            writer = _Digest(self._seen)
            writer.add(value)
            digests.append(writer.sha.hexdigest())
        self._text("set", *sorted(digests))

    def _add_function(self, function: FunctionType) -> None:
        cells: list[Any] = []
        for cell in function.__closure__ or ():
            try:
                cells.append(cell.cell_contents)
            except ValueError:  # it is empty
                cells.append(())
        defaults = function.__defaults__, function.__kwdefaults__
        self._add_all("function", (function.__module__, function.__qualname__, defaults, cells))
        if is_users(function.__code__):
            used = sorted({*global_names(function.__code__)} & function.__globals__.keys())
            self._add_all("code", (function.__code__, *((name, function.__globals__[name]) for name in used)))

    def _add_code(self, code: CodeType) -> None:
        """Add instructions, constants and names, not the lines."""
        self._text("code", code.co_code, code.co_names, code.co_varnames, code.co_freevars)
        for constant in code.co_consts:
            self.add(constant)

    def _add_class(self, kind: type[Any]) -> None:
        """Add the name of a class, and what the user's classes that it inherits from, itself among them, define."""
        self._text("class", kind.__module__, kind.__qualname__)
        for base in kind.__mro__:
            members = {  # the functions of methods of any kind, and other members as they are
                name: getattr(member, "fget", None) or getattr(member, "__func__", member)
                for name, member in vars(base).items()
            }
            functions = {name: part for name, part in members.items() if isinstance(part, FunctionType)}
            if any(is_users(function.__code__) for function in functions.values()):
                named = sorted(name for name in members if name in functions or not name.startswith("__"))
                self._add_all("members", (part for name in named for part in (name, members[name])))

    def _add_object(self, value: Any) -> None:
        self._text("object")
        self.add(type(value))
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None:
            self.add(wrapped)
            return
        state = getattr(value, "__dict__", None)
        if state:
            self._add_all("state", (part for name in sorted(state) for part in (name, state[name])))
            return
        try:
            self._text(pickle.dumps(value, protocol=5))
        except Exception:  # the kind must do
            self._text("opaque")
