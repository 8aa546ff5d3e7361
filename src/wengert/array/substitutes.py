"""The functions that stand for those of SciPy on values inside a transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
#: Wengert's function for the full name of each SciPy function; `wengert.scipy` fills it.
SUBSTITUTES: dict[str, Callable[..., Any]] = {}


def substitutes(*names: str) -> Callable[[FunctionT], FunctionT]:
    """Return a decorator that enters a function under the full names of the SciPy functions that it stands for.

    Example:
        >>> @substitutes("scipy.linalg.example")
        ... def example(x):
        ...     return x
        >>> SUBSTITUTES.pop("scipy.linalg.example") is example
        True
    """

    def enter(function: FunctionT) -> FunctionT:
        SUBSTITUTES.update(dict.fromkeys(names, function))
        return function

    return enter
