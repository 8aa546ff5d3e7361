"""Common parts of the modules of this room: SciPy's other names, and conversions of arguments."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from wengert.engine.array.array import operand
from wengert.engine.array.substitutes import substitutes
from wengert.engine.boxes import concrete
from wengert.engine.core.docstrings import documented
from wengert.engine.core.dtypes import FLOAT64
from wengert.engine.core.errors import ConcreteError, message
from wengert.engine.ir.types import show
from wengert.engine.ops.elementwise import check_real
from wengert.numpy.registry import floating, strong

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


def signatures(
    module: str, table: str, raises: str = ""
) -> Callable[[Callable[..., ResultT]], Callable[..., ResultT]]:
    """Return a decorator that gives functions SciPy's signatures, and enters them as substitutes for SciPy's.

    A function gets all arguments by name, those that it does not need among them.

    Args:
        module: the name of SciPy's module.
        table: the signatures, with further lines indented; functions with one signature share an entry.
        raises: the errors of all functions, which the section "Raises" lists before those of each.

    Example:
        >>> @signatures("scipy.example", "total product(x, y=1, *, unused=None)")
        ... def total(x, y, **unused):
        ...     return x + y
        >>> total(2), inspect.signature(total)
        (3, <Signature (x, y=1, *, unused=None)>)
    """
    templates: dict[str, FunctionType] = {}
    for entry in re.split(r"\n(?=\w)", inspect.cleandoc(table)):
        names, parameters = entry.removesuffix(")").split("(", 1)
        for name in names.split():
            # Errors of a call with wrong arguments have the name of the function.
            templates[name] = eval(f"(lambda {parameters}: locals())", {"np": np})
            templates[name].__name__ = templates[name].__qualname__ = name

    def decorate(function: Callable[..., ResultT]) -> Callable[..., ResultT]:
        template: Any = templates[function.__name__]

        def call(*args: Any, **kwargs: Any) -> ResultT:
            kwargs.pop("_no_deco", None)  # by which SciPy's functions call each other without their checks
            return function(**template(*args, **kwargs))

        functools.update_wrapper(call, function, updated=())
        returned = function.__annotations__.get("return", inspect.Signature.empty)
        call.__signature__ = inspect.signature(template).replace(return_annotation=returned)
        described = documented(Raises=raises)(call) if raises else call
        return substitutes(f"{module}.{function.__name__}")(described)

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
    plain = concrete(value)
    if plain is None:
        hint = "name it in static_argnums of wg.jit, or let it be a number that no transform follows"
        raise ConcreteError(message(operation, f"{name} must be known", show(value), hint))
    return plain
