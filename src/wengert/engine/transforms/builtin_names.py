"""Substitutes for Python's names in the copies of a second run: `float`, `complex` and `isinstance` know boxes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from wengert.engine.array.substitutes import MODULES, STAND_INS
from wengert.engine.boxes import Box, class_of
from wengert.engine.core.dtypes import dtype_of, is_complex
from wengert.engine.core.errors import ConcreteError, LostDerivativeError, UnsupportedError, frames_of
from wengert.engine.core.tree import original_class
from wengert.engine.ops.complex import from_parts
from wengert.engine.ops.conversion import python_number
from wengert.engine.transforms.protocols import method_of

#: The errors of a value that would be lost.
LOSSES = (LostDerivativeError, ConcreteError, UnsupportedError)


def is_of_loss(problem: BaseException) -> bool:
    """Return whether an error is one of `LOSSES`, or SciPy's own about a box, which it takes for no number."""
    if isinstance(problem, LOSSES) or not isinstance(problem, TypeError | ValueError):
        return isinstance(problem, LOSSES)
    theirs = [frame.f_globals.get("__name__", "").startswith("scipy.") for frame in frames_of(problem)]
    if not theirs or not theirs[-1]:
        return False
    frames = itertools.compress(frames_of(problem), theirs)
    return any(isinstance(value, Box) for frame in frames for value in frame.f_locals.values())


def is_instance(value: Any, kinds: Any, /) -> bool:
    """Return whether a value, or the array or number that a box stands for, is of a class.

    Example:
        >>> from wengert.engine.boxes import CONSTANT, State
        >>> is_instance(CONSTANT.box(State(np.ones(2))), np.ndarray)
        True
    """
    if isinstance(value, Box):  # `Sized` looks for a method, which each box has
        return issubclass(class_of(value), kinds) or issubclass(type(value), _named_boxes(kinds))
    kind = original_class(type(value))
    return isinstance(value, kinds) or (kind is not type(value) and issubclass(kind, kinds))


def _named_boxes(kinds: Any) -> tuple[type, ...]:
    """Return Wengert's own classes among some."""
    parts = cast(
        "tuple[Any, ...]", kinds if isinstance(kinds, tuple) else getattr(kinds, "__args__", (kinds,))
    )
    return tuple(kind for kind in parts if isinstance(kind, type) and issubclass(kind, Box))


def has_attribute(value: Any, name: str, /) -> bool:
    """Return whether a value, or the array or number that a box stands for, has an attribute.

    Example:
        >>> from wengert.engine.boxes import CONSTANT, State
        >>> has_attribute(CONSTANT.box(State(2.0)), "__len__")
        False
    """
    return hasattr(class_of(value) if isinstance(value, Box) else value, name)


def is_subclass(kind: Any, kinds: Any, /) -> bool:
    """Return whether a class, or the one that it is a copy of, is derived from another."""
    return issubclass(kind, kinds) or issubclass(original_class(kind), kinds)


class _StandIn(type):
    """The class of what stands for a class of Python or NumPy: a call may return a box, and all else is that class."""

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        made = vars(cls).get("made")
        return type.__call__(cls, *arguments, **options) if made is None else made(*arguments, **options)

    def __instancecheck__(cls, instance: Any) -> bool:
        return is_instance(instance, cls.__base__)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cast("type", cls.__base__))

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.__base__

    def __hash__(cls) -> int:
        return hash(cls.__base__)


def _number(x: Any) -> Any:
    """Return the number of a box as a float of Python's; raise the error of `float` where it has none."""
    return float(x) if np.ndim(x) or x.dtype.kind not in "fiub" else python_number(x, float)


def _complex_number(real: Any, imag: Any = 0.0) -> Any:
    """Return the complex number of one or two boxes; raise the error of `complex` where they have none."""
    for part in (real, imag):
        if np.ndim(part):
            return complex(part)
    if any(is_complex(dtype_of(part)) for part in (real, imag)):
        return python_number(real + 1j * imag, complex)
    return from_parts(python_number(real, float), python_number(imag, float))


def _or_box(kind: type, of_boxes: Callable[..., Any]) -> Callable[..., Any]:
    """Return the constructor of a class of numbers, which keeps a box."""
    name = f"__{kind.__name__}__"

    def made(*arguments: Any, **options: Any) -> Any:
        method = method_of(arguments[0], name) if len(arguments) == 1 else None
        arguments = arguments if method is None else (method(),)
        try:
            return kind(*arguments, **options)
        except LOSSES:
            return of_boxes(*arguments, **options)

    return made


def _array(shape: Any, dtype: Any = float, buffer: Any = None, *layout: Any, **options: Any) -> Any:
    """Return an array that can hold boxes; one of a buffer is NumPy's, which shares its memory."""
    if buffer is None and not layout and not options:
        return MODULES["numpy"].empty(shape, dtype)
    return np.ndarray(shape, dtype, buffer, *layout, **options)


def _type_of(*arguments: Any, **options: Any) -> Any:
    """Return the class of a value, or of what a box stands for, as the program names it."""
    if len(arguments) != 1 or options:
        return type(*arguments, **options)
    value = arguments[0]
    kind: Any = class_of(value) if isinstance(value, Box) else cast("Any", type(value))
    return STAND_INS.get(kind, kind)


def _standing_for(kind: type, made: Callable[..., Any]) -> Any:
    # NumPy takes a type with the attribute ``dtype`` for its dtype.
    dtype = {"dtype": np.dtype(kind)} if kind in (float, complex) else {}
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "made": staticmethod(made)}
    return _StandIn(kind.__name__, (kind,), {**names, **dtype})


STAND_INS.update(
    {
        float: _standing_for(float, _or_box(float, _number)),
        complex: _standing_for(complex, _or_box(complex, _complex_number)),
        np.ndarray: _standing_for(np.ndarray, _array),
        type: _standing_for(type, _type_of),
    }
)
#: Substitutes for builtin names.
BUILTINS: dict[str, Any] = {
    **{kind.__name__: STAND_INS[kind] for kind in (float, complex, type)},
    "hasattr": has_attribute,
    "isinstance": is_instance,
    "issubclass": is_subclass,
}
