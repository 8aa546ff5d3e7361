"""The functions that stand for those of SciPy on values inside a transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
#: Wengert's function for the full name of each SciPy function; `wengert.scipy` fills it.
SUBSTITUTES: dict[str, Callable[..., Any]] = {}
#: Functions that load the modules that fill the table; it is complete after them.
LOADERS: list[Callable[[], Any]] = []


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


def substitute_for(function: Any) -> Callable[..., Any] | None:
    """Return Wengert's function for one of SciPy's, or None.

    SciPy defines its functions in private modules, such as `scipy.integrate._quadrature`.

    Args:
        function: any object.

    Example:
        >>> import numpy as np
        >>> substitute_for(np.sin) is None
        True
    """
    module, name = getattr(function, "__module__", None) or "", getattr(function, "__name__", "")
    if module.partition(".")[0] != "scipy":
        return None
    for load in LOADERS:
        load()
    public = [part for part in module.split(".") if part[0] != "_"]
    return SUBSTITUTES.get(".".join([*public, name]))


def name_of_substitute(function: Callable[..., Any]) -> str:
    """Return the name under which a program reaches a function of the table, such as ``wengert.scipy.linalg.expm``."""
    names = [name for name, other in SUBSTITUTES.items() if other is function]
    return f"wengert.{names[0]}"
