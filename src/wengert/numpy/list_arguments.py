"""Functions of NumPy's that take lists of boxes as well: NumPy dispatches on arrays, and not on elements of lists."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from wengert.engine.array.array import FUNCTIONS
from wengert.engine.boxes import Box
from wengert.engine.core.dtypes import SEQUENCE
from wengert.engine.ops.elementwise import UFUNCS
from wengert.numpy.creation import array, contains_box

#: Functions that take a sequence of arrays, which may differ in shape.
_OF_ARRAYS = frozenset(
    {
        *(np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block),
        *(np.select, np.choose, np.piecewise, np.lexsort, np.linalg.multi_dot, np.histogramdd),
    }
)

#: The place of the pair ``range``, whose numbers keep their own types.
_RANGE = {np.histogram: 2, np.histogram_bin_edges: 2, np.histogram2d: 3}


class ListAccepting:
    """A function of NumPy's that first makes an array of each list that contains a box.

    It has the name, signature and docstring of NumPy's function.

    Example:
        >>> import wengert as wg
        >>> wg.grad(lambda x: wg.numpy.mean([x, x**2, 1.0]))(3.0)
        2.3333333333333335
    """

    __wrapped__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call NumPy's function."""
        for value in (*arguments, *options.values()):
            if isinstance(value, SEQUENCE) and contains_box(value):
                return self._with_arrays(arguments, options)
        function = self.__wrapped__
        if not isinstance(function, np.ufunc) and any(isinstance(value, Box) for value in options.values()):
            function = FUNCTIONS.get(function, function)  # NumPy does not ask an option such as `initial`
        return function(*arguments, **options)

    def _with_arrays(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        function = self.__wrapped__
        if function in _OF_ARRAYS:
            return FUNCTIONS[function](*arguments, **options)
        pair = _RANGE.get(cast("Any", function))
        arrays = [value if place == pair else _as_array(value) for place, value in enumerate(arguments)]
        named = {name: value if name == "range" else _as_array(value) for name, value in options.items()}
        return function(*arrays, **named)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of NumPy's function, such as ``reduce``."""
        return getattr(self.__wrapped__, name)

    def __instancecheck__(self, instance: Any) -> bool:
        """Return whether an object is of NumPy's class, where this stands for a class."""
        return isinstance(instance, cast("type", self.__wrapped__))

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> Any:
        return list_accepting, (self.__wrapped__,)


def _as_array(value: Any) -> Any:
    return array(value) if isinstance(value, SEQUENCE) and contains_box(value) else value


@functools.cache
def list_accepting(function: Callable[..., Any]) -> ListAccepting:
    """Return the function that accepts lists in place of NumPy's: the same object in each call."""
    return ListAccepting(function)


def is_dispatched(value: Any) -> bool:
    """Report whether a value is a function of NumPy's that has an implementation for boxes."""
    return callable(value) and not isinstance(value, type) and (value in FUNCTIONS or value in UFUNCS)


def offered_for(value: Any) -> Any:
    """Return the object offered for NumPy's: functions with an implementation, and `poly1d`, accept lists of boxes."""
    return list_accepting(value) if is_dispatched(value) or value is np.poly1d else value


def offered_by(own: str, module: Any) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module that offers the functions of one of NumPy's."""

    def find(name: str) -> Any:
        if name not in module.__all__:
            theirs = module.__name__
            raise AttributeError(f"module {own!r} has no attribute {name!r}, nor has {theirs}", name=name)
        value = offered_for(getattr(module, name))
        setattr(sys.modules[own], name, value)
        return value

    return find
