"""How NumPy's functions get their implementation for boxes, and what the implementations share."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from wengert.array.array import FUNCTIONS
from wengert.array.suggestions import advised
from wengert.boxes import Box, concrete
from wengert.core.dtypes import FLOAT64, dtype_of, is_float
from wengert.core.errors import ConcreteError, LostDerivativeError, UnsupportedError, message
from wengert.core.shapes import axes_tuple, shape_of
from wengert.ir.types import is_weak, show
from wengert.ops.conversion import cast

Implementation = TypeVar("Implementation", bound=Callable[..., Any])
_OF_FIXED_SIZE = "compute it outside, where the values are known, or write it for a fixed size with np.where"
_ALL_AXES = tuple(tuple(range(rank)) for rank in range(65))


def implements(*functions: Any) -> Callable[[Implementation], Implementation]:
    """Make a function stand for NumPy's when an argument is a box.

    The implementation has the parameters of NumPy's function, is composed of primitives and has no derivative of its
    own; it works on plain arrays as well.

    Example:
        >>> import wengert as wg
        >>> FUNCTIONS[np.trapezoid].__module__, FUNCTIONS[np.trapezoid].__name__
        ('wengert.numpy.differences', 'trapezoid')
    """

    def register(implementation: Implementation) -> Implementation:
        for function in functions:
            FUNCTIONS[function] = implementation
        return implementation

    return register


def since(*names: str) -> list[Any]:
    """Return those of NumPy's functions that the installed version has."""
    return [getattr(np, name) for name in names if hasattr(np, name)]


def refuse(operation: str, out: Any = None, where: Any = True, **options: Any) -> None:
    """Raise where an option was given that cannot be carried out."""
    if out is not None:
        hint = f"write y = {operation}(x), or y[...] = {operation}(x)"
        raise LostDerivativeError(message(operation, "out= would lose the derivative", hint=hint))
    if where is not True:
        hint = f"select first: {operation}(np.where(condition, x, neutral element))"
        if operation in ("np.mean", "np.var", "np.std"):
            hint = "np.sum(np.where(condition, x, 0)) is the sum where the condition holds, np.sum(condition) the count"
        raise UnsupportedError(message(operation, "where= is not supported", hint=hint))
    for name, value in options.items():
        got = repr(value) if isinstance(value, (str, bool, int, float)) else ""
        raise UnsupportedError(message(operation, f"{name}= is not supported", got))


def axes_of(operation: str, axis: Any, rank: int) -> tuple[int, ...]:
    """Return the axes that an ``axis`` argument names, in rising order; None names all."""
    if axis is None:
        return _ALL_AXES[rank]
    if type(axis) is int and -rank <= axis < rank:
        return (axis % rank,)
    return axes_tuple(operation, axis, rank)


def check_axes(operation: str, axis: Any, x: Any) -> None:
    """Check an ``axis`` argument first, so that an error names this operation and not one that it is made of."""
    if rank := rank_of(x):
        axes_of(operation, axis, rank)


def known(operation: str, value: Any, hint: str = "") -> Any:
    """Return the array behind a value on which a shape depends, or raise `ConcreteError`."""
    array = concrete(value)
    if array is None:
        requirement = "the result's shape depends on the values, and only their type is known here"
        raise ConcreteError(message(operation, requirement, show(value), advised(hint or _OF_FIXED_SIZE)))
    return np.asarray(array)


def lost(operation: str, hint: str) -> NoReturn:
    """Raise because a box was to be written into a plain array."""
    raise LostDerivativeError(message(operation, "a box cannot be written into a plain array", hint=hint))


def floating(x: Any) -> Any:
    """Return a value in floating point: integers and truth values become float64."""
    return x if is_float(dtype_of(x)) else cast(x, dtype=FLOAT64)


def floating_for(ufunc: np.ufunc, x: Any) -> Any:
    """Return a value in the floating dtype in which a ufunc of one operand computes: small integers have small ones."""
    return (
        x
        if is_float(dtype_of(x))
        else cast(x, dtype=ufunc.resolve_dtypes((dtype_of(x), *(None,) * ufunc.nout))[0])
    )


def strong(x: Any, dtype: Any = None) -> Any:
    """Return a value of a dtype of its own, as NumPy's functions give: Python scalars become arrays' elements."""
    wanted = dtype_of(x) if dtype is None else np.dtype(dtype)
    return cast(x, dtype=wanted) if dtype_of(x) != wanted or is_weak(x) else x


def is_box(value: Any) -> bool:
    """Tell whether a transform follows a value, or a program may write boxes into it."""
    return isinstance(value, Box)


def is_array(value: Any) -> bool:
    """Tell whether a value is a box or an array, and no scalar or sequence."""
    return isinstance(value, (Box, np.ndarray))


def is_sequence(value: Any) -> bool:
    """Tell whether a value is a tuple or a list."""
    return isinstance(value, (tuple, list))


def integers(value: Any) -> list[int]:
    """Return the integers of an argument such as an axis or a shape: one, or a sequence of them."""
    if type(value) is int:
        return [value]
    if not isinstance(value, (tuple, list)):
        try:
            return [operator.index(value)]
        except TypeError:  # a range, an array
            if not shape_of(value):
                raise
    return list(map(operator.index, value))


def rank_of(x: Any) -> int:
    """Return the number of axes."""
    return len(shape_of(x))
