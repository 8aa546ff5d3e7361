"""Checks of arguments: what only a call knows is checked by the compiled program."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import RETURNED, ArgumentError, DtypeError, ShapeError, WengertError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import require_argument
from wengert.numpy.creation import asarray


def array_of(operation: str, name: str, value: Any) -> Any:
    """Return a value as an array of numbers, or raise `DtypeError`."""
    try:
        array = asarray(value)
    except WengertError:
        raise
    except (TypeError, ValueError):  # a ragged list
        array = None
    if array is None or dtype_of(array).kind not in "biufc":
        hint = RETURNED if value is None and "result" in name else ""
        raise DtypeError(message(operation, f"{name} must be numbers", _described(value), hint))
    return array


def real_of(operation: str, name: str, value: Any) -> Any:
    """Return a value as an array of real numbers."""
    array = array_of(operation, name, value)
    if dtype_of(array).kind == "c":
        raise DtypeError(message(operation, f"{name} must be real", show(array)))
    return array * 1.0


def number_of(operation: str, name: str, value: Any) -> Any:
    """Return a value as one real number."""
    if isinstance(value, float):
        return value
    number = real_of(operation, name, value)
    if shape_of(number):
        raise ShapeError(message(operation, f"{name} must be one number", show(number)))
    return number


def count_of(operation: str, name: str, value: Any) -> int:
    """Return a value as an integer above 0."""
    requirement = f"{name} must be an integer above 0"
    try:
        count = operator.index(value)
    except TypeError:
        raise DtypeError(message(operation, requirement, _described(value))) from None
    if count < 1:
        raise ArgumentError(message(operation, requirement, str(count)))
    return count


def check_callable(operation: str, name: str, value: Any, form: str) -> None:
    """Raise `DtypeError` if a value is not a function."""
    if not callable(value):
        raise DtypeError(message(operation, f"{name} must be a function {form}", _described(value)))


def arguments_of(operation: str, args: Any) -> Sequence[Any]:
    """Return the further arguments of a function."""
    if args is None:
        return ()
    is_sequence: bool = issubclass(type(args), (tuple, list)) or bool(getattr(args, "shape", ()))
    if not is_sequence:
        hint = "write args=(value,) for one argument"
        raise DtypeError(message(operation, "args must be a tuple", _described(args), hint))
    return args


def called(operation: str, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function; where it does not take as many arguments, the error says so."""
    try:
        return function(*arguments)
    except TypeError:
        if _accepts(function, arguments):
            raise
    signature = f"{len(arguments)} arguments: t, y, and {len(arguments) - 2} of args"
    names = ", ".join(inspect.signature(function).parameters)
    raise DtypeError(message(operation, f"{name} must take {signature}", f"a function of ({names})"))


def required(operation: str, value: Any, holds: Any, requirement: str, got: str = "", hint: str = "") -> Any:
    """Return a value for which a requirement holds, or raise `ArgumentError`, if need be when the program runs."""
    flags = concrete(holds)
    if flags is None:
        text = f"{requirement}; {hint}" if hint else requirement
        return require_argument(value, np.all(holds), operation=operation, requirement=text)
    if not np.all(flags):
        raise ArgumentError(message(operation, requirement, got or str(concrete(value)), hint))
    return value


def _accepts(function: Callable[..., Any], arguments: Sequence[Any]) -> bool:
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # it has no signature
        pass
    return True


def _described(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"a {type(value).__name__}"
