"""SciPy, which is optional, and what its solvers take and return."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from wengert.engine.array.substitutes import as_tuple as as_tuple
from wengert.engine.core.errors import ArgumentError, MissingExtraError, message
from wengert.optimize.flat import Flat


def scipy_optimize(operation: str) -> Any:
    """Return the module `scipy.optimize`, or raise `MissingExtraError`."""
    try:
        from scipy import optimize
    except ImportError:
        raise MissingExtraError(message(operation, "SciPy is needed", hint="pip install scipy")) from None
    return optimize


def part_of(function: Callable[..., Any], position: int) -> Callable[..., Any]:
    """Return the function that returns one part of what a function returns, such as the value beside its derivative."""
    return lambda *arguments: function(*arguments)[position]


def in_containers(result: Any, flat: Flat, *names: str) -> Any:
    """Put the container of the variables in the place of each named vector of a result of SciPy's."""
    for name in names:
        value = result.get(name)
        if getattr(value, "shape", None) == (flat.size,):
            result[name] = flat.users(value)
    return result


def callback_for(callback: Callable[..., Any] | None, flat: Flat) -> Callable[..., Any] | None:
    """Return the callback that SciPy calls for one of the user's, which gets containers.

    SciPy passes ``intermediate_result`` if this is the name of the only parameter, else the point, and after it what
    the method adds.
    """
    if callback is None:
        return None
    if not callable(callback):
        raise ArgumentError(message(flat.operation, "callback must be a function", type(callback).__name__))
    if _parameters(callback) == ["intermediate_result"]:

        def with_result(intermediate_result: Any) -> Any:
            result = type(intermediate_result)(intermediate_result)
            return callback(intermediate_result=in_containers(result, flat, "x"))

        return with_result

    def with_point(x: Any, *more: Any) -> Any:
        return callback(flat.users(x), *more)

    return with_point


def callback_for_iterations(
    callback: Callable[..., Any] | None, flat: Flat, result_type: Any
) -> Callable[[Any, float], Any] | None:
    """Return a function of a vector and a value that calls the user's callback in either of SciPy's forms."""
    called = callback_for(callback, flat)
    if called is None:
        return None
    if _parameters(called) == ["intermediate_result"]:
        return lambda x, value: called(intermediate_result=result_type(x=x, fun=value))
    return lambda x, value: called(x)


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # of a function written in C
        return []
