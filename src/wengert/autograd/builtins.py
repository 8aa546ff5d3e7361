"""autograd's `isinstance`, `type`, `list`, `tuple` and `dict`; containers are Python's own here."""

from __future__ import annotations

from builtins import dict as dict
from builtins import isinstance as _isinstance
from builtins import list as list
from builtins import tuple as tuple
from builtins import type as _type
from typing import Any

from wengert.autograd.tracer import DictBox as DictBox
from wengert.autograd.tracer import SequenceBox as SequenceBox
from wengert.autograd.tracer import isbox
from wengert.engine.boxes import class_of


def type(value: Any, *more: Any) -> Any:
    """Return the class of a value, or of the array or number that it stands for.

    Example:
        >>> from wengert.autograd import grad
        >>> print(grad(lambda x: x if type(x) is float else 0.0 * x)(2.0))
        1.0
    """
    return class_of(value) if isbox(value) else _type(value, *more)


def isinstance(value: Any, classes: Any) -> bool:
    """Report whether a value, or the array or number that it stands for, is of a class.

    Example:
        >>> from wengert.autograd import grad
        >>> print(grad(lambda x: x if isinstance(x, float) else 0.0 * x)(2.0))
        1.0
    """
    return (isbox(value) and issubclass(class_of(value), classes)) or _isinstance(value, classes)
