"""Functions with the names and signatures of the array API standard, made of NumPy's functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import CONSTANT, STANDARD, Box, snapshot
from wengert.engine.core.dtypes import SEQUENCE
from wengert.engine.core.errors import ArgumentError, message
from wengert.numpy.creation import array

#: The devices of the standard; Wengert computes on the processor.
DEVICE = "cpu"
_PLAIN: Any = (np.ndarray, np.generic, bool, int, float, complex)


def standard(value: Any, inputs: Sequence[Any] = ()) -> Any:
    """Return the result of a function as an array of the standard: a box, also of a number.

    Args:
        value: an array, a number, or a tuple of them; a named tuple keeps its fields.
        inputs: the arguments of the function, which stay the same objects where it returns one.

    Example:
        >>> standard(np.float64(2.0)).shape
        ()
    """
    if isinstance(value, Box):
        if value.owner is not CONSTANT or value.lens is not None or any(value is x for x in inputs):
            return value
        return STANDARD.constant(value.state.value)
    if isinstance(value, _PLAIN):
        return STANDARD.constant(value)
    if isinstance(value, SEQUENCE):
        items: Any = [standard(item, inputs) for item in value]  # pyright: ignore[reportUnknownVariableType]
        kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
        return kind(*items) if hasattr(kind, "_fields") else kind(items)
    return value


def check_device(operation: str, device: Any) -> None:
    """Raise `ArgumentError` for a device other than the processor."""
    if device is not None and device != DEVICE:
        raise ArgumentError(message(operation, f'the one device is "{DEVICE}"', repr(device)))


def of_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes plain arrays as constants, and whose results are arrays of the standard."""

    def compute(*arguments: Any, **options: Any) -> Any:
        arguments = tuple(map(_constant, arguments))
        options = {name: _constant(value) for name, value in options.items()}
        return standard(function(*arguments, **options), arguments)

    return compute


def _constant(value: Any) -> Any:
    """Return a plain array as a box, so that each of NumPy's functions dispatches on it; other values stay."""
    return STANDARD.constant(snapshot(value)) if isinstance(value, np.ndarray) else value


def others_of(own: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module, for names that it lacks."""

    def absent(name: str) -> Any:
        raise AttributeError(f"module {own!r} has no attribute {name!r}, nor has the standard", name=name)

    return absent


def declared(module: str, signatures: str, numpys: Any, **own: Callable[..., Any]) -> dict[str, Any]:
    """Return functions by their names, with the signatures of the standard: our own ones, or those of NumPy's module.

    ``signatures`` has one a line, such as ``sum(x, /, *, axis=None)``. A positional argument goes to the implementation
    by its place, and a keyword by its name, unless it is None by default and left so, for which NumPy has other marks.

    Example:
        >>> table = declared("example", "sum(x, /, *, axis=None)", np)
        >>> float(table["sum"]([1.0, 2.0]))
        3.0
    """
    result: dict[str, Any] = {}
    for line in signatures.split("\n"):
        if text := line.strip():
            name = text.partition("(")[0]
            implementation = own.get(name) or getattr(numpys, name)
            result[name] = _declared(module, name, text.removeprefix(name)[1:-1], implementation)
    return result


def _declared(module: str, name: str, parameters: str, implementation: Callable[..., Any]) -> Any:
    """Return a function with the parameters that a text states."""
    parsed: Any = ast.parse(f"lambda {parameters}: 0", mode="eval").body
    listed: ast.arguments = parsed.args
    positional = [parameter.arg for parameter in (*listed.posonlyargs, *listed.args)]
    if listed.vararg is not None:
        positional.append(f"*{listed.vararg.arg}")
    keywords: list[str] = []
    for parameter, default in zip(listed.kwonlyargs, listed.kw_defaults, strict=True):
        optional = isinstance(default, ast.Constant) and default.value is None
        entry = f'"{parameter.arg}": {parameter.arg}'
        keywords.append(
            f"**({{{entry}}} if {parameter.arg} is not None else {{}})" if optional else f"**{{{entry}}}"
        )
    source = f"lambda {parameters}: compute({', '.join([*positional, *keywords])})"
    function = eval(compile(source, __file__, "eval"), {"compute": of_arrays(implementation)})
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    origin = getattr(implementation, "__module__", "numpy")
    theirs = f"numpy.{name}" if origin.startswith("numpy") else f"{origin}.{implementation.__name__}"
    function.__doc__ = (
        f"Compute `{name}` of the array API standard, by `{theirs}`.\n\n"
        f"Args:\n    {', '.join(_names(listed))}: as in the standard.\n\nReturns:\n    Arrays, as in the standard.\n"
    )
    return function


def _names(listed: ast.arguments) -> list[str]:
    gathered = [listed.vararg] if listed.vararg is not None else []
    return [parameter.arg for parameter in (*listed.posonlyargs, *listed.args, *gathered, *listed.kwonlyargs)]


def as_array(value: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    """Return an array of the standard of a number, an array, or nested sequences of them.

    A box stays as it is, unless it is converted, or copied with ``copy=True``. A plain array is copied: a later write
    to it must not change the derivative. ``copy=False`` raises `ArgumentError` where elements must be copied.

    Example:
        >>> as_array([1, 2]).dtype
        dtype('int64')
    """
    if copy is False and not (isinstance(value, Box) and dtype in (None, value.dtype)):
        requirement = "copy=False needs an array of the result's dtype, inside the transform"
        raise ArgumentError(message("asarray", requirement, type(value).__name__, "leave copy=None"))
    result = array(operand_of(value), dtype, copy=copy)
    return snapshot(result) if isinstance(result, np.ndarray) else result


def operand_of(value: Any) -> Any:
    """Return a box as it is, and what has the buffer protocol or DLPack's as a plain array."""
    if isinstance(value, (Box, *SEQUENCE)):
        return value
    if not isinstance(value, _PLAIN) and hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    return np.asarray(value) if isinstance(value, memoryview) else value
