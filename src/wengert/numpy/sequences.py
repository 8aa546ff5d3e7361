"""Functions of NumPy's that take lists of boxes, too: NumPy dispatches on arrays, and does not look into lists."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.array.array import FUNCTIONS
from wengert.core.dtypes import SEQUENCE
from wengert.numpy.creation import array, contains_box
from wengert.ops.elementwise import UFUNCS

#: Functions that take a sequence of arrays, which need not have one shape.
_OF_ARRAYS = frozenset(
    {
        *(np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block),
        *(np.select, np.choose, np.piecewise, np.lexsort, np.linalg.multi_dot),
    }
)


class TakingLists:
    """A function of NumPy's that first makes an array of each list that contains a box.

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
                return self._called(arguments, options)
        return self.__wrapped__(*arguments, **options)

    def _called(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        function = self.__wrapped__
        if function in _OF_ARRAYS:
            return FUNCTIONS[function](*arguments, **options)
        return function(*map(_joined, arguments), **{name: _joined(one) for name, one in options.items()})

    def __getattr__(self, name: str) -> Any:
        """Return what NumPy's function has, such as ``reduce``."""
        return getattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> Any:
        return taking_lists, (self.__wrapped__,)


def _joined(value: Any) -> Any:
    return array(value) if isinstance(value, SEQUENCE) and contains_box(value) else value


@functools.cache
def taking_lists(function: Callable[..., Any]) -> TakingLists:
    """Return the function that takes lists for a function of NumPy's: the same object each time."""
    return TakingLists(function)


def is_dispatched(value: Any) -> bool:
    """Tell whether a value is a function of NumPy's that boxes answer."""
    return callable(value) and not isinstance(value, type) and (value in FUNCTIONS or value in UFUNCS)


def offered_for(value: Any) -> Any:
    """Return what stands here in place of a value of NumPy's: a function that boxes answer takes lists of them, too."""
    return taking_lists(value) if is_dispatched(value) else value
