"""The elements of an array one after another, as NumPy's ``x.flat``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.operators import FUNCTIONS


class Flat:
    """The elements of an array in row-major order: to go through, to read and to write.

    Args:
        array: the array, which a write reaches.

    Example:
        >>> import numpy as np
        >>> import wengert as wg
        >>> def first_two(x):
        ...     y = x.copy()
        ...     y.flat[:2] = 3.0
        ...     return np.sum(y)
        >>> wg.grad(first_two)(np.ones((2, 2)))
        array([[0., 0.],
               [1., 1.]])
    """

    __slots__ = ("base",)

    def __init__(self, array: Any) -> None:
        self.base = array

    def copy(self) -> Any:
        """Return the elements in an array of their own."""
        return FUNCTIONS[np.ravel](self.base).copy()

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.copy())

    def __getitem__(self, index: Any) -> Any:
        return self.copy()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        elements = self.copy()
        elements[index] = value
        self.base[...] = elements.reshape(self.base.shape)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return function(*map(_elements, arguments), **options)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*map(_elements, inputs), **options)


def _elements(value: Any) -> Any:
    return value.copy() if isinstance(value, Flat) else value
