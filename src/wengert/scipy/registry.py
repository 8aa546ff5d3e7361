"""Common parts of the modules of this room: SciPy's other names, and conversions of arguments."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from wengert.engine.array.array import operand
from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import FLOAT64
from wengert.engine.core.errors import ConcreteError, message
from wengert.engine.ir.types import show
from wengert.engine.ops.elementwise import check_real
from wengert.numpy.registry import floating, strong

P = ParamSpec("P")
ResultT = TypeVar("ResultT")


def others_of(own: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module of this package, for the objects of SciPy's that Wengert does not follow.

    SciPy loads when a program first asks for one; Python asks modules for private names, which SciPy need not load for.

    Args:
        own: the name of the module, ``wengert.`` and that of SciPy's.
    """

    def find(name: str) -> Any:
        theirs = own.removeprefix("wengert.")
        with_theirs = f", nor has {theirs}"
        try:
            if not name.startswith("_"):
                return getattr(importlib.import_module(theirs), name)
            with_theirs = ""
        except AttributeError:
            pass
        raise AttributeError(f"module {own!r} has no attribute {name!r}{with_theirs}", name=name)

    return find


def with_parameters_of(
    template: Callable[P, tuple[Any, ...]],
) -> Callable[[Callable[..., ResultT]], Callable[P, ResultT]]:
    """Return a decorator that gives functions the parameters of another one, which returns their arguments.

    Example:
        >>> @with_parameters_of(lambda x, y=1, *, unused=None: (x, y))
        ... def total(x, y):
        ...     return x + y
        >>> total(2), inspect.signature(total)
        (3, <Signature (x, y=1, *, unused=None)>)
    """
    own: Any = template

    def decorate(function: Callable[..., ResultT]) -> Callable[P, ResultT]:
        # Errors of a call with wrong arguments have the name of the function.
        arguments = FunctionType(own.__code__, own.__globals__, function.__name__, own.__defaults__)
        arguments.__kwdefaults__, arguments.__qualname__ = own.__kwdefaults__, function.__qualname__

        def call(*args: P.args, **kwargs: P.kwargs) -> ResultT:
            return function(*arguments(*args, **kwargs))

        functools.update_wrapper(call, function, updated=())
        returned = function.__annotations__.get("return", inspect.Signature.empty)
        call.__signature__ = inspect.signature(own).replace(return_annotation=returned)
        return call

    return decorate


def array(x: Any) -> Any:
    """Return an operand with a dtype of its own: a Python number becomes an array of NumPy's default dtype."""
    return strong(operand(x))


def floats(x: Any) -> Any:
    """Return an operand in floating point; integers become float64."""
    return floating(array(x))


def doubles(x: Any) -> Any:
    """Return an operand in double precision, as SciPy's C code takes it, and no complex one."""
    check_real("a function of real numbers", x := operand(x))
    return strong(x, FLOAT64)


def number(operation: str, name: str, value: Any) -> Any:
    """Return a number that must be known, or raise `ConcreteError`."""
    found = concrete(value)
    if found is None:
        hint = "name it in static_argnums of wg.jit, or let it be a number that no transform follows"
        raise ConcreteError(message(operation, f"{name} must be known", show(value), hint))
    return found
