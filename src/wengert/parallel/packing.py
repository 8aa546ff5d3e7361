"""Functions as bytes for other processes: closures, lambdas and transformed functions, too."""

from __future__ import annotations

import builtins
import contextlib
import dis
import functools
import io
import marshal
import pickle
import pkgutil
import sys
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, cast

from wengert.engine.core.errors import UnsupportedError, message, name_of

_MAIN = "__main__"
_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
_UNWRITABLE = (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError)


def packed(operation: str, function: Callable[..., Any], value: Any, *, shares_main: bool) -> bytes:
    """Return a value that holds a function as bytes for `unpacked` in another process of the same Python.

    `pickle` writes the names of functions, and finds only functions of modules. Here a function without such a name (a
    closure, a lambda, ``wg.grad(f)``) is written as its code, its closure, and the name of its module. A function of
    the main module, which the other process may not have, is written with the global variables that it uses; if these
    cannot be written and the other process ``shares_main``, it is found there by name. `UnsupportedError` names the
    user's function if a part of the value cannot be written, for example an open file.
    """
    try:
        return _pickled(value, by_name=False)
    except _UNWRITABLE as problem:
        if shares_main and _has_file():
            with contextlib.suppress(*_UNWRITABLE):
                return _pickled(value, by_name=True)
        got = f"{type(problem).__name__}: {problem}"
        hint = "make that part inside of the function, or give executor=ThreadPoolExecutor()"
        requirement = f"{title(function)} must be sent to another process, with all that it refers to"
        raise UnsupportedError(message(operation, requirement, got, hint)) from None


def _pickled(value: Any, *, by_name: bool) -> bytes:
    stream = io.BytesIO()
    _Pickler(stream, by_name).dump(value)
    return stream.getvalue()


def unpacked(content: bytes) -> Any:
    """Return the value that `packed` wrote."""
    return pickle.loads(content)


def title(function: Callable[..., Any]) -> str:
    """Return a name for a function that is the same in each process.

    Example:
        >>> import functools
        >>> title(functools.partial(title, None)), title(print)
        ('partial(title)', 'print')
    """
    if isinstance(function, functools.partial):
        return f"partial({title(function.func)})"
    named = hasattr(function, "__qualname__") or hasattr(function, "__name__")
    return name_of(function) if named else type(function).__qualname__


def _has_file() -> bool:
    """Return whether another process can import the main module: not in a notebook or an interactive session."""
    main = sys.modules.get(_MAIN)
    return getattr(main, "__spec__", None) is not None or hasattr(main, "__file__")


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, main_by_name: bool) -> None:
        super().__init__(stream, protocol=5)
        self._main_by_name = main_by_name

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, ModuleType):
            return pkgutil.resolve_name, (value.__name__,)
        if isinstance(value, FunctionType) and not self._is_reachable(value):
            return self._reduced(value)
        return NotImplemented

    def _is_shared(self, module: str) -> bool:
        return module in sys.modules and (module != _MAIN or self._main_by_name)

    def _is_reachable(self, function: FunctionType) -> bool:
        """Return whether the other process finds a function by its name."""
        if not self._is_shared(function.__module__):
            return False
        value: Any = sys.modules[function.__module__]
        for part in function.__qualname__.split("."):
            value = getattr(value, part, None)
        return value is function

    def _reduced(self, function: FunctionType) -> Any:
        variables = function.__globals__
        module = variables.get("__name__", _MAIN)
        own = self._is_shared(module) and vars(sys.modules[module]) is variables
        used = (
            {}
            if own
            else {name: variables[name] for name in global_names(function.__code__) if name in variables}
        )
        state = _State(
            used,
            [_content(cell) for cell in function.__closure__ or ()],
            function.__defaults__,
            function.__kwdefaults__,
            vars(function),
            function.__qualname__,
            function.__module__,
        )
        arguments = marshal.dumps(function.__code__), function.__name__, module if own else None
        return _function, arguments, state, None, None, _fill


class _State(NamedTuple):
    """The parts of a function that may refer to the function itself, and so are written after it."""

    variables: dict[str, Any]
    cells: list[tuple[Any, ...]]
    defaults: tuple[Any, ...] | None
    keyword_defaults: dict[str, Any] | None
    attributes: dict[str, Any]
    qualname: str
    module: str


def _content(cell: CellType) -> tuple[Any, ...]:
    """Return a cell's value as a tuple; an empty tuple for an empty cell."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def global_names(code: CodeType) -> Iterator[str]:
    """Yield the names of the global variables that some code and the functions in it use."""
    yield from (step.argval for step in dis.get_instructions(code) if step.opname in _GLOBAL)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from global_names(constant)


def _function(content: bytes, name: str, module: str | None) -> FunctionType:
    code = cast("CodeType", marshal.loads(content))
    home: ModuleType | None = None if module is None else pkgutil.resolve_name(module)
    # NumPy looks for the builtins there when it imports in the middle of a call.
    variables = {"__name__": _MAIN, "__builtins__": vars(builtins)} if home is None else vars(home)
    return FunctionType(code, variables, name, None, tuple(CellType() for _ in code.co_freevars))


def _fill(function: FunctionType, state: _State) -> None:
    if state.variables:
        function.__globals__.update(state.variables)
    for cell, content in zip(function.__closure__ or (), state.cells, strict=True):
        if content:
            cell.cell_contents = content[0]
    function.__defaults__, function.__kwdefaults__ = state.defaults, state.keyword_defaults
    vars(function).update(state.attributes)
    function.__qualname__, function.__module__ = state.qualname, state.module
