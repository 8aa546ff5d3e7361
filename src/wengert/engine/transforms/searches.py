"""SciPy's functions that search: they may compare what a transform follows, and return a plain number."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from wengert.engine.boxes import has_derivative
from wengert.engine.core import tree


@functools.cache
def keeping_derivatives(function: FunctionType, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that raises an error if its result has lost what the functions that it gets depend on.

    Args:
        function: SciPy's.
        plain: calls it.
    """

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        followed: list[Any] = []

        def noting(value: Any) -> Any:
            """Return a function that notes the results of another one."""
            if not isinstance(value, (FunctionType, MethodType)):
                return value

            @functools.wraps(value)
            def called(*given: Any, **named: Any) -> Any:
                result = value(*given, **named)
                if not followed:
                    followed.extend(leaf for leaf in tree.leaves(result) if has_derivative(leaf))
                return result

            return called

        result = plain(*map(noting, arguments), **{name: noting(value) for name, value in options.items()})
        found = getattr(result, "x", result)  # of a minimum or a root
        if followed and not any(map(has_derivative, tree.leaves(found))):
            name = f"{function.__module__.partition('._')[0]}.{function.__name__}"
            hint = "write wg.implicit.root or minimum, which have the derivatives of a solution"
            raise followed[0].without_derivative(name, hint)
        return result

    return call
