"""``x.flat``: the elements of an array in row-major order."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from wengert.engine.array.operators import FUNCTIONS, operand
from wengert.engine.core.shapes import shape_of, size


def _elements(value: Any) -> Any:
    """Return a value, or containers of values, with arrays for flat iterators."""
    if isinstance(value, Flat):
        return value.copy()
    if isinstance(value, tuple):
        return tuple(map(_elements, cast("tuple[Any, ...]", value)))
    if isinstance(value, list):
        return [*map(_elements, cast("list[Any]", value))]
    if isinstance(value, dict):
        return {name: _elements(item) for name, item in cast("dict[str, Any]", value).items()}
    return value


def _compared(compare: Callable[[Any, Any], Any]) -> Any:
    def method(self: Flat, other: Any) -> Any:
        return compare(self.copy(), _elements(other))

    return method


class Flat:
    """The elements of an array in row-major order, to iterate over, read and write.

    Reading copies; writing changes the array, and repeats values that are too few.

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

    __slots__ = ("_array", "_next")
    __hash__: Any = None
    __eq__, __ne__ = _compared(operator.eq), _compared(operator.ne)
    __lt__, __le__ = _compared(operator.lt), _compared(operator.le)
    __gt__, __ge__ = _compared(operator.gt), _compared(operator.ge)

    def __init__(self, array: Any) -> None:
        self._array = array
        self._next = 0

    def copy(self) -> Any:
        """Return a copy of the elements."""
        return FUNCTIONS[np.ravel](self._array).copy()

    def __len__(self) -> int:
        return self._array.size

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._next >= len(self):
            self._next = 0
            raise StopIteration
        self._next += 1
        return self.copy()[self._next - 1]

    def __getitem__(self, index: Any) -> Any:
        return self.copy()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        elements, value = self.copy(), operand(value)
        places = shape_of(elements[index])
        if places and not size(shape_of(value)):
            return
        elements[index] = FUNCTIONS[np.resize](value, places) if places else value
        self._array[...] = elements.reshape(self._array.shape)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return function(*_elements(arguments), **_elements(options))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*_elements(inputs), **_elements(options))
