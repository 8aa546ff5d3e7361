"""Common parts of the modules of this room: SciPy's other names, and conversions of arguments."""

from __future__ import annotations

from typing import Any

from wengert.engine.array.array import operand
from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import FLOAT64
from wengert.engine.core.errors import ConcreteError, message
from wengert.engine.ir.types import show
from wengert.engine.ops.elementwise import check_real
from wengert.numpy.registry import floating, strong


def passed_through(module: Any, own: str, name: str) -> Any:
    """Return an object of SciPy's that Wengert does not follow, or raise `AttributeError`.

    Args:
        module: SciPy's module.
        own: the name of the module of this room.
        name: the name of the object.
    """
    try:
        return getattr(module, name)
    except AttributeError:
        text = f"module {own!r} has no attribute {name!r}, nor has {module.__name__}"
        raise AttributeError(text, name=name) from None


def check_public(own: str, name: str) -> None:
    """Raise `AttributeError` for a private name: Python asks modules for such names, and SciPy need not load."""
    if name.startswith("_"):
        raise AttributeError(f"module {own!r} has no attribute {name!r}", name=name)


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
