"""The door for functions of the user's that a function of the library calls, such as that of `solve_ivp`.

The library differentiates and traces functions of its own, which call the user's. So each call of the user's function
that loses a value is repeated with substitutes, whatever transform is around it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from wengert.engine.boxes import Box, inside_transform, loss_of, snapshot
from wengert.engine.core import tree
from wengert.engine.transforms.substitution import LOSSES, code_of, current, runs

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def with_callbacks(function: FunctionT) -> FunctionT:
    """Return a function of the library whose arguments may be functions of the user's, or lists of them.

    Example:
        >>> import math, wengert as wg
        >>> @with_callbacks
        ... def slope(fun, x):
        ...     return wg.grad(lambda x: fun(x))(x)
        >>> slope(lambda x: math.exp(x), 0.0)
        1.0
    """

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        named = {name: _followed_all(value) for name, value in options.items()}
        return function(*map(_followed_all, arguments), **named)

    return cast("FunctionT", call)


def _followed_all(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and value and all(map(callable, cast("list[Any]", value))):
        return [followed(part) for part in cast("list[Any]", value)]
    return followed(value)


def followed(function: Any) -> Any:
    """Return a function that calls a user's; inside a transform, once more with substitutes if it loses a value.

    Args:
        function: any object; one that is not a function of the user's stays as it is.
    """
    if isinstance(function, type) or not callable(function) or code_of(function) is None:
        return function

    def call(*arguments: Any, **options: Any) -> Any:
        if not inside_transform():
            return function(*arguments, **options)
        again = current(function, arguments, options)
        if again is not function:
            return again(*arguments, **options)
        inside, named = tree.map_tree(_apart, (arguments, options))
        try:
            return function(*inside, **named)
        except Exception as problem:
            loss = loss_of(problem)
            if not isinstance(loss, LOSSES):
                raise
            for run in runs(function, loss):
                with run:
                    return current(function)(*arguments, **options)
            raise

    return functools.update_wrapper(call, function)


def _apart(value: Any) -> Any:
    """Return a box that a write of the first call does not reach."""
    return snapshot(value) if isinstance(value, Box) else value
