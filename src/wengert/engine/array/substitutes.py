"""Substitutes for the functions of SciPy and of NumPy on values inside a transform."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import MethodType, SimpleNamespace
from typing import Any, TypeVar, cast

from wengert.engine.array.scipys_memory import ASKED, laid_out
from wengert.engine.boxes import Box
from wengert.engine.core import tree
from wengert.engine.core.errors import public_module

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
#: Wengert's function for the full name of each SciPy function; `wengert.scipy` fills it.
SUBSTITUTES: dict[str, Callable[..., Any]] = {}
#: Wengert's module for NumPy, which enters itself.
MODULES: dict[str, Any] = {}
#: Substitutes for classes of Python and NumPy in a second run; `wengert.engine.transforms.builtin_names` fills it.
STAND_INS: dict[Any, Any] = {}
#: The ends of the names of the classes of SciPy's distributions.
FAMILY = "_gen"
#: Functions that load the modules that fill the table; it is complete after them.
LOADERS: list[Callable[[], Any]] = []


def substitutes(*names: str) -> Callable[[FunctionT], FunctionT]:
    """Return a decorator that enters a function under the full names of the SciPy functions that it stands for.

    Its docstring says where Wengert differs, and refers to SciPy's for the parameters and results.

    Example:
        >>> @substitutes("scipy.special.example")
        ... def example(x):
        ...     return x
        >>> SUBSTITUTES.pop("scipy.special.example") is example
        True
    """

    def enter(function: FunctionT) -> FunctionT:
        if function.__doc__:  # not with python -OO
            reference = f"Parameters and results: see `{names[0]}`."
            function.__doc__ = f"{inspect.cleandoc(function.__doc__)}\n\n{reference}\n"
        if names[0].startswith(ASKED):
            function = cast("FunctionT", laid_out(names[0], function))
        SUBSTITUTES.update(dict.fromkeys(names, function))
        return function

    return enter


#: Functions that take the user's functions, and decide by them whether SciPy's own is called.
CALLERS: set[Callable[..., Any]] = set()


def enter_caller(name: str, function: Callable[..., Any]) -> None:
    """Enter a function that stands for one of SciPy's whatever its arguments are.

    A function among them may be followed.
    """
    SUBSTITUTES[name] = function
    CALLERS.add(function)


def in_place_of(name: str) -> Callable[[Callable[[Any], Any]], Callable[..., Any]]:
    """Return a decorator that enters a function for one of SciPy's whatever its arguments are.

    It gets an object whose attributes are the arguments by SciPy's names, with SciPy's defaults; ``args`` is a tuple.
    SciPy's own takes the call where it returns `NotImplemented`.
    """
    module, _, own = name.rpartition(".")

    def decorate(function: Callable[[Any], Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            theirs = getattr(sys.modules[module], own)  # the program has imported it
            try:
                bound = inspect.signature(theirs).bind(*args, **options)
            except TypeError:
                return theirs(*args, **options)  # which says what is wrong
            bound.apply_defaults()
            given = SimpleNamespace(**bound.arguments)
            if "args" in bound.arguments:
                is_default = given.args is bound.signature.parameters["args"].default
                given.args = () if is_default else as_tuple(given.args)
            found = function(given)
            return theirs(*args, **options) if found is NotImplemented else found

        call.__name__ = call.__qualname__ = own
        enter_caller(name, call)
        return call

    return decorate


def as_tuple(args: Any) -> tuple[Any, ...]:
    """Return further arguments as a tuple; SciPy takes one argument alone, too."""
    return cast("tuple[Any, ...]", args) if isinstance(args, tuple) else (args,)


def holds_box(*values: Any) -> bool:
    """Return whether a transform follows one of some values, or a part of one."""
    return any(isinstance(leaf, Box) for leaf in tree.leaves(values))


def is_followed(function: Callable[..., Any], *arguments: Any) -> bool:
    """Return whether arguments are followed, or what a function makes of them."""
    return holds_box(*arguments) or holds_box(function(*arguments))


def substitute_for(function: Any) -> Callable[..., Any] | None:
    """Return Wengert's function for one of SciPy's, or None.

    SciPy defines its functions in private modules, such as `scipy.integrate._quadrature`. A family of
    distributions is an object, such as `scipy.stats.norm` of the class `norm_gen`.

    Example:
        >>> import numpy as np
        >>> substitute_for(np.sin) is None
        True
    """
    module = getattr(function, "__module__", type(function).__module__) or ""
    if module.partition(".")[0] != "scipy":
        return None
    for load in LOADERS:
        load()
    return SUBSTITUTES.get(".".join([public_module(module), *_names(function)]))


def _names(function: Any) -> list[str]:
    """Return the name of a function, of a family of distributions, or both names for a method of a family."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    if name and type(function) is not MethodType:
        return [name]
    return [family_name(owner if name else function), *([name] if name else [])]


def family_name(distribution: Any) -> str:
    """Return the name of a family, or of the family of a distribution; two families may share a class.

    Example:
        >>> from scipy import stats
        >>> print(family_name(stats.vonmises), family_name(stats.vonmises_line(2.0)))
        vonmises vonmises_line
    """
    is_frozen = class_name(distribution)[1].endswith("_frozen")
    family: Any = is_frozen and (getattr(distribution, "dist", None) or getattr(distribution, "_dist", None))
    family = family or distribution
    name = str(getattr(family, "name", ""))
    is_public = hasattr(sys.modules.get("scipy.stats"), name)
    return name if is_public else class_name(family)[1].removesuffix(FAMILY)


def class_name(value: Any) -> tuple[str, str]:
    """Return the module and the name of the class of a value.

    Example:
        >>> class_name(1)
        ('builtins', 'int')
    """
    kind: type[object] = value.__class__
    return kind.__module__, kind.__name__


def name_of_substitute(function: Callable[..., Any]) -> str:
    """Return the name under which a program reaches a function of the table, such as ``wengert.scipy.linalg.expm``."""
    names = [name for name, candidate in SUBSTITUTES.items() if candidate is function]
    return f"wengert.{names[0]}".replace("wengert.scipy.special.", "wengert.special.")
